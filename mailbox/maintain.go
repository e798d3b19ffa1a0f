package mailbox

import (
	"context"
	"errors"
	"fmt"
	"time"

	"github.com/awaken-go/awaken/blob"
	"github.com/awaken-go/awaken/eventlog/changelog"
)

// recoverLost reclaims the dispatches of lost workers before this worker starts. It returns nil
// if ctx is done.
func (b *Mailbox) recoverLost(ctx context.Context) error {
	s := &b.cfg.Startup
	if !wait(ctx, s.Delay, nil) {
		return nil
	}
	for attempt := 1; ; attempt++ {
		n, err := b.reclaim(ctx)
		b.maintained(ctx, Maintenance{Reclaimed: n, Err: err})
		switch {
		case err == nil || ctx.Err() != nil:
			return nil
		case attempt >= s.Attempts:
			return fmt.Errorf("mailbox: startup recovery, attempt %d of %d: %w", attempt, s.Attempts, err)
		case !wait(ctx, s.Retry, nil):
			return nil
		}
	}
}

// pendingFiles is how long files are kept for a thread that does not exist yet.
const pendingFiles = time.Hour

// maintain reclaims the dispatches of lost workers, and purges old ones, old changes and files that are held no
// more, until ctx is done.
func (b *Mailbox) maintain(ctx context.Context) {
	sweep, purge, files := time.NewTicker(b.cfg.Sweep), time.NewTicker(b.cfg.GC), time.NewTicker(min(max(b.cfg.Uploads/4, time.Second), time.Hour))
	defer sweep.Stop()
	defer purge.Stop()
	defer files.Stop()
	keeper, _ := b.cfg.Queue.(blob.Sweeper)
	changes, _ := b.cfg.Queue.(interface{ Changes() changelog.Store })
	for {
		var m Maintenance
		select {
		case now := <-sweep.C:
			if !b.self.judges(now) {
				continue
			}
			m.Reclaimed, m.Err = b.reclaim(ctx)
		case <-purge.C:
			start := time.Now()
			m.Purged, m.Err = b.cfg.Queue.Purge(ctx, b.cfg.TTL)
			b.cfg.Observer.Operated("purge", time.Since(start), m.Err)
			if changes != nil {
				start := time.Now()
				_, err := changes.Changes().TrimChanges(ctx, changelog.Retention)
				b.cfg.Observer.Operated("trim_changes", time.Since(start), err)
				m.Err = errors.Join(m.Err, err)
			}
		case <-files.C:
			if keeper == nil {
				continue
			}
			start := time.Now()
			m.Swept, m.Err = keeper.SweepBlobs(ctx, blob.Retention{Uploads: b.cfg.Uploads, Pending: min(b.cfg.Uploads, pendingFiles)})
			b.cfg.Observer.Operated("sweep_blobs", time.Since(start), m.Err)
		case <-ctx.Done():
			return
		}
		b.maintained(ctx, m)
	}
}

// reclaim returns every dispatch whose owner is lost to the queue.
func (b *Mailbox) reclaim(ctx context.Context) (total int, err error) {
	const batch = 100
	for {
		start := time.Now()
		n, err := b.cfg.Queue.Reclaim(ctx, batch)
		b.cfg.Observer.Operated("reclaim", time.Since(start), err)
		if n > 0 {
			b.isolation.expect()
			poke(b.wakeup)
		}
		if total += n; err != nil || n < batch {
			return total, err
		}
	}
}

// maintained reports a round of maintenance.
func (b *Mailbox) maintained(ctx context.Context, m Maintenance) {
	if m.Reclaimed > 0 {
		b.cfg.Logger.Info("reclaimed dispatches of lost workers", "count", m.Reclaimed)
	}
	if m.Err != nil && ctx.Err() == nil {
		b.cfg.Logger.Warn("queue maintenance failed", "error", m.Err)
	}
	if b.cfg.Maintained != nil {
		b.cfg.Maintained(m)
	}
}
