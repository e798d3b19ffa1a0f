package awaken

import (
	"context"
	"errors"
	"fmt"
	"iter"
	"sync"
	"sync/atomic"
	"time"

	"github.com/awaken-go/awaken/llm"
	"github.com/awaken-go/awaken/profile"
)

// Runtime runs agents. It is safe for concurrent use.
type Runtime struct {
	cfg      Config
	registry *atomic.Pointer[Registry] // of nil with Snapshots
	queue    Queue                     // nil when there is none
	detached *sync.WaitGroup

	mu     sync.Mutex
	active map[string]*activeRun // thread ID -> its run in this process
}

// activeRun is what others need to reach a run that is going on.
type activeRun struct {
	runID     string
	parent    string // thread of the run that looks after it, or ""
	cancel    context.CancelCauseFunc
	cancelled bool          // by Cancel
	yield     atomic.Bool   // let go of the thread after the step
	posted    atomic.Bool   // the inbox may have got something since the last commit
	wake      chan struct{} // cap 1, made when the run first listens: the inbox has something
	done      chan struct{} // made by the first who waits
}

var _ Runner = (*Runtime)(nil)

// New checks cfg and returns a runtime. All mistakes in cfg are reported at once,
// in a *ConfigError.
func New(cfg Config) (*Runtime, error) {
	var problems []Diagnostic
	if err := checkLimit("tenant_usd", cfg.TenantBudget); err != nil {
		problems = append(problems, Diagnostic{Code: "invalid", Severity: SeverityError, Namespace: "runtime", Message: err.Error()})
	}
	var reg *Registry
	if cfg.Snapshots == nil {
		var err error
		if reg, err = NewRegistry(cfg.Registry()); err != nil {
			bad, ok := errors.AsType[*ConfigError](err)
			if !ok {
				return nil, err
			}
			problems = append(problems, bad.Problems...)
		}
	}
	if len(problems) > 0 {
		return nil, &ConfigError{problems}
	}
	rt := &Runtime{cfg: cfg.withDefaults(), registry: new(atomic.Pointer[Registry]), detached: new(sync.WaitGroup), active: map[string]*activeRun{}}
	if reg == nil {
		return rt, nil
	}
	rt.registry.Store(reg)
	if cfg.Lazy {
		return rt, nil
	}
	for _, d := range reg.Diagnostics() {
		rt.cfg.Logger.Warn("configuration", "code", d.Code, "agent", d.ID, "message", d.Message)
	}
	return rt, nil
}

// With returns a runtime that keeps its threads in another store and its values in
// another profile, for another tenant perhaps, and has runs that nobody waits for done by
// a queue. A nil profile stays the same; without a queue such runs are done in this
// process. What is published to one is the registry of both.
func (rt *Runtime) With(store Store, values profile.Store, queue Queue) *Runtime {
	c := &Runtime{cfg: rt.cfg, registry: rt.registry, queue: queue, detached: rt.detached, active: map[string]*activeRun{}}
	c.cfg.Store = store
	if values != nil {
		c.cfg.Profile = values
	}
	return c
}

// Budget returns the budget that every run is held to, or nil if only those are that an
// agent, a request or a parent limits.
func (rt *Runtime) Budget() Budget {
	if !rt.cfg.Budgets && rt.cfg.TenantBudget == nil {
		return nil
	}
	b, _ := rt.cfg.Store.(Budget)
	return b
}

// Now is the runtime's clock.
func (rt *Runtime) Now() time.Time { return rt.cfg.Now() }

// Store returns where the runtime keeps its threads.
func (rt *Runtime) Store() Store { return rt.cfg.Store }

// Registry returns the registry that new runs use, or most of them; see [Snapshots].
func (rt *Runtime) Registry() *Registry {
	if s := rt.cfg.Snapshots; s != nil {
		return s.Registry()
	}
	return rt.registry.Load()
}

// Publish makes reg the registry of new runs. Runs that are going on keep theirs. It is for
// runtimes without Snapshots.
func (rt *Runtime) Publish(reg *Registry) { rt.registry.Store(reg) }

// Run runs an agent until it finishes, suspends or fails, sending events to sink.
// A nil sink discards them.
//
// The result is nil only if the run could not be started, and sink then gets one
// Error event; or if another owner took the thread over, and sink gets nothing more
// (ErrFenced). A run that was cancelled, stopped, blocked or suspended is not an
// error; a run that failed is one, and has a result, and so is a run whose sink
// failed.
//
// Cancelling ctx cancels the run: it keeps what it has and finishes as cancelled.
func (rt *Runtime) Run(ctx context.Context, req RunRequest, sink Sink) (*RunResult, error) {
	if sink == nil {
		sink = Discard
	}
	r, err := rt.begin(ctx, &req, sink)
	if err != nil {
		return nil, rt.refuse(ctx, sink, err)
	}
	if r.replayed != nil {
		return r.replayed, nil
	}
	res, err := rt.drive(r)
	if res != nil && !r.attended && rt.queue == nil {
		rt.reportDone(ctx, r)
	}
	switch {
	case res == nil && !r.started && !errors.Is(err, ErrFenced) && !errors.Is(err, ErrYielded):
		return nil, rt.refuse(ctx, sink, err)
	case res != nil && res.Termination.Type == Suspended && r.active.cancelled:
		return rt.endParked(ctx, sink, res, err)
	}
	return res, err
}

// endParked ends a run that had just been parked when Cancel came, and said that it would
// end. It is apart because its request would lie on the stack of every run.
func (rt *Runtime) endParked(ctx context.Context, sink Sink, res *RunResult, err error) (*RunResult, error) {
	if err != nil {
		sink = Discard // it has failed
	}
	last, lastErr := rt.Run(context.WithoutCancel(ctx), RunRequest{Continue: res.RunID, End: &Termination{Type: Cancelled}}, sink)
	if last == nil {
		last = res // it goes on waiting
	}
	return last, errors.Join(err, lastErr)
}

// drive runs what begin has set up.
func (rt *Runtime) drive(r *run) (*RunResult, error) {
	defer rt.release(r)
	return r.main()
}

// refuse tells the sink why a run could not be started.
func (rt *Runtime) refuse(ctx context.Context, sink Sink, err error) error {
	if emitErr := sink.Emit(ctx, Entry{Time: rt.cfg.Now().UnixMilli(), Event: &Error{Message: err.Error(), Code: errorCode(err)}}); emitErr != nil {
		rt.cfg.Logger.Debug("sink refused the error event", "error", emitErr)
	}
	return err
}

// Resume goes on with a waiting run, taking in decisions. A decision that names no
// call of the run, or one that is decided already, is refused without disturbing
// the run: Resume fails if none is accepted, and lists those that were not in
// RunResult.Rejected otherwise.
func (rt *Runtime) Resume(ctx context.Context, runID string, sink Sink, decisions ...Decision) (*RunResult, error) {
	return rt.Run(ctx, RunRequest{Continue: runID, Decisions: decisions, Mode: "resume"}, sink)
}

var errLeft = errors.New("the consumer left")

// Stream is Run as an iterator. The run starts when iteration does and is
// cancelled if the loop is left early. An error, if any, comes last.
func (rt *Runtime) Stream(ctx context.Context, req RunRequest) iter.Seq2[Event, error] {
	return func(yield func(Event, error) bool) {
		left := false
		_, err := rt.Run(ctx, req, loopBody(func(_ context.Context, e Entry) error {
			if !yield(e.Event, nil) {
				left = true
				return errLeft
			}
			return nil
		}))
		if err != nil && !left {
			yield(nil, err)
		}
	}
}

// loopBody is the body of a loop as a Sink. It has to be called in the goroutine of the
// loop, so its run makes every commit itself.
type loopBody func(ctx context.Context, e Entry) error

func (f loopBody) Emit(ctx context.Context, e Entry) error { return f(ctx, e) }

// Decide delivers decisions to a run. A run that is active in this process acts on
// them at once, as its agent's execution mode says; a waiting run acts when it is
// resumed. The same decision may be delivered again.
func (rt *Runtime) Decide(ctx context.Context, runID string, decisions ...Decision) error {
	run, items, err := rt.CheckDecisions(ctx, runID, decisions...)
	if err != nil {
		return err
	}
	return rt.post(ctx, run.ThreadID, items)
}

// CheckDecisions returns what Decide posts, without posting it: one item for each
// decision that was not taken before.
func (rt *Runtime) CheckDecisions(ctx context.Context, runID string, decisions ...Decision) (*Run, []InboxItem, error) {
	run, err := rt.cfg.Store.LoadRun(ctx, runID)
	if err != nil {
		return nil, nil, fmt.Errorf("decide run %s: %w", runID, err)
	}
	calls, err := rt.cfg.Store.Calls(ctx, runID)
	if err != nil {
		return nil, nil, fmt.Errorf("decide run %s: %w", runID, err)
	}
	var items []InboxItem
	for i := range decisions {
		d := decisions[i]
		if err := d.validate(); err != nil {
			return nil, nil, err
		}
		s, dup, err := checkDecision(calls, &d, rt.cfg.Now())
		if s := findCall(calls, d.Target); s != nil && !dup { // a child of the run may have to say
			if target, ok := s.inner(d.Target); ok {
				inner := d
				inner.Target = target
				var left []InboxItem
				if _, left, err = rt.CheckDecisions(ctx, s.Child, inner); err == nil && len(left) == 0 {
					continue
				}
			}
		}
		if err != nil {
			return nil, nil, fmt.Errorf("decide run %s: %w", runID, err)
		}
		if dup {
			continue
		}
		if err := rt.checkArguments(ctx, run, s, &d); err != nil {
			return nil, nil, err
		}
		d.UpdatedAt = rt.cfg.Now().UnixMilli()
		id := rt.cfg.NewID()
		if d.ID != "" {
			id = "decision:" + s.Key + ":" + s.SuspensionID() + ":" + d.ID
			if s.Child != "" {
				id += ":" + d.Target
			}
		}
		items = append(items, InboxItem{ID: id, RunID: runID, Decision: &d})
	}
	return run, items, nil
}

// checkArguments checks arguments that a person edited, if the tool is known here.
func (rt *Runtime) checkArguments(ctx context.Context, run *Run, s *CallState, d *Decision) error {
	if _, ok := s.inner(d.Target); ok || len(d.Arguments) == 0 {
		return nil
	}
	reg, err := rt.pinned(ctx, run.ResolutionID)
	if err != nil {
		return nil // whoever goes on with the run checks it
	}
	agent, err := reg.agent(run.AgentID)
	if err != nil {
		return nil // whoever goes on with the run will say so
	}
	entry := agent.tools[s.ToolName]
	if entry == nil {
		return nil
	}
	if err := entry.schema.Check(d.Arguments); err != nil {
		return fmt.Errorf("decide run %s: decision on %q: %w: arguments do not fit: %w", run.RunID, d.Target, ErrInvalid, err)
	}
	return nil
}

// Send adds messages to a thread without disturbing its owner. An active run takes
// them in at its next step; otherwise the next run on the thread does.
func (rt *Runtime) Send(ctx context.Context, threadID string, msgs ...*llm.Message) error {
	if err := CheckInput(msgs); err != nil {
		return fmt.Errorf("send to thread %s: %w", threadID, err)
	}
	return rt.post(ctx, threadID, []InboxItem{{ID: rt.cfg.NewID(), Messages: msgs}})
}

func (rt *Runtime) post(ctx context.Context, threadID string, items []InboxItem) error {
	if len(items) == 0 {
		return nil
	}
	if err := rt.cfg.Store.Post(ctx, threadID, items...); err != nil {
		return fmt.Errorf("post to thread %s: %w", threadID, err)
	}
	atPosted.Hit()
	rt.Notify(threadID)
	return nil
}

// Notify tells the thread's run, if it is active in this process, that something was
// posted to its inbox. It would find out by itself, later.
func (rt *Runtime) Notify(threadID string) {
	rt.mu.Lock()
	defer rt.mu.Unlock()
	if a := rt.active[threadID]; a != nil {
		a.posted.Store(true)
		select {
		case a.wake <- struct{}{}:
		default: // it does not listen, or has been told: its next commit will say so
		}
	}
}

// Yield makes the thread's run, if it is active in this process, let go of its thread
// when the step that is going on has been committed. Run then returns ErrYielded, and
// whoever continues the run goes on from there. A run that ends with the step ends. A run
// in whose step others are at work, which it looks after ([RunRequest.Attended]), does not
// wait for them to end: they let go too, and it does so in the middle of the step.
func (rt *Runtime) Yield(threadID string) {
	rt.mu.Lock()
	defer rt.mu.Unlock()
	rt.yield(threadID)
}

func (rt *Runtime) yield(threadID string) {
	a := rt.active[threadID]
	if a == nil {
		return
	}
	a.yield.Store(true)
	for id, child := range rt.active {
		if child.parent == threadID {
			rt.yield(id)
		}
	}
}

// listen returns what is sent to when the inbox of the run's thread has something.
// If look is set, something may be there already.
func (rt *Runtime) listen(a *activeRun, look bool) <-chan struct{} {
	rt.mu.Lock()
	defer rt.mu.Unlock()
	if a.wake == nil {
		a.wake = make(chan struct{}, 1)
	}
	if look && len(a.wake) == 0 {
		a.wake <- struct{}{}
	}
	return a.wake
}

// Cancel cancels a run, by its id or its thread's. When it returns, nothing new
// will begin: an active run is on its way to finish as cancelled, a waiting one
// has. Cancelling a run that is done does nothing. An id that is both a thread's
// and another thread's run is refused.
func (rt *Runtime) Cancel(ctx context.Context, id string) error {
	threadID, err := rt.findThread(ctx, id)
	if err != nil {
		return fmt.Errorf("cancel %s: %w", id, err)
	}
	if _, err := rt.cfg.Store.Interrupt(ctx, threadID); err != nil {
		return fmt.Errorf("cancel %s: %w", id, err)
	}
	atInterrupted.Hit()
	for !rt.cancelActive(threadID) {
		runs, err := rt.cfg.Store.ListRuns(ctx, RunQuery{ThreadID: threadID, Limit: 1})
		if err != nil {
			return fmt.Errorf("cancel %s: %w", id, err)
		}
		if len(runs) == 0 || runs[0].Status == RunDone {
			return nil
		}
		_, err = rt.Run(ctx, RunRequest{Continue: runs[0].RunID, End: &Termination{Type: Cancelled}}, nil)
		// Somebody else may have begun to go on with the run, or to cancel it.
		if !errors.Is(err, ErrBusy) && !errors.Is(err, ErrFenced) && !errors.Is(err, ErrConflict) || ctx.Err() != nil {
			return err
		}
	}
	return nil
}

// cancelActive cancels the thread's run, if it is active in this process. It holds
// the lock, so that a run that is let go of knows whether it was cancelled.
func (rt *Runtime) cancelActive(threadID string) bool {
	rt.mu.Lock()
	defer rt.mu.Unlock()
	a := rt.active[threadID]
	if a == nil {
		return false
	}
	a.cancelled = true
	a.cancel(ErrCancelled)
	return true
}

func (rt *Runtime) findThread(ctx context.Context, id string) (string, error) {
	thread := ""
	rt.mu.Lock()
	for threadID, a := range rt.active {
		if a.runID == id {
			thread = threadID
		}
	}
	_, isThread := rt.active[id]
	rt.mu.Unlock()
	if thread == "" {
		if run, err := rt.cfg.Store.LoadRun(ctx, id); err == nil {
			thread = run.ThreadID
		} else if !errors.Is(err, ErrNotFound) {
			return "", err
		}
	}
	if !isThread {
		_, err := rt.cfg.Store.Thread(ctx, id)
		if err != nil && !errors.Is(err, ErrNotFound) {
			return "", err
		}
		isThread = err == nil
	}
	switch {
	case isThread && thread != "" && thread != id:
		return "", fmt.Errorf("%w: it is the id of a thread and of a run on thread %s", ErrInvalid, thread)
	case isThread:
		return id, nil
	case thread != "":
		return thread, nil
	}
	return "", ErrNotFound
}

// Wait returns when the thread has no active run in this process.
func (rt *Runtime) Wait(ctx context.Context, threadID string) error {
	rt.mu.Lock()
	a := rt.active[threadID]
	if a == nil {
		rt.mu.Unlock()
		return nil
	}
	if a.done == nil {
		a.done = make(chan struct{})
	}
	done := a.done
	rt.mu.Unlock()
	select {
	case <-done:
		return nil
	case <-ctx.Done():
		return context.Cause(ctx)
	}
}

// register claims a thread for a run in this process.
func (rt *Runtime) register(threadID string, a *activeRun) error {
	rt.mu.Lock()
	defer rt.mu.Unlock()
	if other := rt.active[threadID]; other != nil {
		return fmt.Errorf("thread %s: %w: %s", threadID, ErrBusy, other.runID)
	}
	rt.active[threadID] = a
	return nil
}

// rename tells whoever looks for the run its final id.
func (rt *Runtime) rename(a *activeRun, runID string) {
	rt.mu.Lock()
	defer rt.mu.Unlock()
	a.runID = runID
}

func (rt *Runtime) release(r *run) {
	r.flight.wait()
	rt.mu.Lock()
	delete(rt.active, r.thread)
	if r.active.done != nil {
		close(r.active.done)
	}
	rt.mu.Unlock()
	r.active.cancel(nil)
	if w := r.window; w != nil && w.job != nil { // the thread was lost in the middle of a step
		w.job.leave(false)
	}
	r.crew.dismiss()
	r.giveBack()
}

// errorCode is the code of the Error event for a run that could not start.
func errorCode(err error) string {
	for _, c := range [...]struct {
		code   string
		target error
	}{{"invalid_request", ErrInvalid}, {"already_decided", ErrDecided}, {"expired", ErrExpired}, {"not_found", ErrNotFound}, {"pin_unavailable", ErrPinUnavailable},
		{"busy", ErrBusy}, {"fenced", ErrFenced}, {"conflict", ErrConflict}} {
		if errors.Is(err, c.target) {
			return c.code
		}
	}
	if _, ok := errors.AsType[*ConfigError](err); ok {
		return "config"
	}
	return "internal"
}
