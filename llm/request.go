package llm

import (
	"bytes"
	"cmp"
	"encoding/json"
	"fmt"
	"time"

	"github.com/awaken-go/awaken/internal/strict"
)

// Request asks a model for one reply.
type Request struct {
	Model    string  // the provider's name for the model
	System   []Block // instructions; they precede all messages
	Messages Messages
	Tools    []Tool // that the model may call
	Params
	CachePrompt bool    // mark the repeating prefix for the provider's prompt cache
	Routing     Routing // for pools: which requests belong together
	Continues   bool    // the last message asks for the rest of a reply that was cut off
	// Capabilities has the caller's knowledge of the model. Adapters add their own and
	// omit the parameters that the model does not accept.
	Capabilities ModelCapabilities
	// Limits bounds the reply. Nil means the defaults.
	Limits *ReplyLimits
	// IdleTimeout limits how long the stream may be silent; 0 leaves it to the adapter.
	IdleTimeout time.Duration
	// Reported is called with what a response says about the provider's rate limits, before the
	// first delta or the error. Nil ignores it.
	Reported func(r RateReport)
	// Patience limits how long rate limits may hold the request back. Nil is the zero Patience. Requests may
	// share it: to change it, set another.
	Patience *Patience
	// Caller says for whom the request is made. Nil means the default tenant, and that a user
	// waits for the reply.
	Caller Caller
}

// Tool describes a tool to a model. Name is the tool's id.
type Tool struct {
	Name        string          `json:"name"`
	Description string          `json:"description"`
	Parameters  json.RawMessage `json:"parameters"` // a JSON Schema of type object
}

// Params are the inference parameters of one request. A nil field leaves the
// provider's default.
type Params struct {
	Temperature     *float64
	TopP            *float64
	MaxTokens       *int // limit of the reply
	ReasoningEffort *Effort
	StopSequences   []string
	Seed            *int64
	ToolChoice      *ToolChoice
	ParallelTools   *bool         // whether the model may request several calls at once
	Output          *OutputSchema // the JSON Schema of the reply's text
}

// ToolChoice says whether the model must call a tool.
type ToolChoice struct {
	Mode string `json:"mode"`           // auto: the model decides; none: no calls; required: at least one; tool: a call of Name
	Name string `json:"name,omitempty"` // of the tool that must be called, if Mode is tool
}

// OutputSchema requests a reply whose text is JSON that satisfies a schema.
type OutputSchema struct {
	Name   string // letters, digits, _ and -
	Schema json.RawMessage
}

// Routing tells a [Pool] which requests should go to the same member.
type Routing struct {
	ThreadID string
	RunID    string
}

// Session returns what identifies a failing session to a [Breaker]: the thread, or the run of none.
func (r *Routing) Session() string { return cmp.Or(r.ThreadID, r.RunID) }

// Effort is how much a reasoning model should think: a named level, or a budget in
// tokens. The zero Effort is not valid.
type Effort struct {
	Level  string // none, low, medium, high, max; empty if Budget is set
	Budget int    // tokens
}

// MarshalJSON writes the level, or {"budget": n}.
func (e Effort) MarshalJSON() ([]byte, error) {
	if e.Level == "" {
		return json.Marshal(map[string]int{"budget": e.Budget})
	}
	return json.Marshal(e.Level)
}

// UnmarshalJSON reads a level or a budget.
func (e *Effort) UnmarshalJSON(data []byte) error {
	switch {
	case bytes.HasPrefix(data, []byte(`"`)):
		var level string
		if err := json.Unmarshal(data, &level); err != nil {
			return err
		}
		switch level {
		case "none", "low", "medium", "high", "max":
			*e = Effort{Level: level}
			return nil
		}
	case bytes.HasPrefix(data, []byte(`{`)):
		var w struct {
			Budget int `json:"budget"`
		}
		if err := strict.Unmarshal(data, &w); err != nil {
			return fmt.Errorf("reasoning effort: %w", err)
		}
		if w.Budget > 0 {
			*e = Effort{Budget: w.Budget}
			return nil
		}
	}
	return fmt.Errorf(`reasoning effort is %s, want "none", "low", "medium", "high", "max" or {"budget": n} with n above 0`, data)
}
