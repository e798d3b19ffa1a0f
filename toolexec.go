package awaken

import (
	"cmp"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"runtime/debug"
	"slices"
	"strconv"
	"strings"
	"time"

	"github.com/awaken-go/awaken/llm"
	"github.com/awaken-go/awaken/state"
)

// resultWait is how long a finished result may wait for others to share a commit.
const resultWait = 20 * time.Millisecond

// call is one tool call of the step that is going on.
type call struct {
	state    *CallState // as the ledger has it, or will after the next commit; see edit
	shared   bool       // others have seen state, so it must not change
	listed   bool       // the next commit holds it
	doubtful bool       // it had begun when its owner was lost, and is effectful
	entry    *toolEntry // nil for a tool that does not exist
	message  *llm.Message
	appended bool // the message is in the log
	resume   *Resumption
	again    bool // its child has something new
	yielded  bool // it let go of its child, for whoever goes on with the run

	tc      *ToolCall // while it runs
	running bool
	cancel  context.CancelCauseFunc
	timer   *time.Timer
}

// crew runs a run's calls: at most one goroutine for each, all of which report to
// the run's own.
type crew struct {
	results  chan outcome
	events   chan Event
	wake     <-chan struct{} // the inbox has something
	over     chan struct{}   // closed when nobody listens any more
	running  int
	waiting  int         // results that no commit holds yet
	deadline *time.Timer // for the next commit, while results wait
	written  state.Batch // what calls that ran at the same time have written
}

type outcome struct {
	c   *call
	tc  *ToolCall
	res *ToolResult
	err error
}

// emitter lets a running tool show things, until ctx is done.
func emitter(ctx context.Context, events chan<- Event) func(Event) {
	return func(ev Event) {
		if ctx.Err() != nil {
			return // the call is over
		}
		select {
		case events <- ev:
		case <-ctx.Done():
		}
	}
}

// settleCalls brings every call of the step to an end: it runs those that can run,
// and parks the run when all that is left is waiting for people. It returns nil
// when all calls have an answer.
func (r *run) settleCalls(ctx context.Context) *end {
	for {
		if e := r.runCalls(ctx); e != nil {
			return e
		}
		if !r.openCalls() {
			r.withdraw = false
			r.appendAnswers(true)
			return nil
		}
		if e := r.requested(); e != nil {
			return e // there is nothing to wait for
		}
		if r.withdraw {
			r.withdraw = false
			r.supersede("[tool call superseded]")
			r.out.hold(&MessagesSnapshot{Messages: visible(r.msgs)})
			r.rewritten = false
			return nil
		}
		if e := r.park(ctx); e != nil {
			return e
		}
		// Somebody decided just before the run could be parked.
	}
}

// everyCall yields the calls of the step, and those that messages are held by.
func (r *run) everyCall(yield func(*call) bool) {
	for _, c := range r.calls {
		if !yield(c) {
			return
		}
	}
	for _, c := range r.held {
		if !yield(c) {
			return
		}
	}
}

func (r *run) openCalls() bool {
	for _, c := range r.calls {
		if !c.state.Status.Terminal() {
			return true
		}
	}
	return false
}

// runCalls runs every call that can run now, and returns when nothing runs any more.
func (r *run) runCalls(ctx context.Context) *end {
	w := &r.crew
	defer w.rest()
	for {
		if r.suspendedCalls() && r.inboxWaits() { // a decision that was posted in another process
			if err := r.takeInbox(ctx); err != nil {
				return r.abort(w, r.fail(err))
			}
		}
		if !r.letsGo() {
			if e := r.startCalls(ctx, w); e != nil {
				return r.abort(w, e)
			}
		} else if w.running == 0 {
			return r.letGo(ctx)
		}
		if w.running == 0 {
			return nil
		}
		select {
		case o := <-w.results:
			if e := r.finishCall(ctx, w, o); e != nil {
				return r.abort(w, e)
			}
		case ev := <-w.events:
			_ = r.out.emit(ctx, ev)
			r.heedSink()
			if r.out.full() {
				if err := r.commitResults(ctx, w); err != nil {
					return r.abort(w, r.fail(err))
				}
			}
		case <-w.timeout():
			w.deadline = nil
			if err := r.commitResults(ctx, w); err != nil {
				return r.abort(w, r.fail(err))
			}
		case <-w.wake:
			if err := r.takeInbox(ctx); err != nil {
				return r.abort(w, r.fail(err))
			}
		case <-ctx.Done():
			return r.abort(w, r.fail(context.Cause(ctx)))
		}
	}
}

// letsGo reports whether the run is to let go of its thread in the middle of the step,
// because calls of it have let go of their children.
func (r *run) letsGo() bool {
	return r.active.yield.Load() && slices.ContainsFunc(r.calls, func(c *call) bool { return c.yielded })
}

// letGo commits what there is of the step and lets go of the thread. Whoever goes on with
// the run makes the calls again that are not over.
func (r *run) letGo(ctx context.Context) *end {
	if err := r.commit(ctx, commitOptions{}); err != nil {
		return r.fail(err)
	}
	return &end{err: ErrYielded, lost: true}
}

func (r *run) suspendedCalls() bool {
	return slices.ContainsFunc(r.calls, func(c *call) bool { return c.state.Status == CallSuspended })
}

func (w *crew) timeout() <-chan time.Time {
	if w.deadline == nil {
		return nil
	}
	return w.deadline.C
}

// rest is what a crew does between two steps.
func (w *crew) rest() {
	if w.deadline != nil {
		w.deadline.Stop()
		w.deadline = nil
	}
	w.waiting = 0
	w.written.Reset()
}

// dismiss lets go of calls that were abandoned, when the run is over.
func (w *crew) dismiss() {
	if w.over != nil {
		close(w.over)
	}
}

// commitResults commits and publishes the results that have been waiting.
func (r *run) commitResults(ctx context.Context, w *crew) error {
	w.waiting = 0
	atResults.Hit()
	err := r.commit(ctx, commitOptions{})
	atResultsDone.Hit()
	return err
}

// startCalls starts every call that may run now. In sequential mode that is the
// first one that is not over, unless it waits for a decision; otherwise it is all
// of them, those that were decided together when the mode wants that.
func (r *run) startCalls(ctx context.Context, w *crew) *end {
	mode := r.agent.spec.executionMode()
	if mode == Sequential {
		for _, c := range r.calls {
			if c.state.Status.Terminal() {
				continue
			}
			if c.running || c.state.Status == CallSuspended {
				return nil
			}
			ready, e := r.prepare(ctx, w, c)
			if e != nil {
				return e
			}
			if ready {
				return r.launch(ctx, w, c)
			}
			if c.state.Status == CallSuspended {
				return nil
			}
		}
		return nil
	}
	var ready []*call
	for _, decided := range []bool{false, true} {
		if decided && mode == ParallelBatchApproval && r.undecided(len(ready)) {
			break
		}
		for _, c := range r.calls {
			if st := c.state.Status; c.running || st.Terminal() || st == CallSuspended || (st == CallResuming) != decided {
				continue
			}
			if n := r.rt.cfg.Limits.ParallelTools; n > 0 && w.running+len(ready) >= n {
				break
			}
			ok, e := r.prepare(ctx, w, c)
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
	return r.launch(ctx, w, ready...)
}

// undecided reports whether there may be more to decide: calls that wait for a
// decision, or have not come so far that they could ask for one.
func (r *run) undecided(starting int) bool {
	return starting > 0 || slices.ContainsFunc(r.calls, func(c *call) bool {
		return c.running || c.state.Status == CallSuspended || c.state.Status == CallNew
	})
}

// prepare checks a call before it runs: its arguments, the gates, the
// before_tool_execute phase. It reports whether the call is to run; if not, the
// call has been answered or suspended.
func (r *run) prepare(ctx context.Context, w *crew, c *call) (bool, *end) {
	if err := ctx.Err(); err != nil {
		return false, r.fail(context.Cause(ctx))
	}
	s := r.edit(c)
	s.Key = r.info.RunID + "/" + strconv.Itoa(s.Step) + "/" + strconv.Itoa(s.Index)
	if c.resume == nil && s.Decision != nil {
		c.resume = &Resumption{Decision: *s.Decision, SuspensionID: s.SuspensionID()}
		if s.Ticket != nil {
			c.resume.Asked = s.Ticket.Suspension.Message
		}
	}
	if d := s.Decision; d != nil && s.Status == CallResuming {
		if len(d.Arguments) > 0 {
			s.Arguments = d.Arguments
		}
		if s.ResumeMode == PassDecisionToTool && len(d.Result) > 0 {
			s.Arguments = laidOver(s.Arguments, d.Result)
		}
	}
	if s.Status == CallResuming && s.ResumeMode == UseDecisionAsToolResult {
		c.tc = r.toolCall(c)
		res := &ToolResult{ToolName: s.ToolName, Status: ToolSuccess, Data: s.Decision.Result}
		return false, r.complete(ctx, w, c, res, nil)
	}
	if s.Status == CallResuming && s.Held != nil {
		c.tc = r.toolCall(c)
		return false, r.complete(ctx, w, c, s.Held, nil)
	}
	if c.entry == nil {
		return false, r.complete(ctx, w, c, ErrorResult("not_found", fmt.Sprintf("tool %q not found", s.ToolName)), nil)
	}
	if r.finishes(c) {
		res, e := r.takeAnswer(c)
		return false, cmp.Or(r.complete(ctx, w, c, res, nil), e)
	}
	if err := r.checkArguments(c); err != nil {
		return false, r.complete(ctx, w, c, ErrorResult("invalid_arguments", err.Error()), nil)
	}
	c.tc = r.toolCall(c)
	if err := r.phase(ctx, PhaseToolGate, about{tool: c.tc}); err != nil {
		return false, r.fail(err)
	}
	if len(r.agent.gates) > 0 {
		v, err := r.ask(ctx, c)
		if err != nil {
			return false, r.fail(err)
		}
		switch {
		case v.Blocked():
			res := ErrorResult("", fmt.Sprintf("tool %q was blocked: %s", s.ToolName, v.Reason()))
			res.Metadata = map[string]any{"rejected": true}
			if e := r.complete(ctx, w, c, res, nil); e != nil {
				return false, e
			}
			return false, &end{Termination: Termination{Type: Blocked, Message: v.Reason()}}
		case v.Suspended():
			t := v.Ticket()
			return false, r.suspend(c, &ToolResult{Suspension: &t}, nil, w)
		case v.Answered():
			res, err := resultOf(s.ToolName, v.Result(), nil)
			if err != nil {
				return false, r.fail(err)
			}
			if res.Status == ToolPending {
				return false, r.suspend(c, res, nil, w)
			}
			return false, r.complete(ctx, w, c, res, nil)
		}
	}
	if err := r.phase(ctx, PhaseBeforeToolExecute, about{tool: c.tc}); err != nil {
		return false, r.fail(err)
	}
	return true, nil
}

// toolCall is what the tool and the hooks are given of a call.
func (r *run) toolCall(c *call) *ToolCall {
	s := c.state
	return &ToolCall{ID: s.CallID, Tool: s.ToolName, Args: s.Arguments, Key: s.Key, Run: r.info, Agent: r.agent.spec,
		Resume: c.resume, Profile: r.rt.cfg.Profile, Tools: r.offered, Host: &r.host, Snapshot: r.st.Snapshot()}
}

func (r *run) checkArguments(c *call) error {
	args := c.state.Arguments
	if len(args) == 0 || string(args) == "null" {
		args = json.RawMessage("{}")
		r.edit(c).Arguments = args
	}
	if err := c.entry.schema.Check(args); err != nil {
		return fmt.Errorf("arguments of tool %q do not fit: %s", c.state.ToolName, strings.ReplaceAll(err.Error(), "\n", "; "))
	}
	if v, ok := c.entry.tool.(validator); ok {
		return validate(v, args)
	}
	return nil
}

// validator is a tool that has more to say about its arguments than its schema.
type validator interface {
	Validate(args json.RawMessage) error
}

func validate(v validator, args json.RawMessage) (err error) {
	defer func() {
		if p := recover(); p != nil {
			err = &PanicError{"validation", p, debug.Stack()}
		}
	}()
	return v.Validate(args)
}

// launch begins calls. What is not read-only is recorded first: once that commit
// has succeeded the call counts as begun, and if it is refused nothing begins.
func (r *run) launch(ctx context.Context, w *crew, calls ...*call) *end {
	if ctx.Err() != nil {
		return r.fail(context.Cause(ctx))
	}
	if w.over == nil {
		w.over = make(chan struct{})
		w.results = make(chan outcome, 8)
		w.events = make(chan Event)
		// Listen before the commit that shows a call as suspended: a decision may
		// follow at once, while what is launched here runs for long.
		w.wake = r.rt.listen(&r.active, r.suspendedCalls())
	}
	now := r.rt.cfg.Now().UnixMilli()
	intent := false
	for _, c := range calls {
		s := r.edit(c)
		s.Status, s.StartedAt, s.UpdatedAt = CallRunning, now, now
		if d, ok := c.entry.tool.(Delegator); ok {
			s.Child = d.ChildRun(c.tc)
		}
		c.again = false
		intent = intent || s.Effect != ReadOnly
	}
	if intent {
		w.waiting = 0
		atIntent.Hit()
		err := r.commit(ctx, commitOptions{begins: true})
		if err == nil && ctx.Err() != nil {
			err = context.Cause(ctx)
		}
		if err != nil {
			for _, c := range calls {
				s := r.edit(c)
				s.Status, s.StartedAt = CallNew, 0 // it has not begun
			}
			return r.fail(err)
		}
	}
	atIntended.Hit()
	snap := r.st.Snapshot()
	for _, c := range calls {
		cctx, cancel := context.WithCancelCause(ctx)
		c.tc.Snapshot = snap
		c.tc.EmitTo(emitter(cctx, w.events))
		c.cancel, c.running = cancel, true
		w.running++
		r.limit(w, c)
		go r.rt.execute(cctx, w, c, c.tc)
	}
	if w.waiting > 0 {
		w.waiting--
		w.wait() // for what came out before anything ran
	}
	return nil
}

// callLimit is how long a call of the tool may take; 0 or less is for ever.
func (rt *Runtime) callLimit(e *toolEntry) time.Duration {
	if e.spec.Timeout != 0 {
		return e.spec.Timeout
	}
	return rt.cfg.Limits.ToolTimeout
}

// limit ends a call that takes too long, and abandons it if it does not end then.
func (r *run) limit(w *crew, c *call) {
	limit := r.rt.callLimit(c.entry)
	if limit <= 0 {
		return
	}
	tc, cancel, grace := c.tc, c.cancel, r.rt.cfg.Limits.ToolGrace
	c.timer = time.AfterFunc(limit, func() {
		err := fmt.Errorf("%w after %s", errToolTimeout, limit)
		cancel(err)
		if grace < 0 {
			return
		}
		t := time.NewTimer(grace)
		defer t.Stop()
		select {
		case <-t.C:
			w.report(outcome{c: c, tc: tc, err: err})
		case <-w.over:
		}
	})
}

// execute calls the tool, in a goroutine of its own.
func (rt *Runtime) execute(ctx context.Context, w *crew, c *call, tc *ToolCall) {
	o := outcome{c: c, tc: tc, err: errToolExit} // until it returns
	defer func() {
		if v := recover(); v != nil {
			o.res, o.err = nil, &PanicError{fmt.Sprintf("tool %q", tc.Tool), v, debug.Stack()}
		}
		w.report(o)
	}()
	atCall.Hit()
	growStack()
	o.res, o.err = rt.cfg.Executor.Execute(ctx, c.entry.tool, tc)
	atCalled.Hit()
	if o.err != nil && ctx.Err() != nil && errors.Is(o.err, ctx.Err()) {
		o.err = context.Cause(ctx) // say timed out, not cancelled
	}
}

// growStack makes room for what nearly every tool needs, decoding its arguments at least.
// Done first, while there is nothing on the stack yet, that is one step and next to nothing
// to move.
//
//go:noinline
func growStack() {
	var room [4 << 10]byte
	touch(&room)
}

//go:noinline
func touch(room *[4 << 10]byte) { room[0] = 1 }

func (w *crew) report(o outcome) {
	select {
	case w.results <- o:
	case <-w.over:
	}
}

// finishCall takes in the outcome of a call that ran.
func (r *run) finishCall(ctx context.Context, w *crew, o outcome) *end {
	c := o.c
	if !c.running || c.tc != o.tc {
		return nil // it was abandoned
	}
	r.retire(w, c)
	atResult.Hit()
	if c.yielded = errors.Is(o.err, ErrYielded) && c.state.Effect != Effectful; c.yielded {
		return nil // it is made again, here or elsewhere
	}
	abandoned := o.res == nil && errors.Is(o.err, errToolTimeout)
	if p, ok := errors.AsType[*PanicError](o.err); ok {
		r.rt.cfg.Logger.Error("tool panicked", "run", r.info.RunID, "call", c.state.CallID, "tool", c.state.ToolName, "panic", p.Value, "stack", string(p.Stack))
	}
	res, err := resultOf(c.state.ToolName, o.res, o.err)
	if err != nil { // fatal
		e := r.fail(err)
		if done := r.complete(ctx, w, c, ErrorResult("fatal", err.Error()), nil); done != nil && done.lost {
			return done
		}
		return e
	}
	cmd := &o.tc.Command
	if abandoned {
		cmd = nil // the tool may still be writing to it
	}
	if res.Status == ToolPending {
		return r.suspend(c, res, cmd, w)
	}
	return r.complete(ctx, w, c, r.capped(c, res), cmd)
}

// retire takes a call off the crew.
func (r *run) retire(w *crew, c *call) {
	c.running = false
	w.running--
	c.cancel(nil)
	if c.timer != nil {
		c.timer.Stop()
	}
}

// capped replaces a result that is too large.
func (r *run) capped(c *call, res *ToolResult) *ToolResult {
	limit := r.rt.cfg.Limits.ToolResultBytes
	if n := c.entry.spec.MaxResultBytes; n != 0 {
		limit = n
	}
	if limit < 0 || res.size() <= limit {
		return res
	}
	size := res.size()
	preview := []rune(res.text())
	preview = preview[:min(len(preview), 1000, limit)]
	out := ErrorResult("result_too_large", fmt.Sprintf("the result of tool %q is %d bytes long, the limit is %d. It begins: %s", c.state.ToolName, size, limit, string(preview)))
	out.ToolName = res.ToolName
	return out
}

// complete gives a call its result: what the tool recorded, then the
// after_tool_execute phase, the ledger, the message and the event, all of which
// the next commit holds.
func (r *run) complete(ctx context.Context, w *crew, c *call, res *ToolResult, cmd *Command) *end {
	res.ToolName = c.state.ToolName
	var failed *end
	if c.tc != nil && len(r.agent.guards[ResultBorder]) > 0 {
		if res, failed = r.passResult(ctx, w, c, res, cmd); res == nil {
			return failed
		}
		res.ToolName = c.state.ToolName
	}
	if cmd != nil {
		r.addBelow(cmd.Recorded().Usage, cmd.Recorded().CostUSD)
		if err := r.submitCall(w, cmd); err != nil {
			res = ErrorResult("state", fmt.Sprintf("tool %q has run, but what it recorded could not be applied: %v", c.state.ToolName, err))
			res.ToolName = c.state.ToolName
			if _, conflict := errors.AsType[*state.ConflictError](err); !conflict { // a mistake in the program
				failed = r.fail(fmt.Errorf("tool %q: %w", c.state.ToolName, err))
			}
		}
	}
	s := r.edit(c)
	s.Status, s.Result, s.Held, s.UpdatedAt = CallSucceeded, res, nil, r.rt.cfg.Now().UnixMilli()
	if res.Status == ToolError {
		s.Status = CallFailed
	}
	if c.tc != nil && (len(r.agent.hooks[PhaseAfterToolExecute]) > 0 || len(r.due(PhaseAfterToolExecute)) > 0) {
		if err := r.phase(detached(ctx), PhaseAfterToolExecute, about{tool: c.tc, result: res}); err != nil {
			if failed = r.fail(err); failed.lost {
				return failed
			}
		}
	}
	c.message = r.answerTo(s, res)
	c.forget()
	r.holdOutcome(c, s.Status)
	if err := r.stateDelta(); err != nil && failed == nil {
		failed = r.fail(err)
	}
	r.appendAnswers(false)
	w.wait()
	return failed
}

// forget lets go of what only a running call needs: whoever keeps the call's ledger
// record may keep the call with it.
func (c *call) forget() { c.tc, c.resume, c.cancel, c.timer = nil, nil, nil, nil }

// holdOutcome holds the event that tells how a call came out. A call that was
// suspended has been told to be done, so it is resumed.
func (r *run) holdOutcome(c *call, outcome CallStatus) {
	s := c.state
	if s.Ticket != nil {
		r.out.hold(&ToolCallResumed{TargetID: s.CallID, Result: s.Result.resumed(), MessageID: c.message.ID, Outcome: s.Status})
	} else {
		r.out.hold(&ToolCallDone{ID: s.CallID, MessageID: c.message.ID, Result: s.Result, Outcome: outcome})
	}
}

// wait notes that a result waits for a commit.
func (w *crew) wait() {
	if w.waiting++; w.deadline == nil && w.running > 0 {
		w.deadline = time.NewTimer(resultWait)
	}
}

// submitCall applies what a call recorded. Calls that ran at the same time started
// from the same state, so they must not have written the same exclusive key.
func (r *run) submitCall(w *crew, cmd *Command) error {
	if r.agent.spec.executionMode() != Sequential {
		if err := w.written.Merge(&cmd.Batch); err != nil {
			return fmt.Errorf("%w: another call of this step wrote it too", err)
		}
	}
	return r.submit(cmd)
}

// suspend makes a call wait for a decision.
func (r *run) suspend(c *call, res *ToolResult, cmd *Command, w *crew) *end {
	if cmd != nil {
		r.addBelow(cmd.Recorded().Usage, cmd.Recorded().CostUSD)
		if err := r.submitCall(w, cmd); err != nil {
			return r.fail(err)
		}
	}
	s := r.edit(c)
	t := r.ticket(c, *res.Suspension)
	c.forget()
	out := *res
	out.ToolName, out.Status, out.Suspension = s.ToolName, ToolPending, t
	if out.Message == "" {
		out.Message = fmt.Sprintf("Tool '%s' suspended: awaiting approval", s.ToolName)
	}
	r.out.hold(&ToolCallDone{ID: s.CallID, Result: &out, Outcome: CallSuspended})
	if c.again {
		c.again = false
		r.lookAgain(c)
	}
	w.wait()
	return nil
}

// ticket makes a call wait with a ticket, which it completes.
func (r *run) ticket(c *call, t Ticket) *Ticket {
	now := r.rt.cfg.Now()
	s := r.edit(c)
	t.Suspension.ID = t.suspensionID(s.CallID)
	if t.Suspension.Message == "" {
		t.Suspension.Message = fmt.Sprintf("Tool '%s' is waiting for a decision", s.ToolName)
	}
	if t.ResumeMode == "" {
		t.ResumeMode = ReplayToolCall
	}
	if t.ExpiresIn > 0 {
		t.ExpiresAt = now.Add(t.ExpiresIn).UnixMilli()
	} else if t.Child != "" {
		t.ExpiresAt = firstExpiry(t.Tickets)
	}
	t.Pending = PendingCall{ID: s.CallID, Name: s.ToolName, Arguments: s.Arguments}
	s.Status, s.UpdatedAt, s.Ticket, s.ResumeMode, s.Decision, s.Escalated = CallSuspended, now.UnixMilli(), &t, t.ResumeMode, nil, false
	return &t
}

// edit returns a call's ledger record to be changed: a copy if others have seen it.
// The next commit holds it.
func (r *run) edit(c *call) *CallState {
	r.stale = true
	if c.shared {
		s := *c.state
		if i := slices.Index(r.changed, c.state); i >= 0 {
			r.changed[i], c.listed = &s, true
		}
		c.state, c.shared = &s, false
	}
	if !c.listed {
		r.changed = append(r.changed, c.state)
		c.listed = true
	}
	return c.state
}

// answerTo is the tool message that answers a call. Message and content are one
// allocation, because most results are one block of text.
func (r *run) answerTo(s *CallState, res *ToolResult) *llm.Message {
	m := &struct {
		llm.Message
		block [1]llm.Block
	}{}
	m.ID, m.Role, m.ToolCallID = r.rt.cfg.NewID(), llm.ToolRole, s.CallID
	if m.Content = res.Content; len(m.Content) == 0 {
		m.block[0] = llm.Text(res.text())
		m.Content = m.block[:]
	}
	m.Metadata = r.metadata()
	m.Metadata.RunID, *m.Metadata.StepIndex = s.RunID, s.Step
	return &m.Message
}

// stateDelta holds a state_delta if the state has changed visibly.
func (r *run) stateDelta() error {
	changes, err := r.st.Delta()
	if err != nil {
		return err
	}
	r.st.Shown()
	var ops []PatchOp
	for _, ch := range changes {
		if isRuntimeKey(ch.Key) {
			continue
		}
		path := "/extensions/" + escapePointer(ch.Key)
		if ch.Value == nil {
			ops = append(ops, PatchOp{Op: "remove", Path: path})
		} else {
			ops = append(ops, PatchOp{Op: "add", Path: path, Value: ch.Value})
		}
	}
	if len(ops) > 0 {
		r.out.hold(&StateDelta{Delta: ops})
	}
	return nil
}

// appendAnswers adds the answers of finished calls to the conversation in the
// order of the calls: up to the first call without one, or all there are.
func (r *run) appendAnswers(all bool) {
	jumped := false
	for _, c := range r.calls {
		switch {
		case c.message == nil && !all:
			return
		case c.message == nil:
			jumped = true
		case !c.appended:
			r.add(c.message)
			c.appended = true
		}
	}
	if all && !jumped {
		r.reorder()
	}
}

// reorder shows the model the answers in the order of the calls and right behind
// the message that asked, also when they came in another order or other messages
// came between.
func (r *run) reorder() {
	at := r.msgs.Len()
	for at > 0 && len(r.msgs.At(at-1).ToolCalls) == 0 {
		at--
	}
	sorted := at == 0 || at+len(r.calls) <= r.msgs.Len()
	for i, c := range r.calls {
		sorted = sorted && (at == 0 || r.msgs.At(at+i) == c.message)
	}
	if sorted {
		return
	}
	var others []*llm.Message
	for i := at; i < r.msgs.Len(); i++ {
		if m := r.msgs.At(i); !slices.ContainsFunc(r.calls, func(c *call) bool { return c.message == m }) {
			others = append(others, m)
		}
	}
	r.rewriteFrom(at)
	for _, c := range r.calls {
		r.msgs = r.msgs.Append(c.message)
	}
	r.msgs = r.msgs.Append(others...)
}

// abort stops the calls that run, gives them a moment to come back, and gives
// every open call an answer.
func (r *run) abort(w *crew, e *end) *end {
	if e.lost {
		for _, c := range r.calls {
			if c.running {
				c.cancel(e.err)
			}
		}
		return e
	}
	for _, c := range r.calls {
		if c.running {
			c.cancel(ErrCancelled)
		}
	}
	ctx := context.WithoutCancel(r.ctx)
	var grace <-chan time.Time
	if d := r.rt.cfg.Limits.ToolGrace; d >= 0 {
		t := time.NewTimer(d)
		defer t.Stop()
		grace = t.C
	}
	for w.running > 0 {
		select {
		case o := <-w.results:
			if fin := r.finishCall(ctx, w, o); fin != nil && fin.lost {
				return fin
			}
		case ev := <-w.events:
			r.out.emit(ctx, ev)
		case <-grace:
			for _, c := range r.calls {
				if c.running {
					r.retire(w, c)
					r.rt.cfg.Logger.Warn("tool abandoned", "run", r.info.RunID, "call", c.state.CallID, "tool", c.state.ToolName)
				}
			}
		}
	}
	r.closeCalls(e)
	return e
}

// interruption says why a call that is left gets no result.
func interruption(s *CallState, e *end) string {
	if s.StartedAt == 0 {
		return fmt.Sprintf("[Tool execution was interrupted] the call was not made, the run ended: %s", e.Termination)
	}
	return fmt.Sprintf("[Tool execution was interrupted] the run ended: %s", e.Termination)
}

// closeCalls answers every call that is still open, so that the conversation stays
// valid whatever happened.
func (r *run) closeCalls(e *end) {
	if e.Type != NaturalEnd { // or they are not lost yet
		r.dropHeld(fmt.Sprintf("the run ended: %s", e.Termination))
	}
	closed := false
	for _, c := range r.calls {
		if c.state.Status.Terminal() {
			continue
		}
		closed = true
		res := ErrorResult("", interruption(c.state, e))
		res.ToolName = c.state.ToolName
		if c.state.StartedAt != 0 && c.state.Effect == Effectful && c.state.Status == CallRunning {
			res.Message += "; it had begun, and whether it took effect is not known"
			res.Metadata = map[string]any{"in_doubt": true}
		}
		s := r.edit(c)
		s.Status, s.Result, s.UpdatedAt = CallCancelled, res, r.rt.cfg.Now().UnixMilli()
		r.leaveChild(s)
		c.message = r.answerTo(s, res)
		r.holdOutcome(c, CallFailed)
	}
	if closed || len(r.calls) > 0 {
		r.appendAnswers(true)
	}
}
