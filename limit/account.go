package limit

import (
	"context"
	"fmt"
	"sync"
	"time"

	"github.com/awaken-go/awaken/llm"
)

const (
	// patience is how long a background request waits before it counts like one that a user
	// waits for, so that it is not starved.
	patience = 30 * time.Second
	// tellAfter is how long a request waits before its run says so.
	tellAfter = time.Second
	// storeTime is how long a request that need not wait here waits for the store's answer.
	storeTime = 250 * time.Millisecond
	// lookTime is how often a process looks whether others have learned a limit.
	lookTime = 2 * time.Second
	// keepTime is how long a process keeps what it does not need.
	keepTime = time.Second
	// leastGap is the least time between two visits to a bucket.
	leastGap = 5 * time.Millisecond
	// forgetEvery is how often buckets are removed that no process has used for forgetAfter.
	forgetEvery, forgetAfter = 6 * time.Hour, 48 * time.Hour
	// roundTime limits how long a round waits for the store.
	roundTime = 5 * time.Second
)

// account is a provider as this process sees it: its limits, and the requests that wait for them.
type account struct {
	limiter  *Limiter
	provider string
	kick     chan struct{} // makes a round begin

	mu      sync.Mutex
	limits  *llm.RateLimits
	scopes  map[string]*scope // by bucket name
	lines   [classes]line
	running bool      // rounds are made
	asking  time.Time // when the round began that asks the store; zero if none does
	reply   float64   // average tokens of a reply

	forgotten time.Time // when unused buckets were removed; of the rounds
}

// waiter is a request that waits.
type waiter struct {
	tenant string
	tokens float64 // estimated
	scopes []*scope
	class  int
	since  time.Time // its place in line
	joined time.Time
	until  time.Time     // when it is refused; zero means never
	pause  time.Duration // longest that it waits for
	ready  chan struct{} // closed when it may be sent, or err is set
	err    error
}

// passes reports whether the request goes to another model rather than wait here.
func (w *waiter) passes() bool { return !w.until.IsZero() && !w.until.After(w.joined) }

// ticket is a request that may be sent. It is nil if nothing needs to know about the request.
type ticket struct {
	account *account
	scopes  []*scope
	tokens  float64 // estimated
	learns  *scope
	said    *llm.RateReport
	begun   bool
}

// set sets the configured limits.
func (a *account) set(r *llm.RateLimits) {
	a.mu.Lock()
	defer a.mu.Unlock()
	a.limits = r
	for _, s := range a.scopes {
		a.configure(s)
	}
	a.dispatch(time.Now())
	a.wake()
}

// configure sets the configured limits of a scope.
func (a *account) configure(s *scope) {
	var r llm.Rate
	switch s.kind {
	case ofAccount:
		r = a.limits.Rate
	case ofModel:
		r = a.limits.Models[s.of]
	case ofTenant:
		r = a.tenantRate(s.of)
	}
	s.configured, s.current, s.again = amount{float64(r.RequestsPerMinute), float64(r.TokensPerMinute)}, false, time.Time{}
	if s.learns = s.kind == ofModel && a.learns(); !s.learns {
		s.learned, s.pausedUntil = false, time.Time{}
	}
}

func (a *account) learns() bool { return a.limits.Learn == nil || *a.limits.Learn }

func (a *account) tenantRate(tenant string) llm.Rate {
	if r, ok := a.limits.Tenants[tenant]; ok {
		return r
	}
	if a.limits.PerTenant != nil {
		return *a.limits.PerTenant
	}
	return llm.Rate{}
}

// scopesOf returns the scopes that a request belongs to. Requires a.mu.
func (a *account) scopesOf(req *llm.Request, tenant string) []*scope {
	var out []*scope
	add := func(k kind, of string) {
		name := bucketName(a.provider, k, of)
		s := a.scopes[name]
		if s == nil {
			s = &scope{kind: k, of: of, name: name}
			a.configure(s)
			a.scopes[name] = s
		}
		out = append(out, s)
	}
	if a.limits.Rate != (llm.Rate{}) {
		add(ofAccount, "")
	}
	if a.learns() || a.limits.Models[req.Model] != (llm.Rate{}) {
		add(ofModel, req.Model)
	}
	if a.tenantRate(tenant) != (llm.Rate{}) {
		add(ofTenant, tenant)
	}
	return out
}

// enter waits until a request may be sent.
func (a *account) enter(ctx context.Context, req *llm.Request) (*ticket, error) {
	tenant, inBackground := "", false
	if req.Caller != nil {
		tenant, inBackground = req.Caller.Customer()
	}
	a.mu.Lock()
	scopes := a.scopesOf(req, tenant)
	if len(scopes) == 0 {
		a.mu.Unlock()
		return nil, nil
	}
	w := newWaiter(tenant, scopes, req.Patience)
	if inBackground {
		w.class = background
	}
	for _, s := range scopes {
		if s.limit().Tokens > 0 && w.tokens == 0 {
			w.tokens = a.estimate(req)
		}
	}
	if a.admit(w) {
		a.mu.Unlock()
		return a.ticket(w), nil
	}
	if err := a.refused(w, w.joined); err != nil {
		a.mu.Unlock()
		return nil, err
	}
	if err := a.usedUp(w); err != nil {
		a.wake()
		a.mu.Unlock()
		return nil, err
	}
	w.ready = make(chan struct{})
	a.join(w)
	a.wake()
	a.mu.Unlock()
	err := a.await(ctx, w, req)
	if told := a.limiter.cfg.Waited; told != nil {
		told(Waited{
			Provider:   a.provider,
			Model:      req.Model,
			Tenant:     w.tenant,
			Background: inBackground,
			For:        time.Since(w.joined),
			Sent:       err == nil,
		})
	}
	if err != nil {
		return nil, err
	}
	return a.ticket(w), nil
}

func newWaiter(tenant string, scopes []*scope, p *llm.Patience) *waiter {
	w := &waiter{tenant: tenant, scopes: scopes, joined: time.Now(), pause: p.Pause()}
	if p != nil {
		w.since, w.until = p.Since, p.Until
	}
	if w.since.IsZero() || w.since.After(w.joined) {
		w.since = w.joined
	}
	return w
}

func (a *account) ticket(w *waiter) *ticket {
	t := &ticket{account: a, scopes: w.scopes, tokens: w.tokens}
	for _, s := range w.scopes {
		if s.learns {
			t.learns = s
		}
	}
	return t
}

// admit takes what a request needs if nothing that waits goes before it. Requires a.mu.
func (a *account) admit(w *waiter) bool {
	now, free := time.Now(), true
	for _, s := range w.scopes {
		before := s.waiting[interactive]
		if w.class == background {
			before += s.waiting[background]
		}
		if before > 0 || !s.admits(w.tokens, now) {
			return false
		}
	}
	for _, s := range w.scopes {
		s.take(w.tokens, now)
		free = free && s.limit() == amount{} && (!s.learns || now.Sub(s.lookedAt) < lookTime)
	}
	if !free {
		a.wake()
	}
	return true
}

// await waits for a request's turn.
func (a *account) await(ctx context.Context, w *waiter, req *llm.Request) error {
	tell := time.NewTimer(tellAfter)
	defer tell.Stop()
	var late <-chan time.Time
	if !w.until.IsZero() {
		t := time.NewTimer(max(time.Until(w.until), storeTime))
		defer t.Stop()
		late = t.C
	}
	for {
		select {
		case <-late:
			a.mu.Lock()
			select {
			case <-w.ready: // at the same moment
			default:
				a.refuse(w, a.inTheWay(w, time.Now()))
			}
			a.mu.Unlock()
		case <-w.ready:
			return w.err
		case <-tell.C:
			if req.Caller != nil {
				req.Caller.RateWaits(llm.RateWait{Provider: a.provider, Model: req.Model, Paused: a.paused(w)})
			}
		case <-ctx.Done():
			a.mu.Lock()
			defer a.mu.Unlock()
			select {
			case <-w.ready: // at the same moment
				if w.err == nil {
					a.release(w)
				}
			default:
				a.leave(w)
			}
			return &llm.Error{Kind: llm.Cancelled, Provider: a.provider, Message: "cancelled while waiting for the rate limit", Err: context.Cause(ctx)}
		}
	}
}

// release gives back what a request took that will not be sent. Requires a.mu.
func (a *account) release(w *waiter) {
	for _, s := range w.scopes {
		s.inFlight--
		s.used = s.used.minus(amount{1, w.tokens})
		l := s.limit()
		if l.Requests > 0 {
			s.held.Requests++
		}
		if l.Tokens > 0 {
			s.held.Tokens += w.tokens
		}
	}
	a.dispatch(time.Now())
}

func (a *account) paused(w *waiter) bool {
	a.mu.Lock()
	defer a.mu.Unlock()
	for _, s := range w.scopes {
		if time.Now().Before(s.pausedUntil) {
			return true
		}
	}
	return false
}

// estimate returns how many tokens a request and its reply will take.
func (a *account) estimate(req *llm.Request) float64 {
	reply := a.reply
	if reply == 0 {
		reply = 256
	}
	if req.MaxTokens != nil {
		reply = min(reply, float64(*req.MaxTokens))
	}
	return float64(req.Tokens()) + reply
}

// refused returns the error of a request that would have to wait too long for a pause, or nil. Requires a.mu.
func (a *account) refused(w *waiter, now time.Time) error {
	for _, s := range w.scopes {
		wait := s.pausedUntil.Sub(now)
		if wait <= 0 || wait <= w.pause && (w.until.IsZero() || !s.pausedUntil.After(w.until)) {
			continue
		}
		return a.refusal(wait, "the provider asked for a pause; %s remain", wait.Round(time.Millisecond))
	}
	return nil
}

// usedUp returns the error of a request that another model may take, if it is known already that it would have
// to wait here. The scopes note what it needed, so that later requests find it. Requires a.mu.
func (a *account) usedUp(w *waiter) error {
	if !w.passes() {
		return nil
	}
	found := !a.asking.IsZero() && w.joined.Sub(a.asking) >= storeTime || a.limiter.away()
	for _, s := range w.scopes {
		found = found || s.usedUp(w.tokens, w.joined)
	}
	if !found {
		return nil
	}
	for _, s := range w.scopes {
		s.passed = s.passed.plus(s.need(w.tokens))
	}
	return a.inTheWay(w, w.joined)
}

// inTheWay returns the error of a request that must not wait any longer. Requires a.mu.
func (a *account) inTheWay(w *waiter, now time.Time) error {
	wait := leastWait
	for _, s := range w.scopes {
		wait = max(wait, s.pausedUntil.Sub(now), s.estimate(now))
	}
	return a.refusal(wait, "the limit of the provider is used up for about %s", wait.Round(time.Millisecond))
}

// leastWait is the shortest wait that is estimated.
const leastWait = 100 * time.Millisecond

func (a *account) refusal(after time.Duration, format string, args ...any) error {
	return &llm.Error{Kind: llm.RateLimited, Provider: a.provider, Unsent: true, RetryAfter: after, Message: fmt.Sprintf(format, args...)}
}

// refuse ends the wait of a request in line. Requires a.mu.
func (a *account) refuse(w *waiter, err error) {
	a.leave(w)
	w.err = err
	close(w.ready)
}

// known returns the limits of the account.
func (a *account) known() (out []Known) {
	a.mu.Lock()
	defer a.mu.Unlock()
	now := time.Now()
	for _, s := range a.scopes {
		l := s.limit()
		k := Known{Provider: a.provider, RequestsPerMinute: l.Requests, TokensPerMinute: l.Tokens, Learned: s.learned, Paused: max(0, s.pausedUntil.Sub(now)), Waiting: s.waiting[interactive] + s.waiting[background]}
		switch s.kind {
		case ofModel:
			k.Model = s.of
		case ofTenant:
			k.Tenant = &s.of
		}
		if l != (amount{}) || k.Paused > 0 {
			out = append(out, k)
		}
	}
	return out
}
