package sqlstore

import (
	"context"
	"fmt"
	"time"

	"github.com/awaken-go/awaken/limit"
)

// Limits implements [limit.Store] for all tenants.
type Limits struct{ db DB }

var _ limit.Store = (*Limits)(nil)

// LoadBuckets returns buckets and the time.
func (l *Limits) LoadBuckets(ctx context.Context, names ...string) (out []limit.Stored, now time.Time, err error) {
	query, args := `1 = 1`, []any(nil)
	if len(names) > 0 {
		query, args = `b.name IN (SELECT value FROM {texts})`, []any{names}
	}
	err = read(ctx, l.db, "rate limits", func(c Conn) error {
		out = nil
		return c.Query(ctx, `SELECT c.clock, b.name, b.revision, b.data FROM (SELECT {clock} AS clock) c LEFT JOIN {p}_limits b ON `+query, args, func(scan Scan) error {
			var clock int64
			var name *string
			var revision *int64
			var data []byte
			if err := scan(&clock, &name, &revision, &data); err != nil {
				return err
			}
			now = time.UnixMilli(clock)
			if name != nil {
				out = append(out, limit.Stored{Name: *name, Revision: *revision, Data: data})
			}
			return nil
		})
	})
	return out, now, err
}

// SwapBucket stores a bucket if its revision is still the stored one.
func (l *Limits) SwapBucket(ctx context.Context, b limit.Stored) (bool, error) {
	n, err := l.db.ExecOnce(ctx, `INSERT INTO {p}_limits (name, revision, data, updated) VALUES (?1, 1, ?2, {clock})
		ON CONFLICT (name) DO UPDATE SET revision = {p}_limits.revision + 1, data = excluded.data, updated = excluded.updated WHERE {p}_limits.revision = ?3`,
		b.Name, string(b.Data), b.Revision)
	if err != nil {
		return false, fmt.Errorf("rate limit %s: %w", b.Name, err)
	}
	return n == 1, nil
}

// ForgetBuckets removes unused buckets.
func (l *Limits) ForgetBuckets(ctx context.Context, unused time.Duration) error {
	if _, err := l.db.Exec(ctx, `DELETE FROM {p}_limits WHERE updated <= {clock} - ?`, unused.Milliseconds()); err != nil {
		return fmt.Errorf("rate limits: %w", err)
	}
	return nil
}
