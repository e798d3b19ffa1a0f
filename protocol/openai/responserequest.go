package openai

import (
	"encoding/json"

	"github.com/awaken-go/awaken/internal/strict"
)

// responseRequest is the body of POST responses. Unknown fields are ignored, because clients add their
// own.
type responseRequest struct {
	Model        string          `json:"model,omitempty"`
	Input        json.RawMessage `json:"input,omitempty"`        // a string, or a list of items
	Instructions json.RawMessage `json:"instructions,omitempty"` // of this response only: a string
	PreviousID   string          `json:"previous_response_id,omitempty"`
	Conversation json.RawMessage `json:"conversation,omitempty"` // the id of a thread, or an object with it
	Store        *bool           `json:"store,omitempty"`
	Stream       bool            `json:"stream,omitempty"`
	Background   bool            `json:"background,omitempty"`
	Tools        []tool          `json:"tools,omitempty"`
	ToolChoice   json.RawMessage `json:"tool_choice,omitempty"` // auto, none, required, or an object
	Text         *struct {
		Format *format `json:"format,omitempty"`
	} `json:"text,omitempty"`
	sampling
	MaxOutputTokens *int `json:"max_output_tokens,omitempty"`
	Reasoning       *struct {
		Effort string `json:"effort,omitempty"`
	} `json:"reasoning,omitempty"`

	// What the server does not have, and refuses.
	TopLogprobs  *int            `json:"top_logprobs,omitempty"`
	MaxToolCalls *int            `json:"max_tool_calls,omitempty"`
	Prompt       json.RawMessage `json:"prompt,omitempty"`
}

// UnmarshalJSON ignores unknown fields.
func (r *responseRequest) UnmarshalJSON(data []byte) error {
	type plain responseRequest
	return strict.UnmarshalKnown(data, (*plain)(r))
}

// check refuses what the server does not have.
func (r *responseRequest) check() error {
	stored := r.Store == nil || *r.Store
	switch {
	case r.TopLogprobs != nil && *r.TopLogprobs != 0:
		return unsupported("top_logprobs", "agents have no log probabilities")
	case r.MaxToolCalls != nil:
		return unsupported("max_tool_calls", "the agent has its own limits")
	case !absent(r.Prompt):
		return unsupported("prompt", "the agent has its own prompt")
	case r.PreviousID != "" && !absent(r.Conversation):
		return refused("conversation", "previous_response_id and conversation are both set, want one of them")
	case !stored && !absent(r.Conversation):
		return refused("store", "store is false, but the response would be part of a conversation that is stored; leave one of them out")
	case r.Background && !stored:
		return refused("store", "store is false, but a response in the background must be stored to be read")
	}
	return nil
}

// thread returns the thread that the request names, or "".
func (r *responseRequest) thread() (string, error) {
	if absent(r.Conversation) {
		return "", nil
	}
	var c conversation
	if json.Unmarshal(r.Conversation, &c.ID) != nil && json.Unmarshal(r.Conversation, &c) != nil || c.ID == "" {
		return "", refused("conversation", "conversation is %.80s, want the id of a thread", r.Conversation)
	}
	return c.ID, nil
}
