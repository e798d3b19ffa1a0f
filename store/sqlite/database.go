package sqlite

import (
	"context"
	"database/sql"
	"errors"
	"fmt"
	"net/url"
	"path/filepath"
	"sync/atomic"
	"time"

	"github.com/awaken-go/awaken/store/internal/sqlstore"
)

// busyTimeout is how long SQLite waits for locks of other processes.
const busyTimeout = 5 * time.Second

// database holds the connections to a file: one that writes and several that read.
type database struct {
	path   string
	prefix string
	now    func() time.Time
	sql    *sql.DB
	// translate translates a statement for SQLite.
	translate func(query string) string
	presence  presence
	writer    writer
	// readers holds the idle connections; nil stands for one that is not open yet.
	readers chan *conn
	marks   sqlstore.Marks
	warm    *sqlstore.Warm

	statements, transactions atomic.Int64       // counters for tests
	trace                    func(query string) // for tests; nil for none
	shift                    atomic.Int64       // µs by which tests advance the clock of the queue
}

// dsn returns the data source name of a file, which must exist. It escapes the path, since file
// names may contain characters that are special in a URI.
func dsn(path string) string {
	query := url.Values{"mode": {"rw"}, "_pragma": {fmt.Sprintf("busy_timeout(%d)", busyTimeout.Milliseconds()), "synchronous(FULL)", "foreign_keys(1)"}}
	return (&url.URL{Scheme: "file", Path: filepath.ToSlash(path), RawQuery: query.Encode()}).String()
}

// openReadOnly opens a file read-only.
func openReadOnly(path string) (*sql.DB, error) {
	return sql.Open("sqlite", (&url.URL{Scheme: "file", Path: filepath.ToSlash(path), RawQuery: "mode=ro"}).String())
}

func (db *database) open(ctx context.Context) error {
	if err := create(db.path); err != nil {
		return err
	}
	c, err := db.connect(ctx)
	if err != nil {
		return err
	}
	db.writer.open(c, &db.presence)
	if err := ours(ctx, c); err != nil {
		return err
	}
	if err := c.useWAL(ctx); err != nil {
		return err
	}
	if err := migrate(ctx, c, schema, db.prefix); err != nil {
		return err
	}
	if err := mark(db.path); err != nil {
		return err
	}
	return db.presence.begin(db.path)
}

// connect opens a connection. It must be to the same file as the others.
func (db *database) connect(ctx context.Context) (*conn, error) {
	c, err := db.sql.Conn(ctx)
	if gone := db.presence.now(); gone != nil {
		if err == nil {
			_ = c.Close()
		}
		return nil, gone
	}
	if err != nil {
		return nil, err
	}
	return &conn{db: db, c: c, stmts: map[string]*sql.Stmt{}}, nil
}

// close waits for reads and writes in flight and closes the file.
func (db *database) close() error {
	var errs []error
	var idle []*conn
	for range cap(db.readers) {
		c := <-db.readers
		if idle = append(idle, c); c != nil {
			errs = append(errs, c.close())
		}
	}
	for _, c := range idle {
		db.readers <- c // later reads fail on the closed connection
	}
	db.writer.leading.Lock()
	defer db.writer.leading.Unlock()
	if db.writer.conn != nil {
		errs = append(errs, db.writer.conn.close())
	}
	errs = append(errs, db.sql.Close())
	return errors.Join(errs...)
}

// clock returns the time of the queue.
func (db *database) clock() time.Time {
	return time.Now().Add(time.Duration(db.shift.Load()) * time.Microsecond)
}

// read calls f with a connection in a read transaction: f sees a snapshot of the database.
func (db *database) read(ctx context.Context, f func(c *conn) error) (err error) {
	defer func() { err = classified(err) }()
	if err := db.presence.recent(); err != nil {
		return err
	}
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

// write calls f in a transaction for a tenant, or "", which ctx does not cancel once it has begun. An error of
// the transaction begins with what. Refused is returned as it is; f must have written
// nothing then.
func (db *database) write(ctx context.Context, owner, what string, f func(c *conn) (refused, err error)) error {
	if ctx.Err() != nil {
		return context.Cause(ctx)
	}
	var refused error
	err := db.writer.write(owner, func(c *conn) (err error) {
		refused, err = f(c)
		return err
	})
	if err != nil {
		return fmt.Errorf("%s: %w", what, err)
	}
	return refused
}
