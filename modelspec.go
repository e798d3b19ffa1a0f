package awaken

import (
	"cmp"
	"encoding/json"
	"fmt"
	"maps"
	"math"
	"slices"
	"strings"
	"time"

	"github.com/awaken-go/awaken/internal/check"
	"github.com/awaken-go/awaken/internal/strict"
	"github.com/awaken-go/awaken/llm"
)

// ModelSpec binds a model id to a provider and to the provider's name for the model, and
// describes the model.
type ModelSpec struct {
	ID              string      `json:"id"`                          // the name that agents and pools use
	ProviderID      string      `json:"provider_id"`                 // id of a ProviderSpec
	UpstreamModel   string      `json:"upstream_model"`              // the provider's name for the model
	ContextWindow   int         `json:"context_window,omitempty"`    // in tokens, for a request and its answer; 0 if unknown
	MaxOutputTokens int         `json:"max_output_tokens,omitempty"` // limit of an answer, sent with every request; 0 if unknown
	Modalities      *Modalities `json:"modalities,omitempty"`        // media types that the model accepts and produces
	KnowledgeCutoff string      `json:"knowledge_cutoff,omitempty"`  // YYYY-MM or YYYY-MM-DD
	// StructuredOutput says whether the provider enforces a JSON Schema on the model's
	// answers. Nil leaves that to the provider's adapter.
	StructuredOutput *bool `json:"structured_output,omitempty"`
	// Capabilities says which optional parameters the model accepts. What it leaves out is
	// known for well-known models, and else learned from requests that the provider rejects.
	Capabilities *llm.ModelCapabilities `json:"capabilities,omitempty"`
	// CircuitBreaker says when requests to the model are held back because it fails. Agents and
	// pools share the model's breaker within a process.
	CircuitBreaker *llm.BreakerSettings `json:"circuit_breaker,omitempty"`
	Prices
}

// Modalities lists the media types of a model: text, image, audio, video and pdf.
type Modalities struct {
	Input  []string `json:"input,omitempty"`  // accepted
	Output []string `json:"output,omitempty"` // produced
}

// UnmarshalJSON rejects unknown fields.
func (m *ModelSpec) UnmarshalJSON(data []byte) error {
	type plain ModelSpec
	return strict.Into((*plain)(m), "model", data)
}

// Validate reports all problems, joined.
func (m *ModelSpec) Validate() error {
	var bad check.Problems
	bad.NotBlank("id", m.ID)
	bad.NotBlank("provider_id", m.ProviderID)
	bad.NotBlank("upstream_model", m.UpstreamModel)
	bad.NotNegative("context_window", m.ContextWindow)
	bad.NotNegative("max_output_tokens", m.MaxOutputTokens)
	bad.When(m.ContextWindow > 0 && m.MaxOutputTokens > m.ContextWindow, "max_output_tokens is %d, want at most context_window (%d)", m.MaxOutputTokens, m.ContextWindow)
	m.Prices.validate(&bad)
	if m.Capabilities != nil {
		bad.OneOf("capabilities.reasoning", m.Capabilities.Reasoning, "", llm.NoReasoning, llm.ReasoningBudget, llm.ReasoningLevels)
	}
	if b := m.CircuitBreaker; b != nil {
		bad.NotNegative("circuit_breaker.failure_threshold", b.FailureThreshold)
		bad.NotNegative("circuit_breaker.cooldown_secs", b.CooldownSecs)
		bad.NotNegative("circuit_breaker.half_open_max", b.HalfOpenMax)
	}
	if m.Modalities != nil {
		checkModalities(&bad, "modalities.input", m.Modalities.Input)
		checkModalities(&bad, "modalities.output", m.Modalities.Output)
	}
	if c := m.KnowledgeCutoff; c != "" {
		_, errMonth := time.Parse("2006-01", c)
		_, errDay := time.Parse(time.DateOnly, c)
		bad.When(errMonth != nil && errDay != nil, "knowledge_cutoff is %q, want YYYY-MM or YYYY-MM-DD", c)
	}
	return bad.Err()
}

// Fill sets the fields that m leaves out from info.
func (m *ModelSpec) Fill(info llm.ModelInfo) {
	if m.ContextWindow == 0 && info.ContextWindow >= m.MaxOutputTokens {
		m.ContextWindow = info.ContextWindow
	}
	if m.MaxOutputTokens == 0 && (m.ContextWindow == 0 || info.MaxOutputTokens <= m.ContextWindow) {
		m.MaxOutputTokens = info.MaxOutputTokens
	}
	if m.Modalities == nil && len(info.Input)+len(info.Output) > 0 {
		m.Modalities = &Modalities{Input: info.Input, Output: info.Output}
	}
	m.KnowledgeCutoff = cmp.Or(m.KnowledgeCutoff, info.KnowledgeCutoff)
	if p := info.Price; p != nil && m.Prices == (Prices{}) {
		m.Prices = Prices{InputPrice: &p.Input, OutputPrice: &p.Output, CacheReadPrice: p.CacheRead, CacheWritePrice: p.CacheWrite}
	}
}

func checkModalities(bad *check.Problems, field string, list []string) {
	for i, m := range list {
		bad.OneOf(fmt.Sprintf("%s[%d]", field, i), m, "text", "image", "audio", "video", "pdf")
	}
	bad.NoDuplicates(field, list)
}

// ModelPoolSpec is a group of models that replace each other. A session, which is a thread or a
// run (see sticky_scope), stays with one model of the pool while that works.
type ModelPoolSpec struct {
	ID      string       `json:"id"`               // the name that agents use, in place of a model id
	Members []PoolMember `json:"members"`          // at least one with role member
	Routing PoolRouting  `json:"routing,omitzero"` // selects the member that a session starts with
	Switch  PoolSwitch   `json:"switch,omitzero"`  // when a session moves to another member
}

// PoolMember is one model of a pool.
type PoolMember struct {
	ModelID string   `json:"model_id"`         // id of a ModelSpec
	Weight  *float64 `json:"weight,omitempty"` // relative share of the sessions; nil means 1
	Role    string   `json:"role,omitempty"`   // member (default) or failover_only
}

// PoolRouting selects the member that a session starts with.
type PoolRouting struct {
	Home        string `json:"home,omitempty"`         // deterministic (default), round_robin or first_healthy
	StickyScope string `json:"sticky_scope,omitempty"` // thread (default) or run
}

// PoolSwitch says when a session moves to another member. A nil bool means true.
type PoolSwitch struct {
	OnCircuitOpen                *bool `json:"on_circuit_open,omitempty"`                  // when the member's circuit breaker is open
	OnQuota                      *bool `json:"on_quota,omitempty"`                         // when the member's quota is exhausted
	QuotaRetryAfterThresholdSecs *int  `json:"quota_retry_after_threshold_secs,omitempty"` // only if the provider asks to wait at least this long, or does not say how long; nil means always
	OnPermanent                  *bool `json:"on_permanent,omitempty"`                     // when the member fails permanently
	MaxSwitchesPerSession        *int  `json:"max_switches_per_session,omitempty"`         // nil means no limit
}

// UnmarshalJSON rejects unknown fields.
func (p *ModelPoolSpec) UnmarshalJSON(data []byte) error {
	type plain ModelPoolSpec
	return strict.Into((*plain)(p), "model pool", data)
}

// Validate reports all problems, joined.
func (p *ModelPoolSpec) Validate() error {
	var bad check.Problems
	bad.NotBlank("id", p.ID)
	homes := 0
	var ids []string
	for i, m := range p.Members {
		bad.NotBlank(fmt.Sprintf("members[%d].model_id", i), m.ModelID)
		ids = append(ids, m.ModelID)
		if m.Weight != nil && !(*m.Weight > 0 && !math.IsInf(*m.Weight, 0)) {
			bad.Add("members[%d].weight is %v, want a finite number above 0", i, *m.Weight)
		}
		bad.OneOf(fmt.Sprintf("members[%d].role", i), m.Role, "", "member", "failover_only")
		if m.Role == "" || m.Role == "member" {
			homes++
		}
	}
	bad.NoDuplicates("members", ids)
	bad.When(homes == 0, "members has none of role member")
	bad.OneOf("routing.home", p.Routing.Home, "", "deterministic", "round_robin", "first_healthy")
	bad.OneOf("routing.sticky_scope", p.Routing.StickyScope, "", "thread", "run")
	return bad.Err()
}

// ProviderSpec is an account with a model provider.
type ProviderSpec struct {
	ID             string                     `json:"id"`                        // the name that models use
	Adapter        string                     `json:"adapter"`                   // protocol adapter, such as openai or anthropic
	APIKey         Secret                     `json:"api_key,omitzero"`          // "" reads the adapter's environment variable
	BaseURL        string                     `json:"base_url,omitempty"`        // "" means the adapter's default
	TimeoutSecs    int                        `json:"timeout_secs,omitempty"`    // per request; 0 means 300
	AdapterOptions map[string]json.RawMessage `json:"adapter_options,omitempty"` // settings of the adapter, such as headers
	// RateLimits says how much may be sent to the provider. The limits that the provider states count
	// as well, unless learn is false.
	RateLimits *llm.RateLimits `json:"rate_limits,omitempty"`
}

// UnmarshalJSON rejects unknown fields.
func (p *ProviderSpec) UnmarshalJSON(data []byte) error {
	type plain ProviderSpec
	return strict.Into((*plain)(p), "provider", data)
}

// Validate reports all problems, joined.
func (p *ProviderSpec) Validate() error {
	var bad check.Problems
	bad.NotBlank("id", p.ID)
	bad.NotBlank("adapter", p.Adapter)
	bad.NotNegative("timeout_secs", p.TimeoutSecs)
	if r := p.RateLimits; r != nil {
		checkRate(&bad, "rate_limits", r.Rate)
		if r.PerTenant != nil {
			checkRate(&bad, "rate_limits.per_tenant", *r.PerTenant)
		}
		for _, name := range slices.Sorted(maps.Keys(r.Models)) {
			bad.When(strings.TrimSpace(name) == "", "rate_limits.models has the name %q, want a model of the provider", name)
			checkRate(&bad, fmt.Sprintf("rate_limits.models[%q]", name), r.Models[name])
		}
		for _, name := range slices.Sorted(maps.Keys(r.Tenants)) {
			checkRate(&bad, fmt.Sprintf("rate_limits.tenants[%q]", name), r.Tenants[name])
		}
	}
	return bad.Err()
}

func checkRate(bad *check.Problems, field string, r llm.Rate) {
	bad.NotNegative(field+".requests_per_minute", r.RequestsPerMinute)
	bad.NotNegative(field+".tokens_per_minute", r.TokensPerMinute)
}

// InferenceOverride changes the model parameters of a run or of one step. Zero fields leave
// the parameter as it is.
type InferenceOverride struct {
	UpstreamModel   string      `json:"upstream_model,omitempty"`
	Temperature     *float64    `json:"temperature,omitempty"`
	MaxTokens       *int        `json:"max_tokens,omitempty"`
	TopP            *float64    `json:"top_p,omitempty"`
	ReasoningEffort *llm.Effort `json:"reasoning_effort,omitempty"`
	StopSequences   []string    `json:"stop_sequences,omitempty"` // texts at which the model ends its answer
	Seed            *int64      `json:"seed,omitempty"`
	ParallelTools   *bool       `json:"parallel_tools,omitempty"` // whether the model may request several calls at once
	// ToolChoice says whether the model must call a tool. Of a run, a choice that forces a call holds until the run has made such a
	// call; if the client has tools and none is named, until one of the client's was called.
	ToolChoice *llm.ToolChoice `json:"tool_choice,omitempty"`
}

// IsZero reports whether o changes nothing.
func (o *InferenceOverride) IsZero() bool {
	return o.UpstreamModel == "" && o.Temperature == nil && o.MaxTokens == nil && o.TopP == nil && o.ReasoningEffort == nil &&
		len(o.StopSequences) == 0 && o.Seed == nil && o.ParallelTools == nil && o.ToolChoice == nil
}

// UnmarshalJSON rejects unknown fields.
func (o *InferenceOverride) UnmarshalJSON(data []byte) error {
	type plain InferenceOverride
	return strict.Into((*plain)(o), "inference override", data)
}

// Merge returns o with the fields that other sets.
func (o InferenceOverride) Merge(other InferenceOverride) InferenceOverride {
	return InferenceOverride{
		UpstreamModel:   cmp.Or(other.UpstreamModel, o.UpstreamModel),
		Temperature:     cmp.Or(other.Temperature, o.Temperature),
		MaxTokens:       cmp.Or(other.MaxTokens, o.MaxTokens),
		TopP:            cmp.Or(other.TopP, o.TopP),
		ReasoningEffort: cmp.Or(other.ReasoningEffort, o.ReasoningEffort),
		StopSequences:   stops(other.StopSequences, o.StopSequences),
		Seed:            cmp.Or(other.Seed, o.Seed),
		ParallelTools:   cmp.Or(other.ParallelTools, o.ParallelTools),
		ToolChoice:      cmp.Or(other.ToolChoice, o.ToolChoice),
	}
}

// stops returns the first list that is not empty.
func stops(lists ...[]string) []string {
	for _, l := range lists {
		if len(l) > 0 {
			return l
		}
	}
	return nil
}

// Apply sets the parameters of req that o sets.
func (o *InferenceOverride) Apply(req *llm.Request) {
	req.Model = cmp.Or(o.UpstreamModel, req.Model)
	req.Temperature = cmp.Or(o.Temperature, req.Temperature)
	req.MaxTokens = cmp.Or(o.MaxTokens, req.MaxTokens)
	req.TopP = cmp.Or(o.TopP, req.TopP)
	req.ReasoningEffort = cmp.Or(o.ReasoningEffort, req.ReasoningEffort)
	req.StopSequences = stops(o.StopSequences, req.StopSequences)
	req.Seed = cmp.Or(o.Seed, req.Seed)
	req.ParallelTools = cmp.Or(o.ParallelTools, req.ParallelTools)
	req.ToolChoice = cmp.Or(o.ToolChoice, req.ToolChoice)
}
