package llm

import (
	"context"
	"errors"
	"fmt"
	"time"
)

// route is the way of one request through a pool: which members it may still be sent to, and when.
type route struct {
	pool     *Pool
	key      string // of the session
	since    time.Time
	maxPause time.Duration
	tried    []bool
	held     []time.Time // when a member that holds the request back can send it; zero if it does not
	stay     int         // the member whose rate limit is to be waited for; -1 if none
	lend     bool        // the session stays where it is
	lent     int         // how often the request was lent
	last     *Error      // of the members that failed, preferably one that allows a retry
	inLine   time.Time   // when the request was last sent to a member to wait there
	bounced  bool        // that member refused it without a wait
}

const (
	// briefHold is a wait for a rate limit that a session does not move for.
	briefHold = 5 * time.Second
	// leastHold is the least time that a request waits in the line of a rate limit, once no member takes it.
	leastHold = 250 * time.Millisecond
)

func (p *Pool) route(req *Request) *route {
	r := &route{pool: p, key: req.Routing.ThreadID, maxPause: req.Patience.Pause(),
		tried: make([]bool, len(p.members)), held: make([]time.Time, len(p.members)), stay: -1}
	if p.opts.PerRun {
		r.key = req.Routing.RunID
	}
	if req.Patience != nil {
		r.since = req.Patience.Since
	}
	if r.since.IsZero() {
		r.since = time.Now()
	}
	return r
}

// admission answers whether member i takes a request, as far as its breaker knows.
func (p *Pool) admission(i int) Admission {
	b := p.members[i].Breaker
	if a := b.trust(); !p.opts.IgnoreForbidden && a.Verdict != SendNow {
		return a
	}
	if p.opts.IgnoreCircuit {
		return Admission{}
	}
	return b.Admission()
}

// next returns the member to send the request to, and until when a rate limit may hold it there; zero
// means until its turn. If no member takes the request now, but a rate limit will let it go soon, it waits
// in the line of that limit, at most until another member may take it.
func (r *route) next(ctx context.Context) (member int, until time.Time, err error) {
	if i := r.stay; i >= 0 {
		r.stay = -1
		return i, time.Time{}, nil
	}
	for {
		switch i, err := r.choose(); {
		case err != nil:
			return -1, until, err
		case i >= 0 && r.pool.opts.IgnoreQuota:
			return i, until, nil
		case i >= 0:
			return i, time.Now(), nil
		}
		first, at, other := r.soonest()
		soon := at
		if soon.IsZero() || !other.IsZero() && other.Before(soon) {
			soon = other
		}
		now := time.Now()
		if first < 0 || soon.Sub(now) > r.maxPause {
			return -1, until, r.exhausted(soon)
		}
		if !r.bounced {
			r.release()
			r.inLine = now
			if least := now.Add(leastHold); !other.IsZero() && other.Before(least) {
				other = least
			}
			return first, other, nil
		}
		if err := sleep(ctx, max(soon.Sub(now), leastHold)); err != nil {
			return -1, until, err
		}
		r.bounced = false
		r.release()
	}
}

// soonest returns the member whose rate limit lets the request go first, when that is, and when another
// member may take it; zero times if there is none.
func (r *route) soonest() (first int, at, other time.Time) {
	first = -1
	before := func(a, b time.Time) bool { return b.IsZero() || a.Before(b) }
	for i, t := range r.held {
		switch {
		case t.IsZero() && r.tried[i]: // it failed
		case t.IsZero():
			if t = time.Now().Add(r.pool.admission(i).After); before(t, other) {
				other = t
			}
		case before(t, at):
			if first >= 0 && before(at, other) {
				other = at
			}
			first, at = i, t
		case before(t, other):
			other = t
		}
	}
	return first, at, other
}

// release lets the request be sent again to members that held it back.
func (r *route) release() {
	for i, t := range r.held {
		if !t.IsZero() {
			r.tried[i], r.held[i] = false, time.Time{}
		}
	}
}

// failed notes the error of member i and reports whether another member may take the request.
func (r *route) failed(i int, err error) bool {
	e, ok := errors.AsType[*Error](err)
	if !ok {
		return false
	}
	opts, b := &r.pool.opts, r.pool.members[i].Breaker
	r.tried[i], r.lend = true, false
	switch {
	case e.Kind == RateLimited && e.Unsent:
		if opts.IgnoreQuota {
			return false
		}
		if e.RetryAfter.Seconds() < float64(opts.QuotaAfterSecs) {
			r.stay = i
			return true
		}
		now := time.Now()
		r.held[i] = now.Add(max(e.RetryAfter, time.Millisecond))
		r.bounced = !r.inLine.IsZero() && now.Sub(r.inLine) < leastHold/2
		r.lend = e.RetryAfter < briefHold
		return true
	case e.Kind == RateLimited || e.Kind == Overloaded || e.Kind == QuotaExceeded:
		if opts.IgnoreQuota || e.RetryAfter > 0 && e.RetryAfter.Seconds() < float64(opts.QuotaAfterSecs) {
			return false
		}
	case e.Kind == Unauthorized || e.Kind == ModelNotFound:
		if opts.IgnoreForbidden {
			return false
		}
		b.quarantine()
	case e.Kind == CircuitOpen:
		return !opts.IgnoreCircuit // choose sees that it is open
	case e.Retryable():
		if opts.IgnoreCircuit {
			return false
		}
		r.lend = b.Admission().Verdict == SendNow
	default:
		return false
	}
	if r.last == nil || e.Retryable() && (!r.last.Retryable() || e.RetryAfter < r.last.RetryAfter) {
		r.last = e
	}
	return true
}

// choose returns the member to try next: the session's own, or the best of the others; -1 if none takes
// the request now.
func (r *route) choose() (int, error) {
	p := r.pool
	p.mu.Lock()
	defer p.mu.Unlock()
	s := p.session(r.key)
	if s.member < 0 {
		s.member = p.home(r.key)
	}
	takes := func(i int) bool { return !r.tried[i] && p.admission(i).Verdict == SendNow }
	if takes(s.member) {
		p.members[s.member].Breaker.probe()
		return s.member, nil
	}
	best := -1
	for i := range p.members {
		if takes(i) && (best < 0 || p.score(r.key, i) > p.score(r.key, best)) {
			best = i
		}
	}
	if best < 0 {
		return -1, nil
	}
	if switches := s.switches + r.lent; p.opts.MaxSwitches > 0 && switches >= p.opts.MaxSwitches {
		if r.last != nil {
			return -1, r.last
		}
		return -1, &Error{Kind: PoolAttemptsExhausted, Unsent: true,
			Message: fmt.Sprintf("the session has switched models %d times without success", switches)}
	}
	if r.lend {
		r.lent++
	} else {
		s.member = best
		s.switches++
	}
	p.members[best].Breaker.probe()
	return best, nil
}

// exhausted returns the error of a request that no member takes before that time; zero means never.
func (r *route) exhausted(soon time.Time) error {
	after := time.Duration(0)
	if !soon.IsZero() {
		after = max(0, time.Until(soon))
	}
	n := len(r.pool.members)
	if r.last == nil {
		return &Error{Kind: AllModelsUnavailable, Unsent: true, RetryAfter: after,
			Message: fmt.Sprintf("none of the pool's %d models takes requests now", n)}
	}
	if last := r.last.RetryAfter; r.last.Retryable() && (last == 0 || after == 0 || last < after) {
		after = last
	}
	return &Error{Kind: PoolAttemptsExhausted, RetryAfter: after, Err: r.last,
		Message: fmt.Sprintf("none of the pool's %d models answered", n)}
}
