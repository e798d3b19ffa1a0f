package mailbox

import (
	"context"
	"errors"
	"sync"
	"time"

	"github.com/awaken-go/awaken"
)

// crew is what a worker has while it works: the context of its runs, the runs, and what settles
// them.
type crew struct {
	runs     context.Context
	settler  *settler
	running  sync.WaitGroup
	reserved map[*slot]bool // for dispatches that are being accepted; Mailbox.mu guards it
	idle     chan *claim    // to goroutines that have no run
	places   chan struct{}  // of goroutines that have no run
	hands    sync.WaitGroup // all goroutines
}

// mostIdle is how many goroutines wait for another run: a new one would first have to grow its stack.
const mostIdle = 32

func newCrew(runs context.Context, s *settler) *crew {
	return &crew{runs: runs, settler: s, reserved: map[*slot]bool{}, idle: make(chan *claim), places: make(chan struct{}, mostIdle)}
}

// employ sets the crew of this worker. It is nil if the worker begins nothing more.
func (b *Mailbox) employ(c *crew) {
	b.mu.Lock()
	defer b.mu.Unlock()
	b.crew = c
}

// run begins a claimed dispatch, whose claim was requested at from, unless it has begun.
func (b *Mailbox) run(c *crew, d *Dispatch, from time.Time) {
	if claimed := b.begin(c.runs, d, from); claimed != nil {
		c.take(b, claimed)
	}
}

// take lets a goroutine run a claim.
func (c *crew) take(b *Mailbox, claimed *claim) {
	c.running.Add(1)
	select {
	case c.idle <- claimed:
	default:
		c.hands.Go(func() { c.work(b, claimed) })
	}
}

// work runs a claim, and then others, unless enough goroutines wait for one.
func (c *crew) work(b *Mailbox, claimed *claim) {
	for ok := true; ok; {
		c.process(b, claimed)
		claimed = nil // not kept while waiting
		select {
		case c.places <- struct{}{}:
		default:
			return
		}
		claimed, ok = <-c.idle
		<-c.places
	}
}

func (c *crew) process(b *Mailbox, claimed *claim) {
	defer c.running.Done()
	b.process(claimed, c.settler)
}

// slot is a slot of this worker that is reserved for a dispatch that is being accepted.
type slot struct {
	box     *Mailbox
	crew    *crew
	tenant  string
	process string
	from    time.Time
}

// reserve reserves a slot for a dispatch of a tenant that this process is about to accept and to
// begin at once. It returns nil if the process does not work or is not certainly alive, if no slot is
// free, if the tenant has its share of them, or if the worker is not open; see isolation.
func (b *Mailbox) reserve(tenant string) *slot {
	from := time.Now()
	process, alive := b.self.current(from)
	b.mu.Lock()
	defer b.mu.Unlock()
	free := b.free()
	if !alive || b.crew == nil || b.isolation.phase != open || free <= 0 || b.shared && shareLeft(b.held()[tenant], free) <= 0 {
		return nil
	}
	s := &slot{b, b.crew, tenant, process, from}
	s.crew.reserved[s] = true
	s.crew.running.Add(1) // a worker that stops waits for it
	return s
}

// claim is the claim that the slot is for.
func (s *slot) claim() *ClaimRequest {
	return &ClaimRequest{Consumer: s.process, Lease: s.box.cfg.Lease, Limit: 1}
}

// fill begins a dispatch that was claimed for the slot. If d is nil, none was.
func (s *slot) fill(d *Dispatch) {
	if d != nil {
		s.box.run(s.crew, d, s.from)
	}
	s.release()
}

// release ends the reservation of the slot.
func (s *slot) release() {
	defer s.crew.running.Done()
	s.box.mu.Lock()
	defer s.box.mu.Unlock()
	delete(s.crew.reserved, s)
	s.box.freed()
}

// seek looks for a dispatch whose acceptance failed without an answer of the store. If the store has
// claimed it for the slot, seek begins it: it would have to wait for its lease otherwise.
func (s *slot) seek(t *Tenant, id string) {
	var found *Dispatch
	defer func() { s.fill(found) }()
	for pause := 50 * time.Millisecond; s.waits(); pause = min(2*pause, time.Second) {
		ctx, cancel := context.WithTimeout(context.Background(), leaveTime)
		d, err := t.Store.Dispatch(ctx, id)
		cancel()
		if err == nil && d.Status == Claimed && d.ClaimedBy == s.process {
			found = d
		}
		if err == nil || errors.Is(err, awaken.ErrNotFound) {
			return
		}
		time.Sleep(pause)
	}
}

// waits reports whether a claim for the slot could still be begun: its lease lasts, and the worker
// begins runs.
func (s *slot) waits() bool {
	s.box.mu.Lock()
	defer s.box.mu.Unlock()
	return s.box.crew == s.crew && time.Since(s.from) < s.box.cfg.Lease
}

// free returns how many slots are free. Requires b.mu.
func (b *Mailbox) free() int {
	n := b.cfg.Concurrency - len(b.inFlight) - int(b.kept.Load())
	if b.crew != nil {
		n -= len(b.crew.reserved)
	}
	return n
}

// busy reports whether anything is in flight, or about to be. Requires b.mu.
func (b *Mailbox) busy() bool {
	return len(b.inFlight) > 0 || b.crew != nil && len(b.crew.reserved) > 0
}

// freed wakes the worker if it had no room for what may be waiting. Requires b.mu.
func (b *Mailbox) freed() {
	if b.full {
		poke(b.wakeup)
	}
}

// changed wakes the worker because a dispatch may be available, unless the queue signals that
// itself.
func (b *Mailbox) changed() {
	if _, ok := b.cfg.Queue.(Listener); !ok {
		poke(b.wakeup)
	}
}
