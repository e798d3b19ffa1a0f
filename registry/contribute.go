package registry

import (
	"encoding/json"
	"fmt"
	"maps"
	"slices"
	"strings"

	"github.com/awaken-go/awaken"
)

// contribute registers a plugin with the agent and adds its contributions.
func (r *Agent) contribute(reg *Registry, p awaken.Plugin, id string) {
	rg := awaken.NewRegistrar(r.Spec, func(agentID string) *awaken.AgentSpec {
		r.uses.agents = append(r.uses.agents, agentID)
		if slot := reg.agents[agentID]; slot != nil {
			return slot.spec
		}
		return nil
	})
	rg.Names = r.names
	if v, ok := p.(Reviser); ok {
		r.revisers = append(r.revisers, revised{v, v.Revision()})
	}
	rg.Models = func(id string) *awaken.ModelSpec {
		r.uses.models = append(r.uses.models, id)
		return reg.models[id]
	}
	err := guarded(func() error { return p.Register(rg) })
	if bad := guarded(func() error { r.add(reg, id, rg.Contributions()); return nil }); err == nil {
		err = bad
	}
	if err != nil {
		r.problem("plugin_failed", "plugin %q: %v", id, err)
	}
}

// guarded calls code of a plugin. It returns a panic as an error.
func guarded(f func() error) (err error) {
	defer func() {
		if v := recover(); v != nil {
			err = fmt.Errorf("register panicked: %v", v)
		}
	}()
	return f()
}

// add adds the contributions of a plugin. Plugins that active_hook_filter leaves out
// contribute only sections, keys and handlers.
func (r *Agent) add(reg *Registry, id string, c *awaken.Contributions) {
	filter := r.Spec.ActiveHookFilter
	active := len(filter) == 0 || slices.Contains(filter, id) || !slices.Contains(r.Spec.PluginIDs, id)
	r.declare(id, c)
	r.check(id, c)
	if active {
		r.behave(id, c)
		for _, t := range c.Tools {
			r.addTool(reg, t, sourceOf(id))
		}
		r.away = append(r.away, c.Away...)
		for _, name := range slices.Sorted(maps.Keys(c.Variants)) {
			for _, o := range c.Variants[name] {
				r.addVariant(id, name, o)
			}
		}
	}
	r.handle(id, c)
}

// sourceOf names a plugin as the source of a tool.
func sourceOf(plugin string) string { return fmt.Sprintf("plugin %q", plugin) }

// declare adds sections and state keys.
func (r *Agent) declare(plugin string, c *awaken.Contributions) {
	for _, s := range c.Sections {
		d := s.Describe()
		if owner, ok := r.sectionOwner[d.Key]; ok {
			r.problem("section_conflict", "section %q is declared by plugins %q and %q", d.Key, owner, plugin)
			continue
		}
		r.sectionOwner[d.Key] = plugin
		r.sections = append(r.sections, s)
	}
	r.keys = append(r.keys, c.Keys...)
}

// check reports contributions that can never work, even of inactive plugins.
func (r *Agent) check(plugin string, c *awaken.Contributions) {
	for _, p := range slices.Sorted(maps.Keys(c.Hooks)) {
		for _, h := range c.Hooks[p] {
			if p > awaken.PhaseRunEnd || h == nil {
				r.problem("bad_hook", "plugin %q registers a hook that is nil or for an unknown phase (%d)", plugin, p)
			}
		}
	}
	for _, g := range c.Gates {
		if g == nil {
			r.problem("bad_gate", "plugin %q registers a nil gate", plugin)
		}
	}
	for _, check := range c.Answers {
		if check == nil {
			r.problem("bad_check", "plugin %q registers a nil check of answers", plugin)
		}
	}
	for _, b := range slices.Sorted(maps.Keys(c.Guards)) {
		for _, g := range c.Guards[b] {
			if b != awaken.InputPoint && b != awaken.OutputPoint && b != awaken.ResultPoint || g == nil {
				r.problem("bad_guard", "plugin %q registers a guard that is nil or at an unknown point (%q), want input, output or tool_result", plugin, b)
			}
		}
	}
}

// behave adds what the plugin does in runs. Contributions that check rejects do no harm: their
// agent cannot run.
func (r *Agent) behave(plugin string, c *awaken.Contributions) {
	for p := range r.Hooks {
		for _, h := range c.Hooks[awaken.Phase(p)] {
			r.Hooks[p] = append(r.Hooks[p], Hook{plugin, h})
		}
	}
	for _, g := range c.Gates {
		r.Gates = append(r.Gates, Gate{plugin, g})
	}
	for b, guards := range c.Guards {
		for _, g := range guards {
			r.Guards[b] = append(r.Guards[b], Guard{plugin, g})
		}
	}
	for _, t := range c.Transforms {
		r.Transforms = append(r.Transforms, Transform{plugin, t})
	}
	for _, code := range slices.Sorted(maps.Keys(c.Reviews)) {
		for _, f := range c.Reviews[code] {
			r.reviews = append(r.reviews, review{plugin, code, f})
		}
	}
	for _, f := range c.Hidden {
		r.hidden = append(r.hidden, hider{plugin, f})
	}
	r.Policies = append(r.Policies, c.Policies...)
	r.Answers = append(r.Answers, c.Answers...)
}

// addVariant adds a variant, which compile resolves later. Variants have no variants.
func (r *Agent) addVariant(plugin, name string, o awaken.Overlay) {
	switch {
	case r.Spec.Base() != r.Spec.ID:
	case strings.TrimSpace(name) == "" || strings.Contains(name, separator):
		r.problem("bad_variant", "plugin %q adds variant %q, want a name that is not empty and does not contain %q", plugin, name, separator)
	case r.variants[name] != nil:
		r.problem("variant_conflict", "variant %q is added twice, the second time by plugin %q", name, plugin)
	default:
		r.variants[name] = &Agent{source: o.Over(r.source, name)}
	}
}

// handle adds the handlers of actions and effects.
func (r *Agent) handle(plugin string, c *awaken.Contributions) {
	for _, h := range c.Actions {
		if _, dup := r.Actions[h.Name()]; dup {
			r.problem("action_conflict", "plugin %q handles action %q, which already has a handler", plugin, h.Name())
			continue
		}
		r.Actions[h.Name()] = Action{plugin, h}
	}
	for _, h := range c.Effects {
		if _, dup := r.Effects[h.Name()]; dup {
			r.problem("effect_conflict", "plugin %q handles effect %q, which already has a handler", plugin, h.Name())
			continue
		}
		r.Effects[h.Name()] = Effect{plugin, h}
	}
}

// review inspects the tools of an agent and returns warnings, which get that code.
type review struct {
	plugin, code string
	f            func(tools map[string]json.RawMessage) []string
}

// run returns the review's warnings. It returns a panic as an error.
func (rv *review) run(tools map[string]json.RawMessage) (messages []string, err error) {
	defer caught(&err, "review %q of plugin %q", rv.code, rv.plugin)
	return rv.f(tools), nil
}
