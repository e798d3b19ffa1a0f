package sqlite

import (
	"context"
	"embed"
	"fmt"
	"io/fs"
	"path"
	"strconv"
	"strings"
	"time"
)

//go:embed migrations/*.sql
var migrations embed.FS

// migrate brings the schema up to date: it applies the files of migrations that were
// not applied before, all or none. They are named by their version and a word, as in
// 0001_init.sql, and versions count from 1 without a gap. There is no way back.
//
// Whoever comes at the same time waits. A schema newer than the files is refused.
func migrate(ctx context.Context, c *conn, files fs.FS, prefix string) error {
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
	have, err := schemaVersion(ctx, c, table)
	if err != nil || have == len(names) {
		return err
	}
	if have > len(names) {
		return newerSchema(table, have, len(names))
	}
	var refused error
	ch := &change{make: func(c *conn) error {
		// Somebody else may have been faster.
		if have, err = schemaVersion(ctx, c, table); err != nil {
			return err
		}
		if have > len(names) {
			refused = newerSchema(table, have, len(names))
			return nil
		}
		if refused = ours(ctx, c); refused != nil {
			return nil
		}
		if _, err := c.c.ExecContext(ctx, fmt.Sprintf("PRAGMA application_id = %d", applicationID)); err != nil {
			return err
		}
		if have == 0 {
			if _, err := c.c.ExecContext(ctx, "CREATE TABLE IF NOT EXISTS "+table+" (version INTEGER PRIMARY KEY, name TEXT NOT NULL, applied INTEGER NOT NULL)"); err != nil {
				return err
			}
		}
		for i := have; i < len(names); i++ {
			script, err := fs.ReadFile(files, names[i])
			if err != nil {
				return err
			}
			if _, err := c.c.ExecContext(ctx, strings.ReplaceAll(string(script), "{p}", prefix)); err != nil {
				return fmt.Errorf("migration %s: %w", names[i], err)
			}
			if _, err := c.c.ExecContext(ctx, "INSERT INTO "+table+" VALUES (?, ?, ?)", i+1, path.Base(names[i]), time.Now().UnixMilli()); err != nil {
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

// applicationID marks our files: "awkn".
const applicationID = 0x61776b6e

// ours returns an error if the file is one of another program: it does not bear our
// mark, and has tables, but none that says which migrations were applied.
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

func newerSchema(table string, have, want int) error {
	return fmt.Errorf("the schema in %s has version %d, this program knows versions up to %d: use a newer program", table, have, want)
}

// schemaVersion is the highest migration that was applied.
func schemaVersion(ctx context.Context, c *conn, table string) (int, error) {
	var n int
	if err := c.c.QueryRowContext(ctx, "SELECT count(*) FROM sqlite_schema WHERE type = 'table' AND name = ?", table).Scan(&n); err != nil || n == 0 {
		return 0, err
	}
	err := c.c.QueryRowContext(ctx, "SELECT coalesce(max(version), 0) FROM "+table).Scan(&n)
	return n, err
}

// atoi is 0 for what is no number.
func atoi(s string) int {
	n, _ := strconv.Atoi(s)
	return n
}
