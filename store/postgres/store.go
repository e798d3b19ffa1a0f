package postgres

import (
	"context"
	"fmt"

	"github.com/jackc/pgx/v5"

	"github.com/awaken-go/awaken"
)

// Store is one tenant's threads and runs. It implements [awaken.Store],
// [awaken.EventLog], [awaken.ThreadEditor] and [awaken.Pipelined].
type Store struct {
	db     *DB
	tenant string // escaped
}

var (
	_ awaken.Store        = (*Store)(nil)
	_ awaken.EventLog     = (*Store)(nil)
	_ awaken.ThreadEditor = (*Store)(nil)
	_ awaken.Pipelined    = (*Store)(nil)
)

// Pipelined says that commits take time: each waits for the server.
func (s *Store) Pipelined() bool { return true }

func noThread(id string) error { return fmt.Errorf("thread %s: %w", id, awaken.ErrNotFound) }

func noRun(id string) error { return fmt.Errorf("run %s: %w", id, awaken.ErrNotFound) }

// page applies the defaults of a paged listing.
func page(offset, limit int) (int, int) {
	if limit <= 0 {
		limit = 50
	}
	return max(offset, 0), limit
}

// query calls each for every row. It may be called again from the start, after reset.
func (db *DB) query(ctx context.Context, query string, args []any, reset func(), each func(rows pgx.Rows) error) error {
	return db.retry(ctx, func() error {
		reset()
		rows, err := db.pool.Query(ctx, db.sql(query), args...)
		if err != nil {
			return err
		}
		return forEach(rows, each)
	})
}

// forEach calls each for every row and closes them.
func forEach(rows pgx.Rows, each func(rows pgx.Rows) error) error {
	defer rows.Close()
	for rows.Next() {
		if err := each(rows); err != nil {
			return err
		}
	}
	return rows.Err()
}
