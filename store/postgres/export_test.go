package postgres

import (
	"context"
	"io/fs"
	"testing/fstest"
	"time"

	"github.com/jackc/pgx/v5/pgxpool"

	"github.com/awaken-go/awaken"
)

// OpenConfig opens a database with a pool configuration.
func OpenConfig(ctx context.Context, config *pgxpool.Config, opts *Options) (*DB, error) {
	return open(ctx, config, opts)
}

// MigrateWith migrates a database to the schema with further scripts and functions, which replace those of the same names.
func MigrateWith(ctx context.Context, pool *pgxpool.Pool, prefix string, further map[string]string) error {
	files := fstest.MapFS{}
	err := fs.WalkDir(schema, ".", func(name string, d fs.DirEntry, err error) error {
		if err != nil || d.IsDir() {
			return err
		}
		text, err := schema.ReadFile(name)
		files[name] = &fstest.MapFile{Data: text}
		return err
	})
	if err != nil {
		return err
	}
	for name, text := range further {
		files[name] = &fstest.MapFile{Data: []byte(text)}
	}
	return migrate(ctx, pool, files, prefix)
}

// Rest is Close without closing the connections, for [DB.Again]. It reports whether they are open and not in use after a while.
func (db *DB) Rest() bool {
	db.stop()
	for deadline := time.Now().Add(10 * time.Second); db.database.pool.Stat().AcquiredConns() > 0; time.Sleep(time.Millisecond) {
		if time.Now().After(deadline) {
			return false
		}
	}
	return db.database.pool.Ping(context.Background()) == nil
}

// Again returns a DB that uses the connections of one that rests, with a clock.
func (db *DB) Again(now func() time.Time) *DB {
	o := Options{Now: now}
	o.setDefaults()
	d := &database{pool: db.database.pool, hot: db.database.hot, prefix: db.database.prefix, timeout: o.CommitTimeout, ping: o.Ping, now: o.Now, translate: db.database.translate}
	db.database.texts.Range(func(query, text any) bool { d.texts.Store(query, text); return true })
	return newDB(d, o)
}

// StepCommit returns the statement of most commits.
func (db *DB) StepCommit() string { return db.database.sql(stepCommit.query) }

// StartCommit returns the statement that begins most runs.
func (db *DB) StartCommit() string { return db.database.sql(startCommit.query) }

// EndCommit returns the statement that ends most runs.
func (db *DB) EndCommit() string { return db.database.sql(endCommit.query) }

// WithoutShortcuts makes every commit call the SQL function. It returns db.
func (db *DB) WithoutShortcuts() *DB {
	db.commits.quickly = func(*awaken.Commit) *shortcut { return nil }
	return db
}

// Waiting returns the number of waiting commits.
func (db *DB) Waiting() int {
	return db.commits.lanes.Waiting()
}

// AgeHorizon lets the horizon remember IDs of transactions that are higher by so many, as after another log.
func (db *DB) AgeHorizon(by uint64) {
	h := db.horizon
	h.mu.Lock()
	defer h.mu.Unlock()
	h.running += by
	h.marks = append(h.marks, mark{h.last + 1, h.running})
}
