package mailbox

import (
	"context"
	"errors"
	"slices"

	"github.com/awaken-go/awaken"
)

// ended is what becomes of a dispatch whose run is done. Messages that the run did not
// take in before it was cancelled or failed start another.
func (w *work) ended(ctx context.Context, run *awaken.Run) (Settlement, error) {
	s := Settlement{Status: Acked}
	if w.d.Cancel && run.Termination.Type == awaken.Cancelled {
		s.Status = Cancelled
	}
	return s, w.leave(ctx, run)
}

// leftKey is the dedupe key of dispatches for what was left unread on a thread.
const leftKey = "awaken.left"

// left reports whether the thread's inbox holds messages.
func (w *work) left(ctx context.Context) (bool, error) {
	items, err := w.tenant.Store.Unread(ctx, w.d.ThreadID)
	if errors.Is(err, awaken.ErrNotFound) {
		return false, nil
	}
	return slices.ContainsFunc(items, func(it awaken.InboxItem) bool { return len(it.Messages) > 0 && it.RunID == "" }), err
}

// leave queues a run for the messages that a run which is done has not taken in. After
// an interrupt nothing is, until somebody asks for something again; nor is it when a run
// that was queued for them could not start.
func (w *work) leave(ctx context.Context, run *awaken.Run) error {
	if w.d.DedupeKey == leftKey && run.StartedAt == 0 {
		return nil
	}
	if left, err := w.left(ctx); !left || err != nil {
		return err
	}
	err := w.tenant.changed(ctx, run.ThreadID, func(q *Thread) error {
		if q.Open != nil || q.Epoch != w.d.Epoch {
			return nil
		}
		return q.startLeft(w.tenant, w.tenant.spare(), &awaken.RunRequest{AgentID: run.AgentID, SessionID: run.SessionID, UserID: run.UserID, Origin: run.Origin, Adapter: run.Adapter})
	})
	if errors.Is(err, ErrDuplicate) {
		return nil // one is queued already
	}
	return err
}

// endFor ends the run for good, and says what becomes of the dispatch.
func (w *work) endFor(ctx context.Context, run *awaken.Run, as Status, t awaken.Termination) (Settlement, error) {
	err := w.end(ctx, run, t)
	if err == nil && w.child {
		err = w.report(ctx, run.RunID)
	}
	if err != nil {
		return Settlement{}, err
	}
	return Settlement{Status: as}, w.leave(ctx, run)
}

// giveUp ends the run of a dispatch that cannot be worked on.
func (w *work) giveUp(ctx context.Context, reason string) (Settlement, error) {
	run, err := w.tenant.Store.LoadRun(ctx, w.d.RunID)
	if err != nil {
		return Settlement{}, err
	}
	if run.Status == awaken.RunDone {
		return Settlement{Status: DeadLetter}, w.leave(ctx, run)
	}
	return w.endFor(ctx, run, DeadLetter, awaken.Termination{Type: awaken.Failed, Message: reason})
}

// end ends the run for good. One that has not started has no events: its record says it.
func (w *work) end(ctx context.Context, run *awaken.Run, t awaken.Termination) error {
	if run.Status == awaken.RunCreated {
		ended, err := w.endCreated(ctx, run, t)
		if ended || err != nil {
			return err
		}
	}
	_, err := w.start(context.WithoutCancel(ctx), awaken.RunRequest{Continue: run.RunID, End: &t})
	if t.Type == awaken.Failed && err != nil && !errors.Is(err, awaken.ErrFenced) {
		if now, loadErr := w.tenant.Store.LoadRun(ctx, run.RunID); loadErr == nil && now.Status == awaken.RunDone {
			return nil // the error is the one that it was ended with
		}
	}
	return err
}

// endCreated ends a run that has not started. It reports false if the run has started
// by now: somebody who had the claim before had a commit on its way.
func (w *work) endCreated(ctx context.Context, run *awaken.Run, t awaken.Termination) (ended bool, err error) {
	err = w.tenant.changed(ctx, run.ThreadID, func(q *Thread) error {
		if !slices.ContainsFunc(q.Live, func(d *Dispatch) bool { return d.ID == w.d.ID && d.ClaimToken == w.d.ClaimToken }) {
			return errLeaseLost
		}
		if ended = !q.started(w.d); ended {
			q.Runs = append(q.Runs, endedRun(run, q.Now, t))
		}
		return nil
	})
	return ended, err
}
