package postgres

import (
	"context"
	"errors"
	"sync"
	"sync/atomic"
	"time"

	"github.com/jackc/pgx/v5"
	"github.com/jackc/pgx/v5/pgconn"
	"github.com/jackc/pgx/v5/pgxpool"
)

// database is a pool of connections with the settings of the store.
type database struct {
	pool    *pgxpool.Pool
	hot     *pgxpool.Pool // connections for the statements of every run; see hotPool
	prefix  string        // of all table and function names
	timeout time.Duration // of commits, which contexts do not cancel
	ping    time.Duration // how often connections that listen are checked
	now     func() time.Time
	// unprepared is set if the URL turns prepared statements off.
	unprepared bool
	translate  func(query string) string
	texts      sync.Map // results of translate by its argument
	// full is set if a write has failed for lack of disk space and none has been probed since.
	full atomic.Bool
}

// sql translates a statement for PostgreSQL.
func (db *database) sql(query string) string {
	if text, ok := db.texts.Load(query); ok {
		return text.(string)
	}
	text := db.translate(query)
	db.texts.Store(query, text)
	return text
}

// transact calls f in a transaction, and retries it.
func (db *database) transact(ctx context.Context, f func(tx pgx.Tx) error) error {
	return retry(ctx, func() error { return pgx.BeginFunc(ctx, db.pool, f) })
}

// query calls each for every row. It may retry from the start, after calling reset.
func (db *database) query(ctx context.Context, query string, args []any, reset func(), each func(rows pgx.Rows) error) error {
	return retry(ctx, func() error {
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

// retry calls f, and calls it again, at most twice, if the connection was lost or
// transactions conflicted. What f does may already have been done, so repeating it must be
// harmless. An error that says that the database cannot serve now is a fault.Outage.
func retry(ctx context.Context, f func() error) error {
	return classified(retried(ctx, f))
}

func retried(ctx context.Context, f func() error) error {
	for _, pause := range [...]time.Duration{50 * time.Millisecond, 500 * time.Millisecond} {
		err := f()
		if err == nil || !worthRetry(err) {
			return err
		}
		select {
		case <-ctx.Done():
			return err
		case <-time.After(pause):
		}
	}
	return f()
}

func worthRetry(err error) bool {
	if e, ok := errors.AsType[*pgconn.PgError](err); ok {
		switch e.Code {
		case "40001", "40P01", // serialization failure, deadlock
			"57P01", "57P02", "57P03": // the server is shutting down, crashed, is starting
			return true
		}
		return false
	}
	if _, ok := errors.AsType[*pgconn.ConnectError](err); ok || pgconn.SafeToRetry(err) {
		return true
	}
	return lostConnection(err)
}
