package openai

import (
	"encoding/json"
	"fmt"

	"github.com/awaken-go/awaken/internal/strict"
	"github.com/awaken-go/awaken/llm"
	"github.com/awaken-go/awaken/protocol"
)

// inputItem is one item of a request's input. It has the fields that matter here, of all types of items.
type inputItem struct {
	Type      string          `json:"type,omitempty"` // message by default
	ID        string          `json:"id,omitempty"`
	Role      string          `json:"role,omitempty"`
	Content   json.RawMessage `json:"content,omitempty"`
	CallID    string          `json:"call_id,omitempty"`
	Name      string          `json:"name,omitempty"`
	Arguments string          `json:"arguments,omitempty"`
	Output    json.RawMessage `json:"output,omitempty"`
	RequestID string          `json:"approval_request_id,omitempty"`
	Approve   *bool           `json:"approve,omitempty"`
	Reason    string          `json:"reason,omitempty"`
}

// promptOf converts the input of a request: a string, or a list of items.
func promptOf(input json.RawMessage) (*prompt, error) {
	p := &prompt{}
	if absent(input) {
		return p, nil
	}
	if input[0] == '"' {
		var text string
		if err := json.Unmarshal(input, &text); err != nil {
			return nil, misfit("input", err)
		}
		if text != "" {
			p.asked(llm.UserText(text))
		}
		return p, nil
	}
	var items []inputItem
	if err := strict.UnmarshalKnown(input, &items); err != nil {
		return nil, misfit("input", err)
	}
	var media protocol.Media
	for i := range items {
		if err := items[i].add(p, fmt.Sprintf("input[%d]", i), &media); err != nil {
			return nil, err
		}
	}
	return p, nil
}

// add adds the item to a prompt. Field names it in errors.
func (it *inputItem) add(p *prompt, field string, media *protocol.Media) error {
	switch it.Type {
	case "", "message":
		return it.message(p, field, media)
	case "function_call":
		if it.CallID == "" || it.Name == "" {
			return misfit(field, fmt.Errorf("want call_id and name"))
		}
		p.called(llm.ToolCall{ID: it.CallID, Name: it.Name, Arguments: jsonOf(it.Arguments)})
	case "function_call_output":
		if it.CallID == "" {
			return misfit(field+".call_id", fmt.Errorf("it is missing"))
		}
		text, err := textOf(field+".output", it.Output)
		if err != nil {
			return err
		}
		p.answer(answer{field: field + ".output", id: it.CallID, text: text})
	case "mcp_approval_response":
		if it.RequestID == "" || it.Approve == nil {
			return misfit(field, fmt.Errorf("want approval_request_id and approve"))
		}
		p.agree(answer{field: field, id: it.RequestID, agreed: it.Approve, reason: it.Reason})
	case "reasoning", "mcp_call", "mcp_approval_request", "mcp_list_tools":
		p.said(&llm.Message{Role: llm.Assistant}) // what the agent did, which it knows
	case "item_reference":
		return unsupported(field+".type", "it is item_reference; send the item, or use previous_response_id")
	default:
		return unsupported(field+".type", "it is %s, want message, function_call, function_call_output or mcp_approval_response", quoted(it.Type))
	}
	return nil
}

// message adds a message.
func (it *inputItem) message(p *prompt, field string, media *protocol.Media) error {
	role := llm.Role(it.Role)
	switch it.Role {
	case "developer":
		role = llm.System
	case "user", "system", "assistant":
	default:
		return refused(field+".role", "%s.role is %s, want user, system, developer or assistant", field, quoted(it.Role))
	}
	content, err := blocksOf(field+".content", it.Content, role, media)
	if err != nil {
		return err
	}
	m := &llm.Message{Role: role, Content: content}
	switch {
	case role == llm.Assistant:
		p.said(m)
	case len(content) == 0:
		return refused(field+".content", "%s.content is empty", field)
	default:
		p.asked(m)
	}
	return nil
}
