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

	"github.com/awaken-go/awaken"
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
	// Query calls each for every row.
	Query(ctx context.Context, query string, args []any, each func(scan func(...any) error) error) error
	// Exec executes statements one after the other, in as few round trips as it can, and
	// returns how many rows the last one changed.
	Exec(ctx context.Context, statements ...Statement) (int64, error)
}

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
	//	{tick}               the next moment of the clock that orders the threads of tenant ?1
	//	{lock}, {share}      keep others from changing the rows until the transaction ends
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

// encode returns v as JSON text.
func (d *Dialect) encode(v any) (string, error) {
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

// row scans one row. It reports false when there is none.
func row(ctx context.Context, c Conn, query string, args []any, dest ...any) (found bool, err error) {
	err = c.Query(ctx, query, args, func(scan func(...any) error) error {
		found = true
		return scan(dest...)
	})
	return found, err
}

// column returns the values of rows of one column.
func column[T any](ctx context.Context, c Conn, query string, args ...any) (out []T, err error) {
	err = c.Query(ctx, query, args, func(scan func(...any) error) error {
		var v T
		err := scan(&v)
		out = append(out, v)
		return err
	})
	return out, err
}

// count returns the number that a query asks for.
func count(ctx context.Context, db DB, query string, args []any) (n int, err error) {
	err = db.Read(ctx, func(c Conn) error {
		_, err := row(ctx, c, query, args, &n)
		return err
	})
	return n, err
}

// page applies the defaults of a paged listing.
func page(offset, limit int) (int, int) {
	if limit <= 0 {
		limit = 50
	}
	return max(offset, 0), limit
}

// NoThread is the error for a thread that is not there.
func NoThread(id string) error { return fmt.Errorf("thread %s: %w", id, awaken.ErrNotFound) }

// NoRun is the error for a run that is not there.
func NoRun(id string) error { return fmt.Errorf("run %s: %w", id, awaken.ErrNotFound) }
