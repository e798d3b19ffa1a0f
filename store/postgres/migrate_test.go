package postgres_test

import (
	"fmt"
	"strings"
	"testing"
	"time"

	"github.com/jackc/pgx/v5/pgxpool"

	"github.com/awaken-go/awaken/store/postgres"
)

func TestOpen_RefusesANewerSchema(t *testing.T) {
	opts := &postgres.Options{Prefix: "newer"}
	openAt(t, shared(), opts).Close()
	if _, err := witness(t).Exec(t.Context(), `INSERT INTO newer_schema VALUES (1000, '1000_future.sql', 0)`); err != nil {
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
	if err := postgres.MigrateTo(t.Context(), pool, prefix, 22); err != nil {
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
		db, err := postgres.Open(t.Context(), shared(), &postgres.Options{Prefix: prefix})
		if err == nil {
			db.Close()
		}
		migrated <- err
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
