package config

import (
	"context"
	"errors"
	"maps"
	"slices"
	"sync"

	"github.com/awaken-go/awaken/registry"
)

// pins are versions that runs are pinned to.
type pins struct {
	most      int // that are kept
	catalogue *catalogue
	current   *current
	servers   *servers

	mu   sync.Mutex
	held []*pin // the one that was used last is at the end
}

type pin struct {
	number int64
	done   chan struct{}
	// Set when done is closed.
	v   *compiled
	err error
}

// registry returns the registry of a version that is not live. Callers that want the same
// version at the same time wait for the first of them.
func (ps *pins) registry(ctx context.Context, number int64) (*registry.Registry, error) {
	for {
		p, mine := ps.get(number)
		if mine {
			ps.pin(ctx, p)
		}
		select {
		case <-p.done:
		case <-ctx.Done():
			return nil, context.Cause(ctx)
		}
		switch {
		case p.err == nil:
			return p.v.reg, nil
		case mine || !errors.Is(p.err, context.Canceled) && !errors.Is(p.err, context.DeadlineExceeded):
			return nil, p.err
		}
		// Who compiled it was called off, which is not our business.
	}
}

// pin compiles a version from how it differs from what is live, and holds its connections.
// The store is read while others write.
func (ps *pins) pin(ctx context.Context, p *pin) {
	for done := false; !done; {
		now := ps.current.now()
		changes, since, err := ps.catalogue.difference(ctx, now, p.number)
		if err != nil {
			ps.set(p, nil, err)
			return
		}
		done = ps.pinFrom(ctx, now, p, changes, since)
	}
}

// pinFrom compiles a version beside the live one of a state. It reports whether it could be
// tried: not if the connections of that are not those of now. The lock is held until the
// version is kept and others are forgotten, so that nobody takes up a connection that is
// about to be closed.
func (ps *pins) pinFrom(ctx context.Context, s *state, p *pin, changes map[Key]*document, since int) bool {
	if err := ps.current.lock(ctx); err != nil {
		ps.set(p, nil, err)
		return true
	}
	defer ps.current.unlock()
	now := ps.current.now()
	if !maps.Equal(now.live.servers, s.live.servers) {
		return false
	}
	v, err := ps.catalogue.variantOf(ctx, s, p.number, changes, since, now.secrets)
	if err == nil {
		ps.servers.hold(v)
		v.begin()
	}
	ps.set(p, v, err)
	return true
}

// get returns a version. Mine means that the caller has to compile it, and everybody else
// waits for that.
func (ps *pins) get(number int64) (p *pin, mine bool) {
	ps.mu.Lock()
	defer ps.mu.Unlock()
	if i := slices.IndexFunc(ps.held, func(p *pin) bool { return p.number == number }); i >= 0 {
		p = ps.held[i]
		ps.held = append(slices.Delete(ps.held, i, i+1), p)
		return p, false
	}
	p = &pin{number: number, done: make(chan struct{})}
	ps.held = append(ps.held, p)
	return p, true
}

// set says what became of a version. If it is there, those are forgotten that were not used
// for long; the caller then holds the manager's lock.
func (ps *pins) set(p *pin, v *compiled, err error) {
	ps.mu.Lock()
	p.v, p.err = v, err
	close(p.done)
	var over []*pin
	i := slices.Index(ps.held, p)
	switch {
	case i < 0 && v != nil: // it was cleared meanwhile
		over = append(over, p)
	case i >= 0 && err != nil:
		ps.held = slices.Delete(ps.held, i, i+1)
	}
	for err == nil && len(ps.held) > ps.most && ps.held[0].ready() {
		over = append(over, ps.held[0])
		ps.held = ps.held[1:]
	}
	ps.mu.Unlock()
	for _, p := range over {
		ps.servers.drop(p.v)
	}
}

func (p *pin) ready() bool {
	select {
	case <-p.done:
		return true
	default:
		return false
	}
}

// change replaces the versions that are ready by what fn makes of them. The caller holds the
// manager's lock.
func (ps *pins) change(fn func(*compiled) (*compiled, error)) (err error) {
	ps.mu.Lock()
	defer ps.mu.Unlock()
	for i, p := range ps.held {
		if !p.ready() || p.v == nil {
			continue
		}
		v, changeErr := fn(p.v)
		if err = errors.Join(err, changeErr); v == p.v {
			continue
		}
		ps.servers.hold(v)
		ps.servers.drop(p.v)
		ps.held[i] = &pin{number: p.number, done: p.done, v: v}
	}
	return err
}

// clear forgets all versions: they have to be compiled anew.
func (ps *pins) clear() {
	ps.mu.Lock()
	over := ps.held
	ps.held = nil
	ps.mu.Unlock()
	for _, p := range over {
		if p.ready() && p.v != nil {
			ps.servers.drop(p.v)
		}
	}
}
