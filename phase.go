package awaken

import (
	"context"
	"fmt"
	"runtime/debug"
)

func (o *ownedHook) run(ctx context.Context, h *HookCall) (err error) {
	defer func() {
		if v := recover(); v != nil {
			err = &PanicError{fmt.Sprintf("hook of plugin %q in %s", o.plugin, h.Phase), v, debug.Stack()}
		}
	}()
	if err := o.Hook(ctx, h); err != nil {
		return fmt.Errorf("plugin %q in %s: %w", o.plugin, h.Phase, err)
	}
	return nil
}

func (o *ownedAction) handle(ctx context.Context, h *HookCall, a ScheduledAction) (err error) {
	defer func() {
		if v := recover(); v != nil {
			err = &PanicError{fmt.Sprintf("action %q of plugin %q", a.Key, o.plugin), v, debug.Stack()}
		}
	}()
	return o.ActionHandler.Run(ctx, h, a)
}

func (o *ownedGate) ask(ctx context.Context, h *HookCall) (v Verdict, err error) {
	defer func() {
		if p := recover(); p != nil {
			err = &PanicError{fmt.Sprintf("gate of plugin %q", o.plugin), p, debug.Stack()}
		}
	}()
	v, err = o.Gate(ctx, h)
	if err != nil {
		return v, fmt.Errorf("gate of plugin %q: %w", o.plugin, err)
	}
	return v, nil
}
