package server

import (
	"strings"
	"sync"

	"github.com/awaken-go/awaken/registry"
)

// otherWord replaces words that are not in a vocabulary.
const otherWord = "other"

// vocabulary knows the words that may label metrics: those of the current configuration. Clients
// must not be able to create labels. It is safe for concurrent use.
type vocabulary struct {
	mu      sync.Mutex
	current func() *registry.Registry // nil until a server uses the metrics
	reg     *registry.Registry        // which the rest is made from
	models  map[string]bool
	tools   map[string]bool
	agents  map[string]bool // whose own tools are in tools
}

// use makes the words of a configuration known.
func (v *vocabulary) use(current func() *registry.Registry) {
	v.mu.Lock()
	defer v.mu.Unlock()
	v.current = current
}

// registry returns the current configuration, or nil if no server uses the metrics yet.
func (v *vocabulary) registry() *registry.Registry {
	v.mu.Lock()
	defer v.mu.Unlock()
	if v.current == nil {
		return nil
	}
	return v.current()
}

// update makes the words of the current configuration. Requires v.mu.
func (v *vocabulary) update() {
	if v.current == nil {
		return
	}
	reg := v.current()
	if reg == v.reg {
		return
	}
	v.reg, v.models, v.tools, v.agents = reg, map[string]bool{}, map[string]bool{}, map[string]bool{}
	for _, m := range reg.Models() {
		v.models[m.ID], v.models[m.UpstreamModel] = true, true
	}
	for _, t := range reg.Tools() {
		v.tools[t.ID] = true
	}
}

// model returns the name of a configured model as it is, and any other as "other".
func (v *vocabulary) model(name string) string {
	v.mu.Lock()
	defer v.mu.Unlock()
	v.update()
	if !v.models[name] {
		return otherWord
	}
	return name
}

// agent returns the id of a configured agent as it is, and any other as "other".
func (v *vocabulary) agent(id string) string {
	v.mu.Lock()
	defer v.mu.Unlock()
	v.update()
	if v.reg == nil || v.reg.Agent(id) == nil {
		return otherWord
	}
	return id
}

// tool returns the id of a tool as it is, if the configuration or a plugin of the agent has it, and
// any other as "other".
func (v *vocabulary) tool(agent, id string) string {
	v.mu.Lock()
	defer v.mu.Unlock()
	v.update()
	if v.tools[id] {
		return id
	}
	if v.reg != nil && !v.agents[agent] && v.reg.Agent(agent) != nil {
		v.agents[agent] = true
		for _, own := range v.reg.ToolIDs(agent) {
			v.tools[own] = true
		}
	}
	if !v.tools[id] {
		return otherWord
	}
	return id
}

// action returns the action of a suspension, with words of clients replaced. Those of the engine and
// of its plugins stay as they are.
func (v *vocabulary) action(agent, action string) string {
	switch kind, what, _ := strings.Cut(action, ":"); {
	case kind == "guard", action == "await_task", action == "tool:in_doubt", action == "tool:PermissionConfirm", action == "agent_delegate:input_required":
		return action
	case kind == "tool":
		return "tool:" + v.tool(agent, what)
	case kind == "agent_delegate":
		return "agent_delegate:" + otherWord
	}
	return otherWord
}
