package sqlite

import (
	"context"
	"fmt"
	"slices"
	"strconv"
	"time"

	"github.com/awaken-go/awaken/store/internal/sqlstore"
)

// lastBorn is the place of the newest run of tenant ?1. A dispatch whose run has no row is live.
const lastBorn = `max(coalesce((SELECT max(born) FROM {p}_runs WHERE tenant = ?1), 0),
	coalesce((SELECT max(born) FROM {p}_dispatches WHERE tenant = ?1 AND completed = 0 AND born IS NOT NULL), 0))`

// dialect is the dialect of the shared ports.
var dialect = &sqlstore.Dialect{
	Words: map[string]string{
		"texts": `json_each(?) j`, "numbers": `json_each(?) j`, "record": `x.record`, "bytes": ``, "max": `max`, "min": `min`,
		"tick":  `1 + coalesce((SELECT max(touched) FROM {p}_threads WHERE tenant = ?1), 0)`,
		"born":  `1 + max(` + lastBorn + `, coalesce((SELECT max(touched) FROM {p}_threads WHERE tenant = ?1), 0))`,
		"clock": `CAST(unixepoch('subsec') * 1000 AS INTEGER)`, "lock": ``, "share": ``, "keep": ``, "lockable": `LEFT`, // write transactions are exclusive
		"accounts": `(SELECT s.value AS scope, i.value AS id, i.key AS n FROM json_each(?2) s JOIN json_each(?3) i ON i.key = s.key) a`,
		"calls":    `replace(k.calls, char(1), k.run)`, "commit": `k.rowid = c.n AND k.tenant = c.tenant AND k.thread = c.thread AND k.run = c.run`, // see packed.go; another commit may have the row of a deleted one
		"changed": `coalesce((SELECT max(l.pos) FROM {p}_changes l), 0)`,
	},
	Text: func(data []byte) string { return string(data) },
}

// engine is the engine of the shared ports. Only one transaction at a time writes, so
// nothing needs to be locked.
var engine = &sqlstore.Engine{
	Log: func(ctx context.Context, c sqlstore.Conn, tenant string, t *sqlstore.Thread, after, upTo int, to *sqlstore.Tail) error {
		return c.(portConn).c.of(tenant).messages(ctx, t, after, upTo, to)
	},
	Inherit: `UPDATE {p}_commits SET thread = ?3, last = -1, epoch = 0, entries = NULL, calls = NULL, upto = min(upto, ?4)
		WHERE tenant = ?1 AND thread = ?2 AND messages IS NOT NULL AND before < ?4`,
}

var _ sqlstore.DB = (*database)(nil)

// Dialect implements [sqlstore.DB].
func (db *database) Dialect() *sqlstore.Dialect { return dialect }

// Now implements [sqlstore.DB].
func (db *database) Now() time.Time { return db.now() }

// Read calls f with a connection that sees a snapshot of the database.
func (db *database) Read(ctx context.Context, f func(c sqlstore.Conn) error) error {
	return db.read(ctx, func(c *conn) error { return f(portConn{c}) })
}

// Write calls f in a transaction, which ctx does not cancel once it has begun.
func (db *database) Write(ctx context.Context, f func(ctx context.Context, c sqlstore.Conn) (refused, err error)) error {
	if ctx.Err() != nil {
		return context.Cause(ctx)
	}
	var refused error
	err := db.writer.write("", func(c *conn) (err error) {
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
	err = db.writer.write("", func(c *conn) (err error) {
		n, err = c.exec(query, args...)
		return err
	})
	return n, err
}

// ExecOnce is Exec: a statement that failed was not executed.
func (db *database) ExecOnce(ctx context.Context, query string, args ...any) (int64, error) {
	return db.Exec(ctx, query, args...)
}

// portConn is a connection for the shared ports. It passes lists as JSON.
type portConn struct{ c *conn }

func (p portConn) Query(ctx context.Context, query string, args []any, each func(scan sqlstore.Scan) error, first ...sqlstore.Statement) error {
	if _, err := p.Exec(ctx, first...); err != nil {
		return err
	}
	return p.c.query(ctx, query, lists(args), each)
}

func (p portConn) Exec(_ context.Context, statements ...sqlstore.Statement) (n int64, err error) {
	for _, s := range statements {
		if n, err = p.c.exec(s.Query, lists(s.Args)...); err != nil {
			return 0, err
		}
	}
	return n, nil
}

// lists returns arguments with lists as JSON; an empty list becomes nil.
func lists(args []any) []any {
	copied := false
	for i, arg := range args {
		var n int
		var element func(buf []byte, i int) ([]byte, error)
		switch list := arg.(type) {
		case []string:
			n, element = len(list), func(buf []byte, i int) ([]byte, error) { return appendText(buf, list[i]), nil }
		case []int64:
			n, element = len(list), func(buf []byte, i int) ([]byte, error) { return strconv.AppendInt(buf, list[i], 10), nil }
		default:
			continue
		}
		if !copied {
			args, copied = slices.Clone(args), true
		}
		args[i], _ = array(new([]byte), n, element) // element never fails
	}
	return args
}

// appendText appends s as a JSON string. Unlike encoding/json it keeps bytes that are not
// valid UTF-8, as SQLite does: ids may contain them.
func appendText(buf []byte, s string) []byte {
	buf = append(buf, '"')
	for i := range len(s) {
		switch c := s[i]; {
		case c == '"' || c == '\\':
			buf = append(buf, '\\', c)
		case c < ' ':
			buf = fmt.Appendf(buf, `\u%04x`, c)
		default:
			buf = append(buf, c)
		}
	}
	return append(buf, '"')
}
