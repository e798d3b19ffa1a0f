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
	ID       string // of the model; it takes part in choosing the home
	Model    Model
	Upstream string   // the provider's name for it
	Weight   float64  // 0 means 1
	Failover bool     // never a home
	Breaker  *Breaker // nil makes one
}

// PoolOptions say how a pool chooses. The zero value is the default.
type PoolOptions struct {
	Home            string // deterministic (default), round_robin, first_healthy
	PerRun          bool   // runs, not threads, stick to their member
	IgnoreCircuit   bool   // an open breaker does not make a session move
	IgnoreQuota     bool   // nor does a rate limit
	QuotaAfterSecs  int    // a rate limit counts only if it lasts at least so long
	IgnoreForbidden bool   // nor does a member that refuses the key or does not know the model
	MaxSwitches     int    // of a session, until something succeeds; 0 means no limit
	Sessions        int    // remembered; default 4096
}

// Pool is a group of models that stand in for each other. A session (a thread, or a run)
// stays with its member as long as that works, for the provider's prompt cache; when its
// member fails in a way that another would not, the request goes to another at once. It
// is safe for concurrent use.
type Pool struct {
	members []PoolMember
	opts    PoolOptions
	turn    atomic.Uint64

	mu          sync.Mutex
	quarantined []bool // until the process ends: the key or the name is wrong
	sessions    map[string]*list.Element
	recent      *list.List // of *poolSession, the latest first
}

type poolSession struct {
	key      string
	member   int // -1: none yet
	switches int // since the last success
}

// NewPool returns a pool. One of the members at least has to be a possible home.
func NewPool(members []PoolMember, opts PoolOptions) (*Pool, error) {
	if opts.Sessions <= 0 {
		opts.Sessions = 4096
	}
	homes := 0
	p := &Pool{opts: opts, sessions: map[string]*list.Element{}, recent: list.New(), quarantined: make([]bool, len(members))}
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
		return nil, errors.New("a pool needs a member that is not for failover only")
	}
	return p, nil
}

// score is how well a session and a member fit: the member with the highest is the home.
// It is weighted rendezvous hashing, so that few sessions move when members change.
func score(key, modelID string, weight float64) float64 {
	h := fnv.New64a()
	h.Write([]byte(key))
	h.Write([]byte{0})
	h.Write([]byte(modelID))
	u := (float64(h.Sum64()) + 1) / (math.MaxUint64 + 2.0)
	return weight / -math.Log(u)
}

// Stream asks the session's member, and others if that fails in the right way.
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

// noting says which member answers, and notes when a session's request succeeds: it may
// move again.
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

// moves reports whether an error means that another member may do better.
func (p *Pool) moves(i int, err error) bool {
	e, ok := errors.AsType[*Error](err)
	if !ok {
		return false
	}
	switch e.Kind {
	case RateLimited, Overloaded:
		return !p.opts.IgnoreQuota && (p.opts.QuotaAfterSecs == 0 || e.RetryAfter == 0 || e.RetryAfter.Seconds() >= float64(p.opts.QuotaAfterSecs))
	case Unauthorized, ModelNotFound:
		if p.opts.IgnoreForbidden {
			return false
		}
		p.mu.Lock()
		defer p.mu.Unlock()
		p.quarantined[i] = true
		return true
	}
	return !p.opts.IgnoreCircuit && !p.members[i].Breaker.available()
}

// choose returns the member to ask: the session's, its home, or another. Last is why the
// one before failed, if one was asked.
func (p *Pool) choose(key string, tried []bool, last error) (int, error) {
	p.mu.Lock()
	defer p.mu.Unlock()
	s := p.session(key)
	if s.member < 0 {
		s.member = p.home(key)
	}
	if !tried[s.member] && p.healthy(s.member) {
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
		return 0, &Error{Kind: PoolAttemptsExhausted, Message: fmt.Sprintf("the session has moved %d times without success", s.switches)}
	case best >= 0:
		s.member = best
		s.switches++
		return best, nil
	case !anyHealthy:
		return 0, &Error{Kind: AllModelsUnavailable, Message: fmt.Sprintf("none of %d models is available", len(p.members)), Err: last}
	}
	return 0, &Error{Kind: PoolAttemptsExhausted, Message: "every available model was asked", Err: last}
}

func (p *Pool) score(key string, i int) float64 {
	return score(key, p.members[i].ID, p.members[i].Weight)
}

// healthy reports whether a member can be asked. Requires p.mu.
func (p *Pool) healthy(i int) bool {
	return !p.quarantined[i] && (p.opts.IgnoreCircuit || p.members[i].Breaker.available())
}

// home returns the member that a session starts with: a healthy one if there is one.
// Requires p.mu.
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

// session returns what is remembered of a session. Requires p.mu.
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
