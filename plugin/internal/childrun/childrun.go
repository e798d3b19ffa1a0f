// Package childrun runs the child of a tool call: a run below the caller's, in the caller's slot.
//
// The id of the child is derived from the key of the call, so a call that was interrupted finds its
// child and resumes it, and never starts a second one. While the child waits, the call is suspended
// with a ticket that shows the child's tickets as its own.
package childrun

import (
	"context"
	"errors"

	"github.com/awaken-go/awaken"
)

// Child is the child of a call.
type Child struct {
	Call *awaken.ToolCall
	Name string // what runs, for people, such as: Agent 'writer'
	// Start returns the request that starts the child. It is called once, unless the call is
	// interrupted before the child is stored. An error is the call's.
	Start func(ctx context.Context) (awaken.RunRequest, error)
	// Sink returns what gets the child's events, or nil. It is called before the child runs.
	Sink func() awaken.Sink
}

// Run starts the child, or resumes it, and returns its record when it has ended. If it waits, the
// error suspends the call.
func (c *Child) Run(ctx context.Context) (*awaken.Run, error) {
	req := awaken.RunRequest{Attended: true}
	host, id := c.Call.Host, awaken.ChildID(c.Call.Key)
	child, err := host.Store().LoadRun(ctx, id)
	switch {
	case errors.Is(err, awaken.ErrNotFound):
		if req, err = c.Start(ctx); err != nil {
			return nil, err
		}
	case err != nil:
		return nil, err
	case child.Status == awaken.RunDone:
		return child, nil
	case child.Status == awaken.RunWaiting:
		wanted, err := wanted(ctx, host, child)
		if err != nil {
			return nil, err
		}
		if !wanted {
			return nil, c.wait(child)
		}
		fallthrough
	default:
		req.Continue = child.RunID
	}
	res, err := host.Run(ctx, req, c.Sink())
	if res == nil && !elsewhere(err) {
		return nil, err
	}
	child, loadErr := host.Store().LoadRun(context.WithoutCancel(ctx), id)
	switch {
	case errors.Is(loadErr, awaken.ErrNotFound) && res != nil: // the run is ephemeral
		child = record(res, err)
	case loadErr != nil:
		return nil, errors.Join(err, loadErr)
	}
	switch {
	case child.Status == awaken.RunDone:
		return child, nil
	case ctx.Err() != nil:
		return nil, context.Cause(ctx)
	}
	return nil, c.wait(child)
}

// elsewhere reports whether another owner runs the child and will report its end.
func elsewhere(err error) bool {
	return errors.Is(err, awaken.ErrBusy) || errors.Is(err, awaken.ErrFenced) || errors.Is(err, awaken.ErrConflict)
}

// record returns the record of a run that is not stored.
func record(res *awaken.RunResult, err error) *awaken.Run {
	run := &awaken.Run{RunID: res.RunID, ThreadID: res.ThreadID, AgentID: res.AgentID, Status: res.Status, Termination: res.Termination,
		FinalOutput: res.Response, Waiting: res.Waiting, Steps: res.Steps, Usage: res.Usage, CostUSD: res.CostUSD,
		ChildUsage: res.ChildUsage, ChildCostUSD: res.ChildCostUSD}
	if err != nil {
		run.ErrorPayload = &awaken.Error{Message: err.Error()}
	}
	return run
}

// Below returns a request for a run below the caller's: on a thread of its own, for the same user,
// on the same version.
func Below(call *awaken.ToolCall) awaken.RunRequest {
	id := awaken.ChildID(call.Key)
	return awaken.RunRequest{ThreadID: id, RunID: id, Attended: true,
		ParentThreadID: call.Run.ThreadID, ParentRunID: call.Run.RunID, ParentToolCallID: call.ID, SessionID: call.Run.SessionID, UserID: call.Run.UserID,
		Origin: "subagent", Adapter: call.Run.Adapter, Depth: call.Run.Depth + 1, ResolutionID: call.Host.ResolutionID()}
}

// wanted reports whether a waiting child has a reason to resume.
func wanted(ctx context.Context, host awaken.Host, child *awaken.Run) (bool, error) {
	if r := child.Waiting.Reason; r == awaken.WaitBudget || r == awaken.WaitPin {
		return true, nil // the budget or the version may be available again
	}
	items, err := host.Store().Unread(ctx, child.ThreadID)
	if err != nil || len(items) > 0 {
		return true, err
	}
	for _, ticket := range child.Waiting.Tickets {
		if ticket.ExpiresAt > 0 && ticket.ExpiresAt <= host.Now().UnixMilli() {
			return true, nil
		}
	}
	return false, nil
}

// wait suspends the call until the child makes progress.
func (c *Child) wait(child *awaken.Run) error {
	action, message := "suspended", "waits for a decision"
	switch {
	case child.Status != awaken.RunWaiting:
		action, message = "running", "is running"
	case child.Waiting.Reason == awaken.WaitUserInput:
		action = "input_required"
	case child.Waiting.Reason == awaken.WaitBudget:
		action, message = "budget_exhausted", "waits: "+child.Waiting.Message
	case child.Waiting.Reason == awaken.WaitPin, child.Waiting.Reason == awaken.WaitRestored:
		action, message = string(child.Waiting.Reason), "waits: "+child.Waiting.Message
	case child.Waiting.Reason == awaken.WaitBackgroundTasks:
		action, message = "running", "waits for its tasks"
	}
	ticket := awaken.Ticket{
		Suspension: awaken.Suspension{ID: "delegate_run:" + child.RunID, Action: "agent_delegate:" + action, Message: c.Name + " " + message},
		Child:      child.RunID,
		Tickets:    child.ChildTickets(),
	}
	if child.Waiting != nil {
		ticket.Budget = child.Waiting.Budget
	}
	return awaken.Suspend(ticket)
}
