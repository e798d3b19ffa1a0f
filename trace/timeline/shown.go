package timeline

import "github.com/awaken-go/awaken/llm"

// ShownRequest is the request to the model in a step. Requests are not stored: it is rebuilt from the log, the run's record and the
// registry version that the run is pinned to.
type ShownRequest struct {
	Step    int    `json:"step"` // from 0
	AgentID string `json:"agent_id"`
	Version string `json:"version,omitempty"` // of the registry
	Model   string `json:"model"`             // the provider's name for it
	// System is the agent's prompt, and Tools lists the tools it offers.
	System   []llm.Block    `json:"system"`
	Messages []*llm.Message `json:"messages"`
	Tools    []llm.Tool     `json:"tools"`

	Temperature     *float64    `json:"temperature,omitempty"`
	TopP            *float64    `json:"top_p,omitempty"`
	MaxTokens       *int        `json:"max_tokens,omitempty"`
	ReasoningEffort *llm.Effort `json:"reasoning_effort,omitempty"`

	// Composition lists the recorded additions to, omissions from and changes of the request; nil if the run recorded none.
	Composition *llm.Composition `json:"composition,omitempty"`
	// Summarised is the number of messages in the log that summaries replace.
	Summarised int `json:"summarised"`
	// Unrecorded lists unrecorded influences that may have changed the request. If it is empty, the model saw exactly this request.
	Unrecorded []Unrecorded `json:"unrecorded"`
}

// Unrecorded is an influence that may have changed a request and was not recorded.
type Unrecorded struct {
	Code   string `json:"code"` // hook, transform, state, version and others
	Plugin string `json:"plugin,omitempty"`
	Detail string `json:"detail"`
}
