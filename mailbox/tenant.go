package mailbox

import (
	"cmp"
	"context"
	"errors"
	"fmt"

	"github.com/awaken-go/awaken"
	"github.com/awaken-go/awaken/eventlog"
)

// Tenant is what one tenant sees of a mailbox: threads, runs and their queue.
type Tenant struct {
	box  *Mailbox
	name string

	Store   Handle
	Runtime Runtime       // runs agents on Store
	Log     *eventlog.Log // what they say
}

// changed makes a change, and tells whoever in this process has to know.
func (t *Tenant) changed(ctx context.Context, threadID string, fn func(q *Thread) error) error {
	var done Changes
	err := t.Store.Change(ctx, threadID, func(q *Thread) error {
		err := fn(q)
		done = q.Changes
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
			poke(t.box.poked)
		}
		if d.Status == Claimed && d.Cancel {
			t.box.cancelHere(d.ID)
		}
	}
	return nil
}

// Decide delivers decisions to the open run of a thread, or to a run: the id is a
// thread's, a run's or a dispatch's. A run that waits goes on. Decisions that were
// delivered before are not delivered again.
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
	run, items, err := t.Runtime.CheckDecisions(ctx, runID, ds...)
	if err != nil {
		return nil, err
	}
	r := &Receipt{ThreadID: run.ThreadID, RunID: runID, Duplicate: len(items) == 0}
	if r.Duplicate {
		return r, nil
	}
	err = t.changed(ctx, run.ThreadID, func(q *Thread) error {
		r.After = q.End
		got, err := q.submit(&submission{dispatch: t.spare(), items: items, live: true, runID: runID})
		if got != nil {
			r.DispatchID = got.ID
		}
		return err
	})
	if errors.Is(err, ErrNothing) { // the run has ended meanwhile, perhaps because of the same decisions
		if _, items, again := t.Runtime.CheckDecisions(ctx, runID, ds...); again == nil && len(items) == 0 {
			return &Receipt{ThreadID: run.ThreadID, RunID: runID, Duplicate: true}, nil
		}
	}
	if err != nil {
		return nil, fmt.Errorf("decide run %s: %w", runID, err)
	}
	return r, nil
}

// Continue goes on with a run that waits for money, after its budget was raised, or for its
// version. A run that does not is an ErrConflict.
func (t *Tenant) Continue(ctx context.Context, runID string) (*Receipt, error) {
	run, err := t.Store.LoadRun(ctx, runID)
	if err != nil {
		return nil, fmt.Errorf("continue run %s: %w", runID, err)
	}
	r := &Receipt{ThreadID: run.ThreadID, RunID: runID}
	err = t.changed(ctx, run.ThreadID, func(q *Thread) error {
		r.After = q.End
		if !q.waitsForContinue(runID) {
			return fmt.Errorf("%w: it waits neither for money nor for its version", awaken.ErrConflict)
		}
		d, err := q.wake(t.spare())
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

// Cancel ends a run, by its id, its dispatch's or its thread's, whether it is queued,
// going on or waiting. When it returns, nothing new will begin. ErrNothing means that
// there is nothing to end.
func (t *Tenant) Cancel(ctx context.Context, id string) error {
	threadID, runID, err := t.find(ctx, id)
	if err != nil {
		return fmt.Errorf("cancel %s: %w", id, err)
	}
	runID = cmp.Or(runID, threadID)
	err = t.changed(ctx, threadID, func(q *Thread) error {
		if !q.cancel(runID, t.spare()) {
			return ErrNothing
		}
		return nil
	})
	if err == nil || errors.Is(err, ErrNothing) {
		// One that had not started is over, and has nobody else to tell its parent.
		if run, loadErr := t.Store.LoadRun(ctx, runID); loadErr == nil && run.Status == awaken.RunDone {
			err = errors.Join(err, t.Runtime.Report(ctx, run))
		}
	}
	if err != nil {
		return fmt.Errorf("cancel %s: %w", id, err)
	}
	return nil
}

// Interrupt ends everything on a thread: what runs, what waits and what is queued. It
// returns how many queued dispatches were superseded.
func (t *Tenant) Interrupt(ctx context.Context, threadID string) (superseded int, err error) {
	err = t.changed(ctx, threadID, func(q *Thread) error {
		n, found := q.interrupt(t.spare())
		if superseded = n; !found {
			return ErrNothing
		}
		return nil
	})
	if err != nil {
		return 0, fmt.Errorf("interrupt thread %s: %w", threadID, err)
	}
	return superseded, nil
}

// find returns the thread that an id is about, and the run unless the id is the thread's.
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

// spare is a dispatch without a purpose yet.
func (t *Tenant) spare() *Dispatch {
	return &Dispatch{ID: t.box.cfg.NewID(), Tenant: t.name, Priority: DefaultPriority, MaxAttempts: t.box.cfg.MaxAttempts}
}
