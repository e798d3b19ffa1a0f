// Package ownership connects a run to what it belongs to, such as a claim of a queue.
//
// A runtime asks its owner, right before an effect, whether it still owns the run. The
// cancellation of a context is too late for that: a process that was paused may run a while
// before its timers fire. And the owner makes the commits of the run, so that a queue can settle a
// dispatch in the transaction that ends its run.
package ownership

import "context"

type key struct{}

// With returns a context whose owner is owner. It has a method Check, and may have others that a
// runtime asks for with [Of].
func With(ctx context.Context, owner interface{ Check() error }) context.Context {
	return context.WithValue(ctx, key{}, owner)
}

// Check returns nil if the owner of ctx is sure that no other may act, and otherwise cancels the
// context and returns why. A context without an owner may always.
func Check(ctx context.Context) error {
	if o, ok := Of[interface{ Check() error }](ctx); ok {
		return o.Check()
	}
	return nil
}

// Of returns the owner of ctx, if it has one with the methods of T.
func Of[T any](ctx context.Context) (owner T, ok bool) {
	owner, ok = ctx.Value(key{}).(T)
	return owner, ok
}
