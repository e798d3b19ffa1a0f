package awaken

import (
	"encoding/json"
	"fmt"
	"slices"
	"strings"

	"github.com/awaken-go/awaken/internal/strict"
	"github.com/awaken-go/awaken/llm"
)

// HeldMessage is a message that a guard has put to a person: one of the user that the
// model has not seen, or an answer of the model that nobody has seen. It is kept in the
// ledger, as what a call of "guard_input" or "guard_output" waits for. That call was asked
// for by no model; its only argument is the text, which whoever decides may edit.
type HeldMessage struct {
	Border Border `json:"border"`
	// Messages begins with the one that is held. Behind it are those that came after it:
	// they pass when it has.
	Messages []*llm.Message `json:"messages"`

	// What else the model said with its answer.
	Finish     llm.FinishReason `json:"finish,omitempty"`
	Usage      llm.Usage        `json:"usage,omitzero"`
	Incomplete []string         `json:"incomplete,omitempty"`
}

// heldTool is the name of the tool that a message is held by, as people see it.
func heldTool(b Border) string { return "guard_" + string(b) }

// heldID is the id of the call that waits with a message.
func heldID(m *llm.Message) string { return heldPrefix + m.ID }

const heldPrefix = "held_"

// IsHeldCall reports whether a call of that id stands for a message that a guard holds. It
// is a question to a person, and no part of the conversation.
func IsHeldCall(id string) bool { return strings.HasPrefix(id, heldPrefix) }

// isHeld reports whether the call stands for a message that a guard holds. Such calls have
// numbers below those of the model's.
func (s *CallState) isHeld() bool { return s.Index < 0 }

// heldText is what a person may edit of a message.
type heldText struct {
	Text *string `json:"text"`
}

// structured is the place of the call with which a message gives an answer that is held to
// a schema, or -1.
func structured(m *llm.Message) int {
	return slices.IndexFunc(m.ToolCalls, func(c llm.ToolCall) bool { return c.Name == FinalOutputTool })
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
func (s *CallState) checkEdit(args json.RawMessage) error {
	switch {
	case len(args) == 0:
		return nil
	case s.Held != nil:
		return fmt.Errorf("%w: the call has been made, its arguments cannot be changed any more", ErrInvalid)
	case s.Message == nil:
		return nil
	}
	var edit heldText
	if err := strict.Unmarshal(args, &edit); err != nil {
		return fmt.Errorf("%w: arguments: %w", ErrInvalid, err)
	}
	if edit.Text == nil {
		return fmt.Errorf("%w: arguments: text is missing, want what is to pass instead", ErrInvalid)
	}
	if structured(s.Message.Messages[0]) >= 0 && !json.Valid([]byte(*edit.Text)) {
		return fmt.Errorf("%w: arguments: text is not JSON, and the answer has to be", ErrInvalid)
	}
	return nil
}
