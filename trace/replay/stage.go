package replay

import (
	"context"
	"fmt"
	"sync"
	"time"

	"github.com/awaken-go/awaken"
)

// stage is where a replay happens. It is the sink of all runs, their model and their tools.
type stage struct {
	player  *Player
	rt      Runtime
	version *single
	lists   map[string]string // of the tools of MCP servers, in the version; nil if they are those of Player.Registry
	ctx     context.Context
	parts   map[string]*part // by run id
	order   []*part
	mode    func(agentID string) awaken.ExecutionMode

	mu       sync.Mutex
	moved    sync.Cond // an event was published, or the replay has parted
	clock    int64     // Unix ms
	drawn    int
	keys     map[string]*shape // of state keys, as far as they were asked for
	names    map[string]string // ids that the runtime drew, to those of the record
	read     map[string]bool   // messages that runs have read
	diff     *Difference
	inexact  bool
	compared int

	uncompared []string // see [Result.NotCompared]
}

func newStage(p *Player) *stage {
	s := &stage{player: p, parts: map[string]*part{}, names: map[string]string{}, read: map[string]bool{}, keys: map[string]*shape{}}
	s.moved.L = &s.mu
	return s
}

// of returns a run by its id, or nil.
func (s *stage) of(runID string) *part {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.parts[runID]
}

// Check makes the stage the owner of the runs; see package ownership.
func (s *stage) Check() error { return nil }

// Follow makes the stage the sink of a run within another.
func (s *stage) Follow(next awaken.Sink) (awaken.Sink, func()) {
	return awaken.SinkFunc(func(ctx context.Context, e awaken.Entry) error {
		if err := s.Emit(ctx, e); err != nil {
			return err
		}
		if next == nil {
			return nil
		}
		return next.Emit(ctx, e)
	}), func() {}
}

// now is the time of the record: that of the last event that was published, or is about to be.
func (s *stage) now() time.Time {
	s.mu.Lock()
	defer s.mu.Unlock()
	return time.UnixMilli(s.clock)
}

// reach moves the clock.
func (s *stage) reach(ms int64) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.clock = max(s.clock, ms)
	s.moved.Broadcast()
}

// draw returns an id that can be told from all others.
func (s *stage) draw() string {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.drawn++
	return fmt.Sprintf("drawn-%08d", s.drawn)
}

// parted reports whether the replay has parted from the record.
func (s *stage) parted() bool {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.diff != nil
}

// part notes a difference that is not one of two events.
func (s *stage) part(p *part, where, want, got string) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.depart(&Difference{RunID: p.rec.Run.RunID, Where: where, Want: want, Got: got})
}

// depart notes the first difference. It requires the lock.
func (s *stage) depart(d *Difference) {
	if s.diff == nil {
		s.diff = d
		s.moved.Broadcast()
	}
}

// Emit compares an event with the record's, and does what happened behind it.
func (s *stage) Emit(_ context.Context, e awaken.Entry) error {
	p, i, err := s.advance(&e)
	if err != nil || p == nil {
		return err
	}
	if posts := p.posts[i]; len(posts) > 0 {
		s.send(p, posts)
	}
	if list := p.decisions[i]; len(list) > 0 {
		if err := s.rt.Decide(s.ctx, p.rec.Run.RunID, list...); err != nil {
			s.part(p, "a decision", "", err.Error())
		}
	}
	if err := s.retool(p, e.Event, i); err != nil {
		s.part(p, "the tools of a step", "", err.Error())
	}
	s.cancelIfDue()
	return nil
}

// await waits until that many events of a run are published, the replay has parted or the context is done.
func (s *stage) await(ctx context.Context, p *part, n int) {
	if p.followed {
		s.awaitThat(ctx, p, func() bool { return p.pos >= n })
	}
}

// awaitThat waits until a condition holds, the replay has parted or the context is done. The condition is called with the lock.
func (s *stage) awaitThat(ctx context.Context, p *part, holds func() bool) {
	s.mu.Lock()
	defer s.mu.Unlock()
	if holds() {
		return
	}
	wake := func() {
		s.mu.Lock()
		defer s.mu.Unlock()
		s.moved.Broadcast()
	}
	defer context.AfterFunc(ctx, wake)()
	defer time.AfterFunc(s.player.patience(), func() {
		s.mu.Lock()
		defer s.mu.Unlock()
		if !holds() {
			s.depart(&Difference{RunID: p.rec.Run.RunID, Event: p.pos, Where: fmt.Sprintf("event %d", p.pos), Want: p.line(p.pos), Got: "nothing happens"})
		}
	}).Stop()
	for !holds() && s.diff == nil && ctx.Err() == nil {
		s.moved.Wait()
	}
}

// lag is how long a task waits for the other runs to come to the time of its next event.
const lag = 250 * time.Millisecond

// keepPace makes a run that another started and did not wait for proceed no faster than it did: the record has the order of two runs only
// by their times. If the others wait for it, it proceeds all the same.
func (s *stage) keepPace(ctx context.Context, p *part, at int) {
	if p.root || p.rec.Run.Mode != "scheduled" || at >= len(p.events) {
		return
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	over := false
	wake := func() {
		s.mu.Lock()
		defer s.mu.Unlock()
		over = true
		s.moved.Broadcast()
	}
	defer context.AfterFunc(ctx, wake)()
	defer time.AfterFunc(lag, wake).Stop()
	for s.clock < p.events[at].Time && !over && s.diff == nil {
		s.moved.Wait()
	}
}

// awaitEnd waits for the events of a run that come after its last activation began.
func (s *stage) awaitEnd(ctx context.Context, p *part) {
	if p.rec.Run.Status == awaken.RunDone || p.rec.Run.Status == awaken.RunWaiting {
		s.await(ctx, p, len(p.events))
	}
}

func (p *past) line(i int) string {
	if i < len(p.lines) {
		return p.lines[i]
	}
	return ""
}
