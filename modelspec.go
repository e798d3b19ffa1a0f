package awaken

import (
	"cmp"
	"encoding/json"
	"fmt"
	"math"
	"time"

	"github.com/awaken-go/awaken/internal/check"
	"github.com/awaken-go/awaken/internal/strict"
	"github.com/awaken-go/awaken/llm"
)

// ModelSpec binds a model id to a provider and to the provider's name for the
// model, and says what is known about it.
type ModelSpec struct {
	ID              string      `json:"id"`                          // what agents and pools call it
	ProviderID      string      `json:"provider_id"`                 // of a ProviderSpec
	UpstreamModel   string      `json:"upstream_model"`              // what the provider calls it
	ContextWindow   int         `json:"context_window,omitempty"`    // tokens of a request and its answer
	MaxOutputTokens int         `json:"max_output_tokens,omitempty"` // tokens of an answer
	Modalities      *Modalities `json:"modalities,omitempty"`        // what it takes and gives
	KnowledgeCutoff string      `json:"knowledge_cutoff,omitempty"`  // YYYY-MM or YYYY-MM-DD
	// StructuredOutput says whether answers can be held to a JSON Schema by the model's
	// provider. Nil leaves it to the provider's adapter to say.
	StructuredOutput *bool `json:"structured_output,omitempty"`
	Prices
}

// Modalities lists what a model takes and gives: text, image, audio, video, pdf.
type Modalities struct {
	Input  []string `json:"input,omitempty"`  // what it takes
	Output []string `json:"output,omitempty"` // what it gives
}

// UnmarshalJSON rejects unknown fields.
func (m *ModelSpec) UnmarshalJSON(data []byte) error {
	type plain ModelSpec
	return strict.Into((*plain)(m), "model", data)
}

// Validate reports every mistake at once.
func (m *ModelSpec) Validate() error {
	var bad check.Problems
	bad.NotBlank("id", m.ID)
	bad.NotBlank("provider_id", m.ProviderID)
	bad.NotBlank("upstream_model", m.UpstreamModel)
	bad.NotNegative("context_window", m.ContextWindow)
	bad.NotNegative("max_output_tokens", m.MaxOutputTokens)
	if m.ContextWindow > 0 && m.MaxOutputTokens > m.ContextWindow {
		bad.Add("max_output_tokens is %d, want at most context_window (%d)", m.MaxOutputTokens, m.ContextWindow)
	}
	m.Prices.validate(&bad)
	if m.Modalities != nil {
		checkModalities(&bad, "modalities.input", m.Modalities.Input)
		checkModalities(&bad, "modalities.output", m.Modalities.Output)
	}
	if c := m.KnowledgeCutoff; c != "" {
		_, errMonth := time.Parse("2006-01", c)
		_, errDay := time.Parse(time.DateOnly, c)
		if errMonth != nil && errDay != nil {
			bad.Add("knowledge_cutoff is %q, want YYYY-MM or YYYY-MM-DD", c)
		}
	}
	return bad.Err()
}

// Fill completes m with what is known about the model. What m says itself stays.
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
	if m.KnowledgeCutoff == "" {
		m.KnowledgeCutoff = info.KnowledgeCutoff
	}
}

func checkModalities(bad *check.Problems, field string, list []string) {
	for i, m := range list {
		bad.OneOf(fmt.Sprintf("%s[%d]", field, i), m, "text", "image", "audio", "video", "pdf")
	}
	bad.NoDuplicates(field, list)
}

// ModelPoolSpec is a group of models that stand in for each other.
type ModelPoolSpec struct {
	ID      string       `json:"id"`               // what agents call it, like a model
	Members []PoolMember `json:"members"`          // at least one of role member
	Routing PoolRouting  `json:"routing,omitzero"` // which member a session starts with
	Switch  PoolSwitch   `json:"switch,omitzero"`  // when it moves to another
}

// PoolMember is one model of a pool. A weight of nil is 1.
type PoolMember struct {
	ModelID string   `json:"model_id"`         // of a ModelSpec
	Weight  *float64 `json:"weight,omitempty"` // its share of the sessions; nil is 1
	Role    string   `json:"role,omitempty"`   // member (default), failover_only
}

// PoolRouting chooses the member a session starts with.
type PoolRouting struct {
	Home        string `json:"home,omitempty"`         // deterministic (default), round_robin, first_healthy
	StickyScope string `json:"sticky_scope,omitempty"` // thread (default), run
}

// PoolSwitch says when a session moves to another member. Nil means true.
type PoolSwitch struct {
	OnCircuitOpen                *bool `json:"on_circuit_open,omitempty"`                  // when the member's breaker is open
	OnQuota                      *bool `json:"on_quota,omitempty"`                         // when its quota is used up
	QuotaRetryAfterThresholdSecs *int  `json:"quota_retry_after_threshold_secs,omitempty"` // only if the provider asks to wait for longer; nil always
	OnPermanent                  *bool `json:"on_permanent,omitempty"`                     // when it fails in a way that trying again does not help
	MaxSwitchesPerSession        *int  `json:"max_switches_per_session,omitempty"`         // nil is no limit
}

// UnmarshalJSON rejects unknown fields.
func (p *ModelPoolSpec) UnmarshalJSON(data []byte) error {
	type plain ModelPoolSpec
	return strict.Into((*plain)(p), "model pool", data)
}

// Validate reports every mistake at once.
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
	if homes == 0 {
		bad.Add("members has none of role member")
	}
	bad.OneOf("routing.home", p.Routing.Home, "", "deterministic", "round_robin", "first_healthy")
	bad.OneOf("routing.sticky_scope", p.Routing.StickyScope, "", "thread", "run")
	return bad.Err()
}

// ProviderSpec is an account with a model provider.
type ProviderSpec struct {
	ID             string                     `json:"id"`                        // what models call it
	Adapter        string                     `json:"adapter"`                   // what speaks to it, such as openai or anthropic
	APIKey         Secret                     `json:"api_key,omitzero"`          // none means the adapter's environment variable
	BaseURL        string                     `json:"base_url,omitempty"`        // "" is the adapter's own
	TimeoutSecs    int                        `json:"timeout_secs,omitempty"`    // of a request; 0 means 300
	AdapterOptions map[string]json.RawMessage `json:"adapter_options,omitempty"` // the adapter's own, such as headers
}

// UnmarshalJSON rejects unknown fields.
func (p *ProviderSpec) UnmarshalJSON(data []byte) error {
	type plain ProviderSpec
	return strict.Into((*plain)(p), "provider", data)
}

// Validate reports every mistake at once.
func (p *ProviderSpec) Validate() error {
	var bad check.Problems
	bad.NotBlank("id", p.ID)
	bad.NotBlank("adapter", p.Adapter)
	bad.NotNegative("timeout_secs", p.TimeoutSecs)
	return bad.Err()
}

// InferenceOverride changes the parameters of a run or of one step. Nil fields
// leave what is there.
type InferenceOverride struct {
	UpstreamModel   string      `json:"upstream_model,omitempty"`
	Temperature     *float64    `json:"temperature,omitempty"`
	MaxTokens       *int        `json:"max_tokens,omitempty"`
	TopP            *float64    `json:"top_p,omitempty"`
	ReasoningEffort *llm.Effort `json:"reasoning_effort,omitempty"`
}

// UnmarshalJSON rejects unknown fields.
func (o *InferenceOverride) UnmarshalJSON(data []byte) error {
	type plain InferenceOverride
	return strict.Into((*plain)(o), "inference override", data)
}

// Merge returns o with the fields that other sets; other wins.
func (o InferenceOverride) Merge(other InferenceOverride) InferenceOverride {
	return InferenceOverride{
		UpstreamModel:   cmp.Or(other.UpstreamModel, o.UpstreamModel),
		Temperature:     cmp.Or(other.Temperature, o.Temperature),
		MaxTokens:       cmp.Or(other.MaxTokens, o.MaxTokens),
		TopP:            cmp.Or(other.TopP, o.TopP),
		ReasoningEffort: cmp.Or(other.ReasoningEffort, o.ReasoningEffort),
	}
}

// Apply sets in req what o sets.
func (o *InferenceOverride) Apply(req *llm.Request) {
	req.Model = cmp.Or(o.UpstreamModel, req.Model)
	req.Temperature = cmp.Or(o.Temperature, req.Temperature)
	req.MaxTokens = cmp.Or(o.MaxTokens, req.MaxTokens)
	req.TopP = cmp.Or(o.TopP, req.TopP)
	req.ReasoningEffort = cmp.Or(o.ReasoningEffort, req.ReasoningEffort)
}
