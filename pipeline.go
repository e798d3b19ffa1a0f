package awaken

import (
	"context"
	"errors"
	"fmt"
	"runtime"
	"runtime/debug"
	"slices"
	"sync"

	"github.com/awaken-go/awaken/state"
)

// On a store whose commits take time a run does not stand still at the end of a step that
// did nothing but read. Its commit travels beside the run, in flight, while the next step
// begins:
//
//   - One commit of a run is in flight at a time. What further such steps bring is handed
//     over too, and travels together as soon as the one before has been made, whether the
//     run waits for its model or not.
//   - Every other commit (the start, an intent, results, one with effects, the end) waits for
//     the one in flight and takes along what is not on its way yet. So nothing effectful
//     begins, and no run parks or ends, before everything earlier is durable.
//   - What claims something durable is published after its commit, in order, by whoever made
//     the commit.
//   - A commit that fails in flight cancels the run. What it held is the run's again, for the
//     commit with which the run ends; a fenced owner makes none.

// parcel is what a commit holds. The run's goroutine packs it, and it can then travel
// without the run: its lists are its own, and what is in them does not change any more.
type parcel struct {
	Commit
	seq  uint64 // of the last event in it
	size int    // bytes of text in its events
}

var parcels = sync.Pool{New: func() any { return new(parcel) }}

// free gives a parcel back, unless it has become large.
func (p *parcel) free() {
	if cap(p.Entries) > maxPendingEntries {
		return
	}
	clear(p.Messages)
	clear(p.Calls)
	clear(p.Entries)
	*p = parcel{Commit: Commit{Messages: p.Messages[:0], Calls: p.Calls[:0], Entries: p.Entries[:0]}}
	parcels.Put(p)
}

// full reports whether so much is in it that it should not be more.
func (p *parcel) full() bool {
	return p.size > maxPendingBytes || len(p.Entries) > maxPendingEntries
}

// add adds what came after.
func (p *parcel) add(q *parcel) {
	p.Messages = append(p.Messages, q.Messages...)
	p.Calls = append(p.Calls, q.Calls...) // each is of another step
	p.Entries = append(p.Entries, q.Entries...)
	p.Read = append(p.Read, q.Read...)
	p.State = overlaid(p.State, q.State)
	p.Run, p.Time, p.seq, p.size = q.Run, q.Time, q.seq, p.size+q.size
	q.free()
}

// overlaid returns changes with later ones laid over them.
func overlaid(changes, later []state.Change) []state.Change {
	if len(changes) == 0 {
		return later
	}
	for _, ch := range later {
		if i := slices.IndexFunc(changes, func(o state.Change) bool { return o.Key == ch.Key && o.Scope == ch.Scope }); i >= 0 {
			changes[i] = ch
		} else {
			changes = append(changes, ch)
		}
	}
	return changes
}

// pack takes everything since the last commit out of the run.
func (j *journal) pack(o commitOptions) (*parcel, error) {
	changes, err := j.st.Changes()
	if err != nil {
		return nil, err
	}
	now := j.rt.cfg.Now()
	j.rec.UpdatedAt = now.Unix()
	if first := j.count + 1; len(j.conv.added) > 0 && first > j.rec.Input.ToSeq {
		if j.rec.Output.FromSeq == 0 {
			j.rec.Output.FromSeq = first
		}
		j.rec.Output.ToSeq = j.count + len(j.conv.added)
	}
	p := parcels.Get().(*parcel)
	p.ThreadID, p.Fence, p.Generation = j.info.ThreadID, j.fence, j.generation
	p.Begins, p.Rest, p.Time, p.Expect = o.begins, o.rest, now.UnixMilli(), j.count
	p.Run, p.ParentThreadID = j.rec, j.info.ParentThreadID
	p.Messages, j.conv.added = j.conv.added, p.Messages
	p.Calls, j.ledger.changed = j.ledger.changed, p.Calls
	p.State, j.unsaved = overlaid(j.unsaved, changes), nil
	p.Read, j.read = j.read, nil
	j.out.take(p)
	j.count += len(p.Messages)
	j.st.Saved()
	for c := range j.ledger.every {
		if c.listed {
			c.listed, c.shared = false, true
		}
	}
	return p, nil
}

// unpack puts what could not be committed back, in front of what came after it.
func (j *journal) unpack(p *parcel) {
	j.count = p.Expect
	j.conv.added, p.Messages = append(p.Messages, j.conv.added...), j.conv.added
	j.ledger.changed, p.Calls = append(p.Calls, j.ledger.changed...), j.ledger.changed
	j.unsaved = overlaid(p.State, j.unsaved)
	j.read = append(p.Read, j.read...)
	j.out.untake(p)
	p.free()
}

// flight makes commits beside the run, one at a time, in a goroutine that is there only
// while there is something to commit.
type flight struct {
	used bool // by the run, whose this is
	wg   sync.WaitGroup

	mu     sync.Mutex // guards what follows
	busy   bool       // a commit is being made
	next   *parcel    // what waits for that, or nil
	unread bool       // after a commit, the inbox holds something
	err    error      // of the commit that failed; none is made after it
	back   *parcel    // what that held, until the run has it again
	panics any        // what a sink or the store has panicked with
	exits  bool       // or it ended the goroutine
}

// commitStep commits a step that is over. The run waits for that only if it has to.
func (j *journal) commitStep(ctx context.Context) error {
	if !j.mayGoOn() {
		return j.commit(ctx, commitOptions{})
	}
	p, err := j.pack(commitOptions{})
	if err != nil {
		return err
	}
	j.handOver(p)
	atHandedOver.Hit()
	return nil
}

// handOver lets a parcel travel: at once, or with the next commit when one is in flight.
func (j *journal) handOver(p *parcel) {
	f := &j.inFlight
	f.used = true
	f.mu.Lock()
	defer f.mu.Unlock()
	switch {
	case !f.busy && f.err == nil:
		f.busy = true
		f.wg.Go(func() { j.fly(p) })
	case f.next == nil: // after an error too: the run is about to end, and takes it back
		f.next = p
	default:
		f.next.add(p)
	}
}

// mayGoOn reports whether the next step may begin before the last one is durable: it did
// nothing but read, so that a later owner can make it again, and nobody waits for it.
func (j *journal) mayGoOn() bool {
	if !j.pipelined || len(j.hooks.effects) > 0 || j.sender.unsent > 0 || j.ctx.Err() != nil || j.active.posted.Load() || j.active.yield.Load() {
		return false
	}
	for _, c := range j.ledger.calls {
		if s := c.state; s.Effect != ReadOnly && (s.StartedAt != 0 || s.Ticket != nil) {
			return false
		}
	}
	f := &j.inFlight
	f.mu.Lock()
	defer f.mu.Unlock()
	return !j.out.full() && (f.next == nil || !f.next.full())
}

// fly commits p, and what is handed over meanwhile, until there is no more.
func (j *journal) fly(p *parcel) {
	f := &j.inFlight
	landed := false
	defer func() {
		if landed {
			return
		}
		v, stack := recover(), debug.Stack()
		f.mu.Lock()
		f.busy, f.panics, f.exits = false, v, v == nil
		f.mu.Unlock()
		j.rt.cfg.Logger.Error("commit or sink panicked", "run", j.out.runID, "panic", v, "stack", string(stack))
		j.active.cancel(fmt.Errorf("%w: a commit or the sink panicked", ErrCancelled))
	}()
	for ; p != nil; p = f.take() {
		if err := j.writeBeside(&p.Commit); err != nil {
			f.mu.Lock()
			err = commitError{err}
			f.busy, f.back, f.err = false, p, err
			f.mu.Unlock()
			j.active.cancel(err)
			break
		}
		f.mu.Lock()
		f.unread = p.Unread
		f.mu.Unlock()
		j.out.committed(detached(j.ctx), p.seq)
		p.free()
		atPublished.Hit()
		j.heedSink()
	}
	landed = true
}

// writeBeside makes a commit in flight.
func (j *journal) writeBeside(c *Commit) error {
	ctx, cancel := j.last(j.ctx)
	defer cancel()
	if cause := context.Cause(j.ctx); errors.Is(cause, ErrFenced) {
		return cause
	}
	if err := j.write(ctx, c); err != nil {
		return fmt.Errorf("commit thread %s: %w", j.thread, storeError{err})
	}
	return nil
}

// take returns what is to be committed next, or nil, and then nothing is in flight.
func (f *flight) take() *parcel {
	f.mu.Lock()
	defer f.mu.Unlock()
	p := f.next
	f.next, f.busy = nil, p != nil
	return p
}

// wait returns when nothing is in flight.
func (f *flight) wait() { f.wg.Wait() }

// recall takes back what waits for the commit that is in flight: the next commit of the
// run, which must follow at once, has it.
func (j *journal) takeBack() {
	f := &j.inFlight
	if !f.used {
		return
	}
	f.mu.Lock()
	p := f.next
	f.next = nil
	f.mu.Unlock()
	if p != nil {
		j.unpack(p)
	}
}

// land waits until everything that was handed over is committed. If that failed, what
// could not be committed is the run's again, and land tells why, once. What a sink did to
// the goroutine that called it, it does to the run's.
func (j *journal) waitInFlight() error {
	f := &j.inFlight
	if !f.used {
		return nil
	}
	f.wait()
	f.mu.Lock()
	defer f.mu.Unlock()
	if f.exits {
		runtime.Goexit()
	}
	if f.panics != nil {
		panic(f.panics)
	}
	j.unread, f.unread = j.unread || f.unread, false
	if f.back == nil {
		return nil
	}
	if f.next != nil {
		j.unpack(f.next)
	}
	j.unpack(f.back)
	f.next, f.back = nil, nil
	return f.err
}

// mark returns a place to go back to, once nothing is in flight. A commit must follow at
// once.
func (j *journal) mark() (mark, error) {
	j.takeBack()
	err := j.waitInFlight()
	return j.out.mark(), err
}

// inboxWaits reports whether the inbox holds something, as far as the commits that have
// been made tell.
func (j *journal) inboxWaits() bool {
	if f := &j.inFlight; f.used {
		f.mu.Lock()
		j.unread, f.unread = j.unread || f.unread, false
		f.mu.Unlock()
	}
	return j.unread
}
