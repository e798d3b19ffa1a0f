package mailbox

import (
	"context"
	"errors"
	"fmt"
	"maps"
	"runtime/debug"
	"slices"
	"sync"
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

	mu    sync.Mutex
	until time.Time   // when the lease is over
	watch *time.Timer // ends the run then
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

// hold notes that the claim holds until a lease that was asked for at from. The wall
// clock counts too: a machine that slept does not see it in the other.
func (w *work) hold(from time.Time, lease time.Duration) {
	w.mu.Lock()
	defer w.mu.Unlock()
	if until := from.Add(lease); until.After(w.until) {
		w.until = until
		w.watch.Reset(time.Until(until))
	}
}

func (w *work) expired(now time.Time) bool {
	w.mu.Lock()
	defer w.mu.Unlock()
	return !now.Before(w.until) || !now.Round(0).Before(w.until.Round(0))
}

// Work claims dispatches and runs them until ctx is done. It then lets every run go on
// to the end of its step, gives the dispatches back, and returns: another process goes
// on with them. Runs that take longer than Config.Drain are stopped in the middle of a step.
func (b *Mailbox) Work(ctx context.Context) error {
	runs, stop := context.WithCancelCause(context.WithoutCancel(ctx))
	defer stop(nil)
	chores, done := context.WithCancel(context.WithoutCancel(ctx))
	var helpers, running sync.WaitGroup
	settle := make(chan settling)
	helpers.Go(func() { b.keepLeases(chores) })
	helpers.Go(func() { b.sweep(chores) })
	helpers.Go(func() { b.settleAll(settle) })
	if l, ok := b.cfg.Queue.(Listener); ok {
		helpers.Go(func() { b.listen(chores, l) })
	}
	b.claimAll(ctx, func(d *Dispatch, from time.Time) {
		w := b.take(runs, d, from)
		running.Go(func() { b.do(w, settle) })
	})
	b.drain(&running, stop)
	close(settle)
	done()
	helpers.Wait()
	return nil
}

// claimAll claims as much as there is room for, until ctx is done.
func (b *Mailbox) claimAll(ctx context.Context, start func(d *Dispatch, from time.Time)) {
	for ctx.Err() == nil {
		free := b.cfg.Concurrency - b.Active()
		wait := b.cfg.Poll
		if free > 0 {
			limit := min(free, 64)
			from := time.Now()
			ds, next, err := b.cfg.Queue.Claim(ctx, ClaimRequest{Consumer: b.cfg.Consumer, Lease: b.cfg.Lease, Limit: limit})
			b.cfg.Observer.Operated("claim", time.Since(from), err)
			if err != nil && ctx.Err() == nil {
				b.cfg.Logger.Warn("claim failed", "error", err)
			}
			for _, d := range ds {
				start(d, from)
			}
			if len(ds) == limit {
				continue
			}
			if next > 0 {
				wait = min(wait, next)
			}
		}
		timer := time.NewTimer(wait)
		select {
		case <-b.poked:
		case <-timer.C:
		case <-ctx.Done():
		}
		timer.Stop()
	}
}

// take notes that this process works on d, which it asked for at from.
func (b *Mailbox) take(ctx context.Context, d *Dispatch, from time.Time) *work {
	w := &work{d: d, tenant: b.Tenant(d.Tenant), until: from.Add(b.cfg.Lease)}
	w.ctx, w.cancel = context.WithCancelCause(ctx)
	w.steps.Store(int64(d.Steps))
	w.watch = time.AfterFunc(time.Until(w.until), w.lose)
	b.mu.Lock()
	b.working[d.ID] = w
	b.mu.Unlock()
	b.cfg.Observer.Claimed(d, time.Duration(max(0, d.UpdatedAt-max(d.AvailableAt, d.CreatedAt)))*time.Millisecond)
	return w
}

func (b *Mailbox) drop(w *work) {
	w.mu.Lock()
	w.watch.Stop()
	w.mu.Unlock()
	w.cancel(nil)
	b.mu.Lock()
	delete(b.working, w.d.ID)
	b.mu.Unlock()
	poke(b.poked) // there is room
}

func (b *Mailbox) list() []*work {
	b.mu.Lock()
	defer b.mu.Unlock()
	return slices.Collect(maps.Values(b.working))
}

// cancelHere ends the run of a dispatch, if this process works on it.
func (b *Mailbox) cancelHere(dispatchID string) {
	b.mu.Lock()
	w := b.working[dispatchID]
	b.mu.Unlock()
	if w != nil {
		w.cancel(awaken.ErrCancelled)
	}
}

// drain lets the runs go on to the end of their step, and no longer than Drain.
func (b *Mailbox) drain(running *sync.WaitGroup, stop context.CancelCauseFunc) {
	over := make(chan struct{})
	go func() {
		running.Wait()
		close(over)
	}()
	limit := time.NewTimer(b.cfg.Drain)
	defer limit.Stop()
	for {
		for _, w := range b.list() {
			w.tenant.Runtime.Yield(w.d.ThreadID) // again and again, for it may just be starting
		}
		again := time.NewTimer(50 * time.Millisecond)
		select {
		case <-over:
			again.Stop()
			return
		case <-limit.C:
			stop(errDrained)
		case <-again.C:
		}
		again.Stop()
	}
}

// keepLeases renews the leases, in time and whenever a claim may have been cancelled.
func (b *Mailbox) keepLeases(ctx context.Context) {
	wait := b.cfg.Renew
	for {
		timer := time.NewTimer(wait)
		select {
		case <-timer.C:
		case <-b.check:
		case <-ctx.Done():
			timer.Stop()
			return
		}
		timer.Stop()
		wait = b.cfg.Renew
		if works := b.list(); len(works) > 0 {
			rctx, cancel := context.WithTimeout(ctx, b.cfg.Renew)
			if err := b.renew(rctx, works...); err != nil && ctx.Err() == nil {
				b.cfg.Logger.Warn("leases could not be renewed", "error", err)
				wait = b.cfg.Renew / 4
			}
			cancel()
		}
	}
}

// renew extends the leases of works, and ends the runs that are cancelled or lost.
func (b *Mailbox) renew(ctx context.Context, works ...*work) error {
	held := make([]Held, len(works))
	for i, w := range works {
		held[i] = w.d.Held()
		held[i].Steps = int(w.steps.Load())
	}
	from := time.Now()
	got, err := b.cfg.Queue.Renew(ctx, b.cfg.Lease, held...)
	b.cfg.Observer.Operated("extend_lease", time.Since(from), err)
	if err != nil {
		return err
	}
	for i, w := range works {
		switch {
		case got[i].Lost || w.expired(from):
			w.lose()
			continue
		case got[i].Cancel:
			w.cancel(awaken.ErrCancelled)
		}
		w.hold(from, b.cfg.Lease)
	}
	return nil
}

// sweep puts dispatches of lost workers back into the queue, and purges old ones.
func (b *Mailbox) sweep(ctx context.Context) {
	reclaim := time.NewTicker(max(b.cfg.Lease/4, time.Millisecond))
	defer reclaim.Stop()
	purge := time.NewTicker(b.cfg.GC)
	defer purge.Stop()
	for {
		start := time.Now()
		n, err := b.cfg.Queue.Reclaim(ctx, 100)
		b.cfg.Observer.Operated("reclaim", time.Since(start), err)
		if err != nil && ctx.Err() == nil {
			b.cfg.Logger.Warn("reclaim failed", "error", err)
		}
		if n > 0 {
			b.cfg.Logger.Info("reclaimed dispatches of lost workers", "count", n)
			poke(b.poked)
		}
		if n == 100 {
			continue
		}
		select {
		case <-reclaim.C:
		case <-purge.C:
			start := time.Now()
			_, err := b.cfg.Queue.Purge(ctx, b.cfg.TTL)
			b.cfg.Observer.Operated("purge", time.Since(start), err)
			if err != nil && ctx.Err() == nil {
				b.cfg.Logger.Warn("purge failed", "error", err)
			}
		case <-ctx.Done():
			return
		}
	}
}

// listen looks at the queue when other processes change it.
func (b *Mailbox) listen(ctx context.Context, l Listener) {
	err := l.Listen(ctx, func() {
		poke(b.poked)
		poke(b.check)
	})
	if err != nil && ctx.Err() == nil {
		b.cfg.Logger.Warn("listening to the queue ended; it is polled instead", "error", err)
	}
}

// settling is a settlement on its way.
type settling struct {
	w    *work
	s    Settlement
	done func()
}

// settleAll settles what workers are done with, many at once when many wait.
func (b *Mailbox) settleAll(in <-chan settling) {
	for first := range in {
		group := []settling{first}
	more:
		for len(group) < 256 {
			select {
			case s, ok := <-in:
				if !ok {
					break more
				}
				group = append(group, s)
			default:
				break more
			}
		}
		b.settleGroup(group)
	}
}

func (b *Mailbox) settleGroup(group []settling) {
	ss := make([]Settlement, len(group))
	for i, g := range group {
		ss[i] = g.s
	}
	first := time.Now()
	for wait := 10 * time.Millisecond; ; wait = min(2*wait, time.Second) {
		start := time.Now()
		ctx, cancel := context.WithTimeout(context.Background(), b.cfg.Lease)
		errs, err := b.cfg.Queue.Settle(ctx, ss...)
		cancel()
		b.cfg.Observer.Operated("settle", time.Since(start), err)
		if err == nil {
			for i, g := range group {
				if errs[i] != nil {
					b.cfg.Logger.Warn("dispatch was taken over before it could be settled", "dispatch", g.w.d.ID, "error", errs[i])
				}
			}
			break
		}
		b.cfg.Logger.Warn("settle failed", "error", err)
		if time.Since(first) > b.cfg.Lease {
			break // they will be reclaimed, and found to be done
		}
		time.Sleep(wait)
	}
	for _, g := range group {
		g.done()
	}
}

// do works on one dispatch, and settles it.
func (b *Mailbox) do(w *work, settle chan<- settling) {
	start := time.Now()
	s := b.attempt(w.ctx, w)
	b.cfg.Observer.Settled(w.d, s.Status, time.Since(start))
	if w.lost.Load() || s.Status == "" {
		b.drop(w)
		return
	}
	s.Held = w.d.Held()
	s.Steps = int(w.steps.Load())
	settled := make(chan struct{})
	settle <- settling{w, s, func() { close(settled) }}
	<-settled
	b.drop(w)
}

// attempt runs a dispatch, and says what becomes of it.
func (b *Mailbox) attempt(ctx context.Context, w *work) (s Settlement) {
	defer func() {
		if v := recover(); v != nil {
			b.cfg.Logger.Error("a run panicked", "dispatch", w.d.ID, "run", w.d.RunID, "panic", v, "stack", string(debug.Stack()))
			s = b.again(w, fmt.Errorf("panic: %v", v))
		}
	}()
	s, err := w.run(ctx)
	if err != nil {
		return b.judge(ctx, w, err)
	}
	return s
}

// again puts the dispatch back into the queue after a failure: later each time.
func (b *Mailbox) again(w *work, err error) Settlement {
	attempts := w.d.Attempts
	if int(w.steps.Load()) > w.d.Steps {
		attempts = 0
	}
	return Settlement{Status: Queued, Delay: RetryDelay(attempts), Failed: true, Error: err.Error()}
}

// RetryDelay is how long after its n-th failure a dispatch is tried again, counted from 0.
func RetryDelay(n int) time.Duration {
	return min(250*time.Millisecond<<min(n, 7), 30*time.Second)
}

// PinRetry is how long a run whose version a worker cannot have is left alone before one
// tries again. That does not count as an attempt.
const PinRetry = time.Minute

// judge decides what becomes of a dispatch whose run could not start or go on.
func (b *Mailbox) judge(ctx context.Context, w *work, err error) Settlement {
	cause := context.Cause(ctx)
	switch {
	case w.lost.Load():
		return Settlement{}
	case errors.Is(err, awaken.ErrYielded), errors.Is(cause, errDrained):
		return Settlement{Status: Queued}
	case errors.Is(err, awaken.ErrBusy):
		return Settlement{Status: Queued, Delay: 250 * time.Millisecond, Error: err.Error()}
	case errors.Is(err, awaken.ErrPinUnavailable) && !errors.Is(err, awaken.ErrNotFound):
		return Settlement{Status: Queued, Delay: PinRetry, Error: err.Error()}
	case hopeless(err):
		s, giveUpErr := w.giveUp(ctx, err.Error())
		if giveUpErr != nil {
			return b.again(w, errors.Join(err, giveUpErr))
		}
		s.Error = err.Error()
		return s
	}
	return b.again(w, err)
}

// hopeless reports whether trying again would bring the same error.
func hopeless(err error) bool {
	if _, ok := errors.AsType[*awaken.ConfigError](err); ok {
		return true
	}
	return errors.Is(err, awaken.ErrInvalid) || errors.Is(err, awaken.ErrNotFound)
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
			return Settlement{Status: Queued, Delay: PinRetry, Error: run.Waiting.Message}, nil
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
	if err := w.end(ctx, run, t); err != nil {
		return Settlement{}, err
	}
	if w.child {
		if err := w.report(ctx, run.RunID); err != nil {
			return Settlement{}, err
		}
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
