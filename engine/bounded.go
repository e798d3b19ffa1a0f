package engine

import (
	"context"
	"fmt"
	"time"

	"github.com/awaken-go/awaken"
	"github.com/awaken-go/awaken/registry"
)

// HookTimeoutError reports that code of a plugin did not return within Limits.HookTimeout.
type HookTimeoutError struct {
	In    string // which code, for example a hook of a plugin
	Limit time.Duration
}

// Error names the code and the limit.
func (e *HookTimeoutError) Error() string {
	return fmt.Sprintf("%s did not return within %s", e.In, e.Limit)
}

// bounded calls code of a plugin in a goroutine of its own, for at most Limits.HookTimeout. Then
// it cancels the code's context and abandons it. In says what the code is.
func bounded[T any](ctx context.Context, a *activation, fn func(ctx context.Context) (T, error), in string, args ...any) (T, error) {
	type outcome struct {
		value T
		err   error
	}
	ctx, cancel := context.WithCancelCause(ctx)
	defer cancel(nil)
	done := make(chan outcome, 1)
	go func() {
		returned := false
		var o outcome
		defer func() {
			if !returned { // a panic is caught within fn
				o.err = fmt.Errorf("%s ended its goroutine instead of returning", fmt.Sprintf(in, args...))
			}
			done <- o
		}()
		o.value, o.err = fn(ctx)
		returned = true
	}()
	limit := a.rt.cfg.Limits.HookTimeout
	if limit < 0 {
		o := <-done
		return o.value, o.err
	}
	timer := time.NewTimer(limit)
	defer timer.Stop()
	select {
	case o := <-done:
		return o.value, o.err
	case <-timer.C:
		err := &HookTimeoutError{In: fmt.Sprintf(in, args...), Limit: limit}
		cancel(err)
		var zero T
		return zero, err
	}
}

// runHook calls a hook.
func (a *activation) runHook(ctx context.Context, hook *registry.Hook, h *awaken.HookCall) error {
	_, err := bounded(ctx, a, func(ctx context.Context) (struct{}, error) { return struct{}{}, hook.Run(ctx, h) },
		"hook of plugin %q in %s", hook.Plugin, h.Phase)
	return err
}
