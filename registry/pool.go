package registry

import (
	"fmt"
	"maps"
	"slices"

	"github.com/awaken-go/awaken"
	"github.com/awaken-go/awaken/llm"
)

// modelPool is a resolved pool of models.
type modelPool struct {
	source  *awaken.ModelPoolSpec
	spec    *awaken.ModelSpec // properties that all members share
	model   *llm.Pool
	members map[string]*awaken.ModelSpec
	native  bool          // the providers of all members enforce output schemas
	worst   awaken.Prices // highest of all members
}

// model returns the model of a spec, or nil if its provider does not exist. The model rejects
// media that the spec does not list.
func (reg *Registry) model(m *awaken.ModelSpec) llm.Model {
	p := reg.providers[m.ProviderID]
	if p == nil {
		return nil
	}
	var model llm.Model = p
	if m.Capabilities != nil {
		model = llm.Describe(model, m.UpstreamModel, *m.Capabilities)
	}
	if m.Modalities != nil {
		model = llm.Guard(model, m.Modalities.Input)
	}
	return model
}

// pool resolves a pool, or returns its problems. The members share their circuit breakers with
// agents that name them directly.
func (reg *Registry) pool(p *awaken.ModelPoolSpec) (*modelPool, []awaken.Diagnostic) {
	whole := &awaken.ModelSpec{ID: p.ID, ProviderID: p.ID, UpstreamModel: p.ID}
	var members []llm.PoolMember
	out := &modelPool{source: p, spec: whole, members: map[string]*awaken.ModelSpec{}, native: true}
	var problems []awaken.Diagnostic
	missing := func(code, dependsOn, format string, args ...any) {
		problems = append(problems, awaken.Diagnostic{Code: code, Severity: awaken.SeverityError, Namespace: "model-pools", ID: p.ID, DependsOn: dependsOn, Message: fmt.Sprintf(format, args...)})
	}
	for i, m := range p.Members {
		spec := reg.models[m.ModelID]
		if spec == nil {
			missing("model_pool_missing_model", "models/"+m.ModelID, "members[%d].model_id is %q, which is not defined", i, m.ModelID)
			continue
		}
		model := reg.model(spec)
		if model == nil {
			missing("model_missing_provider", "providers/"+spec.ProviderID, "members[%d]: model %q has provider_id %q, which is not defined", i, spec.ID, spec.ProviderID)
			continue
		}
		one := llm.PoolMember{ID: spec.ID, Model: model, Upstream: spec.UpstreamModel, Failover: m.Role == "failover_only", Breaker: reg.breakers[spec.ID]}
		if m.Weight != nil {
			one.Weight = *m.Weight
		}
		members = append(members, one)
		common(whole, spec, i == 0)
		if i == 0 {
			out.worst = spec.Prices
		}
		out.members[spec.ID], out.native, out.worst = spec, out.native && enforcesSchema(spec, model), out.worst.Worst(&spec.Prices)
	}
	if len(problems) > 0 {
		return nil, problems
	}
	off := func(b *bool) bool { return b != nil && !*b }
	opts := llm.PoolOptions{Home: p.Routing.Home, PerRun: p.Routing.StickyScope == "run", IgnoreCircuit: off(p.Switch.OnCircuitOpen),
		IgnoreQuota: off(p.Switch.OnQuota), IgnoreForbidden: off(p.Switch.OnPermanent)}
	if n := p.Switch.QuotaRetryAfterThresholdSecs; n != nil {
		opts.QuotaAfterSecs = *n
	}
	if n := p.Switch.MaxSwitchesPerSession; n != nil {
		opts.MaxSwitches = *n
	}
	pool, err := llm.NewPool(members, opts)
	if err != nil {
		missing("invalid", "", "%v", err)
		return nil, problems
	}
	out.model = pool
	return out, nil
}

// enforcesSchema reports whether the provider enforces output schemas for the model.
func enforcesSchema(m *awaken.ModelSpec, model llm.Model) bool {
	if m.StructuredOutput != nil {
		return *m.StructuredOutput
	}
	return llm.SupportsSchema(model, m.UpstreamModel)
}

// common reduces m, the properties of a pool, to those that it shares with another member o.
// Limits are the lowest, if all members have one; the cutoff remains only if all members have
// the same.
func common(m, o *awaken.ModelSpec, first bool) {
	least := func(a, b int) int {
		if a == 0 || b == 0 {
			return 0
		}
		return min(a, b)
	}
	if first {
		m.ContextWindow, m.MaxOutputTokens, m.KnowledgeCutoff = o.ContextWindow, o.MaxOutputTokens, o.KnowledgeCutoff
		return
	}
	m.ContextWindow, m.MaxOutputTokens = least(m.ContextWindow, o.ContextWindow), least(m.MaxOutputTokens, o.MaxOutputTokens)
	if m.KnowledgeCutoff != o.KnowledgeCutoff {
		m.KnowledgeCutoff = ""
	}
}

// breaker returns a new circuit breaker for a model. It starts over when the provider gets
// another account.
func (reg *Registry) breaker(m *awaken.ModelSpec) *llm.Breaker {
	b := &llm.Breaker{Name: m.ID}
	if m.CircuitBreaker != nil {
		b.BreakerSettings = *m.CircuitBreaker
	}
	if p, ok := reg.providers[m.ProviderID].(interface{ Account() uint64 }); ok {
		b.Account = p.Account
	}
	return b
}

// Knowledge returns what is known about the parameters that a model accepts. It is empty for a
// model that does not exist.
func (reg *Registry) Knowledge(modelID string) llm.ModelKnowledge {
	m := reg.models[modelID]
	if m == nil {
		return llm.ModelKnowledge{}
	}
	return llm.KnowledgeOf(reg.model(m), m.UpstreamModel)
}

// ModelHealth is the health of a model in this process.
type ModelHealth struct {
	ModelID    string `json:"model_id"`
	ProviderID string `json:"provider_id"`
	llm.BreakerStatus
}

// Health returns the health of every model, ordered by id.
func (reg *Registry) Health() []ModelHealth {
	var out []ModelHealth
	for _, id := range slices.Sorted(maps.Keys(reg.breakers)) {
		out = append(out, ModelHealth{id, reg.models[id].ProviderID, reg.breakers[id].Status()})
	}
	return out
}
