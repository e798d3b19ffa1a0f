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

// schema has the scripts of the tables, and the functions, each in a file that is named after it. Until the first release 0001_tables.sql is
// edited in place; after it, later scripts change what it made.
//
//go:embed schema/*.sql schema/functions/*.sql
var schema embed.FS

// migrate applies the pending scripts and the functions that differ, all or none. Concurrent processes wait for each
// other. It refuses a schema that is newer than the scripts, and one of another content. Processes of the version before may
// write meanwhile.
func migrate(ctx context.Context, pool *pgxpool.Pool, files fs.FS, prefix string) error {
	m := &migration{prefix: prefix, table: prefix + "_schema"}
	var err error
	if m.scripts, err = sqlstore.Scripts(files, prefix); err != nil {
		return err
	}
	if m.functions, err = functions(files, prefix); err != nil {
		return err
	}
	pending, err := m.pending(ctx, pool)
	if err != nil || pending.none() {
		return err
	}
	for range migrateTries - 1 {
		if err = m.apply(ctx, pool); err == nil || !worthRetry(err) {
			return err
		}
		select {
		case <-ctx.Done():
			return err
		case <-time.After(rand.N(200 * time.Millisecond)):
		}
	}
	return m.apply(ctx, pool)
}

// migration brings a database to the schema of this program.
type migration struct {
	prefix    string
	table     string // of the scripts that were applied
	scripts   []sqlstore.Script
	functions []function
}

// pendingSchema is what a database lacks.
type pendingSchema struct {
	scripts   []sqlstore.Script
	functions []function
}

func (p *pendingSchema) none() bool { return len(p.scripts) == 0 && len(p.functions) == 0 }

// pending returns what the database lacks.
func (m *migration) pending(ctx context.Context, db querier) (out pendingSchema, err error) {
	have, err := m.applied(ctx, db)
	if err != nil {
		return out, err
	}
	if out.scripts, err = sqlstore.Pending(m.scripts, m.table, have); err != nil || len(have) == 0 {
		out.functions = m.functions
		return out, err
	}
	out.functions, err = m.changed(ctx, db)
	return out, err
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

// apply applies what is pending, once.
func (m *migration) apply(ctx context.Context, pool *pgxpool.Pool) error {
	return pgx.BeginFunc(ctx, pool, func(tx pgx.Tx) error {
		if _, err := tx.Exec(ctx, `SELECT pg_advisory_xact_lock(hashtextextended($1, 0))`, "awaken migrations: "+m.table); err != nil {
			return err
		}
		// Another process may have migrated meanwhile. CREATE TABLE IF NOT EXISTS sees its
		// table; a query of the catalogue may still see the state before the lock.
		if _, err := tx.Exec(ctx, "CREATE TABLE IF NOT EXISTS "+m.table+" (version bigint PRIMARY KEY, name text NOT NULL, digest text NOT NULL, applied bigint NOT NULL)"); err != nil {
			return err
		}
		pending, err := m.pending(ctx, tx)
		if err != nil {
			return err
		}
		if len(pending.scripts) > 0 {
			if err := lockTables(ctx, tx, m.prefix); err != nil {
				return err
			}
		}
		for _, s := range pending.scripts {
			if err := runScript(ctx, tx, s); err != nil {
				return err
			}
			if _, err := tx.Exec(ctx, "INSERT INTO "+m.table+" VALUES ($1, $2, $3, $4)", s.Version, s.Name, s.Digest, time.Now().UnixMilli()); err != nil {
				return err
			}
		}
		return m.replace(ctx, tx, pending.functions)
	})
}

// runScript executes the statements of a script. The simple protocol takes several at once.
func runScript(ctx context.Context, tx pgx.Tx, s sqlstore.Script) error {
	if _, err := tx.Conn().PgConn().Exec(ctx, s.Text).ReadAll(); err != nil {
		return fmt.Errorf("script %s: %w", s.Name, err)
	}
	return nil
}

// querier is a connection, a pool or a transaction.
type querier interface {
	Query(ctx context.Context, sql string, args ...any) (pgx.Rows, error)
	QueryRow(ctx context.Context, sql string, args ...any) pgx.Row
}

// applied returns the scripts that the database has, by version. The tables of unreleased versions have no digests.
func (m *migration) applied(ctx context.Context, db querier) ([]sqlstore.Applied, error) {
	var exists, digests bool
	if err := db.QueryRow(ctx, `SELECT c IS NOT NULL, EXISTS (SELECT FROM pg_attribute a WHERE a.attrelid = c AND a.attname = 'digest')
		FROM (SELECT to_regclass($1)) x (c)`, m.table).Scan(&exists, &digests); err != nil || !exists {
		return nil, err
	}
	digest := "digest"
	if !digests {
		digest = "''"
	}
	rows, err := db.Query(ctx, "SELECT version, name, "+digest+" FROM "+m.table+" ORDER BY version")
	if err != nil {
		return nil, err
	}
	return pgx.CollectRows(rows, pgx.RowToStructByPos[sqlstore.Applied])
}
