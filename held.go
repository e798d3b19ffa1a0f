package awaken

import (
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

// HeldCallPrefix and the id of a message is the id of the call that stands for the message
// while a guard holds it. Such a call is a question to a person, and no part of the
// conversation.
const HeldCallPrefix = "held_"

// IsHeld reports whether the call stands for a message that a guard holds. Such calls have
// numbers below those of the model's.
func (s *CallState) IsHeld() bool { return s.Index < 0 }
