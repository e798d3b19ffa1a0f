package mailbox

import (
	"cmp"
	"context"
	"errors"
	"fmt"

	"github.com/awaken-go/awaken"
	"github.com/awaken-go/awaken/eventlog"
)

// Tenant is one tenant's view of a mailbox: its threads, its runs and their queue. It is safe
// for concurrent use.
type Tenant struct {
	box  *Mailbox
	name string

	Store   Handle        // the tenant's threads, runs and queue
	Runtime Runtime       // runs agents on Store
	Log     *eventlog.Log // the events of their runs
}

// Name returns the tenant's name.
func (t *Tenant) Name() string { return t.name }

// changed changes a thread, then notifies the run and the worker that the change concerns, in this
// process or another.
func (t *Tenant) changed(ctx context.Context, threadID string, fn func(q *Thread) error) error {
	var done Changes
	var commanded bool
	err := t.Store.Change(ctx, threadID, func(q *Thread) error {
		err := fn(q)
		done, commanded = q.Changes, q.commands()
		return err
	})
	if err != nil {
		return err
	}
	if len(done.Post) > 0 {
		t.Runtime.Notify(threadID)
	}
	for _, d := range done.Put {
		if d.Status == Queued {
			t.box.changed()
		}
		if d.Status == Claimed && d.Cancel {
			t.box.cancelHere(d.ID)
		}
	}
	if commanded {
		commands{t.box}.tell(t.name, threadID)
	}
	return nil
}

// Decide delivers decisions to a run, and wakes it if it is waiting. The id names the
// run, its dispatch, or a thread, which stands for the thread's open run. Decisions
// that a run has already read are not delivered again; the receipt is then a duplicate. Of
// different decisions on a question the first one counts; the error of the others is an
// *[awaken.Decided]. A decision with an outcome also settles a call in doubt that is over, of a run that
// may have ended: it wakes nothing, and the thread's next run tells its model.
func (t *Tenant) Decide(ctx context.Context, id string, ds ...awaken.Decision) (*Receipt, error) {
	threadID, runID, err := t.find(ctx, id)
	if err != nil {
		return nil, err
	}
	if runID == "" {
		if runID, err = t.decidable(ctx, threadID); err != nil {
			return nil, err
		}
	}
	items, err := t.check(ctx, runID, ds)
	if err != nil {
		return nil, err
	}
	r := &Receipt{ThreadID: threadID, RunID: runID, Duplicate: len(items) == 0}
	if r.Duplicate {
		return r, nil
	}
	settles, waited := partSettlements(items)
	err = t.changed(ctx, threadID, func(q *Thread) error {
		r.After = q.End
		q.Post = append(q.Post, settles...)
		if len(waited) == 0 {
			return nil
		}
		got, err := q.submit(&submission{dispatch: t.newDispatch(), items: waited, live: true, runID: runID})
		if got != nil {
			r.DispatchID = got.ID
		}
		return err
	})
	if err != nil {
		repeated, err := t.overtaken(ctx, runID, ds, err)
		if repeated {
			return &Receipt{ThreadID: threadID, RunID: runID, Duplicate: true}, nil
		}
		return nil, fmt.Errorf("decide run %s: %w", runID, err)
	}
	r.Decided = t.made(ctx, items)
	return r, nil
}

// partSettlements parts the settlements of calls that are over from the other decisions. They wake no run: the next one of
// the thread reads them.
func partSettlements(items []awaken.InboxItem) (settles, others []awaken.InboxItem) {
	for _, it := range items {
		if it.Decided.Settles() {
			settles = append(settles, it)
		} else {
			others = append(others, it)
		}
	}
	return settles, others
}

// Continue resumes a run that waits for its budget to be raised or for its pinned version to
// become available. For any other run the error is awaken.ErrConflict.
func (t *Tenant) Continue(ctx context.Context, runID string) (*Receipt, error) {
	run, err := t.Store.LoadRun(ctx, runID)
	if err != nil {
		return nil, fmt.Errorf("continue run %s: %w", runID, err)
	}
	r := &Receipt{ThreadID: run.ThreadID, RunID: runID}
	err = t.changed(ctx, run.ThreadID, func(q *Thread) error {
		r.After = q.End
		if !q.awaitsContinue(runID) {
			return fmt.Errorf("%w: it waits neither for its budget nor for its version", awaken.ErrConflict)
		}
		d, err := q.wake(t.newDispatch())
		if d != nil {
			r.DispatchID = d.ID
		}
		return err
	})
	if err != nil {
		return nil, fmt.Errorf("continue run %s: %w", runID, err)
	}
	return r, nil
}

// Cancel ends a run that is queued, running or waiting. The id names the run, its
// dispatch or its thread. When Cancel returns, the run starts nothing new. Cancelling again
// does nothing and succeeds. The error is ErrIdle if there is nothing to end.
func (t *Tenant) Cancel(ctx context.Context, id string) error {
	threadID, runID, err := t.find(ctx, id)
	if err != nil {
		return fmt.Errorf("cancel %s: %w", id, err)
	}
	runID = cmp.Or(runID, threadID)
	err = t.changed(ctx, threadID, func(q *Thread) error {
		if !q.cancel(runID, t.newDispatch()) {
			return ErrIdle
		}
		return nil
	})
	if err == nil || errors.Is(err, ErrIdle) {
		// A run that had not started is over, and no worker will report it to its parent.
		if run, loadErr := t.lastRun(ctx, threadID, runID); loadErr == nil && run.Status == awaken.RunDone {
			if run.Termination.Type == awaken.Cancelled {
				err = nil
			}
			err = errors.Join(err, t.Runtime.Report(ctx, run))
		}
	}
	if err != nil {
		return fmt.Errorf("cancel %s: %w", id, err)
	}
	return nil
}

// lastRun returns a run, or the latest of the thread if the run's ID is the thread's.
func (t *Tenant) lastRun(ctx context.Context, threadID, runID string) (*awaken.Run, error) {
	if runID != threadID {
		return t.Store.LoadRun(ctx, runID)
	}
	runs, err := t.Store.ListRuns(ctx, awaken.RunQuery{ThreadID: threadID, Limit: 1})
	if err != nil {
		return nil, err
	}
	if len(runs) == 0 {
		return nil, awaken.ErrNotFound
	}
	return runs[0], nil
}

// Interrupt ends everything on a thread: the run that is running or waiting, and all queued
// input. It returns how many queued dispatches it superseded. The error is ErrIdle if the
// thread is idle.
func (t *Tenant) Interrupt(ctx context.Context, threadID string) (superseded int, err error) {
	err = t.changed(ctx, threadID, func(q *Thread) error {
		n, _, found := q.interrupt(t.newDispatch())
		if superseded = n; !found {
			return ErrIdle
		}
		return nil
	})
	if err != nil {
		return 0, fmt.Errorf("interrupt thread %s: %w", threadID, err)
	}
	return superseded, nil
}

// find returns the thread that an id belongs to, and the run, unless the id is the thread's.
func (t *Tenant) find(ctx context.Context, id string) (threadID, runID string, err error) {
	run, err := t.Store.LoadRun(ctx, id)
	if err == nil {
		return run.ThreadID, id, nil
	}
	if errors.Is(err, awaken.ErrNotFound) {
		var d *Dispatch
		if d, err = t.Store.Dispatch(ctx, id); err == nil {
			return d.ThreadID, d.RunID, nil
		}
	}
	if errors.Is(err, awaken.ErrNotFound) {
		_, err = t.Store.Thread(ctx, id)
	}
	return id, "", err
}

// newDispatch returns a dispatch with an id and the defaults. The caller says what it is for.
func (t *Tenant) newDispatch() *Dispatch {
	return &Dispatch{ID: t.box.cfg.NewID(), Tenant: t.name, Priority: DefaultPriority, MaxAttempts: t.box.cfg.MaxAttempts}
}
