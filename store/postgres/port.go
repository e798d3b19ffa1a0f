package postgres

import (
	"context"
	"errors"
	"time"

	"github.com/jackc/pgx/v5"
	"github.com/jackc/pgx/v5/pgconn"

	"github.com/awaken-go/awaken/store/internal/sqlstore"
)

// record is the JSON in column x.record. The operators of json decode every string in it, and fail on
// U+0000 and on single surrogates, which clients can bring into a record: their escapes, with an odd
// number of backslashes, become "_". (A question mark, which marks an argument here, is chr(63).)
const record = `(CASE WHEN x.record ~ '\\u(0000|[dD][89a-fA-F])'
	THEN regexp_replace(x.record, '(' || chr(63) || '<!\\)((\\\\)*)\\u(0000|[dD][89a-fA-F][0-9a-fA-F][0-9a-fA-F])', '\1_', 'g') ELSE x.record END)::json`

// dialect is the dialect of the shared ports.
var dialect = &sqlstore.Dialect{
	Words: map[string]string{
		"texts": `unnest(?::text[]) AS j (value)`, "numbers": `unnest(?::bigint[]) AS j (value)`, "record": record, "bytes": ` COLLATE "C"`, "max": `greatest`, "min": `least`,
		"tick": `nextval('{p}_clock')`, "born": `nextval('{p}_clock')`,
		"clock": `({p}_now() / 1000)`, "lock": ` FOR UPDATE`, "share": ` FOR SHARE`, "keep": ` FOR KEY SHARE`, "lockable": `INNER`,
		"accounts": `unnest(?2::text[], ?3::text[]) WITH ORDINALITY a (scope, id, n)`,
		"calls":    `'[' || array_to_string(k.calls, ',') || ']'`, "commit": `k.tenant = c.tenant AND k.thread = c.thread AND k.last = c.seq AND k.n = c.n`,
		"changed": `(SELECT s.last_value FROM {p}_changes_pos s)`,
	},
	Numbered: true,
	Escape:   escape, Unescape: unescape, Text: text,
}

var _ sqlstore.DB = (*database)(nil)

// Dialect implements [sqlstore.DB].
func (db *database) Dialect() *sqlstore.Dialect { return dialect }

// Now implements [sqlstore.DB].
func (db *database) Now() time.Time { return db.now() }

// Read calls f, and retries it. The statements of f are not one transaction.
func (db *database) Read(ctx context.Context, f func(c sqlstore.Conn) error) error {
	return retry(ctx, func() error { return f(portConn{db, db.pool}) })
}

// errRefused rolls back a transaction that refused its change.
var errRefused = errors.New("refused")

// Write calls f in a transaction, and retries it.
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

// Exec executes a statement, and retries it.
func (db *database) Exec(ctx context.Context, query string, args ...any) (n int64, err error) {
	err = retry(ctx, func() (err error) {
		n, err = db.ExecOnce(ctx, query, args...)
		return err
	})
	return n, err
}

// ExecOnce executes a statement without a retry.
func (db *database) ExecOnce(ctx context.Context, query string, args ...any) (int64, error) {
	tag, err := db.pool.Exec(ctx, db.sql(query), args...)
	return tag.RowsAffected(), classified(err)
}

// portConn is the pool or a transaction as a connection for the shared ports.
type portConn struct {
	db *database
	on interface {
		Query(ctx context.Context, sql string, args ...any) (pgx.Rows, error)
		Exec(ctx context.Context, sql string, args ...any) (pgconn.CommandTag, error)
		SendBatch(ctx context.Context, b *pgx.Batch) pgx.BatchResults
	}
}

func (p portConn) Query(ctx context.Context, query string, args []any, each func(scan sqlstore.Scan) error, first ...sqlstore.Statement) (err error) {
	var rows pgx.Rows
	if len(first) == 0 {
		rows, err = p.on.Query(ctx, p.db.sql(query), args...)
	} else {
		results := p.send(ctx, append(first, sqlstore.Statement{Query: query, Args: args}))
		defer func() { err = errors.Join(err, results.Close()) }()
		if _, err = execute(results, len(first)); err == nil {
			rows, err = results.Query()
		}
	}
	if err != nil {
		return err
	}
	return forEach(rows, func(rows pgx.Rows) error { return each(rows.Scan) })
}

func (p portConn) Exec(ctx context.Context, statements ...sqlstore.Statement) (n int64, err error) {
	switch len(statements) {
	case 0:
		return 0, nil
	case 1:
		tag, err := p.on.Exec(ctx, p.db.sql(statements[0].Query), statements[0].Args...)
		return tag.RowsAffected(), err
	}
	results := p.send(ctx, statements)
	n, err = execute(results, len(statements))
	return n, errors.Join(err, results.Close())
}

// send sends statements in one round trip.
func (p portConn) send(ctx context.Context, statements []sqlstore.Statement) pgx.BatchResults {
	var b pgx.Batch
	for _, s := range statements {
		b.Queue(p.db.sql(s.Query), s.Args...)
	}
	return p.on.SendBatch(ctx, &b)
}

// execute reads the results of n statements and returns how many rows the last one changed.
func execute(results pgx.BatchResults, n int) (changed int64, err error) {
	for range n {
		tag, err := results.Exec()
		if err != nil {
			return 0, err
		}
		changed = tag.RowsAffected()
	}
	return changed, nil
}
