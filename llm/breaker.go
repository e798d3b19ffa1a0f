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

// BreakerState says which requests a [Breaker] admits.
type BreakerState string

// The states of a breaker.
const (
	BreakerClosed   BreakerState = "closed"    // all requests
	BreakerOpen     BreakerState = "open"      // none
	BreakerHalfOpen BreakerState = "half_open" // a few probes
)

// Breaker is a circuit breaker. After Threshold consecutive failures it opens and rejects
// requests for the Cooldown. Then it is half-open and admits up to HalfOpenMax probes: a probe
// that succeeds closes it, one that fails opens it again. Only failures of the provider count,
// not those of the request. The zero Breaker is closed and has the defaults. A Breaker is safe
// for concurrent use; models that fail together may share one.
type Breaker struct {
	Name        string        // of the model, for errors
	Threshold   int           // consecutive failures that open it; default 5
	Cooldown    time.Duration // how long it stays open; default 30 seconds
	HalfOpenMax int           // probes in flight at once while half-open; default 1

	mu       sync.Mutex
	failures int
	openedAt time.Time // zero while closed
	probes   int       // in flight
}

// State returns the current state.
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

// available reports whether Enter would admit a request.
func (b *Breaker) available() bool {
	b.mu.Lock()
	defer b.mu.Unlock()
	return b.admits(b.state())
}

func (b *Breaker) admits(s BreakerState) bool {
	return s == BreakerClosed || s == BreakerHalfOpen && b.probes < max(b.HalfOpenMax, 1)
}

// Enter admits a request, or returns the error to report instead. The caller of an admitted
// request must call Leave when it ends.
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

// Leave reports the outcome of an admitted request; err is nil if it succeeded. Abandoned
// means that the caller stopped reading before the end: such a request counts neither way, but
// an abandoned probe opens the breaker again, because it proved nothing. The first probe that
// ends decides.
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

// counts reports whether an error is the model's and not the request's.
func counts(err error) bool {
	e, ok := errors.AsType[*Error](err)
	return !ok || e.Retryable()
}

// Break returns a model that sends to m the requests that b admits, and reports their outcome to
// b. Other requests fail with the error of [Breaker.Enter].
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
