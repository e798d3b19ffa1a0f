package llm

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"iter"
	"sync"
	"time"
)

// BreakerState is whether requests are let through.
type BreakerState string

const (
	BreakerClosed   BreakerState = "closed"    // all are
	BreakerOpen     BreakerState = "open"      // none is
	BreakerHalfOpen BreakerState = "half_open" // a few are, to see
)

// Breaker keeps requests from a model that fails: after so many failures in a row it lets
// none through for a while, and then a few, to see whether it is better. Only failures of the
// provider count, not those of the request. It is safe for concurrent use, and may be
// shared by several models that fail together.
type Breaker struct {
	Name        string        // for errors
	Threshold   int           // failures in a row; default 5
	Cooldown    time.Duration // default 30 seconds
	HalfOpenMax int           // probes in flight at once after the cooldown; default 1

	mu       sync.Mutex
	failures int
	openedAt time.Time // zero while it is closed
	probes   int       // in flight
}

// State returns whether requests are let through now. It changes nothing.
func (b *Breaker) State() BreakerState {
	b.mu.Lock()
	defer b.mu.Unlock()
	return b.state()
}

func (b *Breaker) state() BreakerState {
	switch {
	case b.openedAt.IsZero():
		return BreakerClosed
	case time.Since(b.openedAt) >= b.cooldown():
		return BreakerHalfOpen
	}
	return BreakerOpen
}

func (b *Breaker) cooldown() time.Duration { return cmp.Or(max(b.Cooldown, 0), 30*time.Second) }

// available reports whether a request would be let through. It changes nothing.
func (b *Breaker) available() bool {
	b.mu.Lock()
	defer b.mu.Unlock()
	return b.admits(b.state())
}

func (b *Breaker) admits(s BreakerState) bool {
	return s == BreakerClosed || s == BreakerHalfOpen && b.probes < max(b.HalfOpenMax, 1)
}

// Enter lets a request through, or says why not. Leave has to be told how it went.
func (b *Breaker) Enter() error {
	b.mu.Lock()
	defer b.mu.Unlock()
	s := b.state()
	if !b.admits(s) {
		return &Error{Kind: Provider, RetryAfter: max(0, b.cooldown()-time.Since(b.openedAt)), Message: fmt.Sprintf("circuit breaker open for model %s", b.Name)}
	}
	if s == BreakerHalfOpen {
		b.probes++
	}
	return nil
}

// Leave tells how a request went. Abandoned means that nobody waited for its end: that
// counts for nothing, but a probe that was abandoned has not shown that it is better.
// The first probe that ends decides: it opens the breaker again, or closes it.
func (b *Breaker) Leave(err error, abandoned bool) {
	b.mu.Lock()
	defer b.mu.Unlock()
	switch {
	case abandoned:
		if b.probes > 0 {
			b.open()
		}
	case err == nil || !counts(err):
		b.failures, b.openedAt, b.probes = 0, time.Time{}, 0
	default:
		if b.failures++; b.probes > 0 || b.failures >= cmp.Or(max(b.Threshold, 0), 5) {
			b.open()
		}
	}
}

func (b *Breaker) open() { b.openedAt, b.probes = time.Now(), 0 }

// counts reports whether an error says something about the model.
func counts(err error) bool {
	e, ok := errors.AsType[*Error](err)
	return !ok || e.Retryable()
}

// Break returns a model that asks m only when b lets it.
func Break(m Model, b *Breaker) Model {
	return ModelFunc(func(ctx context.Context, req *Request) iter.Seq2[Delta, error] {
		return func(yield func(Delta, error) bool) {
			if err := b.Enter(); err != nil {
				yield(Delta{}, err)
				return
			}
			var failed error
			done := false
			defer func() { b.Leave(failed, !done) }()
			for d, err := range m.Stream(ctx, req) {
				if err != nil {
					failed, done = err, ctx.Err() == nil
				} else if d.Kind == FinishDelta {
					done = true
				}
				if !yield(d, err) || err != nil {
					return
				}
			}
			if !done {
				failed, done = &Error{Kind: Interrupted}, ctx.Err() == nil
			}
		}
	})
}
