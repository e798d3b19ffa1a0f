package postgres_test

import (
	"context"
	"errors"
	"fmt"
	"sync"
	"testing"
	"time"

	"github.com/jackc/pgx/v5"

	"github.com/awaken-go/awaken"
	"github.com/awaken-go/awaken/llm"
	"github.com/awaken-go/awaken/mailbox"
	"github.com/awaken-go/awaken/mailbox/mailboxtest"
	"github.com/awaken-go/awaken/store/postgres"
)

func TestMailbox(t *testing.T) { mailboxtest.Test(t, backend) }

func TestStarter(t *testing.T) { mailboxtest.TestStarter(t, backend) }

// One dispatch is queued by the SQL function for many, too.
func TestMailbox_EnqueuesManyLikeFew(t *testing.T) {
	mailboxtest.TestEnqueue(t, func(t *testing.T) mailboxtest.Backend {
		b := backend(t)
		b.Queue.(*postgres.DB).EnqueueMany()
		return b
	})
}

func backend(t *testing.T) mailboxtest.Backend {
	opts := &postgres.Options{Prefix: tables(t)}
	db := openTables(t, opts)
	var mu sync.Mutex
	var shift time.Duration
	return mailboxtest.Backend{Queue: db, Other: openTables(t, opts), Advance: func(d time.Duration) {
		mu.Lock()
		defer mu.Unlock()
		shift += d
		if err := db.ShiftClock(t.Context(), shift); err != nil {
			t.Error(err)
		}
	}}
}

// A dispatch on a new thread is three rows with nine index entries, and a row of the log of changes, of some 214 bytes, for its run and
// itself. No row is written for its run before that starts.
func TestEnqueue_WritesThreeRows(t *testing.T) {
	opts := &postgres.Options{Prefix: fmt.Sprintf("test%d", sharedTest.Add(1))}
	db := openAt(t, shared(), opts)
	db.Quiet() // its notifications are written, too
	look, s := witness(t), db.Store("")
	enqueue := func(ds ...*mailbox.Dispatch) {
		t.Helper()
		if left, err := s.Enqueue(t.Context(), mailbox.Terms{}, ds...); err != nil || len(left) > 0 {
			t.Fatalf("left %v, %v", left, err)
		}
	}
	enqueue(dispatches("warm", 1)...)
	const n = 200
	before := number(t, look, walBytes)
	for _, d := range dispatches("d", n) {
		enqueue(d)
	}
	bytes := (number(t, look, walBytes) - before) / n
	t.Logf("%d bytes of the server's log each", bytes)
	if bytes > 1650 {
		t.Errorf("a dispatch took %d bytes of the server's log, want at most 1650", bytes)
	}
	for table, want := range map[string]int64{"changes": n + 1, "dispatches": n + 1, "threads": n + 1, "queues": n + 1, "runs": 0, "commits": 0, "state": 0, "inbox": 0} {
		if got := number(t, look, fmt.Sprintf("SELECT count(*) FROM %s_%s", opts.Prefix, table)); got != want {
			t.Errorf("%s has %d rows, want %d", table, got, want)
		}
	}
	var entries int64
	rows, err := look.Query(t.Context(), fmt.Sprintf(`SELECT indexrelid::regclass::text, coalesce(pg_get_expr(indpred, indrelid), 'true'), indrelid::regclass::text FROM pg_index
		WHERE indrelid::regclass::text IN ('%[1]s_dispatches', '%[1]s_threads', '%[1]s_queues')`, opts.Prefix))
	if err != nil {
		t.Fatal(err)
	}
	type index struct{ Name, Where, Table string }
	indexes, err := pgx.CollectRows(rows, pgx.RowToStructByPos[index])
	if err != nil {
		t.Fatal(err)
	}
	for _, i := range indexes {
		entries += number(t, look, fmt.Sprintf("SELECT count(*) FROM %s WHERE %s", i.Table, i.Where))
	}
	if entries != 9*(n+1) {
		t.Errorf("a dispatch has %.1f index entries, want 9", float64(entries)/(n+1))
	}
}

// join makes a process known that lives as long as the test.
func join(t testing.TB, q mailbox.Queue, process string) {
	t.Helper()
	if err := q.Join(t.Context(), process, time.Hour); err != nil {
		t.Fatal(err)
	}
}

// dispatches returns n dispatches, each on its own thread.
func dispatches(prefix string, n int) []*mailbox.Dispatch {
	out := make([]*mailbox.Dispatch, n)
	for i := range out {
		id := fmt.Sprintf("%s%04d", prefix, i)
		out[i] = &mailbox.Dispatch{ID: id, ThreadID: "thread-" + id, RunID: "run-" + id, Priority: mailbox.DefaultPriority, MaxAttempts: 5,
			Request: &awaken.RunRequest{ThreadID: "thread-" + id, Messages: []*llm.Message{llm.UserText("hello")}}}
	}
	return out
}

func acked(ds []*mailbox.Dispatch) []mailbox.Settlement {
	out := make([]mailbox.Settlement, len(ds))
	for i, d := range ds {
		out[i] = mailbox.Settlement{Claim: d.Claim(), Status: mailbox.Acked}
	}
	return out
}

// work enqueues, claims, renews and settles a hundred dispatches, and calls count after each
// step.
func work(t *testing.T, db *postgres.DB, prefix string, count func(what string, trips int64)) {
	t.Helper()
	ctx, s := t.Context(), db.Store("")
	join(t, db, "c")
	count("join", 1)
	if left, err := s.Enqueue(ctx, mailbox.Terms{}, dispatches(prefix, 100)...); err != nil || len(left) > 0 {
		t.Fatalf("left %v, %v", left, err)
	}
	count("enqueue", 1)
	ds, _, err := db.Claim(ctx, mailbox.ClaimRequest{Consumer: "c", Lease: time.Minute, Limit: 100})
	if err != nil || len(ds) != 100 {
		t.Fatalf("claimed %d, %v", len(ds), err)
	}
	count("claim", 1)
	held := make([]mailbox.Claim, len(ds))
	for i, d := range ds {
		held[i] = d.Claim()
	}
	if _, err := db.Renew(ctx, time.Minute, held...); err != nil {
		t.Fatal(err)
	}
	count("renew", 1)
	if err := s.Change(ctx, ds[0].ThreadID, func(th *mailbox.Thread) error {
		d := *th.Live[0]
		d.Cancel = true
		th.Put, th.Interrupt, th.Post = []*mailbox.Dispatch{&d}, true, []awaken.InboxItem{{ID: "item"}}
		return nil
	}); err != nil {
		t.Fatal(err)
	}
	count("change", 2)
	errs, err := db.Settle(ctx, acked(ds)...)
	if err = errors.Join(append(errs, err)...); err != nil {
		t.Fatal(err)
	}
	count("settle", 1)
	if list, err := s.Dispatches(ctx, mailbox.Query{Statuses: []mailbox.Status{mailbox.Acked}, Limit: 1000}); err != nil || len(list)%100 != 0 || len(list) == 0 {
		t.Errorf("%d are acked, %v", len(list), err)
	}
	count("list", 1)
}

func TestMailbox_ABatchIsOneRoundTrip(t *testing.T) {
	db, wire := openCounting(t, &postgres.Options{})
	db.Quiet()
	for i := range 3 { // each connection prepares the statements once
		work(t, db, fmt.Sprint("warm", i), func(string, int64) {})
	}
	before := wire.writes.Load()
	work(t, db, "counted", func(what string, want int64) {
		if n := wire.writes.Load() - before; n != want {
			t.Errorf("%s took %d round trips, want %d", what, n, want)
		}
		before = wire.writes.Load()
	})
}

func TestMailbox_WithoutPreparedStatements(t *testing.T) {
	db := openAt(t, shared()+"&default_query_exec_mode=exec", &postgres.Options{Prefix: fmt.Sprintf("test%d", sharedTest.Add(1))})
	work(t, db, "d", func(string, int64) {})
}

// Concurrent calls of Enqueue are grouped, and each gets its own result.
func TestEnqueue_ConcurrentCallsAreGrouped(t *testing.T) {
	db := open(t)
	s := db.Store("")
	taken := dispatches("taken", 1)
	if _, err := s.Enqueue(t.Context(), mailbox.Terms{}, taken...); err != nil {
		t.Fatal(err)
	}
	var wg sync.WaitGroup
	for i := range 64 {
		wg.Go(func() {
			ds := append(dispatches(fmt.Sprint("d", i, "-"), 2), dispatches("taken", 1)...)
			left, err := s.Enqueue(context.Background(), mailbox.Terms{}, ds...)
			if err != nil || len(left) != 1 || left[0] != 2 {
				t.Errorf("left %v, %v", left, err)
			}
			if ds[0].Status != mailbox.Queued || ds[0].CreatedAt == 0 || ds[2].Status != "" {
				t.Errorf("got %+v and %+v", ds[0], ds[2])
			}
		})
	}
	wg.Wait()
	counts, err := db.Counts(t.Context())
	if err != nil || counts[mailbox.Queued] != 129 {
		t.Errorf("counts are %v, %v", counts, err)
	}
	// Of two dispatches with the same id or run, only one can be new.
	left, err := s.Enqueue(t.Context(), mailbox.Terms{}, append(dispatches("twice", 1), dispatches("twice", 1)...)...)
	if err != nil || len(left) != 1 {
		t.Errorf("left %v, %v", left, err)
	}
}

func TestListen_ReconnectsAfterALostConnection(t *testing.T) {
	opts := &postgres.Options{Prefix: fmt.Sprintf("test%d", sharedTest.Add(1))}
	here, there := openAt(t, shared(), opts), openAt(t, shared(), opts)
	ctx, cancel := context.WithCancel(t.Context())
	heard, done := make(chan struct{}, 1000), make(chan error)
	go func() { done <- here.Listen(ctx, func(mailbox.Signal) { heard <- struct{}{} }) }()
	<-heard // it listens
	if _, err := there.Store("").Enqueue(t.Context(), mailbox.Terms{}, dispatches("a", 10)...); err != nil {
		t.Fatal(err)
	}
	<-heard
	if n := number(t, witness(t), fmt.Sprintf(`SELECT count(pg_terminate_backend(pid)) FROM pg_stat_activity WHERE query = 'LISTEN %s_mailbox'`, opts.Prefix)); n != 1 {
		t.Fatalf("%d connections listen, want 1", n)
	}
	<-heard // it listens again
	if _, err := there.Store("").Enqueue(t.Context(), mailbox.Terms{}, dispatches("b", 10)...); err != nil {
		t.Fatal(err)
	}
	<-heard
	cancel()
	if err := <-done; !errors.Is(err, context.Canceled) {
		t.Errorf("listen: %v", err)
	}
}
