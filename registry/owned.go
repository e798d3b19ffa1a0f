package registry

import (
	"context"
	"fmt"
	"runtime/debug"

	"github.com/awaken-go/awaken"
	"github.com/awaken-go/awaken/llm"
)

// What plugins contribute, with the plugin that it comes from.
type (
	Hook struct {
		Plugin string
		awaken.Hook
	}
	Gate struct {
		Plugin string
		awaken.Gate
	}
	Guard struct {
		Plugin string
		awaken.Guard
	}
	Transform struct {
		Plugin string
		awaken.Transform
	}
	Action struct {
		Plugin string
		awaken.ActionHandler
	}
	Effect struct {
		Plugin string
		awaken.EffectHandler
	}
)

func (o *Guard) Ask(ctx context.Context, h *awaken.HookCall, p *awaken.Passage) (v awaken.Verdict, err error) {
	defer func() {
		if p := recover(); p != nil {
			err = &awaken.PanicError{In: fmt.Sprintf("guard of plugin %q", o.Plugin), Value: p, Stack: debug.Stack()}
		}
	}()
	v, err = o.Guard(ctx, h, p)
	if err != nil {
		return v, fmt.Errorf("guard of plugin %q: %w", o.Plugin, err)
	}
	return v, nil
}

func (o *Transform) Apply(ctx context.Context, h *awaken.HookCall, req *llm.Request) (err error) {
	defer func() {
		if v := recover(); v != nil {
			err = &awaken.PanicError{In: fmt.Sprintf("transform of plugin %q", o.Plugin), Value: v, Stack: debug.Stack()}
		}
	}()
	if err := o.Transform(ctx, h, req); err != nil {
		return fmt.Errorf("transform of plugin %q: %w", o.Plugin, err)
	}
	return nil
}

func (o *Hook) Run(ctx context.Context, h *awaken.HookCall) (err error) {
	defer func() {
		if v := recover(); v != nil {
			err = &awaken.PanicError{In: fmt.Sprintf("hook of plugin %q in %s", o.Plugin, h.Phase), Value: v, Stack: debug.Stack()}
		}
	}()
	if err := o.Hook(ctx, h); err != nil {
		return fmt.Errorf("plugin %q in %s: %w", o.Plugin, h.Phase, err)
	}
	return nil
}

func (o *Action) Handle(ctx context.Context, h *awaken.HookCall, a awaken.ScheduledAction) (err error) {
	defer func() {
		if v := recover(); v != nil {
			err = &awaken.PanicError{In: fmt.Sprintf("action %q of plugin %q", a.Key, o.Plugin), Value: v, Stack: debug.Stack()}
		}
	}()
	return o.ActionHandler.Run(ctx, h, a)
}

func (o *Gate) Ask(ctx context.Context, h *awaken.HookCall) (v awaken.Verdict, err error) {
	defer func() {
		if p := recover(); p != nil {
			err = &awaken.PanicError{In: fmt.Sprintf("gate of plugin %q", o.Plugin), Value: p, Stack: debug.Stack()}
		}
	}()
	v, err = o.Gate(ctx, h)
	if err != nil {
		return v, fmt.Errorf("gate of plugin %q: %w", o.Plugin, err)
	}
	return v, nil
}
