package engine

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"strings"

	"github.com/awaken-go/awaken"
	"github.com/awaken-go/awaken/llm"
	"github.com/awaken-go/awaken/state/builtin"
)

// start commits the run as running, publishes run_start and, the first time, activates the
// plugins. A resumed run then settles the calls that were open.
func (r *run) start() *end {
	ctx := r.ctx
	if r.endAtOnce != nil && !r.resumed { // one commit takes its input in and ends it
		r.started = true
		return &end{Termination: *r.endAtOnce}
	}
	r.rec.Status, r.rec.StatusReason, r.rec.Waiting = awaken.RunRunning, "", nil
	r.ledger.stale = true
	if r.conv.rewritten {
		r.out.deferEvent(&awaken.MessagesSnapshot{Messages: visible(r.conv.msgs)})
	}
	if err := r.journal.commit(detached(ctx), commitOptions{}); err != nil {
		return &end{err: err, lost: true} // the run has not started
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
		if err := r.phases.run(ctx, awaken.PhaseRunStart, about{}); err != nil {
			return r.fail(err)
		}
		r.rec.Activated = true
		atActivated.Hit()
	}
	if len(r.ledger.calls) > 0 {
		if e := r.resumeCalls(ctx); e != nil {
			return e
		}
	} else if r.children.idleReport && r.journal.count == r.journal.found && builtin.PendingWork.Get(r.st) {
		return r.awaitTasks() // the report changed nothing
	}
	return r.requested()
}

// resumeCalls settles the calls that were open when the previous activation ended: they waited for
// a decision, or their owner was lost. A step that was cut off is reopened and closed.
func (r *run) resumeCalls(ctx context.Context) *end {
	if !r.step.closed {
		r.out.emit(ctx, &awaken.StepStart{MessageID: askedBy(r.conv.msgs, r.ledger.calls[0].state.CallID)})
	}
	e := r.crew.resolveDoubts(ctx)
	if e == nil {
		e = r.settleCalls(ctx)
	}
	if e != nil {
		return r.closeStep(ctx, e)
	}
	if !r.step.closed {
		r.stops().countToolErrors(r.ledger.calls)
	}
	return r.closeStep(ctx, r.output.answered())
}

// askedBy returns the id of the message that asked for a call, or "".
func askedBy(msgs llm.Messages, callID string) string {
	for _, m := range msgs.Backward() {
		if m.HasCall(callID) {
			return m.ID
		}
	}
	return ""
}

// checkCancelled ends a run whose context is done.
func (r *run) checkCancelled(ctx context.Context) *end {
	return r.fail(context.Cause(ctx))
}

// checkPlanned ends a run that consists of one planned call, once that call is over.
func (r *run) checkPlanned(context.Context) *end {
	if r.rec.Call == nil || r.rec.Steps == 0 {
		return nil
	}
	calls := make([]*awaken.CallState, 0, 1)
	for _, c := range r.ledger.calls {
		calls = append(calls, c.state)
	}
	if len(calls) == 0 { // it was over before the run was resumed
		var err error
		if calls, err = r.rt.cfg.Store.Calls(r.ctx, r.info.RunID); err != nil {
			return r.fail(err)
		}
	}
	for _, s := range calls {
		if s.Result == nil {
			continue
		}
		r.step.response = s.Result.Plain()
		if s.Status != awaken.CallSucceeded {
			return r.fail(errors.New(r.step.response))
		}
	}
	return &end{Termination: awaken.Termination{Type: awaken.NaturalEnd}}
}

// takeSummary applies a finished summary of the conversation, if there is one.
func (r *run) takeSummary(context.Context) *end {
	return r.fail(r.compactor.take(builtin.AtStep))
}

// openStep begins a step and runs the step_start phase.
func (r *run) openStep(ctx context.Context) *end {
	r.step.index, r.output.structured = r.rec.Steps, nil
	if r.guards.approved != nil {
		r.step.messageID = r.guards.approved.Messages[0].ID
	} else {
		r.step.messageID = r.conv.stepMessage(r.step.index)
	}
	r.ledger.calls, r.ledger.last, r.step.closed, r.ledger.stale = r.ledger.calls[:0], nil, false, true
	r.out.emit(ctx, &awaken.StepStart{MessageID: r.step.messageID})
	atStep.Hit()
	return r.phases.stage(ctx, awaken.PhaseStepStart, about{})
}

// ask gets the reply of the step: from the model, or an answer that a guard had held, or
// the planned call.
func (r *run) ask(ctx context.Context) *end {
	switch {
	case r.guards.approved != nil:
		r.replyHeld(ctx)
		return nil
	case r.rec.Call != nil:
		r.inference.replyPlanned(ctx)
		return nil
	}
	reply, e := r.infer(ctx)
	if reply == nil && e == nil { // a tolerated failure: retry in the next step
		return stepOver
	}
	return e
}

// takeReply stores the reply and runs after_inference.
func (r *run) takeReply(ctx context.Context) *end {
	reply := &r.inference.reply
	r.inference.answer(reply)
	atAnswer.Hit()
	return r.phases.stage(ctx, awaken.PhaseAfterInference, about{reply: reply})
}

// checkAnswer ends a run whose model made no calls, if the answer matches the schema, if any.
func (r *run) checkAnswer(ctx context.Context) *end {
	reply := &r.inference.reply
	switch {
	case len(r.ledger.calls) > 0 || len(reply.Incomplete) > 0:
		return nil
	case r.output.plan != nil:
		return r.output.checkText(reply.Message.Text())
	case reply.Finish == llm.MaxTokens:
		r.warn("answer_truncated", "the answer of step %d is cut off: it reached the token limit", r.step.index+1)
	case reply.Message.Text() == "":
		r.warn("answer_empty", "the answer of step %d has no text", r.step.index+1)
	default:
		return r.output.checkWords(ctx, reply.Message.Text())
	}
	return r.naturalEnd()
}

// checkStops asks the stop policies, unless the final answer was given or no model was called.
func (r *run) checkStops(context.Context) *end {
	if r.output.given() || r.rec.Call != nil {
		return nil
	}
	d, err := r.stops().stop(r.inference.reply.Message, true)
	if err != nil {
		return r.fail(err)
	}
	if d != nil {
		return &end{Termination: awaken.Termination{Type: awaken.Stopped, Code: d.Code, Detail: d.Detail}}
	}
	return nil
}

// reportDropped tells the model which calls were not made because their arguments were incomplete.
func (r *run) reportDropped(context.Context) *end {
	dropped := r.inference.reply.Incomplete
	if len(dropped) == 0 {
		return nil
	}
	r.conv.add(&llm.Message{ID: r.rt.cfg.NewID(), Role: llm.User, Visibility: llm.Internal, Content: []llm.Block{llm.Text(fmt.Sprintf(
		"The arguments of your call of %s were not valid JSON, so the call was not made. Call it again with complete arguments.", strings.Join(dropped, ", ")))}})
	if r.output.plan != nil && slices.Contains(dropped, awaken.FinalOutputTool) {
		return r.output.misfit("", errors.New("it is not complete JSON"))
	}
	return nil
}

// checkEnd ends a run whose answer was given by a call, or that a plugin or a tool asked to end.
func (r *run) checkEnd(context.Context) *end {
	r.stops().countToolErrors(r.ledger.calls)
	if e := r.output.answered(); e != nil {
		return e
	}
	return r.requested()
}

// closeStep ends a step: open calls get an answer, the step_end phase runs, and the step is
// committed. A step that ends the run is committed by finish, together with the end. A lost or
// parked end is returned as it is.
func (r *run) closeStep(ctx context.Context, e *end) *end {
	if e != nil && (e.lost || e.parked) {
		return e
	}
	if e != nil {
		r.outcomes.closeAll(e)
	} else if r.active.yield.Load() { // the next owner can start a summary at once
		if err := r.compactor.detach(true, builtin.AtYield); err != nil {
			e = r.fail(err)
		}
	}
	if !r.step.closed {
		sctx, cancel := ctx, func() {}
		if e != nil && e.Type != awaken.NaturalEnd {
			sctx, cancel = r.graceContext(ctx)
		}
		err := r.endStep(sctx)
		cancel()
		if err == nil && ctx.Err() != nil {
			err = context.Cause(ctx) // cancelled during the phase
		}
		if err != nil && (e == nil || e.Type == awaken.NaturalEnd) {
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
			return &end{err: awaken.ErrYielded, lost: true}
		}
	}
	return e
}

// endStep runs the step_end phase and defers step_end, even if the phase fails.
func (r *run) endStep(ctx context.Context) error {
	r.step.closed = true
	r.rec.Steps++
	r.ledger.stale = true
	err := r.phases.run(ctx, awaken.PhaseStepEnd, about{})
	if _, bad := r.st.Changes(); err == nil {
		err = bad
	}
	r.ledger.snapshot()
	r.out.deferEvent(&awaken.StepEnd{})
	return err
}
