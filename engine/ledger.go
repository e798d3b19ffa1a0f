package engine

import (
	"cmp"
	"context"
	"encoding/json"
	"fmt"
	"slices"
	"strconv"

	"github.com/awaken-go/awaken"
	"github.com/awaken-go/awaken/llm"
	"github.com/awaken-go/awaken/registry"
	"github.com/awaken-go/awaken/state"
	"github.com/awaken-go/awaken/state/builtin"
)

// call is one tool call of the current step. Its flags are together, because it is allocated with its record:
// with gaps between them the two would not fit into 384 bytes.
type call struct {
	state   *awaken.CallState // as of the next commit; change it through edit
	entry   *registry.Tool    // nil if the tool does not exist
	message *llm.Message
	resume  *awaken.Resumption
	steps   *callSteps // nil if it has none

	// While it runs.
	tc      *awaken.ToolCall
	cancel  context.CancelCauseFunc
	limiter *limiter // nil if it has no time limit

	running   bool
	shared    bool // others have seen state: copy it before a change
	listed    bool // it is in ledger.changed
	doubtful  bool // it is effectful and had begun when its owner was lost: ask its tool, a person or the model
	appended  bool // the message is in the log
	rewritten bool // a gate replaced its arguments
	recheck   bool // its child has reported: check it before waiting
	yielded   bool // it gave up its child or its further steps; the next owner repeats it
}

// replaced returns the arguments of the call if a gate replaced the model's, or nil.
func (c *call) replaced() json.RawMessage {
	if c.rewritten {
		return c.state.Arguments
	}
	return nil
}

// mayStart reports whether the call is neither running, nor suspended, nor over.
func (c *call) mayStart() bool {
	return !c.running && !c.state.Status.Terminal() && c.state.Status != awaken.CallSuspended
}

// forget clears what only a running call needs, because references to the ledger record may keep
// the call alive.
func (c *call) forget() { c.tc, c.resume, c.cancel, c.limiter = nil, nil, nil, nil }

// ledger keeps the tool calls of the step, and the calls that hold messages for guards, as of the
// next commit.
type ledger struct {
	*activation
	out *recorder

	calls        []*call
	heldMessages []*call // calls that hold messages until a decision
	changed      []*awaken.CallState
	last         *call // the call of the step whose outcome came last, or nil

	batch   state.Batch // for derive
	derived int         // calls shown by the derived state keys
	stale   bool        // the derived state keys are out of date
}

// every yields the calls of the step, and those that hold messages.
func (l *ledger) every(yield func(*call) bool) {
	for _, list := range [...][]*call{l.calls, l.heldMessages} {
		for _, c := range list {
			if !yield(c) {
				return
			}
		}
	}
}

// open reports whether a call of the step is not over.
func (l *ledger) open() bool {
	return slices.ContainsFunc(l.calls, func(c *call) bool { return !c.state.Status.Terminal() })
}

// latest returns the call of the step that has its outcome since the latest time, or nil.
func (l *ledger) latest() (out *call) {
	for _, c := range l.calls {
		over := c.state.Status.Terminal() || c.state.Status == awaken.CallSuspended
		if over && (out == nil || c.state.UpdatedAt >= out.state.UpdatedAt) {
			out = c
		}
	}
	return out
}

// suspended reports whether a call of the step waits for a decision.
func (l *ledger) suspended() bool {
	return slices.ContainsFunc(l.calls, func(c *call) bool { return c.state.Status == awaken.CallSuspended })
}

// undecided reports whether decisions may still be outstanding: calls that are suspended, or may
// still become so.
func (l *ledger) undecided(starting int) bool {
	return starting > 0 || slices.ContainsFunc(l.calls, func(c *call) bool {
		return c.running || c.state.Status == awaken.CallSuspended || c.state.Status == awaken.CallNew
	})
}

// edit returns a call's ledger record for a change: a copy if others have seen it. The next commit
// stores it.
func (l *ledger) edit(c *call) *awaken.CallState {
	l.stale = true
	if c.shared {
		s := *c.state
		if i := slices.Index(l.changed, c.state); i >= 0 {
			l.changed[i], c.listed = &s, true
			s.Steps = slices.Clone(s.Steps)
		} else {
			s.Steps = nil // they are in the record that was committed
		}
		c.state, c.shared = &s, false
	}
	if !c.listed {
		l.changed = append(l.changed, c.state)
		c.listed = true
	}
	return c.state
}

// doubt enters in the record of a call that it is not known whether it took effect. A doubt that is
// open stays as it is.
func (l *ledger) doubt(c *call, d awaken.Doubt) {
	if c.state.Doubt.Open() {
		return
	}
	s := l.edit(c)
	if d.Since = cmp.Or(d.Since, s.StartedAt); d.Since == 0 {
		d.Since = l.rt.cfg.Now().UnixMilli()
	}
	d.Attempts = int(s.Attempts)
	s.Doubt = &d
	l.rec.InDoubt++
}

// settle ends the doubt of a call, if it has one that is open. A call that may be repeated, and has
// its answer now, was not in doubt for anyone to see.
func (l *ledger) settle(c *call, as awaken.Settlement) {
	if !c.state.Doubt.Open() {
		return
	}
	s := l.edit(c)
	as.At = cmp.Or(as.At, l.rt.cfg.Now().UnixMilli())
	if s.Doubt = s.Doubt.Settle(as); as.By == "tool" && s.Effect != awaken.Effectful && s.Ticket == nil {
		s.Doubt = nil
	}
	l.rec.InDoubt--
}

// cutOff enters a doubt for a call that has begun and will not be heard of again: its owner was lost, or
// gives it up. Calls that only read have none, and what became of a child its own record says.
func (l *ledger) cutOff(c *call) {
	s := c.state
	step := c.steps.openEffect()
	switch {
	case s.Status.Terminal(), s.Child != "" && s.Effect != awaken.Effectful:
	case step != nil:
		l.doubt(c, awaken.Doubt{Since: step.StartedAt, Origin: awaken.DoubtIntent, Step: step.Name})
	case s.Status == awaken.CallRunning && s.StartedAt != 0 && s.Effect != awaken.ReadOnly:
		l.doubt(c, awaken.Doubt{Since: s.StartedAt, Origin: awaken.DoubtIntent})
	}
}

// ticket suspends a call with a ticket, whose missing fields it fills in. A question that was
// answered before keeps its id; a new one under the same id is numbered, as in suspend_c1~2, so that no
// decision counts for both.
func (l *ledger) ticket(c *call, t awaken.Ticket) *awaken.Ticket {
	now := l.rt.cfg.Now()
	s := l.edit(c)
	t.Suspension.ID = t.SuspensionID(s.CallID)
	decided := func(id string) bool {
		return s.Decision != nil && s.Decision.Target == id || slices.Contains(s.Approved, id)
	}
	for base, n := t.Suspension.ID, 2; t.Child == "" && decided(t.Suspension.ID); n++ {
		t.Suspension.ID = base + "~" + strconv.Itoa(n)
	}
	if s.Decision != nil {
		s.Earlier = append(slices.Clip(s.Earlier), *s.Decision)
	}
	t.Suspension.Message = cmp.Or(t.Suspension.Message, fmt.Sprintf("Tool '%s' is waiting for a decision", s.ToolName))
	t.ResumeMode = cmp.Or(t.ResumeMode, awaken.ReplayToolCall)
	if t.ExpiresIn > 0 {
		t.ExpiresAt = now.Add(t.ExpiresIn).UnixMilli()
	} else if t.Child != "" {
		t.ExpiresAt = firstExpiry(t.Tickets)
	}
	t.Pending = awaken.PendingCall{ID: s.CallID, Name: s.ToolName, Arguments: s.Arguments}
	s.Status, s.UpdatedAt, s.Ticket, s.ResumeMode, s.Decision, s.Escalated = awaken.CallSuspended, now.UnixMilli(), &t, t.ResumeMode, nil, false
	return &t
}

// drop forgets the calls of the step. A step that was cut off is over then: its number, and with
// it the keys of its calls, must not be used again.
func (l *ledger) drop() {
	l.calls = nil
	if l.resumed && !l.step.closed {
		l.step.closed = true
		l.rec.Steps = l.step.index + 1
	}
}

// newWaiting makes a Waiting without tickets.
func newWaiting(reason awaken.WaitingReason) *awaken.Waiting {
	return &awaken.Waiting{Reason: reason, TicketIDs: []string{}, Tickets: []awaken.WaitingTicket{}}
}

// waiting describes the suspended calls.
func (l *ledger) waiting() *awaken.Waiting {
	w := newWaiting(awaken.WaitToolPermission)
	for c := range l.every {
		s := c.state
		if s.Status != awaken.CallSuspended {
			continue
		}
		if s.AwaitsChild() {
			for _, t := range s.Ticket.Tickets {
				w.TicketIDs, w.Tickets = append(w.TicketIDs, t.TicketID), append(w.Tickets, t)
			}
			continue
		}
		susp := s.Ticket.Suspension
		w.TicketIDs = append(w.TicketIDs, susp.ID)
		w.Tickets = append(w.Tickets, awaken.WaitingTicket{
			TicketID:   susp.ID,
			ToolCallID: s.CallID,
			ToolName:   s.ToolName,
			Arguments:  s.Arguments,
			ResumeMode: s.ResumeMode,
			Reason:     susp.Message,
			Suspension: &susp,
			ExpiresAt:  s.Ticket.ExpiresAt,
			Escalated:  s.Escalated,
			UpdatedAt:  s.UpdatedAt,
			InDoubt:    openDoubt(s),
		})
		if s.ResumeMode == awaken.UseDecisionAsToolResult {
			w.Reason = awaken.WaitUserInput
		}
	}
	if len(w.Tickets) > 0 {
		return w
	}
	w.Reason = awaken.WaitBackgroundTasks // only child runs, which wait for no decision
	for _, c := range l.calls {
		if c.state.AwaitsChild() && c.state.Ticket.Budget != nil {
			w.Reason, w.Message, w.Budget = awaken.WaitBudget, c.state.Ticket.Suspension.Message, c.state.Ticket.Budget
		}
	}
	return w
}

// openDoubt returns the doubt of a call that is not settled, or nil.
func openDoubt(s *awaken.CallState) *awaken.Doubt {
	if s.Doubt.Open() {
		return s.Doubt
	}
	return nil
}

// derive updates the state keys that mirror the record and the ledger.
func (l *ledger) derive() {
	if !l.stale {
		return
	}
	l.stale = false
	b := &l.batch
	b.Reset()
	builtin.RunLifecycle.Update(b, builtin.Lifecycle{RunID: l.info.RunID, Status: l.rec.Status, StatusReason: l.rec.StatusReason,
		UpdatedAt: l.rt.cfg.Now().UnixMilli(), StepCount: l.rec.Steps, Taint: l.rec.Taint})
	if len(l.calls)+len(l.heldMessages) > 0 || l.derived > 0 {
		calls := make(builtin.Calls, 0, len(l.calls)+len(l.heldMessages))
		for c := range l.every {
			c.shared = true
			calls = append(calls, withoutSteps(c.state))
		}
		l.derived = len(calls)
		builtin.ToolCallStates.Update(b, calls)
	}
	l.set(b)
}

// withoutSteps returns a record as the state shows it: it would have only some of the call's steps.
func withoutSteps(s *awaken.CallState) *awaken.CallState {
	if len(s.Steps) == 0 {
		return s
	}
	out := *s
	out.Steps = nil
	return &out
}

// snapshot defers a state_snapshot.
func (l *ledger) snapshot() {
	l.derive()
	l.st.Shown()
	l.out.deferEvent(&awaken.StateSnapshot{Snapshot: l.st.Snapshot()})
}

// firstExpiry is the earliest expiry of the tickets in Unix ms, or 0.
func firstExpiry(tickets []awaken.WaitingTicket) (at int64) {
	for _, t := range tickets {
		if t.ExpiresAt > 0 && (at == 0 || t.ExpiresAt < at) {
			at = t.ExpiresAt
		}
	}
	return at
}
