package postgres

import (
	"context"

	"github.com/jackc/pgx/v5/pgxpool"
)

// OpenConfig opens a database with connections of the test's making.
func OpenConfig(ctx context.Context, config *pgxpool.Config, opts *Options) (*DB, error) {
	return open(ctx, config, opts)
}

// StepCommit is the statement that makes most commits.
func (db *DB) StepCommit() string { return db.sql(stepCommit) }

// Waiting is how many commits wait for their turn.
func (db *DB) Waiting() int {
	db.commits.mu.Lock()
	defer db.commits.mu.Unlock()
	return len(db.commits.queue)
}
