package sqlite

import (
	"context"
	"embed"
	"fmt"
	"io/fs"
	"time"

	"github.com/awaken-go/awaken/store/internal/sqlstore"
)

// schema has the scripts of the schema. Until the first release 0001_tables.sql is edited in place; after it, later scripts change what it made.
//
//go:embed schema/*.sql
var schema embed.FS

// migrate applies the pending scripts, all or none. Concurrent processes wait for each
// other. It refuses a schema that is newer than the scripts, and one of another content.
func migrate(ctx context.Context, c *conn, files fs.FS, prefix string) error {
	scripts, err := sqlstore.Scripts(files, prefix)
	if err != nil {
		return err
	}
	table := prefix + "_schema"
	pending, err := lacking(ctx, c, scripts, table)
	if err != nil || len(pending) == 0 {
		return err
	}
	var refused error
	ch := &change{make: func(c *conn) error {
		// Another process may have applied them meanwhile.
		if pending, refused = lacking(ctx, c, scripts, table); refused != nil {
			return nil
		}
		if refused = ours(ctx, c); refused != nil {
			return nil
		}
		if _, err := c.c.ExecContext(ctx, fmt.Sprintf("PRAGMA application_id = %d", applicationID)); err != nil {
			return err
		}
		if len(pending) == len(scripts) {
			if _, err := c.c.ExecContext(ctx, "CREATE TABLE IF NOT EXISTS "+table+" (version INTEGER PRIMARY KEY, name TEXT NOT NULL, digest TEXT NOT NULL, applied INTEGER NOT NULL)"); err != nil {
				return err
			}
		}
		for _, s := range pending {
			if _, err := c.c.ExecContext(ctx, s.Text); err != nil {
				return fmt.Errorf("script %s: %w", s.Name, err)
			}
			if _, err := c.c.ExecContext(ctx, "INSERT INTO "+table+" VALUES (?, ?, ?, ?)", s.Version, s.Name, s.Digest, time.Now().UnixMilli()); err != nil {
				return err
			}
		}
		return nil
	}}
	c.transact([]*change{ch})
	if ch.err != nil {
		return ch.err
	}
	return refused
}

// lacking returns the scripts that are not applied.
func lacking(ctx context.Context, c *conn, scripts []sqlstore.Script, table string) ([]sqlstore.Script, error) {
	have, err := applied(ctx, c, table)
	if err != nil {
		return nil, err
	}
	return sqlstore.Pending(scripts, table, have)
}

// applicationID marks databases of this program: "awkn".
const applicationID = 0x61776b6e

// ours returns an error for a database of another program: it lacks our mark, and has
// tables but no table of applied migrations.
func ours(ctx context.Context, c *conn) error {
	var id, tables, schemas int
	if err := c.c.QueryRowContext(ctx, "PRAGMA application_id").Scan(&id); err != nil {
		return err
	}
	if id == applicationID {
		return nil
	}
	if err := c.c.QueryRowContext(ctx, `SELECT count(*), count(*) FILTER (WHERE name LIKE '%\_schema' ESCAPE '\' AND sql LIKE '%applied INTEGER NOT NULL%')
		FROM sqlite_schema WHERE type = 'table' AND name NOT LIKE 'sqlite\_%' ESCAPE '\'`).Scan(&tables, &schemas); err != nil {
		return err
	}
	if id != 0 || (tables > 0 && schemas == 0) {
		return fmt.Errorf("%s is a database of another program", c.db.path)
	}
	return nil
}

// applied returns the scripts that the database has, by version. The tables of unreleased versions have no digests.
func applied(ctx context.Context, c *conn, table string) (out []sqlstore.Applied, err error) {
	var exists, digests bool
	if err := c.c.QueryRowContext(ctx, "SELECT count(*) > 0, coalesce(max(sql LIKE '%digest TEXT%'), FALSE) FROM sqlite_schema WHERE type = 'table' AND name = ?",
		table).Scan(&exists, &digests); err != nil || !exists {
		return nil, err
	}
	digest := "digest"
	if !digests {
		digest = "''"
	}
	rows, err := c.c.QueryContext(ctx, "SELECT version, name, "+digest+" FROM "+table+" ORDER BY version")
	if err != nil {
		return nil, err
	}
	defer rows.Close()
	for rows.Next() {
		var a sqlstore.Applied
		if err := rows.Scan(&a.Version, &a.Name, &a.Digest); err != nil {
			return nil, err
		}
		out = append(out, a)
	}
	return out, rows.Err()
}
