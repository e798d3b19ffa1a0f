// Package sqlstore is the part of store/sqlite and store/postgres that is the same for
// both: the ports that both engines answer with the same statements. What the engines do
// differently (commit, acquire, claim) is in their own packages.
//
// A statement is one text for both engines. In it, {p} is the prefix of all names, ? and
// ?1 are arguments, and the other words in braces are those of [Dialect.Words].
//
// An escaped id is one in the form that text columns hold; see [Dialect.Escape].
package sqlstore

import (
	"context"
	"encoding/json"
	"fmt"
	"strconv"
	"strings"
	"time"
)

// DB is a database as the shared ports use it.
type DB interface {
	Dialect() *Dialect
	// Now is the clock of profiles and of created or edited threads.
	Now() time.Time
	// Read calls f with a connection, and again if the connection is lost.
	Read(ctx context.Context, f func(c Conn) error) error
	// Write calls f in a transaction, with the context that its statements use. If f fails
	// the transaction is rolled back, and f may be called again. Refused is the error of a
	// change that is not allowed: f has written nothing, and Write returns it as it is.
	Write(ctx context.Context, f func(ctx context.Context, c Conn) (refused, err error)) error
	// Exec executes a statement and returns how many rows it changed. It may execute it
	// twice if the connection is lost.
	Exec(ctx context.Context, query string, args ...any) (int64, error)
	// ExecOnce is Exec for a statement that must not be executed twice.
	ExecOnce(ctx context.Context, query string, args ...any) (int64, error)
}

// Conn executes statements. Arguments are values that both drivers accept, and []string and
// []int64 for {texts} and {numbers}.
type Conn interface {
	// Query executes the statements of first and then query, in one round trip if the
	// engine can, and calls each for every row of query.
	Query(ctx context.Context, query string, args []any, each func(scan Scan) error, first ...Statement) error
	// Exec executes statements in order, in one round trip if the engine can, and returns
	// how many rows the last one changed.
	Exec(ctx context.Context, statements ...Statement) (int64, error)
}

// Scan scans the columns of a row.
type Scan func(dest ...any) error

// Statement is a statement whose rows, if any, are ignored.
type Statement struct {
	Query string
	Args  []any
}

// statement returns a statement with its arguments.
func statement(query string, args ...any) Statement { return Statement{query, args} }

// Dialect describes the SQL of an engine.
type Dialect struct {
	// Words are substituted in statements:
	//
	//	{texts}, {numbers}   a list argument as rows j (value)
	//	{record}             the column x.record, as JSON that -> and ->> can read whatever text is in it
	//	{bytes}              a collation that compares bytes
	//	{max}                the function that returns the greater of two values
	//	{tick}, {born}       the next value of the clock that orders the threads, or the runs, of tenant ?1
	//	{clock}              the time of the database, Unix ms
	//	{lock}, {share}      a clause that locks the rows until the transaction ends
	//	{keep}               a clause that keeps others from removing the rows until the transaction ends
	//	{lockable}           the kind of join for rows that {lock} locks
	//	{accounts}           the list arguments ?2 and ?3 as rows a (scope, id, n)
	//	{calls}, {commit}    the records of calls in a commit k as a JSON array, and the condition that it is that of a change c
	//	{changed}            the last position in the log of changes
	Words map[string]string
	// Numbered is set if the engine writes arguments as $1, $2.
	Numbered bool
	// Escape turns an id into text that a column can hold, and Unescape reverts it. Nil
	// means that columns hold every id unchanged.
	Escape, Unescape func(id string) string
	// Text turns JSON into text that a column can hold.
	Text func(data []byte) string
}

// Translator returns a function that translates statements for the engine.
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

// numbered rewrites ?1 as $1, and the first, second and third ? as $1, $2, $3.
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

// escape returns an escaped id.
func (d *Dialect) escape(id string) string {
	if d.Escape == nil {
		return id
	}
	return d.Escape(id)
}

// unescape reverts escape in place.
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

// NewScope returns the scope of a tenant, whose name is escaped.
func NewScope(db DB, tenant string) Scope { return Scope{db, tenant} }

// id returns an escaped id.
func (s *Scope) id(id string) string { return s.db.Dialect().escape(id) }

// ids returns escaped ids.
func (s *Scope) ids(ids []string) []string {
	out := make([]string, len(ids))
	for i, id := range ids {
		out[i] = s.id(id)
	}
	return out
}

// Tenant implements the shared ports for one tenant: [awaken.ThreadStore],
// [awaken.ThreadEditor], [awaken.UsageReader] and [money.Budget]; [awaken.RunStore] except
// Calls; and the reading part of [awaken.Inbox] and [mailbox.Store].
type Tenant struct {
	Budget
	Runs
	scope  Scope
	engine *Engine
	logs   *Logs
}

// NewTenant returns the shared ports of a tenant. All tenants of a database share logs.
func NewTenant(s Scope, engine *Engine, logs *Logs) Tenant {
	return Tenant{Budget{s, engine}, Runs{s}, s, engine, logs}
}

// Engine is what the shared ports need from an engine beyond SQL. Ids are escaped.
type Engine struct {
	// Log adds the messages of t after after, up to and including upTo, in order.
	Log func(ctx context.Context, c Conn, tenant string, t *Thread, after, upTo int, to *Tail) error
	// Inherit is the statement that moves the first ?4 messages of thread ?2 of tenant ?1
	// to thread ?3.
	Inherit string
	// LockQueues locks the queues of threads until the transaction ends. Nil means that
	// the transaction is already exclusive.
	LockQueues func(ctx context.Context, c Conn, tenant string, ids []string) error
	// LockIdle locks the threads that are still idle, with their queues, and returns their
	// ids. It skips threads that others have locked. Nil means that the transaction is
	// already exclusive.
	LockIdle func(ctx context.Context, c Conn, tenant string, before int64, ids []string) ([]string, error)
	// LockBudget is the statement that locks the reservation of run ?2 of tenant ?1 until
	// the transaction ends; "" if the transaction is already exclusive.
	LockBudget string
	// AddBalances is the statement that inserts the missing balances of {accounts}, so that
	// they can be locked; "" if they need not be.
	AddBalances string
}

// list returns what each returns for the rows of a query. An error begins with what.
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

// collect is list for rows with a key.
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

// read calls f with a connection. An error begins with what.
func read(ctx context.Context, db DB, what string, f func(c Conn) error) error {
	if ctx.Err() != nil {
		return context.Cause(ctx)
	}
	if err := db.Read(ctx, f); err != nil {
		return fmt.Errorf("%s: %w", what, err)
	}
	return nil
}

// row scans one row. It reports whether there is one.
func row(ctx context.Context, c Conn, query string, args []any, dest ...any) (found bool, err error) {
	err = c.Query(ctx, query, args, func(scan Scan) error {
		found = true
		return scan(dest...)
	})
	return found, err
}

// column returns the values of a query with one column.
func column[T any](ctx context.Context, c Conn, query string, args ...any) (out []T, err error) {
	err = c.Query(ctx, query, args, func(scan Scan) error {
		var v T
		err := scan(&v)
		out = append(out, v)
		return err
	})
	return out, err
}
