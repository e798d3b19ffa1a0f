package mailbox

import (
	"context"
	"time"

	"github.com/awaken-go/awaken"
	"github.com/awaken-go/awaken/internal/ids"
)

// Starter is implemented by a [Store] that can accept a run and begin it in one transaction. A mailbox queues and claims
// the dispatches of other stores first.
type Starter interface {
	// Expected returns the checkpoint that the next owner of a thread acquires if the thread is as this process knows it: as its own last
	// commit left it, or new. It reads nothing, so it may be wrong, which Start finds out. It returns nil if there is no reason to try.
	Expected(threadID string) *awaken.Checkpoint
	// Start queues d and claims it, as Enqueue does under the terms, acquires the thread, and makes c, the first commit of the run of d: all in
	// one transaction. The token of the claim is d.ClaimToken, and the fence is c.Fence. Start reports false and changes nothing
	// if Enqueue would not claim d, if the checkpoint of c is not the one that Own would have returned, or if Commit would refuse c.
	// It may also refuse a commit that it does not make in this way, such as one with state. Otherwise it sets the fields of d as Enqueue does. After an error
	// the outcome is unknown: a repeated call changes nothing if the run was started, and may report either.
	Start(ctx context.Context, terms Terms, d *Dispatch, c *awaken.Commit) (bool, error)
}

// opening is a claim that is not stored yet. Its run is opened with the checkpoint that the store expects, and the run's
// first commit stores the dispatch, claims it and begins the run. If that is refused, nothing has happened: the run has not
// started, and its dispatch is enqueued as any other.
type opening struct {
	store Starter
	terms Terms
	slot  *slot
	err   error       // of the store; the outcome is unknown
	done  chan opened // cap 1
}

// opened is what became of an opening.
type opened struct {
	d   *Dispatch // as stored; nil if the store refused it
	err error     // of the store; the outcome is unknown
}

// opens reports whether the run of d can be opened before it is accepted. One that rewinds its thread reads what was stored, and the
// outcome of one with a parent is reported apart from its commits.
func (d *Dispatch) opens() bool {
	q := d.Request
	return q.Rewind == "" && q.ParentRunID == "" && q.Released == "" && d.DedupeKey != unreadKey
}

// open begins the run of a dispatch in a slot, and accepts it with the run's first commit. It returns the dispatch as it was
// stored, or nil if it has to be enqueued; the slot is then still reserved.
func (s *slot) open(ctx context.Context, t *Tenant, terms Terms, d *Dispatch) (*Dispatch, error) {
	store, ok := t.Store.(Starter)
	if !ok || !d.opens() {
		return nil, nil
	}
	cp := store.Expected(d.ThreadID)
	if cp == nil {
		return nil, nil
	}
	terms.Start = s.claim()
	own := clone(d)
	now := time.Now()
	own.Tenant, own.Status, own.ClaimToken, own.ClaimedBy = t.name, Claimed, ids.New(), s.process
	own.CreatedAt, own.UpdatedAt, own.AvailableAt, own.LeaseUntil = now.UnixMilli(), now.UnixMilli(), now.UnixMilli(), now.Add(s.box.cfg.Lease).UnixMilli()
	own.Fresh, own.Checkpoint = true, cp
	c := s.box.newClaim(s.crew.runs, own, s.from)
	o := &opening{store: store, terms: terms, slot: s, done: make(chan opened, 1)}
	c.opening, c.decided = o, make(chan struct{})
	if !s.box.announce(c) {
		o.end(c)
		return nil, nil
	}
	s.crew.take(s.box, c)
	gone, cancel := patient(ctx)
	defer cancel()
	select {
	case r := <-o.done:
		return r.d, r.err
	case <-gone.Done():
		go func() {
			if r := <-o.done; r.d == nil && r.err == nil {
				s.release()
			}
		}()
		return nil, context.Cause(ctx)
	}
}

// accept makes the first commit of a run that is being opened.
func (o *opening) accept(ctx context.Context, c *claim, cm *awaken.Commit) error {
	started := false
	if cm.Run.Status == awaken.RunRunning { // otherwise it cannot begin, and parks
		var err error
		if started, err = o.store.Start(ctx, o.terms, c.d, cm); err != nil {
			o.err = err
			return err
		}
	}
	if !started { // after an error it may be stored all the same: fail looks for it
		c.abandon()
		return errLeaseLost
	}
	o.err = nil
	atAccepted.Hit()
	b := c.tenant.box
	c.opening = nil
	c.early.Store(false)
	b.register(c)
	close(c.decided)
	o.slot.release()
	o.done <- opened{d: clone(c.d)}
	return nil
}

// announce lets later claims of the thread wait until the store has decided on one that is opened. It reports false if a run of the
// thread is in flight in this process: the store would refuse another.
func (b *Mailbox) announce(c *claim) bool {
	b.mu.Lock()
	defer b.mu.Unlock()
	thread := [2]string{c.d.Tenant, c.d.ThreadID}
	if o := b.latest[thread]; o != nil && !o.ended.Load() {
		return false
	}
	c.before, b.latest[thread] = b.latest[thread], c
	return true
}

// end ends an opening that the store has not accepted.
func (o *opening) end(c *claim) {
	c.lease.release()
	c.cancel(nil)
	b, thread := c.tenant.box, [2]string{c.d.Tenant, c.d.ThreadID}
	b.mu.Lock()
	if b.latest[thread] == c {
		delete(b.latest, thread)
	}
	b.mu.Unlock()
	close(c.decided)
	close(c.over)
}

// fail ends an opening whose run has returned without a first commit.
func (o *opening) fail(c *claim) {
	o.end(c)
	if o.err != nil {
		go o.slot.seek(c.tenant, c.d.ID) // the store may have accepted it all the same
	}
	o.done <- opened{err: o.err}
}
