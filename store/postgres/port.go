package postgres

import (
	"context"
	"errors"
	"time"

	"github.com/jackc/pgx/v5"
	"github.com/jackc/pgx/v5/pgconn"

	"github.com/awaken-go/awaken/store/internal/sqlstore"
)

// dialect is that of the ports that both databases share.
var dialect = &sqlstore.Dialect{
	Words: map[string]string{
		"texts": `unnest(?::text[]) AS j (value)`, "numbers": `unnest(?::bigint[]) AS j (value)`, "json": `::json`, "bytes": ` COLLATE "C"`, "max": `greatest`,
		"tick": `nextval('{p}_clock')`,
		"lock": ` FOR UPDATE`, "share": ` FOR SHARE`,
	},
	Numbered: true,
	Escape:   escape, Unescape: unescape, Text: text,
}

var _ sqlstore.DB = (*database)(nil)

// Dialect implements [sqlstore.DB].
func (db *database) Dialect() *sqlstore.Dialect { return dialect }

// Now implements [sqlstore.DB].
func (db *database) Now() time.Time { return db.now() }

// Read calls f, again if need be. Its statements are not one transaction.
func (db *database) Read(ctx context.Context, f func(c sqlstore.Conn) error) error {
	return retry(ctx, func() error { return f(portConn{db, db.pool}) })
}

// errRefused ends a transaction that is to change nothing.
var errRefused = errors.New("refused")

// Write calls f in a transaction, again if need be.
func (db *database) Write(ctx context.Context, f func(ctx context.Context, c sqlstore.Conn) (refused, err error)) error {
	if ctx.Err() != nil {
		return context.Cause(ctx)
	}
	var refused error
	err := db.transact(ctx, func(tx pgx.Tx) (err error) {
		if refused, err = f(ctx, portConn{db, tx}); err == nil && refused != nil {
			err = errRefused
		}
		return err
	})
	if errors.Is(err, errRefused) {
		err = refused
	}
	return err
}

// Exec executes a statement, again if need be.
func (db *database) Exec(ctx context.Context, query string, args ...any) (n int64, err error) {
	err = retry(ctx, func() (err error) {
		n, err = db.ExecOnce(ctx, query, args...)
		return err
	})
	return n, err
}

// ExecOnce executes a statement.
func (db *database) ExecOnce(ctx context.Context, query string, args ...any) (int64, error) {
	tag, err := db.pool.Exec(ctx, db.sql(query), args...)
	return tag.RowsAffected(), err
}

// portConn is the pool, or a transaction, for the shared ports.
type portConn struct {
	db *database
	on interface {
		Query(ctx context.Context, sql string, args ...any) (pgx.Rows, error)
		Exec(ctx context.Context, sql string, args ...any) (pgconn.CommandTag, error)
		SendBatch(ctx context.Context, b *pgx.Batch) pgx.BatchResults
	}
}

func (p portConn) Query(ctx context.Context, query string, args []any, each func(scan func(...any) error) error) error {
	rows, err := p.on.Query(ctx, p.db.sql(query), args...)
	if err != nil {
		return err
	}
	return forEach(rows, func(rows pgx.Rows) error { return each(rows.Scan) })
}

func (p portConn) Exec(ctx context.Context, statements ...sqlstore.Statement) (n int64, err error) {
	if len(statements) == 1 {
		tag, err := p.on.Exec(ctx, p.db.sql(statements[0].Query), statements[0].Args...)
		return tag.RowsAffected(), err
	}
	var b pgx.Batch
	for _, s := range statements {
		b.Queue(p.db.sql(s.Query), s.Args...)
	}
	results := p.on.SendBatch(ctx, &b)
	for range statements {
		tag, err := results.Exec()
		if err != nil {
			return 0, errors.Join(err, results.Close())
		}
		n = tag.RowsAffected()
	}
	return n, results.Close()
}
