// Package postgres stores threads, runs, their queue, profiles and configuration in
// PostgreSQL 14 or later. Any number of processes may use the same database.
//
//	db, err := postgres.Open(ctx, "postgres://awaken@db.example/awaken", nil)
//	…
//	rt, err := engine.New(engine.Config{Store: db.Store(""), Profile: db.Profile(""), …})
//
// A commit takes one round trip, and its cost does not depend on the length of the thread;
// concurrent commits are grouped. Acquire takes one round trip too. A process keeps the logs
// that it has read, up to 32 MiB, so that it reads only what was appended since.
//
// JSON documents and ids are stored as text. In ids, bytes that PostgreSQL does not accept
// as text are escaped; in JSON, invalid UTF-8 becomes U+FFFD.
package postgres

import (
	"cmp"
	"context"
	"fmt"
	"log/slog"
	"time"

	"github.com/jackc/pgx/v5"
	"github.com/jackc/pgx/v5/pgxpool"

	"github.com/awaken-go/awaken/config"
	"github.com/awaken-go/awaken/mailbox"
	"github.com/awaken-go/awaken/state/profile"
	"github.com/awaken-go/awaken/store/internal/sqlstore"
)

// Options configures a DB. The zero Options, or nil, is ready for use. The
// settings of the pool are part of the URL, as pgxpool documents.
type Options struct {
	// Prefix is the prefix of all table and function names; "" means "awaken". Databases
	// with different prefixes can share a schema.
	Prefix string
	// CommitTimeout limits a commit, which its context does not cancel; 0 means 30 s.
	CommitTimeout time.Duration
	// Lanes is the number of groups of commits that may be in flight at the same time; 0
	// means 4. Commits that arrive while all lanes are in use form the next group.
	Lanes int
	// Ping is how often a connection that listens to notifications is checked, since its other end
	// may have gone without a word; 0 means 30 s.
	Ping time.Duration
	// Now is the clock of profiles and of created or edited threads; nil means time.Now.
	Now func() time.Time
	// Logger reports segments of logs that cannot be read; nil discards.
	Logger *slog.Logger
}

// setDefaults sets the fields that are zero.
func (o *Options) setDefaults() {
	if o.CommitTimeout <= 0 {
		o.CommitTimeout = 30 * time.Second
	}
	if o.Lanes <= 0 {
		o.Lanes = 4
	}
	if o.Ping <= 0 {
		o.Ping = 30 * time.Second
	}
	if o.Now == nil {
		o.Now = time.Now
	}
	o.Logger = cmp.Or(o.Logger, slog.New(slog.DiscardHandler))
}

// DB is a pool of connections and the queue that workers share. It implements
// [mailbox.Queue] and [mailbox.Listener] and is safe for concurrent use.
type DB struct {
	*queue
	*sqlstore.Ports
	database  *database
	commits   *commits
	enqueuer  *enqueuer
	announcer *announcer
	logs      *sqlstore.Logs
	starter   *starter
	finisher  *finisher
	warm      *sqlstore.Warm
	horizon   *horizon
}

var (
	_ mailbox.Queue    = (*DB)(nil)
	_ mailbox.Listener = (*DB)(nil)
)

// Open connects to a database and migrates its schema. It refuses a schema that is newer
// than this program.
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
	d := &database{prefix: prefix, timeout: o.CommitTimeout, ping: o.Ping, now: o.Now, translate: dialect.Translator(prefix),
		unprepared: config.ConnConfig.DefaultQueryExecMode != pgx.QueryExecModeCacheStatement}
	config.ConnConfig.OnPgError = d.noteFull(config.ConnConfig.OnPgError)
	dropPassed(config)
	if d.pool, err = pgxpool.NewWithConfig(ctx, config); err != nil {
		return nil, fmt.Errorf("postgres: %w", err)
	}
	if d.hot, err = hotPool(ctx, config, d); err != nil {
		d.pool.Close()
		return nil, fmt.Errorf("postgres: %w", err)
	}
	if err := migrate(ctx, d.pool, schema, prefix); err != nil {
		d.close()
		return nil, fmt.Errorf("postgres: open database %s: %w", config.ConnConfig.Database, classified(err))
	}
	return newDB(d, o), nil
}

func newDB(d *database, o Options) *DB {
	a, h := newAnnouncer(d), &horizon{db: d}
	return &DB{queue: &queue{db: d, announcer: a}, Ports: sqlstore.NewPorts(d, h.advance), database: d, commits: newCommits(d, o.Lanes),
		enqueuer: newEnqueuer(d), announcer: a, logs: sqlstore.NewLogs(d, o.Logger), starter: newStarter(d), finisher: newFinisher(d), warm: sqlstore.NewWarm(), horizon: h}
}

// Close waits for operations in flight and closes all connections.
func (db *DB) Close() {
	db.stop()
	db.database.close()
}

// stop waits for notifications in flight and closes everything but the pool.
func (db *DB) stop() {
	db.logs.Close()
	db.announcer.close()
	db.queue.pulse.close()
}

// Place returns a name of the server and the database in it. It changes when the database is dumped
// and restored elsewhere, but not when a standby takes over, nor in a physical copy of the server.
func (db *DB) Place(ctx context.Context) (string, error) {
	var server, database string
	if err := db.database.pool.QueryRow(ctx, `SELECT oid::text FROM pg_database WHERE datname = current_database()`).Scan(&database); err != nil {
		return "", fmt.Errorf("postgres: %w", err)
	}
	// A role may not be allowed to ask for it.
	_ = db.database.pool.QueryRow(ctx, `SELECT system_identifier::text FROM pg_control_system()`).Scan(&server)
	return server + "-" + database, nil
}

// Store returns the store of a tenant; "" is the default one.
func (db *DB) Store(tenant string) *Store {
	return &Store{
		ports{sqlstore.NewTenant(sqlstore.NewScope(db.database, escape(tenant)), engine, db.logs)},
		scope{db: db.database, tenant: escape(tenant), commits: db.commits, enqueuer: db.enqueuer, announcer: db.announcer, logs: db.logs,
			starter: db.starter, finisher: db.finisher, warm: db.warm},
	}
}

// Handle returns the store of a tenant, as Store does.
func (db *DB) Handle(tenant string) mailbox.Handle { return db.Store(tenant) }

// Profile returns the profile store of a tenant; "" is the default one.
func (db *DB) Profile(tenant string) profile.Store {
	return sqlstore.NewProfile(db.database, escape(tenant))
}

// Config returns the configuration of the database, which belongs to no tenant. It
// implements [config.Notifier] and [config.Turner].
func (db *DB) Config() config.Store {
	return &configStore{
		Config: sqlstore.Config{DB: db.database, Timeout: db.database.timeout, Notify: `SELECT pg_notify('{p}_config', '')`},
		db:     db.database,
	}
}
