package sqlite

import (
	"context"
	"encoding/json"
	"time"

	"github.com/awaken-go/awaken/store/internal/sqlstore"
)

// dialect is that of the ports that both databases share.
var dialect = &sqlstore.Dialect{
	Words: map[string]string{
		"texts": `json_each(?) j`, "numbers": `json_each(?) j`, "json": ``, "bytes": ``, "max": `max`,
		"tick": `1 + coalesce((SELECT max(touched) FROM {p}_threads WHERE tenant = ?1), 0)`,
		"lock": ``, "share": ``, // one transaction at a time writes
	},
	Text: func(data []byte) string { return string(data) },
}

var _ sqlstore.DB = (*database)(nil)

// Dialect implements [sqlstore.DB].
func (db *database) Dialect() *sqlstore.Dialect { return dialect }

// Now implements [sqlstore.DB].
func (db *database) Now() time.Time { return db.now() }

// Read calls f with a connection that sees the database as it is now.
func (db *database) Read(ctx context.Context, f func(c sqlstore.Conn) error) error {
	return db.read(ctx, func(c *conn) error { return f(portConn{c}) })
}

// Write calls f in a transaction, which ctx does not cut off.
func (db *database) Write(ctx context.Context, f func(ctx context.Context, c sqlstore.Conn) (refused, err error)) error {
	if ctx.Err() != nil {
		return context.Cause(ctx)
	}
	var refused error
	err := db.writer.write(func(c *conn) (err error) {
		refused, err = f(context.Background(), portConn{c})
		return err
	})
	if err == nil {
		err = refused
	}
	return err
}

// Exec executes a statement in a transaction.
func (db *database) Exec(_ context.Context, query string, args ...any) (n int64, err error) {
	err = db.writer.write(func(c *conn) (err error) {
		n, err = c.exec(query, args...)
		return err
	})
	return n, err
}

// ExecOnce is Exec: what failed was not executed.
func (db *database) ExecOnce(ctx context.Context, query string, args ...any) (int64, error) {
	return db.Exec(ctx, query, args...)
}

// portConn is a connection for the shared ports. Lists are JSON for it.
type portConn struct{ c *conn }

func (p portConn) Query(ctx context.Context, query string, args []any, each func(scan func(...any) error) error) error {
	args, err := lists(args)
	if err != nil {
		return err
	}
	return p.c.query(ctx, query, args, each)
}

func (p portConn) Exec(_ context.Context, statements ...sqlstore.Statement) (n int64, err error) {
	for _, s := range statements {
		args, err := lists(s.Args)
		if err != nil {
			return 0, err
		}
		if n, err = p.c.exec(s.Query, args...); err != nil {
			return 0, err
		}
	}
	return n, nil
}

// lists returns arguments with lists as JSON.
func lists(args []any) ([]any, error) {
	copied := false
	for i, arg := range args {
		switch arg.(type) {
		case []string, []int64:
		default:
			continue
		}
		data, err := json.Marshal(arg)
		if err != nil {
			return nil, err
		}
		if !copied {
			args, copied = append([]any(nil), args...), true
		}
		args[i] = string(data)
	}
	return args, nil
}
