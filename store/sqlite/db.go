// Package sqlite keeps threads, runs and profiles in one SQLite file.
//
//	db, err := sqlite.Open(ctx, "awaken.db", nil)
//	…
//	rt, err := awaken.New(awaken.Config{Store: db.Store(""), Profile: db.Profile(""), …})
//
// A commit is one transaction on the disk (write-ahead log, full sync); commits that
// come at the same time share one. What a commit costs does not depend on how long
// the thread is. Acquire reads the thread's whole log, since an owner needs the view
// of it.
//
// Several processes on one host may use the same file; each write waits up to five
// seconds for the others. Network file systems are not supported. A write, once
// begun, is not interrupted by its context, so that its outcome is always known.
package sqlite

import (
	"context"
	"database/sql"
	"errors"
	"fmt"
	"net/url"
	"path/filepath"
	"regexp"
	"strings"
	"sync/atomic"
	"time"

	_ "modernc.org/sqlite" // the driver
)

// Options configures a DB. The zero Options, or nil, is ready for use.
type Options struct {
	// Prefix begins the names of all tables: "awaken" if empty. Databases with
	// different prefixes can share a file.
	Prefix string
	// Readers is how many reads may go on at the same time; 0 means 4.
	Readers int
	// Now is the clock of profiles and of threads that people make or edit; nil means
	// time.Now.
	Now func() time.Time
}

// busyTimeout is how long a write waits for other processes.
const busyTimeout = 5 * time.Second

// DB is an open file. It is safe for concurrent use.
type DB struct {
	path   string
	prefix string
	now    func() time.Time
	sql    *sql.DB
	writer writer
	// readers holds the connections that are idle; nil is one yet to be opened.
	readers chan *conn

	statements, transactions atomic.Int64 // so far, for tests
	shift                    atomic.Int64 // µs that the clock of the queue runs ahead, for tests
}

var prefixPattern = regexp.MustCompile(`^[a-z][a-z0-9_]{0,29}$`)

// Open opens the file at path, making it if it is not there, and brings its schema
// up to date. It refuses a schema that is newer than this program, and a file of
// another program, which it leaves as it is.
func Open(ctx context.Context, path string, opts *Options) (*DB, error) {
	var o Options
	if opts != nil {
		o = *opts
	}
	if o.Prefix == "" {
		o.Prefix = "awaken"
	}
	if !prefixPattern.MatchString(o.Prefix) {
		return nil, fmt.Errorf("sqlite: prefix is %q, want lower case letters, digits and _, at most 30", o.Prefix)
	}
	if o.Readers <= 0 {
		o.Readers = 4
	}
	if o.Now == nil {
		o.Now = time.Now
	}
	if path == "" || strings.HasPrefix(path, ":memory:") {
		return nil, fmt.Errorf("sqlite: path is %q, want a file; store/memory keeps things in memory", path)
	}
	abs, err := filepath.Abs(path)
	if err != nil {
		return nil, fmt.Errorf("sqlite: %w", err)
	}
	pool, err := sql.Open("sqlite", dsn(abs))
	if err != nil {
		return nil, fmt.Errorf("sqlite: open %s: %w", path, err)
	}
	db := &DB{path: abs, prefix: o.Prefix, now: o.Now, sql: pool, readers: make(chan *conn, o.Readers)}
	for range o.Readers {
		db.readers <- nil
	}
	if err := db.open(ctx); err != nil {
		return nil, errors.Join(fmt.Errorf("sqlite: open %s: %w", path, err), db.Close())
	}
	return db, nil
}

// dsn names the file and how connections to it behave. The path is escaped, since
// file names may hold whatever a URI gives a meaning to.
func dsn(path string) string {
	pragmas := url.Values{"_pragma": {fmt.Sprintf("busy_timeout(%d)", busyTimeout.Milliseconds()), "synchronous(FULL)", "foreign_keys(1)"}}
	return (&url.URL{Scheme: "file", Path: filepath.ToSlash(path), RawQuery: pragmas.Encode()}).String()
}

// openReadOnly opens a file that is not changed.
func openReadOnly(path string) (*sql.DB, error) {
	return sql.Open("sqlite", (&url.URL{Scheme: "file", Path: filepath.ToSlash(path), RawQuery: "mode=ro"}).String())
}

func (db *DB) open(ctx context.Context) error {
	c, err := db.connect(ctx)
	if err != nil {
		return err
	}
	db.writer.conn = c
	if err := ours(ctx, c); err != nil {
		return err
	}
	if err := c.useWAL(ctx); err != nil {
		return err
	}
	return migrate(ctx, c, migrations, db.prefix)
}

// useWAL switches the file to a write-ahead log. SQLite does not wait for others who
// are just doing the same, so this does.
func (c *conn) useWAL(ctx context.Context) error {
	for deadline := time.Now().Add(busyTimeout); ; {
		var mode string
		err := c.c.QueryRowContext(ctx, "PRAGMA journal_mode = WAL").Scan(&mode)
		switch {
		case err == nil && mode == "wal":
			return nil
		case err == nil:
			return fmt.Errorf("the file system allows no write-ahead log: journal mode is %s", mode)
		case !isBusy(err) || time.Now().After(deadline):
			return fmt.Errorf("write-ahead log: %w", err)
		}
		select {
		case <-ctx.Done():
			return context.Cause(ctx)
		case <-time.After(10 * time.Millisecond):
		}
	}
}

// Close waits for what is going on and closes the file. Nothing works afterwards.
func (db *DB) Close() error {
	var errs []error
	var idle []*conn
	for range cap(db.readers) {
		c := <-db.readers
		if idle = append(idle, c); c != nil {
			errs = append(errs, c.close())
		}
	}
	for _, c := range idle {
		db.readers <- c // whoever still reads finds it closed
	}
	db.writer.leading.Lock()
	defer db.writer.leading.Unlock()
	if db.writer.conn != nil {
		errs = append(errs, db.writer.conn.close())
	}
	errs = append(errs, db.sql.Close())
	return errors.Join(errs...)
}

// Store returns the store of a tenant; "" is the default one.
func (db *DB) Store(tenant string) *Store { return &Store{db: db, tenant: tenant} }

// Profile returns the profile store of a tenant; "" is the default one.
func (db *DB) Profile(tenant string) *Profile { return &Profile{db: db, tenant: tenant} }
