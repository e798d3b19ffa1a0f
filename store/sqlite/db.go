// Package sqlite stores threads, runs, their queue, profiles and configuration in one
// SQLite file.
//
//	db, err := sqlite.Open(ctx, "awaken.db", nil)
//	…
//	rt, err := engine.New(engine.Config{Store: db.Store(""), Profile: db.Profile(""), …})
//
// A commit is one transaction (write-ahead log, full sync); concurrent commits share one.
// The cost of a commit does not depend on the length of the thread. A process
// keeps the logs that it has read, up to 32 MiB, so that Acquire reads only what was appended
// since.
//
// Several processes on one host may use the same file; a write waits up to five seconds
// for the others. Network file systems are not supported. A context does not cancel a
// write that has begun, so its outcome is always known. Reads and writes fail if the file
// was deleted, moved or replaced while it is open.
package sqlite

import (
	"cmp"
	"context"
	"database/sql"
	"errors"
	"fmt"
	"log/slog"
	"path/filepath"
	"strings"
	"time"

	_ "modernc.org/sqlite" // the driver

	"github.com/awaken-go/awaken/config"
	"github.com/awaken-go/awaken/mailbox"
	"github.com/awaken-go/awaken/state/profile"
	"github.com/awaken-go/awaken/store/internal/sqlstore"
)

// Options configures a DB. The zero Options, or nil, is ready for use.
type Options struct {
	// Prefix is the prefix of all table names; "" means "awaken". Databases with
	// different prefixes can share a file.
	Prefix string
	// Readers is the number of concurrent reads; 0 means 4.
	Readers int
	// Now is the clock of profiles and of created or edited threads; nil means time.Now.
	Now func() time.Time
	// Logger reports segments of logs that cannot be read; nil discards.
	Logger *slog.Logger
}

// DB is an open database and the queue that workers share. It implements [mailbox.Queue]
// and is safe for concurrent use.
type DB struct {
	*queue
	*sqlstore.Ports
	database *database
	logs     *sqlstore.Logs
}

var _ mailbox.Queue = (*DB)(nil)

// Open opens the file at path, which it creates if it is missing, readable only by its owner, and
// migrates its schema. It refuses a schema that is newer than this program, and a database of
// another program, which it leaves unchanged. It refuses a file that is missing or empty if
// another file, path and [Marker], says that there was a database.
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
		return nil, fmt.Errorf("sqlite: path is %q, want a file; use store/memory to store in memory", path)
	}
	abs, err := filepath.Abs(path)
	if err != nil {
		return nil, fmt.Errorf("sqlite: %w", err)
	}
	pool, err := sql.Open("sqlite", dsn(abs))
	if err != nil {
		return nil, fmt.Errorf("sqlite: open %s: %w", path, err)
	}
	f := &database{path: abs, prefix: prefix, now: o.Now, sql: pool, translate: dialect.Translator(prefix), warm: sqlstore.NewWarm(), readers: make(chan *conn, o.Readers)}
	for range o.Readers {
		f.readers <- nil
	}
	if err := f.open(ctx); err != nil {
		return nil, errors.Join(fmt.Errorf("sqlite: open %s: %w", path, err), f.close())
	}
	return &DB{queue: &queue{db: f, processes: processes{dir: abs + "-processes"}}, Ports: sqlstore.NewPorts(f, f.lastChange), database: f,
		logs: sqlstore.NewLogs(f, cmp.Or(o.Logger, slog.New(slog.DiscardHandler)))}, nil
}

// Close waits for reads and writes in flight and closes the file. All later calls fail.
func (db *DB) Close() error {
	db.logs.Close()
	return errors.Join(db.queue.processes.close(), db.database.close())
}

// Store returns the store of a tenant; "" is the default one.
func (db *DB) Store(tenant string) *Store {
	return &Store{ports{sqlstore.NewTenant(sqlstore.NewScope(db.database, tenant), engine, db.logs)}, scope{db.database, tenant, db.logs, &db.queue.processes}}
}

// Handle returns the store of a tenant, as Store does.
func (db *DB) Handle(tenant string) mailbox.Handle { return db.Store(tenant) }

// Profile returns the profile store of a tenant; "" is the default one.
func (db *DB) Profile(tenant string) profile.Store {
	return sqlstore.NewProfile(db.database, tenant)
}

// Config returns the configuration of the database, which belongs to no tenant.
func (db *DB) Config() config.Store { return &sqlstore.Config{DB: db.database} }
