package sqlite_test

import (
	"context"
	"database/sql"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/awaken-go/awaken"
	"github.com/awaken-go/awaken/llm"
	"github.com/awaken-go/awaken/mailbox"
	"github.com/awaken-go/awaken/store/sqlite"
	"github.com/awaken-go/awaken/store/storetest"
)

// openFile opens a database and returns its path.
func openFile(t testing.TB) (*sqlite.DB, string) {
	t.Helper()
	path := filepath.Join(t.TempDir(), "awaken.db")
	db, err := sqlite.Open(t.Context(), path, nil)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		if err := db.Close(); err != nil {
			t.Error(err)
		}
	})
	return db, path
}

// Ten steps with a read-only tool and an answer are twelve commits. Each is one transaction,
// and acquiring the thread is another. A pipelined run makes fewer commits.
func TestCommit_IsOneTransaction(t *testing.T) {
	db, _ := openFile(t)
	run := storetest.BenchRun(t, storetest.Waited{Store: db.Store("")})
	run()
	statements, transactions := db.Used()
	run()
	statements2, transactions2 := db.Used()
	if got := transactions2 - transactions; got != 1+storetest.BenchSteps+2 {
		t.Errorf("the run made %d transactions, want %d", got, 1+storetest.BenchSteps+2)
	}
	// Statements of a step: begin, thread, row, commit. The first, second and last commit of
	// a run take a few more.
	if got := statements2 - statements; got > 4*(1+storetest.BenchSteps+2)+8 {
		t.Errorf("the run took %d statements", got)
	}
	storetest.BenchRun(t, db.Store(""))()
	if _, got := db.Used(); got-transactions2 > 1+storetest.BenchSteps+2 || got-transactions2 < 4 {
		t.Errorf("the pipelined run made %d transactions, want 4 to %d", got-transactions2, 1+storetest.BenchSteps+2)
	}
}

// A step with a tool of the default effect takes two commits, the intent's and the result's.
func TestCommit_EffectfulStepsTakeTwo(t *testing.T) {
	db, _ := openFile(t)
	run := storetest.EffectfulRun(t, db.Store(""))
	run()
	_, before := db.Used()
	run()
	const most = 1 + 2*storetest.BenchSteps + 2
	if _, after := db.Used(); after-before > most {
		t.Errorf("the run made %d transactions, want at most %d", after-before, most)
	}
}

// The transactions of a run of ten steps, with its start and its end, write on average at most so many pages.
func TestCommit_PagesOfTheLog(t *testing.T) {
	const runs = 20
	db, path := openFile(t)
	if err := errors.Join(db.Pragma("synchronous = OFF"), db.Pragma("wal_autocheckpoint = 0")); err != nil {
		t.Fatal(err)
	}
	for _, test := range []struct {
		name string
		run  func()
		most float64
	}{
		{"read-only", storetest.BenchRun(t, storetest.Waited{Store: db.Store("")}), 5.25},
		{"effectful", storetest.EffectfulRun(t, storetest.Waited{Store: db.Store("")}), 4.55},
	} {
		test.run()
		before, made := stat(t, path+"-wal"), transactions(db)
		for range runs {
			test.run()
		}
		each := float64(stat(t, path+"-wal")-before) / (24 + 4096) / float64(transactions(db)-made)
		t.Logf("%s: %.2f pages for each transaction", test.name, each)
		if each > test.most {
			t.Errorf("%s: a transaction writes %.2f pages, want at most %v", test.name, each, test.most)
		}
	}
}

func stat(t *testing.T, path string) int64 {
	t.Helper()
	info, err := os.Stat(path)
	if err != nil {
		t.Fatal(err)
	}
	return info.Size()
}

func transactions(db *sqlite.DB) int64 {
	_, n := db.Used()
	return n
}

// Rows are found by the right index, although SQLite planned when the tables were empty.
func TestCommits_AreFoundByTheRightIndex(t *testing.T) {
	_, path := openFile(t)
	look, err := sql.Open("sqlite", "file:"+path)
	if err != nil {
		t.Fatal(err)
	}
	defer look.Close()
	plan := plan(t, look, strings.ReplaceAll(sqlite.CommitsAfter, "{p}", "awaken"), "", "t", 100)
	want := []string{"SEARCH awaken_commits USING INDEX awaken_commits_last (tenant=? AND thread=? AND last>?)", "SCALAR SUBQUERY 1",
		"SEARCH s USING INDEX awaken_commits_upto (tenant=? AND thread=? AND upto<?)"}
	if !slices.Equal(plan, want) {
		t.Errorf("the plan is %q, want %q", plan, want)
	}
}

// plan returns how SQLite executes a query.
func plan(t *testing.T, db *sql.DB, query string, args ...any) (out []string) {
	t.Helper()
	rows, err := db.Query("EXPLAIN QUERY PLAN "+query, args...)
	if err != nil {
		t.Fatal(err)
	}
	for rows.Next() {
		var id, parent, unused int
		var detail string
		if err := rows.Scan(&id, &parent, &unused, &detail); err != nil {
			t.Fatal(err)
		}
		out = append(out, detail)
	}
	if err := rows.Err(); err != nil {
		t.Fatal(err)
	}
	return out
}

// The cost of a commit does not depend on the length of the thread.
func TestCommit_CostsTheSameOnALongThread(t *testing.T) {
	db, path := openFile(t)
	pragma := func(text string) {
		t.Helper()
		if err := db.Pragma(text); err != nil {
			t.Fatal(err)
		}
	}
	pragma("synchronous = OFF")
	pragma("wal_autocheckpoint = 0") // so that the log holds all written pages
	storetest.LongThread(t, db.Store(""), 0.12, func() { pragma("wal_checkpoint(TRUNCATE)") }, func() storetest.Usage {
		info, err := os.Stat(path + "-wal")
		if err != nil {
			t.Fatal(err)
		}
		statements, _ := db.Used()
		return storetest.Usage{Statements: statements, Bytes: info.Size()}
	})
}

// What a run costs does not depend on the length of the thread, once the process has read it.
// A process that has not decodes the log: today's cost as an upper bound, to be lowered.
func TestRun_CostsTheSameOnALongThread(t *testing.T) {
	path := filepath.Join(t.TempDir(), "awaken.db")
	storetest.LongRun(t, func() awaken.Store { return openAt(t, path, nil).Store("") }, 0.1, 7)
}

// Commits that arrive while another is in flight share a transaction. Each is checked on its
// own: one by a fenced owner does not affect the others.
func TestCommit_ThoseThatWaitShareATransaction(t *testing.T) {
	const threads, stale = 64, 7
	db, path := openFile(t)
	s := db.Store("")
	fences := make([]uint64, threads)
	for i := range fences {
		cp, err := s.Acquire(t.Context(), fmt.Sprint("t", i))
		if err != nil {
			t.Fatal(err)
		}
		fences[i] = cp.Fence
	}
	if _, err := s.Acquire(t.Context(), fmt.Sprint("t", stale)); err != nil {
		t.Fatal(err)
	}
	// The first commit waits for another program that writes.
	other, err := sql.Open("sqlite", "file:"+path)
	if err != nil {
		t.Fatal(err)
	}
	defer other.Close()
	c, err := other.Conn(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	defer c.Close()
	if _, err := c.ExecContext(t.Context(), "BEGIN IMMEDIATE"); err != nil {
		t.Fatal(err)
	}
	_, before := db.Used()
	errs := make([]error, threads)
	var wg sync.WaitGroup
	for i := range threads {
		wg.Go(func() {
			thread := fmt.Sprint("t", i)
			errs[i] = s.Commit(context.Background(), &awaken.Commit{ThreadID: thread, Fence: fences[i], Number: 1, Time: 1,
				Messages: []*llm.Message{llm.UserText(thread)}, Run: awaken.Run{RunID: "run-" + thread, ThreadID: thread, Status: awaken.RunRunning}})
		})
	}
	for db.Waiting() < threads-1 {
		time.Sleep(time.Millisecond)
	}
	if _, err := c.ExecContext(t.Context(), "ROLLBACK"); err != nil {
		t.Fatal(err)
	}
	wg.Wait()
	for i, err := range errs {
		if want := i == stale; errors.Is(err, awaken.ErrFenced) != want || (err != nil) != want {
			t.Errorf("commit %d: %v", i, err)
		}
		th, err := s.Thread(t.Context(), fmt.Sprint("t", i))
		if err != nil || (th.MessageCount == 1) == (i == stale) {
			t.Errorf("thread %d has %d messages, %v", i, th.MessageCount, err)
		}
	}
	if _, after := db.Used(); after-before != 2 {
		t.Errorf("%d commits took %d transactions, want 2", threads, after-before)
	}
}

// endRun starts a queued run and ends it: with a commit that settles the dispatch, or with a
// commit and a settlement. It returns what usage counted for the end.
func endRun(t *testing.T, q mailbox.Queue, id string, together bool, usage func() (a, b int64)) (x, y int64) {
	t.Helper()
	s, thread, runID := q.Handle(""), "thread-"+id, "run-"+id
	fail := func(err error) {
		t.Helper()
		if err != nil {
			t.Fatal(err)
		}
	}
	_, err := s.Enqueue(t.Context(), mailbox.Terms{}, &mailbox.Dispatch{ID: id, ThreadID: thread, RunID: runID, MaxAttempts: 1, Request: &awaken.RunRequest{ThreadID: thread, RunID: runID}})
	fail(err)
	join(t, q, "w")
	ds, _, err := q.Claim(t.Context(), mailbox.ClaimRequest{Consumer: "w", Lease: time.Hour, Limit: 1})
	fail(err)
	cp, err := s.Acquire(t.Context(), thread)
	fail(err)
	c := awaken.Commit{ThreadID: thread, Fence: cp.Fence, Number: 1, Time: 1, Run: awaken.Run{RunID: runID, ThreadID: thread, Status: awaken.RunRunning}}
	fail(s.Commit(t.Context(), &c))
	c.Number, c.Run.Status, c.Run.Termination, c.Run.FinishedAt = 2, awaken.RunDone, awaken.Termination{Type: awaken.NaturalEnd}, 1
	end := mailbox.Settlement{Claim: ds[0].Claim(), Status: mailbox.Acked}
	a, b := usage()
	if together {
		out, err := s.CommitAndSettle(t.Context(), &c, end, nil)
		if fail(err); !out.Settled {
			t.Fatal("not settled")
		}
	} else {
		fail(s.Commit(t.Context(), &c))
		errs, err := q.Settle(t.Context(), end)
		fail(errors.Join(append(errs, err)...))
	}
	x, y = usage()
	return x - a, y - b
}

// Ending a run and settling its dispatch is one transaction.
func TestCommitAndSettle_IsOneTransaction(t *testing.T) {
	db, _ := openFile(t)
	statements, transactions := endRun(t, db, "a", true, db.Used)
	apart, _ := endRun(t, db, "b", false, db.Used)
	if transactions != 1 || statements >= apart {
		t.Errorf("%d statements in %d transactions, want less than %d in 1", statements, transactions, apart)
	}
}

// What a claim costs does not depend on how much is queued, also by tenants that it excepts.
func TestClaim_ReadsOnlyWhatItClaims(t *testing.T) {
	db, path := openFile(t)
	join(t, db, "w")
	statements := func(r mailbox.ClaimRequest, want int) int64 {
		t.Helper()
		before, _ := db.Used()
		r.Consumer, r.Lease = "w", time.Minute
		if ds, _, err := db.Claim(t.Context(), r); err != nil || len(ds) != want {
			t.Fatalf("claimed %d, %v, want %d", len(ds), err, want)
		}
		after, _ := db.Used()
		return after - before
	}
	if _, err := db.Store("").Enqueue(t.Context(), mailbox.Terms{}, dispatches("d", 100)...); err != nil {
		t.Fatal(err)
	}
	// Begin, what is due, what is ready, its head, the claim, the new thread, what is next, commit.
	if n := statements(mailbox.ClaimRequest{Limit: 1}, 1); n != 8 {
		t.Errorf("a claim took %d statements, want 8", n)
	}
	if n := statements(mailbox.ClaimRequest{Limit: 1, Except: []string{""}}, 0); n > 6 {
		t.Errorf("a claim that excepts the tenant took %d statements, want at most 6", n)
	}
	look, err := sql.Open("sqlite", "file:"+path)
	if err != nil {
		t.Fatal(err)
	}
	defer look.Close()
	for query, index := range map[string]string{
		"SELECT tenant, id FROM awaken_queues WHERE suspect = 0 AND since IS NOT NULL ORDER BY priority, since LIMIT 1":                             "awaken_queues_ready",
		"SELECT tenant FROM awaken_queues INDEXED BY awaken_queues_tenant WHERE suspect = 0 AND tenant > 'a' AND since IS NOT NULL ORDER BY tenant": "awaken_queues_tenant",
		"SELECT id FROM awaken_queues INDEXED BY awaken_queues_tenant WHERE suspect = 0 AND tenant = 'a' AND since IS NOT NULL ORDER BY priority":   "awaken_queues_tenant",
	} {
		if plan := plan(t, look, query); len(plan) != 1 || !strings.Contains(plan[0], "INDEX "+index+" (suspect=?") {
			t.Errorf("%s is planned as %q, want a search with %s alone", query, plan, index)
		}
	}
}
