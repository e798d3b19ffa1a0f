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

// watch is what bounded waits with. A run keeps one for its next call.
type watch struct {
	done  chan struct{} // receives when the code has returned
	timer *time.Timer   // stopped between calls, and without a limit
}

// bounded calls code of a plugin in a goroutine of its own, for at most Limits.HookTimeout. Then
// it cancels the code's context and abandons it. In says what the code is.
//
// The goroutine is needed even without a limit: code that ends it must not end the run.
func bounded[T any](ctx context.Context, a *activation, fn func(ctx context.Context) (T, error), in string, args ...any) (T, error) {
	limit := a.rt.cfg.Limits.HookTimeout
	w := a.watch.Swap(nil)
	if w == nil { // the first call, or another is under way
		w = &watch{make(chan struct{}, 1), time.NewTimer(time.Hour)}
	}
	if limit < 0 {
		w.timer.Stop()
	} else {
		w.timer.Reset(limit)
	}
	ctx, cancel := context.WithCancelCause(ctx)
	defer cancel(nil)
	c := &struct { // not read after the code is abandoned
		value    T
		err      error
		returned bool
	}{}
	go func() {
		defer func() { w.done <- struct{}{} }()
		c.value, c.err = fn(ctx)
		c.returned = true
	}()
	select {
	case <-w.done:
		w.timer.Stop()
		a.watch.Store(w)
		if !c.returned { // a panic is caught within fn
			c.err = fmt.Errorf("%s ended its goroutine instead of returning", fmt.Sprintf(in, args...))
		}
		return c.value, c.err
	case <-w.timer.C:
		err := &HookTimeoutError{In: fmt.Sprintf(in, args...), Limit: limit}
		cancel(err)
		var zero T
		return zero, err
	}
}

// runHook calls a hook.
func (a *activation) runHook(ctx context.Context, hook *registry.Hook, h *awaken.HookCall) error {
	h.Source = hook.Plugin
	_, err := bounded(ctx, a, func(ctx context.Context) (struct{}, error) { return struct{}{}, hook.Run(ctx, h) },
		"hook of plugin %q in %s", hook.Plugin, h.Phase)
	if err == nil { // or it may still be running
		sign(&h.Command, "", h.Source)
	}
	return err
}

// sign says who scheduled the actions of a command: the name, of a kind.
func sign(c *awaken.Command, kind, name string) {
	actions := c.Recorded().Actions
	for i := range actions {
		actions[i].Source = kind + name
	}
}
