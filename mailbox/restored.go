package mailbox

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"iter"
	"slices"
	"time"

	"github.com/awaken-go/awaken"
)

// The runs that were unfinished when a database was restored wait for an operator: they may have
// continued elsewhere since the copy was made, and would make their effects again. A run that has
// started is parked by the runtime as [awaken.WaitRestored]; one that has not stays in the queue, on
// hold, because its dispatch is its record.

const (
	// holdTime is how long a dispatch on hold stays unavailable. Only a release ends the hold.
	holdTime = 100 * 365 * 24 * time.Hour
	// holdRetry is how long a released run waits before it looks again whether the one before it was
	// released.
	holdRetry = 2 * time.Second
	// restoredError is the LastError of a dispatch on hold.
	restoredError = "the database was restored; an operator releases the run"
)

// OnHold reports whether the dispatch waits for the release of its run, which was queued when the
// database was restored.
func (d *Dispatch) OnHold() bool {
	return d.Status == Queued && d.Request != nil && d.AvailableAt-d.UpdatedAt >= holdTime.Milliseconds()
}

// held returns how long the dispatch is on hold, because it starts a restored run that no operator
// has released, or that follows one of its thread; 0 if it is not.
func (c *claim) held(ctx context.Context) (time.Duration, error) {
	r := c.tenant.box.cfg.Restoration
	if !r.Covers(c.d.CreatedAt) || c.d.Request == nil || c.d.Cancel {
		return 0, nil
	}
	run, err := c.tenant.Store.LoadRun(ctx, c.d.RunID)
	if errors.Is(err, awaken.ErrNotFound) || err == nil && run.Status != awaken.RunCreated {
		return 0, nil // it was deleted, or has started: the runtime parks it
	}
	if err != nil {
		return 0, err
	}
	if c.d.Request.Released != r.ID {
		return holdTime, nil
	}
	th, err := c.tenant.Store.Thread(ctx, c.d.ThreadID)
	if err != nil || th.OpenRunID == "" {
		return 0, err
	}
	if open, err := c.tenant.Store.LoadRun(ctx, th.OpenRunID); err != nil || r.Released(open) {
		return 0, err
	}
	return holdRetry, nil
}

// Restored describes a tenant's part of a restored database to operators: the waiting runs, and
// their release. A nil Mark means that the database was not restored.
type Restored struct {
	Mark  *awaken.Restoration
	Store Handle
	NewID func() string

	changed func(ctx context.Context, threadID string, fn func(q *Thread) error) error // nil: Store.Change
}

// Restored returns the tenant's part of the database, if it was restored.
func (t *Tenant) Restored() *Restored {
	return &Restored{Mark: t.box.cfg.Restoration, Store: t.Store, NewID: t.box.cfg.NewID, changed: t.changed}
}

// Waiting yields the runs that q selects and that wait for their release, the oldest first. It
// ignores the status, the times and the page of q.
func (r *Restored) Waiting(ctx context.Context, q awaken.RunQuery) iter.Seq2[*awaken.Run, error] {
	return func(yield func(*awaken.Run, error) bool) {
		if r.Mark == nil || r.Mark.ID == "" {
			return
		}
		var found []*awaken.Run
		for _, status := range []awaken.RunStatus{awaken.RunCreated, awaken.RunRunning, awaken.RunWaiting} {
			runs, err := unfinished(ctx, r.Store, q, status, r.Mark.At)
			if err != nil {
				yield(nil, err)
				return
			}
			found = append(found, slices.DeleteFunc(runs, r.Mark.Released)...)
		}
		slices.SortStableFunc(found, func(a, b *awaken.Run) int { return cmp.Compare(a.CreatedAt, b.CreatedAt) })
		for _, run := range found {
			if !yield(run, nil) {
				return
			}
		}
	}
}

// unfinished returns the runs that q selects, with a status, created before until.
func unfinished(ctx context.Context, s awaken.Store, q awaken.RunQuery, status awaken.RunStatus, until int64) ([]*awaken.Run, error) {
	var all []*awaken.Run
	at := ""
	q.Status, q.Since, q.Until, q.Offset, q.Limit, q.At = status, 0, until, 0, 500, &at
	for {
		runs, err := s.ListRuns(ctx, q)
		if err != nil {
			return nil, err
		}
		if all = append(all, runs...); at == "" {
			return all, nil
		}
	}
}

// Release lets a run continue. Releasing it again does nothing and succeeds. A run that is queued
// behind another one of its thread begins after that one was released, too. The error is
// awaken.ErrConflict if the run is none that waits for a release.
func (r *Restored) Release(ctx context.Context, runID string, by *awaken.Actor) (*Receipt, error) {
	run, err := r.Store.LoadRun(ctx, runID)
	if err != nil {
		return nil, fmt.Errorf("release run %s: %w", runID, err)
	}
	out := &Receipt{ThreadID: run.ThreadID, RunID: runID}
	switch {
	case !r.Mark.Covers(run.CreatedAt), run.Status == awaken.RunDone:
		return nil, fmt.Errorf("release run %s: %w: it does not wait for a release", runID, awaken.ErrConflict)
	case r.Mark.Released(run):
		out.Duplicate = true
		return out, nil
	}
	change := r.changed
	if change == nil {
		change = r.Store.Change
	}
	spare := &Dispatch{ID: r.NewID(), Priority: DefaultPriority, MaxAttempts: defaultAttempts}
	err = change(ctx, run.ThreadID, func(q *Thread) error {
		out.After = q.End
		d, err := q.release(runID, r.Mark, spare, by)
		if d != nil {
			out.DispatchID = d.ID
		}
		return err
	})
	if err != nil {
		return nil, fmt.Errorf("release run %s: %w", runID, err)
	}
	return out, nil
}

// release posts the release of a run, and makes its dispatch available or queues spare.
func (t *Thread) release(runID string, r *awaken.Restoration, spare *Dispatch, by *awaken.Actor) (*Dispatch, error) {
	item := awaken.InboxItem{ID: "release:" + r.ID + ":" + runID, RunID: runID,
		Release: &awaken.Release{RestorationID: r.ID, At: t.Now, Actor: by}}
	if t.Open != nil && t.Open.RunID == runID {
		t.Post = append(t.Post, item)
		return t.wake(spare)
	}
	for _, d := range t.Live {
		if d.RunID == runID && d.Request != nil && !d.Cancel {
			d = clone(d)
			req := *d.Request // an inbox item would be read by the run before it
			req.Released, d.Request = r.ID, &req
			if d.Status == Queued {
				d.AvailableAt, d.LastError = min(d.AvailableAt, t.Now), ""
			}
			t.put(d)
			return d, nil
		}
	}
	return nil, ErrIdle
}

// Unfinished counts the runs that wait after a restoration, by the status that they had.
type Unfinished struct {
	Queued, Running, Waiting int
}

// MarkRestored prepares the database of a queue for a restoration, while no process uses it: it
// wakes the runs that wait, so that the next process parks them as restored, and returns the mark
// for the configuration of the processes that use the database from now on.
func MarkRestored(
	ctx context.Context, queue Queue, tenants []string, now time.Time, newID func() string,
) (*awaken.Restoration, Unfinished, error) {
	r := &awaken.Restoration{ID: newID()}
	latest := int64(0)
	var n Unfinished
	counts := map[awaken.RunStatus]*int{
		awaken.RunCreated: &n.Queued,
		awaken.RunRunning: &n.Running,
		awaken.RunWaiting: &n.Waiting,
	}
	for _, tenant := range tenants {
		store := queue.Handle(tenant)
		threads, err := store.ListThreads(ctx, awaken.ThreadQuery{Limit: 1})
		if err != nil {
			return nil, n, err
		}
		for _, th := range threads {
			r.Known = max(r.Known, th.Metadata.UpdatedAt)
		}
		for status, count := range counts {
			runs, err := unfinished(ctx, store, awaken.RunQuery{}, status, 0)
			if err != nil {
				return nil, n, err
			}
			*count += len(runs)
			for _, run := range runs {
				latest, r.Known = max(latest, run.CreatedAt), max(r.Known, run.UpdatedAt)
				if status != awaken.RunWaiting {
					continue
				}
				if err := wakeRestored(ctx, store, run, newID()); err != nil {
					return nil, n, err
				}
			}
		}
	}
	r.At = max(now.UnixMilli(), latest, r.Known) + 1
	return r, n, nil
}

// wakeRestored queues a dispatch that lets a worker find a waiting run. It costs one look if the run
// is not restored after all.
func wakeRestored(ctx context.Context, store Handle, run *awaken.Run, id string) error {
	err := store.Change(ctx, run.ThreadID, func(q *Thread) error {
		if q.Open == nil || q.Open.RunID != run.RunID || q.Open.Status != awaken.RunWaiting {
			return nil
		}
		_, err := q.wake(&Dispatch{ID: id, Priority: DefaultPriority, MaxAttempts: defaultAttempts})
		return err
	})
	if errors.Is(err, awaken.ErrNotFound) {
		return nil
	}
	return err
}
