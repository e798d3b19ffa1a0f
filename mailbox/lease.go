package mailbox

import (
	"context"
	"sync"
	"time"

	"github.com/awaken-go/awaken"
	"github.com/awaken-go/awaken/internal/fault"
)

// lease is how long a claim is valid.
type lease struct {
	mu    sync.Mutex
	until time.Time
	watch *time.Timer // abandons the run at until
}

// begin starts a lease. It calls end when the lease expires without being extended.
func (l *lease) begin(until time.Time, end func()) {
	l.mu.Lock()
	defer l.mu.Unlock()
	l.until, l.watch = until, time.AfterFunc(time.Until(until), end)
}

// extend extends the lease, which was requested at from.
func (l *lease) extend(from time.Time, lease time.Duration) {
	l.mu.Lock()
	defer l.mu.Unlock()
	if until := from.Add(lease); until.After(l.until) {
		l.until = until
		l.watch.Reset(time.Until(until))
	}
}

// expired reports whether the lease is over. It checks the wall clock as well: the monotonic
// clock stands still while the machine sleeps.
func (l *lease) expired(now time.Time) bool {
	l.mu.Lock()
	defer l.mu.Unlock()
	return !now.Before(l.until) || !now.Round(0).Before(l.until.Round(0))
}

// release stops the timer.
func (l *lease) release() {
	l.mu.Lock()
	defer l.mu.Unlock()
	l.watch.Stop()
}

// expire ends a claim of a process that was not renewed in time. If an outage of the store was the reason, the
// whole process continues as a new one: it first releases what the old one had claimed, so that
// the outage costs no attempts.
func (b *Mailbox) expire(c *claim, process string) {
	c.abandon()
	if b.away.Load() {
		b.self.die(process)
	}
}

// keepLeases renews the leases: all of them every Renew, and the leases of claims that may have been
// cancelled at once.
func (b *Mailbox) keepLeases(ctx context.Context) {
	next := time.Now().Add(b.cfg.Renew)
	for wait(ctx, time.Until(next), b.doubts.news) {
		claims, all := b.doubts.take()
		if all = all || !time.Now().Before(next); all {
			claims, next = b.claims(), time.Now().Add(b.cfg.Renew)
		}
		if len(claims) == 0 {
			continue
		}
		rctx, cancel := context.WithTimeout(ctx, b.cfg.Renew)
		if err := b.renew(rctx, claims...); err != nil && ctx.Err() == nil {
			b.cfg.Logger.Warn("cannot renew leases", "error", err)
			if soon := time.Now().Add(b.cfg.Renew / 4); soon.Before(next) {
				next = soon
			}
		}
		cancel()
	}
}

// renew extends the leases of claims, cancels the runs that were cancelled, and abandons those
// whose claim was lost.
func (b *Mailbox) renew(ctx context.Context, claims ...*claim) error {
	held := make([]Claim, len(claims))
	for i, c := range claims {
		held[i] = c.d.Claim()
		held[i].Steps = int(c.steps.Load())
	}
	from := time.Now()
	got, err := b.cfg.Queue.Renew(ctx, b.cfg.Lease, held...)
	b.cfg.Observer.Operated("extend_lease", time.Since(from), err)
	b.away.Store(fault.OutageOf(err) != nil)
	if err != nil {
		return err
	}
	for i, c := range claims {
		switch {
		case got[i].Lost && c.ending.Load():
			continue // a commit has settled it, or is refused
		case got[i].Lost || c.lease.expired(from):
			c.abandon()
			continue
		case got[i].Cancel:
			c.cancel(awaken.ErrCancelled)
		}
		c.lease.extend(from, b.cfg.Lease)
		if held[i].Steps > c.d.Steps && !c.clear.Swap(true) && c.suspect {
			poke(b.wakeup) // there is room for another suspect
		}
	}
	return nil
}
