// Package builtin has the state keys and the actions that every agent has, whatever its
// plugins are: where a run stands, what its calls do, whom the thread was handed to, context
// for the next request. Plugins read and schedule them; the engine keeps and obeys them.
package builtin

import (
	"github.com/awaken-go/awaken"
	"github.com/awaken-go/awaken/state"
)

// For returns the state keys and the action handlers of an agent: what a registry.Config
// needs as its Builtin.
func For(spec *awaken.AgentSpec) ([]state.AnyKey, []awaken.ActionHandler) {
	all := keys()
	if spec.ContextPolicy != nil {
		all = append(all, ContextWindow, Compactions)
	}
	return all, handlers()
}
