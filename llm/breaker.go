package llm

import (
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
	BreakerHalfOpen BreakerState = "half_open" // one is, to see
)

// Breaker keeps requests from a model that fails: after so many failures in a row it lets
// none through for a while, and then one, to see whether it is better. Only failures of the
// provider count, not those of the request. It is safe for concurrent use, and may be
// shared by several models that fail together.
type Breaker struct {
	Name      string        // for errors
	Threshold int           // failures in a row; default 5
	Cooldown  time.Duration // default 30 seconds

	mu       sync.Mutex
	failures int
	openedAt time.Time
	probing  bool
}

func (b *Breaker) limits() (int, time.Duration) {
	threshold, cooldown := b.Threshold, b.Cooldown
	if threshold <= 0 {
		threshold = 5
	}
	if cooldown <= 0 {
		cooldown = 30 * time.Second
	}
	return threshold, cooldown
}

// State returns whether requests are let through now. It changes nothing.
func (b *Breaker) State() BreakerState {
	b.mu.Lock()
	defer b.mu.Unlock()
	return b.state()
}

func (b *Breaker) state() BreakerState {
	_, cooldown := b.limits()
	switch {
	case b.openedAt.IsZero():
		return BreakerClosed
	case b.probing || time.Since(b.openedAt) >= cooldown:
		return BreakerHalfOpen
	}
	return BreakerOpen
}

// Available reports whether a request would be let through. It changes nothing.
func (b *Breaker) Available() bool {
	b.mu.Lock()
	defer b.mu.Unlock()
	return b.state() == BreakerClosed || b.state() == BreakerHalfOpen && !b.probing
}

// Enter lets a request through, or says why not. Leave has to be told how it went.
func (b *Breaker) Enter() error {
	b.mu.Lock()
	defer b.mu.Unlock()
	switch s := b.state(); {
	case s == BreakerClosed:
		return nil
	case s == BreakerHalfOpen && !b.probing:
		b.probing = true
		return nil
	}
	_, cooldown := b.limits()
	return &Error{Kind: Provider, RetryAfter: max(0, cooldown-time.Since(b.openedAt)), Message: fmt.Sprintf("circuit breaker open for model %s", b.Name)}
}

// Leave tells how a request went. Abandoned means that nobody waited for its end: that
// counts for nothing, but a probe that was abandoned has not shown that it is better.
func (b *Breaker) Leave(err error, abandoned bool) {
	b.mu.Lock()
	defer b.mu.Unlock()
	threshold, _ := b.limits()
	probe := b.probing
	b.probing = false
	switch {
	case abandoned:
		if probe {
			b.openedAt = time.Now()
		}
	case err == nil || !counts(err):
		b.failures, b.openedAt = 0, time.Time{}
	default:
		if b.failures++; probe || b.failures >= threshold {
			b.openedAt = time.Now()
		}
	}
}

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
