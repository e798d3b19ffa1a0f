package postgres_test

import (
	"context"
	"fmt"
	"strings"
	"testing"
	"time"

	"github.com/jackc/pgx/v5"

	"github.com/awaken-go/awaken/internal/testenv"
	"github.com/awaken-go/awaken/server/servertest"
	"github.com/awaken-go/awaken/store/postgres"
)

// What a request with a one-turn run makes PostgreSQL do, from its body to the end of its stream: the statements inside of functions, the
// bytes of its log, and the rows that are read and written. Today's figures are upper bounds, to be lowered; -v prints them for each
// statement and each table. What workers do on their own is part of the means. The answer has 640 bytes, and the server logs no full pages.
func TestRequest_RowsOfARun(t *testing.T) {
	pg, err := testenv.StartPostgres("shared_preload_libraries=pg_stat_statements", "pg_stat_statements.track=all",
		"pg_stat_statements.track_utility=off")
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = pg.Stop() })
	for _, test := range []struct {
		name string
		run  func(srv *servertest.Server, n int)
		most rowsOfARun
	}{
		{"on new threads", func(srv *servertest.Server, n int) { srv.Run(fmt.Sprint("new-", n)) }, rowsOfARun{8, 13_500, 20, 15}},
		{"on one thread", func(srv *servertest.Server, _ int) { srv.Run("same") }, rowsOfARun{8, 13_500, 20, 15}},
	} {
		t.Run(test.name, func(t *testing.T) {
			url := pg.Database()
			look, err := pgx.Connect(t.Context(), url)
			if err != nil {
				t.Fatal(err)
			}
			defer look.Close(context.Background())
			if _, err := look.Exec(t.Context(), "CREATE EXTENSION pg_stat_statements"); err != nil {
				t.Fatal(err)
			}
			got := countRows(t, look, url, test.run)
			t.Logf("a run: %s", got)
			testenv.Attributes(t, map[string]float64{"nested-statements": got.nested, "log-bytes": got.log,
				"rows-read": got.read, "rows-written": got.written})
			if got.nested > test.most.nested || got.log > test.most.log || got.read > test.most.read || got.written > test.most.written {
				t.Errorf("a run takes %s, want at most %s", got, test.most)
			}
		})
	}
}

// rowsOfARun is the mean of what runs make a server do.
type rowsOfARun struct {
	nested        float64 // statements inside of functions
	log           float64 // bytes
	read, written float64 // rows of tables
}

func (r rowsOfARun) String() string {
	return fmt.Sprintf("%.1f nested statements, %.0f bytes of log, %.1f rows read and %.1f written", r.nested, r.log, r.read, r.written)
}

// countRows starts a server on a database that look observes, and lets it make runs.
func countRows(t *testing.T, look *pgx.Conn, url string, run func(srv *servertest.Server, n int)) (out rowsOfARun) {
	t.Helper()
	const warm, runs = 30, 50
	openAt(t, url, nil).Close() // makes the tables
	before := rowsOfTables(t, look)
	t.Run("runs", func(t *testing.T) {
		db := openAt(t, url, &postgres.Options{})
		srv := servertest.Start(t, db)
		for n := range warm {
			run(srv, n) // prepares the statements on every connection
		}
		quiet()
		if _, err := look.Exec(t.Context(), "SELECT pg_stat_statements_reset()"); err != nil {
			t.Fatal(err)
		}
		log := number(t, look, walBytes)
		for n := range runs {
			run(srv, warm+n)
		}
		quiet()
		out.log = float64(number(t, look, walBytes)-log) / runs
		out.nested = nestedStatements(t, look, runs)
	})
	for table, rows := range rowsOfTables(t, look) {
		read, written := float64(rows[0]-before[table][0])/(warm+runs), float64(rows[1]-before[table][1])/(warm+runs)
		if read+written > 0.1 {
			t.Logf("%-26s %5.1f rows read %5.1f written", table, read, written)
		}
		out.read, out.written = out.read+read, out.written+written
	}
	return out
}

// nestedStatements returns how many statements functions have executed for each of so many runs, and logs all statements.
func nestedStatements(t *testing.T, look *pgx.Conn, runs float64) (nested float64) {
	t.Helper()
	rows, err := look.Query(t.Context(), `SELECT toplevel, calls, wal_bytes::bigint, query FROM pg_stat_statements
		WHERE dbid = (SELECT oid FROM pg_database WHERE datname = current_database())
			AND query NOT LIKE '%pg_stat_statements%' AND query NOT LIKE '%pg_current_wal%'
		ORDER BY toplevel DESC, calls DESC, query`)
	if err != nil {
		t.Fatal(err)
	}
	var list strings.Builder
	var top bool
	var calls, bytes int64
	var query string
	if _, err := pgx.ForEachRow(rows, []any{&top, &calls, &bytes, &query}, func() error {
		level := "client"
		if !top {
			level, nested = "nested", nested+float64(calls)/runs
		}
		query = strings.Join(strings.Fields(query), " ")
		fmt.Fprintf(&list, "%s %5.2f calls %6.0f bytes of log: %.110s\n", level, float64(calls)/runs, float64(bytes)/runs, query)
		return nil
	}); err != nil {
		t.Fatal(err)
	}
	t.Logf("for each run:\n%s", list.String())
	return nested
}

// rowsOfTables returns how many rows of each table were read and written. It waits until all sessions have ended but its own, since they
// report when they end.
func rowsOfTables(t *testing.T, look *pgx.Conn) map[string][2]int64 {
	t.Helper()
	const others = `SELECT count(*) FROM pg_stat_activity WHERE datname = current_database() AND pid <> pg_backend_pid()`
	for deadline := time.Now().Add(time.Minute); number(t, look, others) > 0; {
		if time.Now().After(deadline) {
			t.Fatal("other sessions do not end")
		}
		time.Sleep(5 * time.Millisecond) // PostgreSQL signals nothing
	}
	rows, err := look.Query(t.Context(), `SELECT relname, seq_tup_read + coalesce(idx_tup_fetch, 0), n_tup_ins + n_tup_upd + n_tup_del
		FROM pg_stat_user_tables`)
	if err != nil {
		t.Fatal(err)
	}
	out := map[string][2]int64{}
	var table string
	var read, written int64
	if _, err := pgx.ForEachRow(rows, []any{&table, &read, &written}, func() error {
		out[table] = [2]int64{read, written}
		return nil
	}); err != nil {
		t.Fatal(err)
	}
	return out
}
