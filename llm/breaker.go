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
	BreakerClosed      BreakerState = "closed"      // all requests
	BreakerOpen        BreakerState = "open"        // none
	BreakerHalfOpen    BreakerState = "half_open"   // a few probes
	BreakerQuarantined BreakerState = "quarantined" // all requests, but pools send none except probes
)

// BreakerSettings configure a [Breaker]. The zero value has the defaults.
type BreakerSettings struct {
	FailureThreshold int `json:"failure_threshold,omitempty"` // consecutive failures that open it; 0 means 5
	CooldownSecs     int `json:"cooldown_secs,omitempty"`     // how long it stays open, and pools wait before they probe a quarantined model; 0 means 30
	HalfOpenMax      int `json:"half_open_max,omitempty"`     // probes in flight at once while half-open; 0 means 1
}

// Breaker is a circuit breaker. After FailureThreshold consecutive failures it opens and
// rejects requests for the cooldown. Then it is half-open and admits up to HalfOpenMax probes: a
// probe that succeeds closes it, one that fails opens it again. Only failures of the provider
// count, not those of the request.
//
// A pool also quarantines a member that rejects its key or its model: one request per cooldown
// probes it, and the first request that succeeds ends the quarantine. Requests that do not come
// from a pool are not held back, because the provider's own error says more.
//
// The zero Breaker is closed and has the defaults. A Breaker is safe for concurrent use; models
// that fail together may share one.
type Breaker struct {
	Name string // of the model, for errors
	BreakerSettings
	// Account identifies the account that the model uses. When its value changes, the breaker
	// forgets what happened before. Nil means that the account never changes.
	Account func() uint64

	mu          sync.Mutex
	account     uint64 // that the rest is about
	failures    int
	openedAt    time.Time // zero while closed
	probes      int       // in flight
	quarantined time.Time // of the last rejection or probe; zero if not quarantined
	lastError   Kind
	lastErrorAt time.Time
}

// BreakerStatus is what a [Breaker] knows about its model.
type BreakerStatus struct {
	State       BreakerState `json:"state"`                   // closed, open, half_open or quarantined
	Failures    int          `json:"consecutive_failures"`    // that count, since the last success
	LastError   Kind         `json:"last_error,omitempty"`    // kind of the last error; "" if there was none
	LastErrorAt int64        `json:"last_error_at,omitempty"` // Unix ms
	RetryAt     int64        `json:"retry_at,omitempty"`      // Unix ms from which a probe is admitted; 0 if all requests are
}

// Status returns the current status.
func (b *Breaker) Status() BreakerStatus {
	b.mu.Lock()
	defer b.mu.Unlock()
	b.follow()
	out := BreakerStatus{State: b.state(), Failures: b.failures, LastError: b.lastError}
	if !b.lastErrorAt.IsZero() {
		out.LastErrorAt = b.lastErrorAt.UnixMilli()
	}
	switch {
	case out.State != BreakerClosed:
		out.RetryAt = b.openedAt.Add(b.cooldown()).UnixMilli()
	case !b.quarantined.IsZero():
		out.State, out.RetryAt = BreakerQuarantined, b.quarantined.Add(b.cooldown()).UnixMilli()
	}
	return out
}

// State returns the current state.
func (b *Breaker) State() BreakerState { return b.Status().State }

// follow forgets what happened with another account. Requires b.mu.
func (b *Breaker) follow() {
	if b.Account == nil {
		return
	}
	if now := b.Account(); now != b.account {
		b.account, b.failures, b.openedAt, b.probes, b.quarantined = now, 0, time.Time{}, 0, time.Time{}
		b.lastError, b.lastErrorAt = "", time.Time{}
	}
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

func (b *Breaker) cooldown() time.Duration {
	return time.Duration(cmp.Or(max(b.CooldownSecs, 0), 30)) * time.Second
}

// available reports whether Enter would admit a request.
func (b *Breaker) available() bool {
	b.mu.Lock()
	defer b.mu.Unlock()
	b.follow()
	return b.admits(b.state())
}

// quarantine keeps the requests of pools away for a cooldown.
func (b *Breaker) quarantine() {
	b.mu.Lock()
	defer b.mu.Unlock()
	b.follow()
	b.quarantined = time.Now()
}

// trusted reports whether the model is not quarantined, or may be probed.
func (b *Breaker) trusted() bool {
	b.mu.Lock()
	defer b.mu.Unlock()
	b.follow()
	return b.quarantined.IsZero() || time.Since(b.quarantined) >= b.cooldown()
}

// probe begins another cooldown of a quarantined model, because a request is about to probe it.
func (b *Breaker) probe() {
	b.mu.Lock()
	defer b.mu.Unlock()
	if !b.quarantined.IsZero() {
		b.quarantined = time.Now()
	}
}

func (b *Breaker) admits(s BreakerState) bool {
	return s == BreakerClosed || s == BreakerHalfOpen && b.probes < max(b.HalfOpenMax, 1)
}

// Enter admits a request, or returns the error to report instead. The caller of an admitted
// request must call Leave when it ends.
func (b *Breaker) Enter() error {
	b.mu.Lock()
	defer b.mu.Unlock()
	b.follow()
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
	b.follow()
	if err != nil && !abandoned {
		b.lastError, b.lastErrorAt = KindOf(err), time.Now()
	}
	switch {
	case abandoned:
		if b.probes > 0 {
			b.open()
		}
	case err == nil || !counts(err):
		b.failures, b.openedAt, b.probes = 0, time.Time{}, 0
		if err == nil {
			b.quarantined = time.Time{}
		}
	default:
		if b.failures++; b.probes > 0 || b.failures >= cmp.Or(max(b.FailureThreshold, 0), 5) {
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
