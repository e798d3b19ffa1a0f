package timeline

import "github.com/awaken-go/awaken/llm"

// ShownRequest is what the model was shown in a step. Requests are not stored: it is made again from the
// log, the record of the run and the version of the registry that the run is pinned to.
type ShownRequest struct {
	Step    int    `json:"step"` // from 0
	AgentID string `json:"agent_id"`
	Version string `json:"version,omitempty"` // of the registry
	Model   string `json:"model"`             // the provider's name for it
	// System is the agent's prompt, and Tools what it offers.
	System   []llm.Block    `json:"system"`
	Messages []*llm.Message `json:"messages"`
	Tools    []llm.Tool     `json:"tools"`

	Temperature     *float64    `json:"temperature,omitempty"`
	TopP            *float64    `json:"top_p,omitempty"`
	MaxTokens       *int        `json:"max_tokens,omitempty"`
	ReasoningEffort *llm.Effort `json:"reasoning_effort,omitempty"`

	// Composition says what was added to, left out of or changed in this, as far as the run recorded it; nil if it recorded nothing.
	Composition *llm.Composition `json:"composition,omitempty"`
	// Summarised is how many messages of the log summaries stand for.
	Summarised int `json:"summarised"`
	// Unrecorded says what may have changed the request and was not recorded. If it is empty, the model
	// was shown exactly this.
	Unrecorded []Unrecorded `json:"unrecorded"`
}

// Unrecorded is something that may have changed a request.
type Unrecorded struct {
	Code   string `json:"code"` // hook, transform, state, version and others
	Plugin string `json:"plugin,omitempty"`
	Detail string `json:"detail"`
}
