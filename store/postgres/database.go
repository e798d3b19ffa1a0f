package postgres

import (
	"context"
	"errors"
	"sync"
	"time"

	"github.com/jackc/pgx/v5"
	"github.com/jackc/pgx/v5/pgconn"
	"github.com/jackc/pgx/v5/pgxpool"
)

// database is the connections to a database, and how it is asked.
type database struct {
	pool    *pgxpool.Pool
	prefix  string        // of all names
	timeout time.Duration // of a commit whose outcome cannot be learned
	now     func() time.Time
	// unprepared is set if the URL asks to do without prepared statements.
	unprepared bool
	translate  func(query string) string
	texts      sync.Map // what translate returned, by what it was given
}

// sql makes a statement PostgreSQL's own.
func (db *database) sql(query string) string {
	if text, ok := db.texts.Load(query); ok {
		return text.(string)
	}
	text := db.translate(query)
	db.texts.Store(query, text)
	return text
}

// transact calls f in a transaction, again if need be.
func (db *database) transact(ctx context.Context, f func(tx pgx.Tx) error) error {
	return retry(ctx, func() error { return pgx.BeginFunc(ctx, db.pool, f) })
}

// query calls each for every row. It may be called again from the start, after reset.
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

// retry calls f, and again if the connection was lost, which must do no harm: what f
// does may have been done already. PostgreSQL asks for the same when transactions got
// in each other's way.
func retry(ctx context.Context, f func() error) error {
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
			"57P01", "57P02", "57P03": // the server shuts down, crashed, starts up
			return true
		}
		return false
	}
	if _, ok := errors.AsType[*pgconn.ConnectError](err); ok || pgconn.SafeToRetry(err) {
		return true
	}
	return lostConnection(err)
}
