package mcp

import (
	"context"
	"time"
)

// attempts says when the next attempt to connect is made.
type attempts struct {
	restarts chan chan error // asks for one now, and gets its outcome
	wake     chan struct{}   // cap 1: a call wants the next one now
}

func newAttempts() attempts {
	return attempts{restarts: make(chan chan error), wake: make(chan struct{}, 1)}
}

// pause waits before the next attempt, which a call may want earlier, or for a restart if there is none. It returns the
// restart that was asked for, if any.
func (a *attempts) pause(ctx context.Context, d time.Duration, again bool) chan error {
	var over <-chan time.Time
	var wake chan struct{}
	if again {
		over, wake = time.After(d), a.wake
	}
	select {
	case <-ctx.Done():
	case <-over:
	case <-wake:
	case asked := <-a.restarts:
		return asked
	}
	return nil
}

// hurry lets the next attempt be made now.
func (a *attempts) hurry() {
	select {
	case a.wake <- struct{}{}:
	default: // another call has asked for it
	}
}
