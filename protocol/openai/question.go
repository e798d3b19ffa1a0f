package openai

import (
	"context"
	"encoding/json"
	"errors"
	"slices"
	"strings"

	"github.com/awaken-go/awaken"
	"github.com/awaken-go/awaken/mailbox"
	"github.com/awaken-go/awaken/protocol"
)

// answer is what a client says about a call that a run waits for: the result of a tool that the client
// executes, or whether a call may be made.
type answer struct {
	field  string // names it in errors
	id     string // of the call or of the approval request
	text   string
	agreed *bool  // set if it answers an approval request
	reason string // why not
}

// ticket returns the id of the ticket that the answer is about.
func (a *answer) ticket() string {
	if _, id, ok := parseCall(a.id); ok {
		return id
	}
	return a.id
}

// decision converts the answer.
func (a *answer) decision(t *awaken.WaitingTicket) (awaken.Decision, error) {
	approval := protocol.IsApproval(t.ResumeMode, t.Suspension)
	switch {
	case a.agreed != nil && !approval:
		return awaken.Decision{}, refused(a.field, "%s answers an approval request, but call %s waits for a result", a.field, quoted(a.id))
	case a.agreed != nil && !*a.agreed:
		return t.Reject(a.reason), nil
	case a.agreed != nil:
		d := t.Approve()
		d.Result = json.RawMessage(`{"approved":true}`)
		return d, nil
	case approval:
		return a.approval(t)
	}
	return t.Answer(jsonOf(a.text)), nil
}

// approval converts an answer that must say whether a call may be made. Anything that does not say yes
// or no is refused: a client that does not know the question must not approve the call by accident.
func (a *answer) approval(t *awaken.WaitingTicket) (awaken.Decision, error) {
	var said struct {
		Approved *bool  `json:"approved"`
		Reason   string `json:"reason"`
	}
	if json.Unmarshal([]byte(a.text), &said) != nil || said.Approved == nil {
		return awaken.Decision{}, refused(a.field, `%s is %s, but call %s waits for approval; want {"approved":true}, or {"approved":false,"reason":"…"}`, a.field, quoted(a.text), quoted(a.id))
	}
	if !*said.Approved {
		return t.Reject(said.Reason), nil
	}
	return t.Answer(json.RawMessage(a.text)), nil
}

// jsonOf returns a text as JSON: as it is if it is JSON, or else as a string.
func jsonOf(text string) json.RawMessage {
	if s := strings.TrimSpace(text); s != "" && json.Valid([]byte(s)) {
		return json.RawMessage(s)
	}
	data, _ := json.Marshal(text) // a string can always be encoded
	return data
}

// decisionsOf converts answers to decisions on the questions of a run.
func decisionsOf(ctx context.Context, t *mailbox.Tenant, run *awaken.Run, answers []answer) ([]awaken.Decision, error) {
	out := make([]awaken.Decision, 0, len(answers))
	for i := range answers {
		a := &answers[i]
		w, err := question(ctx, t, run, a.ticket())
		if err != nil {
			return nil, err
		}
		if w == nil {
			f := refused(a.field, "%s answers call %s, for which run %s does not wait", a.field, quoted(a.id), run.RunID)
			f.Code = "call_not_found"
			return nil, f
		}
		d, err := a.decision(w)
		if err != nil {
			return nil, err
		}
		if slices.ContainsFunc(out, func(o awaken.Decision) bool { return o.Target == d.Target }) {
			return nil, refused(a.field, "%s answers call %s, which an answer before it does; want one answer", a.field, quoted(a.id))
		}
		out = append(out, d)
	}
	return out, nil
}

// question returns the ticket with an id, among what a run waits for and what it has waited for. It is nil if
// there is none.
func question(ctx context.Context, t *mailbox.Tenant, run *awaken.Run, id string) (*awaken.WaitingTicket, error) {
	find := func(list []awaken.WaitingTicket) *awaken.WaitingTicket {
		i := slices.IndexFunc(list, func(w awaken.WaitingTicket) bool { return w.TicketID == id || w.ToolCallID == id })
		if i < 0 {
			return nil
		}
		return &list[i]
	}
	if run.Waiting != nil {
		if w := find(run.Waiting.Tickets); w != nil {
			return w, nil
		}
	}
	calls, err := t.Store.Calls(ctx, run.RunID)
	if err != nil && !errors.Is(err, awaken.ErrNotFound) {
		return nil, err
	}
	for _, s := range slices.Backward(calls) {
		switch {
		case s.Ticket == nil:
		case s.Ticket.Child != "":
			if w := find(s.Ticket.Tickets); w != nil {
				return w, nil
			}
		case s.CallID == id || s.SuspensionID() == id:
			return &awaken.WaitingTicket{TicketID: s.SuspensionID(), ToolCallID: s.CallID, ToolName: s.ToolName, ResumeMode: s.ResumeMode, Suspension: &s.Ticket.Suspension}, nil
		}
	}
	return nil, nil
}
