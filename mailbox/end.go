package mailbox

import (
	"context"
	"errors"
	"slices"
	"time"

	"github.com/awaken-go/awaken"
)

// settleDone returns how to settle a dispatch whose run is done. Messages that the run did
// not read before it was cancelled or failed start another run.
func (c *claim) settleDone(ctx context.Context, run *awaken.Run) (Settlement, error) {
	s := Settlement{Status: Acked}
	if c.d.Cancel && run.Termination.Type == awaken.Cancelled {
		s.Status = Cancelled
	}
	return s, c.queueUnread(ctx, run)
}

// unreadKey is the dedupe key of dispatches that start a run for unread messages.
const unreadKey = "awaken.left"

// hasUnread reports whether the thread's inbox holds messages for any run.
func (c *claim) hasUnread(ctx context.Context) (bool, error) {
	items, err := c.tenant.Store.Unread(ctx, c.d.ThreadID)
	if errors.Is(err, awaken.ErrNotFound) {
		return false, nil
	}
	return slices.ContainsFunc(items, func(it awaken.InboxItem) bool { return len(it.Messages) > 0 && it.RunID == "" }), err
}

// queueUnread queues a run for the messages that a finished run did not read. It queues none
// after an interrupt, until the client submits again, and none if the run queued for these
// messages could not start.
func (c *claim) queueUnread(ctx context.Context, run *awaken.Run) error {
	if c.d.DedupeKey == unreadKey && run.StartedAt == 0 {
		return nil
	}
	if unread, err := c.hasUnread(ctx); !unread || err != nil {
		return err
	}
	err := c.tenant.changed(ctx, run.ThreadID, func(q *Thread) error {
		if q.Open != nil || q.Epoch != c.d.Epoch {
			return nil
		}
		return q.startUnread(c.tenant, c.tenant.newDispatch(), &awaken.RunRequest{AgentID: run.AgentID, SessionID: run.SessionID, UserID: run.UserID, Origin: run.Origin, Adapter: run.Adapter})
	})
	if errors.Is(err, ErrDuplicate) {
		return nil // a run for them is queued already
	}
	return err
}

// endFor ends the run for good and returns how to settle the dispatch.
func (c *claim) endFor(ctx context.Context, run *awaken.Run, as Status, t awaken.Termination) (Settlement, error) {
	c.final.Status = as
	err := c.end(ctx, run, t)
	if c.settled != "" {
		return Settlement{Status: c.settled}, nil
	}
	if err == nil && c.child {
		err = c.report(ctx, run.RunID)
	}
	if err != nil {
		return Settlement{}, err
	}
	return Settlement{Status: as}, c.queueUnread(ctx, run)
}

// endCancelled ends the run of a dispatch that was cancelled before the run could start.
func (c *claim) endCancelled(ctx context.Context) (Settlement, error) {
	ctx, cancel := context.WithTimeout(context.WithoutCancel(ctx), 10*time.Second)
	defer cancel()
	run, err := c.tenant.Store.LoadRun(ctx, c.d.RunID)
	switch {
	case err != nil:
		return Settlement{}, err
	case c.inputLeft(run):
		return c.takeIn(ctx, run)
	case run.Status == awaken.RunCreated:
		return c.endFor(ctx, run, Cancelled, awaken.Termination{Type: awaken.Cancelled})
	}
	return Settlement{}, nil
}

// inputLeft reports whether the run ended before it started and its input is not in the thread yet.
func (c *claim) inputLeft(run *awaken.Run) bool {
	return run.Status == awaken.RunDone && run.StartedAt == 0 && c.d.hasInput()
}

// takeIn takes the input of such a run into the thread.
func (c *claim) takeIn(ctx context.Context, run *awaken.Run) (Settlement, error) {
	if c.d.Exhausted() {
		return Settlement{Status: DeadLetter}, nil
	}
	if run.StatusReason == "superseded" {
		return c.endFor(ctx, run, Superseded, run.Termination)
	}
	return c.endFor(ctx, run, Cancelled, run.Termination)
}

// giveUp ends the run of a dispatch that cannot succeed.
func (c *claim) giveUp(ctx context.Context, reason string) (Settlement, error) {
	run, err := c.tenant.Store.LoadRun(ctx, c.d.RunID)
	if err != nil {
		return Settlement{}, err
	}
	if run.Status == awaken.RunDone {
		return Settlement{Status: DeadLetter}, c.queueUnread(ctx, run)
	}
	return c.endFor(ctx, run, DeadLetter, awaken.Termination{Type: awaken.Failed, Message: reason})
}

// end ends the run for good. One that has not started takes its input into the thread first.
func (c *claim) end(ctx context.Context, run *awaken.Run, t awaken.Termination) error {
	req := awaken.RunRequest{Continue: run.RunID, End: &t}
	if run.StartedAt == 0 {
		// Input that may have killed its processes, or could not be taken in, stays in the dispatch.
		ended, err := c.endCreated(ctx, run, t, c.d.Suspect() || c.d.Attempts > c.d.MaxAttempts)
		if ended || err != nil {
			return err
		}
		if run, err = c.tenant.Store.LoadRun(ctx, run.RunID); err != nil {
			return err
		}
		if run.StartedAt == 0 {
			req = *c.d.Request
			req.Seed, req.Context, req.FrontendTools, req.OutputSchema, req.Call = nil, nil, nil, nil, nil // only the messages count
			req.End = &t
		}
	}
	req.DispatchID = c.d.ID
	_, err := c.start(context.WithoutCancel(ctx), &req)
	if err == nil || errors.Is(err, awaken.ErrFenced) {
		return err
	}
	now, loadErr := c.tenant.Store.LoadRun(ctx, run.RunID)
	switch {
	case loadErr == nil && now.Status == awaken.RunDone && now.StartedAt != 0:
		return nil // it is the error that the run was ended with
	case req.RunID != "" && permanent(err):
		_, err = c.endCreated(ctx, run, t, true)
	}
	return err
}

// endCreated ends a run that has not started and has no input, or whose input is refused. Other
// input goes to the thread's open run, if there is one. It reports false if [claim.start] must end
// the run: its input is to be taken in, or it has started meanwhile, because an earlier owner of the
// claim had a commit in flight.
func (c *claim) endCreated(ctx context.Context, run *awaken.Run, t awaken.Termination, refused bool) (ended bool, err error) {
	err = c.tenant.changed(ctx, run.ThreadID, func(q *Thread) error {
		if !slices.ContainsFunc(q.Live, func(d *Dispatch) bool { return d.ID == c.d.ID && d.ClaimToken == c.d.ClaimToken }) {
			return errLeaseLost
		}
		ended = !q.started(c.d) && (q.Open != nil || refused || !c.d.hasInput())
		if !ended {
			return nil
		}
		if run.Status == awaken.RunCreated {
			q.Runs = append(q.Runs, endedRun(run, q.Now, t))
		}
		if q.Open == nil || refused || !c.d.hasInput() {
			return nil
		}
		q.Post = append(q.Post, awaken.InboxItem{
			ID:        "input:" + c.d.ID,
			RunID:     q.Open.RunID,
			Messages:  c.d.Request.Messages,
			Untrusted: c.d.Request.Untrusted,
			Taint:     c.d.Request.Taint,
		})
		_, err := q.wake(c.tenant.newDispatch())
		return err
	})
	return ended, err
}
