// Package ownership lets a runtime ask, right before an effect, whether its caller still owns
// what it works on. The cancellation of a context is too late for that: a process that was
// paused may run a while before its timers fire.
package ownership

import "context"

type key struct{}

// With returns a context whose owner is checked by check. Check returns nil while the owner is
// sure that no other may act, and otherwise cancels the context and returns why.
func With(ctx context.Context, check func() error) context.Context {
	return context.WithValue(ctx, key{}, check)
}

// Check returns nil if the owner of ctx may begin an effect now. A context without an owner
// may always.
func Check(ctx context.Context) error {
	if check, ok := ctx.Value(key{}).(func() error); ok {
		return check()
	}
	return nil
}
