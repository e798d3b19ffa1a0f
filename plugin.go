package awaken

import (
	"context"
	"encoding/json"

	"github.com/awaken-go/awaken/internal/toolname"
	"github.com/awaken-go/awaken/state"
)

// Plugin adds behaviour to the agents that list it in plugin_ids.
//
// The registry calls Register once for each agent that loads the plugin, when it resolves
// the agent. All runs of the agent share the result, so values of a run belong in state keys,
// not in the plugin.
type Plugin interface {
	// Name returns the plugin's id.
	Name() string
	// Register declares what the plugin contributes to the agent r.Agent.
	Register(r *Registrar) error
}

// Activator is a plugin that sets up state when a run starts to use an agent: at the start of
// the run, and after a handoff.
type Activator interface {
	// Activate records the initial state in h. An error ends the run.
	Activate(ctx context.Context, h *HookCall) error
}

// Deactivator is a plugin that cleans up when a handoff moves a run to another agent.
type Deactivator interface {
	// Deactivate records the final state in h. An error ends the run.
	Deactivate(ctx context.Context, h *HookCall) error
}

// Applier is a plugin that agents load without listing it, because another part of their spec
// needs it. active_hook_filter does not apply to it.
type Applier interface {
	// Applies reports whether the agent needs the plugin.
	Applies(spec *AgentSpec) bool
}

// Registrar collects the contributions of one plugin to one agent. Its methods return no
// errors: the registry reports duplicates and other problems together, when it resolves the
// agent.
type Registrar struct {
	// Agent is the agent that loads the plugin. Read the plugin's Section from it.
	Agent *AgentSpec
	// Models finds the models of the same registry by their ids; it returns nil for an unknown one.
	// Call it only in Register. Nil finds none. The caller must not change what it returns.
	Models func(id string) *ModelSpec
	// Names are the tools that the agent knows, by every name that people may write. It is empty until the agent's
	// tools are collected: use it in hooks, gates, reviews and other functions that are called later.
	Names *toolname.Names

	lookup func(agentID string) *AgentSpec
	made   Contributions
}

// NewRegistrar returns a registrar for a plugin that agent loads. Lookup finds other agents;
// nil finds none. It is for code that loads plugins: the registry, or the test of a plugin.
func NewRegistrar(agent *AgentSpec, lookup func(agentID string) *AgentSpec) *Registrar {
	return &Registrar{Agent: agent, Names: new(toolname.Names), lookup: lookup, made: Contributions{
		Hooks: map[Phase][]Hook{}, Guards: map[GuardPoint][]Guard{}, Reviews: map[string][]func(map[string]json.RawMessage) []string{}, Variants: map[string][]Overlay{}}}
}

// Contributions returns what the plugin has registered so far.
func (r *Registrar) Contributions() *Contributions { return &r.made }

// Contributions are the contributions of one plugin to one agent: the arguments of the
// Registrar's methods, unchecked.
type Contributions struct {
	Sections   []AnySection
	Keys       []state.AnyKey
	Hooks      map[Phase][]Hook
	Gates      []Gate
	Guards     map[GuardPoint][]Guard
	Reviews    map[string][]func(tools map[string]json.RawMessage) []string // by code
	Hidden     []func(tool string) bool
	Tools      []Tool
	Transforms []Transform
	Policies   []StopPolicy
	Answers    []func(text string) error
	Variants   map[string][]Overlay // by name
	Actions    []ActionHandler
	Effects    []EffectHandler
	Away       []string // MCP servers
}

// Lookup returns the spec of an agent of the same registry, or nil. The caller must not
// change it.
func (r *Registrar) Lookup(agentID string) *AgentSpec {
	if r.lookup == nil {
		return nil
	}
	return r.lookup(agentID)
}

// Section declares the plugin's configuration. Read it with [Section.Read] from r.Agent.
func (r *Registrar) Section(s AnySection) { r.made.Sections = append(r.made.Sections, s) }

// Key registers state keys.
func (r *Registrar) Key(keys ...state.AnyKey) { r.made.Keys = append(r.made.Keys, keys...) }

// On calls h at phase p.
func (r *Registrar) On(p Phase, h Hook) { r.made.Hooks[p] = append(r.made.Hooks[p], h) }

// Gate calls g for every tool call. All gates are asked; see [Verdict].
func (r *Registrar) Gate(g Gate) { r.made.Gates = append(r.made.Gates, g) }

// Guard calls g for all content that passes the point p. Guards are asked in the order of
// their registration, until one does not allow the content.
func (r *Registrar) Guard(p GuardPoint, g Guard) { r.made.Guards[p] = append(r.made.Guards[p], g) }

// Review calls f after the agent's tools are resolved, with the JSON Schemas of their
// arguments, by tool id. The messages that f returns become warnings with that code.
func (r *Registrar) Review(code string, f func(tools map[string]json.RawMessage) []string) {
	r.made.Reviews[code] = append(r.made.Reviews[code], f)
}

// Hide hides tools from the model and from other plugins. Hiding does not forbid: if the
// model calls a hidden tool, the call runs. To forbid a tool, add a gate.
func (r *Registrar) Hide(hidden func(tool string) bool) {
	r.made.Hidden = append(r.made.Hidden, hidden)
}

// Tool adds tools to the agent.
func (r *Registrar) Tool(tools ...Tool) { r.made.Tools = append(r.made.Tools, tools...) }

// Away says that the tools of an MCP server are not known, because it is not connected. Names that match no tool are
// then reported as not known yet.
func (r *Registrar) Away(server string) { r.made.Away = append(r.made.Away, server) }

// Transform calls t for every request to the agent's model.
func (r *Registrar) Transform(t Transform) { r.made.Transforms = append(r.made.Transforms, t) }

// CheckAnswer calls check with every answer of the agent that is text and has no output schema. If it fails, the
// model is told the error and answers again, up to [AgentSpec.MaxOutputRepairs] times in a run; then, and in the last of
// its rounds, the answer counts as it is. Check has no side effects.
func (r *Registrar) CheckAnswer(check func(text string) error) {
	r.made.Answers = append(r.made.Answers, check)
}

// Stop adds a stop policy.
func (r *Registrar) Stop(p StopPolicy) { r.made.Policies = append(r.made.Policies, p) }

// Variant adds a variant of the agent, which differs from it by o. A handoff to its
// [AgentSpec.VariantID] works like one to any agent. Variants have no variants.
func (r *Registrar) Variant(name string, o Overlay) {
	r.made.Variants[name] = append(r.made.Variants[name], o)
}

// Handle registers the handler of an action; see [Action.Handler].
func (r *Registrar) Handle(h ActionHandler) { r.made.Actions = append(r.made.Actions, h) }

// HandleEffect registers the handler of an effect; see [Effect.Handler].
func (r *Registrar) HandleEffect(h EffectHandler) { r.made.Effects = append(r.made.Effects, h) }
