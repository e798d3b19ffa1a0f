package postgres

import (
	"context"
	"embed"
	"fmt"
	"io/fs"
	"math/rand/v2"
	"strings"
	"time"

	"github.com/jackc/pgx/v5"
	"github.com/jackc/pgx/v5/pgxpool"

	"github.com/awaken-go/awaken/store/internal/sqlstore"
)

//go:embed migrations/*.sql
var migrations embed.FS

// migrate applies the pending migrations, all or none. Concurrent processes wait for each
// other. It refuses a schema that is newer than the scripts. Processes of the version before may write meanwhile.
func migrate(ctx context.Context, pool *pgxpool.Pool, files fs.FS, prefix string) error {
	scripts, err := sqlstore.Scripts(files, prefix)
	if err != nil {
		return err
	}
	table := prefix + "_schema"
	have, err := schemaVersion(ctx, pool, table)
	if err != nil || have == len(scripts) {
		return err
	}
	for range migrateTries - 1 {
		if err = apply(ctx, pool, scripts, prefix); err == nil || !worthRetry(err) {
			return err
		}
		select {
		case <-ctx.Done():
			return err
		case <-time.After(rand.N(200 * time.Millisecond)):
		}
	}
	return apply(ctx, pool, scripts, prefix)
}

// migrateTries is how often a migration is tried that PostgreSQL ends because it and another process wait for each other.
const migrateTries = 10

// lockedFirst are the tables that migrations change and other processes write, in the order in which most transactions use them.
var lockedFirst = []string{"queues", "threads", "dispatches", "runs", "commits", "decisions", "config_head"}

// lockTables locks the tables of lockedFirst that there are. A migration that locked them one by one, between its other work, would hold
// some while it waits for a transaction that waits for these: PostgreSQL would end it after all its work, and again the next time.
func lockTables(ctx context.Context, tx pgx.Tx, prefix string) error {
	var names []string
	for _, t := range lockedFirst {
		name := prefix + "_" + t
		var exists bool
		if err := tx.QueryRow(ctx, "SELECT to_regclass($1) IS NOT NULL", name).Scan(&exists); err != nil {
			return err
		}
		if exists {
			names = append(names, name)
		}
	}
	if len(names) == 0 {
		return nil
	}
	_, err := tx.Exec(ctx, "LOCK TABLE "+strings.Join(names, ", ")+" IN ACCESS EXCLUSIVE MODE")
	return err
}

// apply applies the pending scripts once.
func apply(ctx context.Context, pool *pgxpool.Pool, scripts []sqlstore.Script, prefix string) error {
	table := prefix + "_schema"
	return pgx.BeginFunc(ctx, pool, func(tx pgx.Tx) error {
		if _, err := tx.Exec(ctx, `SELECT pg_advisory_xact_lock(hashtextextended($1, 0))`, "awaken migrations: "+table); err != nil {
			return err
		}
		// Another process may have migrated meanwhile. CREATE TABLE IF NOT EXISTS sees its
		// table; a query of the catalogue may still see the state before the lock.
		if _, err := tx.Exec(ctx, "CREATE TABLE IF NOT EXISTS "+table+" (version bigint PRIMARY KEY, name text NOT NULL, applied bigint NOT NULL)"); err != nil {
			return err
		}
		have, err := schemaVersion(ctx, tx, table)
		if err != nil {
			return err
		}
		pending, err := sqlstore.Pending(scripts, table, have)
		if err != nil {
			return err
		}
		if len(pending) > 0 {
			if err := lockTables(ctx, tx, prefix); err != nil {
				return err
			}
		}
		for _, s := range pending {
			// The simple protocol takes several statements at once.
			if _, err := tx.Conn().PgConn().Exec(ctx, s.Text).ReadAll(); err != nil {
				return fmt.Errorf("migration %s: %w", s.Name, err)
			}
			if _, err := tx.Exec(ctx, "INSERT INTO "+table+" VALUES ($1, $2, $3)", s.Version, s.Name, time.Now().UnixMilli()); err != nil {
				return err
			}
		}
		return nil
	})
}

// schemaVersion returns the version of the last applied migration.
func schemaVersion(ctx context.Context, db interface {
	QueryRow(ctx context.Context, sql string, args ...any) pgx.Row
}, table string) (n int, err error) {
	var exists bool
	if err := db.QueryRow(ctx, "SELECT to_regclass($1) IS NOT NULL", table).Scan(&exists); err != nil || !exists {
		return 0, err
	}
	err = db.QueryRow(ctx, "SELECT coalesce(max(version), 0) FROM "+table).Scan(&n)
	return n, err
}
