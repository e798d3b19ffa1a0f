package mailbox

import (
	"context"
	"errors"
	"sync"
	"time"

	"github.com/awaken-go/awaken"
)

// process is this worker as other workers know it. It lives while its heartbeat is confirmed
// within Config.Liveness; a worker that was silent for longer continues as a new process, since
// others may own what the old one had claimed.
type process struct {
	cfg    *Config
	claims func() []*claim // those in flight
	joined func()          // is called when a process has joined the queue

	mu   sync.Mutex
	id   string        // "" before the first one has joined
	life *lease        // nil while the worker is no process
	died chan struct{} // cap 1: the process died
	// trust is when this worker may judge others again. After it was silent itself, perhaps because
	// the store was away, others may be about to say that they live.
	trust time.Time
}

// Replica returns the name of the worker ([Config.Consumer]) that a process belongs to: the process without its random
// part.
func Replica(process string) string {
	const random = len("-00000000-0000-7000-8000-000000000000")
	if n := len(process) - random; n > 0 && process[n] == '-' {
		return process[:n]
	}
	return process
}

// current returns the id of the process, and whether it lives at now.
func (p *process) current(now time.Time) (id string, alive bool) {
	p.mu.Lock()
	defer p.mu.Unlock()
	return p.id, p.life != nil && !p.life.expired(now)
}

// is reports whether the process of that id lives at now.
func (p *process) is(id string, now time.Time) bool {
	current, alive := p.current(now)
	return alive && current == id
}

// begin begins the life of a process. It calls end if the process is silent until then.
func (p *process) begin(id string, until time.Time, end func()) {
	p.mu.Lock()
	defer p.mu.Unlock()
	p.id, p.life = id, new(lease)
	p.life.begin(until, end)
}

// extend extends the life of a process whose heartbeat was sent at from.
func (p *process) extend(id string, from time.Time, limit time.Duration) {
	p.mu.Lock()
	defer p.mu.Unlock()
	if p.id == id && p.life != nil {
		p.life.extend(from, limit)
	}
}

// end ends the life of a process. It reports false if that process has ended before.
func (p *process) end(id string) bool {
	p.mu.Lock()
	defer p.mu.Unlock()
	if p.id != id || p.life == nil {
		return false
	}
	p.life.release()
	p.life = nil
	return true
}

// judges reports whether this worker may take other processes for dead.
func (p *process) judges(now time.Time) bool {
	p.mu.Lock()
	defer p.mu.Unlock()
	return (p.id == "" || p.life != nil) && !now.Before(p.trust)
}

// distrust lets this worker judge others no earlier than at.
func (p *process) distrust(at time.Time) {
	p.mu.Lock()
	defer p.mu.Unlock()
	p.trust = at
}

// keepAlive sends the heartbeats of this process until ctx is done.
func (p *process) keepAlive(ctx context.Context) {
	every := p.cfg.Liveness / 4
	pause := every
	for wait(ctx, pause, p.died) {
		if pause = every; !p.beat(ctx) {
			pause = every / 4
		}
	}
}

// beat sends a heartbeat. A worker that is no process, or whose process is dead, joins the queue
// as a new one. It reports whether the store has confirmed that this process lives.
func (p *process) beat(ctx context.Context) bool {
	limit := p.cfg.Liveness
	ctx, cancel := context.WithTimeout(ctx, limit/2)
	defer cancel()
	id, alive := p.current(time.Now())
	if !alive {
		p.die(id) // its timer may be late
		return p.join(ctx, id)
	}
	from := time.Now()
	err := p.cfg.Queue.Beat(ctx, id, limit)
	p.cfg.Observer.Operated("heartbeat", time.Since(from), err)
	switch {
	case err == nil:
		p.extend(id, from, p.limit())
	case errors.Is(err, awaken.ErrFenced):
		p.die(id)
		return p.join(ctx, id)
	case ctx.Err() == nil || errors.Is(ctx.Err(), context.DeadlineExceeded):
		p.cfg.Logger.Warn("cannot send a heartbeat", "process", id, "error", err)
	}
	return err == nil
}

// limit is how long this process counts itself alive after a heartbeat: a little less than others
// do, so that it has stopped when they act.
func (p *process) limit() time.Duration { return p.cfg.Liveness - p.cfg.Liveness/16 }

// join releases what the dead process old had claimed, and joins the queue as a new process. It
// reports whether that was possible.
func (p *process) join(ctx context.Context, old string) bool {
	id, from := p.cfg.Consumer+"-"+p.cfg.NewID(), time.Now()
	var err error
	if old != "" {
		err = p.cfg.Queue.Leave(ctx, old)
	}
	if err == nil {
		err = p.cfg.Queue.Join(ctx, id, p.cfg.Liveness)
	}
	p.cfg.Observer.Operated("join", time.Since(from), err)
	if err != nil {
		p.cfg.Logger.Warn("cannot join the queue", "error", err)
		return false
	}
	if old != "" {
		p.distrust(time.Now().Add(p.cfg.Liveness))
	}
	p.begin(id, from.Add(p.limit()), func() { p.die(id) })
	p.joined()
	return true
}

// die abandons every claim of a process that was silent for too long.
func (p *process) die(id string) {
	if !p.end(id) {
		return
	}
	n := 0
	for _, c := range p.claims() {
		if c.d.ClaimedBy == id {
			c.abandon()
			n++
		}
	}
	p.cfg.Logger.Warn("this process was silent for too long; it abandons its runs and continues as a new process",
		"process", id, "limit", p.cfg.Liveness, "runs", n)
	poke(p.died)
}

// leave releases what this process still has claimed and removes it from the queue.
func (p *process) leave() {
	id, _ := p.current(time.Now())
	p.end(id)
	if id == "" {
		return
	}
	ctx, cancel := context.WithTimeout(context.Background(), leaveTime)
	defer cancel()
	from := time.Now()
	err := p.cfg.Queue.Leave(ctx, id)
	p.cfg.Observer.Operated("leave", time.Since(from), err)
	if err != nil {
		p.cfg.Logger.Warn("cannot leave the queue; other processes will notice that this one is gone", "process", id, "error", err)
	}
}

// leaveTime is how long a stopping worker waits for the store.
const leaveTime = 5 * time.Second
