package engine

import (
	"context"
	"errors"
	"fmt"
	"strconv"

	"github.com/awaken-go/awaken"
	"github.com/awaken-go/awaken/llm"
	"github.com/awaken-go/awaken/state/builtin"
)

// run is one activation of a run: from its start, or its resumption, until it finishes or
// parks. It belongs to one goroutine; only commits in flight are made in another.
//
// It consists of parts, each in a file of its own. A part embeds the core that all parts
// share, and points to the other parts it calls; newRun connects them. The methods of run
// itself are the stages and what decides between them.
type run struct {
	core

	phases phases // hooks, actions and gates
	guards guards // checks on input, output and results

	inference inference // calls the model
	wallet    wallet    // budgets and reservations
	compactor compactor // summarises the conversation

	crew     crew     // runs tool calls
	outcomes outcomes // their results
	decider  decider  // decisions on suspended calls
	children children // runs that calls started

	inbox inbox // messages, decisions and reports posted to the thread
	hold  *hold // nil if it can continue
}

// core is the data that all parts of a run share.
type core struct {
	activation
	out     recorder     // its events
	ledger  ledger       // the calls of the step, as the next commit leaves them
	conv    conversation // the messages the model sees
	tools   toolkit      // the tools the model is offered
	output  finalOutput  // an answer that must match a schema
	hooks   hooks        // the arguments of hooks, and pending effects
	sender  sender       // the outbox
	journal journal      // the next commit
	marks   *marks       // its taint, for tools and hooks; nil until one gets it
}

// newRun connects the parts of a run, and borrows its scratch.
func newRun() *run {
	r := new(run)
	c, a := &r.core, &r.activation
	s := scratches.Get().(*scratch)
	a.rec, r.inference.stream = &s.rec, &s.stream
	c.ledger.activation, c.ledger.out = a, &c.out
	c.conv.activation, c.sender.activation = a, a
	c.tools.activation, c.tools.output = a, &c.output
	c.output.core, c.hooks.core, c.journal.core = c, c, c

	r.phases.core, r.guards.core, r.wallet.activation = c, c, a
	r.compactor.core, r.compactor.wallet = c, &r.wallet
	i := &r.inference
	i.core, i.phases, i.wallet, i.compactor = c, &r.phases, &r.wallet, &r.compactor
	ch := &r.children
	ch.core, ch.phases, ch.inbox = c, &r.phases, &r.inbox
	oc := &r.outcomes
	oc.core, oc.phases, oc.guards, oc.children = c, &r.phases, &r.guards, &r.children
	de := &r.decider
	de.core, de.guards, de.children, de.outcomes = c, &r.guards, &r.children, &r.outcomes
	in := &r.inbox
	in.core, in.guards, in.decider, in.children, in.compactor = c, &r.guards, &r.decider, &r.children, &r.compactor
	w := &r.crew
	w.core, w.phases, w.outcomes, w.inbox = c, &r.phases, &r.outcomes, &r.inbox
	c.journal.use(s)
	return r
}

// giveBack returns the scratch of a run that is over. Nothing may use the run any more, except what
// has outlived it: calls that were abandoned, and the model, neither of which has the scratch.
func (r *run) giveBack() {
	r.rec, r.inference.stream = nil, nil
	r.journal.giveBack()
}

// A stage is one thing a run does. It returns nil to continue with the next stage, or an
// end: of the run, of this activation, or of the step alone (stepOver).
type stage func(r *run, ctx context.Context) *end

var (
	// beforeStep lists the stages between two steps, in order.
	beforeStep = [...]stage{
		(*run).checkCancelled,
		(*run).checkPlanned,
		(*run).handoff,
		renew,
		(*run).takeSummary,
		(*run).passHeld,
	}
	// inStep lists the stages of a step, in order.
	inStep = [...]stage{
		(*run).openStep,      // step_start
		(*run).ask,           // before_inference, the model call
		(*run).takeReply,     // after_inference
		(*run).checkAnswer,   // an answer without calls ends the run
		(*run).checkStops,    // a stop policy may end it
		(*run).settleCalls,   // gate, intent, call, result; parks the run if calls wait
		(*run).reportDropped, // calls whose arguments were incomplete
		(*run).checkEnd,      // an end that a tool or a plugin asked for
	}
)

// stepOver ends a step and lets the run take another.
var stepOver = new(end)

// end says how an activation ends.
type end struct {
	awaken.Termination
	err    error // the cause of a Failed
	lost   bool  // another owner has the thread or will have it, or the run could not start: write and publish nothing
	parked bool  // the run is committed as waiting: nothing is left to do
}

// naturalEnd is the end of a run whose model has no more calls to make.
func (c *core) naturalEnd() *end {
	e := &c.journal.scratch.over
	*e = end{Termination: awaken.Termination{Type: awaken.NaturalEnd}}
	return e
}

// main drives the activation: start, steps, finish. Everything a run does happens below it.
func (r *run) main() (*awaken.RunResult, error) {
	if r.hold != nil {
		return r.awaitRelease()
	}
	e := r.start()
	for {
		if e == nil {
			e = r.takeStep()
		}
		if e == nil {
			e = r.fail(r.compactor.hear(builtin.AtInbox))
		}
		if e == nil {
			e = r.readBehindStep()
		}
		if e != nil && e.Type == awaken.NaturalEnd && len(r.ledger.heldMessages) > 0 {
			e = r.passHeld(r.ctx) // input arrived and a guard holds it
		}
		if e != nil && e.Type == awaken.NaturalEnd && builtin.PendingWork.Get(r.st) {
			e = r.awaitTasks()
		}
		if e == nil {
			continue
		}
		if e.lost || e.parked || !r.finish(e) {
			break
		}
		e = nil // a message arrived just before the end
	}
	return r.ended(e)
}

// ended returns what the activation returns.
func (r *run) ended(e *end) (*awaken.RunResult, error) {
	if e.lost {
		return nil, e.err
	}
	if e.Type == awaken.Failed && e.err == nil {
		e.err = errors.New(e.Message)
	}
	if err := r.out.failed(); err != nil && e.err == nil {
		e.err = fmt.Errorf("sink: %w", err)
	}
	return r.result(e), e.err
}

// takeStep calls the model once and runs the tool calls it asks for. It returns nil if the
// run needs another step.
func (r *run) takeStep() *end {
	ctx := r.ctx
	for _, do := range beforeStep[:] { // the array itself would be copied to the stack
		if e := do(r, ctx); e != nil {
			return e
		}
	}
	f := r.followed()
	if f != nil {
		ctx = f.beginPart(ctx, "step", strconv.Itoa(r.rec.Steps))
	}
	var e *end
	for _, do := range inStep[:] {
		if e = do(r, ctx); e == stepOver {
			e = nil
			break
		}
		if e != nil {
			break
		}
	}
	e = r.closeStep(ctx, e)
	f.endWith(ctx, e)
	return e
}

// result makes the result of this activation.
func (r *run) result(e *end) *awaken.RunResult {
	res := newResult(r.rec, r.step.response, e.Termination)
	res.Rejected, res.Unread = r.decider.rejected, r.journal.unread
	return res
}

// readBehindStep reads the inbox between two steps, if anything waits there. Its frame is no part of main's, which is on the stack of a run
// that waits.
//
//go:noinline
func (r *run) readBehindStep() *end {
	if r.inbox.announced() || r.journal.inboxWaits() {
		return r.fail(r.inbox.take(r.ctx, llm.BehindStep))
	}
	return nil
}

// newResult makes the result of a run from its record.
func newResult(rec *awaken.Run, response string, t awaken.Termination) *awaken.RunResult {
	return &awaken.RunResult{RunID: rec.RunID, ThreadID: rec.ThreadID, AgentID: rec.AgentID, Response: response, StructuredOutput: rec.StructuredOutput, Status: rec.Status,
		Termination: t, Waiting: rec.Waiting, Steps: rec.Steps, Usage: rec.Usage, CostUSD: rec.CostUSD, ChildUsage: rec.ChildUsage, ChildCostUSD: rec.ChildCostUSD, FinishReason: rec.FinishReason, Diagnostics: rec.Diagnostics}
}
