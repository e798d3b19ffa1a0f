package sqlite

import (
	"context"
	"fmt"
	"slices"
	"strconv"
	"time"

	"github.com/awaken-go/awaken/llm"
	"github.com/awaken-go/awaken/store/internal/sqlstore"
)

// dialect is that of the ports that both databases share.
var dialect = &sqlstore.Dialect{
	Words: map[string]string{
		"texts": `json_each(?) j`, "numbers": `json_each(?) j`, "json": ``, "bytes": ``, "max": `max`,
		"tick": `1 + coalesce((SELECT max(touched) FROM {p}_threads WHERE tenant = ?1), 0)`,
		"born": `1 + max(coalesce((SELECT max(born) FROM {p}_runs WHERE tenant = ?1), 0), coalesce((SELECT max(touched) FROM {p}_threads WHERE tenant = ?1), 0))`,
		"lock": ``, "share": ``, "lockable": `LEFT`, // one transaction at a time writes
		"accounts": `(SELECT s.value AS scope, i.value AS id, i.key AS n FROM json_each(?2) s JOIN json_each(?3) i ON i.key = s.key) a`,
	},
	Text: func(data []byte) string { return string(data) },
}

// engine is what SQLite does in its own way for the shared ports. One transaction at a
// time writes, so nothing has to be locked.
var engine = &sqlstore.Engine{
	Log: func(ctx context.Context, c sqlstore.Conn, tenant string, t *sqlstore.Thread, after, upTo int, each func(seq int, created int64, m *llm.Message)) error {
		return c.(portConn).c.of(tenant).messages(ctx, t, after, upTo, each)
	},
	Inherit: `UPDATE {p}_commits SET thread = ?3, last = -1, run = '', epoch = 0, entries = NULL, calls = NULL, upto = min(upto, ?4)
		WHERE tenant = ?1 AND thread = ?2 AND messages IS NOT NULL AND before < ?4`,
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

// lists returns arguments with lists as JSON; an empty one is nil.
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
		args[i], _ = array(new([]byte), n, element) // whose elements do not fail
	}
	return args
}

// appendText writes a string of JSON. Unlike encoding/json it leaves bytes that are not
// UTF-8 as they are, which SQLite returns as they are too: ids may have them.
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
