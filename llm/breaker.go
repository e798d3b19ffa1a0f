package llm

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"iter"
	"slices"
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
	FailureThreshold int `json:"failure_threshold,omitempty"` // sessions that fail in a row and open it; 0 means 5
	CooldownSecs     int `json:"cooldown_secs,omitempty"`     // how long it stays open, and pools wait before they probe a quarantined model; 0 means 30
	HalfOpenMax      int `json:"half_open_max,omitempty"`     // probes in flight at once while half-open; 0 means 1
}

// Breaker is a circuit breaker. It opens after failures of FailureThreshold sessions (threads) without a
// success in between: the retries and repeats of one session are one piece of evidence, and a model
// that has answered within the last five seconds is not down, however many requests fail together. Nor
// does a request count that failed late, for example because it was silent for a minute, if the model has
// answered another one since it was sent. A reply that arrives is an answer before it ends, unless it fails.
// While it is open it refuses requests at once, for the cooldown. Then it is half-open and admits up to
// HalfOpenMax probes at a time: the first delta of a probe closes it, a probe that fails opens it again,
// and one that is silent for ten seconds, or that its caller abandons, lets another follow. Only failures
// of the provider count. A reply of the provider that blames the request, or asks for a pause, shows that
// the model works; an error of this process shows nothing.
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

	mu      sync.Mutex
	account uint64 // that the rest is about
	record
}

// record is a breaker's state of an account.
type record struct {
	failures    int
	sessions    []string  // that the failures are of, as far as they are known
	worked      time.Time // when the model last answered a request to its end
	heard       time.Time // when a part of a reply last arrived; zero after such a reply failed
	openedAt    time.Time // zero while closed
	episode     int       // counts how often it opened, so that late probes decide nothing
	probes      int       // in flight
	probedAt    time.Time // when the last probe was sent
	quarantined time.Time // of the last rejection or probe; zero if not quarantined
	lastError   Kind
	lastErrorAt time.Time
	succeeded   time.Time // when a request last succeeded
	failed      time.Time // when a request last failed because of the model, its key or its server
}

const (
	// recentAnswer is how long an answer proves that the model works.
	recentAnswer = 5 * time.Second
	// heardEvery is how often a reply that arrives is noted.
	heardEvery = time.Second
	// silentProbe is how long a probe may be silent before another is sent.
	silentProbe = 10 * time.Second
	// probeRetry is when a request that was refused because of a probe may come back.
	probeRetry = time.Second
)

// BreakerStatus is the state of a [Breaker].
type BreakerStatus struct {
	State       BreakerState `json:"state"`                   // closed, open, half_open or quarantined
	Failures    int          `json:"consecutive_failures"`    // sessions that failed since the last success
	LastError   Kind         `json:"last_error,omitempty"`    // kind of the last error; "" if there was none
	LastErrorAt int64        `json:"last_error_at,omitempty"` // Unix ms
	// Health is what the last request showed whose outcome says something about the model: ok, failing, or unknown if there was none. LastSuccessAt is
	// when the model last answered a request to its end, Unix ms.
	Health        Health `json:"health"`
	LastSuccessAt int64  `json:"last_success_at,omitempty"`
	RetryAt       int64  `json:"retry_at,omitempty"` // Unix ms from which a probe is admitted; 0 if all requests are
}

// Health says whether a model works.
type Health string

// The kinds of health.
const (
	HealthUnknown Health = "unknown"
	HealthOK      Health = "ok"
	HealthFailing Health = "failing"
)

// Status returns the current status.
func (b *Breaker) Status() BreakerStatus {
	b.mu.Lock()
	defer b.mu.Unlock()
	b.follow()
	out := BreakerStatus{State: b.state(), Failures: b.failures, LastError: b.lastError, Health: HealthUnknown}
	switch {
	case b.failed.After(b.succeeded):
		out.Health = HealthFailing
	case !b.succeeded.IsZero():
		out.Health = HealthOK
	}
	if !b.succeeded.IsZero() {
		out.LastSuccessAt = b.succeeded.UnixMilli()
	}
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
		b.account, b.record = now, record{episode: b.episode + 1}
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

// Admission answers whether Enter would admit a request.
func (b *Breaker) Admission() Admission {
	b.mu.Lock()
	defer b.mu.Unlock()
	b.follow()
	return b.admission(b.state())
}

// quarantine keeps the requests of pools away for a cooldown.
func (b *Breaker) quarantine() {
	b.mu.Lock()
	defer b.mu.Unlock()
	b.follow()
	b.quarantined = time.Now()
}

// trust answers whether a pool may send a request: if the model is not quarantined, or may be probed.
func (b *Breaker) trust() Admission {
	b.mu.Lock()
	defer b.mu.Unlock()
	b.follow()
	if wait := b.cooldown() - time.Since(b.quarantined); !b.quarantined.IsZero() && wait > 0 {
		return Admission{Refuse, wait}
	}
	return Admission{}
}

// probe begins another cooldown of a quarantined model, because a request is about to probe it.
func (b *Breaker) probe() {
	b.mu.Lock()
	defer b.mu.Unlock()
	if !b.quarantined.IsZero() {
		b.quarantined = time.Now()
	}
}

func (b *Breaker) admission(s BreakerState) Admission {
	switch {
	case s == BreakerOpen:
		return Admission{Refuse, b.cooldown() - time.Since(b.openedAt)}
	case s == BreakerHalfOpen && b.probes >= max(b.HalfOpenMax, 1) && time.Since(b.probedAt) < silentProbe:
		return Admission{Refuse, probeRetry}
	}
	return Admission{}
}

// Pass is a request that a breaker admitted. The zero Pass reports nothing.
type Pass struct {
	b       *Breaker
	session string
	began   time.Time
	heard   time.Time // when a delta was last noted; zero before the first one
	probe   int       // the episode of the breaker that the request probes; 0 if it does not
}

// Enter admits a request of a session, or returns the error to report instead. The caller of an admitted
// request must call Leave when it ends. A request without a session ("") is evidence of its own.
func (b *Breaker) Enter(session string) (Pass, error) {
	b.mu.Lock()
	defer b.mu.Unlock()
	b.follow()
	s := b.state()
	if a := b.admission(s); a.Verdict == Refuse {
		return Pass{}, &Error{Kind: CircuitOpen, Unsent: true, RetryAfter: a.After,
			Message: fmt.Sprintf("model %q failed repeatedly; its circuit breaker admits requests again in %s", b.Name, a.After.Round(time.Second))}
	}
	p := Pass{b: b, session: session, began: time.Now()}
	if s == BreakerHalfOpen {
		b.probes++
		b.probedAt, p.probe = p.began, b.episode
	}
	return p, nil
}

// Answered reports that a delta has arrived. The first one proves that the model works.
func (p *Pass) Answered() {
	if p.b == nil {
		return
	}
	now := time.Now()
	if now.Sub(p.heard) < heardEvery {
		return
	}
	first := p.heard.IsZero()
	p.heard = now
	p.b.mu.Lock()
	defer p.b.mu.Unlock()
	p.b.follow()
	p.b.heard = now
	if first && p.probe != 0 && p.probe == p.b.episode {
		p.b.close()
	}
}

// Leave reports the outcome of the request; err is nil if it succeeded. Abandoned means that the caller
// stopped reading before the end: such a request counts neither way.
func (p *Pass) Leave(err error, abandoned bool) {
	b := p.b
	if b == nil {
		return
	}
	b.mu.Lock()
	defer b.mu.Unlock()
	b.follow()
	if e, _ := errors.AsType[*Error](err); err != nil && !abandoned && (e == nil || !e.Unsent) {
		if b.lastError, b.lastErrorAt = KindOf(err), time.Now(); ails(err) {
			b.failed = b.lastErrorAt
		}
	}
	probe := p.probe != 0 && p.probe == b.episode && !b.openedAt.IsZero()
	if probe {
		b.probes = max(0, b.probes-1)
	}
	switch {
	case abandoned:
	case err == nil:
		b.close()
		b.quarantined, b.succeeded = time.Time{}, time.Now()
	case counts(err):
		if !p.heard.IsZero() {
			b.heard = time.Time{}
		}
		if !probe && b.answered().After(p.began) {
			return
		}
		b.fail(p.session)
		if probe || b.openedAt.IsZero() && b.failures >= cmp.Or(max(b.FailureThreshold, 0), 5) && time.Since(b.answered()) >= recentAnswer {
			b.open()
		}
	case answers(err):
		b.close()
	}
}

// answered returns when the model last answered, also in part.
func (r *record) answered() time.Time {
	if r.heard.After(r.worked) {
		return r.heard
	}
	return r.worked
}

// fail adds a failure of a session, once.
func (r *record) fail(session string) {
	if session != "" {
		if slices.Contains(r.sessions, session) {
			return
		}
		if len(r.sessions) < maxSessions {
			r.sessions = append(r.sessions, session)
		}
	}
	r.failures++
}

// maxSessions is how many sessions a breaker remembers.
const maxSessions = 256

// close notes that the model works.
func (r *record) close() {
	r.failures, r.sessions, r.openedAt, r.probes, r.worked = 0, r.sessions[:0], time.Time{}, 0, time.Now()
}

func (r *record) open() {
	r.openedAt, r.probes = time.Now(), 0
	r.episode++
}

// counts reports whether an error is the model's and not the request's. A rate limit is neither.
func counts(err error) bool {
	e, ok := errors.AsType[*Error](err)
	return !ok || e.Retryable() && e.Kind != RateLimited && !e.Unsent
}

// ails reports whether an error shows that requests to the model fail, whatever they ask: because of the model, its key, its account or its server.
func ails(err error) bool {
	switch KindOf(err) {
	case Unauthorized, ModelNotFound, QuotaExceeded:
		return true
	}
	return counts(err)
}

// answers reports whether an error is the provider's answer, and not one of this process.
func answers(err error) bool {
	e, ok := errors.AsType[*Error](err)
	return ok && !e.Unsent && e.Status != 0
}

// Break returns a model that sends to m the requests that b admits, and reports their outcome to
// b. Other requests fail with the error of [Breaker.Enter].
func Break(m Model, b *Breaker) Model {
	return ModelFunc(func(ctx context.Context, req *Request) iter.Seq2[Delta, error] {
		return func(yield func(Delta, error) bool) {
			pass, err := b.Enter(req.Routing.Session())
			if err != nil {
				yield(Delta{}, err)
				return
			}
			var failed error
			done := false
			defer func() { pass.Leave(failed, !done) }()
			for d, err := range m.Stream(ctx, req) {
				if err != nil {
					failed, done = err, ctx.Err() == nil
				} else if pass.Answered(); d.Kind == FinishDelta {
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
