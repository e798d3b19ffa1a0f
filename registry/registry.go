package registry

import (
	"encoding/json"
	"errors"
	"fmt"
	"maps"
	"slices"
	"sync"
	"sync/atomic"

	"github.com/awaken-go/awaken"
	"github.com/awaken-go/awaken/internal/toolname"
	"github.com/awaken-go/awaken/llm"
	"github.com/awaken-go/awaken/state"
)

// Registry is an immutable set of agents, with the models, providers, plugins and tools that
// they use. It resolves each agent once. A runtime has one registry, which
// engine.Runtime.Publish replaces, or chooses one for each run with [Versions]. A run keeps
// the registry that it started with.
type Registry struct {
	id           string
	agents       map[string]*agentSlot
	models       map[string]*awaken.ModelSpec
	breakers     map[string]*llm.Breaker // by model id
	pools        map[string]*modelPool
	providers    map[string]llm.Model
	tools        *toolSet
	descriptions map[string]string // of tools, by id, replacing their own
	away         []string          // MCP servers whose tools are not known yet
	plugins      map[string]awaken.Plugin
	keys         []state.AnyKey
	backends     map[string]RemoteBackend
	builtin      Builtin
	pricing      Pricing
	later        *atomic.Pointer[Registry] // supersedes it; nil if none can
}

// agentSlot holds an agent and, once it is resolved, the result. Derived registries share the
// slots of unchanged agents.
type agentSlot struct {
	spec *awaken.AgentSpec
	uses *uses // dependencies when it was last resolved; nil if it never was
	once sync.Once
	r    atomic.Pointer[Agent]
}

func (s *agentSlot) resolve(reg *Registry) *Agent {
	s.once.Do(func() { s.r.Store(reg.compile(s.spec)) })
	r := s.r.Load()
	if (len(r.revisers) > 0 || len(r.variants) > 0) && r.stale() {
		s.r.CompareAndSwap(r, reg.compile(s.spec))
		r = s.r.Load()
	}
	return r
}

// Config configures a [Registry]. Builtin is required.
type Config struct {
	ID        string // recorded by runs as their resolution_id; "" generates one
	Agents    []*awaken.AgentSpec
	Models    []awaken.ModelSpec
	Pools     []awaken.ModelPoolSpec   // groups of models, named by agents like models
	Providers map[string]llm.Model     // by provider id
	Tools     []awaken.Tool            // offered to every agent whose catalogue allows them
	Plugins   []awaken.Plugin          // loaded by the agents that list them
	Keys      []state.AnyKey           // keys of every agent, for tools that keep state without a plugin
	Backends  map[string]RemoteBackend // by the backend kind of remote agents
	// Lazy defers resolving agents to their first run. New then does not report their
	// problems.
	Lazy bool
	// ToolDescriptions replace the descriptions of tools, by id.
	ToolDescriptions map[string]string
	// Builtin returns the keys and handlers of every agent. The engine requires builtin.For.
	Builtin Builtin
	// Pricing is the runtime's rule for models without prices. Agents that have one get a warning unless it is
	// PricesOptional.
	Pricing Pricing
}

// Builtin returns the state keys and action handlers that an agent has independent of its
// plugins.
type Builtin func(spec *awaken.AgentSpec) ([]state.AnyKey, []awaken.ActionHandler)

// New returns a registry, or an *awaken.ConfigError that lists all problems of cfg. With
// cfg.Lazy, problems of agents are reported when they run.
func New(cfg Config) (*Registry, error) {
	if cfg.Builtin == nil {
		return nil, errors.New("registry: Config.Builtin is nil; set it to builtin.For")
	}
	empty := &Registry{tools: &toolSet{}, builtin: cfg.Builtin, pricing: cfg.Pricing, keys: slices.Clone(cfg.Keys)}
	return empty.derive(&Edit{ID: cfg.ID, Agents: cfg.Agents, Models: cfg.Models, Pools: cfg.Pools, Providers: cfg.Providers,
		Tools: cfg.Tools, Plugins: cfg.Plugins, Backends: cfg.Backends, ToolDescriptions: cfg.ToolDescriptions}, cfg.Lazy)
}

// Empty returns a registry with that id and nothing else. It stands for a version that could
// not be loaded.
func Empty(id string) *Registry { return &Registry{id: id, tools: &toolSet{}} }

// ID returns the id of the registry. Runs record it as their resolution_id.
func (reg *Registry) ID() string { return reg.id }

// AgentIDs returns the sorted ids of the agents, without variants.
func (reg *Registry) AgentIDs() []string { return slices.Sorted(maps.Keys(reg.agents)) }

// Agent returns the spec of an agent or of a variant, or nil. The caller must not change it.
func (reg *Registry) Agent(id string) *awaken.AgentSpec {
	if slot := reg.agents[id]; slot != nil {
		return slot.spec
	}
	if v := reg.variant(id); v != nil {
		return v.source
	}
	return nil
}

// ToolIDs returns the sorted ids of the tools that an agent is offered.
func (reg *Registry) ToolIDs(agentID string) []string {
	r := reg.resolve(agentID)
	if r == nil {
		return nil
	}
	return slices.Sorted(maps.Keys(r.Tools))
}

// Names returns the names of the tools that an agent knows, whether or not its catalogue allows them. Without such an
// agent it returns the names of all tools that do not come from plugins.
func (reg *Registry) Names(agentID string) *toolname.Names {
	if r := reg.resolve(agentID); r != nil {
		return r.names
	}
	n := new(toolname.Names)
	n.Set(reg.tools.names(), namesOf(nil), reg.away)
	return n
}

// Offered returns the tools of an agent that are not hidden, sorted by id, or nil if the agent cannot run here.
func (reg *Registry) Offered(agentID string) []awaken.ToolSpec {
	a, err := reg.Runnable(agentID)
	if err != nil {
		return nil
	}
	out := make([]awaken.ToolSpec, 0, len(a.Offered))
	for i := range a.Offered {
		if t := a.Tools[a.Offered[i].Name]; t != nil {
			out = append(out, t.Spec)
		}
	}
	return out
}

// Reach returns the effect of a tool of an agent, and where a call carries data to. A tool that is not known has effects and may
// reach any host.
func (reg *Registry) Reach(agentID, tool string, args json.RawMessage) (awaken.EffectClass, awaken.Egress) {
	t := reg.tools.byID[tool]
	if r := reg.resolve(agentID); r != nil && r.Tools[tool] != nil {
		t = r.Tools[tool]
	}
	if t == nil {
		return awaken.Effectful, awaken.Egress{}
	}
	return t.Spec.Effect, t.Egress(args)
}

// Sections describes the sections of the runtime and of the plugins that the agent loads.
func (reg *Registry) Sections(agentID string) []awaken.SectionSchema {
	r := reg.resolve(agentID)
	if r == nil {
		return nil
	}
	var out []awaken.SectionSchema
	for _, s := range r.sections {
		out = append(out, s.Describe())
	}
	return out
}

// Diagnostics returns the problems and warnings of all agents.
func (reg *Registry) Diagnostics() []awaken.Diagnostic {
	var out []awaken.Diagnostic
	for _, id := range reg.AgentIDs() {
		r := reg.resolve(id)
		out = append(append(out, r.problems...), r.warnings...)
	}
	return out
}

// Warnings returns the warnings of one agent, none if there is no such agent.
func (reg *Registry) Warnings(agentID string) []awaken.Diagnostic {
	if r := reg.resolve(agentID); r != nil {
		return r.warnings
	}
	return nil
}

// Runnable returns a resolved agent. It returns ErrNotFound if the agent does not exist, and an
// *awaken.ConfigError if it has problems.
func (reg *Registry) Runnable(id string) (*Agent, error) {
	r := reg.resolve(id)
	if r == nil {
		return nil, fmt.Errorf("agent %q %w; available: %q", id, awaken.ErrNotFound, reg.AgentIDs())
	}
	if len(r.problems) > 0 {
		return nil, &awaken.ConfigError{Problems: r.problems}
	}
	return r, nil
}

func (reg *Registry) resolve(id string) *Agent {
	if slot := reg.agents[id]; slot != nil {
		return slot.resolve(reg)
	}
	return reg.variant(id)
}

// flatten returns the errors that were joined in err.
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
