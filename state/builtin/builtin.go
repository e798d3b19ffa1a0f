// Package builtin defines the state keys and actions that every agent has, independent of its
// plugins: the status of the run, its tool calls, the active agent of the thread, and context
// for the next request.
//
// Plugins and tools read the keys and schedule the actions:
//
//	if builtin.RunLifecycle.Get(h).StepCount > 10 {
//		builtin.AddContextMessage.Schedule(h, builtin.SystemContext("hurry", "Finish soon."))
//	}
//
// The engine maintains the keys. Keys whose comment says that only the runtime writes them
// must not be updated by plugins.
package builtin

import (
	"github.com/awaken-go/awaken"
	"github.com/awaken-go/awaken/state"
)

// For returns the state keys and action handlers of an agent. Pass it as
// registry.Config.Builtin.
func For(spec *awaken.AgentSpec) ([]state.AnyKey, []awaken.ActionHandler) {
	all := keys()
	if spec.ContextPolicy != nil {
		all = append(all, ContextWindow, Compactions)
	}
	if spec.BackendKind() != "" {
		all = append(all, RemoteNotes, RemoteWrites)
	}
	return all, handlers()
}
