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

// AgentSpec defines an agent. It is data: write it in Go, read it from JSON or YAML, change
// it while the server runs. Decoding rejects unknown fields by name.
type AgentSpec struct {
	ID           string `json:"id"`                      // the name that clients and other agents use
	Description  string `json:"description,omitempty"`   // for people, and for agents that can delegate to it
	ModelID      string `json:"model_id,omitempty"`      // id of a ModelSpec or a ModelPoolSpec
	SystemPrompt string `json:"system_prompt,omitempty"` // instructions for the model

	// MaxRounds limits the inferences of a run. Nil means 16; 0 means no limit.
	MaxRounds *int `json:"max_rounds,omitempty"`
	// MaxContinuationRetries limits how often one step asks the model to continue an
	// answer that hit the token limit. Nil means 2; 0 turns it off.
	MaxContinuationRetries *int            `json:"max_continuation_retries,omitempty"`
	StopConditions         []StopCondition `json:"stop_conditions,omitempty"`     // further conditions that end a run
	ContextPolicy          *ContextPolicy  `json:"context_policy,omitempty"`      // nil sends the whole conversation
	ReasoningEffort        *llm.Effort     `json:"reasoning_effort,omitempty"`    // none, low, medium, high, max or {"budget": n}; nil uses the provider's default
	ToolExecutionMode      ExecutionMode   `json:"tool_execution_mode,omitempty"` // sequential (default), parallel_batch_approval or parallel_streaming

	// PluginIDs names the plugins that the agent loads. If ActiveHookFilter is not empty,
	// plugins that it does not name contribute no hooks, gates, tools or transforms. The
	// runtime's own parts are never filtered.
	PluginIDs        []string `json:"plugin_ids,omitempty"`
	ActiveHookFilter []string `json:"active_hook_filter,omitempty"`

	// The tool catalogue: the agent is offered a tool if AllowedTools lists it or an entry
	// of AllowedToolPatterns matches it, unless ExcludedTools lists it or an entry of
	// ExcludedToolPatterns matches it. Leaving out both AllowedTools and
	// AllowedToolPatterns allows every tool; an empty list allows none. In a pattern, *
	// stands for any text, and \ escapes the next character.
	AllowedTools         []string `json:"allowed_tools,omitzero"`
	AllowedToolPatterns  []string `json:"allowed_tool_patterns,omitzero"`
	ExcludedTools        []string `json:"excluded_tools,omitzero"`
	ExcludedToolPatterns []string `json:"excluded_tool_patterns,omitzero"`

	// OutputSchema is the JSON Schema of the agent's final answer; see engine.Output.
	// MaxOutputRepairs limits how often one run returns an invalid answer to the model
	// with the reason and asks again. Nil means 2.
	OutputSchema     json.RawMessage `json:"output_schema,omitempty"`
	MaxOutputRepairs *int            `json:"max_output_repairs,omitempty"`

	// Budget limits what the agent may spend. A run that would exceed a limit is parked
	// until an operator raises the limit and a client continues the run.
	Budget *AgentBudget `json:"budget,omitempty"`

	// TrustClients says whether clients may instruct the agent. If it is false, their system
	// messages and context are shown to the model as data of the user, and their tools cannot
	// replace the agent's. Nil leaves it to the server, which by default does not trust them.
	TrustClients *bool `json:"trust_clients,omitempty"`

	Delegates []string `json:"delegates,omitempty"` // ids of the agents that it can delegate to
	// Sections holds the configuration of plugins, by section name. Read one with
	// [Section.Read].
	Sections map[string]json.RawMessage `json:"sections,omitempty"`

	Backend  *Backend        `json:"backend,omitempty"`  // what runs the agent; nil means this runtime
	Endpoint *RemoteEndpoint `json:"endpoint,omitempty"` // address of an agent that runs elsewhere
	Registry string          `json:"registry,omitempty"` // origin of the document; kept but not used

	decoded map[string]any // sections, decoded when the agent is resolved
	base    string         // id of the agent that this is a variant of
}

// Backend selects what runs an agent. The zero Kind means "awaken", this runtime.
type Backend struct {
	Kind    string                     `json:"kind"`              // awaken, or the name of a backend that the program registers
	Version int                        `json:"version,omitempty"` // of Config
	Config  map[string]json.RawMessage `json:"config,omitempty"`  // settings of the backend; for awaken: model_id, system_prompt and max_rounds
}

func (b *Backend) local() bool { return b.Kind == "" || b.Kind == "awaken" }

// BackendKind returns the kind of the remote backend that runs the agent, or "" if this
// runtime does.
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

// RemoteEndpoint is the address of an agent that runs elsewhere.
type RemoteEndpoint struct {
	Backend   string                     `json:"backend"`              // protocol; "" means a2a
	BaseURL   string                     `json:"base_url"`             // for a2a: the root of the interface
	Auth      *RemoteAuth                `json:"auth,omitempty"`       // credentials of the caller
	Target    string                     `json:"target,omitempty"`     // id of the agent, if the endpoint serves several
	TimeoutMS int64                      `json:"timeout_ms,omitempty"` // 0 means 300000
	Options   map[string]json.RawMessage `json:"options,omitempty"`    // settings of the backend
}

// RemoteAuth holds the credentials for a remote agent.
type RemoteAuth struct {
	Type   string `json:"type"`             // bearer, api_key or oauth2_client_credentials
	Token  Secret `json:"token,omitzero"`   // the bearer token, or the API key
	Header string `json:"header,omitempty"` // of an API key; "" means X-API-Key

	// Of OAuth2 client credentials.
	TokenURL     string   `json:"token_url,omitempty"`    // where tokens are requested
	ClientID     string   `json:"client_id,omitempty"`    // who requests them
	ClientSecret Secret   `json:"client_secret,omitzero"` // the password of the client
	Scopes       []string `json:"scopes,omitempty"`       // what they are for
}

// Validate reports all problems, joined. A nil RemoteAuth is valid.
func (a *RemoteAuth) Validate() error {
	if a == nil {
		return nil
	}
	var bad check.Problems
	bad.OneOf("type", a.Type, "bearer", "api_key", "oauth2_client_credentials")
	other := func(field string, set bool, want string) {
		if set {
			bad.Add("%s is set, but type is %q, want %s", field, a.Type, want)
		}
	}
	if a.Type == "oauth2_client_credentials" {
		bad.NotBlank("token_url", a.TokenURL)
		bad.NotBlank("client_id", a.ClientID)
		bad.NotBlank("client_secret", a.ClientSecret.Expose())
		other("token", !a.Token.IsZero(), "bearer or api_key")
	} else {
		bad.NotBlank("token", a.Token.Expose())
		for field, set := range map[string]bool{"token_url": a.TokenURL != "", "client_id": a.ClientID != "", "client_secret": !a.ClientSecret.IsZero(), "scopes": len(a.Scopes) > 0} {
			other(field, set, "oauth2_client_credentials")
		}
	}
	if a.Type != "api_key" {
		other("header", a.Header != "", "api_key")
	}
	return bad.Err()
}

// ExecutionMode selects how the runtime executes the tool calls of one step. The default is
// Sequential.
type ExecutionMode string

const (
	// Sequential runs calls one after another; each sees the changes of the one before.
	// Calls after a suspended call wait until it is resumed.
	Sequential ExecutionMode = "sequential"
	// ParallelBatchApproval runs calls concurrently on one snapshot. Suspended calls
	// resume together, when all of them are decided.
	ParallelBatchApproval ExecutionMode = "parallel_batch_approval"
	// ParallelStreaming runs calls concurrently on one snapshot. Each suspended call
	// resumes as soon as it is decided.
	ParallelStreaming ExecutionMode = "parallel_streaming"
)

// list is a JSON array in which an explicit null means empty, not absent.
type list []string

func (l *list) UnmarshalJSON(data []byte) error {
	*l = list{}
	if bytes.Equal(data, []byte("null")) {
		return nil
	}
	return json.Unmarshal(data, (*[]string)(l))
}

// UnmarshalJSON decodes a spec and rejects unknown fields. It accepts active_plugins, the
// older name of active_hook_filter.
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
			return fmt.Errorf("agent %q: active_hook_filter and its older name active_plugins are both set; use active_hook_filter", s.ID)
		}
		s.ActiveHookFilter = w.ActivePlugins
	}
	if err := s.normaliseBackend(); err != nil {
		return fmt.Errorf("agent %q: %w", s.ID, err)
	}
	return nil
}

// normaliseBackend copies the settings of an awaken backend to the fields of the spec. Both
// may be set if they agree.
func (s *AgentSpec) normaliseBackend() error {
	if s.Backend == nil || !s.Backend.local() {
		return nil
	}
	for name, raw := range s.Backend.Config {
		var err error
		switch name {
		case "model_id":
			err = fill(&s.ModelID, s.ModelID != "", name, raw)
		case "system_prompt":
			err = fill(&s.SystemPrompt, s.SystemPrompt != "", name, raw)
		case "max_rounds":
			rounds := s.Rounds()
			err = fill(&rounds, s.MaxRounds != nil, name, raw)
			s.MaxRounds = &rounds
		default:
			err = fmt.Errorf("backend.config has an unknown field %q, want model_id, system_prompt or max_rounds", name)
		}
		if err != nil {
			return err
		}
	}
	return nil
}

func fill[T comparable](field *T, set bool, name string, raw json.RawMessage) error {
	var v T
	if err := strict.Unmarshal(raw, &v); err != nil {
		return fmt.Errorf("backend.config.%s: %w", name, err)
	}
	if set && *field != v {
		return fmt.Errorf("%s is %v, but backend.config.%s is %v; set only one of them", name, *field, name, v)
	}
	*field = v
	return nil
}

// Validate checks everything that can be checked without a registry. It reports all
// problems, joined.
func (s *AgentSpec) Validate() error {
	var bad check.Problems
	bad.NotBlank("id", s.ID)
	bad.NotNegative("max_rounds", s.Rounds())
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

// Rounds returns MaxRounds, or its default. 0 means no limit.
func (s *AgentSpec) Rounds() int { return or(s.MaxRounds, 16) }

// ContinuationRetries returns MaxContinuationRetries, or its default.
func (s *AgentSpec) ContinuationRetries() int { return or(s.MaxContinuationRetries, 2) }

// OutputRepairs returns MaxOutputRepairs, or its default.
func (s *AgentSpec) OutputRepairs() int { return or(s.MaxOutputRepairs, 2) }

// ExecutionMode returns ToolExecutionMode, or its default.
func (s *AgentSpec) ExecutionMode() ExecutionMode { return cmp.Or(s.ToolExecutionMode, Sequential) }

// or returns *p, or def if p is nil.
func or[T any](p *T, def T) T {
	if p == nil {
		return def
	}
	return *p
}
