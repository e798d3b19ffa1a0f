// Package sqlstore is what the stores on SQL databases have in common: the ports that
// both engines answer with the same statements. What an engine does in its own way
// (commit, acquire, claim) is in its own package.
//
// A statement is one text for all engines. In it, {p} is the prefix of all names, ? and
// ?1 are arguments, and other words in braces are those of [Dialect.Words].
package sqlstore

import (
	"context"
	"encoding/json"
	"fmt"
	"strconv"
	"strings"
	"time"

	"github.com/awaken-go/awaken/llm"
)

// DB is a database that the ports ask.
type DB interface {
	Dialect() *Dialect
	// Now is the clock of what people make and edit.
	Now() time.Time
	// Read calls f, which may be called again if the connection was lost.
	Read(ctx context.Context, f func(c Conn) error) error
	// Write calls f in a transaction, with the context that its statements use. If f fails
	// nothing of it is kept, and it may be called again. Refused is an error, too, but of
	// the caller's: f has written nothing then.
	Write(ctx context.Context, f func(ctx context.Context, c Conn) (refused, err error)) error
	// Exec executes one statement and returns how many rows it changed. It may be executed
	// twice if the connection was lost.
	Exec(ctx context.Context, query string, args ...any) (int64, error)
	// ExecOnce is Exec for a statement that must not be executed twice.
	ExecOnce(ctx context.Context, query string, args ...any) (int64, error)
}

// Conn executes statements. Arguments are what both drivers take, []string and []int64;
// the latter are for {texts} and {numbers}.
type Conn interface {
	// Query executes the statements of first, and then calls each for every row of query,
	// in one round trip if it can.
	Query(ctx context.Context, query string, args []any, each func(scan Scan) error, first ...Statement) error
	// Exec executes statements one after the other, in as few round trips as it can, and
	// returns how many rows the last one changed.
	Exec(ctx context.Context, statements ...Statement) (int64, error)
}

// Scan fills in the columns of a row.
type Scan func(dest ...any) error

// Statement is a statement that returns nothing.
type Statement struct {
	Query string
	Args  []any
}

// statement returns a statement with its arguments.
func statement(query string, args ...any) Statement { return Statement{query, args} }

// Dialect is what differs between engines.
type Dialect struct {
	// Words are filled into statements:
	//
	//	{texts}, {numbers}   the rows, as j (value), of an argument that is a list
	//	{json}               makes a text before -> or ->> JSON
	//	{bytes}              compares the text before it byte by byte
	//	{max}                the function that returns the greater of two
	//	{tick}, {born}       the next moment of the clock that orders the threads, or the runs, of tenant ?1
	//	{lock}, {share}      keep others from changing the rows until the transaction ends
	//	{lockable}           the kind of join with rows that {lock} locks
	//	{accounts}           the rows, as a (scope, id, n), of arguments ?2 and ?3 that are lists
	Words map[string]string
	// Numbered is set if arguments are written $1, $2.
	Numbered bool
	// Escape makes an id fit for a text column, and Unescape returns what was escaped; nil
	// means that every id fits as it is.
	Escape, Unescape func(id string) string
	// Text returns JSON as a text column holds it.
	Text func(data []byte) string
}

// Translator returns the function that makes a statement the engine's own.
func (d *Dialect) Translator(prefix string) func(query string) string {
	pairs := []string{"{p}", prefix}
	for word, text := range d.Words {
		pairs = append(pairs, "{"+word+"}", strings.ReplaceAll(text, "{p}", prefix))
	}
	words := strings.NewReplacer(pairs...)
	return func(query string) string {
		query = words.Replace(query)
		if d.Numbered {
			query = numbered(query)
		}
		return query
	}
}

// numbered writes ?1 as $1, and the first, second and third ? as $1, $2, $3.
func numbered(query string) string {
	var sb strings.Builder
	for n := 1; ; n++ {
		before, after, found := strings.Cut(query, "?")
		sb.WriteString(before)
		if !found {
			return sb.String()
		}
		sb.WriteByte('$')
		if after == "" || after[0] < '0' || after[0] > '9' {
			sb.WriteString(strconv.Itoa(n))
		}
		query = after
	}
}

// escape returns an id as a text column holds it.
func (d *Dialect) escape(id string) string {
	if d.Escape == nil {
		return id
	}
	return d.Escape(id)
}

// unescape makes ids what they were before escape.
func (d *Dialect) unescape(ids ...*string) {
	if d.Unescape == nil {
		return
	}
	for _, id := range ids {
		*id = d.Unescape(*id)
	}
}

// Encode returns v as JSON text.
func (d *Dialect) Encode(v any) (string, error) {
	data, err := json.Marshal(v)
	if err != nil {
		return "", err
	}
	return d.Text(data), nil
}

// Scope is a tenant of a database.
type Scope struct {
	db     DB
	tenant string // escaped
}

// NewScope returns the scope of a tenant, which is as its columns hold it.
func NewScope(db DB, tenant string) Scope { return Scope{db, tenant} }

// id returns an id as a text column holds it.
func (s *Scope) id(id string) string { return s.db.Dialect().escape(id) }

// Tenant is the ports of a tenant that both engines answer alike: [awaken.ThreadStore],
// [awaken.ThreadEditor], [awaken.UsageReader] and [money.Budget]; [awaken.RunStore] but
// for ledgers; and the parts of [awaken.Inbox] and [mailbox.Store] that read.
type Tenant struct {
	scope  Scope
	engine *Engine
}

// NewTenant returns the ports of a tenant.
func NewTenant(s Scope, engine *Engine) Tenant { return Tenant{s, engine} }

// Engine is what a database does in its own way for the shared ports. Ids are as columns
// hold them.
type Engine struct {
	// Log calls each with the records of t's log behind after, up to and including upTo,
	// in order.
	Log func(ctx context.Context, c Conn, tenant string, t *Thread, after, upTo int, each func(seq int, created int64, m *llm.Message)) error
	// Inherit is the statement that gives thread ?3 the first ?4 messages of thread ?2 of
	// tenant ?1.
	Inherit string
	// LockQueues keeps others from changing the queues of threads until the transaction
	// ends. Nil means that nobody can.
	LockQueues func(ctx context.Context, c Conn, tenant string, ids []string) error
	// LockIdle locks those of the threads on which nothing has happened since before, with
	// their queues, and returns their ids. Those that others have locked are in use. Nil
	// means that there is nothing to lock.
	LockIdle func(ctx context.Context, c Conn, tenant string, before int64, ids []string) ([]string, error)
	// LockBudget is the statement that keeps others from changing the reservation of run ?2
	// of tenant ?1 until the transaction ends; "" if nobody can.
	LockBudget string
	// AddBalances is the statement that makes the balances of {accounts} that are not there,
	// so that they can be locked; "" if they need not be.
	AddBalances string
}

// list returns what each makes of the rows of a query. What says what was read if it
// fails.
func list[T any](ctx context.Context, db DB, what, query string, args []any, each func(scan Scan) (T, error)) (out []T, err error) {
	err = read(ctx, db, what, func(c Conn) error {
		out = nil
		return c.Query(ctx, query, args, func(scan Scan) error {
			v, err := each(scan)
			out = append(out, v)
			return err
		})
	})
	return out, err
}

// collect is list for rows that have a key each.
func collect[K comparable, V any](ctx context.Context, db DB, what, query string, args []any, each func(scan Scan) (K, V, error)) (out map[K]V, err error) {
	err = read(ctx, db, what, func(c Conn) error {
		out = map[K]V{}
		return c.Query(ctx, query, args, func(scan Scan) error {
			k, v, err := each(scan)
			out[k] = v
			return err
		})
	})
	return out, err
}

// read calls f, and says what was read if it fails.
func read(ctx context.Context, db DB, what string, f func(c Conn) error) error {
	if ctx.Err() != nil {
		return context.Cause(ctx)
	}
	if err := db.Read(ctx, f); err != nil {
		return fmt.Errorf("%s: %w", what, err)
	}
	return nil
}

// count returns the number that a query asks for.
func count(ctx context.Context, db DB, what, query string, args []any) (n int, err error) {
	err = read(ctx, db, what, func(c Conn) error {
		_, err := row(ctx, c, query, args, &n)
		return err
	})
	return n, err
}

// row scans one row. It reports false when there is none.
func row(ctx context.Context, c Conn, query string, args []any, dest ...any) (found bool, err error) {
	err = c.Query(ctx, query, args, func(scan Scan) error {
		found = true
		return scan(dest...)
	})
	return found, err
}

// column returns the values of rows of one column.
func column[T any](ctx context.Context, c Conn, query string, args ...any) (out []T, err error) {
	err = c.Query(ctx, query, args, func(scan Scan) error {
		var v T
		err := scan(&v)
		out = append(out, v)
		return err
	})
	return out, err
}
