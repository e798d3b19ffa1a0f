package mailbox

import (
	"context"
	"sync"
	"time"

	"github.com/awaken-go/awaken"
)

// lease is how long a claim holds.
type lease struct {
	mu    sync.Mutex
	until time.Time
	watch *time.Timer // ends the run then
}

// begin notes that the claim holds until then, and calls end if it holds no longer.
func (l *lease) begin(until time.Time, end func()) {
	l.mu.Lock()
	defer l.mu.Unlock()
	l.until, l.watch = until, time.AfterFunc(time.Until(until), end)
}

// extend notes that the claim holds until a lease that was asked for at from. The wall
// clock counts too: a machine that slept does not see it in the other.
func (l *lease) extend(from time.Time, lease time.Duration) {
	l.mu.Lock()
	defer l.mu.Unlock()
	if until := from.Add(lease); until.After(l.until) {
		l.until = until
		l.watch.Reset(time.Until(until))
	}
}

func (l *lease) expired(now time.Time) bool {
	l.mu.Lock()
	defer l.mu.Unlock()
	return !now.Before(l.until) || !now.Round(0).Before(l.until.Round(0))
}

// release stops watching.
func (l *lease) release() {
	l.mu.Lock()
	defer l.mu.Unlock()
	l.watch.Stop()
}

// keepLeases renews the leases, in time and whenever a claim may have been cancelled.
func (b *Mailbox) keepLeases(ctx context.Context) {
	pause := b.cfg.Renew
	for wait(ctx, pause, b.check) {
		pause = b.cfg.Renew
		works := b.list()
		if len(works) == 0 {
			continue
		}
		rctx, cancel := context.WithTimeout(ctx, b.cfg.Renew)
		if err := b.renew(rctx, works...); err != nil && ctx.Err() == nil {
			b.cfg.Logger.Warn("leases could not be renewed", "error", err)
			pause = b.cfg.Renew / 4
		}
		cancel()
	}
}

// renew extends the leases of works, and ends the runs that are cancelled or lost.
func (b *Mailbox) renew(ctx context.Context, works ...*work) error {
	held := make([]Held, len(works))
	for i, w := range works {
		held[i] = w.d.Held()
		held[i].Steps = int(w.steps.Load())
	}
	from := time.Now()
	got, err := b.cfg.Queue.Renew(ctx, b.cfg.Lease, held...)
	b.cfg.Observer.Operated("extend_lease", time.Since(from), err)
	if err != nil {
		return err
	}
	for i, w := range works {
		switch {
		case got[i].Lost || w.lease.expired(from):
			w.lose()
			continue
		case got[i].Cancel:
			w.cancel(awaken.ErrCancelled)
		}
		w.lease.extend(from, b.cfg.Lease)
	}
	return nil
}
