package config

import (
	"context"
	"sync/atomic"
)

// current holds what runs in this process. One goroutine at a time changes it; any reads it.
type current struct {
	writing  chan struct{} // holds one while a goroutine changes the state
	state    atomic.Pointer[state]
	servers  *servers
	accounts *accounts
}

func newCurrent(ss *servers, as *accounts) *current {
	return &current{writing: make(chan struct{}, 1), servers: ss, accounts: as}
}

func (c *current) lock(ctx context.Context) error {
	select {
	case c.writing <- struct{}{}:
		return nil
	case <-ctx.Done():
		return context.Cause(ctx)
	}
}

func (c *current) unlock() { <-c.writing }

func (c *current) now() *state { return c.state.Load() }

// swap makes a state what runs, gives every provider its secrets, and closes the connections
// that only the old state held. The caller holds the lock.
func (c *current) swap(ctx context.Context, next *state) {
	old := c.now()
	hold := func(s *state, f func(*compiled)) {
		if s == nil {
			return
		}
		f(s.live)
		if s.canary != nil {
			f(s.canary)
		}
	}
	hold(next, c.servers.hold)
	if old == nil || next.live != old.live {
		next.live.begin()
	}
	if v := next.canary; v != nil && (old == nil || v != old.canary) {
		v.begin()
	}
	c.state.Store(next)
	if old != nil && next.secrets != old.secrets {
		c.accounts.renew(ctx, next.secrets)
	}
	hold(old, c.servers.drop)
}
