package config

import (
	"context"
	"errors"
	"maps"
	"slices"
	"sync"

	"github.com/awaken-go/awaken/registry"
)

// pins keeps compiled versions for the runs that are pinned to them.
type pins struct {
	most      int // how many versions to keep
	catalogue *catalogue
	current   *current
	servers   *servers

	mu     sync.Mutex
	cached []*pin // most recently used last
}

type pin struct {
	number int64
	done   chan struct{}
	// Set before done is closed.
	v   *compiled
	err error
}

// registry returns the registry of a version that is not live. Concurrent callers for the
// same version wait for the first of them.
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
		// The caller that compiled it was cancelled, not this one: try again.
	}
}

// pin compiles a version from its difference to the live one and holds its connections. It
// reads the store without the lock.
func (ps *pins) pin(ctx context.Context, p *pin) {
	for done := false; !done; {
		now := ps.current.now()
		changes, since, err := ps.catalogue.difference(ctx, now, p.number)
		if err != nil {
			ps.set(p, nil, err)
			return
		}
		pub, err := ps.catalogue.store.Publication(ctx, p.number)
		if err != nil {
			ps.set(p, nil, err)
			return
		}
		done = ps.pinFrom(ctx, now, p, changes, since, pub)
	}
}

// pinFrom compiles a version beside the live one of a state. It returns false if the live
// connections have changed since; then the caller tries again. It holds the lock until the
// version is kept and surplus ones are dropped, so that nothing picks up a connection that
// is about to be closed. Pub is its publication.
func (ps *pins) pinFrom(ctx context.Context, s *state, p *pin, changes map[Key]*document, since int, pub *Publication) bool {
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
	if err == nil && pub.Confined {
		v.reg, err = confined(v.reg, pub)
	}
	if err == nil {
		ps.servers.hold(v)
		v.begin()
	}
	ps.set(p, v, err)
	return true
}

// get returns the pin of a version. If mine is set, the caller must compile the version,
// and every other caller waits for that.
func (ps *pins) get(number int64) (p *pin, mine bool) {
	ps.mu.Lock()
	defer ps.mu.Unlock()
	if i := slices.IndexFunc(ps.cached, func(p *pin) bool { return p.number == number }); i >= 0 {
		p = ps.cached[i]
		ps.cached = append(slices.Delete(ps.cached, i, i+1), p)
		return p, false
	}
	p = &pin{number: number, done: make(chan struct{})}
	ps.cached = append(ps.cached, p)
	return p, true
}

// set completes a pin. On success it drops the least recently used versions; the caller
// then holds the manager's lock.
func (ps *pins) set(p *pin, v *compiled, err error) {
	ps.mu.Lock()
	p.v, p.err = v, err
	close(p.done)
	var over []*pin
	i := slices.Index(ps.cached, p)
	switch {
	case i < 0 && v != nil: // cleared in the meantime
		over = append(over, p)
	case i >= 0 && err != nil:
		ps.cached = slices.Delete(ps.cached, i, i+1)
	}
	for err == nil && len(ps.cached) > ps.most && ps.cached[0].ready() {
		over = append(over, ps.cached[0])
		ps.cached = ps.cached[1:]
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

// change replaces each compiled version by what fn returns for it. The caller holds the
// manager's lock.
func (ps *pins) change(fn func(*compiled) (*compiled, error)) (err error) {
	ps.mu.Lock()
	defer ps.mu.Unlock()
	for i, p := range ps.cached {
		if !p.ready() || p.v == nil {
			continue
		}
		v, changeErr := fn(p.v)
		if err = errors.Join(err, changeErr); v == p.v {
			continue
		}
		ps.servers.hold(v)
		ps.servers.drop(p.v)
		ps.cached[i] = &pin{number: p.number, done: p.done, v: v}
	}
	return err
}

// clear drops all versions, so that they are compiled again.
func (ps *pins) clear() {
	ps.mu.Lock()
	over := ps.cached
	ps.cached = nil
	ps.mu.Unlock()
	for _, p := range over {
		if p.ready() && p.v != nil {
			ps.servers.drop(p.v)
		}
	}
}
