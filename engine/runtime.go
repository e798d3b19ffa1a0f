package engine

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"iter"
	"sync"
	"sync/atomic"
	"time"

	"github.com/awaken-go/awaken"
	"github.com/awaken-go/awaken/limit/money"
	"github.com/awaken-go/awaken/llm"
	"github.com/awaken-go/awaken/registry"
	"github.com/awaken-go/awaken/state/profile"
)

// Runtime runs agents. It is safe for concurrent use.
type Runtime struct {
	cfg      Config
	registry *atomic.Pointer[registry.Registry] // holds nil with Config.Versions
	queue    awaken.Queue                       // nil: runs are started in this process
	detached *sync.WaitGroup

	active activeRuns
}

var _ awaken.Runner = (*Runtime)(nil)

// New checks cfg and returns a runtime. It reports all mistakes in cfg at once, in an
// *[awaken.ConfigError].
func New(cfg Config) (*Runtime, error) {
	var problems []awaken.Diagnostic
	if err := money.CheckLimit("tenant_usd", cfg.TenantBudget); err != nil {
		problems = append(problems, awaken.Diagnostic{Code: "invalid", Severity: awaken.SeverityError, Namespace: "runtime", Message: err.Error()})
	}
	var reg *registry.Registry
	if cfg.Versions == nil {
		var err error
		if reg, err = registry.New(cfg.Registry()); err != nil {
			bad, ok := errors.AsType[*awaken.ConfigError](err)
			if !ok {
				return nil, err
			}
			problems = append(problems, bad.Problems...)
		}
	}
	if len(problems) > 0 {
		return nil, &awaken.ConfigError{Problems: problems}
	}
	rt := &Runtime{cfg: cfg.withDefaults(), registry: new(atomic.Pointer[registry.Registry]), detached: new(sync.WaitGroup)}
	rt.registry.Store(reg)
	if reg != nil && !cfg.Lazy {
		for _, d := range reg.Diagnostics() {
			rt.cfg.Logger.Warn("the configuration has a problem", "code", d.Code, "agent", d.ID, "message", d.Message)
		}
	}
	return rt, nil
}

// With returns a runtime with another store and profile, for example of another tenant. Background
// runs are submitted to queue; without a queue they run in this process. A nil profile keeps the
// current one. Both runtimes share the registry, so [Runtime.Publish] affects both.
func (rt *Runtime) With(store awaken.Store, values profile.Store, queue awaken.Queue) *Runtime {
	c := &Runtime{cfg: rt.cfg, registry: rt.registry, queue: queue, detached: rt.detached}
	c.cfg.Store = store
	if values != nil {
		c.cfg.Profile = values
	}
	return c
}

// Profile returns the profile that runs use, or nil if there is none.
func (rt *Runtime) Profile() profile.Store { return rt.cfg.Profile }

// Budget returns the budget that all runs are subject to, or nil if only agents, requests or
// parents set limits.
func (rt *Runtime) Budget() money.Budget {
	if !rt.cfg.Budgets && rt.cfg.TenantBudget == nil {
		return nil
	}
	b, _ := rt.cfg.Store.(money.Budget)
	return b
}

// Now returns the current time of the runtime's clock.
func (rt *Runtime) Now() time.Time { return rt.cfg.Now() }

// Store returns the store of the runtime's threads.
func (rt *Runtime) Store() awaken.Store { return rt.cfg.Store }

// Registry returns the registry of new runs. With Config.Versions some runs may use another; see
// [registry.Versions].
func (rt *Runtime) Registry() *registry.Registry {
	if s := rt.cfg.Versions; s != nil {
		return s.Registry()
	}
	return rt.registry.Load()
}

// Publish makes reg the registry of new runs. Active runs keep theirs. It has no effect with
// Config.Versions.
func (rt *Runtime) Publish(reg *registry.Registry) { rt.registry.Store(reg) }

// Run runs an agent until the run finishes, suspends or fails, and sends its events to sink. A nil
// sink discards them.
//
// The result is nil only if the run could not be started, and sink then gets a single
// [awaken.Error] event; or if the run lost its thread to another owner (ErrFenced) or gave it up
// (ErrYielded, see [Runtime.Yield]), and sink gets nothing more. A run that is cancelled, stopped,
// blocked or suspended is not an error. A run that fails, or whose sink fails, returns a result
// and an error. If the sink panics, the run ends as failed and the panic continues in the caller of
// Run.
//
// A request that cannot start or continue a run fails with ErrInvalid if it is malformed, ErrBusy
// if the thread has an active run in this process, ErrNotFound if the agent or the run to continue
// does not exist, and ErrConflict if the thread has another open run or the run to continue is done.
//
// Cancelling ctx cancels the run: it keeps what it has done and finishes as cancelled.
func (rt *Runtime) Run(ctx context.Context, req awaken.RunRequest, sink awaken.Sink) (*awaken.RunResult, error) {
	sink = cmp.Or(sink, discard)
	r, done, err := rt.begin(ctx, &req, sink)
	if err != nil {
		return nil, rt.refuse(ctx, sink, err)
	}
	if done != nil {
		return done, nil
	}
	res, err := rt.drive(r)
	if res != nil && !r.attended && rt.queue == nil {
		rt.reportDone(ctx, r)
	}
	r.giveBack() // not if the sink panicked
	switch {
	case res == nil && !r.started && !isAny(err, awaken.ErrFenced, awaken.ErrYielded):
		return nil, rt.refuse(ctx, sink, err)
	case res != nil && res.Termination.Type == awaken.Suspended && r.active.cancelled:
		return rt.endParked(ctx, sink, res, err)
	}
	return res, err
}

// endParked ends a run that was parked at the moment Cancel promised its end. It is a function of
// its own to keep its request off the stack of every run.
func (rt *Runtime) endParked(ctx context.Context, sink awaken.Sink, res *awaken.RunResult, err error) (*awaken.RunResult, error) {
	if err != nil {
		sink = discard // the sink has failed
	}
	last, lastErr := rt.Run(context.WithoutCancel(ctx), awaken.RunRequest{Continue: res.RunID, End: &awaken.Termination{Type: awaken.Cancelled}}, sink)
	return cmp.Or(last, res), errors.Join(err, lastErr) // res if the run still waits
}

// drive runs an opened run and releases its thread.
func (rt *Runtime) drive(r *run) (*awaken.RunResult, error) {
	defer rt.endCrashed(r)
	defer rt.release(r)
	f := r.followed()
	if f == nil {
		return r.main()
	}
	return driveFollowed(r, f)
}

// endCrashed ends a run whose sink panicked or ended its goroutine, while that continues in the
// caller of Run. Nothing else would: the run's own activation is gone.
func (rt *Runtime) endCrashed(r *run) {
	if !r.out.isCrashed() {
		return
	}
	ctx := context.WithoutCancel(r.ctx)
	rec, err := rt.cfg.Store.LoadRun(ctx, r.info.RunID)
	if err == nil && rec.Status == awaken.RunRunning {
		var res *awaken.RunResult
		if res, err = rt.Run(ctx, awaken.RunRequest{Continue: rec.RunID, End: &awaken.Termination{Type: awaken.Failed, Message: errSinkCrashed.Error()}}, nil); res != nil {
			err = nil // the failure that was asked for
		}
	}
	if err != nil && !errors.Is(err, awaken.ErrNotFound) {
		r.log().Error("cannot end a run whose sink panicked", "error", err)
	}
}

// refuse emits the error of a run that could not be started.
func (rt *Runtime) refuse(ctx context.Context, sink awaken.Sink, err error) error {
	if emitErr := sink.Emit(ctx, awaken.Entry{Time: rt.cfg.Now().UnixMilli(), Event: &awaken.Error{Message: err.Error(), Code: errorCode(err)}}); emitErr != nil {
		rt.cfg.Logger.Debug("cannot emit the error of a run that did not start", "error", emitErr)
	}
	return err
}

// Resume continues a waiting run with decisions. A decision that names no call of the run, or one
// that is already decided, is rejected without affecting the run. Resume fails if all are rejected
// and nothing else lets the run continue, such as a suspension that has expired; otherwise
// RunResult.Rejected lists the rejected ones.
func (rt *Runtime) Resume(ctx context.Context, runID string, sink awaken.Sink, decisions ...awaken.Decision) (*awaken.RunResult, error) {
	return rt.Run(ctx, awaken.RunRequest{Continue: runID, Decisions: decisions, Mode: "resume"}, sink)
}

var errLeft = errors.New("the consumer stopped iterating")

// Stream is Run as an iterator. The run starts with the iteration and is cancelled if the loop is
// left early. An error, if any, comes last.
func (rt *Runtime) Stream(ctx context.Context, req awaken.RunRequest) iter.Seq2[awaken.Event, error] {
	return func(yield func(awaken.Event, error) bool) {
		left := false
		_, err := rt.Run(ctx, req, loopBody(func(_ context.Context, e awaken.Entry) error {
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

// loopBody is the body of a range loop as a Sink. It must be called in the goroutine of the loop,
// so the run has no commits in flight.
type loopBody func(ctx context.Context, e awaken.Entry) error

func (f loopBody) Emit(ctx context.Context, e awaken.Entry) error { return f(ctx, e) }

// Send posts messages to the inbox of a thread. An active run reads them at its next step;
// otherwise the next run on the thread does, and Send starts none. The error is ErrNotFound if the
// thread does not exist, and ErrInvalid for messages that a client must not send; see
// [awaken.CheckInput].
func (rt *Runtime) Send(ctx context.Context, threadID string, msgs ...*llm.Message) error {
	if err := awaken.CheckInput(msgs); err != nil {
		return fmt.Errorf("send to thread %s: %w", threadID, err)
	}
	return rt.post(ctx, threadID, []awaken.InboxItem{{ID: rt.cfg.NewID(), Messages: msgs}})
}

// post adds items to a thread's inbox and notifies its run.
func (rt *Runtime) post(ctx context.Context, threadID string, items []awaken.InboxItem) error {
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

// Notify signals the thread's run, if it is active in this process, that its inbox has a new item.
// Without it the run finds the item later.
func (rt *Runtime) Notify(threadID string) { rt.active.notify(threadID) }

// Yield makes the thread's run, if it is active in this process, give up its thread after the
// current step is committed. Run then returns ErrYielded, and the next owner continues the run
// from there. A run that ends with the step ends normally. A run that attends child runs
// ([awaken.RunRequest.Attended]) does not wait for them to end: they yield too, and the run yields
// in the middle of the step.
func (rt *Runtime) Yield(threadID string) { rt.active.yield(threadID) }

// Cancel cancels a run, by run id or thread id. When it returns, nothing new will begin: an active
// run is about to finish as cancelled, a waiting one has done so. Cancelling a run that is done
// has no effect. An id that belongs to a thread and to a run on another thread is refused.
func (rt *Runtime) Cancel(ctx context.Context, id string) error {
	threadID, err := rt.findThread(ctx, id)
	if err != nil {
		return fmt.Errorf("cancel %s: %w", id, err)
	}
	if _, err := rt.cfg.Store.Interrupt(ctx, threadID); err != nil {
		return fmt.Errorf("cancel %s: %w", id, err)
	}
	atInterrupted.Hit()
	for !rt.active.cancel(threadID) {
		runs, err := rt.cfg.Store.ListRuns(ctx, awaken.RunQuery{ThreadID: threadID, Limit: 1})
		if err != nil {
			return fmt.Errorf("cancel %s: %w", id, err)
		}
		if len(runs) == 0 || runs[0].Status == awaken.RunDone {
			return nil
		}
		_, err = rt.Run(ctx, awaken.RunRequest{Continue: runs[0].RunID, End: &awaken.Termination{Type: awaken.Cancelled}}, nil)
		// Another owner may be resuming or cancelling the run.
		if !isAny(err, awaken.ErrBusy, awaken.ErrFenced, awaken.ErrConflict) || ctx.Err() != nil {
			return err
		}
	}
	return nil
}

// findThread returns the thread with the given ID, or the thread of the run with that ID.
func (rt *Runtime) findThread(ctx context.Context, id string) (string, error) {
	thread, isThread := rt.active.find(id)
	if thread == "" {
		if run, err := rt.cfg.Store.LoadRun(ctx, id); err == nil {
			thread = run.ThreadID
		} else if !errors.Is(err, awaken.ErrNotFound) {
			return "", err
		}
	}
	if !isThread {
		_, err := rt.cfg.Store.Thread(ctx, id)
		if err != nil && !errors.Is(err, awaken.ErrNotFound) {
			return "", err
		}
		isThread = err == nil
	}
	switch {
	case isThread && thread != "" && thread != id:
		return "", fmt.Errorf("%w: the id is ambiguous: a thread has it, and a run on thread %s", awaken.ErrInvalid, thread)
	case isThread:
		return id, nil
	case thread != "":
		return thread, nil
	}
	return "", awaken.ErrNotFound
}

// Wait waits until the thread has no active run in this process. It returns the error of ctx if
// ctx is done first.
func (rt *Runtime) Wait(ctx context.Context, threadID string) error {
	return rt.active.wait(ctx, threadID)
}

// release releases the thread of a run that is over, parked or lost, or could not be opened.
func (rt *Runtime) release(r *run) {
	r.journal.inFlight.wait()
	rt.active.release(r.thread, &r.active)
	r.active.cancel(nil)
	if w := r.conv.window; w != nil && w.job != nil { // the thread was lost during a step
		w.job.detach(false)
	}
	if r.crew.exchange != nil && r.crew.over != nil {
		close(r.crew.over) // abandoned calls have no listener now
	}
}

// errorCode is the code of the Error event of a run that could not be started.
func errorCode(err error) string {
	for _, c := range [...]struct {
		code   string
		target error
	}{{"invalid_request", awaken.ErrInvalid}, {"already_decided", awaken.ErrDecided}, {"expired", awaken.ErrExpired}, {"not_found", awaken.ErrNotFound}, {"pin_unavailable", awaken.ErrPinUnavailable},
		{"busy", awaken.ErrBusy}, {"fenced", awaken.ErrFenced}, {"conflict", awaken.ErrConflict}} {
		if errors.Is(err, c.target) {
			return c.code
		}
	}
	if _, ok := errors.AsType[*awaken.ConfigError](err); ok {
		return "config"
	}
	return "internal"
}
