package registry

import (
	"maps"
	"slices"
	"strings"

	"github.com/awaken-go/awaken"
)

// Models lists the models, by id. They must not be changed.
func (reg *Registry) Models() []*awaken.ModelSpec {
	out := slices.Collect(maps.Values(reg.models))
	slices.SortFunc(out, func(a, b *awaken.ModelSpec) int { return strings.Compare(a.ID, b.ID) })
	return out
}

// HasModel reports whether agents can name a model or a pool of that id.
func (reg *Registry) HasModel(id string) bool { return reg.models[id] != nil || reg.pools[id] != nil }

// ProviderIDs lists the providers.
func (reg *Registry) ProviderIDs() []string { return slices.Sorted(maps.Keys(reg.providers)) }

// Backends lists the kinds of backends, beside awaken, that agents can run on.
func (reg *Registry) Backends() []string { return slices.Sorted(maps.Keys(reg.backends)) }

// Tools lists the tools that do not come from plugins, by id, as models are told about
// them.
func (reg *Registry) Tools() []awaken.ToolSpec {
	out := make([]awaken.ToolSpec, len(reg.tools.ids))
	for i, id := range reg.tools.ids {
		e := reg.tools.byID[id]
		out[i] = e.Spec
		out[i].Description = e.Desc.Description
	}
	return out
}

// PluginInfo describes a plugin to the outside.
type PluginInfo struct {
	ID       string
	Sections []awaken.SectionSchema
}

// Plugins lists the plugins that agents may load, by id, with the sections that configure
// them.
func (reg *Registry) Plugins() []PluginInfo {
	var out []PluginInfo
	for _, id := range slices.Sorted(maps.Keys(reg.plugins)) {
		// A plugin declares its sections to any agent. What else it makes of one without
		// any, also that it does not like it, does not matter here.
		r := newResolved(&awaken.AgentSpec{ID: "?"})
		r.contribute(reg, reg.plugins[id], id)
		info := PluginInfo{ID: id}
		for _, s := range r.sections {
			info.Sections = append(info.Sections, s.Describe())
		}
		out = append(out, info)
	}
	return out
}
