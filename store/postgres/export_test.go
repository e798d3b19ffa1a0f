package postgres

import (
	"context"

	"github.com/jackc/pgx/v5/pgxpool"

	"github.com/awaken-go/awaken"
)

// OpenConfig opens a database with connections of the test's making.
func OpenConfig(ctx context.Context, config *pgxpool.Config, opts *Options) (*DB, error) {
	return open(ctx, config, opts)
}

// StepCommit is the statement that makes most commits.
func (db *DB) StepCommit() string { return db.database.sql(stepCommit.query) }

// StartCommit is the statement that begins most runs.
func (db *DB) StartCommit() string { return db.database.sql(startCommit.query) }

// EndCommit is the statement that ends most runs.
func (db *DB) EndCommit() string { return db.database.sql(endCommit.query) }

// WithoutShortcuts makes every commit in the long way. It returns db.
func (db *DB) WithoutShortcuts() *DB {
	db.commits.quickly = func(*awaken.Commit) *shortcut { return nil }
	return db
}

// Waiting is how many commits wait for their turn.
func (db *DB) Waiting() int {
	return db.commits.lanes.Waiting()
}
