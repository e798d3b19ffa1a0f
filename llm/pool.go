package llm

import (
	"cmp"
	"container/list"
	"context"
	"errors"
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
	IgnoreCircuit   bool   // do not switch when a member fails or its breaker is open
	IgnoreQuota     bool   // do not switch at a rate limit: wait for it
	QuotaAfterSecs  int    // do not switch at a rate limit that the provider says ends sooner than this; 0 always switches
	IgnoreForbidden bool   // do not switch when a member rejects the key or the model
	MaxSwitches     int    // of a session without a success in between; 0 means no limit
	Sessions        int    // how many to remember; default 4096
}

// Pool is a Model that fails over between members. A session (a thread or a run) stays with
// one member while that works, for the sake of the provider's prompt cache. When the member fails or
// holds the request back in a way that another may not, the pool sends the request to another at once:
// it never waits while a member can answer. The session moves along if its member is limited, rejects
// its key or model, or has an open breaker; a single failure only lends the request to another member.
// If no member takes the request, it waits for the one that can answer first, unless that takes longer
// than the request's [Patience]. A member that rejects its key or its model is quarantined, see
// [Breaker]. A Pool is safe for concurrent use.
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
		r := p.route(req)
		for {
			i, until, err := r.next(ctx)
			if err != nil {
				yield(Delta{}, err)
				return
			}
			m := &p.members[i]
			one := *req
			one.Model = m.Upstream
			one.Patience = &Patience{Since: r.since, Until: until, MaxPause: r.maxPause}
			err, over := relay(Break(m.Model, m.Breaker).Stream(ctx, &one), p.noting(r.key, m.ID, yield))
			if over {
				return
			}
			if ctx.Err() != nil || !r.failed(i, err) {
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

func (p *Pool) score(key string, i int) float64 {
	return score(key, p.members[i].ID, p.members[i].Weight)
}

// home returns the member that a session starts with, a healthy one if possible. Requires
// p.mu.
func (p *Pool) home(key string) int {
	var homes, healthy []int
	for i := range p.members {
		if !p.members[i].Failover {
			homes = append(homes, i)
			if p.admission(i).Verdict == SendNow {
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
