package mailbox

import (
	"context"
	"maps"
	"slices"
	"sync"
	"time"

	"github.com/awaken-go/awaken"
)

// Work claims dispatches and runs them until ctx is done. It then lets every run go on
// to the end of its step, gives the dispatches back, and returns: another process goes
// on with them. Runs that take longer than Config.Drain are stopped in the middle of a step.
// It returns an error only if it could not begin; see [Startup].
func (b *Mailbox) Work(ctx context.Context) error {
	if err := b.takeOver(ctx); err != nil || ctx.Err() != nil {
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
		w := b.take(runs, d, from)
		running.Go(func() { b.do(w, settler) })
	})
	b.drain(&running, stop)
	close(settler.in)
	done()
	helpers.Wait()
	return nil
}

// claimAll claims as much as there is room for, until ctx is done.
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
				b.cfg.Logger.Warn("claim failed", "error", err)
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
		wait(ctx, pause, b.poked)
	}
}

// take notes that this process works on d, which it asked for at from.
func (b *Mailbox) take(ctx context.Context, d *Dispatch, from time.Time) *work {
	w := &work{d: d, tenant: b.Tenant(d.Tenant)}
	w.ctx, w.cancel = context.WithCancelCause(ctx)
	w.steps.Store(int64(d.Steps))
	w.lease.begin(from.Add(b.cfg.Lease), w.lose)
	b.mu.Lock()
	b.working[d.ID] = w
	b.mu.Unlock()
	b.cfg.Observer.Claimed(d, time.Duration(max(0, d.UpdatedAt-max(d.AvailableAt, d.CreatedAt)))*time.Millisecond)
	return w
}

func (b *Mailbox) drop(w *work) {
	w.lease.release()
	w.cancel(nil)
	b.mu.Lock()
	delete(b.working, w.d.ID)
	b.mu.Unlock()
	poke(b.poked) // there is room
}

func (b *Mailbox) list() []*work {
	b.mu.Lock()
	defer b.mu.Unlock()
	return slices.Collect(maps.Values(b.working))
}

// cancelHere ends the run of a dispatch, if this process works on it.
func (b *Mailbox) cancelHere(dispatchID string) {
	b.mu.Lock()
	w := b.working[dispatchID]
	b.mu.Unlock()
	if w != nil {
		w.cancel(awaken.ErrCancelled)
	}
}

// drain lets the runs go on to the end of their step, and no longer than Drain.
func (b *Mailbox) drain(running *sync.WaitGroup, stop context.CancelCauseFunc) {
	over := make(chan struct{})
	go func() {
		running.Wait()
		close(over)
	}()
	limit := time.NewTimer(b.cfg.Drain)
	defer limit.Stop()
	for {
		for _, w := range b.list() {
			w.tenant.Runtime.Yield(w.d.ThreadID) // again and again, for it may just be starting
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

// listen looks at the queue when other processes change it.
func (b *Mailbox) listen(ctx context.Context, l Listener) {
	err := l.Listen(ctx, func() {
		poke(b.poked)
		poke(b.check)
	})
	if err != nil && ctx.Err() == nil {
		b.cfg.Logger.Warn("listening to the queue ended; it is polled instead", "error", err)
	}
}
