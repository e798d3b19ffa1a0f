// Package postgres keeps threads, runs and profiles in PostgreSQL, version 14 or
// later. Any number of processes may use the same database.
//
//	db, err := postgres.Open(ctx, "postgres://awaken@db.example/awaken", nil)
//	…
//	rt, err := engine.New(engine.Config{Store: db.Store(""), Profile: db.Profile(""), …})
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
	"fmt"
	"time"

	"github.com/jackc/pgx/v5"
	"github.com/jackc/pgx/v5/pgxpool"

	"github.com/awaken-go/awaken/config"
	"github.com/awaken-go/awaken/mailbox"
	"github.com/awaken-go/awaken/profile"
	"github.com/awaken-go/awaken/store/internal/sqlstore"
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

// setDefaults fills in what was left out.
func (o *Options) setDefaults() {
	if o.CommitTimeout <= 0 {
		o.CommitTimeout = 30 * time.Second
	}
	if o.Lanes <= 0 {
		o.Lanes = 4
	}
	if o.Now == nil {
		o.Now = time.Now
	}
}

// DB is a pool of connections to a database, and the queue that workers share. It
// implements [mailbox.Queue] and [mailbox.Listener], and is safe for concurrent use.
type DB struct {
	*queue
	database  *database
	commits   *commits
	enqueuer  *enqueuer
	announcer *announcer
}

var (
	_ mailbox.Queue    = (*DB)(nil)
	_ mailbox.Listener = (*DB)(nil)
)

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
	var o Options
	if opts != nil {
		o = *opts
	}
	o.setDefaults()
	prefix, err := sqlstore.Prefix(o.Prefix)
	if err != nil {
		return nil, fmt.Errorf("postgres: %w", err)
	}
	pool, err := pgxpool.NewWithConfig(ctx, config)
	if err != nil {
		return nil, fmt.Errorf("postgres: %w", err)
	}
	if err := migrate(ctx, pool, migrations, prefix); err != nil {
		pool.Close()
		return nil, fmt.Errorf("postgres: open database %s: %w", config.ConnConfig.Database, err)
	}
	d := &database{pool: pool, prefix: prefix, timeout: o.CommitTimeout, now: o.Now, translate: dialect.Translator(prefix),
		unprepared: config.ConnConfig.DefaultQueryExecMode != pgx.QueryExecModeCacheStatement}
	a := &announcer{db: d}
	return &DB{queue: &queue{db: d, announcer: a}, database: d, commits: newCommits(d, o.Lanes), enqueuer: newEnqueuer(d), announcer: a}, nil
}

// Close waits for what is going on and closes all connections.
func (db *DB) Close() {
	db.announcer.close()
	db.database.pool.Close()
}

// Store returns the store of a tenant; "" is the default one.
func (db *DB) Store(tenant string) *Store {
	return &Store{
		ports{sqlstore.NewTenant(sqlstore.NewScope(db.database, escape(tenant)), engine)},
		scope{db: db.database, tenant: escape(tenant), commits: db.commits, enqueuer: db.enqueuer, announcer: db.announcer},
	}
}

// Handle returns the store of a tenant, as Store does.
func (db *DB) Handle(tenant string) mailbox.Handle { return db.Store(tenant) }

// Profile returns the profile store of a tenant; "" is the default one.
func (db *DB) Profile(tenant string) profile.Store {
	return sqlstore.NewProfile(db.database, escape(tenant))
}

// Config returns the configuration of the whole database, which belongs to no tenant. It
// is a [config.Notifier].
func (db *DB) Config() config.Store {
	return &configStore{
		Config: sqlstore.Config{DB: db.database, Timeout: db.database.timeout, Notify: `SELECT pg_notify('{p}_config', '')`},
		db:     db.database,
	}
}
