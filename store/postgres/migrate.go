package postgres

import (
	"context"
	"embed"
	"fmt"
	"io/fs"
	"path"
	"strconv"
	"strings"
	"time"

	"github.com/jackc/pgx/v5"
	"github.com/jackc/pgx/v5/pgxpool"
)

//go:embed migrations/*.sql
var migrations embed.FS

// migrate brings the schema up to date: it applies the files of migrations that were
// not applied before, all or none. They are named by their version and a word, as in
// 0001_init.sql, and versions count from 1 without a gap. There is no way back.
//
// Whoever comes at the same time waits. A schema newer than the files is refused.
func migrate(ctx context.Context, pool *pgxpool.Pool, files fs.FS, prefix string) error {
	names, err := fs.Glob(files, "migrations/*.sql") // sorted
	if err != nil {
		return err
	}
	for i, name := range names {
		if version, _, _ := strings.Cut(path.Base(name), "_"); atoi(version) != i+1 {
			return fmt.Errorf("migration %s: want version %d", name, i+1)
		}
	}
	table := prefix + "_schema"
	have, err := schemaVersion(ctx, pool, table)
	if err != nil || have == len(names) {
		return err
	}
	return pgx.BeginFunc(ctx, pool, func(tx pgx.Tx) error {
		if _, err := tx.Exec(ctx, `SELECT pg_advisory_xact_lock(hashtextextended($1, 0))`, "awaken migrations: "+table); err != nil {
			return err
		}
		// Somebody else may have been faster. Making the table, if it is not there, is what
		// shows it: a look at the catalogue alone may show how it was before the lock.
		if _, err := tx.Exec(ctx, "CREATE TABLE IF NOT EXISTS "+table+" (version bigint PRIMARY KEY, name text NOT NULL, applied bigint NOT NULL)"); err != nil {
			return err
		}
		have, err := schemaVersion(ctx, tx, table)
		if err != nil {
			return err
		}
		if have > len(names) {
			return fmt.Errorf("the schema in %s has version %d, this program knows versions up to %d: use a newer program", table, have, len(names))
		}
		for i := have; i < len(names); i++ {
			script, err := fs.ReadFile(files, names[i])
			if err != nil {
				return err
			}
			// The simple protocol takes several statements at once.
			if _, err := tx.Conn().PgConn().Exec(ctx, strings.ReplaceAll(string(script), "{p}", prefix)).ReadAll(); err != nil {
				return fmt.Errorf("migration %s: %w", names[i], err)
			}
			if _, err := tx.Exec(ctx, "INSERT INTO "+table+" VALUES ($1, $2, $3)", i+1, path.Base(names[i]), time.Now().UnixMilli()); err != nil {
				return err
			}
		}
		return nil
	})
}

// schemaVersion is the highest migration that was applied.
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

// atoi is 0 for what is no number.
func atoi(s string) int {
	n, _ := strconv.Atoi(s)
	return n
}
