package postgres_test

import (
	"context"
	"errors"
	"fmt"
	"strings"
	"testing"
	"time"

	"github.com/jackc/pgx/v5/pgxpool"

	"github.com/awaken-go/awaken/store/internal/sqlstore"
	"github.com/awaken-go/awaken/store/postgres"
)

func TestOpen_RefusesANewerSchema(t *testing.T) {
	opts := &postgres.Options{Prefix: "newer"}
	openAt(t, shared(), opts).Close()
	if _, err := witness(t).Exec(t.Context(), `INSERT INTO newer_schema VALUES (1000, '1000_future.sql', 'x', 0)`); err != nil {
		t.Fatal(err)
	}
	if _, err := postgres.Open(t.Context(), shared(), opts); err == nil || !strings.Contains(err.Error(), "version 1000") {
		t.Errorf("open: %v", err)
	}
}

// A process of the version before commits while a new one migrates: both succeed, although the commit locks a thread before the
// migration does, and needs the table of runs, which the migration changes, after that.
func TestOpen_MigratesWhileAnOldProcessCommits(t *testing.T) {
	prefix := fmt.Sprintf("test%d", sharedTest.Add(1))
	pool, err := pgxpool.New(t.Context(), shared())
	if err != nil {
		t.Fatal(err)
	}
	defer pool.Close()
	if err := postgres.MigrateWith(t.Context(), pool, prefix, nil); err != nil {
		t.Fatal(err)
	}
	look, old, slow := witness(t), witness(t), witness(t)
	must := func(err error) {
		t.Helper()
		if err != nil {
			t.Fatal(err)
		}
	}
	blocked := func(n int64) bool {
		return number(t, look, fmt.Sprintf(`SELECT count(DISTINCT l.pid) FROM pg_locks l JOIN pg_class c ON c.oid = l.relation
			WHERE NOT l.granted AND c.relname LIKE '%s\_%%'`, prefix)) >= n
	}
	// Another commit makes the migration wait in its middle.
	begin := func(text string) error { _, err := slow.Exec(t.Context(), text); return err }
	must(begin("BEGIN"))
	must(begin(fmt.Sprintf("LOCK TABLE %s_commits IN ROW EXCLUSIVE MODE", prefix)))
	_, err = old.Exec(t.Context(), "BEGIN")
	must(err)
	_, err = old.Exec(t.Context(), "SET LOCAL deadlock_timeout = '10min'") // as if it had waited for long
	must(err)
	_, err = old.Exec(t.Context(), fmt.Sprintf("INSERT INTO %s_threads (tenant, id, created, updated, touched) VALUES ('', 't', 1, 1, 1)", prefix))
	must(err)

	migrated := make(chan error, 1)
	go func() {
		migrated <- postgres.MigrateWith(t.Context(), pool, prefix, map[string]string{"schema/0002_later.sql": `
			ALTER TABLE {p}_commits ADD COLUMN later text;
			ALTER TABLE {p}_runs ADD COLUMN later text;
			ALTER TABLE {p}_threads ADD COLUMN later text;`})
	}()
	for !blocked(1) {
		time.Sleep(10 * time.Millisecond)
	}
	committed := make(chan error, 1)
	go func() {
		_, err := old.Exec(t.Context(), fmt.Sprintf(`INSERT INTO %s_runs (tenant, id, thread, status, born, data, first_seq, last_seq)
			VALUES ('', 'r', 't', 'done', 1, '{}', 1, 1)`, prefix))
		if err == nil {
			_, err = old.Exec(t.Context(), "COMMIT")
		}
		committed <- err
	}()
	for done := false; !done && !blocked(2); {
		select {
		case err := <-committed:
			committed <- err
			done = true
		case <-time.After(10 * time.Millisecond):
		}
	}
	must(begin("COMMIT"))
	if err := <-migrated; err != nil {
		t.Errorf("the migration failed: %v", err)
	}
	if err := <-committed; err != nil {
		t.Errorf("the commit failed: %v", err)
	}
}

// A function is replaced when its file changes, also by one with other arguments, and those of a later release are left alone.
func TestOpen_ReplacesFunctionsByTheirContent(t *testing.T) {
	prefix := fmt.Sprintf("test%d", sharedTest.Add(1))
	pool, err := pgxpool.New(t.Context(), shared())
	if err != nil {
		t.Fatal(err)
	}
	defer pool.Close()
	look := witness(t)
	migrate := func(further map[string]string) {
		t.Helper()
		if err := postgres.MigrateWith(t.Context(), pool, prefix, further); err != nil {
			t.Fatal(err)
		}
	}
	arguments := func() (out string) {
		t.Helper()
		if err := look.QueryRow(t.Context(), `SELECT string_agg(pg_get_function_identity_arguments(oid), '; ' ORDER BY oid) FROM pg_proc WHERE proname = $1`,
			prefix+"_hold").Scan(&out); err != nil {
			t.Fatal(err)
		}
		return out
	}
	migrate(nil)
	before := arguments()
	other := map[string]string{"schema/functions/hold.sql": "CREATE OR REPLACE FUNCTION {p}_hold(p_other text) RETURNS text LANGUAGE sql AS $$ SELECT 'held' $$;"}
	migrate(other)
	if got := arguments(); got != "p_other text" {
		t.Errorf("hold has the arguments %q, want those of its file", got)
	}
	migrate(nil)
	if got := arguments(); got != before {
		t.Errorf("hold has the arguments %q, want %q again", got, before)
	}
	if _, err := look.Exec(t.Context(), fmt.Sprintf("UPDATE %s_functions SET release = release + 1", prefix)); err != nil {
		t.Fatal(err)
	}
	migrate(other)
	if got := arguments(); got != before {
		t.Errorf("hold has the arguments %q, want those of the later release, %q", got, before)
	}
}

// A database of an unreleased version is refused, and nothing in it is changed.
func TestOpen_RefusesAnUnreleasedSchema(t *testing.T) {
	for name, table := range map[string]string{
		"without digests": "CREATE TABLE %[1]s_schema (version bigint PRIMARY KEY, name text NOT NULL, applied bigint NOT NULL); INSERT INTO %[1]s_schema VALUES (1, '0001_init.sql', 0), (2, '0002_mailbox.sql', 0)",
		"another digest":  "CREATE TABLE %[1]s_schema (version bigint PRIMARY KEY, name text NOT NULL, digest text NOT NULL, applied bigint NOT NULL); INSERT INTO %[1]s_schema VALUES (1, '0001_tables.sql', 'other', 0)",
	} {
		t.Run(name, func(t *testing.T) {
			prefix := fmt.Sprintf("test%d", sharedTest.Add(1))
			look := witness(t)
			if _, err := look.PgConn().Exec(t.Context(), fmt.Sprintf(table, prefix)).ReadAll(); err != nil {
				t.Fatal(err)
			}
			_, err := postgres.Open(t.Context(), shared(), &postgres.Options{Prefix: prefix})
			if _, ok := errors.AsType[*sqlstore.OtherSchemaError](err); !ok || !strings.Contains(err.Error(), "awaken threads export ID") {
				t.Errorf("open: %v, want an error that says how to export", err)
			}
			if n := number(t, look, fmt.Sprintf(`SELECT count(*) FROM pg_class WHERE relname LIKE '%s\_%%' AND relkind = 'r'`, prefix)); n != 1 {
				t.Errorf("there are %d tables, want the one that was there", n)
			}
		})
	}
}

// Processes that start at the same time on an empty database make one schema.
func TestOpen_ManyAtOnceCreateOneSchema(t *testing.T) {
	prefix := fmt.Sprintf("test%d", sharedTest.Add(1))
	const processes = 6
	opened := make(chan error, processes)
	for range processes {
		go func() {
			db, err := postgres.Open(context.Background(), shared(), &postgres.Options{Prefix: prefix})
			if err == nil {
				db.Close()
			}
			opened <- err
		}()
	}
	for range processes {
		if err := <-opened; err != nil {
			t.Error(err)
		}
	}
	if n := number(t, witness(t), fmt.Sprintf("SELECT count(*) FROM %s_schema", prefix)); n != 1 {
		t.Errorf("%d scripts were applied, want 1", n)
	}
}
