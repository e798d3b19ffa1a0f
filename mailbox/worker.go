package mailbox

import (
	"context"
	"errors"
	"maps"
	"slices"
	"sync"
	"time"

	"github.com/awaken-go/awaken"
)

// Work claims dispatches and runs them until ctx is done. It then lets every run finish its
// step, returns the dispatches to the queue for other workers, and returns. Runs whose step
// takes longer than Config.Drain are stopped in the middle of it. Work returns an error only
// if startup recovery fails; see [Startup].
func (b *Mailbox) Work(ctx context.Context) error {
	if err := b.recoverLost(ctx); err != nil || ctx.Err() != nil {
		return err
	}
	runs, stop := context.WithCancelCause(context.WithoutCancel(ctx))
	defer stop(nil)
	chores, done := context.WithCancel(context.WithoutCancel(ctx))
	var helpers sync.WaitGroup
	settler := &settler{queue: b.cfg.Queue, patience: b.cfg.Lease, observer: b.cfg.Observer, logger: b.cfg.Logger, in: make(chan settling)}
	b.self.beat(ctx)
	helpers.Go(func() { b.self.keepAlive(chores) })
	helpers.Go(func() { b.keepLeases(chores) })
	helpers.Go(func() { b.maintain(chores) })
	helpers.Go(settler.work)
	if l, ok := b.cfg.Queue.(Listener); ok {
		helpers.Go(func() { b.listen(chores, l) })
	}
	c := newCrew(runs, settler)
	b.employ(c)
	b.claimAll(ctx, func(d *Dispatch, from time.Time) { b.run(c, d, from) })
	b.employ(nil)
	b.drain(&c.running, stop)
	close(c.idle)
	c.hands.Wait()
	close(settler.in)
	done()
	helpers.Wait()
	b.self.leave()
	return nil
}

// claimAll claims as many dispatches as Concurrency and the shares of the tenants allow, until ctx is
// done. It claims suspects one at a time; see isolation.
func (b *Mailbox) claimAll(ctx context.Context, start func(d *Dispatch, from time.Time)) {
	had := turns{}
	for ctx.Err() == nil {
		suspect, soon := b.isolation.advance(ctx)
		limit, except, again := b.room(had, suspect)
		pause := b.cfg.Poll
		if soon > 0 {
			pause = min(pause, soon)
		}
		from := time.Now()
		if id, alive := b.self.current(from); alive && limit > 0 {
			r := ClaimRequest{Consumer: id, Lease: b.cfg.Lease, Limit: limit, Except: except}
			if suspect {
				r.Suspects = 1
			}
			ds, next, err := b.claimSome(ctx, r)
			b.cfg.Observer.Operated("claim", time.Since(from), err)
			if ctx.Err() != nil {
				return // they are released when the process leaves
			}
			switch {
			case errors.Is(err, awaken.ErrFenced):
				b.self.die(id)
			case err != nil:
				b.cfg.Logger.Warn("cannot claim dispatches", "error", err)
			}
			b.beginAll(ctx, ds, suspect, func(d *Dispatch) { start(d, from) })
			for _, d := range ds {
				had[d.Tenant] = true
			}
			if len(ds) == limit {
				continue
			}
			clear(had) // no other tenant waits
			if (again || b.isolation.idle(len(ds))) && err == nil {
				continue
			}
			if next > 0 {
				pause = min(pause, next)
			}
		} else if suspect {
			b.isolation.claimed(ctx, nil, 0)
		}
		b.kept.Store(0) // what was claimed has begun
		wait(ctx, pause, b.wakeup)
	}
}

// beginAll begins what was claimed: suspects if that was asked for, at most one and no other, or else
// anything but suspects.
func (b *Mailbox) beginAll(ctx context.Context, ds []*Dispatch, suspect bool, start func(d *Dispatch)) {
	var isolated *Dispatch
	var lasts time.Duration // known before it starts: a run that makes progress resets its crashes
	for _, d := range ds {
		if d.Suspect() {
			d.logTo(b.cfg.Logger).Warn("running a suspect alone: processes died while they ran it",
				"crashes", d.Crashes, "attempts", d.Attempts, "max_attempts", d.MaxAttempts)
			isolated, lasts = d, d.timeAlone()
		}
		start(d)
	}
	if suspect {
		b.isolation.claimed(ctx, isolated, lasts)
	}
}

// claimSome claims dispatches.
func (b *Mailbox) claimSome(ctx context.Context, r ClaimRequest) (ds []*Dispatch, next time.Duration, err error) {
	ctx, cancel := patient(ctx)
	defer cancel()
	return b.cfg.Queue.Claim(ctx, r)
}

// patient returns a context for a claim. If ctx ends meanwhile, the claim waits for the answer of the
// store all the same: what the store has claimed is not lost with a connection that was given up.
func patient(ctx context.Context) (context.Context, context.CancelFunc) {
	call, cancel := context.WithCancel(context.WithoutCancel(ctx))
	stop := context.AfterFunc(ctx, func() { time.AfterFunc(leaveTime, cancel) })
	return call, func() { stop(); cancel() }
}

// begin begins the claim on d, which was requested at from. It returns nil if the claim is in flight
// already: a worker that asks what became of a dispatch may find what it is just claiming.
func (b *Mailbox) begin(ctx context.Context, d *Dispatch, from time.Time) *claim {
	c := b.newClaim(ctx, d, from)
	if !b.register(c) {
		c.lease.release()
		c.cancel(nil)
		return nil
	}
	return c
}

// newClaim returns a claim on d, which was requested at from.
func (b *Mailbox) newClaim(ctx context.Context, d *Dispatch, from time.Time) *claim {
	c := &claim{d: d, tenant: b.Tenant(d.Tenant), suspect: d.Suspect(), over: make(chan struct{})}
	c.steps.Store(int64(d.Steps))
	c.acquired.Store(d.Checkpoint)
	c.ctx, c.cancel = context.WithCancelCause(ctx)
	process := d.ClaimedBy
	c.lease.begin(from.Add(b.cfg.Lease), func() { b.expire(c, process) })
	return c
}

// register adds a claim that the store has to those in flight. It reports false if it is among them.
func (b *Mailbox) register(c *claim) bool {
	d := c.d
	b.mu.Lock()
	if o := b.inFlight[d.ID]; o != nil && o.d.ClaimToken == d.ClaimToken {
		b.mu.Unlock()
		return false
	}
	b.inFlight[d.ID] = c
	thread := [2]string{d.Tenant, d.ThreadID}
	if b.latest[thread] != c { // it was not opened
		c.before, b.latest[thread] = b.latest[thread], c
	}
	b.mu.Unlock()
	if !b.self.is(d.ClaimedBy, time.Now()) {
		c.abandon() // the process died while it claimed
	}
	b.cfg.Observer.Claimed(d, time.Duration(max(0, d.UpdatedAt-max(d.AvailableAt, d.CreatedAt)))*time.Millisecond)
	return true
}

// forget removes a claim whose dispatch is settled or lost.
func (b *Mailbox) forget(c *claim) {
	c.lease.release()
	c.cancel(nil)
	b.mu.Lock()
	if b.inFlight[c.d.ID] == c { // not a later claim of the same dispatch
		delete(b.inFlight, c.d.ID)
	}
	if thread := [2]string{c.d.Tenant, c.d.ThreadID}; b.latest[thread] == c {
		delete(b.latest, thread)
	}
	b.freed()
	b.mu.Unlock()
	close(c.over)
	if c.suspect && !c.clear.Load() {
		poke(b.wakeup) // there is room for another suspect
	}
}

// claims returns the claims in flight.
func (b *Mailbox) claims() []*claim {
	b.mu.Lock()
	defer b.mu.Unlock()
	return slices.Collect(maps.Values(b.inFlight))
}

// cancelHere cancels the run of a dispatch, if it is in flight in this process.
func (b *Mailbox) cancelHere(dispatchID string) {
	b.mu.Lock()
	c := b.inFlight[dispatchID]
	b.mu.Unlock()
	if c != nil {
		c.cancel(awaken.ErrCancelled)
	}
}

// drain waits until every run has finished its step. It cancels those that take longer than Drain.
func (b *Mailbox) drain(running *sync.WaitGroup, stop context.CancelCauseFunc) {
	over := make(chan struct{})
	go func() {
		running.Wait()
		close(over)
	}()
	limit := time.NewTimer(b.cfg.Drain)
	defer limit.Stop()
	for {
		for _, c := range b.claims() {
			c.tenant.Runtime.Yield(c.d.ThreadID) // repeated, because the run may be just starting
		}
		again := time.NewTimer(50 * time.Millisecond)
		select {
		case <-over:
			again.Stop()
			return
		case <-limit.C:
			stop(errDrained)
		case <-again.C:
		}
		again.Stop()
	}
}

// listen wakes the worker when the queue changes.
func (b *Mailbox) listen(ctx context.Context, l Listener) {
	err := l.Listen(ctx, func(s Signal) {
		if s.Ready {
			poke(b.wakeup)
		}
		if s.Cancelled {
			b.doubts.addAll()
		}
	})
	if err != nil && ctx.Err() == nil {
		b.cfg.Logger.Warn("cannot listen to the queue; polling it instead", "error", err)
	}
}
