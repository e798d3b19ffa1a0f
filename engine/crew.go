package engine

import (
	"context"
	"errors"
	"fmt"
	"runtime/debug"
	"slices"
	"time"

	"github.com/awaken-go/awaken"
	"github.com/awaken-go/awaken/internal/egress"
	"github.com/awaken-go/awaken/internal/ownership"
	"github.com/awaken-go/awaken/llm"
	"github.com/awaken-go/awaken/state/builtin"
)

// resultWait is how long a finished result waits for others to share its commit.
const resultWait = 20 * time.Millisecond

// lookEvery is how often a run whose calls take long reads its inbox while another call waits for a
// decision. Usually it is notified of one.
const lookEvery = 5 * time.Second

// crew runs the tool calls of a step. Each call has at most one goroutine, which reports to the
// goroutine of the run.
type crew struct {
	*core
	inbox     *inbox
	phases    *phases
	outcomes  *outcomes
	*exchange // nil before the first call
}

// exchange carries messages between the run and its tool calls.
type exchange struct {
	host    toolHost // passed to the tools
	results chan outcome
	events  chan awaken.Event
	wake    <-chan struct{} // signals a new inbox item
	over    chan struct{}   // closed when the run is over, so that abandoned calls stop reporting
	idle    *limiter        // of an earlier call, for the next one
	bounds  bounds          // of calls that have not begun

	aborting bool // the calls are being cancelled: nothing begins any more
}

// bounds lists the hosts that calls may reach, as each gate has bounded them. Most calls have no bounds.
type bounds map[*call][][]string

// set sets the bounds of a call.
func (b *bounds) set(c *call, hosts [][]string) {
	switch {
	case len(hosts) == 0:
		delete(*b, c)
	case *b == nil:
		*b = bounds{c: hosts}
	default:
		(*b)[c] = hosts
	}
}

// take removes the bounds of a call that begins, and returns a context within them.
func (b bounds) take(ctx context.Context, c *call) context.Context {
	for _, hosts := range b[c] {
		ctx = egress.With(ctx, hosts)
	}
	delete(b, c)
	return ctx
}

type outcome struct {
	c    *call
	tc   *awaken.ToolCall
	res  *awaken.ToolResult
	err  error
	lost bool         // the call was not made, because the run may have another owner
	step *stepMessage // not nil: the call is not over, but tells about one of its steps
}

// emitter returns a function with which a running tool emits events, until ctx is done.
func emitter(ctx context.Context, events chan<- awaken.Event) func(awaken.Event) {
	return func(ev awaken.Event) {
		if ctx.Err() != nil {
			return // the call is over
		}
		select {
		case events <- ev:
		case <-ctx.Done():
		}
	}
}

// run runs every call that can run now, and returns when none is running.
func (w *crew) run(ctx context.Context) *end {
	defer w.outcomes.reset()
	var look <-chan time.Time
	for {
		if err := w.inbox.compactor.hear(builtin.AtInbox); err != nil {
			return w.abort(w.fail(err))
		}
		if w.ledger.suspended() && w.journal.inboxWaits() { // a decision posted by another process
			if err := w.inbox.take(ctx, llm.DuringCalls); err != nil {
				return w.abort(w.fail(err))
			}
		}
		if !w.yieldsNow() {
			if e := w.start(ctx); e != nil {
				return w.abort(e)
			}
		} else if w.outcomes.running == 0 {
			return w.yieldMidStep(ctx)
		}
		if w.outcomes.running == 0 {
			return nil
		}
		if look == nil && w.ledger.suspended() {
			look = time.After(lookEvery)
		}
		var e *end
		select {
		case o := <-w.results:
			e = w.finish(ctx, o)
		case ev := <-w.events:
			_ = w.out.emit(ctx, ev)
			w.journal.cancelIfSinkFailed()
			if w.out.full() {
				e = w.fail(w.commitResults(ctx))
			}
		case <-w.outcomes.deadline:
			if w.outcomes.deadline = nil; w.outcomes.waiting > 0 {
				e = w.fail(w.commitResults(ctx))
			}
		case <-w.wake:
			e = w.fail(w.inbox.take(ctx, llm.DuringCalls))
		case <-look:
			look = nil
			e = w.fail(w.inbox.take(ctx, llm.DuringCalls))
		case <-ctx.Done():
			e = w.fail(context.Cause(ctx))
		}
		if e != nil {
			return w.abort(e)
		}
	}
}

// yieldsNow reports whether the run gives up its thread in the middle of the step, because calls
// have given up their children.
func (w *crew) yieldsNow() bool {
	return w.active.yield.Load() && slices.ContainsFunc(w.ledger.calls, func(c *call) bool { return c.yielded })
}

// yieldMidStep commits the unfinished step and gives up the thread. The next owner repeats
// unfinished calls.
func (w *crew) yieldMidStep(ctx context.Context) *end {
	if err := w.journal.commit(ctx, commitOptions{}); err != nil {
		return w.fail(err)
	}
	return &end{err: awaken.ErrYielded, lost: true}
}

// commitResults commits and publishes the results that wait for a commit.
func (w *crew) commitResults(ctx context.Context) error {
	w.outcomes.waiting = 0
	atResults.Hit()
	err := w.journal.commit(ctx, commitOptions{})
	atResultsDone.Hit()
	return err
}

// start starts every call that may run now. In sequential mode that is the first call that is not
// over, unless it waits for a decision; behind calls that wait for the client, which executes them, the client's other ones
// are handed out, too, up to a call of another tool. In the other modes it is all of them, except that batch
// approval starts decided calls only when no decision is outstanding.
func (w *crew) start(ctx context.Context) *end {
	mode := w.agent.Spec.ExecutionMode()
	if mode == awaken.Sequential {
		asked := false // calls before wait for the client
		for _, c := range w.ledger.calls {
			ofClient := w.tools.ofClient(c.state.ToolName) != nil
			if c.mayStart() && (ofClient || !asked) {
				if ready, e := w.prepare(ctx, c); e != nil {
					return e
				} else if ready {
					return w.launch(ctx, c)
				}
			}
			if c.state.Status.Terminal() {
				continue
			}
			if asked = ofClient && c.state.Status == awaken.CallSuspended && c.state.ResumeMode == awaken.UseDecisionAsToolResult; !asked {
				break
			}
		}
		return nil
	}
	var ready []*call
	for _, decided := range []bool{false, true} {
		if decided && mode == awaken.ParallelBatchApproval && w.ledger.undecided(len(ready)) {
			break
		}
		for _, c := range w.ledger.calls {
			if !c.mayStart() || (c.state.Status == awaken.CallResuming) != decided {
				continue
			}
			if n := w.rt.cfg.Limits.ParallelTools; n > 0 && w.outcomes.running+len(ready) >= n {
				break
			}
			ok, e := w.prepare(ctx, c)
			if e != nil {
				return e
			}
			if ok {
				ready = append(ready, c)
			}
		}
	}
	if len(ready) == 0 {
		return nil
	}
	return w.launch(ctx, ready...)
}

// launch begins calls. Calls that are not read-only are committed as intents first: once that
// commit is made they count as begun, and if it is refused nothing begins.
func (w *crew) launch(ctx context.Context, calls ...*call) *end {
	if ctx.Err() != nil {
		return w.fail(context.Cause(ctx))
	}
	if w.over == nil {
		w.over = make(chan struct{})
		w.results = make(chan outcome, min(len(calls), 8))
		w.events = make(chan awaken.Event)
		// Listen before the commit that publishes a suspended call: a decision may follow at once,
		// while the calls launched here still run.
		w.wake = w.rt.active.listen(&w.active, w.ledger.suspended())
	}
	now := w.rt.cfg.Now().UnixMilli()
	intent := false
	for _, c := range calls {
		s := w.ledger.edit(c)
		if s.StartedAt != 0 || s.Attempts > 0 {
			s.Attempts = max(s.Attempts, 1) + 1
		}
		if s.Doubt != nil && !s.Doubt.Open() {
			s.Doubt = nil // it begins anew
		}
		s.Status, s.StartedAt, s.UpdatedAt = awaken.CallRunning, now, now
		if d, ok := c.entry.Tool.(awaken.Delegator); ok {
			s.Child = d.ChildRun(c.tc)
		}
		c.recheck = false
		intent = intent || s.Effect != awaken.ReadOnly
	}
	if intent {
		w.outcomes.waiting = 0
		atIntent.Hit()
		err := w.journal.commit(ctx, commitOptions{begins: true})
		if err == nil && ctx.Err() != nil {
			err = context.Cause(ctx)
		}
		if err != nil {
			for _, c := range calls {
				s := w.ledger.edit(c)
				s.Status, s.StartedAt = awaken.CallNew, 0 // the call has not begun
				s.Attempts -= min(s.Attempts, 1)
			}
			return w.fail(err)
		}
	}
	atIntended.Hit()
	snap := w.st.Snapshot()
	for _, c := range calls {
		cctx, cancel := context.WithCancelCause(ctx)
		cctx = w.bounds.take(cctx, c)
		c.tc.Snapshot = snap
		c.tc.EmitTo(emitter(cctx, w.events))
		c.tc.StepsBy(w.exchange)
		c.steps.begun()
		c.cancel, c.running = cancel, true
		w.outcomes.running++
		w.limit(c)
		go w.execute(cctx, c, c.tc)
	}
	if w.outcomes.waiting > 0 {
		w.outcomes.waiting--
		w.outcomes.wait() // results that came before any call ran
	}
	return nil
}

// execute calls the tool. It runs in a goroutine of its own.
func (w *crew) execute(ctx context.Context, c *call, tc *awaken.ToolCall) {
	o := outcome{c: c, tc: tc, err: errToolExit} // replaced when the tool returns
	defer func() {
		if v := recover(); v != nil {
			o.res, o.err = nil, &awaken.PanicError{In: fmt.Sprintf("tool %q", tc.Tool), Value: v, Stack: debug.Stack()}
		}
		w.report(o)
	}()
	atCall.Hit()
	if err := ownership.Check(ctx); err != nil { // another process may own the run by now
		o.err, o.lost = err, true
		return
	}
	growStack()
	if f := w.followed(); f != nil {
		ctx = f.beginCall(ctx, tc)
		defer func() { f.endCall(ctx, &o) }()
	}
	o.res, o.err = w.rt.cfg.Executor.Execute(ctx, c.entry.Tool, tc)
	atCalled.Hit()
	if o.err != nil && ctx.Err() != nil && errors.Is(o.err, ctx.Err()) {
		o.err = context.Cause(ctx) // report the timeout, not the cancellation
	}
}

// growStack grows the stack to what nearly every tool needs, if only to decode its arguments. Done
// first, while the stack is empty, it takes one step and copies next to nothing.
//
//go:noinline
func growStack() {
	var room [4 << 10]byte
	touch(&room)
}

//go:noinline
func touch(room *[4 << 10]byte) { room[0] = 1 }

// report sends an outcome to the run, unless the run is over.
func (x *exchange) report(o outcome) {
	select {
	case x.results <- o:
	case <-x.over:
	}
}

// finish applies the outcome of a call that ran, or what a running one tells about its steps.
func (w *crew) finish(ctx context.Context, o outcome) *end {
	if o.step != nil {
		return w.takeStep(ctx, o.tc, o.step)
	}
	c := o.c
	if !c.running || c.tc != o.tc {
		return nil // it was abandoned
	}
	if o.lost {
		return w.fail(o.err)
	}
	w.retire(c)
	atResult.Hit()
	stopped := c.steps != nil && c.steps.stopped != nil
	if stopped {
		o.res, o.err = nil, c.steps.stopped
	}
	if c.yielded = errors.Is(o.err, awaken.ErrYielded) && c.state.Effect != awaken.Effectful; c.yielded {
		return nil // the next owner repeats it
	}
	abandoned := o.res == nil && errors.Is(o.err, errToolTimeout)
	if p, ok := errors.AsType[*awaken.PanicError](o.err); ok {
		w.log().Error("tool panicked", "call", c.state.CallID, "tool", c.state.ToolName, "panic", p.Value, "stack", string(p.Stack))
	}
	res, err := resultOf(c.state.ToolName, o.res, o.err)
	if err != nil { // fatal
		e := w.fail(err)
		if done := w.outcomes.complete(ctx, c, fatalResult(err, o.err), nil); done != nil && done.lost {
			return done
		}
		return e
	}
	w.noteStop(&o, res)
	cmd := &o.tc.Command
	if abandoned || stopped {
		cmd = nil // the tool may still be writing to it, or will record it again
	}
	if res.Status == awaken.ToolPending {
		return w.outcomes.suspend(c, res, cmd)
	}
	if brokeOff(&o) && c.state.Effect != awaken.ReadOnly && c.state.Child == "" {
		w.ledger.doubt(c, awaken.Doubt{Origin: awaken.DoubtIntent})
		res = c.state.UnansweredResult(res)
	}
	return w.outcomes.complete(ctx, c, w.outcomes.capped(c, res), cmd)
}

// brokeOff reports whether a call ended without an answer of its tool, which was told to stop or broke off.
func brokeOff(o *outcome) bool {
	_, panicked := errors.AsType[*awaken.PanicError](o.err)
	stopped := errors.Is(o.err, errToolTimeout) || errors.Is(o.err, errToolExit) || errors.Is(o.err, awaken.ErrCancelled)
	return o.res == nil && (panicked || stopped)
}

// retire marks a call as no longer running.
func (w *crew) retire(c *call) {
	c.running = false
	w.outcomes.running--
	c.cancel(nil)
	if c.limiter != nil {
		c.limiter.stop()
		c.limiter = nil
	}
}

// abort cancels the running calls, waits the grace period for them to return, and answers every
// open call.
func (w *crew) abort(e *end) *end {
	cause := awaken.ErrCancelled
	if e.lost {
		cause = e.err
	}
	for _, c := range w.ledger.calls {
		if c.running {
			w.aborting = true
			c.cancel(cause)
		}
	}
	if e.lost {
		return e
	}
	ctx := context.WithoutCancel(w.ctx)
	var grace <-chan time.Time
	if d := w.rt.cfg.Limits.ToolGrace; d >= 0 {
		grace = time.After(d)
	}
	for w.outcomes.running > 0 {
		select {
		case o := <-w.results:
			if fin := w.finish(ctx, o); fin != nil && fin.lost {
				return fin
			}
		case ev := <-w.events:
			w.out.emit(ctx, ev)
		case <-grace:
			for _, c := range w.ledger.calls {
				if c.running {
					w.retire(c)
					w.log().Warn("abandoned a tool that did not stop in time", "call", c.state.CallID, "tool", c.state.ToolName)
				}
			}
		}
	}
	w.outcomes.closeAll(e)
	return e
}
