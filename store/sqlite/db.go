// Package sqlite keeps threads, runs and profiles in one SQLite file.
//
//	db, err := sqlite.Open(ctx, "awaken.db", nil)
//	…
//	rt, err := engine.New(engine.Config{Store: db.Store(""), Profile: db.Profile(""), …})
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
	"path/filepath"
	"strings"
	"time"

	_ "modernc.org/sqlite" // the driver

	"github.com/awaken-go/awaken/config"
	"github.com/awaken-go/awaken/mailbox"
	"github.com/awaken-go/awaken/profile"
	"github.com/awaken-go/awaken/store/internal/sqlstore"
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

// DB is an open file, and the queue that workers share. It implements [mailbox.Queue],
// and is safe for concurrent use.
type DB struct {
	*queue
	database *database
}

var _ mailbox.Queue = (*DB)(nil)

// Open opens the file at path, making it if it is not there, and brings its schema
// up to date. It refuses a schema that is newer than this program, and a file of
// another program, which it leaves as it is.
func Open(ctx context.Context, path string, opts *Options) (*DB, error) {
	var o Options
	if opts != nil {
		o = *opts
	}
	prefix, err := sqlstore.Prefix(o.Prefix)
	if err != nil {
		return nil, fmt.Errorf("sqlite: %w", err)
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
	f := &database{path: abs, prefix: prefix, now: o.Now, sql: pool, translate: dialect.Translator(prefix), readers: make(chan *conn, o.Readers)}
	for range o.Readers {
		f.readers <- nil
	}
	if err := f.open(ctx); err != nil {
		return nil, errors.Join(fmt.Errorf("sqlite: open %s: %w", path, err), f.close())
	}
	return &DB{queue: &queue{f}, database: f}, nil
}

// Close waits for what is going on and closes the file. Nothing works afterwards.
func (db *DB) Close() error { return db.database.close() }

// Store returns the store of a tenant; "" is the default one.
func (db *DB) Store(tenant string) *Store {
	return &Store{ports{sqlstore.NewTenant(sqlstore.NewScope(db.database, tenant), engine)}, scope{db.database, tenant}}
}

// Handle returns the store of a tenant, as Store does.
func (db *DB) Handle(tenant string) mailbox.Handle { return db.Store(tenant) }

// Profile returns the profile store of a tenant; "" is the default one.
func (db *DB) Profile(tenant string) profile.Store {
	return sqlstore.NewProfile(db.database, tenant)
}

// Config returns the configuration of the whole file, which belongs to no tenant.
func (db *DB) Config() config.Store { return &sqlstore.Config{DB: db.database} }
