package awaken

import (
	"cmp"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"runtime/debug"
	"slices"
	"time"

	"github.com/awaken-go/awaken/llm"
	"github.com/awaken-go/awaken/state"
)

// run is one activation of a run: from its start, or its resumption, until it
// finishes or waits. It belongs to one goroutine, but for what travels in flight.
type run struct {
	rt     *Runtime
	reg    *Registry
	host   toolHost // for its tools
	agent  *resolved
	active activeRun
	ctx    context.Context // cancelled with the run
	out    recorder
	st     *state.Store

	thread string   // its id
	info   *RunInfo // immutable; replaced when it changes
	rec    Run
	msgs   llm.Messages // what the model is shown

	// Tools the client runs, and what the model is offered together with them.
	frontend map[string]*toolEntry
	offered  []llm.Tool

	// The step that is going on, or the last one.
	index      int    // 0-based
	messageID  string // of its assistant message
	calls      []*call
	stepClosed bool // step_end has been told
	response   string
	structured json.RawMessage // the answer, if it has to fit a schema and does

	// Messages that guards have put to people.
	held                []*call
	heldStep, heldCount int          // how many there were in the last step that had any
	passed              *HeldMessage // an answer that may be shown now

	output   *outputPlan // nil if it has not
	spending *spending   // nil if nothing limits what the run spends
	// unsettled is what its last call has cost, as long as that could not be stored.
	unsettled *settlement

	// What the next commit holds.
	fence, generation uint64
	count             int // messages in the log, once what was handed over is committed
	found             int // messages in the log when the run was taken up
	added             []*llm.Message
	changed           []*CallState
	unsaved           []state.Change // of commits that failed: the state takes them to be saved
	read              []string
	told              int // messages that others have sent
	effects           []ScheduledEffect
	unread            bool // after the last commit, the inbox holds something
	unsent            int  // what the outbox holds

	commits   uint64 // how many were made; belongs to whoever makes one
	flight    flight
	pipelined bool // steps that only read are committed beside the run

	batch        state.Batch  // for derive
	ending       *Termination // asked for by a plugin or tool
	derivedSteps int          // what the derived state keys show
	stale        bool         // the derived state keys are out of date
	resumed      bool
	unpinned     error // why its version cannot be had, and nothing happens
	undone       error // the same, if the request asked for more than to go on
	quiet        bool  // nor is anything said about it
	attended     bool  // its parent looks after it
	idleReport   bool  // a child reported what does not matter
	started      bool  // run_start has been committed
	rewritten    bool
	withdraw     bool         // somebody wrote instead of deciding: what waits is to be withdrawn
	endAtOnce    *Termination // the run was continued only to be ended
	rejected     []string
	replayed     *RunResult // nothing was to be done
	request      llm.Request
	stream       stream
	crew         crew
	window       *window // nil if the agent has no context policy
	reply        llm.Reply
	scratch      *scratch
	over         end // a natural end, which most runs have
}

// end says that an activation is over, and how.
type end struct {
	Termination
	err  error // behind a Failed
	lost bool  // another owner has the thread, or the run could not start: say and write nothing
}

// main runs the activation. The order of everything a run does is here.
func (r *run) main() (*RunResult, error) {
	if r.unpinned != nil {
		return r.awaitPin()
	}
	e := r.start()
	for {
		if e == nil {
			e = r.step()
		}
		if e == nil && r.inboxWaits() {
			if err := r.takeInbox(r.ctx); err != nil {
				e = r.fail(err)
			}
		}
		if e != nil && e.Type == NaturalEnd && len(r.held) > 0 {
			e = r.passHeld(r.ctx) // somebody has written to it
		}
		if e != nil && e.Type == NaturalEnd && PendingWork.Get(r.st) {
			e = r.awaitTasks()
		}
		if e == nil {
			continue
		}
		if e.lost || e.Type == Suspended || !r.finish(e) {
			break
		}
		e = nil // somebody wrote to the run just before its end
	}
	if e.lost {
		return nil, e.err
	}
	if e.Type == Failed && e.err == nil {
		e.err = errors.New(e.Message)
	}
	if err := r.out.failed(); err != nil && e.err == nil {
		e.err = fmt.Errorf("sink: %w", err)
	}
	return r.result(e), e.err
}

// start commits the run as running, tells the world, and asks the plugins. A
// resumed run then deals with the calls that were open.
func (r *run) start() *end {
	ctx := r.ctx
	r.rec.Status, r.rec.StatusReason, r.rec.Waiting = RunRunning, "", nil
	r.stale = true
	if r.rewritten {
		r.out.hold(&MessagesSnapshot{Messages: visible(r.msgs)})
	}
	if err := r.commit(detached(ctx), commitOptions{}); err != nil {
		return &end{err: err, lost: true} // it has not even started
	}
	r.started = true
	atStarted.Hit()
	if r.endAtOnce != nil {
		return &end{Termination: *r.endAtOnce}
	}
	if !r.rec.Activated {
		if err := r.activate(ctx); err != nil {
			return r.fail(err)
		}
		if err := r.phase(ctx, PhaseRunStart, about{}); err != nil {
			return r.fail(err)
		}
		r.rec.Activated = true
		atActivated.Hit()
	}
	if len(r.calls) > 0 {
		if e := r.goOn(ctx); e != nil {
			return e
		}
	} else if r.idleReport && r.count == r.found && PendingWork.Get(r.st) {
		return r.awaitTasks() // there is nothing new
	}
	return r.requested()
}

// goOn settles the calls that were open when the run stopped: they waited for people,
// or their owner was lost. A step that was cut off is opened again and closed.
func (r *run) goOn(ctx context.Context) *end {
	if !r.stepClosed {
		r.out.emit(ctx, &StepStart{MessageID: askedBy(r.msgs, r.calls[0].state.CallID)})
	}
	if e := r.resolveDoubts(ctx); e != nil {
		return r.closeStep(ctx, e)
	}
	if e := r.settleCalls(ctx); e != nil {
		if e.Type == Suspended || e.lost {
			return e
		}
		return r.closeStep(ctx, e)
	}
	if !r.stepClosed {
		r.countToolErrors()
	}
	return r.closeStep(ctx, r.answered())
}

// askedBy is the id of the message that asked for a call.
func askedBy(msgs llm.Messages, callID string) string {
	for _, m := range msgs.Backward() {
		if m.HasCall(callID) {
			return m.ID
		}
	}
	return ""
}

// step makes one inference and runs the tools it asks for. It returns nil when
// there is more to do.
func (r *run) step() *end {
	ctx := r.ctx
	if ctx.Err() != nil {
		return r.fail(context.Cause(ctx))
	}
	if e := r.planned(); e != nil {
		return e
	}
	if e := r.handoff(ctx); e != nil {
		return e
	}
	if err := r.takeCompaction(); err != nil {
		return r.fail(err)
	}
	if e := r.passHeld(ctx); e != nil {
		return e
	}
	r.index, r.structured = r.rec.Steps, nil
	if r.passed != nil {
		r.messageID = r.passed.Messages[0].ID
	} else {
		r.messageID = r.rt.cfg.NewID()
	}
	r.calls, r.stepClosed, r.stale = r.calls[:0], false, true
	r.out.emit(ctx, &StepStart{MessageID: r.messageID})
	atStep.Hit()
	if err := r.phase(ctx, PhaseStepStart, about{}); err != nil {
		return r.closeStep(ctx, r.fail(err))
	}
	if e := r.requested(); e != nil {
		return r.closeStep(ctx, e)
	}
	reply, e := r.askFor(ctx)
	if e != nil {
		if e.Type == Suspended { // parked
			return e
		}
		return r.closeStep(ctx, e)
	}
	if reply == nil { // a tolerated failure: try again in another step
		return r.closeStep(ctx, nil)
	}
	r.answer(reply)
	atAnswer.Hit()
	if err := r.phase(ctx, PhaseAfterInference, about{reply: reply}); err != nil {
		return r.closeStep(ctx, r.fail(err))
	}
	if e := r.requested(); e != nil {
		return r.closeStep(ctx, e)
	}
	if len(r.calls) == 0 && len(reply.Incomplete) == 0 {
		if r.output != nil {
			if e := r.checkText(reply.Message.Text()); e != nil {
				return r.closeStep(ctx, e)
			}
		} else {
			r.over = end{Termination: Termination{Type: NaturalEnd}}
			return r.closeStep(ctx, &r.over)
		}
	}
	if !r.given() && r.rec.Call == nil { // or the model is done, or was not asked
		if d, err := r.stop(reply.Message, true); err != nil {
			return r.closeStep(ctx, r.fail(err))
		} else if d != nil {
			return r.closeStep(ctx, &end{Termination: Termination{Type: Stopped, Code: d.Code, Detail: d.Detail}})
		}
	}
	if e := r.settleCalls(ctx); e != nil {
		if e.Type == Suspended || e.lost {
			return e
		}
		return r.closeStep(ctx, e)
	}
	if len(reply.Incomplete) > 0 {
		r.add(hintMalformed(r.rt.cfg.NewID(), reply.Incomplete))
		if r.output != nil && slices.Contains(reply.Incomplete, FinalOutputTool) {
			if e := r.misfit("", errors.New("it is not complete JSON")); e != nil {
				return r.closeStep(ctx, e)
			}
		}
	}
	r.countToolErrors()
	if e := r.answered(); e != nil {
		return r.closeStep(ctx, e)
	}
	return r.closeStep(ctx, r.requested())
}

// closeStep ends a step, whichever way it went: open calls get an answer, the
// step_end phase runs, and what the step did is committed. The commit of a step
// that ends the run is left to finish, which has more to add.
func (r *run) closeStep(ctx context.Context, e *end) *end {
	if e != nil && e.lost {
		return e
	}
	if e != nil {
		r.closeCalls(e)
	} else if r.active.yield.Load() { // another process goes on, and can summarise at once
		if err := r.leaveCompaction(true); err != nil {
			e = r.fail(err)
		}
	}
	if !r.stepClosed {
		sctx, cancel := ctx, func() {}
		if e != nil && e.Type != NaturalEnd {
			sctx, cancel = r.last(ctx)
		}
		err := r.endStep(sctx)
		cancel()
		if err == nil && ctx.Err() != nil {
			err = context.Cause(ctx) // cancelled in the phase
		}
		if err != nil && (e == nil || e.Type == NaturalEnd) {
			e = r.fail(err)
		}
		if e == nil {
			e = r.requested()
		}
	}
	if e == nil {
		atStepEnd.Hit()
		if err := r.commitStep(ctx); err != nil {
			return r.fail(err)
		}
		atStepDone.Hit()
		if r.active.yield.Load() {
			if err := r.land(); err != nil {
				return r.fail(err)
			}
			return &end{err: ErrYielded, lost: true}
		}
	}
	return e
}

// endStep runs the step_end phase and, whatever came of it, says that the step is over.
func (r *run) endStep(ctx context.Context) error {
	r.stepClosed = true
	r.rec.Steps++
	r.stale = true
	err := r.phase(ctx, PhaseStepEnd, about{})
	if _, bad := r.st.Changes(); err == nil {
		err = bad
	}
	r.snapshot()
	r.out.hold(&StepEnd{})
	return err
}

// finish ends the run for good: run_end, the last commit, run_finish. It reports
// true when a run that had come to its natural end has to go on after all, because
// somebody wrote to it.
func (r *run) finish(e *end) (again bool) {
	quiet := len(r.agent.hooks[PhaseRunEnd]) == 0 && len(r.due(PhaseRunEnd)) == 0
	if quiet {
		r.recall() // for the last commit, which is near
	}
	if err := r.land(); err != nil {
		if *e = *r.fail(err); e.lost {
			return false
		}
	}
	ctx, cancel := r.last(r.ctx)
	defer cancel()
	r.settleRest(ctx)
	r.closeCalls(e)
	if err := r.leaveCompaction(e.Type == Cancelled); err != nil {
		r.rt.cfg.Logger.Error("summary could not be taken in", "run", r.info.RunID, "error", err)
	}
	if e.Type == NaturalEnd && !quiet {
		// The hooks of run_end may run only once, so make sure now that this is the end.
		if err := r.commit(ctx, commitOptions{rest: true}); errors.Is(err, ErrUnread) {
			return r.reopen(ctx, e)
		} else if err != nil {
			if *e = *r.fail(err); e.lost {
				return false
			}
		}
	}
	before := r.rec
	r.conclude(e)
	atRunEnd.Hit()
	err := r.phase(ctx, PhaseRunEnd, about{})
	if _, bad := r.st.Changes(); err == nil {
		err = bad
	}
	if err != nil {
		if e.Type == NaturalEnd {
			*e = *r.fail(err)
			r.rec.stand(&before)
			r.conclude(e)
		} else {
			r.rt.cfg.Logger.Warn("run_end failed", "run", r.info.RunID, "error", err)
		}
	}
	if err := r.flush(ctx, before); err != nil && r.fail(err).lost {
		*e = *r.fail(err)
		return false
	}
	m := r.out.mark()
	r.snapshot()
	r.out.hold(r.finished(e.Termination))
	// The hooks may have used up their time, and a cancel that comes now is too late.
	ctx, done := r.last(r.ctx)
	defer done()
	if ctx == r.ctx {
		ctx = context.WithoutCancel(ctx)
	}
	atRunEnded.Hit()
	err = r.commit(ctx, commitOptions{rest: quiet && e.Type == NaturalEnd})
	atFinished.Hit()
	switch {
	case err == nil:
	case errors.Is(err, ErrUnread):
		r.out.undo(m)
		r.rec.stand(&before)
		return r.reopen(ctx, e)
	case errors.Is(err, ErrFenced):
		*e = end{err: err, lost: true}
	default:
		// The record could not be saved, so another owner may yet take the run up;
		// but here it is over, and whoever listens has to know.
		f := r.fail(err)
		if f.err == nil {
			f.err = err // cancelled or not, what was said is not stored
		}
		r.out.forget()
		r.out.tell(ctx, r.finished(f.Termination))
		*e = *f
	}
	return false
}

// reopen takes in what arrived just before the end, and commits it together with
// what was held for the end.
func (r *run) reopen(ctx context.Context, e *end) bool {
	n := r.told
	if err := r.takeUnread(ctx); err != nil {
		*e = *r.fail(err)
		return !e.lost && r.finish(e)
	}
	if r.told == n { // nothing that the model has to know
		return r.finish(e)
	}
	return true
}

// conclude writes the end into the record.
func (r *run) conclude(e *end) {
	now := r.rt.cfg.Now().Unix()
	t := e.Termination
	r.rec.Status, r.rec.StatusReason, r.rec.Waiting = RunDone, t.reason(), nil
	r.rec.Termination, r.rec.FinishedAt = t, now
	r.rec.FinalOutput = r.response
	if t.Type == NaturalEnd {
		r.rec.StructuredOutput = r.structured
	}
	if t.Type == Failed {
		r.rec.ErrorPayload = &Error{Message: t.Message, Code: string(llm.KindOf(e.err))}
		if _, ok := errors.AsType[*OutputError](e.err); ok {
			r.rec.ErrorPayload.Code = "invalid_output"
		}
	}
	r.stale = true
}

// fail turns an error into the end it means.
func (r *run) fail(err error) *end {
	cause := context.Cause(r.ctx)
	switch {
	case errors.Is(err, ErrFenced):
		return &end{err: err, lost: true}
	case errors.Is(cause, ErrFenced):
		return &end{err: cause, lost: true}
	case cause != nil && r.flight.failed() == cause:
		err = cause // it was cancelled because of that
	case errors.Is(err, ErrGeneration), cause != nil:
		// A run whose consumer broke is cancelled too.
		return &end{Termination: Termination{Type: Cancelled}}
	}
	message := err.Error()
	if _, ok := errors.AsType[storeError](err); ok {
		message = "the run could not be stored"
	}
	return &end{Termination: Termination{Type: Failed, Message: message}, err: err}
}

// requested is the end a plugin or tool asked for, if any.
func (r *run) requested() *end {
	if r.ending == nil {
		return nil
	}
	return &end{Termination: *r.ending}
}

// handoff changes the agent at the border between two steps, when the thread has
// been handed to another.
func (r *run) handoff(ctx context.Context) *end {
	to := ActiveAgent.Get(r.st)
	if to == "" || to == r.info.AgentID {
		return nil
	}
	next, err := r.reg.agent(to)
	if err != nil {
		r.forgetHandoff() // or no later run on the thread could do better
		return &end{Termination: Termination{Type: Blocked, Message: fmt.Sprintf("handoff to %q: %v", to, err)}}
	}
	if err := r.leaveCompaction(false); err != nil {
		return r.fail(err)
	}
	if err := r.deactivate(ctx); err != nil {
		return r.fail(err)
	}
	if err := r.st.Extend(next.schema); err != nil {
		return r.fail(err)
	}
	r.agent = next
	info := *r.info
	info.AgentID, r.rec.AgentID = to, to
	r.rec.FirstAgentID = cmp.Or(r.rec.FirstAgentID, r.info.AgentID)
	r.info, r.stale = &info, true
	r.openWindow()
	r.offerTools()
	if err := r.planOutput(); err != nil {
		return r.fail(err)
	}
	budgeted := r.rec.Budgeted
	if err := r.limitSpending(ctx); err != nil {
		return r.fail(err)
	}
	if r.rec.Budgeted != budgeted { // whoever takes the run up has to know
		if err := r.commit(ctx, commitOptions{}); err != nil {
			return r.fail(err)
		}
	}
	if err := r.activate(ctx); err != nil {
		return r.fail(err)
	}
	return nil
}

// forgetHandoff makes the thread belong to whoever runs on it.
func (r *run) forgetHandoff() {
	var b state.Batch
	ActiveAgent.Clear(&b)
	if err := r.st.Apply(&b); err != nil {
		panic(err) // the built-in keys are in every schema
	}
}

// offerTools puts the agent's tools and the client's together.
func (r *run) offerTools() {
	r.offered = r.agent.offered
	if len(r.frontend) == 0 {
		return
	}
	r.offered = nil
	for _, t := range r.agent.offered {
		if r.frontend[t.Name] == nil {
			r.offered = append(r.offered, t)
		}
	}
	for id, e := range r.frontend {
		if !r.agent.hides(id) {
			r.offered = append(r.offered, e.desc)
		}
	}
	sortTools(r.offered)
}

func (r *run) tool(id string) *toolEntry {
	if e := r.frontend[id]; e != nil {
		return e
	}
	if r.output != nil && r.output.finish != nil && id == FinalOutputTool {
		return r.output.finish
	}
	return r.agent.tools[id]
}

// derive brings the state keys that mirror the record and the ledger up to date.
func (r *run) derive() {
	if !r.stale {
		return
	}
	r.stale = false
	b := &r.batch
	b.Reset()
	RunLifecycle.Update(b, Lifecycle{RunID: r.info.RunID, Status: r.rec.Status, StatusReason: r.rec.StatusReason,
		UpdatedAt: r.rt.cfg.Now().UnixMilli(), StepCount: r.rec.Steps})
	if len(r.calls)+len(r.held) > 0 || r.derivedSteps > 0 {
		calls := make(Calls, 0, len(r.calls)+len(r.held))
		for c := range r.everyCall {
			c.shared = true
			calls = append(calls, c.state)
		}
		r.derivedSteps = len(calls)
		ToolCallStates.Update(b, calls)
	}
	if err := r.st.Apply(b); err != nil {
		panic(err) // the built-in keys are in every schema
	}
}

// snapshot holds a state_snapshot.
func (r *run) snapshot() {
	r.derive()
	r.st.Shown()
	r.out.hold(&StateSnapshot{Snapshot: r.st.Snapshot()})
}

// finished is the event that ends this activation.
func (r *run) finished(t Termination) *RunFinish {
	ev := &struct {
		RunFinish
		out RunOutput
	}{}
	ev.out = RunOutput{Response: r.response, Status: r.rec.Status, StatusReason: r.rec.StatusReason, Waiting: r.rec.Waiting,
		StructuredOutput: r.rec.StructuredOutput, Usage: r.rec.Usage, CostUSD: r.rec.CostUSD}
	ev.RunFinish = RunFinish{ThreadID: r.thread, RunID: r.info.RunID, Identity: r.info, Result: &ev.out, Termination: t}
	return &ev.RunFinish
}

func (r *run) result(e *end) *RunResult {
	return &RunResult{RunID: r.info.RunID, ThreadID: r.info.ThreadID, AgentID: r.info.AgentID, Response: r.response,
		StructuredOutput: r.rec.StructuredOutput, Status: r.rec.Status, Termination: e.Termination, Waiting: r.rec.Waiting, Steps: r.rec.Steps, Usage: r.rec.Usage,
		CostUSD: r.rec.CostUSD, ChildUsage: r.rec.ChildUsage, ChildCostUSD: r.rec.ChildCostUSD, Rejected: r.rejected, Unread: r.unread}
}

// stop asks the stop policies, after counting the response that has just come.
func (r *run) stop(m *llm.Message, responded bool) (*StopDecision, error) {
	if len(r.agent.policies) == 0 && r.rec.Steps+1 < r.agent.spec.maxRounds() {
		return nil, nil
	}
	used, cost := r.rec.Total() // its children count too
	stats := StopStats{Steps: r.rec.Steps + 1, InputTokens: used.PromptTokens, OutputTokens: used.CompletionTokens, CostUSD: cost}
	counts := r.counts()
	counts.Steps, counts.InputTokens, counts.OutputTokens = stats.Steps, stats.InputTokens, stats.OutputTokens
	if responded {
		stats.LastText = m.Text()
		for _, c := range m.ToolCalls {
			stats.LastToolNames = append(stats.LastToolNames, c.Name)
		}
		if sig := signature(m); sig != "" {
			counts.Recent = append(counts.Recent[max(0, len(counts.Recent)-maxRecent+1):len(counts.Recent):len(counts.Recent)], sig)
		}
	}
	stats.ConsecutiveErrors, stats.Recent = counts.ConsecutiveErrors, counts.Recent
	stats.Elapsed = time.Duration(r.rt.cfg.Now().UnixMilli()-counts.StartedMS) * time.Millisecond
	r.setCounts(counts)
	if d := r.agent.maxRounds.Evaluate(&stats); d != nil {
		return d, nil
	}
	for _, p := range r.agent.policies {
		if d, err := evaluate(p, &stats); d != nil || err != nil {
			return d, err
		}
	}
	return nil, nil
}

func evaluate(p StopPolicy, stats *StopStats) (d *StopDecision, err error) {
	defer func() {
		if v := recover(); v != nil {
			err = &PanicError{fmt.Sprintf("stop policy %q", p.ID()), v, debug.Stack()}
		}
	}()
	return p.Evaluate(stats), nil
}

func (r *run) counts() stopCounts {
	c := stopStats.Get(r.st)
	if c.StartedMS == 0 {
		c.StartedMS = r.rec.StartedAt * 1000
	}
	return c
}

func (r *run) setCounts(c stopCounts) {
	var b state.Batch
	stopStats.Update(&b, c)
	if err := r.st.Apply(&b); err != nil {
		panic(err) // the built-in keys are in every schema
	}
}

// countToolErrors counts a step whose calls all failed as an error, and any other
// as the end of a row of them.
func (r *run) countToolErrors() {
	if len(r.agent.policies) == 0 {
		return
	}
	failed := len(r.calls) > 0
	for _, c := range r.calls {
		failed = failed && c.state.Status == CallFailed
	}
	c := r.counts()
	if failed {
		c.ConsecutiveErrors++
	} else {
		c.ConsecutiveErrors = 0
	}
	r.setCounts(c)
}

// detached returns a context for what has to happen even if ctx is done.
func detached(ctx context.Context) context.Context {
	if ctx.Err() == nil {
		return ctx
	}
	return context.WithoutCancel(ctx)
}

// last is ctx, or a context that gives a cancelled run a little more time to end in
// order.
func (r *run) last(ctx context.Context) (context.Context, context.CancelFunc) {
	if ctx.Err() == nil {
		return ctx, func() {}
	}
	ctx = context.WithoutCancel(ctx)
	if r.rt.cfg.Limits.RunEnd < 0 {
		return ctx, func() {}
	}
	return context.WithTimeout(ctx, r.rt.cfg.Limits.RunEnd)
}
