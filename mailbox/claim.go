package mailbox

import (
	"context"
	"errors"
	"fmt"
	"sync/atomic"
	"time"

	"github.com/awaken-go/awaken"
	"github.com/awaken-go/awaken/internal/ownership"
)

// claim is a dispatch that this process has claimed, and its run.
type claim struct {
	d       *Dispatch
	tenant  *Tenant
	ctx     context.Context // of the run
	cancel  context.CancelCauseFunc
	steps   atomic.Int64 // of the run
	lost    atomic.Bool  // another worker may own the dispatch
	child   bool         // the run has a parent
	suspect bool         // the dispatch is one
	clear   atomic.Bool  // the store knows that the run has made progress under this claim
	lease   lease
	// acquired is what the claim has acquired, until the run takes it.
	acquired atomic.Pointer[awaken.Checkpoint]
	early    atomic.Bool // the thread was acquired by the claim, and the run has not committed since
	opening  *opening    // nil once the store has the claim; its run's goroutine owns it
	// decided is closed when the store has or has refused a claim that was opened; it is nil for others.
	decided chan struct{}

	ending  atomic.Bool   // a commit that settles the dispatch is being made, or was made
	ended   atomic.Bool   // it was made
	settled Status        // how a commit settled the dispatch; "" if none did
	final   Settlement    // how the dispatch is to be settled when the run is done; the zero value is Acked
	before  *claim        // the thread's previous claim, if it was in flight when this one began
	over    chan struct{} // closed when the claim is forgotten
}

var (
	errLeaseLost = fmt.Errorf("%w: the lease of the dispatch was lost", awaken.ErrFenced)
	errDrained   = fmt.Errorf("%w: the worker is stopping", awaken.ErrFenced)
)

// Provisional reports whether the run is opened before it is accepted: it may turn out not to have begun, so it must do nothing that
// cannot be repeated.
func (o owner) Provisional() bool { return o.opening != nil }

// abandon cancels the run and writes nothing: another worker may own it.
func (c *claim) abandon() {
	c.lost.Store(true)
	c.cancel(errLeaseLost)
}

// owner is a claim as the owner of its run.
type owner struct{ *claim }

func (o owner) Check() error                                       { return o.owned() }
func (o owner) Commit(ctx context.Context, c *awaken.Commit) error { return o.commit(ctx, c) }

// Acquire acquires a thread. The one of the dispatch is acquired only while the claim holds, so that a
// worker that has lost it does not fence the next one.
func (o owner) Acquire(ctx context.Context, threadID string) (*awaken.Checkpoint, error) {
	if threadID != o.d.ThreadID {
		return o.tenant.Store.Acquire(ctx, threadID)
	}
	if cp := o.acquired.Swap(nil); cp != nil {
		o.early.Store(true)
		return cp, nil
	}
	cp, cancel, err := o.tenant.Store.Own(ctx, threadID, o.d.Claim())
	if errors.Is(err, awaken.ErrFenced) {
		o.abandon()
		return nil, errLeaseLost
	}
	if err == nil && cancel {
		o.cancel(awaken.ErrCancelled)
	}
	return cp, err
}

// For returns for whom the run calls its model: its tenant, and whether no user waits for it. That
// is so if its dispatch has a lower priority than others, or is a task that another run has begun.
func (o owner) For() (tenant string, background bool) {
	return o.tenant.name, o.d.Priority > DefaultPriority || o.d.Request != nil && o.d.Request.Mode == "scheduled"
}

// Follow returns a sink for a run that this one runs, such as a delegate's, so that readers of its
// thread see what it does as it happens. End must be called when it has ended.
func (o owner) Follow(next awaken.Sink) (sink awaken.Sink, end func()) {
	s := o.tenant.Log.Sink(next)
	return s, s.Close
}

// Accepted returns the record of a run that has not started, or nil if it has to be looked up.
func (o owner) Accepted(runID string) *awaken.Run {
	if !o.d.Fresh || o.d.RunID != runID {
		return nil
	}
	return o.d.NewRun()
}

// owned returns an error unless this process certainly owns the claim. It abandons one that it
// may not own.
func (c *claim) owned() error {
	now := time.Now()
	if c.lost.Load() || c.lease.expired(now) || !c.tenant.box.self.is(c.d.ClaimedBy, now) {
		c.abandon()
		return errLeaseLost
	}
	return nil
}

// run does what the dispatch asks for and returns how to settle it. An error means that the
// attempt failed. What comes before the run and after it are functions that return, so that the
// stack of a run that waits for its model stays small.
func (c *claim) run(ctx context.Context) (Settlement, error) {
	var req *awaken.RunRequest
	var s Settlement
	hold, err := c.held(ctx)
	if hold > 0 || err != nil {
		return Settlement{Status: Queued, Delay: hold, Error: restoredError}, err
	}
	if d := c.d; d.Fresh && !d.Cancel && !d.Exhausted() {
		c.child = d.Request.ParentRunID != ""
		req, s, err = c.begin(ctx)
	} else {
		req, s, err = c.lookUp(ctx)
	}
	if req == nil {
		return s, err
	}
	res, err := c.start(ctx, req)
	return c.outcome(ctx, res, err)
}

// lookUp looks up what became of the dispatch's run. It returns the request that begins or continues
// it, or nil and how to settle the dispatch.
func (c *claim) lookUp(ctx context.Context) (*awaken.RunRequest, Settlement, error) {
	run, err := c.tenant.Store.LoadRun(ctx, c.d.RunID)
	switch {
	case errors.Is(err, awaken.ErrNotFound): // the thread was deleted
		return nil, Settlement{Status: Cancelled, Error: err.Error()}, nil
	case err != nil:
		return nil, Settlement{}, err
	case run.ThreadID != c.d.ThreadID: // the same run id was submitted to two threads at once
		return nil, Settlement{Status: Cancelled, Error: "run " + run.RunID + " belongs to another thread"}, nil
	}
	c.child = run.ParentRunID != ""
	if run.Steps > c.d.Steps {
		c.steps.Store(int64(run.Steps))
		c.d.Attempts, c.d.Crashes = 0, 0
	}
	switch {
	case c.inputLeft(run), run.Status == awaken.RunDone, c.d.Cancel, c.d.Exhausted():
		s, err := c.conclude(ctx, run)
		return nil, s, err
	case run.Status == awaken.RunWaiting:
		return c.wakeUp(ctx, run)
	case run.Status == awaken.RunRunning:
		return &awaken.RunRequest{Continue: run.RunID, DispatchID: c.d.ID}, Settlement{}, nil
	}
	if err := c.endWaitingRun(ctx); err != nil {
		return nil, Settlement{}, err
	}
	return c.begin(ctx)
}

// conclude settles a dispatch whose run does not run any more.
func (c *claim) conclude(ctx context.Context, run *awaken.Run) (Settlement, error) {
	d := c.d
	switch {
	case c.inputLeft(run):
		return c.takeIn(ctx, run)
	case run.Status == awaken.RunDone:
		if err := c.tenant.Runtime.Report(ctx, run); err != nil {
			return Settlement{}, err
		}
		return c.settleDone(ctx, run)
	case d.Cancel:
		return c.endFor(ctx, run, Cancelled, awaken.Termination{Type: awaken.Cancelled})
	}
	reason := fmt.Sprintf("gave up after %d attempts", d.Attempts) // the cause is in the dispatch, for operators
	if d.Crashes > 0 {
		c.final.Error = fmt.Sprintf("its process died %d times while it ran this dispatch, without completing a step in between", d.Crashes)
	}
	s, err := c.endFor(ctx, run, DeadLetter, awaken.Termination{Type: awaken.Failed, Message: reason})
	s.Error = c.final.Error
	return s, err
}

// wakeUp returns the request that resumes a waiting run, or nil if there is no reason to.
func (c *claim) wakeUp(ctx context.Context, run *awaken.Run) (*awaken.RunRequest, Settlement, error) {
	if resume, err := c.hasReason(ctx, run); err != nil {
		return nil, Settlement{}, err
	} else if !resume {
		if err := c.tenant.Runtime.Report(ctx, run); err != nil {
			return nil, Settlement{}, err
		}
		return nil, Settlement{Status: Acked}, c.queueExpiry(ctx, run)
	}
	mode := "resume"
	if run.Waiting.Reason == awaken.WaitPin && run.Waiting.Message == c.d.LastError {
		mode = "internal_wake" // no client asked for it
	}
	return &awaken.RunRequest{Continue: run.RunID, Mode: mode, DispatchID: c.d.ID}, Settlement{}, nil
}

// begin returns the request that starts the run of the dispatch, or nil if there is nothing to do.
func (c *claim) begin(ctx context.Context) (*awaken.RunRequest, Settlement, error) {
	if c.d.DedupeKey == unreadKey { // nothing to do if another run has read the messages
		if unread, err := c.hasUnread(ctx); err != nil {
			return nil, Settlement{}, err
		} else if !unread {
			return nil, Settlement{Status: Cancelled}, c.end(ctx, c.d.NewRun(), awaken.Termination{Type: awaken.Cancelled})
		}
	}
	if c.d.Request.DispatchID == c.d.ID {
		return c.d.Request, Settlement{}, nil
	}
	req := *c.d.Request
	req.DispatchID = c.d.ID
	return &req, Settlement{}, nil
}

// outcome returns how to settle a dispatch whose run has returned.
func (c *claim) outcome(ctx context.Context, res *awaken.RunResult, err error) (Settlement, error) {
	if c.settled != "" {
		return Settlement{Status: c.settled}, nil
	}
	if res == nil {
		return Settlement{}, err
	}
	c.steps.Store(int64(res.Steps))
	if err != nil || res.Status == awaken.RunWaiting || res.Unread || res.Termination.Type != awaken.NaturalEnd {
		lookup, cancel := context.WithTimeout(context.WithoutCancel(ctx), 10*time.Second)
		defer cancel()
		run, loadErr := c.tenant.Store.LoadRun(lookup, res.RunID)
		switch {
		case loadErr != nil:
			return Settlement{}, errors.Join(err, loadErr)
		case run.Status == awaken.RunDone:
			return c.settleDone(lookup, run)
		case run.Status == awaken.RunWaiting && run.Waiting.Reason == awaken.WaitPin:
			return Settlement{Status: Queued, Delay: pinRetry, Error: run.Waiting.Message}, nil
		case run.Status == awaken.RunWaiting:
			return Settlement{Status: Acked}, c.queueExpiry(lookup, run)
		case err != nil: // the end of the run could not be stored
			return Settlement{}, err
		}
	}
	return Settlement{Status: Acked}, nil
}

// start runs a request, which has the dispatch's id, and sends its events to the log.
func (c *claim) start(ctx context.Context, req *awaken.RunRequest) (*awaken.RunResult, error) {
	ctx = ownership.With(ctx, owner{c})
	var next awaken.Sink
	if f := c.tenant.box.cfg.Sink; f != nil && req.End == nil { // ending a run must not depend on the sink
		next = f(c.tenant.name)
	}
	sink := c.tenant.Log.Sink(next)
	defer sink.Close()
	res, err := c.tenant.Runtime.Run(ctx, *req, progress{sink, c})
	if res != nil && c.settled == "" && (c.child || req.End != nil) {
		if reportErr := c.report(ctx, res.RunID); reportErr != nil {
			return nil, errors.Join(err, reportErr) // the next attempt finds the run as it is, and reports it
		}
	}
	return res, err
}

// report reports the outcome of a run to its parent.
func (c *claim) report(ctx context.Context, runID string) error {
	ctx, cancel := context.WithTimeout(context.WithoutCancel(ctx), 10*time.Second)
	defer cancel()
	run, err := c.tenant.Store.LoadRun(ctx, runID)
	if err != nil {
		return err
	}
	return c.tenant.Runtime.Report(ctx, run)
}

// progress is a sink that counts steps.
type progress struct {
	awaken.Sink
	claim *claim
}

func (p progress) Emit(ctx context.Context, e awaken.Entry) error {
	if p.claim.opening != nil {
		return nil // the error of a run that has not begun, and is begun again
	}
	if _, ok := e.Event.(*awaken.StepEnd); ok {
		p.claim.steps.Add(1)
		if c := p.claim; c.suspect {
			c.tenant.box.doubts.addAll()
			if c.tenant.box.isolation.yieldsSoon() {
				c.tenant.Runtime.Yield(c.d.ThreadID)
			}
		}
	}
	return p.Sink.Emit(ctx, e)
}

// endWaitingRun ends a run that waits on the thread, so that a new one can start: the input
// of the new run is what the user said instead of deciding. If the open run will be resumed,
// because it was cut off or decided, it goes first: the error is then awaken.ErrBusy.
func (c *claim) endWaitingRun(ctx context.Context) error {
	th, err := c.tenant.Store.Thread(ctx, c.d.ThreadID)
	if err != nil || th.OpenRunID == "" || th.OpenRunID == c.d.RunID {
		return err
	}
	open, err := c.tenant.Store.LoadRun(ctx, th.OpenRunID)
	if err != nil {
		return err
	}
	live, err := c.tenant.Store.Dispatches(ctx, Query{RunID: open.RunID, Statuses: []Status{Queued, Claimed}})
	if err != nil {
		return err
	}
	for _, d := range live {
		// A run that was cut off will be resumed; one that waits was decided.
		if open.Status == awaken.RunRunning || d.AvailableAt <= c.d.UpdatedAt {
			return fmt.Errorf("thread %s: %w: %s", c.d.ThreadID, awaken.ErrBusy, open.RunID)
		}
	}
	_, err = c.start(ctx, &awaken.RunRequest{Continue: th.OpenRunID, DispatchID: c.d.ID, End: &awaken.Termination{Type: awaken.Cancelled}})
	return err
}

// hasReason reports whether there is a reason to resume a waiting run.
func (c *claim) hasReason(ctx context.Context, run *awaken.Run) (bool, error) {
	if canContinue(run.Waiting) || !c.tenant.box.cfg.Restoration.Released(run) {
		return true, nil
	}
	items, err := c.tenant.Store.Unread(ctx, run.ThreadID)
	if err != nil || len(items) > 0 {
		return true, err
	}
	return nextExpiry(run) != 0 && nextExpiry(run) <= time.Now().UnixMilli(), nil
}

// nextExpiry returns when the first of the run's tickets expires, in Unix ms; 0 if none does.
func nextExpiry(run *awaken.Run) (at int64) {
	if run.Waiting == nil || run.Waiting.Reason == awaken.WaitRestored {
		return 0 // nothing expires while no decision could be made
	}
	for _, t := range run.Waiting.Tickets {
		if t.ExpiresAt > 0 && (at == 0 || t.ExpiresAt < at) {
			at = t.ExpiresAt
		}
	}
	return at
}

// queueExpiry queues a dispatch for when the first of the run's tickets expires undecided.
func (c *claim) queueExpiry(ctx context.Context, run *awaken.Run) error {
	d := c.wakeAtExpiry(run)
	if d == nil {
		return nil
	}
	return c.tenant.changed(ctx, run.ThreadID, func(q *Thread) error {
		if q.Open == nil || q.Open.RunID != run.RunID || q.Open.Status != awaken.RunWaiting {
			return nil
		}
		_, err := q.wake(clone(d))
		return err
	})
}
