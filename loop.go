package awaken

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"runtime/debug"
	"slices"
	"time"

	"github.com/awaken-go/awaken/llm"
	"github.com/awaken-go/awaken/state"
)

// run is one activation of a run: from its start, or its resumption, until it
// finishes or waits. It belongs to one goroutine, but for commits in flight.
//
// It is made of parts. Each part has its own file, embeds the activation, and points to
// the parts that it uses; newRun connects them. The methods of run itself are what
// happens, in order.
type run struct {
	activation
	out recorder

	ledger ledger       // the calls of the step, as the store has them or will have
	conv   conversation // what the model is shown
	tools  toolbox      // what the model is offered
	output finalOutput  // the answer, if it has to fit a schema

	journal journal // what the next commit holds, and commits
	sender  sender  // what the run sends beyond its thread
	inbox   inbox   // what others have posted to its thread

	hooks  hooks  // what hooks are given, and effects
	phases phases // hooks, actions and gates
	guards guards // what passes the borders of the run

	crew     crew     // runs calls
	outcomes outcomes // what calls come to
	decider  decider  // what people decide about calls
	children children // the runs of calls

	inference inference // asks the model
	wallet    wallet    // what may be spent
	compactor compactor // summarises the conversation
	pinned    pinned    // why the run's version is not available
}

// newRun connects the parts of a run.
func newRun() *run {
	r := new(run)
	act, out := &r.activation, &r.out
	r.ledger.activation, r.ledger.out = act, out
	r.conv.activation = act
	r.output = finalOutput{activation: act, ledger: &r.ledger, conv: &r.conv}
	r.tools = toolbox{activation: act, output: &r.output}
	r.hooks = hooks{activation: act, ledger: &r.ledger, conv: &r.conv, tools: &r.tools}
	r.sender.activation = act
	r.journal.connect(r)
	r.phases = phases{activation: act, hooks: &r.hooks, sender: &r.sender}
	r.guards = guards{activation: act, out: out, ledger: &r.ledger, conv: &r.conv, hooks: &r.hooks, journal: &r.journal}
	r.children = children{activation: act, ledger: &r.ledger, conv: &r.conv, sender: &r.sender, phases: &r.phases, inbox: &r.inbox}
	r.outcomes = outcomes{activation: act, out: out, ledger: &r.ledger, conv: &r.conv, phases: &r.phases, guards: &r.guards, children: &r.children}
	r.decider = decider{activation: act, out: out, ledger: &r.ledger, conv: &r.conv, guards: &r.guards, children: &r.children, outcomes: &r.outcomes}
	r.wallet.activation = act
	r.compactor = compactor{activation: act, out: out, conv: &r.conv, journal: &r.journal, wallet: &r.wallet}
	r.inbox = inbox{activation: act, ledger: &r.ledger, journal: &r.journal, guards: &r.guards, decider: &r.decider, children: &r.children, compactor: &r.compactor}
	r.crew.connect(r)
	r.inference.connect(r)
	return r
}

// end says that an activation is over, and how.
type end struct {
	Termination
	err  error // behind a Failed
	lost bool  // another owner has the thread, or the run could not start: say and write nothing
}

// main runs the activation. The order of everything a run does is here.
func (r *run) main() (*RunResult, error) {
	if r.pinned.err != nil {
		return r.awaitPin()
	}
	e := r.start()
	for {
		if e == nil {
			e = r.takeStep()
		}
		if e == nil && r.journal.inboxWaits() {
			if err := r.inbox.take(r.ctx); err != nil {
				e = r.fail(err)
			}
		}
		if e != nil && e.Type == NaturalEnd && len(r.ledger.held) > 0 {
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
	r.ledger.stale = true
	if r.conv.rewritten {
		r.out.hold(&MessagesSnapshot{Messages: visible(r.conv.msgs)})
	}
	if err := r.journal.commit(detached(ctx), commitOptions{}); err != nil {
		return &end{err: err, lost: true} // it has not even started
	}
	r.started = true
	atStarted.Hit()
	if r.endAtOnce != nil {
		return &end{Termination: *r.endAtOnce}
	}
	if !r.rec.Activated {
		if err := r.phases.activate(ctx); err != nil {
			return r.fail(err)
		}
		if err := r.phases.run(ctx, PhaseRunStart, about{}); err != nil {
			return r.fail(err)
		}
		r.rec.Activated = true
		atActivated.Hit()
	}
	if len(r.ledger.calls) > 0 {
		if e := r.goOn(ctx); e != nil {
			return e
		}
	} else if r.children.idleReport && r.journal.count == r.journal.found && PendingWork.Get(r.st) {
		return r.awaitTasks() // there is nothing new
	}
	return r.requested()
}

// goOn settles the calls that were open when the run stopped: they waited for people,
// or their owner was lost. A step that was cut off is opened again and closed.
func (r *run) goOn(ctx context.Context) *end {
	if !r.step.closed {
		r.out.emit(ctx, &StepStart{MessageID: askedBy(r.conv.msgs, r.ledger.calls[0].state.CallID)})
	}
	if e := r.crew.resolveDoubts(ctx); e != nil {
		return r.closeStep(ctx, e)
	}
	if e := r.settleCalls(ctx); e != nil {
		if e.Type == Suspended || e.lost {
			return e
		}
		return r.closeStep(ctx, e)
	}
	if !r.step.closed {
		r.stops().countToolErrors(r.ledger.calls)
	}
	return r.closeStep(ctx, r.output.answered())
}

// askedBy is the id of the message that asked for a call.
func askedBy(msgs llm.Messages, callID string) string {
	for _, m := range msgs.Backward() {
		if callIndex(m.ToolCalls, callID) >= 0 {
			return m.ID
		}
	}
	return ""
}

// step makes one inference and runs the tools it asks for. It returns nil when
// there is more to do.
func (r *run) takeStep() *end {
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
	if err := r.compactor.take(); err != nil {
		return r.fail(err)
	}
	if e := r.passHeld(ctx); e != nil {
		return e
	}
	r.step.index, r.output.structured = r.rec.Steps, nil
	if r.guards.passed != nil {
		r.step.messageID = r.guards.passed.Messages[0].ID
	} else {
		r.step.messageID = r.rt.cfg.NewID()
	}
	r.ledger.calls, r.step.closed, r.ledger.stale = r.ledger.calls[:0], false, true
	r.out.emit(ctx, &StepStart{MessageID: r.step.messageID})
	atStep.Hit()
	if err := r.phases.run(ctx, PhaseStepStart, about{}); err != nil {
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
	r.inference.answer(reply)
	atAnswer.Hit()
	if err := r.phases.run(ctx, PhaseAfterInference, about{reply: reply}); err != nil {
		return r.closeStep(ctx, r.fail(err))
	}
	if e := r.requested(); e != nil {
		return r.closeStep(ctx, e)
	}
	if len(r.ledger.calls) == 0 && len(reply.Incomplete) == 0 {
		if r.output.plan != nil {
			if e := r.output.checkText(reply.Message.Text()); e != nil {
				return r.closeStep(ctx, e)
			}
		} else {
			r.step.over = end{Termination: Termination{Type: NaturalEnd}}
			return r.closeStep(ctx, &r.step.over)
		}
	}
	if !r.output.given() && r.rec.Call == nil { // or the model is done, or was not asked
		if d, err := r.stops().stop(reply.Message, true); err != nil {
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
		r.conv.add(hintMalformed(r.rt.cfg.NewID(), reply.Incomplete))
		if r.output.plan != nil && slices.Contains(reply.Incomplete, FinalOutputTool) {
			if e := r.output.misfit("", errors.New("it is not complete JSON")); e != nil {
				return r.closeStep(ctx, e)
			}
		}
	}
	r.stops().countToolErrors(r.ledger.calls)
	if e := r.output.answered(); e != nil {
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
		r.outcomes.closeAll(e)
	} else if r.active.yield.Load() { // another process goes on, and can summarise at once
		if err := r.compactor.leave(true); err != nil {
			e = r.fail(err)
		}
	}
	if !r.step.closed {
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
		if err := r.journal.commitStep(ctx); err != nil {
			return r.fail(err)
		}
		atStepDone.Hit()
		if r.active.yield.Load() {
			if err := r.journal.waitInFlight(); err != nil {
				return r.fail(err)
			}
			return &end{err: ErrYielded, lost: true}
		}
	}
	return e
}

// endStep runs the step_end phase and, whatever came of it, says that the step is over.
func (r *run) endStep(ctx context.Context) error {
	r.step.closed = true
	r.rec.Steps++
	r.ledger.stale = true
	err := r.phases.run(ctx, PhaseStepEnd, about{})
	if _, bad := r.st.Changes(); err == nil {
		err = bad
	}
	r.ledger.snapshot()
	r.out.hold(&StepEnd{})
	return err
}

// finish ends the run for good: run_end, the last commit, run_finish. It reports
// true when a run that had come to its natural end has to go on after all, because
// somebody wrote to it.
func (r *run) finish(e *end) (again bool) {
	quiet := len(r.agent.hooks[PhaseRunEnd]) == 0 && len(r.phases.due(PhaseRunEnd)) == 0
	if quiet {
		r.journal.takeBack() // for the last commit, which is near
	}
	if err := r.journal.waitInFlight(); err != nil {
		if *e = *r.fail(err); e.lost {
			return false
		}
	}
	ctx, cancel := r.last(r.ctx)
	defer cancel()
	r.wallet.settleRemaining(ctx)
	r.outcomes.closeAll(e)
	if err := r.compactor.leave(e.Type == Cancelled); err != nil {
		r.rt.cfg.Logger.Error("summary could not be taken in", "run", r.info.RunID, "error", err)
	}
	if e.Type == NaturalEnd && !quiet {
		// The hooks of run_end may run only once, so make sure now that this is the end.
		if err := r.journal.commit(ctx, commitOptions{rest: true}); errors.Is(err, ErrUnread) {
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
	err := r.phases.run(ctx, PhaseRunEnd, about{})
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
	r.ledger.snapshot()
	r.out.hold(r.finished(e.Termination))
	// The hooks may have used up their time, and a cancel that comes now is too late.
	ctx, done := r.last(r.ctx)
	defer done()
	if ctx == r.ctx {
		ctx = context.WithoutCancel(ctx)
	}
	atRunEnded.Hit()
	err = r.journal.commit(ctx, commitOptions{rest: quiet && e.Type == NaturalEnd})
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
	n := r.inbox.told
	if err := r.inbox.takeUnread(ctx); err != nil {
		*e = *r.fail(err)
		return !e.lost && r.finish(e)
	}
	if r.inbox.told == n { // nothing that the model has to know
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
	r.rec.FinalOutput = r.step.response
	if t.Type == NaturalEnd {
		r.rec.StructuredOutput = r.output.structured
	}
	if t.Type == Failed {
		r.rec.ErrorPayload = &Error{Message: t.Message, Code: string(llm.KindOf(e.err))}
		if _, ok := errors.AsType[*OutputError](e.err); ok {
			r.rec.ErrorPayload.Code = "invalid_output"
		}
	}
	r.ledger.stale = true
}

// fail turns an error into the end it means.
func (a *activation) fail(err error) *end {
	cause := context.Cause(a.ctx)
	switch {
	case errors.Is(err, ErrFenced):
		return &end{err: err, lost: true}
	case errors.Is(cause, ErrFenced):
		return &end{err: cause, lost: true}
	case isCommitError(cause):
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
func (a *activation) requested() *end {
	if a.ending == nil {
		return nil
	}
	return &end{Termination: *a.ending}
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
	if err := r.compactor.leave(false); err != nil {
		return r.fail(err)
	}
	if err := r.phases.deactivate(ctx); err != nil {
		return r.fail(err)
	}
	if err := r.st.Extend(next.schema); err != nil {
		return r.fail(err)
	}
	r.agent = next
	info := *r.info
	info.AgentID, r.rec.AgentID = to, to
	r.rec.FirstAgentID = cmp.Or(r.rec.FirstAgentID, r.info.AgentID)
	r.info, r.ledger.stale = &info, true
	r.conv.openWindow()
	r.tools.offer()
	if err := r.tools.planOutput(); err != nil {
		return r.fail(err)
	}
	budgeted := r.rec.Budgeted
	if err := r.wallet.limit(ctx); err != nil {
		return r.fail(err)
	}
	if r.rec.Budgeted != budgeted { // whoever takes the run up has to know
		if err := r.journal.commit(ctx, commitOptions{}); err != nil {
			return r.fail(err)
		}
	}
	if err := r.phases.activate(ctx); err != nil {
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
func (tb *toolbox) offer() {
	tb.offered = tb.agent.offered
	if len(tb.frontend) == 0 {
		return
	}
	tb.offered = nil
	for _, t := range tb.agent.offered {
		if tb.frontend[t.Name] == nil {
			tb.offered = append(tb.offered, t)
		}
	}
	for id, e := range tb.frontend {
		if !tb.agent.hides(id) {
			tb.offered = append(tb.offered, e.desc)
		}
	}
	sortTools(tb.offered)
}

func (tb *toolbox) find(id string) *toolEntry {
	if e := tb.frontend[id]; e != nil {
		return e
	}
	if tb.output.plan != nil && tb.output.plan.finish != nil && id == FinalOutputTool {
		return tb.output.plan.finish
	}
	return tb.agent.tools[id]
}

// derive brings the state keys that mirror the record and the ledger up to date.
func (l *ledger) derive() {
	if !l.stale {
		return
	}
	l.stale = false
	b := &l.batch
	b.Reset()
	RunLifecycle.Update(b, Lifecycle{RunID: l.info.RunID, Status: l.rec.Status, StatusReason: l.rec.StatusReason,
		UpdatedAt: l.rt.cfg.Now().UnixMilli(), StepCount: l.rec.Steps})
	if len(l.calls)+len(l.held) > 0 || l.derived > 0 {
		calls := make(Calls, 0, len(l.calls)+len(l.held))
		for c := range l.every {
			c.shared = true
			calls = append(calls, c.state)
		}
		l.derived = len(calls)
		ToolCallStates.Update(b, calls)
	}
	if err := l.st.Apply(b); err != nil {
		panic(err) // the built-in keys are in every schema
	}
}

// snapshot holds a state_snapshot.
func (l *ledger) snapshot() {
	l.derive()
	l.st.Shown()
	l.out.hold(&StateSnapshot{Snapshot: l.st.Snapshot()})
}

// finished is the event that ends this activation.
func (a *activation) finished(t Termination) *RunFinish {
	ev := &struct {
		RunFinish
		out RunOutput
	}{}
	ev.out = RunOutput{Response: a.step.response, Status: a.rec.Status, StatusReason: a.rec.StatusReason, Waiting: a.rec.Waiting,
		StructuredOutput: a.rec.StructuredOutput, Usage: a.rec.Usage, CostUSD: a.rec.CostUSD}
	ev.RunFinish = RunFinish{ThreadID: a.thread, RunID: a.info.RunID, Identity: a.info, Result: &ev.out, Termination: t}
	return &ev.RunFinish
}

func (r *run) result(e *end) *RunResult {
	return &RunResult{RunID: r.info.RunID, ThreadID: r.info.ThreadID, AgentID: r.info.AgentID, Response: r.step.response,
		StructuredOutput: r.rec.StructuredOutput, Status: r.rec.Status, Termination: e.Termination, Waiting: r.rec.Waiting, Steps: r.rec.Steps, Usage: r.rec.Usage,
		CostUSD: r.rec.CostUSD, ChildUsage: r.rec.ChildUsage, ChildCostUSD: r.rec.ChildCostUSD, Rejected: r.decider.rejected, Unread: r.journal.unread}
}

// stop asks the stop policies, after counting the response that has just come.
func (sp stops) stop(m *llm.Message, responded bool) (*StopDecision, error) {
	if len(sp.agent.policies) == 0 && sp.rec.Steps+1 < sp.agent.spec.maxRounds() {
		return nil, nil
	}
	used, cost := sp.rec.Total() // its children count too
	stats := StopStats{Steps: sp.rec.Steps + 1, InputTokens: used.PromptTokens, OutputTokens: used.CompletionTokens, CostUSD: cost}
	counts := sp.counts()
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
	stats.Elapsed = time.Duration(sp.rt.cfg.Now().UnixMilli()-counts.StartedMS) * time.Millisecond
	sp.setCounts(counts)
	if d := sp.agent.maxRounds.Evaluate(&stats); d != nil {
		return d, nil
	}
	for _, p := range sp.agent.policies {
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

func (sp stops) counts() stopCounts {
	c := stopStats.Get(sp.st)
	if c.StartedMS == 0 {
		c.StartedMS = sp.rec.StartedAt * 1000
	}
	return c
}

func (sp stops) setCounts(c stopCounts) {
	var b state.Batch
	stopStats.Update(&b, c)
	if err := sp.st.Apply(&b); err != nil {
		panic(err) // the built-in keys are in every schema
	}
}

// countToolErrors counts a step whose calls all failed as an error, and any other
// as the end of a row of them.
func (sp stops) countToolErrors(calls []*call) {
	if len(sp.agent.policies) == 0 {
		return
	}
	failed := len(calls) > 0
	for _, c := range calls {
		failed = failed && c.state.Status == CallFailed
	}
	c := sp.counts()
	if failed {
		c.ConsecutiveErrors++
	} else {
		c.ConsecutiveErrors = 0
	}
	sp.setCounts(c)
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
func (a *activation) last(ctx context.Context) (context.Context, context.CancelFunc) {
	if ctx.Err() == nil {
		return ctx, func() {}
	}
	ctx = context.WithoutCancel(ctx)
	if a.rt.cfg.Limits.RunEnd < 0 {
		return ctx, func() {}
	}
	return context.WithTimeout(ctx, a.rt.cfg.Limits.RunEnd)
}
