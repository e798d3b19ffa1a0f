package config

import (
	"context"
	"encoding/json"
	"maps"
	"slices"
	"sync/atomic"

	"github.com/awaken-go/awaken"
	"github.com/awaken-go/awaken/llm"
)

// state is an immutable snapshot of what a process knows of the store.
type state struct {
	head    Head
	secrets *secrets
	live    *compiled
	canary  *compiled // nil if there is none, or if it does not compile in this process
	// canaryTroubles says why the canary does not compile.
	canaryTroubles []awaken.Diagnostic
	// behind is how the documents of head.Live differ from those of live, the last version
	// that compiled in this process; nil if they are the same. troubles says what is wrong.
	behind    map[Key]*document
	sinceHead int
	troubles  []awaken.Diagnostic
}

// doc returns a document of head.Live, or nil.
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

// since returns how many entries separate head.Live from the last manifest.
func (s *state) since() int {
	if s.behind != nil {
		return s.sinceHead
	}
	return s.live.since
}

// users returns the live documents that need a document, sorted.
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

// overlay returns two sets of changes combined; second wins.
func overlay(first, second map[Key]*document) map[Key]*document {
	if len(first) == 0 {
		return second
	}
	out := maps.Clone(first)
	maps.Copy(out, second)
	return out
}

// current holds the state of this process. Any goroutine reads it; one at a time changes
// it.
type current struct {
	writing  chan struct{} // a lock that can be waited for with a context
	state    atomic.Pointer[state]
	servers  *servers
	accounts *accounts
	limits   func(providerID string, r *llm.RateLimits) // [Options].Limits
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

// swap makes a state current, gives every provider the current secrets, and closes the
// connections that only the old state held. The caller holds the lock.
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
	c.tellLimits(old, next)
	if old != nil && next.secrets != old.secrets {
		c.accounts.renew(ctx, next.secrets)
	}
	hold(old, c.servers.drop)
}

// tellLimits tells the rate limits of the providers that differ.
func (c *current) tellLimits(old, next *state) {
	if c.limits == nil {
		return
	}
	var before map[string]*provider
	if old != nil {
		before = old.live.providers
	}
	for id, p := range next.live.providers {
		if before[id] == p {
			continue
		}
		var doc struct {
			RateLimits *llm.RateLimits `json:"rate_limits"`
		}
		_ = json.Unmarshal(p.doc.raw, &doc) // it was compiled
		c.limits(id, doc.RateLimits)
	}
	for id := range before {
		if next.live.providers[id] == nil {
			c.limits(id, nil)
		}
	}
}
