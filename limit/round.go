package limit

import (
	"cmp"
	"context"
	"encoding/json"
	"errors"
	"math/rand/v2"
	"slices"
	"time"
)

// maxTenants is how many tenants a process names in a bucket; it adds up the others.
const maxTenants = 32

// errContended means that other processes were always faster.
var errContended = errors.New("other processes change the bucket all the time")

// wake makes a round begin. Requires a.mu.
func (a *account) wake() {
	if !a.running {
		a.running = a.limiter.begin(a.rounds)
		return
	}
	select {
	case a.kick <- struct{}{}:
	default:
	}
}

// rounds visits buckets while there is a reason. A round visits all that are due, with one
// statement that reads them and one for each that it changes.
func (a *account) rounds(ctx context.Context) {
	timer := time.NewTimer(time.Hour)
	defer timer.Stop()
	for ctx.Err() == nil {
		a.mu.Lock()
		a.asking = time.Time{}
		list, next := a.dueVisits(time.Now())
		if len(list) == 0 && next.IsZero() {
			a.running = false
			a.mu.Unlock()
			return
		}
		if len(list) > 0 {
			a.asking = time.Now()
		}
		a.mu.Unlock()
		if len(list) > 0 {
			a.round(ctx, list)
			continue
		}
		timer.Reset(max(0, time.Until(next)))
		select {
		case <-timer.C:
		case <-a.kick:
		case <-ctx.Done():
		}
	}
}

// pending is a visit that is being made.
type pending struct {
	scope   *scope
	visit   visit
	bucket  bucket
	stored  Stored
	outcome outcome
	done    bool
}

// dueVisits returns the visits that are due, and otherwise when the next one is; the zero time
// means never. Requires a.mu.
func (a *account) dueVisits(now time.Time) (list []*pending, next time.Time) {
	for name, s := range a.scopes {
		at := s.due(now)
		switch {
		case at.IsZero() && s.inFlight == 0 && now.Sub(s.usedAt) > learnedTime:
			delete(a.scopes, name)
		case at.IsZero():
		case !at.After(now):
			list = append(list, &pending{scope: s, visit: a.visitOf(s, now)})
		case next.IsZero() || at.Before(next):
			next = at
		}
	}
	return list, next
}

// visitOf returns what to tell a bucket. What is given back is no longer held. Requires a.mu.
func (a *account) visitOf(s *scope, now time.Time) visit {
	s.measure(now)
	v := visit{configured: s.configured, settle: s.surplus(now), served: s.served, inFlight: float64(s.inFlight)}
	s.held = s.held.minus(v.settle)
	v.held = s.held
	if s.learns {
		v.report, v.refusal = s.report, s.refusal
	}
	s.report, s.refusal = nil, nil
	v.passed, s.passed = s.passed, amount{}
	spare := v.held // goes to the first that wait
	for class := range classes {
		for _, w := range a.lines[class].all() {
			if !slices.Contains(w.scopes, s) {
				continue
			}
			need := s.need(w.tokens)
			if v.head[class] == (amount{}) {
				v.head[class] = amount{max(0, need.Requests-spare.Requests), max(0, need.Tokens-spare.Tokens)}
			}
			used := amount{min(need.Requests, spare.Requests), min(need.Tokens, spare.Tokens)}
			spare, need = spare.minus(used), need.minus(used)
			if need != (amount{}) {
				v.add(w.tenant, class, need)
			}
		}
	}
	if want := s.expected(); now.Sub(s.usedAt) < keepTime {
		v.want = amount{max(0, want.Requests-v.held.Requests), max(0, want.Tokens-v.held.Tokens)}
	}
	return v
}

// add adds to the demand of a tenant.
func (v *visit) add(tenant string, class int, need amount) {
	i := slices.IndexFunc(v.demand, func(d demand) bool { return d.Tenant == tenant })
	if i < 0 {
		if i = len(v.demand); i == maxTenants {
			i--
		} else {
			v.demand = append(v.demand, demand{Tenant: tenant})
		}
	}
	v.demand[i].Need[class] = v.demand[i].Need[class].plus(need)
}

// round makes visits and lets the requests go for which there is room then.
func (a *account) round(ctx context.Context, list []*pending) {
	work := ctx
	ctx, cancel := context.WithTimeout(ctx, roundTime)
	defer cancel()
	began := time.Now()
	err := a.visitAll(ctx, list)
	if err != errContended && work.Err() == nil { // otherwise the store works, or the limiter is being closed
		a.limiter.visited(began, err)
	}
	a.forget(ctx)
	a.mu.Lock()
	defer a.mu.Unlock()
	now := time.Now()
	for _, p := range list {
		if p.done {
			p.scope.apply(&p.visit, &p.outcome, began, now)
			continue
		}
		s, v := p.scope, &p.visit // try again
		s.held = s.held.plus(v.settle)
		s.passed = s.passed.plus(v.passed)
		if s.report == nil {
			s.report = v.report
		}
		if s.refusal == nil {
			s.refusal = v.refusal
		}
		s.backoff = now.Add(time.Second/2 + rand.N(time.Second/2))
		if err == errContended {
			s.backoff = now.Add(rand.N(100 * time.Millisecond))
		}
	}
	a.dispatch(now)
	a.answer(now)
}

// forget removes the buckets that no process uses any more, now and then.
func (a *account) forget(ctx context.Context) {
	now := time.Now()
	if a.forgotten.IsZero() {
		a.forgotten = now
	}
	if now.Sub(a.forgotten) < forgetEvery {
		return
	}
	a.forgotten = now
	if err := a.limiter.cfg.Store.ForgetBuckets(ctx, forgetAfter); err != nil && ctx.Err() == nil {
		a.limiter.cfg.Logger.Warn("cannot remove unused rate limits", "error", err)
	}
}

// visitAll makes visits. Those that others prevent are repeated.
func (a *account) visitAll(ctx context.Context, list []*pending) error {
	store := a.limiter.cfg.Store
	for range 8 {
		var names []string
		for _, p := range list {
			if !p.done {
				names = append(names, p.scope.name)
			}
		}
		if len(names) == 0 {
			return nil
		}
		stored, now, err := store.LoadBuckets(ctx, names...)
		if err != nil {
			return err
		}
		for _, p := range list {
			if p.done {
				continue
			}
			p.load(stored)
			if p.stored.Revision == 0 && p.visit.idle() {
				p.done = true
				continue
			}
			p.outcome = p.bucket.visited(now.UnixMilli(), a.limiter.self, p.visit.clone())
			if p.stored.Data, err = json.Marshal(&p.bucket); err != nil {
				return err
			}
			if p.done, err = store.SwapBucket(ctx, p.stored); err != nil {
				return err
			}
		}
	}
	return errContended
}

// load finds the bucket among the stored ones. One that cannot be read begins anew.
func (p *pending) load(list []Stored) {
	p.bucket, p.stored = bucket{}, Stored{Name: p.scope.name}
	if i := slices.IndexFunc(list, func(b Stored) bool { return b.Name == p.scope.name }); i >= 0 {
		p.stored = list[i]
		if json.Unmarshal(p.stored.Data, &p.bucket) != nil {
			p.bucket = bucket{}
		}
	}
}

// clone returns a copy whose demand can be changed.
func (v *visit) clone() *visit {
	own := *v
	own.demand = slices.Clone(v.demand)
	return &own
}

// apply notes the outcome of a visit.
func (s *scope) apply(v *visit, o *outcome, asked, now time.Time) {
	s.lookedAt = asked
	if v.configured == s.configured {
		s.current = true
	}
	s.limits, s.capacity, s.learned = o.limits, o.capacity, o.learned && s.learns
	s.held = s.held.plus(o.granted)
	if o.limits.Requests == 0 {
		s.held.Requests = 0
	}
	if o.limits.Tokens == 0 {
		s.held.Tokens = 0
	}
	s.pausedUntil = time.Time{}
	if o.paused > 0 {
		s.pausedUntil = now.Add(o.paused)
	}
	s.backoff = time.Time{}
	s.satisfied, s.ample = o.retry == 0, o.ample
	s.again = now.Add(cmp.Or(o.retry, time.Second) + rand.N(o.retry/4+1))
}

// giveBack gives back everything.
func (a *account) giveBack(ctx context.Context) {
	a.mu.Lock()
	var list []*pending
	for _, s := range a.scopes {
		if s.held.Requests != 0 || s.held.Tokens != 0 {
			list = append(list, &pending{scope: s, visit: visit{configured: s.configured, settle: s.held}})
			s.held = amount{}
		}
	}
	a.mu.Unlock()
	if len(list) == 0 {
		return
	}
	if err := a.visitAll(ctx, list); err != nil {
		a.limiter.cfg.Logger.Warn("cannot return an unused part of a provider's rate limit", "provider", a.provider, "error", err)
	}
}
