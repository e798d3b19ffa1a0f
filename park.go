package awaken

import (
	"context"
	"errors"
)

// park commits the run as waiting and lets go of it. It returns nil when somebody
// decided in the meantime, and the calls have to be looked at again.
func (r *run) park(ctx context.Context) *end {
	r.outcomes.appendAnswers(true)
	if !r.step.closed {
		if err := r.endStep(ctx); err != nil {
			return r.fail(err)
		}
	}
	before := r.rec
	r.rec.Status, r.rec.StatusReason, r.rec.Waiting = RunWaiting, "suspended", r.ledger.waiting()
	return r.rest(ctx, before)
}

// awaitTasks parks a run that has nothing to do until its background tasks end. It
// returns nil when a message came instead.
func (r *run) awaitTasks() *end {
	for {
		n, before := r.inbox.told, r.rec
		r.rec.Status, r.rec.StatusReason = RunWaiting, "awaiting_tasks"
		r.rec.Waiting = &Waiting{Reason: WaitBackgroundTasks, TicketIDs: []string{}, Tickets: []WaitingTicket{}}
		if e := r.rest(r.ctx, before); e != nil || r.inbox.told > n {
			return e
		}
	}
}

// rest commits the run as waiting, unless it was cancelled or somebody wrote to it. Before
// is the record as it was.
func (r *run) rest(ctx context.Context, before Run) *end {
	if ctx.Err() != nil {
		r.rec.stand(&before)
		return r.fail(context.Cause(ctx))
	}
	r.wallet.settleRemaining(ctx)
	err := r.compactor.leave(false)
	if err == nil {
		err = r.flush(ctx, before)
	}
	var m mark
	if err == nil {
		m, err = r.journal.mark()
	}
	if err != nil {
		r.rec.stand(&before)
		return r.fail(err)
	}
	r.ledger.stale = true
	r.ledger.snapshot()
	e := &end{Termination: Termination{Type: Suspended}}
	r.out.hold(r.finished(e.Termination))
	atPark.Hit()
	err = r.journal.commit(ctx, commitOptions{begins: true, rest: true})
	atParked.Hit()
	if err == nil {
		return e
	}
	r.out.undo(m)
	r.rec.stand(&before)
	r.ledger.stale = true
	if errors.Is(err, ErrUnread) {
		err = r.inbox.takeUnread(ctx)
	}
	if err != nil {
		return r.fail(err)
	}
	return nil
}

// waiting describes the calls that wait.
func (l *ledger) waiting() *Waiting {
	w := &Waiting{Reason: WaitToolPermission, TicketIDs: []string{}, Tickets: []WaitingTicket{}}
	for c := range l.every {
		s := c.state
		if s.Status != CallSuspended {
			continue
		}
		if s.awaits() {
			for _, t := range s.Ticket.Tickets {
				w.TicketIDs, w.Tickets = append(w.TicketIDs, t.TicketID), append(w.Tickets, t)
			}
			continue
		}
		susp := s.Ticket.Suspension
		w.TicketIDs = append(w.TicketIDs, susp.ID)
		w.Tickets = append(w.Tickets, WaitingTicket{TicketID: susp.ID, ToolCallID: s.CallID, ToolName: s.ToolName, Arguments: s.Arguments,
			ResumeMode: s.ResumeMode, Reason: susp.Message, Suspension: &susp, ExpiresAt: s.Ticket.ExpiresAt, Escalated: s.Escalated, UpdatedAt: s.UpdatedAt})
		if s.ResumeMode == UseDecisionAsToolResult {
			w.Reason = WaitUserInput
		}
	}
	if len(w.Tickets) > 0 {
		return w
	}
	w.Reason = WaitBackgroundTasks // runs below this one, which wait for nobody
	for _, c := range l.calls {
		if c.state.awaits() && c.state.Ticket.Budget != nil {
			w.Reason, w.Message, w.Budget = WaitBudget, c.state.Ticket.Suspension.Message, c.state.Ticket.Budget
		}
	}
	return w
}
