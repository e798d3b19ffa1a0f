package awaken

import (
	"bytes"
	"cmp"
	"encoding/json"
	"fmt"

	"github.com/awaken-go/awaken/internal/check"
	"github.com/awaken-go/awaken/internal/glob"
	"github.com/awaken-go/awaken/internal/strict"
	"github.com/awaken-go/awaken/llm"
)

// AgentSpec is the definition of an agent. It is data: it can be written in Go,
// read from JSON or YAML, and changed while the system runs. Decoding rejects
// unknown fields by name.
type AgentSpec struct {
	ID           string `json:"id"`                      // what clients and other agents call it
	Description  string `json:"description,omitempty"`   // for people, and for agents that can hand work to it
	ModelID      string `json:"model_id,omitempty"`      // of a ModelSpec or a ModelPoolSpec
	SystemPrompt string `json:"system_prompt,omitempty"` // what the model is told first

	// MaxRounds is how many inferences a run may make. 0 means 16.
	MaxRounds int `json:"max_rounds,omitempty"`
	// MaxContinuationRetries is how often one step asks a model that ran out of
	// tokens to go on. Nil means 2; 0 turns it off.
	MaxContinuationRetries *int            `json:"max_continuation_retries,omitempty"`
	StopConditions         []StopCondition `json:"stop_conditions,omitempty"`     // what else ends a run
	ContextPolicy          *ContextPolicy  `json:"context_policy,omitempty"`      // nil sends the whole conversation
	ReasoningEffort        *llm.Effort     `json:"reasoning_effort,omitempty"`    // none, low, medium, high, max or {"budget": n}; nil leaves it to the provider
	ToolExecutionMode      ExecutionMode   `json:"tool_execution_mode,omitempty"` // sequential, which is the default, parallel_batch_approval or parallel_streaming

	// PluginIDs names the plugins the agent loads. ActiveHookFilter narrows them:
	// when it is not empty, plugins that it does not name contribute no hooks,
	// gates, tools or transforms. The runtime's own parts are never filtered.
	PluginIDs        []string `json:"plugin_ids,omitempty"`
	ActiveHookFilter []string `json:"active_hook_filter,omitempty"`

	// The tool catalogue: a tool is offered if AllowedTools lists it or an
	// AllowedToolPatterns entry matches it, and neither ExcludedTools nor
	// ExcludedToolPatterns does. Leaving out both AllowedTools and AllowedToolPatterns
	// allows every tool; an empty list allows none.
	AllowedTools         []string `json:"allowed_tools,omitzero"`
	AllowedToolPatterns  []string `json:"allowed_tool_patterns,omitzero"`
	ExcludedTools        []string `json:"excluded_tools,omitzero"`
	ExcludedToolPatterns []string `json:"excluded_tool_patterns,omitzero"`

	// OutputSchema is the JSON Schema that the agent's final answer has to fit; see
	// Output. MaxOutputRepairs is how often a model whose answer does not fit is told so
	// and asked again, in one run. Nil means 2.
	OutputSchema     json.RawMessage `json:"output_schema,omitempty"`
	MaxOutputRepairs *int            `json:"max_output_repairs,omitempty"`

	// Budget limits what the agent may spend. A run that would pass a limit waits until
	// the limit is raised and somebody goes on with it.
	Budget *AgentBudget `json:"budget,omitempty"`

	Delegates []string `json:"delegates,omitempty"` // the agents it can hand work to
	// Sections holds each plugin's configuration under the plugin's section name.
	// Read them with [Section.Read].
	Sections map[string]json.RawMessage `json:"sections,omitempty"`

	Backend  *Backend        `json:"backend,omitempty"`  // what runs the agent; nil is this runtime
	Endpoint *RemoteEndpoint `json:"endpoint,omitempty"` // where the agent is reached, if it runs elsewhere
	Registry string          `json:"registry,omitempty"` // where the document came from; kept, and not used

	decoded map[string]any // sections, decoded when the agent was resolved
	base    string         // the agent that this is a variant of
}

// Backend says what runs an agent. The zero Kind is "awaken": this runtime.
type Backend struct {
	Kind    string                     `json:"kind"`              // awaken, or the name of a backend of the program
	Version int                        `json:"version,omitempty"` // of Config
	Config  map[string]json.RawMessage `json:"config,omitempty"`  // the backend's own; for awaken model_id, system_prompt and max_rounds
}

func (b *Backend) local() bool { return b.Kind == "" || b.Kind == "awaken" }

// BackendKind is the kind of backend that runs the agent elsewhere, or "".
func (s *AgentSpec) BackendKind() string {
	switch {
	case s.Backend != nil && !s.Backend.local():
		return s.Backend.Kind
	case s.Endpoint != nil && s.Endpoint.Backend == "":
		return "a2a"
	case s.Endpoint != nil:
		return s.Endpoint.Backend
	}
	return ""
}

// RemoteEndpoint is where an agent that runs elsewhere is reached.
type RemoteEndpoint struct {
	Backend   string                     `json:"backend"`              // what speaks to it; "" means a2a
	BaseURL   string                     `json:"base_url"`             // for a2a, the root of the interface
	Auth      *RemoteAuth                `json:"auth,omitempty"`       // how it is told who calls
	Target    string                     `json:"target,omitempty"`     // the agent, if there is more than one
	TimeoutMS int64                      `json:"timeout_ms,omitempty"` // 0 means 300 000
	Options   map[string]json.RawMessage `json:"options,omitempty"`    // the backend's own
}

// RemoteAuth is how a remote agent is told who calls.
type RemoteAuth struct {
	Type  string `json:"type"`           // bearer
	Token Secret `json:"token,omitzero"` // what is sent
}

// ExecutionMode is how the tool calls of one step are run.
type ExecutionMode string

const (
	// Sequential runs calls one after another, each seeing what the one before
	// changed. Calls behind a suspended one wait and run after it is resumed.
	Sequential ExecutionMode = "sequential"
	// ParallelBatchApproval runs calls at the same time on one snapshot. Suspended
	// calls are resumed together, when all of them are decided.
	ParallelBatchApproval ExecutionMode = "parallel_batch_approval"
	// ParallelStreaming runs calls at the same time on one snapshot. Each suspended
	// call is resumed as soon as it is decided.
	ParallelStreaming ExecutionMode = "parallel_streaming"
)

// list is a JSON array that remembers an explicit null as empty instead of absent.
type list []string

func (l *list) UnmarshalJSON(data []byte) error {
	*l = list{}
	if bytes.Equal(data, []byte("null")) {
		return nil
	}
	return json.Unmarshal(data, (*[]string)(l))
}

// UnmarshalJSON reads a spec, rejects unknown fields, and takes the older name
// active_plugins for active_hook_filter.
func (s *AgentSpec) UnmarshalJSON(data []byte) error {
	type plain AgentSpec
	var w struct {
		plain
		AllowedTools         list     `json:"allowed_tools"`
		AllowedToolPatterns  list     `json:"allowed_tool_patterns"`
		ExcludedTools        list     `json:"excluded_tools"`
		ExcludedToolPatterns list     `json:"excluded_tool_patterns"`
		ActivePlugins        []string `json:"active_plugins"`
	}
	if err := strict.Unmarshal(data, &w); err != nil {
		return fmt.Errorf("agent: %w", err)
	}
	*s = AgentSpec(w.plain)
	s.AllowedTools, s.AllowedToolPatterns = w.AllowedTools, w.AllowedToolPatterns
	s.ExcludedTools, s.ExcludedToolPatterns = w.ExcludedTools, w.ExcludedToolPatterns
	if w.ActivePlugins != nil {
		if s.ActiveHookFilter != nil {
			return fmt.Errorf("agent %q: active_hook_filter and its older name active_plugins are both set", s.ID)
		}
		s.ActiveHookFilter = w.ActivePlugins
	}
	if err := s.normaliseBackend(); err != nil {
		return fmt.Errorf("agent %q: %w", s.ID, err)
	}
	return nil
}

// normaliseBackend copies the settings of an awaken backend to the fields they
// are short for. Both may be set if they agree.
func (s *AgentSpec) normaliseBackend() error {
	if s.Backend == nil || !s.Backend.local() {
		return nil
	}
	for name, raw := range s.Backend.Config {
		var err error
		switch name {
		case "model_id":
			err = fill(&s.ModelID, name, raw)
		case "system_prompt":
			err = fill(&s.SystemPrompt, name, raw)
		case "max_rounds":
			err = fill(&s.MaxRounds, name, raw)
		default:
			err = fmt.Errorf("backend.config has an unknown field %q, want model_id, system_prompt or max_rounds", name)
		}
		if err != nil {
			return err
		}
	}
	return nil
}

func fill[T comparable](field *T, name string, raw json.RawMessage) error {
	var v, zero T
	if err := strict.Unmarshal(raw, &v); err != nil {
		return fmt.Errorf("backend.config.%s: %w", name, err)
	}
	if *field != zero && *field != v {
		return fmt.Errorf("%s is %v but backend.config.%s is %v", name, *field, name, v)
	}
	*field = v
	return nil
}

// Validate checks what can be checked without a registry and reports every
// mistake at once.
func (s *AgentSpec) Validate() error {
	var bad check.Problems
	bad.NotBlank("id", s.ID)
	bad.NotNegative("max_rounds", s.MaxRounds)
	bad.NotNegative("max_continuation_retries", s.ContinuationRetries())
	bad.OneOf("tool_execution_mode", string(s.ToolExecutionMode), "", string(Sequential), string(ParallelBatchApproval), string(ParallelStreaming))
	for i := range s.StopConditions {
		if _, err := s.StopConditions[i].Policy(); err != nil {
			bad.Add("stop_conditions[%d]: %w", i, err)
		}
	}
	if s.ContextPolicy != nil {
		bad.Include(s.ContextPolicy.validate())
	}
	for _, list := range [...]struct {
		field    string
		patterns []string
	}{{"allowed_tool_patterns", s.AllowedToolPatterns}, {"excluded_tool_patterns", s.ExcludedToolPatterns}} {
		for i, text := range list.patterns {
			if _, err := glob.Compile(text); err != nil {
				bad.Add("%s[%d]: pattern %q: %w", list.field, i, text, err)
			}
		}
	}
	bad.NotNegative("max_output_repairs", s.OutputRepairs())
	bad.Include(s.Budget.validate())
	bad.NoDuplicates("plugin_ids", s.PluginIDs)
	bad.NoDuplicates("delegates", s.Delegates)
	return bad.Err()
}

// Rounds is MaxRounds, or its default.
func (s *AgentSpec) Rounds() int { return cmp.Or(s.MaxRounds, 16) }

// ContinuationRetries is MaxContinuationRetries, or its default.
func (s *AgentSpec) ContinuationRetries() int { return or(s.MaxContinuationRetries, 2) }

// OutputRepairs is MaxOutputRepairs, or its default.
func (s *AgentSpec) OutputRepairs() int { return or(s.MaxOutputRepairs, 2) }

// ExecutionMode is ToolExecutionMode, or its default.
func (s *AgentSpec) ExecutionMode() ExecutionMode { return cmp.Or(s.ToolExecutionMode, Sequential) }

// or is what p points to, or def if that is nothing.
func or[T any](p *T, def T) T {
	if p == nil {
		return def
	}
	return *p
}
