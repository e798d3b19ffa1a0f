package remote

import (
	"encoding/json"
)

// notes are what an agent keeps with a thread.
type notes struct {
	ContextID string `json:"context_id,omitempty"`
	TaskID    string `json:"task_id,omitempty"`
	State     state  `json:"last_state,omitempty"` // of the task
	UpdatedAt int64  `json:"updated_at_ms,omitempty"`

	Run      string `json:"run_id,omitempty"`   // that the task belongs to
	Exchange string `json:"exchange,omitempty"` // the latest
	// Sending is the id of a message that is being sent: it is not known whether it arrives.
	Sending string `json:"sending,omitempty"`
	// Through is the id of the last message of the conversation that the agent was sent, or is being sent.
	Through string `json:"through,omitempty"`
	// Before is Through without the message that is being sent.
	Before string `json:"before,omitempty"`
	// Fresh says that the context has no task but that of the message that is being sent.
	Fresh bool `json:"fresh,omitempty"`
	// Question is the id of the message with which the task asked last.
	Question string `json:"question,omitempty"`
	// Said is the task's text up to its question, which is not repeated.
	Said *said `json:"said,omitempty"`
}

// said identifies a text by its length and a hash.
type said struct {
	Length int    `json:"length"`
	Hash   uint64 `json:"hash"`
}

// readNotes decodes notes. What cannot be read is as if there were none.
func readNotes(raw json.RawMessage) notes {
	var n notes
	if len(raw) > 0 && json.Unmarshal(raw, &n) != nil {
		return notes{}
	}
	return n
}

func (n *notes) encode() json.RawMessage {
	data, err := json.Marshal(n)
	if err != nil {
		return nil // strings and numbers can always be encoded
	}
	return data
}
