package engine

import (
	"encoding/json"
	"fmt"
	"slices"

	"github.com/awaken-go/awaken"
	"github.com/awaken-go/awaken/internal/strict"
	"github.com/awaken-go/awaken/llm"
)

// heldTool is the name of the tool that a message is held by, as people see it.
func heldTool(b awaken.Border) string { return "guard_" + string(b) }

// heldText is what a person may edit of a message.
type heldText struct {
	Text *string `json:"text"`
}

// structured is the place of the call with which a message gives an answer that is held to
// a schema, or -1.
func structured(m *llm.Message) int {
	return slices.IndexFunc(m.ToolCalls, func(c llm.ToolCall) bool { return c.Name == awaken.FinalOutputTool })
}

// textOf is the text of a message that is held: what it says, or the answer that it gives
// by a call.
func textOf(m *llm.Message) string {
	if i := structured(m); i >= 0 {
		return string(m.ToolCalls[i].Arguments)
	}
	return m.Text()
}

// withText is the message with another text.
func withText(m *llm.Message, text string) *llm.Message {
	next := *m
	if i := structured(m); i >= 0 {
		next.ToolCalls = slices.Clone(m.ToolCalls)
		next.ToolCalls[i].Arguments = json.RawMessage(text)
		return &next
	}
	next.Content = make([]llm.Block, 0, len(m.Content)+1)
	said := false
	for _, b := range m.Content {
		if b.Type != llm.TextBlock {
			next.Content = append(next.Content, b)
		} else if !said {
			next.Content, said = append(next.Content, llm.Text(text)), true
		}
	}
	if !said {
		next.Content = append(next.Content, llm.Text(text))
	}
	return &next
}

// checkEdit says what is wrong with the arguments of a decision on what a guard holds.
func checkEdit(s *awaken.CallState, args json.RawMessage) error {
	switch {
	case len(args) == 0:
		return nil
	case s.Held != nil:
		return fmt.Errorf("%w: the call has been made, its arguments cannot be changed any more", awaken.ErrInvalid)
	case s.Message == nil:
		return nil
	}
	var edit heldText
	if err := strict.Unmarshal(args, &edit); err != nil {
		return fmt.Errorf("%w: arguments: %w", awaken.ErrInvalid, err)
	}
	if edit.Text == nil {
		return fmt.Errorf("%w: arguments: text is missing, want what is to pass instead", awaken.ErrInvalid)
	}
	if structured(s.Message.Messages[0]) >= 0 && !json.Valid([]byte(*edit.Text)) {
		return fmt.Errorf("%w: arguments: text is not JSON, and the answer has to be", awaken.ErrInvalid)
	}
	return nil
}
