package sqlite

import (
	"context"
	"database/sql"
	"encoding/json"
	"fmt"
	"math"

	"github.com/awaken-go/awaken"
)

// Entries returns entries of a thread's log of events.
func (s *Store) Entries(ctx context.Context, threadID string, q awaken.EntryQuery) ([]awaken.Entry, error) {
	// Rows hold whole commits, so they are chosen roughly here and exactly below.
	query := `SELECT data, last FROM {p}_entries WHERE tenant = ? AND thread = ? AND last > ? AND epoch > ? ORDER BY last`
	args := []any{s.tenant, threadID, clamp(q.After), clamp(q.Epoch)}
	if q.RunID != "" {
		query = `SELECT data, last FROM {p}_entries WHERE tenant = ?1 AND thread = ?2 AND run = ?5 AND last > ?3 AND epoch > ?4
			UNION ALL SELECT data, last FROM {p}_entries WHERE tenant = ?1 AND thread = ?2 AND run IS NULL AND last > ?3 AND epoch > ?4 ORDER BY last`
		args = append(args, q.RunID)
	}
	var out []awaken.Entry
	err := s.db.read(ctx, func(c *conn) error {
		if err := c.exists(ctx, s.tenant, threadID); err != nil {
			return err
		}
		return c.query(ctx, query, args, func(scan func(...any) error) error {
			var data sql.RawBytes
			var last int64
			if err := scan(&data, &last); err != nil {
				return err
			}
			var entries []awaken.Entry
			if err := json.Unmarshal(data, &entries); err != nil {
				return fmt.Errorf("log of thread %s: %w", threadID, err)
			}
			for _, e := range entries {
				if e.Last() > q.After && e.Epoch > q.Epoch && (q.RunID == "" || e.RunID == q.RunID) {
					if out = append(out, e); len(out) == q.Limit {
						return errStop
					}
				}
			}
			return nil
		})
	})
	if err != nil {
		return nil, err
	}
	return out, nil
}

// clamp makes n fit into a column.
func clamp(n uint64) int64 { return int64(min(n, math.MaxInt64)) }
