package config

import (
	"context"
	"strconv"
	"sync"
	"time"

	"github.com/awaken-go/awaken/bus"
)

const (
	// peersPart is the name of the control plane on the bus.
	peersPart = "config"
	// peersTime is how long a write waits for the other processes to follow it. One that has not
	// done so by then is not waited for again until it says where it is.
	peersTime = time.Second
	// whereAreYou asks the other processes for the revision that they have followed to.
	whereAreYou = "?"
	// leaving says that a process follows no longer.
	leaving = "bye"
)

// peers knows how far the other processes of a bus have followed. A message has a revision of the head,
// asks for one, or says goodbye. If messages are lost, a write is not waited for, or for too long, and nothing else.
type peers struct {
	current *current
	bus     *bus.Exchange // nil if there are no other processes
	ahead   chan struct{} // cap 1: another process is ahead of this one

	mu    sync.Mutex
	at    map[string]int64 // revision that a process has followed to
	moved chan struct{}    // closed when at changes, and replaced
}

func newPeers(c *current) *peers {
	return &peers{current: c, ahead: make(chan struct{}, 1), at: map[string]int64{}, moved: make(chan struct{})}
}

// Share makes a write return when the other processes of a bus have followed it, so that a client can have
// its next request served by any of them. A write does not wait longer than a second for one that
// does not answer. Share must be called before Work.
func (m *Manager) Share(x *bus.Exchange) {
	m.peers.bus = x
	x.Listen(peersPart, m.peers.hear)
}

// hear notes what another process says.
func (p *peers) hear(from, text string) {
	switch text {
	case "": // messages may have been lost
		p.bus.Tell(peersPart, whereAreYou)
		p.tell()
		return
	case whereAreYou:
		p.tell()
		return
	case leaving:
		p.mu.Lock()
		defer p.mu.Unlock()
		delete(p.at, from)
		p.move()
		return
	}
	revision, err := strconv.ParseInt(text, 10, 64)
	if err != nil {
		return
	}
	if now := p.current.now(); now != nil && revision > now.head.Revision {
		select {
		case p.ahead <- struct{}{}:
		default:
		}
	}
	p.mu.Lock()
	defer p.mu.Unlock()
	if revision > p.at[from] {
		p.at[from] = revision
		p.move()
	}
}

// move wakes those that wait for another process. The caller holds p.mu.
func (p *peers) move() {
	close(p.moved)
	p.moved = make(chan struct{})
}

// leave tells the others not to wait for this process any more, which stops following.
func (p *peers) leave(ctx context.Context) {
	if p.bus != nil {
		_ = p.bus.Send(ctx, peersPart, bus.Message{Text: leaving}) // if it is lost, they wait once
	}
}

// tell tells the others how far this process has followed.
func (p *peers) tell() {
	if now := p.current.now(); p.bus != nil && now != nil {
		p.bus.Tell(peersPart, strconv.FormatInt(now.head.Revision, 10))
	}
}

// await waits until all others have followed to a revision, or as long as one is waited for.
func (p *peers) await(ctx context.Context, revision int64) {
	if p.bus == nil {
		return
	}
	ctx, cancel := context.WithTimeout(ctx, peersTime)
	defer cancel()
	for {
		behind, moved := p.behind(revision)
		if len(behind) == 0 {
			return
		}
		select {
		case <-moved:
		case <-ctx.Done():
			p.forget(revision)
			return
		}
	}
}

// behind returns the processes that have not followed to a revision, and what is closed when one moves.
func (p *peers) behind(revision int64) (list []string, moved <-chan struct{}) {
	p.mu.Lock()
	defer p.mu.Unlock()
	for id, at := range p.at {
		if at < revision {
			list = append(list, id)
		}
	}
	return list, p.moved
}

// forget stops waiting for the processes that have not followed to a revision: they may be gone.
func (p *peers) forget(revision int64) {
	p.mu.Lock()
	defer p.mu.Unlock()
	for id, at := range p.at {
		if at < revision {
			delete(p.at, id)
		}
	}
}
