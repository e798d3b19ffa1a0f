package engine

import (
	"context"
	"errors"

	"github.com/awaken-go/awaken"
)

// awaitDecisions commits the run as waiting and lets go of it. It returns nil when somebody
// decided in the meantime, and the calls have to be looked at again.
func (r *run) awaitDecisions(ctx context.Context) *end {
	r.outcomes.appendAnswers(true)
	if !r.step.closed {
		if err := r.endStep(ctx); err != nil {
			return r.fail(err)
		}
	}
	return r.park(ctx, "suspended", r.ledger.waiting())
}

// awaitTasks parks a run that has nothing to do until its background tasks end. It
// returns nil when a message came instead.
func (r *run) awaitTasks() *end {
	for {
		n := r.inbox.received
		if e := r.park(r.ctx, "awaiting_tasks", newWaiting(awaken.WaitBackgroundTasks)); e != nil || r.inbox.received > n {
			return e
		}
	}
}

// park commits the run as waiting, unless it was cancelled or somebody wrote to it.
func (r *run) park(ctx context.Context, reason string, w *awaken.Waiting) *end {
	before := r.rec
	r.rec.Status, r.rec.StatusReason, r.rec.Waiting = awaken.RunWaiting, reason, w
	if ctx.Err() != nil {
		restoreStatus(&r.rec, &before)
		return r.fail(context.Cause(ctx))
	}
	r.wallet.settleRemaining(ctx)
	err := r.compactor.detach(false)
	if err == nil {
		err = r.journal.flush(ctx, before)
	}
	var m mark
	if err == nil {
		m, err = r.journal.mark()
	}
	if err != nil {
		restoreStatus(&r.rec, &before)
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
	restoreStatus(&r.rec, &before)
	r.ledger.stale = true
	if errors.Is(err, awaken.ErrUnread) {
		err = r.inbox.takeUnread(ctx)
	}
	return r.fail(err)
}

// settleCalls brings every call of the step to an end: it runs those that can run,
// and parks the run when all that is left is waiting for people. It returns nil
// when all calls have an answer.
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
			return e // there is nothing to wait for
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
		// Somebody decided just before the run could be parked.
	}
}
