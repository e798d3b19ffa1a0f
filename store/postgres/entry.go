package postgres

import (
	"context"
	"encoding/json"
	"fmt"
	"math"

	"github.com/jackc/pgx/v5"

	"github.com/awaken-go/awaken"
)

// Entries returns entries of a thread's log of events.
func (s *Store) Entries(ctx context.Context, threadID string, q awaken.EntryQuery) ([]awaken.Entry, error) {
	// Rows hold whole commits, so they are chosen roughly here and exactly below. Every
	// row that is chosen holds an entry that is wanted, but for rows of several runs or
	// epochs, so a limit of entries is one of rows too; if it was too low, there is more.
	where := `e.tenant = t.tenant AND e.thread = t.id AND e.last > $3 AND e.epoch > $4`
	args := []any{s.tenant, escape(threadID), clamp(q.After), clamp(q.Epoch), nil}
	if q.Limit > 0 {
		args[4] = q.Limit
	}
	rows := `SELECT e.last, e.data FROM {p}_entries e WHERE ` + where
	if q.RunID != "" {
		args = append(args, escape(q.RunID))
		rows = `(` + rows + ` AND e.run = $6 ORDER BY e.last LIMIT $5) UNION ALL (` + rows + ` AND e.run IS NULL ORDER BY e.last LIMIT $5)`
	}
	// A thread without entries is one row of nothing; a missing thread is none.
	query := `SELECT x.last, x.data FROM {p}_threads t LEFT JOIN LATERAL (` + rows + ` ORDER BY last LIMIT $5) x ON true WHERE t.tenant = $1 AND t.id = $2 ORDER BY x.last`
	var out []awaken.Entry
	for {
		n, more := 0, []awaken.Entry(nil)
		err := s.db.query(ctx, query, args, func() { n, more = 0, nil }, func(rows pgx.Rows) error {
			n++
			var last *int64
			var data []byte
			if err := rows.Scan(&last, &data); err != nil || last == nil {
				return err
			}
			args[2] = *last
			var entries []awaken.Entry
			if err := json.Unmarshal(data, &entries); err != nil {
				return fmt.Errorf("log of thread %s: %w", threadID, err)
			}
			for _, e := range entries {
				if e.Last() > q.After && e.Epoch > q.Epoch && (q.RunID == "" || e.RunID == q.RunID) {
					more = append(more, e)
				}
			}
			return nil
		})
		if err == nil && n == 0 {
			err = noThread(threadID)
		}
		if err != nil {
			return nil, err
		}
		out = append(out, more...)
		if q.Limit <= 0 || n < q.Limit || len(out) >= q.Limit {
			break
		}
	}
	if q.Limit > 0 && len(out) > q.Limit {
		out = out[:q.Limit]
	}
	return out, nil
}

// clamp makes n fit into a column.
func clamp(n uint64) int64 { return int64(min(n, math.MaxInt64)) }
