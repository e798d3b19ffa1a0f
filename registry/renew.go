package registry

import (
	"slices"

	"github.com/awaken-go/awaken"
)

// Reviser is a plugin whose contributions change while agents run, such as one that has the tools of
// servers. An agent that loads it registers it again when its revision has changed: when a run of the
// agent begins, and before each step.
type Reviser interface {
	awaken.Plugin
	// Revision returns a number that changes with the contributions.
	Revision() uint64
}

// revised is a Reviser of an agent, with the revision that the agent has.
type revised struct {
	plugin   Reviser
	revision uint64
}

// stale reports whether a plugin of the agent or of one of its variants has changed since it was
// resolved.
func (r *Agent) stale() bool {
	if slices.ContainsFunc(r.revisers, func(p revised) bool { return p.plugin.Revision() != p.revision }) {
		return true
	}
	for _, v := range r.variants {
		if len(v.revisers) > 0 && v.stale() {
			return true
		}
	}
	return false
}

// Supersede makes next the registry of the runs on reg from their next step on. It is the same version
// of the agents, with other tools.
func (reg *Registry) Supersede(next *Registry) { reg.later.Store(next) }

// Latest returns the registry that supersedes reg, or reg if none does.
func (reg *Registry) Latest() *Registry {
	for reg.later != nil {
		next := reg.later.Load()
		if next == nil {
			break
		}
		reg = next
	}
	return reg
}
