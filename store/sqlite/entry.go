package sqlite

import (
	"context"
	"database/sql"
	"fmt"
	"math"

	"github.com/awaken-go/awaken"
	"github.com/awaken-go/awaken/eventlog/entryrow"
	"github.com/awaken-go/awaken/store/internal/sqlstore"
)

// Entries returns entries of a thread's event log.
func (s *scope) Entries(ctx context.Context, threadID string, q awaken.EntryQuery) ([]awaken.Entry, error) {
	var out []awaken.Entry
	err := s.db.read(ctx, func(c *conn) error {
		if err := c.of(s.tenant).exists(ctx, threadID); err != nil {
			return err
		}
		after, upTo := clamp(q.After), int64(math.MaxInt64)
		if q.RunID != "" {
			var first, last int64
			found, err := c.row(ctx, `SELECT first_seq, last_seq FROM {p}_runs WHERE tenant = ? AND id = ? AND thread = ?`, []any{s.tenant, q.RunID, threadID}, &first, &last)
			if err != nil {
				return err
			}
			if found {
				after, upTo = max(after, first), last
			} else if created, err := c.row(ctx, `SELECT 1 FROM {p}_dispatches WHERE tenant = ? AND run = ? AND born IS NOT NULL`, []any{s.tenant, q.RunID}, new(int)); created || err != nil {
				return err // it has not started
			}
		}
		// A row holds the entries of a commit, so the query selects rows and Select filters
		// their entries.
		return c.query(ctx, `SELECT epoch, run, entries, calls FROM {p}_commits WHERE tenant = ? AND thread = ? AND last > ? AND last <= ? AND epoch > ? AND entries IS NOT NULL ORDER BY last, upto, rowid`,
			[]any{s.tenant, threadID, after, upTo, clamp(q.Epoch)}, func(scan sqlstore.Scan) error {
				var epoch uint64
				var run, text string
				var calls sql.RawBytes // or nil
				if err := scan(&epoch, &run, &text, &calls); err != nil {
					return err
				}
				text, err := unpackEntries(text, calls, run)
				if err == nil {
					out, err = entryrow.Select(out, []byte(text), epoch, run, &q)
				}
				if err != nil {
					return fmt.Errorf("log of thread %s: %w", threadID, err)
				}
				if q.Limit > 0 && len(out) == q.Limit {
					return errStop
				}
				return nil
			})
	})
	if err != nil {
		return nil, err
	}
	return out, nil
}

// clamp limits n to the range of a column.
func clamp(n uint64) int64 { return int64(min(n, math.MaxInt64)) }
