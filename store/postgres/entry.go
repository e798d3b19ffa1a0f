package postgres

import (
	"context"
	"fmt"
	"math"

	"github.com/jackc/pgx/v5"

	"github.com/awaken-go/awaken"
	"github.com/awaken-go/awaken/eventlog/entryrow"
	"github.com/awaken-go/awaken/store/internal/threads"
)

// Entries returns entries of a thread's event log.
func (s *scope) Entries(ctx context.Context, threadID string, q awaken.EntryQuery) ([]awaken.Entry, error) {
	// A row holds the entries of a commit, so the query selects rows and Select filters
	// their entries. Most rows hold several entries, so the first query asks for few rows,
	// and the next ones for more. A run that has not started has none.
	query := `SELECT e.last, e.epoch, e.run, e.entries FROM {p}_threads t
		LEFT JOIN {p}_runs r ON r.tenant = t.tenant AND r.thread = t.id AND r.id = $6
		LEFT JOIN LATERAL (SELECT * FROM {p}_commits e WHERE e.tenant = t.tenant AND e.thread = t.id
			AND e.last > greatest($3, r.first_seq) AND e.last <= coalesce(r.last_seq, 9223372036854775807) AND e.epoch > $4 AND e.entries IS NOT NULL
			AND (r.id IS NOT NULL OR NOT EXISTS (SELECT FROM {p}_dispatches d WHERE d.tenant = $1 AND d.run = $6 AND d.born IS NOT NULL))
			ORDER BY e.last, e.n LIMIT $5) e ON true
		WHERE t.tenant = $1 AND t.id = $2 ORDER BY e.last`
	args := []any{s.tenant, escape(threadID), clamp(q.After), clamp(q.Epoch), nil, nil}
	limit := 0
	if q.Limit > 0 {
		limit = 2 + q.Limit/8
	}
	if q.RunID != "" {
		args[5] = escape(q.RunID)
	}
	var out []awaken.Entry
	for ; ; limit *= 2 {
		if limit > 0 {
			args[4] = limit
		}
		n, more, reached := 0, []awaken.Entry(nil), args[2]
		err := s.db.query(ctx, query, args, func() { n, more = 0, nil }, func(rows pgx.Rows) error {
			n++
			var last, epoch *int64
			var run *string
			var data []byte
			if err := rows.Scan(&last, &epoch, &run, &data); err != nil || last == nil {
				return err // a thread without entries yields one row of NULLs
			}
			if q.Limit > 0 && len(out)+len(more) >= q.Limit {
				return nil
			}
			var err error
			if more, err = entryrow.Select(more, data, uint64(*epoch), unescape(*run), &q); err != nil {
				return fmt.Errorf("log of thread %s: %w", threadID, err)
			}
			reached = *last
			return nil
		})
		if err == nil && n == 0 {
			err = threads.NotFound(threadID)
		}
		if err != nil {
			return nil, err
		}
		out, args[2] = append(out, more...), reached
		if limit == 0 || n < limit || len(out) >= q.Limit {
			break
		}
	}
	if q.Limit > 0 && len(out) > q.Limit {
		out = out[:q.Limit]
	}
	return out, nil
}

// clamp limits n to the range of a column.
func clamp(n uint64) int64 { return int64(min(n, math.MaxInt64)) }
