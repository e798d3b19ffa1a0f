package engine

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"strings"

	"github.com/awaken-go/awaken"
)

// Report tells the parent of a child run how the child is, if it is done or waits. It may
// be repeated. Whoever runs a child calls it afterwards, except the parent itself
// ([awaken.RunRequest.Attended]).
func (rt *Runtime) Report(ctx context.Context, child *awaken.Run) error {
	if child.ParentRunID == "" || child.ParentThreadID == "" || child.Origin != "subagent" || child.Status != awaken.RunDone && child.Status != awaken.RunWaiting {
		return nil
	}
	rep := &awaken.ChildReport{RunID: child.RunID, ThreadID: child.ThreadID, AgentID: child.AgentID, Status: child.Status,
		Termination: child.Termination, Response: child.FinalOutput, Task: child.Mode == "scheduled"}
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

// reportDone tells the parent of a run how it came out, when there is no queue to do it.
func (rt *Runtime) reportDone(ctx context.Context, r *run) {
	if r.rec.ParentRunID == "" {
		return
	}
	if err := rt.Report(context.WithoutCancel(ctx), &r.rec); err != nil {
		rt.cfg.Logger.Warn("the parent of a run could not be told", "run", r.info.RunID, "parent", r.rec.ParentRunID, "error", err)
	}
}

// reportText is what the model is told about a task that is done.
func reportText(rep *awaken.ChildReport) string {
	kind, content := "completed", map[string]string{"result": rep.Response}
	switch rep.Termination.Type {
	case awaken.Cancelled:
		kind, content = "cancelled", map[string]string{}
	case awaken.Failed, awaken.Blocked:
		kind, content = "failed", map[string]string{"error": rep.Termination.String()}
	}
	data, err := json.Marshal(content)
	if err != nil {
		panic(err) // strings have JSON
	}
	return fmt.Sprintf("<background-task-event kind=%q task_id=%q>%s</background-task-event>", kind, rep.RunID, data)
}
