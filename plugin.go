package awaken

import (
	"context"
	"encoding/json"
	"fmt"
	"strings"

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
// no errors: duplicates and other mistakes are collected and reported together.
type Registrar struct {
	// Agent is the agent that loads the plugin. Sections can be read from it.
	Agent *AgentSpec

	plugin string
	active bool // contributes hooks, gates, tools and transforms
	to     *resolved
	reg    *Registry
}

// Lookup returns the spec of an agent of the same registry, or nil. It must not be
// changed.
func (r *Registrar) Lookup(agentID string) *AgentSpec {
	r.to.uses.agents = append(r.to.uses.agents, agentID)
	if slot := r.reg.agents[agentID]; slot != nil {
		return slot.spec
	}
	return nil
}

// Section announces the plugin's configuration.
func (r *Registrar) Section(s AnySection) {
	d := s.Describe()
	if owner, ok := r.to.sectionOwner[d.Key]; ok {
		r.to.problem("section_conflict", "section %q is declared by plugins %q and %q", d.Key, owner, r.plugin)
		return
	}
	r.to.sectionOwner[d.Key] = r.plugin
	r.to.sections = append(r.to.sections, s)
}

// Key registers state keys.
func (r *Registrar) Key(keys ...state.AnyKey) { r.to.keys = append(r.to.keys, keys...) }

// On calls h at phase p.
func (r *Registrar) On(p Phase, h Hook) {
	if p >= phaseCount || h == nil {
		r.to.problem("bad_hook", "plugin %q registers a hook that is nil, or for a phase that does not exist (%d)", r.plugin, p)
		return
	}
	if r.active {
		r.to.hooks[p] = append(r.to.hooks[p], ownedHook{r.plugin, h})
	}
}

// Gate asks g about every tool call.
func (r *Registrar) Gate(g Gate) {
	if g == nil {
		r.to.problem("bad_gate", "plugin %q registers a gate that is nil", r.plugin)
		return
	}
	if r.active {
		r.to.gates = append(r.to.gates, ownedGate{r.plugin, g})
	}
}

// Guard asks g about everything that passes the border.
func (r *Registrar) Guard(b Border, g Guard) {
	if b != InputBorder && b != OutputBorder && b != ResultBorder || g == nil {
		r.to.problem("bad_guard", "plugin %q registers a guard that is nil, or for the border %q, want input, output or tool_result", r.plugin, b)
		return
	}
	if r.active {
		if r.to.guards == nil {
			r.to.guards = map[Border][]ownedGuard{}
		}
		r.to.guards[b] = append(r.to.guards[b], ownedGuard{r.plugin, g})
	}
}

// Review calls f when it is known which tools the agent has, with the JSON Schemas of
// their arguments. What f returns are warnings about the agent, with that code.
func (r *Registrar) Review(code string, f func(tools map[string]json.RawMessage) []string) {
	if r.active {
		r.to.reviews = append(r.to.reviews, review{code, f})
	}
}

type review struct {
	code string
	f    func(tools map[string]json.RawMessage) []string
}

// Hide keeps tools from the model, and from what other plugins see of the tools. A
// model that calls one all the same is answered as always, so whoever hides a tool
// because it must not be used has to say so with a gate too.
func (r *Registrar) Hide(hidden func(tool string) bool) {
	if r.active {
		r.to.hidden = append(r.to.hidden, hidden)
	}
}

// Tool adds tools.
func (r *Registrar) Tool(tools ...Tool) {
	if r.active {
		for _, t := range tools {
			r.to.addTool(r.reg, t, fmt.Sprintf("plugin %q", r.plugin))
		}
	}
}

// Transform lets t change every request.
func (r *Registrar) Transform(t Transform) {
	if r.active {
		r.to.transforms = append(r.to.transforms, ownedTransform{r.plugin, t})
	}
}

// Stop adds a stop policy.
func (r *Registrar) Stop(p StopPolicy) {
	if r.active {
		r.to.policies = append(r.to.policies, p)
	}
}

// Variant makes a variant of the agent: the same agent, but for what o says. A thread
// is handed to it like to any agent, by its [VariantID]. Variants have no variants.
func (r *Registrar) Variant(name string, o Overlay) {
	switch {
	case !r.active || r.Agent.base != "":
	case strings.TrimSpace(name) == "" || strings.Contains(name, variantMark):
		r.to.problem("bad_variant", "plugin %q makes a variant named %q: the name is empty or has a %q in it", r.plugin, name, variantMark)
	case r.to.variants[name] != nil:
		r.to.problem("variant_conflict", "variant %q is made twice, the second time by plugin %q", name, r.plugin)
	default:
		if r.to.variants == nil {
			r.to.variants = map[string]*resolved{}
		}
		r.to.variants[name] = &resolved{source: o.over(r.to.source, name)} // compile completes it
	}
}

// Handle handles the actions of one name.
func (r *Registrar) Handle(h ActionHandler) {
	if _, dup := r.to.actions[h.name]; dup {
		r.to.problem("action_conflict", "plugin %q handles action %q, which has a handler already", r.plugin, h.name)
		return
	}
	r.to.actions[h.name] = ownedAction{r.plugin, h}
}

// HandleEffect handles the effects of one name.
func (r *Registrar) HandleEffect(h EffectHandler) {
	if _, dup := r.to.effects[h.name]; dup {
		r.to.problem("effect_conflict", "plugin %q handles effect %q, which has a handler already", r.plugin, h.name)
		return
	}
	r.to.effects[h.name] = ownedEffect{r.plugin, h}
}

type (
	ownedHook struct {
		plugin string
		Hook
	}
	ownedGate struct {
		plugin string
		Gate
	}
	ownedTransform struct {
		plugin string
		Transform
	}
	ownedAction struct {
		plugin string
		ActionHandler
	}
	ownedEffect struct {
		plugin string
		EffectHandler
	}
)
