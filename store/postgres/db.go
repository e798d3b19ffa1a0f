// Package postgres keeps threads, runs and profiles in PostgreSQL, version 14 or
// later. Any number of processes may use the same database.
//
//	db, err := postgres.Open(ctx, "postgres://awaken@db.example/awaken", nil)
//	…
//	rt, err := awaken.New(awaken.Config{Store: db.Store(""), Profile: db.Profile(""), …})
//
// A commit is one round trip, and what it costs does not depend on how long the
// thread is; when many runs commit at the same time, their commits travel together.
// Acquire is one round trip too and reads the thread's whole log, since an owner
// needs the view of it.
//
// What is stored is text: JSON documents, and ids. Bytes that PostgreSQL does not
// take as text are escaped in ids; in JSON, what is not UTF-8 becomes U+FFFD.
package postgres

import (
	"context"
	"errors"
	"fmt"
	"regexp"
	"strings"
	"sync"
	"time"

	"github.com/jackc/pgx/v5"
	"github.com/jackc/pgx/v5/pgconn"
	"github.com/jackc/pgx/v5/pgxpool"

	"github.com/awaken-go/awaken"
)

// Options configures a DB. The zero Options, or nil, is ready for use. The size of
// the pool and the like are part of the URL, as pgxpool describes.
type Options struct {
	// Prefix begins the names of all tables and functions: "awaken" if empty.
	// Databases with different prefixes can share a schema.
	Prefix string
	// CommitTimeout ends a commit whose outcome cannot be learned; 0 means 30 s.
	CommitTimeout time.Duration
	// Lanes is how many groups of commits may be on their way at the same time; 0
	// means 4. Commits that come while all lanes are taken form the next group.
	Lanes int
	// Now is the clock of profiles and of threads that people make or edit; nil means
	// time.Now.
	Now func() time.Time
}

// DB is a pool of connections to a database. It is safe for concurrent use.
type DB struct {
	opts    Options
	pool    *pgxpool.Pool
	commits group
	quickly func(c *awaken.Commit) *shortcut // the shortcut for a commit, or nil
	// enqueues are on their way to the queue.
	enqueues  lanes[*enqueueing]
	announcer announcer
	// unprepared is set if the URL asks to do without prepared statements.
	unprepared bool
	texts      sync.Map // queries with the prefix filled in, by those without
}

var prefixPattern = regexp.MustCompile(`^[a-z][a-z0-9_]{0,29}$`)

// Open connects to a database and brings its schema up to date. It refuses a schema
// that is newer than this program.
func Open(ctx context.Context, url string, opts *Options) (*DB, error) {
	config, err := pgxpool.ParseConfig(url)
	if err != nil {
		return nil, fmt.Errorf("postgres: %w", err) // pgx hides the password
	}
	return open(ctx, config, opts)
}

func open(ctx context.Context, config *pgxpool.Config, opts *Options) (*DB, error) {
	db := &DB{quickly: quickly}
	if opts != nil {
		db.opts = *opts
	}
	o := &db.opts
	if o.Prefix == "" {
		o.Prefix = "awaken"
	}
	if !prefixPattern.MatchString(o.Prefix) {
		return nil, fmt.Errorf("postgres: prefix is %q, want lower case letters, digits and _, at most 30", o.Prefix)
	}
	if o.CommitTimeout <= 0 {
		o.CommitTimeout = 30 * time.Second
	}
	if o.Lanes <= 0 {
		o.Lanes = 4
	}
	if o.Now == nil {
		o.Now = time.Now
	}
	pool, err := pgxpool.NewWithConfig(ctx, config)
	if err != nil {
		return nil, fmt.Errorf("postgres: %w", err)
	}
	db.pool = pool
	db.enqueues.max, db.enqueues.make = enqueueLanes, db.makeEnqueues
	db.unprepared = config.ConnConfig.DefaultQueryExecMode != pgx.QueryExecModeCacheStatement
	if err := migrate(ctx, pool, migrations, o.Prefix); err != nil {
		pool.Close()
		return nil, fmt.Errorf("postgres: open database %s: %w", config.ConnConfig.Database, err)
	}
	return db, nil
}

// Close waits for what is going on and closes all connections.
func (db *DB) Close() {
	db.announcer.close()
	db.pool.Close()
}

// Store returns the store of a tenant; "" is the default one.
func (db *DB) Store(tenant string) *Store { return &Store{db: db, tenant: escape(tenant)} }

// Profile returns the profile store of a tenant; "" is the default one.
func (db *DB) Profile(tenant string) *Profile { return &Profile{db: db, tenant: escape(tenant)} }

// sql fills the prefix into a query.
func (db *DB) sql(query string) string {
	if text, ok := db.texts.Load(query); ok {
		return text.(string)
	}
	text := strings.ReplaceAll(query, "{p}", db.opts.Prefix)
	db.texts.Store(query, text)
	return text
}

// retry calls f, and again if the connection was lost, which must do no harm: what f
// does may have been done already. PostgreSQL asks for the same when transactions got
// in each other's way.
func (db *DB) retry(ctx context.Context, f func() error) error {
	for _, pause := range [...]time.Duration{50 * time.Millisecond, 500 * time.Millisecond} {
		err := f()
		if err == nil || !worthRetry(err) {
			return err
		}
		select {
		case <-ctx.Done():
			return err
		case <-time.After(pause):
		}
	}
	return f()
}

func worthRetry(err error) bool {
	if e, ok := errors.AsType[*pgconn.PgError](err); ok {
		switch e.Code {
		case "40001", "40P01", // serialization failure, deadlock
			"57P01", "57P02", "57P03": // the server shuts down, crashed, starts up
			return true
		}
		return false
	}
	if _, ok := errors.AsType[*pgconn.ConnectError](err); ok || pgconn.SafeToRetry(err) {
		return true
	}
	return lostConnection(err)
}

// transact calls f in a transaction, again if need be.
func (db *DB) transact(ctx context.Context, f func(tx pgx.Tx) error) error {
	return db.retry(ctx, func() error { return pgx.BeginFunc(ctx, db.pool, f) })
}
