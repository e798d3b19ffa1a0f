//go:build unix

package upgradetest

import (
	"bytes"
	"context"
	"database/sql"
	"errors"
	"fmt"
	"os/exec"
	"slices"
	"strings"
	"testing"

	"github.com/jackc/pgx/v5"

	"github.com/awaken-go/awaken/config"
	"github.com/awaken-go/awaken/internal/rigtest"
	"github.com/awaken-go/awaken/internal/testenv"
	"github.com/awaken-go/awaken/mailbox"
	"github.com/awaken-go/awaken/state/profile"
)

// database is an open database.
type database struct {
	queue   mailbox.Queue
	config  config.Store
	profile func(tenant string) profile.Store
	close   func() error
}

// backend is a kind of database. Where is a file or a URL.
type backend struct {
	place func(t *testing.T) (where string)
	open  func(ctx context.Context, where string) (*database, error)
	dump  func(ctx context.Context, where string) (text []byte, err error)
	load  func(ctx context.Context, where string, text []byte) error
	// schema returns the tables, indexes and functions.
	schema func(ctx context.Context, where string) ([]string, error)
}

var engines = map[string]backend{
	"sqlite": {
		place: place(rigtest.SQLite), open: opener(rigtest.SQLite),
		dump: dumpSQLite, load: loadSQLite, schema: schemaSQLite,
	},
	"postgres": {
		place: place(rigtest.Postgres), open: opener(rigtest.Postgres),
		dump: dumpPostgres, load: loadPostgres, schema: schemaPostgres,
	},
}

func place(kind string) func(t *testing.T) string {
	return func(t *testing.T) string { return rigtest.NewStore(t, kind, cluster).Where }
}

func opener(kind string) func(ctx context.Context, where string) (*database, error) {
	return func(ctx context.Context, where string) (*database, error) {
		db, err := rigtest.Store{Kind: kind, Where: where}.Open(ctx)
		if err != nil {
			return nil, err
		}
		return &database{db, db.Config(), db.Profile, db.Close}, nil
	}
}

// cluster is the PostgreSQL server of this test.
var cluster *testenv.Postgres

// connections returns how many connections a PostgreSQL database has, with the one that asks.
func connections(t *testing.T, url string) (n int) {
	t.Helper()
	c, err := pgx.Connect(t.Context(), url)
	if err != nil {
		t.Fatal(err)
	}
	defer c.Close(context.WithoutCancel(t.Context()))
	if err := c.QueryRow(t.Context(), "SELECT count(*) FROM pg_stat_activity WHERE datname = current_database()").Scan(&n); err != nil {
		t.Fatal(err)
	}
	return n
}

func withSQLite(where string, fn func(db *sql.DB) error) error {
	db, err := sql.Open("sqlite", where)
	if err != nil {
		return err
	}
	return errors.Join(fn(db), db.Close())
}

// texts returns the rows of a query with one column.
func texts(ctx context.Context, db *sql.DB, query string, args ...any) (out []string, err error) {
	rows, err := db.QueryContext(ctx, query, args...)
	if err != nil {
		return nil, err
	}
	defer rows.Close()
	for rows.Next() {
		var s string
		if err := rows.Scan(&s); err != nil {
			return nil, err
		}
		out = append(out, s)
	}
	return out, rows.Err()
}

// dumpSQLite writes statements that recreate the database, including row ids.
func dumpSQLite(ctx context.Context, where string) (text []byte, err error) {
	var sb bytes.Buffer
	err = withSQLite(where, func(db *sql.DB) error {
		var id int
		if err := db.QueryRowContext(ctx, "PRAGMA application_id").Scan(&id); err != nil {
			return err
		}
		fmt.Fprintf(&sb, "PRAGMA application_id = %d;\nBEGIN;\n", id)
		tables, err := texts(ctx, db, "SELECT name FROM sqlite_schema WHERE type = 'table' AND name NOT LIKE 'sqlite%' ORDER BY rowid")
		if err != nil {
			return err
		}
		for _, table := range tables {
			if err := dumpTable(ctx, &sb, db, table); err != nil {
				return fmt.Errorf("%s: %w", table, err)
			}
		}
		counters, err := texts(ctx, db, "SELECT 'INSERT INTO sqlite_sequence VALUES (' || quote(name) || ', ' || seq || ');' FROM sqlite_sequence ORDER BY name")
		if err != nil {
			return err
		}
		fmt.Fprintf(&sb, "DELETE FROM sqlite_sequence;\n%s\n", strings.Join(counters, "\n"))
		rest, err := texts(ctx, db, "SELECT sql || ';' FROM sqlite_schema WHERE type <> 'table' AND sql IS NOT NULL ORDER BY rowid")
		fmt.Fprintf(&sb, "%s\nCOMMIT;\n", strings.Join(rest, "\n"))
		return err
	})
	return sb.Bytes(), err
}

func dumpTable(ctx context.Context, sb *bytes.Buffer, db *sql.DB, table string) error {
	var create string
	var bare, numbered int // it has no rowid; a column is its rowid
	err := db.QueryRowContext(ctx, `SELECT sql, (SELECT wr FROM pragma_table_list WHERE name = ?1),
		(SELECT count(*) FILTER (WHERE pk > 0) = 1 AND count(*) FILTER (WHERE pk > 0 AND upper(type) = 'INTEGER') = 1 FROM pragma_table_info(?1))
		FROM sqlite_schema WHERE type = 'table' AND name = ?1`, table).Scan(&create, &bare, &numbered)
	if err != nil {
		return err
	}
	columns, err := texts(ctx, db, "SELECT name FROM pragma_table_info(?) ORDER BY cid", table)
	if err != nil {
		return err
	}
	order := []string{"rowid"}
	switch {
	case bare == 1:
		if order, err = texts(ctx, db, "SELECT name FROM pragma_table_info(?) WHERE pk > 0 ORDER BY pk", table); err != nil {
			return err
		}
	case numbered == 0:
		columns = slices.Insert(columns, 0, "rowid")
	}
	quoted := make([]string, len(columns))
	for i, c := range columns {
		columns[i] = `"` + c + `"`
		quoted[i] = "quote(" + columns[i] + ")"
	}
	rows, err := texts(ctx, db, fmt.Sprintf("SELECT %s FROM %q ORDER BY %s", strings.Join(quoted, " || ', ' || "), table, strings.Join(order, ", ")))
	if err != nil {
		return err
	}
	fmt.Fprintf(sb, "\n%s;\n", create)
	for _, row := range rows {
		fmt.Fprintf(sb, "INSERT INTO %s (%s) VALUES (%s);\n", table, strings.ReplaceAll(strings.Join(columns, ", "), `"`, ""), row)
	}
	return nil
}

func loadSQLite(ctx context.Context, where string, text []byte) error {
	return withSQLite(where, func(db *sql.DB) error {
		db.SetMaxOpenConns(1)
		_, err := db.ExecContext(ctx, string(text))
		return err
	})
}

func schemaSQLite(ctx context.Context, where string) (out []string, err error) {
	err = withSQLite(where, func(db *sql.DB) error {
		out, err = texts(ctx, db, "SELECT sql FROM sqlite_schema WHERE sql IS NOT NULL AND name NOT LIKE 'sqlite%' ORDER BY type, name")
		return err
	})
	return out, err
}

// dumpPostgres writes statements that every supported server accepts in one request: without
// psql commands, and without settings that only some versions know.
func dumpPostgres(ctx context.Context, where string) ([]byte, error) {
	cmd := exec.CommandContext(ctx, "pg_dump", "--inserts", "--no-owner", "--no-privileges", "--no-toast-compression", "--dbname", where)
	var problems bytes.Buffer
	cmd.Stderr = &problems
	text, err := cmd.Output()
	if err != nil {
		return nil, fmt.Errorf("pg_dump: %w\n%s", err, problems.Bytes())
	}
	var sb bytes.Buffer
	sb.WriteString("SET check_function_bodies = false;\nSET standard_conforming_strings = on;\n\n")
	body := false
	for line := range strings.Lines(string(text)) {
		body = body || strings.HasPrefix(line, "CREATE ")
		switch {
		case strings.HasPrefix(line, `\`), strings.HasPrefix(line, "SET default_"):
		case !body && (strings.HasPrefix(line, "SET ") || strings.HasPrefix(line, "SELECT pg_catalog.set_config")):
		default:
			sb.WriteString(line)
		}
	}
	return sb.Bytes(), nil
}

func withPostgres(ctx context.Context, where string, fn func(c *pgx.Conn) error) error {
	c, err := pgx.Connect(ctx, where)
	if err != nil {
		return err
	}
	return errors.Join(fn(c), c.Close(ctx))
}

func loadPostgres(ctx context.Context, where string, text []byte) error {
	return withPostgres(ctx, where, func(c *pgx.Conn) error {
		_, err := c.PgConn().Exec(ctx, string(text)).ReadAll()
		return err
	})
}

func schemaPostgres(ctx context.Context, where string) (out []string, err error) {
	err = withPostgres(ctx, where, func(c *pgx.Conn) error {
		rows, err := c.Query(ctx, `
			SELECT concat_ws(' ', 'column', table_name, ordinal_position, column_name, data_type, collation_name, column_default, is_nullable)
				FROM information_schema.columns WHERE table_schema = 'public'
			UNION ALL SELECT indexdef FROM pg_indexes WHERE schemaname = 'public'
			UNION ALL SELECT concat_ws(' ', 'relation', relname, relkind, reloptions) FROM pg_class WHERE relnamespace = 'public'::regnamespace
			UNION ALL SELECT pg_get_functiondef(oid) FROM pg_proc WHERE pronamespace = 'public'::regnamespace
			ORDER BY 1`)
		if err != nil {
			return err
		}
		out, err = pgx.CollectRows(rows, pgx.RowTo[string])
		return err
	})
	return out, err
}
