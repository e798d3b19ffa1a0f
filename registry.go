package awaken

import (
	"errors"
	"fmt"
	"maps"
	"slices"
	"sync"

	"github.com/awaken-go/awaken/internal/ids"
	"github.com/awaken-go/awaken/internal/schema"
	"github.com/awaken-go/awaken/llm"
	"github.com/awaken-go/awaken/state"
)

// Registry is an immutable set of agents and what they are made of. Each agent is
// resolved once, and its runs share the outcome. A runtime has one registry at a
// time and can be given another by [Runtime.Publish]; runs keep the one they
// started with.
type Registry struct {
	id        string
	agents    map[string]*agentSlot
	models    map[string]*ModelSpec
	breakers  map[string]*llm.Breaker // by model
	pools     map[string]*modelPool
	providers map[string]llm.Model
	tools     []*toolEntry
	plugins   map[string]Plugin
	keys      []state.AnyKey
	backends  map[string]RemoteBackend
}

// RemoteBackend reaches agents that run elsewhere: whose spec has an endpoint, or a backend
// that is not awaken. They can be delegates.
type RemoteBackend interface {
	// Agent returns what runs the agent of a spec, or what is wrong with the spec. What
	// it returns takes a RunRequest whose RunID it has seen to be the same request again,
	// and goes on with a run that waits when the request has Continue.
	Agent(spec *AgentSpec) (Runner, error)
}

type agentSlot struct {
	spec *AgentSpec
	once sync.Once
	r    *resolved
}

// NewRegistry compiles the registry part of cfg. All mistakes are reported at
// once, in a *ConfigError; with cfg.Lazy, those inside agents when they are run.
func NewRegistry(cfg Config) (*Registry, error) {
	reg := &Registry{
		id:        ids.New(),
		agents:    make(map[string]*agentSlot, len(cfg.Agents)),
		models:    make(map[string]*ModelSpec, len(cfg.Models)),
		breakers:  make(map[string]*llm.Breaker, len(cfg.Models)),
		pools:     make(map[string]*modelPool, len(cfg.Pools)),
		providers: maps.Clone(cfg.Providers),
		plugins:   make(map[string]Plugin, len(cfg.Plugins)),
		keys:      slices.Clone(cfg.Keys),
		backends:  maps.Clone(cfg.Backends),
	}
	var problems []Diagnostic
	problem := func(code, namespace, id, format string, args ...any) {
		problems = append(problems, Diagnostic{Code: code, Severity: SeverityError, Namespace: namespace, ID: id, Message: fmt.Sprintf(format, args...)})
	}
	invalid := func(namespace, id string, err error) {
		if err != nil {
			for _, line := range flatten(err) {
				problem("invalid", namespace, id, "%v", line)
			}
		}
	}
	for i := range cfg.Models {
		m := cfg.Models[i]
		invalid("models", m.ID, m.Validate())
		if reg.models[m.ID] != nil {
			problem("duplicate_id", "models", m.ID, "is defined twice")
		}
		reg.models[m.ID] = &m
		reg.breakers[m.ID] = &llm.Breaker{Name: m.ID}
	}
	if err := checkLimit("tenant_usd", cfg.TenantBudget); err != nil {
		problem("invalid", "runtime", "", "%v", err)
	}
	for _, p := range cfg.Pools {
		if err := p.Validate(); err != nil {
			invalid("model-pools", p.ID, err)
			continue
		}
		if reg.models[p.ID] != nil || reg.pools[p.ID] != nil {
			problem("ambiguous_model_reference", "model-pools", p.ID, "is the id of a model or of another pool too")
		}
		pool, err := reg.pool(&p)
		if err != nil {
			problem("invalid", "model-pools", p.ID, "%v", err)
			continue
		}
		reg.pools[p.ID] = pool
	}
	for id, p := range cfg.Providers {
		if p == nil {
			problem("invalid", "providers", id, "is nil")
		}
	}
	for _, p := range cfg.Plugins {
		switch {
		case p == nil:
			problem("invalid", "plugins", "", "is nil")
		case p.Name() == "":
			problem("invalid", "plugins", "", "has no name")
		case reg.plugins[p.Name()] != nil:
			problem("duplicate_id", "plugins", p.Name(), "is given twice")
		default:
			reg.plugins[p.Name()] = p
		}
	}
	seen := map[string]bool{}
	for i, t := range cfg.Tools {
		if t == nil {
			problem("invalid", "tools", fmt.Sprintf("#%d", i), "is nil")
			continue
		}
		e, err := newToolEntry(t)
		if err != nil {
			invalid("tools", t.Spec().ID, err)
			continue
		}
		if seen[e.spec.ID] {
			problem("duplicate_id", "tools", e.spec.ID, "is given twice")
			continue
		}
		seen[e.spec.ID] = true
		reg.tools = append(reg.tools, e)
	}
	for _, spec := range cfg.Agents {
		if spec == nil {
			problem("invalid", "agents", "", "is nil")
			continue
		}
		invalid("agents", spec.ID, spec.Validate())
		if reg.agents[spec.ID] != nil {
			problem("duplicate_id", "agents", spec.ID, "is defined twice")
		}
		reg.agents[spec.ID] = &agentSlot{spec: spec}
	}
	if !cfg.Lazy {
		for _, id := range slices.Sorted(maps.Keys(reg.agents)) {
			r := reg.resolve(id)
			problems = append(problems, r.problems...)
			for _, name := range slices.Sorted(maps.Keys(r.variants)) {
				problems = append(problems, reg.resolve(VariantID(id, name)).problems...)
			}
		}
	}
	if len(problems) > 0 {
		return nil, &ConfigError{problems}
	}
	return reg, nil
}

// ID identifies the registry; runs record it as their resolution_id.
func (reg *Registry) ID() string { return reg.id }

// AgentIDs lists the agents.
func (reg *Registry) AgentIDs() []string { return slices.Sorted(maps.Keys(reg.agents)) }

// Agent returns the spec of an agent or of a variant, or nil. It must not be changed.
func (reg *Registry) Agent(id string) *AgentSpec {
	if slot := reg.slot(id); slot != nil {
		return slot.spec
	}
	return nil
}

// Remote returns what runs an agent that runs elsewhere, or nil.
func (reg *Registry) Remote(agentID string) Runner {
	if r := reg.resolve(agentID); r != nil {
		return r.remote
	}
	return nil
}

// ToolIDs lists the tools an agent is offered.
func (reg *Registry) ToolIDs(agentID string) []string {
	r := reg.resolve(agentID)
	if r == nil {
		return nil
	}
	return slices.Sorted(maps.Keys(r.tools))
}

// Sections describes the configuration of the runtime and of every plugin that the agent loads.
func (reg *Registry) Sections(agentID string) []SectionSchema {
	r := reg.resolve(agentID)
	if r == nil {
		return nil
	}
	var out []SectionSchema
	for _, s := range r.sections {
		out = append(out, s.Describe())
	}
	return out
}

// Diagnostics returns the warnings about all agents.
func (reg *Registry) Diagnostics() []Diagnostic {
	var out []Diagnostic
	for _, id := range reg.AgentIDs() {
		r := reg.resolve(id)
		out = append(append(out, r.problems...), r.warnings...)
	}
	return out
}

// agent returns the resolved agent, or why there is none.
func (reg *Registry) agent(id string) (*resolved, error) {
	r := reg.resolve(id)
	if r == nil {
		return nil, fmt.Errorf("agent %q: %w, have %q", id, ErrNotFound, reg.AgentIDs())
	}
	if len(r.problems) > 0 {
		return nil, &ConfigError{r.problems}
	}
	if r.remote != nil {
		return nil, fmt.Errorf("%w: agent %q runs elsewhere, and can only be a delegate", ErrInvalid, id)
	}
	return r, nil
}

func (reg *Registry) resolve(id string) *resolved {
	slot := reg.slot(id)
	if slot == nil {
		return nil
	}
	slot.once.Do(func() { slot.r = reg.compile(slot.spec) })
	return slot.r
}

// toolEntry is a tool with everything that can be worked out once.
type toolEntry struct {
	tool   Tool
	spec   ToolSpec
	schema *schema.Schema
	desc   llm.Tool
}

func newToolEntry(t Tool) (*toolEntry, error) {
	spec := t.Spec()
	if spec.ID == "" {
		return nil, errors.New("id is empty")
	}
	switch spec.Effect {
	case Effectful, Idempotent, ReadOnly:
	default:
		return nil, fmt.Errorf("effect is %q, want idempotent, read_only or nothing", spec.Effect)
	}
	if spec.InDoubt != DoubtTell && spec.InDoubt != DoubtSuspend {
		return nil, fmt.Errorf("in_doubt is %q, want suspend or nothing", spec.InDoubt)
	}
	params, err := schema.Clean(spec.Parameters)
	if err != nil {
		return nil, fmt.Errorf("parameters: %w", err)
	}
	// Models are shown the cleaned schema, but arguments are held to the tool's own,
	// which may allow null, or follow another draft.
	s, err := schema.Compile(spec.Parameters)
	if err != nil {
		if s, err = schema.Compile(params); err != nil {
			return nil, fmt.Errorf("parameters: %w", err)
		}
	}
	return &toolEntry{tool: t, spec: spec, schema: s,
		desc: llm.Tool{Name: spec.ID, Description: spec.Description, Parameters: params}}, nil
}

// flatten splits what errors.Join put together.
func flatten(err error) []error {
	if j, ok := err.(interface{ Unwrap() []error }); ok {
		var out []error
		for _, e := range j.Unwrap() {
			out = append(out, flatten(e)...)
		}
		return out
	}
	return []error{err}
}
