package registry

import (
	"context"
	"fmt"
	"runtime/debug"

	"github.com/awaken-go/awaken"
	"github.com/awaken-go/awaken/llm"
)

// Contributions with the id of their plugin.
type (
	// Hook is a hook, with the id of the plugin that registered it.
	Hook struct {
		Plugin string
		awaken.Hook
	}
	// Gate is a gate, with the id of the plugin that registered it.
	Gate struct {
		Plugin string
		awaken.Gate
	}
	// Guard is a guard, with the id of the plugin that registered it.
	Guard struct {
		Plugin string
		awaken.Guard
	}
	// Transform is a transform, with the id of the plugin that registered it.
	Transform struct {
		Plugin string
		awaken.Transform
	}
	// Action is the handler of an action, with the id of the plugin that registered it.
	Action struct {
		Plugin string
		awaken.ActionHandler
	}
	// hider hides tools for a plugin.
	hider struct {
		plugin string
		f      func(tool string) bool
	}
	// Effect is the handler of an effect, with the id of the plugin that registered it.
	Effect struct {
		Plugin string
		awaken.EffectHandler
	}
)

// caught, when deferred, turns a panic into an [awaken.PanicError] in *err. Format and names
// say what panicked.
func caught(err *error, format string, names ...string) {
	if v := recover(); v != nil {
		args := make([]any, len(names))
		for i, name := range names {
			args[i] = name
		}
		*err = &awaken.PanicError{In: fmt.Sprintf(format, args...), Value: v, Stack: debug.Stack()}
	}
}

// Ask returns the guard's verdict about p. It returns a panic as an error.
func (o *Guard) Ask(ctx context.Context, h *awaken.HookCall, p *awaken.Passage) (v awaken.Verdict, err error) {
	defer caught(&err, "guard of plugin %q", o.Plugin)
	if v, err = o.Guard(ctx, h, p); err != nil {
		return v, fmt.Errorf("guard of plugin %q: %w", o.Plugin, err)
	}
	return v, nil
}

// Apply calls the transform. It returns a panic as an error.
func (o *Transform) Apply(ctx context.Context, h *awaken.HookCall, req *llm.Request) (err error) {
	defer caught(&err, "transform of plugin %q", o.Plugin)
	if err := o.Transform(ctx, h, req); err != nil {
		return fmt.Errorf("transform of plugin %q: %w", o.Plugin, err)
	}
	return nil
}

// Run calls the hook. It returns a panic as an error.
func (o *Hook) Run(ctx context.Context, h *awaken.HookCall) (err error) {
	defer caught(&err, "hook of plugin %q in %s", o.Plugin, h.Phase.String())
	if err := o.Hook(ctx, h); err != nil {
		return fmt.Errorf("plugin %q in %s: %w", o.Plugin, h.Phase, err)
	}
	return nil
}

// Handle calls the handler. It returns a panic as an error.
func (o *Action) Handle(ctx context.Context, h *awaken.HookCall, a awaken.ScheduledAction) (err error) {
	defer caught(&err, "action %q of plugin %q", a.Key, o.Plugin)
	return o.ActionHandler.Run(ctx, h, a)
}

// Ask returns the gate's verdict about the call h.Tool. It returns a panic as an error.
func (o *Gate) Ask(ctx context.Context, h *awaken.HookCall) (v awaken.Verdict, err error) {
	defer caught(&err, "gate of plugin %q", o.Plugin)
	if v, err = o.Gate(ctx, h); err != nil {
		return v, fmt.Errorf("gate of plugin %q: %w", o.Plugin, err)
	}
	return v, nil
}

// hides reports whether the plugin hides the tool. It returns a panic as an error.
func (o *hider) hides(tool string) (hidden bool, err error) {
	defer caught(&err, "hide of plugin %q", o.plugin)
	return o.f(tool), nil
}
