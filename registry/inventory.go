package registry

import (
	"maps"
	"slices"
	"strings"

	"github.com/awaken-go/awaken"
)

// Models returns the models, ordered by id. The caller must not change them.
func (reg *Registry) Models() []*awaken.ModelSpec {
	out := slices.Collect(maps.Values(reg.models))
	slices.SortFunc(out, func(a, b *awaken.ModelSpec) int { return strings.Compare(a.ID, b.ID) })
	return out
}

// HasModel reports whether there is a model or a pool with that id.
func (reg *Registry) HasModel(id string) bool { return reg.models[id] != nil || reg.pools[id] != nil }

// HasPool reports whether there is a pool with that id.
func (reg *Registry) HasPool(id string) bool { return reg.pools[id] != nil }

// ProviderIDs returns the sorted ids of the providers.
func (reg *Registry) ProviderIDs() []string { return slices.Sorted(maps.Keys(reg.providers)) }

// Backends returns the sorted kinds of remote backends.
func (reg *Registry) Backends() []string { return slices.Sorted(maps.Keys(reg.backends)) }

// Backend returns the remote backend of a kind, or nil.
func (reg *Registry) Backend(kind string) RemoteBackend { return reg.backends[kind] }

// Tools returns the tools that do not come from plugins, ordered by id, with the descriptions
// that models see.
func (reg *Registry) Tools() []awaken.ToolSpec {
	out := make([]awaken.ToolSpec, len(reg.tools.ids))
	for i, id := range reg.tools.ids {
		e := reg.tools.byID[id]
		out[i] = e.Spec
		out[i].Description = e.Desc.Description
	}
	return out
}

// PluginInfo describes a plugin to clients.
type PluginInfo struct {
	ID       string
	Sections []awaken.SectionSchema
}

// Plugins returns the plugins that agents can load, ordered by id, with their sections.
func (reg *Registry) Plugins() []PluginInfo {
	var out []PluginInfo
	for _, id := range slices.Sorted(maps.Keys(reg.plugins)) {
		// A plugin declares its sections to any agent. Its other contributions and its
		// errors do not matter here.
		r := newAgent(&awaken.AgentSpec{ID: "?"})
		r.contribute(reg, reg.plugins[id], id)
		info := PluginInfo{ID: id}
		for _, s := range r.sections {
			info.Sections = append(info.Sections, s.Describe())
		}
		out = append(out, info)
	}
	return out
}
