package registry

import (
	"errors"
	"fmt"
	"maps"
	"slices"
	"sync"
	"sync/atomic"

	"github.com/awaken-go/awaken"
	"github.com/awaken-go/awaken/llm"
	"github.com/awaken-go/awaken/state"
)

// Registry is an immutable set of agents and what they are made of. Each agent is
// resolved once, and its runs share the outcome. A runtime has one registry at a
// time and can be given another by [engine.Runtime.Publish], or has many and chooses; see
// [Snapshots]. Runs keep the one they started with.
type Registry struct {
	id           string
	agents       map[string]*agentSlot
	models       map[string]*awaken.ModelSpec
	breakers     map[string]*llm.Breaker // by model
	pools        map[string]*modelPool
	providers    map[string]llm.Model
	tools        *toolSet
	descriptions map[string]string // of tools, in place of their own
	plugins      map[string]awaken.Plugin
	keys         []state.AnyKey
	backends     map[string]RemoteBackend
	builtin      Builtin
}

// RemoteBackend reaches agents that run elsewhere: whose spec has an endpoint, or a backend
// that is not awaken. They can be delegates.
type RemoteBackend interface {
	// Agent returns what runs the agent of a spec, or what is wrong with the spec. What
	// it returns takes a RunRequest whose RunID it has seen to be the same request again,
	// and goes on with a run that waits when the request has Continue.
	Agent(spec *awaken.AgentSpec) (awaken.Runner, error)
}

// agentSlot is the place of an agent. Registries that are derived from each other share
// those of agents that are the same in both.
type agentSlot struct {
	spec *awaken.AgentSpec
	uses *uses // what it was made of when it was last resolved; nil if it never was
	once sync.Once
	r    atomic.Pointer[Agent]
}

func (s *agentSlot) resolve(reg *Registry) *Agent {
	s.once.Do(func() { s.r.Store(reg.compile(s.spec)) })
	return s.r.Load()
}

// Config configures a Registry. Builtin is needed.
type Config struct {
	ID        string // runs record it as their resolution_id; "" makes one up
	Agents    []*awaken.AgentSpec
	Models    []awaken.ModelSpec
	Pools     []awaken.ModelPoolSpec   // groups of models, which agents name like models
	Providers map[string]llm.Model     // by the provider_id of models
	Tools     []awaken.Tool            // offered to every agent whose catalogue lets them
	Plugins   []awaken.Plugin          // loaded by the agents that list them
	Keys      []state.AnyKey           // of every agent, for tools that keep state without a plugin
	Backends  map[string]RemoteBackend // what reaches agents that run elsewhere, by the kind of their backend
	// Lazy resolves agents when they are first run, so that New does not see their
	// mistakes.
	Lazy bool
	// ToolDescriptions are what models are told about tools, by id, in place of what the
	// tools say themselves.
	ToolDescriptions map[string]string
	// Builtin is what every agent has: that of package builtin, which the engine relies on.
	Builtin Builtin
}

// Builtin returns the state keys and the action handlers that an agent has whatever its
// plugins are.
type Builtin func(spec *awaken.AgentSpec) ([]state.AnyKey, []awaken.ActionHandler)

// New compiles cfg. All mistakes are reported at once, in a *ConfigError; with
// cfg.Lazy, those inside agents when they are run.
func New(cfg Config) (*Registry, error) {
	if cfg.Builtin == nil {
		return nil, errors.New("registry: Builtin is needed: builtin.For")
	}
	empty := &Registry{tools: &toolSet{}, builtin: cfg.Builtin, keys: slices.Clone(cfg.Keys), backends: maps.Clone(cfg.Backends)}
	return empty.derive(&Edit{ID: cfg.ID, Agents: cfg.Agents, Models: cfg.Models, Pools: cfg.Pools, Providers: cfg.Providers,
		Tools: cfg.Tools, Plugins: cfg.Plugins, ToolDescriptions: cfg.ToolDescriptions}, cfg.Lazy)
}

// Empty is the registry of that id when nothing of it is known.
func Empty(id string) *Registry { return &Registry{id: id, tools: &toolSet{}} }

// ID identifies the registry; runs record it as their resolution_id.
func (reg *Registry) ID() string { return reg.id }

// AgentIDs lists the agents.
func (reg *Registry) AgentIDs() []string { return slices.Sorted(maps.Keys(reg.agents)) }

// Agent returns the spec of an agent or of a variant, or nil. It must not be changed.
func (reg *Registry) Agent(id string) *awaken.AgentSpec {
	if slot := reg.agents[id]; slot != nil {
		return slot.spec
	}
	if v := reg.variant(id); v != nil {
		return v.source
	}
	return nil
}

// Remote returns what runs an agent that runs elsewhere, or nil.
func (reg *Registry) Remote(agentID string) awaken.Runner {
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
	return slices.Sorted(maps.Keys(r.Tools))
}

// Sections describes the configuration of the runtime and of every plugin that the agent loads.
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

// Diagnostics returns the warnings about all agents.
func (reg *Registry) Diagnostics() []awaken.Diagnostic {
	var out []awaken.Diagnostic
	for _, id := range reg.AgentIDs() {
		r := reg.resolve(id)
		out = append(append(out, r.problems...), r.warnings...)
	}
	return out
}

// Runnable returns the resolved agent, or why there is none.
func (reg *Registry) Runnable(id string) (*Agent, error) {
	r := reg.resolve(id)
	if r == nil {
		return nil, fmt.Errorf("agent %q: %w, have %q", id, awaken.ErrNotFound, reg.AgentIDs())
	}
	if len(r.problems) > 0 {
		return nil, &awaken.ConfigError{Problems: r.problems}
	}
	if r.remote != nil {
		return nil, fmt.Errorf("%w: agent %q runs elsewhere, and can only be a delegate", awaken.ErrInvalid, id)
	}
	return r, nil
}

func (reg *Registry) resolve(id string) *Agent {
	if slot := reg.agents[id]; slot != nil {
		return slot.resolve(reg)
	}
	return reg.variant(id)
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
