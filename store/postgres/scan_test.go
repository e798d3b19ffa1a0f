package postgres_test

import (
	"fmt"
	"strings"
	"testing"
	"time"

	"github.com/jackc/pgx/v5"

	"github.com/awaken-go/awaken"
	"github.com/awaken-go/awaken/mailbox"
	"github.com/awaken-go/awaken/store/postgres"
)

// A run reads no table from end to end, however many threads have run before, with statistics and without: PostgreSQL may plan the
// statements of a function before it knows how large the tables get.
func TestRun_ReadsNoTableFromEndToEnd(t *testing.T) {
	look := witness(t)
	for _, analyzed := range []bool{false, true} {
		t.Run(fmt.Sprintf("analyzed=%t", analyzed), func(t *testing.T) {
			prefix := fmt.Sprintf("test%d", sharedTest.Add(1))
			openAt(t, shared(), &postgres.Options{Prefix: prefix}).Close()
			ran(t, look, prefix, 20_000)
			if analyzed {
				for _, table := range []string{"queues", "threads", "runs", "dispatches", "commits"} {
					if _, err := look.Exec(t.Context(), fmt.Sprintf("ANALYZE %s_%s", prefix, table)); err != nil {
						t.Fatal(err)
					}
				}
			}
			db := openAt(t, shared(), &postgres.Options{Prefix: prefix})
			before := scanned(t, look, prefix)
			runAll(t, db)
			db.Close() // its sessions report what they have read when they end
			var after map[string]int64
			for range 100 {
				if after = scanned(t, look, prefix); after["processes"] > before["processes"] { // it has one row, and is read in that way
					break
				}
				time.Sleep(20 * time.Millisecond) // PostgreSQL signals nothing
			}
			for table, n := range after {
				if read := n - before[table]; read > 200 {
					t.Errorf("table %s: 18 runs read %d rows by scans from end to end", table, read)
				}
			}
		})
	}
}

// ran writes the rows of threads that have had a run each.
func ran(t *testing.T, on *pgx.Conn, prefix string, threads int) {
	t.Helper()
	for _, s := range []string{
		`INSERT INTO {p}_threads (tenant, id, created, updated, touched, fence, latest_run, messages, last_seq)
			SELECT '', 'old-' || i, 1, 1, i, 1, 'old-' || i, 2, 9 FROM generate_series(1, {n}) i`,
		`INSERT INTO {p}_queues (tenant, id) SELECT '', 'old-' || i FROM generate_series(1, {n}) i`,
		`INSERT INTO {p}_runs (tenant, id, thread, status, born, data, first_seq, last_seq)
			SELECT '', 'old-' || i, 'old-' || i, 'done', i, '{}', 0, 9 FROM generate_series(1, {n}) i`,
		`INSERT INTO {p}_dispatches (tenant, id, thread, run, status, completed, priority, available, created, updated, epoch, max_attempts, request)
			SELECT '', 'old-' || i, 'old-' || i, 'old-' || i, 'Acked', 1, 128, 1, 1, 1, 0, 1, '{}' FROM generate_series(1, {n}) i`,
	} {
		s = strings.NewReplacer("{p}", prefix, "{n}", fmt.Sprint(threads)).Replace(s)
		if _, err := on.Exec(t.Context(), s); err != nil {
			t.Fatalf("%s: %v", s, err)
		}
	}
}

// scanned returns how many rows of each table sequential scans have read.
func scanned(t *testing.T, on *pgx.Conn, prefix string) map[string]int64 {
	t.Helper()
	rows, err := on.Query(t.Context(), `SELECT pg_stat_clear_snapshot()::text, relname, seq_tup_read FROM pg_stat_user_tables WHERE starts_with(relname, $1 || '_')`, prefix)
	if err != nil {
		t.Fatal(err)
	}
	out := map[string]int64{}
	var table string
	var n int64
	if _, err := pgx.ForEachRow(rows, []any{nil, &table, &n}, func() error {
		out[strings.TrimPrefix(table, prefix+"_")] = n
		return nil
	}); err != nil {
		t.Fatal(err)
	}
	return out
}

// runAll ends 18 runs: accepted and begun in one statement or claimed later, alone or eight together. After each round the worker looks for
// dispatches of lost workers.
func runAll(t *testing.T, q *postgres.DB) {
	t.Helper()
	s := q.Handle("")
	join(t, q, "w")
	worker := mailbox.ClaimRequest{Consumer: "w", Lease: time.Hour, Limit: 8}
	fail := func(err error) {
		t.Helper()
		if err != nil {
			t.Fatal(err)
		}
	}
	for round, start := range []*mailbox.ClaimRequest{nil, &worker, nil, &worker} {
		size := []int{1, 1, 8, 8}[round]
		var ds []*mailbox.Dispatch
		for i := range size {
			id := fmt.Sprintf("new-%d-%d", round, i)
			ds = append(ds, &mailbox.Dispatch{ID: id, ThreadID: id, RunID: id, MaxAttempts: 1, Request: &awaken.RunRequest{ThreadID: id, RunID: id}})
		}
		_, err := s.Enqueue(t.Context(), mailbox.Terms{Start: start}, ds...)
		fail(err)
		if start == nil {
			ds, _, err = q.Claim(t.Context(), worker)
			fail(err)
		}
		for _, d := range ds {
			cp := d.Checkpoint
			if cp == nil {
				cp, _, err = s.Own(t.Context(), d.ThreadID, d.Claim())
				fail(err)
			}
			c := awaken.Commit{ThreadID: d.ThreadID, Fence: cp.Fence, Number: 1, Time: 1, Run: awaken.Run{RunID: d.RunID, ThreadID: d.ThreadID, Status: awaken.RunRunning}}
			fail(s.Commit(t.Context(), &c))
			c.Number, c.Run.Status, c.Run.Termination, c.Run.FinishedAt = 2, awaken.RunDone, awaken.Termination{Type: awaken.NaturalEnd}, 1
			out, err := s.CommitAndSettle(t.Context(), &c, mailbox.Settlement{Claim: d.Claim(), Status: mailbox.Acked}, nil)
			if fail(err); !out.Settled {
				t.Fatal("not settled")
			}
		}
		_, err = q.Reclaim(t.Context(), 100)
		fail(err)
		_, err = q.Renew(t.Context(), time.Hour)
		fail(err)
	}
}
