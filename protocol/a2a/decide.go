package a2a

import (
	"bytes"
	"encoding/json"
	"fmt"
	"slices"
	"strings"

	"github.com/awaken-go/awaken"
	"github.com/awaken-go/awaken/internal/strict"
	"github.com/awaken-go/awaken/llm"
	"github.com/awaken-go/awaken/protocol"
)

// answer is a data part that answers a question. Its other fields, such as remember, are part of the answer too.
type answer struct {
	TicketID   string          `json:"ticketId"` // or the id of the call; may be missing if one question is open
	Approved   *bool           `json:"approved"`
	Reason     string          `json:"reason"`     // of a refusal
	EditedArgs json.RawMessage `json:"editedArgs"` // other arguments for the call
	Result     json.RawMessage `json:"result"`     // the answer to a question that is not an approval
	raw        json.RawMessage
}

// decisionID makes a decision that is sent again with its message the same decision.
func decisionID(messageID, target string) string { return messageID + ":" + target }

// words are texts that decide an approval.
var words = map[string]bool{"approve": true, "approved": true, "deny": false, "denied": false, "reject": false}

func wordOf(p *Part) (approved, ok bool) {
	if p.Text == nil {
		return false, false
	}
	approved, ok = words[strings.ToLower(strings.Trim(*p.Text, " \t\r\n.!"))]
	return approved, ok
}

// answers converts a message to a task that waits into decisions on its tickets, and what of the message remains for the
// conversation. No decisions means that the whole message is for the conversation, and withdraws what waits.
func answers(m *Message, msg *llm.Message, w *awaken.Waiting) (out []awaken.Decision, rest []*llm.Message, err error) {
	var left []llm.Block
	word, worded := false, false
	for i := range m.Parts {
		p := &m.Parts[i]
		if len(p.Data) == 0 {
			if yes, ok := wordOf(p); ok && !worded {
				word, worded = yes, true
			} else {
				left = append(left, msg.Content[i])
			}
			continue
		}
		d, err := dataDecision(p.Data, w)
		if err != nil {
			return nil, nil, protocol.BadRequest("message.parts[%d].data%v", i, err)
		}
		if d == nil {
			left = append(left, msg.Content[i])
			continue
		}
		if slices.ContainsFunc(out, func(o awaken.Decision) bool { return o.Target == d.Target }) {
			return nil, nil, protocol.BadRequest("message.parts[%d].data decides ticket %s twice", i, d.Target)
		}
		out = append(out, *d)
	}
	only := onlyTicket(w)
	text := strings.TrimSpace((&llm.Message{Content: left}).Text())
	switch {
	case len(out) > 0:
	case only != nil && asksToRun(only) && worded:
		d := only.Approve()
		if !word {
			d = only.Reject("")
		}
		out = append(out, d)
	case only != nil && !asksToRun(only) && (text != "" || worded):
		result, err := json.Marshal((&llm.Message{Content: msg.Content}).Text())
		if err != nil {
			return nil, nil, err
		}
		out, left = append(out, only.Answer(result)), nil
	default:
		return nil, nil, nil
	}
	for i := range out {
		d := &out[i]
		d.ID = decisionID(m.MessageID, d.Target)
		if d.Action == awaken.ActionCancel && d.Reason == "" && text != "" {
			d.Reason, left = text, nil
		}
	}
	if len(left) > 0 {
		said := *msg
		said.Content, said.Metadata = left, nil
		rest = []*llm.Message{&said}
	}
	return out, rest, nil
}

// onlyTicket returns the ticket of a run that asks one question, or nil.
func onlyTicket(w *awaken.Waiting) *awaken.WaitingTicket {
	if len(w.Tickets) == 1 {
		return &w.Tickets[0]
	}
	return nil
}

// dataDecision converts a data part to a decision. It is nil if the run asks nothing. Errors begin with the path below
// the part.
func dataDecision(data json.RawMessage, w *awaken.Waiting) (*awaken.Decision, error) {
	if len(w.Tickets) == 0 {
		return nil, nil
	}
	a := answer{raw: bytes.TrimSpace(data)}
	object := len(a.raw) > 0 && a.raw[0] == '{'
	if object {
		if err := strict.UnmarshalKnown(data, &a); err != nil {
			return nil, fmt.Errorf(": %w", err)
		}
	}
	t := onlyTicket(w)
	if a.TicketID != "" {
		i := slices.IndexFunc(w.Tickets, func(t awaken.WaitingTicket) bool { return t.TicketID == a.TicketID || t.ToolCallID == a.TicketID })
		if i < 0 {
			return nil, fmt.Errorf(".ticketId is %.80q, want one of %s", a.TicketID, ticketIDs(w))
		}
		t = &w.Tickets[i]
	}
	if t == nil {
		return nil, fmt.Errorf(".ticketId is missing, want one of %s", ticketIDs(w))
	}
	d := &awaken.Decision{Target: t.TicketID, Action: awaken.ActionResume}
	if a.Approved != nil && !*a.Approved {
		d.Action, d.Reason = awaken.ActionCancel, a.Reason
		return d, nil
	}
	if !asksToRun(t) {
		d.Result = a.raw
		if len(a.Result) > 0 {
			d.Result = a.Result
		} else if object && a.TicketID != "" {
			return nil, fmt.Errorf(".result is missing, want the answer to the question")
		}
		return d, nil
	}
	if a.Approved == nil {
		return nil, fmt.Errorf(".approved is missing, want true or false")
	}
	var fields map[string]json.RawMessage
	if err := json.Unmarshal(a.raw, &fields); err != nil {
		return nil, fmt.Errorf(": %w", err)
	}
	if len(a.EditedArgs) > 0 && string(a.EditedArgs) != "null" {
		if a.EditedArgs[0] != '{' {
			return nil, fmt.Errorf(".editedArgs is %.80s, want an object", a.EditedArgs)
		}
		d.Arguments = a.EditedArgs
	}
	delete(fields, "ticketId")
	delete(fields, "editedArgs")
	var err error
	d.Result, err = json.Marshal(fields)
	return d, err
}

func ticketIDs(w *awaken.Waiting) string {
	ids := make([]string, len(w.Tickets))
	for i := range w.Tickets {
		ids[i] = w.Tickets[i].TicketID
	}
	return strings.Join(ids, ", ")
}
