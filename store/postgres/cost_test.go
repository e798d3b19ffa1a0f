package postgres_test

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/jackc/pgx/v5"

	"github.com/awaken-go/awaken"
	"github.com/awaken-go/awaken/llm"
	"github.com/awaken-go/awaken/mailbox"
	"github.com/awaken-go/awaken/store/postgres"
	"github.com/awaken-go/awaken/store/storetest"
)

// witness is a connection that observes the server.
func witness(t testing.TB) *pgx.Conn {
	t.Helper()
	c, err := pgx.Connect(t.Context(), shared())
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { c.Close(context.Background()) })
	return c
}

// number returns the number that a query returns.
func number(t testing.TB, c *pgx.Conn, query string) (n int64) {
	t.Helper()
	if err := c.QueryRow(t.Context(), query).Scan(&n); err != nil {
		t.Fatal(err)
	}
	return n
}

const (
	// transactions counts the writing transactions of the server.
	transactions = `SELECT pg_snapshot_xmax(pg_current_snapshot())::text::bigint`
	// walBytes is the number of bytes that the server wrote to its log.
	walBytes = `SELECT pg_current_wal_insert_lsn() - '0/0'::pg_lsn`
)

// Ten steps with a read-only tool and an answer are twelve commits. Each is one round trip
// and one transaction, and so is acquiring the thread. A pipelined run makes fewer commits.
func TestCommit_IsOneRoundTripAndOneTransaction(t *testing.T) {
	db, w := openCounting(t, nil)
	look := witness(t)
	run := storetest.BenchRun(t, storetest.Waited{Store: db.Store("")})
	run() // prepares the statements
	trips, before := w.writes.Load(), number(t, look, transactions)
	run()
	const want = 1 + storetest.BenchSteps + 2
	if got := w.writes.Load() - trips; got != want {
		t.Errorf("the run took %d round trips, want %d", got, want)
	}
	if got := number(t, look, transactions) - before; got != want {
		t.Errorf("the run made %d transactions, want %d", got, want)
	}
	trips, before = w.writes.Load(), number(t, look, transactions)
	storetest.BenchRun(t, db.Store(""))()
	got, made := w.writes.Load()-trips, number(t, look, transactions)-before
	if got > want || got < 4 || got != made {
		t.Errorf("the pipelined run took %d round trips and made %d transactions, want 4 to %d", got, made, want)
	}
}

// A step with a tool of the default effect takes two commits, the intent's and the result's.
func TestCommit_EffectfulStepsTakeTwo(t *testing.T) {
	db, w := openCounting(t, nil)
	look := witness(t)
	run := storetest.EffectfulRun(t, db.Store(""))
	for range 3 { // prepares the statements on every connection
		run()
	}
	trips, before := w.writes.Load(), number(t, look, transactions)
	run()
	const most = 1 + 2*storetest.BenchSteps + 2
	if got, made := w.writes.Load()-trips, number(t, look, transactions)-before; got > most || made > most {
		t.Errorf("the run took %d round trips and made %d transactions, want at most %d", got, made, most)
	}
}

// The commits of a run of ten steps, with its start and its end, write on average at most so many bytes
// to the server's log.
func TestCommit_BytesOfTheLog(t *testing.T) {
	const runs, commits, most = 10, 1 + storetest.BenchSteps + 2, 3600
	look := witness(t)
	run := storetest.BenchRun(t, storetest.Waited{Store: open(t).Store("")})
	run()
	before := number(t, look, walBytes)
	for range runs {
		run()
	}
	each := (number(t, look, walBytes) - before) / (runs * commits)
	t.Logf("%d bytes for each commit", each)
	if each > most {
		t.Errorf("a commit writes %d bytes to the log, want at most %d", each, most)
	}
}

// The cost of a commit depends neither on the length of the thread …
func TestCommit_CostsTheSameOnALongThread(t *testing.T) {
	db, w := openCounting(t, nil)
	look := witness(t)
	t.Run("server", func(t *testing.T) { // its log; the test server writes no full pages
		storetest.LongThread(t, db.Store("a"), 0.05, nil, func() storetest.Usage {
			return storetest.Usage{Statements: number(t, look, transactions), Bytes: number(t, look, walBytes)}
		})
	})
	t.Run("client", func(t *testing.T) {
		storetest.LongThread(t, db.Store("b"), 0.05, nil, func() storetest.Usage {
			return storetest.Usage{Statements: w.writes.Load(), Bytes: w.bytes.Load()}
		})
	})
}

// … nor on the number of threads: the server finds rows by their primary keys, although it
// planned when the tables were empty.
func TestPlans_FindRowsByTheRightIndex(t *testing.T) {
	db := open(t)
	look := witness(t)
	prefix, _, _ := strings.Cut(strings.SplitAfter(db.StepCommit(), "UPDATE ")[1], "_threads")
	if _, err := look.Exec(t.Context(), "SET plan_cache_mode = force_generic_plan"); err != nil {
		t.Fatal(err)
	}
	for name, plan := range map[string]struct{ query, index string }{
		"commit":      {db.StepCommit(), "_pkey"},
		"started":     {db.StartCommit(), "_pkey _dispatches_run"},
		"ended":       {db.EndCommit(), "_pkey"},
		"messages":    {"SELECT * FROM {p}_commits r WHERE r.tenant = $1 AND r.thread = $2 AND r.last >= $3 AND r.upto > $4 AND r.messages IS NOT NULL ORDER BY r.last, r.n LIMIT $5", "_pkey"},
		"place":       {"SELECT s.last FROM {p}_commits s WHERE s.tenant = $1 AND s.thread = $2 AND s.upto <= $3 AND s.n % 16 = 0 ORDER BY s.upto DESC LIMIT 1", "_commits_upto"},
		"thread":      {"SELECT * FROM {p}_threads WHERE tenant = $1 AND id = $2", "_pkey"},
		"run":         {"SELECT * FROM {p}_runs WHERE tenant = $1 AND id = $2", "_pkey"},
		"profile":     {"SELECT * FROM {p}_profiles WHERE tenant = $1 AND namespace = $2 AND key = $3", "_pkey"},
		"queue":       {"SELECT * FROM {p}_queues WHERE tenant = $1 AND id = $2", "_pkey"},
		"dispatch":    {"SELECT * FROM {p}_dispatches WHERE tenant = $1 AND id = $2", "_pkey"},
		"live":        {"SELECT * FROM {p}_dispatches WHERE tenant = $1 AND thread = $2 AND completed = 0", "_dispatches_thread"},
		"next":        {"SELECT * FROM {p}_dispatches WHERE tenant = $1 AND thread = $2 AND completed = 0 AND available <= $3 ORDER BY priority, created, id LIMIT 1", "_dispatches_thread"},
		"ready":       {"SELECT tenant, id FROM {p}_queues WHERE NOT suspect AND since IS NOT NULL ORDER BY priority, since LIMIT $1 FOR UPDATE SKIP LOCKED", "_queues_ready"},
		"tenants":     {"SELECT tenant FROM {p}_queues WHERE suspect = $1 AND since IS NOT NULL AND tenant > $2 ORDER BY tenant LIMIT 1", "_queues_tenant"},
		"tenants_own": {"SELECT tenant, id FROM {p}_queues WHERE suspect = $1 AND since IS NOT NULL AND tenant = $2 ORDER BY priority, since LIMIT $3 FOR UPDATE SKIP LOCKED", "_queues_tenant"},
		"record":      {"SELECT * FROM {p}_dispatches d WHERE d.tenant = $1 AND d.run = $2 AND d.born IS NOT NULL", "_dispatches_run"},
		"created":     {"SELECT * FROM {p}_dispatches d WHERE d.tenant = $1 AND d.completed = 0 AND d.born IS NOT NULL ORDER BY d.born DESC LIMIT $2", "_dispatches_born"},
		"settled":     {"UPDATE {p}_dispatches SET updated = 1 WHERE tenant = $1 AND thread = $2 AND completed = 0 AND (id = $3 AND $4 <> '' OR id <> $3 AND $5 AND run = $6)", "_dispatches_thread"},
		"deduped":     {"SELECT id FROM {p}_dispatches WHERE tenant = $1 AND thread = $2 AND completed = 0 AND dedupe = $3 LIMIT 1", "_dispatches_thread"},
		"history":     {"SELECT * FROM {p}_dispatches WHERE tenant = $1 AND thread = $2", "_dispatches_thread"},
	} {
		query := strings.ReplaceAll(plan.query, "{p}", prefix)
		if _, err := look.Prepare(t.Context(), name, query); err != nil {
			t.Fatal(err)
		}
		nulls := strings.TrimSuffix(strings.Repeat("NULL, ", params(query)), ", ")
		rows, err := look.Query(t.Context(), fmt.Sprintf("EXPLAIN EXECUTE %s (%s)", name, nulls), pgx.QueryExecModeSimpleProtocol)
		if err != nil {
			t.Fatal(err)
		}
		lines, err := pgx.CollectRows(rows, pgx.RowTo[string])
		if err != nil {
			t.Fatal(err)
		}
		text := strings.ReplaceAll(strings.Join(lines, "\n"), "Scan Backward", "Scan")
		scans := strings.Split(text, "Scan using ")[1:]
		bad := len(scans) == 0 || strings.Contains(text, "Seq Scan")
		for _, scan := range scans {
			index, _, _ := strings.Cut(scan, " ")
			bad = bad || !slices.ContainsFunc(strings.Fields(plan.index), func(suffix string) bool { return strings.HasSuffix(index, suffix) })
		}
		if bad {
			t.Errorf("%s is planned without the index %s:\n%s", name, plan.index, text)
		}
	}
}

// params returns the number of parameters.
func params(query string) (n int) {
	for strings.Contains(query, fmt.Sprintf("$%d", n+1)) {
		n++
	}
	return n
}

// one returns the first commit of an owner, with one message.
func one(thread string, fence uint64) *awaken.Commit {
	return &awaken.Commit{ThreadID: thread, Fence: fence, Number: 1, Time: 1, Messages: []*llm.Message{llm.UserText(thread)},
		Run: awaken.Run{RunID: "run-" + thread, ThreadID: thread, Status: awaken.RunRunning}}
}

// What a run costs does not depend on the length of the thread, once the process has read it.
// A process that has not decodes the log: today's cost as an upper bound, to be lowered.
func TestRun_CostsTheSameOnALongThread(t *testing.T) {
	opts := &postgres.Options{Prefix: fmt.Sprintf("test%d", sharedTest.Add(1))}
	storetest.LongRun(t, func() awaken.Store { return openAt(t, shared(), opts).Store("") }, 0.1, 3)
}

// Commits that arrive while all lanes are in use share a transaction. Each is checked on its
// own: one by a fenced owner does not affect the others.
func TestCommit_ThoseThatWaitShareATransaction(t *testing.T) {
	const threads, stale = 64, 7
	db, w := openCounting(t, &postgres.Options{Lanes: 1})
	s := db.Store("")
	look := witness(t)
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
	// The first commit waits for the transaction that holds its row.
	prefix, _, _ := strings.Cut(strings.SplitAfter(db.StepCommit(), "UPDATE ")[1], "_threads")
	tx, err := look.Begin(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	if _, err := tx.Exec(t.Context(), fmt.Sprintf("SELECT 1 FROM %s_threads WHERE id = 't0' FOR UPDATE", prefix)); err != nil {
		t.Fatal(err)
	}
	errs := make([]error, threads)
	var wg sync.WaitGroup
	commit := func(i int) {
		wg.Go(func() { errs[i] = s.Commit(context.Background(), one(fmt.Sprint("t", i), fences[i])) })
	}
	trips := w.writes.Load()
	commit(0)
	for w.writes.Load() == trips {
		time.Sleep(time.Millisecond)
	}
	for i := 1; i < threads; i++ {
		commit(i)
	}
	for db.Waiting() < threads-1 {
		time.Sleep(time.Millisecond)
	}
	if err := tx.Rollback(t.Context()); err != nil {
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
	// xmin is the transaction that wrote a row.
	if n := number(t, look, fmt.Sprintf("SELECT count(DISTINCT xmin::text) FROM %s_commits", prefix)); n != 2 {
		t.Errorf("%d commits took %d transactions, want 2", threads-1, n)
	}
}

// A pooler in front of the server may not support prepared statements.
func TestCommit_WithoutPreparedStatements(t *testing.T) {
	db := openAt(t, shared()+"&default_query_exec_mode=exec", &postgres.Options{Prefix: fmt.Sprintf("test%d", sharedTest.Add(1))})
	storetest.TakeOver(t, db.Store(""), 20)
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

// Ending a run and settling its dispatch is one round trip and one transaction.
func TestCommitAndSettle_IsOneRoundTripAndOneTransaction(t *testing.T) {
	db, w := openCounting(t, &postgres.Options{})
	db.Quiet() // its notifications are transactions
	look := witness(t)
	usage := func() (trips, made int64) { return w.writes.Load(), number(t, look, transactions) }
	// The first on a connection prepares the statements.
	for want, together := range map[int64]bool{1: true, 2: false} {
		least, made := int64(99), int64(0)
		for i := range 8 {
			trips, transactions := endRun(t, db, fmt.Sprint(want, "-", i), together, usage)
			least, made = min(least, trips), max(made, transactions)
		}
		if least != want || made != want {
			t.Errorf("together is %t: %d round trips and %d transactions, want %d", together, least, made, want)
		}
	}
}
