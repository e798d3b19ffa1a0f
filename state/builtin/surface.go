package builtin

import (
	"cmp"
	"maps"
	"slices"

	"github.com/awaken-go/awaken/state"
)

// maxSurfaces is the number of surfaces that a thread remembers. The oldest are forgotten first.
const maxSurfaces = 64

// Surfaces holds the user interfaces that agents have drawn on a thread, by ID, with the actions that they offer. Protocols check the
// actions of users against it.
var Surfaces = state.NewKey("generative_ui.surfaces", changeSurfaces, state.Options{Scope: state.Thread, Merge: state.Commutative})

// Surface is a user interface that an agent has drawn.
type Surface struct {
	Format    string `json:"format"`            // a2ui, json-render or openui-lang
	Version   string `json:"version,omitempty"` // of A2UI
	CatalogID string `json:"catalog_id,omitempty"`
	// Actions lists the names of the actions of each component. Components without actions are omitted.
	Actions map[string][]string `json:"actions,omitempty"`
	Drawn   int                 `json:"drawn"` // grows with each new surface of the thread
}

// SurfaceChange changes one surface. A change of an unknown surface creates it.
type SurfaceChange struct {
	ID     string
	Delete bool
	// Format, Version and CatalogID, unless empty, replace the values of the surface.
	Format, Version, CatalogID string
	// Actions replaces the actions of the components that it names.
	Actions map[string][]string
}

func changeSurfaces(was map[string]Surface, changes []SurfaceChange) map[string]Surface {
	out := maps.Clone(was)
	if out == nil {
		out = map[string]Surface{}
	}
	last := 0
	for _, s := range out {
		last = max(last, s.Drawn)
	}
	for _, c := range changes {
		if c.Delete {
			delete(out, c.ID)
			continue
		}
		s, ok := out[c.ID]
		if !ok {
			last++
			s.Drawn = last
		}
		s.Format, s.Version, s.CatalogID = cmp.Or(c.Format, s.Format), cmp.Or(c.Version, s.Version), cmp.Or(c.CatalogID, s.CatalogID)
		if len(c.Actions) > 0 {
			s.Actions = maps.Clone(s.Actions)
			if s.Actions == nil {
				s.Actions = map[string][]string{}
			}
			for component, names := range c.Actions {
				if s.Actions[component] = names; len(names) == 0 {
					delete(s.Actions, component)
				}
			}
		}
		out[c.ID] = s
	}
	for len(out) > maxSurfaces {
		delete(out, slices.MinFunc(slices.Collect(maps.Keys(out)), func(a, b string) int { return cmp.Compare(out[a].Drawn, out[b].Drawn) }))
	}
	return out
}
