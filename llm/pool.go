package llm

import (
	"cmp"
	"container/list"
	"context"
	"errors"
	"fmt"
	"hash/fnv"
	"iter"
	"math"
	"slices"
	"sync"
	"sync/atomic"
)

// PoolMember is one model of a pool.
type PoolMember struct {
	ID       string // of the model; names the member in MemberDelta
	Model    Model
	Upstream string   // the provider's name for the model; replaces Request.Model
	Weight   float64  // relative share of the sessions that start with it; 0 means 1
	Failover bool     // used for failover only: no session starts with it
	Breaker  *Breaker // nil makes one with the defaults
}

// PoolOptions configure how a pool chooses members. The zero value is the default.
type PoolOptions struct {
	Home            string // how to choose the member that a session starts with: deterministic (default, by session id and weight), round_robin or first_healthy
	PerRun          bool   // a session is a run, not a thread
	IgnoreCircuit   bool   // do not switch when a breaker opens
	IgnoreQuota     bool   // do not switch at a rate limit
	QuotaAfterSecs  int    // do not switch at a rate limit that the provider says ends sooner than this; 0 always switches
	IgnoreForbidden bool   // do not switch when a member rejects the key or the model
	MaxSwitches     int    // of a session without a success in between; 0 means no limit
	Sessions        int    // how many to remember; default 4096
}

// Pool is a Model that fails over between members. A session (a thread or a run) stays with
// one member while that works, for the sake of the provider's prompt cache. When the member
// fails in a way that another may not, the pool sends the request to another at once. A member
// that rejects its key or its model is quarantined, see [Breaker]. A Pool is safe for concurrent
// use.
type Pool struct {
	members []PoolMember
	opts    PoolOptions
	turn    atomic.Uint64

	mu       sync.Mutex
	sessions map[string]*list.Element
	recent   *list.List // of *poolSession, most recent first
}

type poolSession struct {
	key      string
	member   int // -1 before the first request
	switches int // since the last success
}

// NewPool returns a pool. At least one member must not be failover only.
func NewPool(members []PoolMember, opts PoolOptions) (*Pool, error) {
	if opts.Sessions <= 0 {
		opts.Sessions = 4096
	}
	homes := 0
	p := &Pool{opts: opts, sessions: map[string]*list.Element{}, recent: list.New()}
	for _, m := range members {
		if m.Weight == 0 {
			m.Weight = 1
		}
		if m.Breaker == nil {
			m.Breaker = &Breaker{Name: m.ID}
		}
		if !m.Failover {
			homes++
		}
		p.members = append(p.members, m)
	}
	if homes == 0 {
		return nil, errors.New("a pool needs at least one member that is not failover only")
	}
	return p, nil
}

// score ranks a member for a session; the one with the highest score is the home. This is
// weighted rendezvous hashing: few sessions move when members change.
func score(key, modelID string, weight float64) float64 {
	h := fnv.New64a()
	h.Write([]byte(key))
	h.Write([]byte{0})
	h.Write([]byte(modelID))
	u := (float64(h.Sum64()) + 1) / (math.MaxUint64 + 2.0)
	return weight / -math.Log(u)
}

// Stream sends the request to the session's member, and to others while failures allow it.
// Its first delta is a [MemberDelta].
func (p *Pool) Stream(ctx context.Context, req *Request) iter.Seq2[Delta, error] {
	return func(yield func(Delta, error) bool) {
		key := req.Routing.ThreadID
		if p.opts.PerRun {
			key = req.Routing.RunID
		}
		tried := make([]bool, len(p.members))
		var last error
		for {
			i, err := p.choose(key, tried, last)
			if err != nil {
				yield(Delta{}, err)
				return
			}
			tried[i] = true
			m := &p.members[i]
			one := *req
			one.Model = m.Upstream
			err, over := relay(Break(m.Model, m.Breaker).Stream(ctx, &one), p.noting(key, m.ID, yield))
			if over {
				return
			}
			if last = err; ctx.Err() != nil || !p.moves(i, err) {
				yield(Delta{}, err)
				return
			}
		}
	}
}

// noting wraps yield: it first yields which member replies, and resets the session's switches
// when the reply finishes.
func (p *Pool) noting(key, member string, yield func(Delta, error) bool) func(Delta, error) bool {
	said := false
	return func(d Delta, err error) bool {
		if !said && err == nil {
			said = true
			if !yield(Delta{Kind: MemberDelta, ID: member}, nil) {
				return false
			}
		}
		if err == nil && d.Kind == FinishDelta {
			p.mu.Lock()
			p.session(key).switches = 0
			p.mu.Unlock()
		}
		return yield(d, err)
	}
}

// moves reports whether another member may succeed after this error of member i.
func (p *Pool) moves(i int, err error) bool {
	e, ok := errors.AsType[*Error](err)
	if !ok {
		return false
	}
	switch e.Kind {
	case RateLimited, Overloaded, QuotaExceeded:
		return !p.opts.IgnoreQuota && (p.opts.QuotaAfterSecs == 0 || e.RetryAfter == 0 || e.RetryAfter.Seconds() >= float64(p.opts.QuotaAfterSecs))
	case Unauthorized, ModelNotFound:
		if p.opts.IgnoreForbidden {
			return false
		}
		p.members[i].Breaker.quarantine()
		return true
	}
	return !p.opts.IgnoreCircuit && !p.members[i].Breaker.available()
}

// choose returns the member to try next: the session's own, or the best of the others. Last is
// the error of the member tried before, if any.
func (p *Pool) choose(key string, tried []bool, last error) (int, error) {
	p.mu.Lock()
	defer p.mu.Unlock()
	s := p.session(key)
	if s.member < 0 {
		s.member = p.home(key)
	}
	if !tried[s.member] && p.healthy(s.member) {
		p.members[s.member].Breaker.probe()
		return s.member, nil
	}
	best, anyHealthy := -1, false
	for i := range p.members {
		if !p.healthy(i) {
			continue
		}
		anyHealthy = true
		if !tried[i] && (best < 0 || p.score(key, i) > p.score(key, best)) {
			best = i
		}
	}
	switch {
	case best >= 0 && p.opts.MaxSwitches > 0 && s.switches >= p.opts.MaxSwitches:
		if last != nil {
			return 0, last
		}
		return 0, &Error{Kind: PoolAttemptsExhausted, Message: fmt.Sprintf("the session has switched models %d times without success", s.switches)}
	case best >= 0:
		s.member = best
		s.switches++
		p.members[best].Breaker.probe()
		return best, nil
	case !anyHealthy:
		return 0, &Error{Kind: AllModelsUnavailable, Message: fmt.Sprintf("none of the pool's %d models is available", len(p.members)), Err: last}
	}
	return 0, &Error{Kind: PoolAttemptsExhausted, Message: "every available model was tried", Err: last}
}

func (p *Pool) score(key string, i int) float64 {
	return score(key, p.members[i].ID, p.members[i].Weight)
}

// healthy reports whether member i can be tried. Requires p.mu.
func (p *Pool) healthy(i int) bool {
	b := p.members[i].Breaker
	return (p.opts.IgnoreForbidden || b.trusted()) && (p.opts.IgnoreCircuit || b.available())
}

// home returns the member that a session starts with, a healthy one if possible. Requires
// p.mu.
func (p *Pool) home(key string) int {
	var homes, healthy []int
	for i := range p.members {
		if !p.members[i].Failover {
			homes = append(homes, i)
			if p.healthy(i) {
				healthy = append(healthy, i)
			}
		}
	}
	if len(healthy) > 0 {
		homes = healthy
	}
	switch p.opts.Home {
	case "first_healthy":
		return homes[0]
	case "round_robin":
		total := 0.0
		for _, i := range homes {
			total += p.members[i].Weight
		}
		slot := math.Mod(float64(p.turn.Add(1)-1), total)
		for _, i := range homes {
			if slot -= p.members[i].Weight; slot < 0 {
				return i
			}
		}
	}
	return slices.MaxFunc(homes, func(i, j int) int { return cmp.Compare(p.score(key, i), p.score(key, j)) })
}

// session returns the state of a session, new if it is not remembered. Requires p.mu.
func (p *Pool) session(key string) *poolSession {
	if e := p.sessions[key]; e != nil {
		p.recent.MoveToFront(e)
		return e.Value.(*poolSession)
	}
	s := &poolSession{key: key, member: -1}
	p.sessions[key] = p.recent.PushFront(s)
	if p.recent.Len() > p.opts.Sessions {
		oldest := p.recent.Back()
		delete(p.sessions, oldest.Value.(*poolSession).key)
		p.recent.Remove(oldest)
	}
	return s
}
