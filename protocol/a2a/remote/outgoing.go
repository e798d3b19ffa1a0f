package remote

import (
	"encoding/json"
	"errors"
	"slices"

	"github.com/awaken-go/awaken"
	"github.com/awaken-go/awaken/llm"
)

// modes are the media types of answers, by what the step asks for.
func modes(schema *llm.OutputSchema) []string {
	if schema != nil {
		return []string{"application/json", "text/plain"}
	}
	return []string{"text/plain", "application/json", "application/octet-stream"}
}

// compose returns the parts of what the conversation has after the message through, and the id of the last message that
// they are of: what users said, and the answers to what the agent asked.
func compose(msgs llm.Messages, through string, calls []*awaken.CallState) (parts []part, last string, err error) {
	var fresh []*llm.Message
	for _, m := range msgs.Backward() {
		if m.ID != "" && m.ID == through {
			break
		}
		if m.Role == llm.Assistant && len(m.ToolCalls) == 0 {
			break // what the agent said, or another agent of the thread
		}
		fresh = append(fresh, m)
	}
	slices.Reverse(fresh)
	for _, m := range fresh {
		switch {
		case m.ID == "" || m.IsSummary(): // context, not conversation
			continue
		case m.Role == llm.User:
			for i := range m.Content {
				if p := partOf(&m.Content[i]); p != nil {
					parts = append(parts, *p)
				}
			}
		case m.Role == llm.ToolRole:
			p, err := answerTo(m, calls)
			if err != nil {
				return nil, "", err
			}
			if p != nil {
				parts = append(parts, *p)
			}
		}
		last = m.ID
	}
	if len(parts) == 0 {
		return nil, "", errors.New("the conversation has nothing that the agent has not been sent")
	}
	return parts, last, nil
}

// partOf converts a block of a user's message, or returns nil.
func partOf(b *llm.Block) *part {
	switch {
	case b.Type == llm.TextBlock:
		return &part{Text: &b.Text}
	case b.Source == nil:
		return nil
	case b.Source.Type == "base64":
		return &part{Raw: b.Source.Data, MediaType: b.Source.MediaType, Filename: b.Title}
	case b.Source.URL != "":
		return &part{URL: b.Source.URL, MediaType: b.Source.MediaType, Filename: b.Title}
	}
	return nil
}

// answerTo converts the result of a question: to a decision if the server named a ticket, else to what the person said.
// The answer to a question of this client is not sent.
func answerTo(m *llm.Message, calls []*awaken.CallState) (*part, error) {
	i := slices.IndexFunc(calls, func(c *awaken.CallState) bool { return c.CallID == m.ToolCallID })
	if i < 0 || calls[i].ToolName != QuestionTool {
		return nil, nil
	}
	s := calls[i]
	var asked asks
	if err := json.Unmarshal(s.Arguments, &asked); err != nil {
		return nil, err
	}
	d := s.Decision
	switch {
	case asked.Kind == kindDoubt:
		return nil, nil
	case d == nil:
		return &part{Text: new(m.Text())}, nil
	case asked.Ticket == "" && d.Action == awaken.ActionCancel:
		text := "The request was declined."
		if d.Reason != "" {
			text += " " + d.Reason
		}
		return &part{Text: &text}, nil
	case asked.Ticket == "":
		var text string
		if len(d.Result) == 0 {
			text = "approved"
		} else if json.Unmarshal(d.Result, &text) != nil {
			return &part{Data: d.Result, MediaType: "application/json"}, nil
		}
		return &part{Text: &text}, nil
	}
	return decisionPart(&asked, d)
}

// decisionPart returns the answer to a ticket, as the A2A server of this project reads it.
func decisionPart(asked *asks, d *awaken.Decision) (*part, error) {
	fields := map[string]any{}
	var given map[string]json.RawMessage
	switch {
	case d.Action == awaken.ActionCancel:
		fields["approved"] = false
		if d.Reason != "" {
			fields["reason"] = d.Reason
		}
	case asked.Kind != kindApproval:
		fields["result"] = json.RawMessage("null")
		if len(d.Result) > 0 {
			fields["result"] = d.Result
		}
	default:
		if json.Unmarshal(d.Result, &given) == nil {
			for k, v := range given { // such as remember
				fields[k] = v
			}
		}
		fields["approved"] = true
		if len(d.Arguments) > 0 {
			var edited asks
			if err := json.Unmarshal(d.Arguments, &edited); err != nil {
				return nil, err
			}
			fields["editedArgs"] = edited.Arguments
		}
	}
	fields["ticketId"] = asked.Ticket
	data, err := json.Marshal(fields)
	if err != nil {
		return nil, err
	}
	return &part{Data: data, MediaType: "application/json"}, nil
}
