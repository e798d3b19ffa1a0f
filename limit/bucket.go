package limit

import (
	"cmp"
	"maps"
	"math"
	"slices"
	"time"

	"github.com/awaken-go/awaken/llm"
)

// amount is a number of requests and of tokens.
type amount struct {
	Requests float64 `json:"r,omitempty"`
	Tokens   float64 `json:"t,omitempty"`
}

func (a amount) plus(b amount) amount  { return amount{a.Requests + b.Requests, a.Tokens + b.Tokens} }
func (a amount) minus(b amount) amount { return amount{a.Requests - b.Requests, a.Tokens - b.Tokens} }

// The classes of requests, in the order in which they are served.
const (
	interactive = iota
	background
	classes
)

const (
	// claimTime is how long a process that does not return counts.
	claimTime = 3 * time.Second
	// learnedTime is how long a limit counts that the provider does not confirm.
	learnedTime = 10 * time.Minute
	// longestPause bounds what a provider can ask for.
	longestPause = time.Hour
	// A ceiling follows from refusals if there were at least strikes, each after the pause of the one
	// before and none more than strikeTime after it, while the provider served at least leastLoad
	// requests a minute. After half of ceilingTime it grows, to four times its size, and then it is forgotten.
	strikes     = 3
	strikeTime  = 3 * time.Minute
	leastLoad   = 10.0
	ceilingTime = time.Minute
	// longReset is a reset that a limit per minute never has.
	longReset = 90 * time.Second
)

// bucket is what the processes share about one limit: a token bucket for requests and one for
// tokens, and what each process needs. All times are Unix ms by the store's clock.
type bucket struct {
	At       int64             `json:"at"` // of the levels
	Paused   int64             `json:"paused,omitempty"`
	Refused  int64             `json:"refused,omitempty"` // when the provider last refused a request
	Strikes  int               `json:"strikes,omitempty"` // refusals that say nothing about the limit, each after the pause of the one before
	Requests meter             `json:"requests"`
	Tokens   meter             `json:"tokens"`
	Claims   map[string]*claim `json:"claims,omitempty"` // by process
}

// meter is a token bucket. Its limit is the lowest of those that are known.
type meter struct {
	On         bool    `json:"on,omitempty"` // there is a limit
	Level      float64 `json:"level"`
	Configured float64 `json:"configured,omitempty"` // per minute
	Learned    float64 `json:"learned,omitempty"`    // the provider's, for a period
	Period     float64 `json:"period,omitempty"`     // of Learned, in ms
	LearnedAt  int64   `json:"learned_at,omitempty"`
	Ceiling    float64 `json:"ceiling,omitempty"` // per minute, because the provider refused more
	CeilingAt  int64   `json:"ceiling_at,omitempty"`
}

// claim is a process's demand and its present share.
type claim struct {
	Until    int64    `json:"until"`
	Demand   []demand `json:"demand,omitempty"`
	Held     amount   `json:"held,omitzero"`
	InFlight float64  `json:"in_flight,omitempty"` // requests whose response has not begun
	Served   float64  `json:"served,omitempty"`    // requests per minute that the provider did not refuse
}

// demand is the amount that a tenant's requests wait for.
type demand struct {
	Tenant string          `json:"tenant,omitempty"`
	Need   [classes]amount `json:"need"`
}

// visit is a process's request to a bucket for a slice.
type visit struct {
	configured amount // per minute; 0 means none
	demand     []demand
	head       [classes]amount // what the first request of each class needs
	want       amount          // what the process expects to need soon, and does not hold
	passed     amount          // what requests needed that went to another model
	settle     amount          // held and given back or, if negative, used and not held
	held       amount          // after settle
	inFlight   float64
	served     float64 // requests per minute that the provider did not refuse
	report     *llm.RateReport
	refusal    *refusal
}

// refusal is a request that the provider refused because of its limits.
type refusal struct {
	retryAfter time.Duration // 0 if the provider does not say
	known      bool          // the response says what the limits are
}

// idle reports whether a visit changes nothing in a bucket without limits.
func (v *visit) idle() bool {
	return v.configured == amount{} && v.report == nil && v.refusal == nil
}

// outcome is a bucket's reply to a process.
type outcome struct {
	granted  amount
	limits   amount // per minute; 0 means none
	capacity amount // that can be granted at once
	learned  bool   // the limit is not only the configured one
	ample    bool   // there is so much that a slice may be kept
	paused   time.Duration
	retry    time.Duration // when to come again; 0 if the demand is satisfied
}

// visited changes the bucket for a visit.
func (b *bucket) visited(now int64, process string, v *visit) outcome {
	if now < b.At {
		b.shift(now - b.At)
	}
	b.expire(now)
	b.learn(now, process, v)
	b.Requests.fill(now-b.At, now, v.configured.Requests)
	b.Tokens.fill(now-b.At, now, v.configured.Tokens)
	b.At = now
	b.Requests.settle(v.settle.Requests)
	b.Tokens.settle(v.settle.Tokens)
	c := &claim{Until: now + claimTime.Milliseconds(), Demand: v.demand, Held: v.held, InFlight: v.inFlight, Served: v.served}
	if b.Claims == nil {
		b.Claims = map[string]*claim{}
	}
	b.Claims[process] = c
	if v.report != nil {
		b.follow(v.report)
	}
	if v.refusal != nil {
		b.refuse(now, v.refusal)
	}
	out := outcome{limits: amount{b.Requests.perMinute(now), b.Tokens.perMinute(now)}, capacity: amount{b.Requests.capacity(now), b.Tokens.capacity(now)},
		learned: b.Requests.known(now) || b.Tokens.known(now), paused: time.Duration(max(0, b.Paused-now)) * time.Millisecond}
	if out.paused == 0 {
		out.granted.Requests = b.grant(&b.Requests, process, v, func(a amount) float64 { return a.Requests }, true)
		out.granted.Tokens = b.grant(&b.Tokens, process, v, func(a amount) float64 { return a.Tokens }, false)
	}
	out.ample = b.ample(&b.Requests, b.Requests.Level) && b.ample(&b.Tokens, b.Tokens.Level)
	c.Held = c.Held.plus(out.granted)
	out.retry = b.retry(now, v, &out)
	c.subtract(out.granted)
	return out
}

// shift moves all times, because the store's clock was set back: otherwise a pause, and what was
// learned, would count until the clock is again where it was.
func (b *bucket) shift(ms int64) {
	for _, t := range []*int64{&b.At, &b.Paused, &b.Refused, &b.Requests.LearnedAt, &b.Requests.CeilingAt, &b.Tokens.LearnedAt, &b.Tokens.CeilingAt} {
		if *t != 0 {
			*t += ms
		}
	}
	for _, c := range b.Claims {
		if c != nil {
			c.Until += ms
		}
	}
}

// expire removes the claims of processes that did not return. What they held counts as used.
func (b *bucket) expire(now int64) {
	maps.DeleteFunc(b.Claims, func(_ string, c *claim) bool { return c == nil || c.Until <= now })
}

// learn notes the limits in a response.
func (b *bucket) learn(now int64, process string, v *visit) {
	if v.report != nil {
		b.Requests.learn(now, v.report.Requests)
		b.Tokens.learn(now, v.report.Tokens)
	}
	if v.refusal == nil || v.refusal.known || now < b.Paused {
		return
	}
	if now-b.Refused > strikeTime.Milliseconds() {
		b.Strikes = 0
	}
	// The provider does not say what its limit is. One refusal says only when to come back. If it goes on
	// refusing, its limit is what it served meanwhile.
	if b.Strikes++; b.Strikes < strikes {
		return
	}
	served := v.served
	for id, c := range b.Claims {
		if id != process {
			served += c.Served
		}
	}
	if served >= leastLoad {
		b.Requests.Ceiling, b.Requests.CeilingAt = served, now
	}
}

// follow corrects the levels by what the provider says is left. What the processes hold and have
// sent may be part of it, so a level is lowered at once but raised by half.
func (b *bucket) follow(r *llm.RateReport) {
	var held amount
	sent := 0.0
	for _, c := range b.Claims {
		held = held.plus(c.Held)
		sent += c.InFlight
	}
	correct := func(m *meter, s llm.RateState, held, sent float64) {
		if !m.On || s.Limit <= 0 {
			return
		}
		left := float64(s.Remaining) - max(0, held)
		m.Level = min(m.Level, left)
		m.Level = max(m.Level, (left-sent)/2)
	}
	correct(&b.Requests, r.Requests, held.Requests, sent)
	if tokens := &b.Tokens; r.Tokens.Limit > 0 {
		each := 0.0 // what a request in flight may use
		if held.Requests > 0 {
			each = max(0, held.Tokens) / held.Requests
		}
		correct(tokens, r.Tokens, held.Tokens, sent*each)
	}
}

// refuse pauses the bucket, and empties it: the provider has nothing left.
func (b *bucket) refuse(now int64, r *refusal) {
	wait := r.retryAfter
	if wait <= 0 {
		wait = time.Second
	}
	b.Paused = max(b.Paused, now+min(wait, longestPause).Milliseconds())
	b.Refused = now
	if !r.known {
		b.Requests.Level = min(b.Requests.Level, 0)
	}
}

// grant takes from a meter what a process gets. Requests that a user waits for come before
// others, tenants have equal parts, and processes parts by what a tenant needs there.
func (b *bucket) grant(m *meter, process string, v *visit, of func(amount) float64, whole bool) (granted float64) {
	if !m.On {
		return 0
	}
	left := m.Level
	for class := range classes {
		if left <= 0 {
			break
		}
		total := map[string]float64{}
		for _, c := range b.Claims {
			for _, d := range c.Demand {
				total[d.Tenant] += of(d.Need[class])
			}
		}
		parts, sum := fairParts(left, total)
		got, need := 0.0, 0.0
		for _, d := range v.demand {
			if n := of(d.Need[class]); n > 0 {
				need += n
				got += parts[d.Tenant] * n / total[d.Tenant]
			}
		}
		if first := of(v.head[class]); need > 0 && got < first && first <= left {
			got = first // a part of it is of no use
		}
		if got = min(got, left); whole {
			got = math.Floor(got + 1e-9)
		}
		granted += got
		left -= max(sum, got)
	}
	want := max(of(v.want), of(v.passed))
	if b.ample(m, left) { // a little more than is needed, so that the next requests need not ask
		want = max(want, m.capacity(b.At)/50/float64(len(b.Claims))-of(v.held))
	}
	if soon := min(want, left/float64(len(b.Claims))); soon > 0 {
		if whole {
			soon = math.Floor(soon)
		}
		granted += soon
	}
	m.Level -= granted
	return granted
}

// ample reports whether a meter is far from being empty.
func (b *bucket) ample(m *meter, left float64) bool { return !m.On || left >= m.capacity(b.At)/2 }

// fairParts divides an amount so that none gets more than it needs, and no other less than it
// needs and less than that.
func fairParts(amount float64, need map[string]float64) (parts map[string]float64, sum float64) {
	parts = make(map[string]float64, len(need))
	names := slices.SortedFunc(maps.Keys(need), func(a, b string) int { return cmp.Or(cmp.Compare(need[a], need[b]), cmp.Compare(a, b)) })
	for i, name := range names {
		parts[name] = min(need[name], (amount-sum)/float64(len(names)-i))
		sum += parts[name]
	}
	return parts, sum
}

// subtract removes from the demand what was granted, so that others do not leave it a second time.
func (c *claim) subtract(granted amount) {
	for class := range classes {
		for i := range c.Demand {
			n := &c.Demand[i].Need[class]
			r, t := min(n.Requests, max(0, granted.Requests)), min(n.Tokens, max(0, granted.Tokens))
			n.Requests, n.Tokens = n.Requests-r, n.Tokens-t
			granted = granted.minus(amount{r, t})
		}
	}
	c.Demand = slices.DeleteFunc(c.Demand, func(d demand) bool { return d.Need == [classes]amount{} })
}

// retry returns when a process should come again whose demand is not satisfied. The more
// processes there are, the longer each waits, so that the bucket is not visited more often.
func (b *bucket) retry(now int64, v *visit, out *outcome) time.Duration {
	var need amount
	for _, d := range v.demand {
		for _, n := range d.Need {
			need = need.plus(n)
		}
	}
	need = need.plus(v.passed)
	if out.granted.Requests >= need.Requests && out.granted.Tokens >= need.Tokens {
		return 0
	}
	if out.paused > 0 {
		return min(out.paused, time.Second)
	}
	first := v.head[interactive]
	if first == (amount{}) {
		first = v.head[background]
	}
	if first == (amount{}) {
		first = amount{min(v.passed.Requests, 1), v.passed.Tokens}
	}
	wait := max(b.Requests.wait(now, first.Requests), b.Tokens.wait(now, first.Tokens))
	return min(max(wait, 100*time.Millisecond*time.Duration(max(2, len(b.Claims)))), time.Second)
}
