package limit

import (
	"cmp"
	"time"

	"github.com/awaken-go/awaken/llm"
)

// kind says what a limit is about.
type kind string

// The kinds of limits.
const (
	ofAccount kind = "account"
	ofModel   kind = "model"
	ofTenant  kind = "tenant"
)

// scope is one bucket as this process sees it. The account's mutex guards it.
type scope struct {
	kind       kind
	of         string // the model or the tenant
	name       string // of the bucket
	configured amount // per minute; 0 means none
	learns     bool

	current          bool   // it was visited since it was configured
	limits, capacity amount // of the last visit
	learned          bool   // the last visit found a limit that was not configured
	held             amount
	pausedUntil      time.Time
	waiting          [classes]int

	traffic
	lookedAt time.Time // of the last visit
	again    time.Time // when requests that wait ask again
	backoff  time.Time // no visit before, because one failed
	// satisfied says that the last visit granted what the requests need that wait, and ample that
	// there was a lot more.
	satisfied, ample bool
	report           *llm.RateReport
	refusal          *refusal
}

// traffic counts the requests that were sent, here or elsewhere.
type traffic struct {
	inFlight int     // whose response has not begun
	used     amount  // since the last visit
	rate     amount  // used per minute, smoothed
	passed   amount  // that requests needed, since the last visit, which went to another model
	refused  float64 // requests since the last visit that the provider refused
	served   float64 // requests per minute that it did not refuse, smoothed
	usedAt   time.Time
}

// limit returns the limits that are known, per minute.
func (s *scope) limit() amount {
	if s.current {
		return s.limits
	}
	out := s.configured
	if s.learned {
		out = amount{cmp.Or(out.Requests, s.limits.Requests), cmp.Or(out.Tokens, s.limits.Tokens)}
	}
	return out
}

// need returns what a request takes from the scope before it can be sent. One that is larger than
// the bucket needs a full bucket.
func (s *scope) need(tokens float64) amount {
	l := s.limit()
	var n amount
	if l.Requests > 0 {
		n.Requests = 1
	}
	if l.Tokens > 0 {
		n.Tokens = tokens
		if s.current {
			n.Tokens = min(tokens, s.capacity.Tokens)
		}
	}
	return n
}

// admits reports whether a request can be sent now.
func (s *scope) admits(tokens float64, now time.Time) bool {
	if now.Before(s.pausedUntil) {
		return false
	}
	n := s.need(tokens)
	return s.held.Requests >= n.Requests && s.held.Tokens >= n.Tokens-1e-6
}

// usedUp reports whether a request would have to wait until the next visit, which is not due yet: the last one
// did not grant what was needed, or the store did not answer.
func (s *scope) usedUp(tokens float64, now time.Time) bool {
	if !s.waits() && s.admits(tokens, now) {
		return false
	}
	return now.Before(s.backoff) || s.current && !s.satisfied && now.Before(s.again)
}

// take counts a request that is sent.
func (s *scope) take(tokens float64, now time.Time) {
	l := s.limit()
	if l.Requests > 0 {
		s.held.Requests--
	}
	if l.Tokens > 0 {
		s.held.Tokens -= tokens
	}
	s.used = s.used.plus(amount{1, tokens})
	s.usedAt = now
	s.inFlight++
}

// correct replaces the estimate of a request that was sent by what it used.
func (s *scope) correct(estimate, used float64) {
	if s.limit().Tokens > 0 {
		s.held.Tokens += estimate - used
	}
	s.used.Tokens += used - estimate
}

// measure updates the rate.
func (s *scope) measure(now time.Time) {
	if s.lookedAt.IsZero() {
		s.rate = amount{s.used.Requests * 60, s.used.Tokens * 60}
		s.served = max(0, s.used.Requests-s.refused)
	} else if passed := now.Sub(s.lookedAt).Minutes(); passed > 0 {
		const span = 5.0 / 60 // minutes that count
		part := min(1, passed/span)
		s.rate.Requests += part * (s.used.Requests/passed - s.rate.Requests)
		s.rate.Tokens += part * (s.used.Tokens/passed - s.rate.Tokens)
		const long = 0.5 // minutes that count for what works
		s.served += min(1, passed/long) * (max(0, s.used.Requests-s.refused)/passed - s.served)
	}
	s.used, s.refused = amount{}, 0
}

// expected returns what will be needed within a moment.
func (s *scope) expected() amount {
	const moment = 0.5 / 60
	l := s.limit()
	var n amount
	if l.Requests > 0 {
		n.Requests = s.rate.Requests * moment
	}
	if l.Tokens > 0 {
		n.Tokens = s.rate.Tokens * moment
	}
	return n
}

// estimate returns how long a request waits that joins the line now.
func (s *scope) estimate(now time.Time) time.Duration {
	wait := max(s.again.Sub(now), s.backoff.Sub(now))
	if l := s.limit(); l.Requests > 0 {
		behind := float64(s.waiting[interactive] + s.waiting[background])
		wait = max(wait, time.Duration(behind/l.Requests*float64(time.Minute)))
	}
	return wait
}

// due returns when a round must visit the scope; the zero time means never.
func (s *scope) due(now time.Time) (at time.Time) {
	at = s.wanted(now)
	if at.IsZero() {
		return at
	}
	for _, t := range []time.Time{s.backoff, s.lookedAt.Add(leastGap)} {
		if at.Before(t) {
			at = t
		}
	}
	return at
}

func (s *scope) wanted(now time.Time) (at time.Time) {
	earliest := func(t time.Time) {
		if t.Before(now) {
			t = now
		}
		if at.IsZero() || t.Before(at) {
			at = t
		}
	}
	l := s.limit()
	if s.refusal != nil || s.report != nil && !s.learned || !s.current && (l != amount{} || s.held != amount{}) ||
		s.held.Requests < 0 || s.held.Tokens < -0.01*l.Tokens {
		earliest(now)
	}
	if s.waits() || s.passed != (amount{}) {
		earliest(s.again)
	}
	if !s.waits() && (s.held.Requests >= 1 || s.held.Tokens >= 1) {
		earliest(s.usedAt.Add(s.keeps()))
		if want := s.expected(); s.held.Requests < want.Requests/2 || s.held.Tokens < want.Tokens/2 {
			earliest(s.lookedAt.Add(keepTime / 4))
		}
	}
	if s.learns && s.usedAt.After(s.lookedAt) {
		earliest(s.lookedAt.Add(lookTime))
	}
	return at
}

// joined makes a request that has begun to wait count in the next visit, which may be earlier
// because of it.
func (s *scope) joined(class int) {
	s.waiting[class]++
	switch {
	case s.satisfied:
		s.again, s.satisfied = time.Time{}, false
	case class == interactive && s.waiting[class] == 1:
		if soon := s.lookedAt.Add(100 * time.Millisecond); soon.Before(s.again) {
			s.again = soon
		}
	}
}

// keeps returns how long the scope keeps what it does not need.
func (s *scope) keeps() time.Duration {
	if s.ample {
		return 20 * keepTime
	}
	return keepTime
}

// surplus returns what the scope holds and does not need.
func (s *scope) surplus(now time.Time) amount {
	out := amount{min(s.held.Requests, 0), min(s.held.Tokens, 0)}
	if !s.waits() && now.Sub(s.usedAt) >= s.keeps() {
		out = s.held
	}
	return out
}

// waits reports whether requests wait for the scope.
func (s *scope) waits() bool { return s.waiting[interactive]+s.waiting[background] > 0 }
