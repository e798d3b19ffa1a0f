package sqlite

import (
	"context"
	"database/sql"
	"errors"
	"fmt"
	"slices"
	"strings"
	"sync"

	driver "modernc.org/sqlite"
	lib "modernc.org/sqlite/lib"
)

// conn is a connection to the file with its prepared statements. One goroutine at a
// time uses it.
type conn struct {
	db    *DB
	c     *sql.Conn
	stmts map[string]*sql.Stmt // by their text, before {p} is replaced

	latest     string // run of the last commit
	lastMoment int64  // unix µs; the highest that was given out
}

func (db *DB) connect(ctx context.Context) (*conn, error) {
	c, err := db.sql.Conn(ctx)
	if err != nil {
		return nil, err
	}
	return &conn{db: db, c: c, stmts: map[string]*sql.Stmt{}}, nil
}

// close closes the connection. Closing it again does nothing.
func (c *conn) close() error {
	for query, s := range c.stmts { // they hold files open
		_ = s.Close()
		delete(c.stmts, query)
	}
	if err := c.c.Close(); err != nil && !errors.Is(err, sql.ErrConnDone) {
		return err
	}
	return nil
}

// stmt returns a prepared statement.
func (c *conn) stmt(query string) (*sql.Stmt, error) {
	c.db.statements.Add(1)
	if s := c.stmts[query]; s != nil {
		return s, nil
	}
	s, err := c.c.PrepareContext(context.Background(), strings.ReplaceAll(query, "{p}", c.db.prefix))
	if err != nil {
		return nil, err
	}
	c.stmts[query] = s
	return s, nil
}

// exec executes a statement and returns how many rows it changed.
func (c *conn) exec(query string, args ...any) (int64, error) {
	s, err := c.stmt(query)
	if err != nil {
		return 0, err
	}
	res, err := s.ExecContext(context.Background(), args...)
	if err != nil {
		return 0, err
	}
	return res.RowsAffected()
}

// query calls each for every row; each may stop it with errStop.
func (c *conn) query(ctx context.Context, query string, args []any, each func(scan func(...any) error) error) error {
	s, err := c.stmt(query)
	if err != nil {
		return err
	}
	rows, err := s.QueryContext(ctx, args...)
	if err != nil {
		return err
	}
	for rows.Next() {
		if err := each(rows.Scan); err != nil {
			rows.Close()
			if errors.Is(err, errStop) {
				return nil
			}
			return err
		}
	}
	return rows.Err() // rows.Next has closed them
}

var errStop = errors.New("stop")

// row scans one row. It reports false when there is none.
func (c *conn) row(ctx context.Context, query string, args []any, dest ...any) (bool, error) {
	found := false
	err := c.query(ctx, query, args, func(scan func(...any) error) error {
		found = true
		if err := scan(dest...); err != nil {
			return err
		}
		return errStop
	})
	return found, err
}

// read calls f with a connection that sees the database as it is now, whatever is
// written meanwhile.
func (db *DB) read(ctx context.Context, f func(c *conn) error) (err error) {
	var c *conn
	select {
	case c = <-db.readers:
	case <-ctx.Done():
		return context.Cause(ctx)
	}
	if c == nil {
		if c, err = db.connect(ctx); err == nil {
			_, err = c.exec("PRAGMA query_only = 1")
		}
		if err != nil {
			db.readers <- nil
			return err
		}
	}
	defer func() { db.readers <- c }()
	if _, err := c.exec("BEGIN"); err != nil {
		return err
	}
	defer func() {
		if _, endErr := c.exec("ROLLBACK"); err == nil {
			err = endErr
		}
	}()
	return f(c)
}

// writer makes changes, one transaction at a time. Changes that arrive while one is
// written are collected and share the next: whoever is first in line writes for all.
type writer struct {
	leading sync.Mutex // held by whoever uses conn
	conn    *conn

	mu    sync.Mutex
	busy  bool // somebody leads
	queue []*change
}

// change is one member of a transaction. It must write nothing if it is refused, and
// can be made again after a rollback.
type change struct {
	make func(c *conn) error
	err  error
	// told gets the group that this one is to write, being its first member; or
	// nothing, once another has written it.
	told chan []*change
}

// maxGroup is how many changes share a transaction at most.
const maxGroup = 64

// write calls f inside a transaction and returns its error. If f fails, nothing of it
// is kept. A refusal is not a failure: f writes nothing, remembers why, and returns
// nil, so that the other members need not be made again.
func (db *DB) write(f func(c *conn) error) error {
	w := &db.writer
	ch := &change{make: f, told: make(chan []*change, 1)}
	group := []*change{ch}
	w.mu.Lock()
	if !w.busy {
		w.busy = true
		w.mu.Unlock()
	} else {
		w.queue = append(w.queue, ch)
		w.mu.Unlock()
		if group = <-ch.told; group == nil {
			return ch.err
		}
	}
	w.leading.Lock()
	w.conn.transact(group)
	w.leading.Unlock()
	w.next()
	for _, other := range group[1:] {
		other.told <- nil
	}
	return ch.err
}

// next leaves the connection to those who wait, if any.
func (w *writer) next() {
	w.mu.Lock()
	defer w.mu.Unlock()
	if len(w.queue) == 0 {
		w.busy = false
		return
	}
	n := min(len(w.queue), maxGroup)
	group := slices.Clone(w.queue[:n])
	w.queue = slices.Delete(w.queue, 0, n)
	group[0].told <- group
}

// transact makes a group of changes in one transaction. If one of them fails, each is
// made in a transaction of its own.
func (c *conn) transact(group []*change) {
	if err := c.transactAll(group); err != nil {
		if len(group) == 1 {
			group[0].err = err
			return
		}
		for i := range group {
			c.transact(group[i : i+1])
		}
	}
}

func (c *conn) transactAll(group []*change) (err error) {
	if _, err := c.exec("BEGIN IMMEDIATE"); err != nil {
		return err
	}
	done := false
	defer func() {
		if !done { // an error or a panic
			_, rollbackErr := c.exec("ROLLBACK")
			err = errors.Join(err, rollbackErr)
		}
	}()
	for _, ch := range group {
		if err := ch.make(c); err != nil {
			return err
		}
	}
	if _, err := c.exec("COMMIT"); err != nil {
		return fmt.Errorf("commit: %w", err)
	}
	done = true
	c.db.transactions.Add(1)
	return nil
}

// isBusy reports whether another process was in the way.
func isBusy(err error) bool {
	e, ok := errors.AsType[*driver.Error](err)
	return ok && e.Code()&0xff == lib.SQLITE_BUSY
}
