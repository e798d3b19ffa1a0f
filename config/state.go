package config

import (
	"context"
	"maps"
	"slices"
	"sync/atomic"

	"github.com/awaken-go/awaken"
)

// state is what a manager has of the store at one time. It never changes.
type state struct {
	head    Head
	secrets *secrets
	live    *compiled
	canary  *compiled // nil if there is none, or if it cannot be compiled here
	// canaryTroubles says why it cannot.
	canaryTroubles []awaken.Diagnostic
	// behind is how the documents of head.Live differ from those of live, which is the
	// last version that could be compiled here; nil if they are the same. Troubles says
	// what is wrong.
	behind    map[Key]*document
	sinceHead int
	troubles  []awaken.Diagnostic
}

// doc returns a document of head.Live.
func (s *state) doc(key Key) *document {
	if doc, ok := s.behind[key]; ok {
		return doc
	}
	if doc, ok := s.live.lost[key]; ok {
		return doc
	}
	return s.live.docs[key]
}

// docs returns all documents of head.Live.
func (s *state) docs() map[Key]*document {
	return merged(s.live.all(), s.behind)
}

// since is how many entries head.Live is from the last manifest.
func (s *state) since() int {
	if s.behind != nil {
		return s.sinceHead
	}
	return s.live.since
}

// users returns what is live and needs a document, sorted.
func (s *state) users(key Key) []Key {
	var out []Key
	for k, doc := range s.docs() {
		if slices.Contains(doc.needs, key) {
			out = append(out, k)
		}
	}
	slices.SortFunc(out, compareKeys)
	return out
}

// overlay returns changes after changes.
func overlay(first, second map[Key]*document) map[Key]*document {
	if len(first) == 0 {
		return second
	}
	out := maps.Clone(first)
	maps.Copy(out, second)
	return out
}

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
