package engine

import (
	"context"
	"errors"

	"github.com/awaken-go/awaken"
	"github.com/awaken-go/awaken/state/builtin"
)

// awaitDecisions parks a run whose calls wait for decisions. It returns nil if a decision arrived
// meanwhile, and the calls must be checked again.
func (r *run) awaitDecisions(ctx context.Context) *end {
	r.outcomes.appendAnswers(true)
	if !r.step.closed {
		if err := r.endStep(ctx); err != nil {
			return r.fail(err)
		}
	}
	return r.park(ctx, "suspended", r.ledger.waiting())
}

// awaitTasks parks a run until its background tasks end. It returns nil if a message arrived
// instead.
func (r *run) awaitTasks() *end {
	for {
		n := r.inbox.received
		if e := r.park(r.ctx, "awaiting_tasks", newWaiting(awaken.WaitBackgroundTasks)); e != nil || r.inbox.received > n {
			return e
		}
	}
}

// park commits the run as waiting. It returns nil if the inbox is not empty: the run then reads it
// and continues.
func (r *run) park(ctx context.Context, reason string, w *awaken.Waiting) *end {
	if ctx.Err() != nil {
		return r.fail(context.Cause(ctx))
	}
	before := statusOf(r.rec)
	r.rec.Status, r.rec.StatusReason, r.rec.Waiting = awaken.RunWaiting, reason, w
	r.wallet.settleRemaining(ctx)
	err := r.compactor.detach(false, builtin.AtPark)
	if err == nil {
		err = r.journal.flush(ctx, &before)
	}
	var m mark
	if err == nil {
		m, err = r.journal.mark()
	}
	if err != nil {
		before.restore(r.rec)
		return r.fail(err)
	}
	r.ledger.stale = true
	r.ledger.snapshot()
	e := &end{Termination: awaken.Termination{Type: awaken.Suspended}, parked: true}
	r.out.deferEvent(r.finished(e.Termination))
	atPark.Hit()
	err = r.journal.commit(ctx, commitOptions{begins: true, requireEmptyInbox: true})
	atParked.Hit()
	if err == nil {
		return e
	}
	r.out.undo(m)
	before.restore(r.rec)
	r.ledger.stale = true
	if errors.Is(err, awaken.ErrUnread) {
		err = r.inbox.takeUnread(ctx)
	}
	return r.fail(err)
}

// settleCalls brings every call of the step to an end: it runs the calls that can run, and parks
// the run if all others wait for decisions. It returns nil when every call has an answer.
func (r *run) settleCalls(ctx context.Context) *end {
	for {
		if e := r.crew.run(ctx); e != nil {
			return e
		}
		if !r.ledger.open() {
			r.inbox.withdraw = false
			r.outcomes.appendAnswers(true)
			return nil
		}
		if e := r.requested(); e != nil {
			return e // nothing to wait for
		}
		if r.inbox.withdraw {
			r.inbox.withdraw = false
			r.decider.supersede("[tool call superseded]")
			r.out.deferEvent(&awaken.MessagesSnapshot{Messages: visible(r.conv.msgs)})
			r.conv.rewritten = false
			return nil
		}
		if e := r.awaitDecisions(ctx); e != nil {
			return e
		}
		// A decision arrived just before the run could be parked.
	}
}
