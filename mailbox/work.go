package mailbox

import (
	"context"
	"errors"
	"fmt"
	"sync/atomic"
	"time"

	"github.com/awaken-go/awaken"
)

// work is a dispatch that this process has claimed.
type work struct {
	d      *Dispatch
	tenant *Tenant
	ctx    context.Context // of its run
	cancel context.CancelCauseFunc
	steps  atomic.Int64 // of its run
	lost   atomic.Bool  // the claim is not ours any more
	child  bool         // its run has a parent
	lease  lease
}

var (
	errLeaseLost = fmt.Errorf("%w: the lease of its dispatch is lost", awaken.ErrFenced)
	errDrained   = fmt.Errorf("%w: the process stops", awaken.ErrFenced)
)

// lose ends the run without another word: somebody else may have it already.
func (w *work) lose() {
	w.lost.Store(true)
	w.cancel(errLeaseLost)
}

// run does what the dispatch asks for. An error says that it could not.
func (w *work) run(ctx context.Context) (Settlement, error) {
	d, t := w.d, w.tenant
	run, err := t.Store.LoadRun(ctx, d.RunID)
	if errors.Is(err, awaken.ErrNotFound) { // its thread was deleted
		return Settlement{Status: Cancelled, Error: err.Error()}, nil
	}
	if err != nil {
		return Settlement{}, err
	}
	if run.ThreadID != d.ThreadID { // two were submitted at once
		return Settlement{Status: Cancelled, Error: "run " + run.RunID + " is of another thread"}, nil
	}
	w.child = run.ParentRunID != ""
	if run.Steps > d.Steps {
		w.steps.Store(int64(run.Steps))
		d.Attempts = 0
	}
	switch {
	case run.Status == awaken.RunDone:
		if err := w.tenant.Runtime.Report(ctx, run); err != nil {
			return Settlement{}, err
		}
		return w.ended(ctx, run)
	case d.Cancel:
		return w.endFor(ctx, run, Cancelled, awaken.Termination{Type: awaken.Cancelled})
	case d.Exhausted():
		reason := fmt.Sprintf("gave up after %d attempts", d.Attempts) // why is in the dispatch, for those who run the server
		return w.endFor(ctx, run, DeadLetter, awaken.Termination{Type: awaken.Failed, Message: reason})
	case run.Status == awaken.RunWaiting:
		if wanted, err := w.wanted(ctx, run); err != nil {
			return Settlement{}, err
		} else if !wanted {
			if err := w.tenant.Runtime.Report(ctx, run); err != nil {
				return Settlement{}, err
			}
			return Settlement{Status: Acked}, w.wakeAtExpiry(ctx, run)
		}
		mode := "resume"
		if run.Waiting.Reason == awaken.WaitPin && run.Waiting.Message == d.LastError {
			mode = "internal_wake" // nobody asked
		}
		return w.goOn(ctx, awaken.RunRequest{Continue: run.RunID, Mode: mode})
	case run.Status == awaken.RunRunning:
		return w.goOn(ctx, awaken.RunRequest{Continue: run.RunID})
	}
	if err := w.makeRoom(ctx); err != nil {
		return Settlement{}, err
	}
	if d.DedupeKey == leftKey { // for what was left unread, unless somebody has taken it in
		if left, err := w.left(ctx); err != nil {
			return Settlement{}, err
		} else if !left {
			return Settlement{Status: Cancelled}, w.end(ctx, run, awaken.Termination{Type: awaken.Cancelled})
		}
	}
	return w.goOn(ctx, *d.Request)
}

// goOn runs, and looks how it came out.
func (w *work) goOn(ctx context.Context, req awaken.RunRequest) (Settlement, error) {
	res, err := w.start(ctx, req)
	if res == nil {
		return Settlement{}, err
	}
	w.steps.Store(int64(res.Steps))
	if err != nil || res.Status == awaken.RunWaiting || res.Unread || res.Termination.Type != awaken.NaturalEnd {
		lookup, cancel := context.WithTimeout(context.WithoutCancel(ctx), 10*time.Second)
		defer cancel()
		run, loadErr := w.tenant.Store.LoadRun(lookup, res.RunID)
		switch {
		case loadErr != nil:
			return Settlement{}, errors.Join(err, loadErr)
		case run.Status == awaken.RunDone:
			return w.ended(lookup, run)
		case run.Status == awaken.RunWaiting && run.Waiting.Reason == awaken.WaitPin:
			return Settlement{Status: Queued, Delay: pinRetry, Error: run.Waiting.Message}, nil
		case run.Status == awaken.RunWaiting:
			return Settlement{Status: Acked}, w.wakeAtExpiry(lookup, run)
		case err != nil: // its end could not be stored
			return Settlement{}, err
		}
	}
	return Settlement{Status: Acked}, nil
}

// start runs a request with the events going to the log. Once the thread is acquired,
// it makes sure that the claim still holds, and has not been cancelled.
func (w *work) start(ctx context.Context, req awaken.RunRequest) (*awaken.RunResult, error) {
	req.DispatchID = w.d.ID
	req.Confirm = func(ctx context.Context) error {
		if err := w.tenant.box.renew(ctx, w); err != nil {
			return err
		}
		if w.lost.Load() {
			return errLeaseLost
		}
		return nil
	}
	var next awaken.Sink
	if f := w.tenant.box.cfg.Sink; f != nil && req.End == nil { // what ends a run must not depend on it
		next = f(w.tenant.name)
	}
	sink := w.tenant.Log.Sink(next)
	defer sink.Close()
	res, err := w.tenant.Runtime.Run(ctx, req, progress{sink, &w.steps})
	if res != nil && (w.child || req.End != nil) {
		if told := w.report(ctx, res.RunID); told != nil {
			return nil, errors.Join(err, told) // whoever tries again finds the run as it is, and tells
		}
	}
	return res, err
}

// report tells the parent of a run how the run came out.
func (w *work) report(ctx context.Context, runID string) error {
	ctx, cancel := context.WithTimeout(context.WithoutCancel(ctx), 10*time.Second)
	defer cancel()
	run, err := w.tenant.Store.LoadRun(ctx, runID)
	if err != nil {
		return err
	}
	return w.tenant.Runtime.Report(ctx, run)
}

// progress counts steps on the way to a sink.
type progress struct {
	awaken.Sink
	steps *atomic.Int64
}

func (p progress) Emit(ctx context.Context, e awaken.Entry) error {
	if _, ok := e.Event.(*awaken.StepEnd); ok {
		p.steps.Add(1)
	}
	return p.Sink.Emit(ctx, e)
}

// makeRoom ends a run that waits on the thread, so that a new one can start: what the
// new run was asked for is what people said instead of deciding. One that will be gone on
// with, because it was cut off or decided, comes first.
func (w *work) makeRoom(ctx context.Context) error {
	th, err := w.tenant.Store.Thread(ctx, w.d.ThreadID)
	if err != nil || th.OpenRunID == "" || th.OpenRunID == w.d.RunID {
		return err
	}
	open, err := w.tenant.Store.LoadRun(ctx, th.OpenRunID)
	if err != nil {
		return err
	}
	live, err := w.tenant.Store.Dispatches(ctx, Query{RunID: open.RunID, Statuses: []Status{Queued, Claimed}})
	if err != nil {
		return err
	}
	for _, d := range live {
		// One that was cut off will be gone on with; one that waits was decided.
		if open.Status == awaken.RunRunning || d.AvailableAt <= w.d.UpdatedAt {
			return fmt.Errorf("thread %s: %w: %s", w.d.ThreadID, awaken.ErrBusy, open.RunID)
		}
	}
	_, err = w.start(ctx, awaken.RunRequest{Continue: th.OpenRunID, End: &awaken.Termination{Type: awaken.Cancelled}})
	return err
}

// wanted reports whether there is a reason to go on with a run that waits.
func (w *work) wanted(ctx context.Context, run *awaken.Run) (bool, error) {
	if mayGoOn(run.Waiting) {
		return true, nil
	}
	items, err := w.tenant.Store.Unread(ctx, run.ThreadID)
	if err != nil || len(items) > 0 {
		return true, err
	}
	return nextExpiry(run) != 0 && nextExpiry(run) <= time.Now().UnixMilli(), nil
}

// nextExpiry is when the first of the run's tickets expires, unix ms, or 0.
func nextExpiry(run *awaken.Run) (at int64) {
	if run.Waiting == nil {
		return 0
	}
	for _, t := range run.Waiting.Tickets {
		if t.ExpiresAt > 0 && (at == 0 || t.ExpiresAt < at) {
			at = t.ExpiresAt
		}
	}
	return at
}

// wakeAtExpiry queues a dispatch for the time when nobody will have decided.
func (w *work) wakeAtExpiry(ctx context.Context, run *awaken.Run) error {
	at := nextExpiry(run)
	if at == 0 {
		return nil
	}
	return w.tenant.changed(ctx, run.ThreadID, func(q *Thread) error {
		if q.Open == nil || q.Open.RunID != run.RunID || q.Open.Status != awaken.RunWaiting {
			return nil
		}
		d := w.tenant.spare()
		d.AvailableAt = max(0, at-time.Now().UnixMilli()) + 1
		_, err := q.wake(d)
		return err
	})
}
