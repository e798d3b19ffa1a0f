package config

import (
	"github.com/awaken-go/awaken/plugin/fork"
	"github.com/awaken-go/awaken/registry"
)

// confined returns a registry in which no agent makes a call that is not read-only, unless a person approves it: what becomes of such calls is in the section
// "fork" of the agent that the publication previews. It confines all agents, because that one may call others or hand the thread over to them. Agents that run
// elsewhere are left as they are: calling them is such a call.
func confined(reg *registry.Registry, pub *Publication) (*registry.Registry, error) {
	previewed := ""
	for _, e := range pub.Entries {
		if e.Namespace == Agents {
			previewed = e.ID
		}
	}
	section, err := fork.Section(reg.Agent(previewed))
	if err != nil {
		return nil, err
	}
	edit := registry.Edit{ID: reg.ID(), Lazy: true}
	for _, id := range reg.AgentIDs() {
		if spec := reg.Agent(id); spec != nil && spec.BackendKind() == "" {
			edit.Agents = append(edit.Agents, fork.Confined(spec, section))
		}
	}
	return reg.Derive(edit)
}
