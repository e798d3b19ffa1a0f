package postgres

import (
	"context"
	"io/fs"
	"testing/fstest"

	"github.com/jackc/pgx/v5/pgxpool"

	"github.com/awaken-go/awaken"
)

// OpenConfig opens a database with a pool configuration.
func OpenConfig(ctx context.Context, config *pgxpool.Config, opts *Options) (*DB, error) {
	return open(ctx, config, opts)
}

// MigrateTo migrates a database to a version.
func MigrateTo(ctx context.Context, pool *pgxpool.Pool, prefix string, version int) error {
	names, err := fs.Glob(migrations, "migrations/*.sql")
	if err != nil {
		return err
	}
	files := fstest.MapFS{}
	for _, name := range names[:version] {
		text, err := migrations.ReadFile(name)
		if err != nil {
			return err
		}
		files[name] = &fstest.MapFile{Data: text}
	}
	return migrate(ctx, pool, files, prefix)
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
