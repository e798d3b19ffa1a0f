package mailbox

import (
	"context"
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
	var helpers, running sync.WaitGroup
	settler := &settler{queue: b.cfg.Queue, patience: b.cfg.Lease, observer: b.cfg.Observer, logger: b.cfg.Logger, in: make(chan settling)}
	helpers.Go(func() { b.keepLeases(chores) })
	helpers.Go(func() { b.maintain(chores) })
	helpers.Go(settler.work)
	if l, ok := b.cfg.Queue.(Listener); ok {
		helpers.Go(func() { b.listen(chores, l) })
	}
	b.claimAll(ctx, func(d *Dispatch, from time.Time) {
		c := b.begin(runs, d, from)
		running.Go(func() { b.process(c, settler) })
	})
	b.drain(&running, stop)
	close(settler.in)
	done()
	helpers.Wait()
	return nil
}

// claimAll claims as many dispatches as Concurrency allows, until ctx is done.
func (b *Mailbox) claimAll(ctx context.Context, start func(d *Dispatch, from time.Time)) {
	for ctx.Err() == nil {
		free := b.cfg.Concurrency - b.Active()
		pause := b.cfg.Poll
		if free > 0 {
			limit := min(free, 64)
			from := time.Now()
			ds, next, err := b.cfg.Queue.Claim(ctx, ClaimRequest{Consumer: b.cfg.Consumer, Lease: b.cfg.Lease, Limit: limit})
			b.cfg.Observer.Operated("claim", time.Since(from), err)
			if err != nil && ctx.Err() == nil {
				b.cfg.Logger.Warn("cannot claim dispatches", "error", err)
			}
			for _, d := range ds {
				start(d, from)
			}
			if len(ds) == limit {
				continue
			}
			if next > 0 {
				pause = min(pause, next)
			}
		}
		wait(ctx, pause, b.wakeup)
	}
}

// begin registers the claim on d, which was requested at from.
func (b *Mailbox) begin(ctx context.Context, d *Dispatch, from time.Time) *claim {
	c := &claim{d: d, tenant: b.Tenant(d.Tenant)}
	c.ctx, c.cancel = context.WithCancelCause(ctx)
	c.steps.Store(int64(d.Steps))
	c.lease.begin(from.Add(b.cfg.Lease), c.abandon)
	b.mu.Lock()
	b.inFlight[d.ID] = c
	b.mu.Unlock()
	b.cfg.Observer.Claimed(d, time.Duration(max(0, d.UpdatedAt-max(d.AvailableAt, d.CreatedAt)))*time.Millisecond)
	return c
}

// forget removes a claim whose dispatch is settled or lost.
func (b *Mailbox) forget(c *claim) {
	c.lease.release()
	c.cancel(nil)
	b.mu.Lock()
	delete(b.inFlight, c.d.ID)
	b.mu.Unlock()
	poke(b.wakeup) // there is room for another
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

// listen wakes the worker when another process changes the queue.
func (b *Mailbox) listen(ctx context.Context, l Listener) {
	err := l.Listen(ctx, func() {
		poke(b.wakeup)
		poke(b.recheck)
	})
	if err != nil && ctx.Err() == nil {
		b.cfg.Logger.Warn("cannot listen to the queue; polling it instead", "error", err)
	}
}
