package awaken

import (
	"github.com/awaken-go/awaken/llm"
)

// HeldMessage is a message that a guard holds until a person decides: a user's message that
// the model has not seen, or a model's answer that no client has seen. The ledger keeps it as
// a call of the pseudo tool "guard_input" or "guard_output", which no model has requested.
// The only argument of that call is the text, which the person may edit.
type HeldMessage struct {
	Point GuardPoint `json:"border"`
	// Messages starts with the held message. Messages that arrived later follow it, and
	// pass after it has passed.
	Messages []*llm.Message `json:"messages"`

	// The rest of the model's answer, at OutputPoint; see [llm.Reply].
	Finish     llm.FinishReason `json:"finish,omitempty"`
	Usage      llm.Usage        `json:"usage,omitzero"`
	Incomplete []string         `json:"incomplete,omitempty"`
}

// HeldCallPrefix, followed by the id of a message, is the id of the call that represents the
// message while a guard holds it. Such a call asks a person; it is not part of the
// conversation.
const HeldCallPrefix = "held_"

// IsHeld reports whether the call represents a message that a guard holds. Such calls have a
// negative index, so that they come before the calls of the model.
func (s *CallState) IsHeld() bool { return s.Index < 0 }
