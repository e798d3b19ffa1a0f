package awaken

import (
	"context"
	"encoding/json"

	"github.com/awaken-go/awaken/state"
)

// Plugin adds behaviour to the agents that list it in plugin_ids.
//
// A plugin is registered once for each agent that loads it, when the agent is
// resolved, and shared by all of the agent's runs: per-run values belong in state
// keys, not in the plugin.
type Plugin interface {
	// Name is the plugin's id.
	Name() string
	// Register says what the plugin contributes.
	Register(r *Registrar) error
}

// Activator is a plugin that wants to set up state when a run takes up an agent:
// at its start, and after a handoff.
type Activator interface {
	Activate(ctx context.Context, h *HookCall) error
}

// Deactivator is a plugin that wants to clean up when a handoff takes a run away
// from its agent.
type Deactivator interface {
	Deactivate(ctx context.Context, h *HookCall) error
}

// Applier is a plugin that agents load without listing it, because something else in
// their spec asks for it. It is not subject to active_hook_filter.
type Applier interface {
	// Applies reports whether the agent needs the plugin.
	Applies(spec *AgentSpec) bool
}

// Registrar collects what one plugin contributes to one agent. Its methods return
// no errors: duplicates and other mistakes are reported together, when the agent is
// resolved.
type Registrar struct {
	// Agent is the agent that loads the plugin. Sections can be read from it.
	Agent *AgentSpec

	lookup func(agentID string) *AgentSpec
	made   Contributions
}

// NewRegistrar returns a registrar for a plugin that agent loads. Lookup finds the other
// agents; nil finds none. It is for those that load plugins: a registry, or the test of a
// plugin.
func NewRegistrar(agent *AgentSpec, lookup func(agentID string) *AgentSpec) *Registrar {
	return &Registrar{Agent: agent, lookup: lookup, made: Contributions{
		Hooks: map[Phase][]Hook{}, Guards: map[Border][]Guard{}, Reviews: map[string][]func(map[string]json.RawMessage) []string{}, Variants: map[string][]Overlay{}}}
}

// Contributions is what the plugin has registered so far.
func (r *Registrar) Contributions() *Contributions { return &r.made }

// Contributions is what one plugin contributes to one agent: the arguments of the
// Registrar's methods, unchecked.
type Contributions struct {
	Sections   []AnySection
	Keys       []state.AnyKey
	Hooks      map[Phase][]Hook
	Gates      []Gate
	Guards     map[Border][]Guard
	Reviews    map[string][]func(tools map[string]json.RawMessage) []string // by code
	Hidden     []func(tool string) bool
	Tools      []Tool
	Transforms []Transform
	Policies   []StopPolicy
	Variants   map[string][]Overlay // by name
	Actions    []ActionHandler
	Effects    []EffectHandler
}

// Lookup returns the spec of an agent of the same registry, or nil. It must not be
// changed.
func (r *Registrar) Lookup(agentID string) *AgentSpec {
	if r.lookup == nil {
		return nil
	}
	return r.lookup(agentID)
}

// Section announces the plugin's configuration.
func (r *Registrar) Section(s AnySection) { r.made.Sections = append(r.made.Sections, s) }

// Key registers state keys.
func (r *Registrar) Key(keys ...state.AnyKey) { r.made.Keys = append(r.made.Keys, keys...) }

// On calls h at phase p.
func (r *Registrar) On(p Phase, h Hook) { r.made.Hooks[p] = append(r.made.Hooks[p], h) }

// Gate asks g about every tool call.
func (r *Registrar) Gate(g Gate) { r.made.Gates = append(r.made.Gates, g) }

// Guard asks g about everything that passes the border.
func (r *Registrar) Guard(b Border, g Guard) { r.made.Guards[b] = append(r.made.Guards[b], g) }

// Review calls f when it is known which tools the agent has, with the JSON Schemas of
// their arguments. What f returns are warnings about the agent, with that code.
func (r *Registrar) Review(code string, f func(tools map[string]json.RawMessage) []string) {
	r.made.Reviews[code] = append(r.made.Reviews[code], f)
}

// Hide keeps tools from the model, and from what other plugins see of the tools. A
// model that calls one all the same is answered as always, so whoever hides a tool
// because it must not be used has to say so with a gate too.
func (r *Registrar) Hide(hidden func(tool string) bool) {
	r.made.Hidden = append(r.made.Hidden, hidden)
}

// Tool adds tools.
func (r *Registrar) Tool(tools ...Tool) { r.made.Tools = append(r.made.Tools, tools...) }

// Transform lets t change every request.
func (r *Registrar) Transform(t Transform) { r.made.Transforms = append(r.made.Transforms, t) }

// Stop adds a stop policy.
func (r *Registrar) Stop(p StopPolicy) { r.made.Policies = append(r.made.Policies, p) }

// Variant makes a variant of the agent: the same agent, but for what o says. A thread
// is handed to it like to any agent, by its [VariantID]. Variants have no variants.
func (r *Registrar) Variant(name string, o Overlay) {
	r.made.Variants[name] = append(r.made.Variants[name], o)
}

// Handle handles the actions of one name.
func (r *Registrar) Handle(h ActionHandler) { r.made.Actions = append(r.made.Actions, h) }

// HandleEffect handles the effects of one name.
func (r *Registrar) HandleEffect(h EffectHandler) { r.made.Effects = append(r.made.Effects, h) }
