package engine

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"strings"

	"github.com/awaken-go/awaken"
)

// Report posts the state of a child run to its parent's inbox, if the child is done or waits. It
// may be repeated. Whatever runs a child calls it afterwards, except a parent that attends the
// child ([awaken.RunRequest.Attended]).
func (rt *Runtime) Report(ctx context.Context, child *awaken.Run) error {
	if child.ParentRunID == "" || child.ParentThreadID == "" || child.Origin != "subagent" || child.Status != awaken.RunDone && child.Status != awaken.RunWaiting {
		return nil
	}
	rep := &awaken.ChildReport{
		RunID:       child.RunID,
		ThreadID:    child.ThreadID,
		AgentID:     child.AgentID,
		Status:      child.Status,
		Termination: child.Termination,
		Response:    child.FinalOutput,
		Task:        child.Mode == "scheduled",
		FinishedAt:  child.FinishedAt / 1000,
		Taint:       child.Taint,
		InDoubt:     int(child.InDoubt),
	}
	rep.Usage, rep.CostUSD = child.Total()
	if child.ErrorPayload != nil {
		rep.Error = child.ErrorPayload.Message
	}
	id := "report:" + child.RunID + ":" + string(child.Status)
	if child.Waiting != nil {
		id = fmt.Sprintf("%s:%d:%s", id, child.Steps, strings.Join(child.Waiting.TicketIDs, ","))
	}
	err := rt.deliver(ctx, &awaken.Outgoing{ID: id, ThreadID: child.ParentThreadID, Item: &awaken.InboxItem{ID: id, RunID: child.ParentRunID, Report: rep}})
	if errors.Is(err, awaken.ErrNotFound) {
		return nil // the parent was deleted
	}
	return err
}

// reportDone reports a run to its parent, if there is no queue to do it.
func (rt *Runtime) reportDone(ctx context.Context, r *run) {
	if r.rec.ParentRunID == "" {
		return
	}
	if err := rt.Report(context.WithoutCancel(ctx), r.rec); err != nil {
		r.log().Warn("cannot report to the parent run", "parent", r.rec.ParentRunID, "error", err)
	}
}

// reportText is the message the model gets about a finished background task.
func reportText(rep *awaken.ChildReport) string {
	kind, content := "completed", map[string]string{"result": rep.Response}
	switch rep.Termination.Type {
	case awaken.Cancelled:
		kind, content = "cancelled", map[string]string{}
	case awaken.Failed, awaken.Blocked:
		kind, content = "failed", map[string]string{"error": rep.Termination.String()}
	}
	if rep.InDoubt > 0 {
		content["in_doubt"] = (&awaken.Run{AgentID: rep.AgentID, InDoubt: int32(rep.InDoubt)}).DoubtClause()
	}
	data, err := json.Marshal(content)
	if err != nil {
		panic(err) // strings always marshal
	}
	return fmt.Sprintf("<background-task-event kind=%q task_id=%q>%s</background-task-event>", kind, rep.RunID, data)
}
