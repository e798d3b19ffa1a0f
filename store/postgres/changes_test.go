package postgres_test

import (
	"context"
	"errors"
	"fmt"
	"math/rand/v2"
	"slices"
	"sync"
	"testing"
	"time"

	"github.com/jackc/pgx/v5"

	"github.com/awaken-go/awaken"
	"github.com/awaken-go/awaken/eventlog/changelog"
	"github.com/awaken-go/awaken/eventlog/changelog/changelogtest"
	"github.com/awaken-go/awaken/store/postgres"
)

func TestChanges(t *testing.T) {
	changelogtest.Test(t, func(t *testing.T) changelogtest.Backend {
		opts := &postgres.Options{Prefix: tables(t)}
		db, other := openTables(t, opts), openTables(t, opts)
		return changelogtest.Backend{Changes: db.Changes(), Other: other.Changes(), Store: func(tenant string) awaken.Store { return db.Store(tenant) }, Queue: db, Config: db.Config()}
	})
}

// slowTransaction writes a change, and holds its transaction until commit or rollback is called.
func slowTransaction(t *testing.T, url, prefix, run string) pgx.Tx {
	t.Helper()
	conn, err := pgx.Connect(t.Context(), url)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { conn.Close(context.Background()) })
	tx, err := conn.Begin(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	if _, err := tx.Exec(t.Context(), `INSERT INTO `+prefix+`_runs (tenant, id, thread, status, born, data, first_seq, last_seq) VALUES ('', $1, $1, 'running', 1, '{}', 0, 0)`, run); err != nil {
		t.Fatal(err)
	}
	return tx
}

// readAll reads the runs of the changes behind a position, as far as the log is complete.
func readAll(t *testing.T, log changelog.Store, after int64) (runs []string, upto int64) {
	t.Helper()
	page, err := log.Changes(t.Context(), changelog.Query{After: after})
	if err != nil {
		t.Fatal(err)
	}
	for _, c := range page.Changes {
		runs = append(runs, c.RunID)
	}
	return runs, page.Upto
}

// A transaction that took its position early and is committed late is not skipped: readers wait for it, and then read
// it before what was committed earlier with a later position. One that is rolled back holds up readers, and leaves a gap.
func TestChanges_NoReaderPassesATransactionThatIsStillRunning(t *testing.T) {
	prefix := fmt.Sprintf("test%d", sharedTest.Add(1))
	db := openAt(t, shared(), &postgres.Options{Prefix: prefix})
	log := db.Changes()
	_, start := readAll(t, log, 0)

	slow, lost := slowTransaction(t, shared(), prefix, "slow"), slowTransaction(t, shared(), prefix, "lost")
	fast := slowTransaction(t, shared(), prefix, "fast")
	if err := fast.Commit(t.Context()); err != nil {
		t.Fatal(err)
	}
	for range 5 { // each call makes a mark, or looks whether one was passed
		if runs, upto := readAll(t, log, start); len(runs) > 0 || upto > start {
			t.Fatalf("a reader has %q up to %d while a transaction is running that has an earlier position", runs, upto)
		}
	}
	if err := slow.Commit(t.Context()); err != nil {
		t.Fatal(err)
	}
	later := slowTransaction(t, shared(), prefix, "later") // after the positions of the first mark
	if runs, _ := readAll(t, log, start); len(runs) > 0 {
		t.Fatalf("a reader has %q while the second transaction is running", runs)
	}
	if err := lost.Rollback(t.Context()); err != nil {
		t.Fatal(err)
	}
	var got []string
	for at, deadline := start, time.Now().Add(time.Minute); len(got) < 2; time.Sleep(time.Millisecond) {
		var runs []string
		runs, at = readAll(t, log, at)
		if got = append(got, runs...); time.Now().After(deadline) {
			t.Fatalf("after a minute, a reader has %q", got)
		}
	}
	if want := []string{"slow", "fast"}; !slices.Equal(got, want) {
		t.Errorf("a reader has %q, want %q: the order of positions, and nothing of the transaction that is running", got, want)
	}
	if err := later.Commit(t.Context()); err != nil {
		t.Fatal(err)
	}
}

// Transactions last as long as chance has it; readers of two processes that begin at any time read all, once, in one order.
func TestChanges_TransactionsOfAnyLength(t *testing.T) {
	const writers, each = 12, 15
	prefix := fmt.Sprintf("test%d", sharedTest.Add(1))
	opts := &postgres.Options{Prefix: prefix}
	logs := []changelog.Store{openAt(t, shared(), opts).Changes(), openAt(t, shared(), opts).Changes()}
	var wg sync.WaitGroup
	for w := range writers {
		conn, err := pgx.Connect(t.Context(), shared())
		if err != nil {
			t.Fatal(err)
		}
		t.Cleanup(func() { conn.Close(context.Background()) })
		wg.Go(func() {
			for i := range each {
				tx, err := conn.Begin(t.Context())
				if err == nil {
					_, err = tx.Exec(t.Context(), `INSERT INTO `+prefix+`_runs (tenant, id, thread, status, born, data, first_seq, last_seq) VALUES ('', $1, $2, 'running', 1, '{}', 0, 0)`,
						fmt.Sprintf("%d-%d", w, i), fmt.Sprint(w))
				}
				time.Sleep(time.Duration(rand.IntN(8)) * time.Millisecond)
				if err == nil {
					err = tx.Commit(t.Context())
				}
				if err != nil {
					t.Error(err)
					return
				}
			}
		})
	}
	got := make([][]string, 4)
	deadline := time.Now().Add(2 * time.Minute)
	for r := range got {
		wg.Go(func() {
			for at := int64(0); len(got[r]) < writers*each && time.Now().Before(deadline) && !t.Failed(); {
				page, err := logs[r%2].Changes(t.Context(), changelog.Query{After: at})
				if err != nil {
					t.Error(err)
					return
				}
				for _, c := range page.Changes {
					got[r] = append(got[r], c.RunID)
				}
				at = page.Upto
			}
		})
	}
	wg.Wait()
	for r := range got {
		if !slices.Equal(got[0], got[r]) {
			t.Errorf("reader %d has another order than the first", r)
		}
	}
	seen := map[string]bool{}
	for _, id := range got[0] {
		seen[id] = true
	}
	if len(seen) != writers*each || len(got[0]) != len(seen) {
		t.Errorf("%d changes of %d transactions were read, of %d runs", len(got[0]), writers*each, len(seen))
	}
}

// A process that begins while a transaction lasts follows the log from where it can be read; its readers are not before that forever.
func TestChanges_AProcessBeginsWhileATransactionIsRunning(t *testing.T) {
	prefix := fmt.Sprintf("test%d", sharedTest.Add(1))
	opts := &postgres.Options{Prefix: prefix}
	log := openAt(t, shared(), opts).Changes()
	for _, run := range []string{"first", "second", "third"} {
		if err := slowTransaction(t, shared(), prefix, run).Commit(t.Context()); err != nil {
			t.Fatal(err)
		}
	}
	for n, deadline := 0, time.Now().Add(time.Minute); n == 0; time.Sleep(time.Millisecond) { // until the clock has advanced
		if time.Now().After(deadline) {
			t.Fatal("after a minute, no change was removed")
		}
		var err error
		if n, err = log.TrimChanges(t.Context(), 0); err != nil {
			t.Fatal(err)
		}
	}
	slow := slowTransaction(t, shared(), prefix, "slow")
	late := openAt(t, shared(), opts).Changes()
	feed := changelog.NewFeed(changelog.FeedConfig{Store: late, Poll: time.Millisecond})
	r, err := feed.Follow(t.Context(), "", changelog.Now)
	if err != nil {
		t.Fatal(err)
	}
	defer r.Close()
	if err := slow.Commit(t.Context()); err != nil {
		t.Fatal(err)
	}
	ctx, cancel := context.WithTimeout(t.Context(), time.Minute)
	defer cancel()
	for found := false; !found; {
		items, err := r.Next(ctx)
		if err != nil {
			t.Fatal(err)
		}
		found = slices.ContainsFunc(items, func(it *changelog.Item) bool { return it.RunID == "slow" })
	}
}

// A log that is set back, since its database was restored, is followed again; a reader that was further is told so.
func TestChanges_ALogThatIsSetBack(t *testing.T) {
	prefix := fmt.Sprintf("test%d", sharedTest.Add(1))
	log := openAt(t, shared(), &postgres.Options{Prefix: prefix}).Changes()
	for _, run := range []string{"first", "second", "third"} {
		if err := slowTransaction(t, shared(), prefix, run).Commit(t.Context()); err != nil {
			t.Fatal(err)
		}
	}
	for got, at, deadline := 0, int64(0), time.Now().Add(time.Minute); got < 3; time.Sleep(time.Millisecond) {
		var runs []string
		runs, at = readAll(t, log, at)
		if got += len(runs); time.Now().After(deadline) {
			t.Fatalf("after a minute, a reader has %d changes of 3", got)
		}
	}
	feed := changelog.NewFeed(changelog.FeedConfig{Store: log, Poll: time.Millisecond})
	r, err := feed.Follow(t.Context(), "", changelog.Now)
	if err != nil {
		t.Fatal(err)
	}
	defer r.Close()
	conn, err := pgx.Connect(t.Context(), shared())
	if err != nil {
		t.Fatal(err)
	}
	defer conn.Close(context.Background())
	if _, err := conn.Exec(t.Context(), `DELETE FROM `+prefix+`_changes WHERE pos > 1`); err != nil {
		t.Fatal(err)
	}
	if _, err := conn.Exec(t.Context(), `SELECT setval('`+prefix+`_changes_pos', 1)`); err != nil {
		t.Fatal(err)
	}
	ctx, cancel := context.WithTimeout(t.Context(), time.Minute)
	defer cancel()
	for err == nil {
		_, err = r.Next(ctx)
	}
	if !errors.Is(err, changelog.ErrGone) {
		t.Errorf("a reader that was further: %v", err)
	}
	again, err := feed.Follow(t.Context(), "", changelog.Position{Pos: 1})
	if err != nil {
		t.Fatal(err)
	}
	defer again.Close()
	if err := slowTransaction(t, shared(), prefix, "fourth").Commit(t.Context()); err != nil {
		t.Fatal(err)
	}
	var got []string
	for len(got) == 0 {
		items, err := again.Next(ctx)
		if err != nil {
			t.Fatal(err)
		}
		for _, it := range items {
			got = append(got, it.RunID)
		}
	}
	if !slices.Equal(got, []string{"fourth"}) {
		t.Errorf("a new reader has %q, want the fourth run", got)
	}
}

// positionOf reads the log until it has n changes, and returns the position behind them.
func positionOf(t *testing.T, log changelog.Store, n int) changelog.Position {
	t.Helper()
	for deadline := time.Now().Add(time.Minute); ; time.Sleep(time.Millisecond) {
		page, err := log.Changes(t.Context(), changelog.Query{})
		if err != nil || time.Now().After(deadline) {
			t.Fatalf("the log has %v, %v, want %d changes", page, err, n)
		}
		if len(page.Changes) == n {
			return changelog.Position{Pos: page.Upto, Check: page.Check}
		}
	}
}

// A log that was set back and is as long again as it was, with other changes and with lower IDs of transactions, is not taken for the one that
// it was: a reader with a position that both have is told so, and no reader waits for transactions of the other log.
func TestChanges_ALogThatIsSetBackAndGrows(t *testing.T) {
	prefix := fmt.Sprintf("test%d", sharedTest.Add(1))
	db := openAt(t, shared(), &postgres.Options{Prefix: prefix})
	log := db.Changes()
	add := func(run string) {
		t.Helper()
		if err := slowTransaction(t, shared(), prefix, run).Commit(t.Context()); err != nil {
			t.Fatal(err)
		}
		time.Sleep(2 * time.Millisecond) // no two changes are made at once
	}
	add("kept")
	kept := positionOf(t, log, 1)
	add("lost")
	lost := positionOf(t, log, 2)
	look := witness(t)
	for _, statement := range []string{`DELETE FROM %s_changes WHERE pos > 2`, `SELECT setval('%s_changes_pos', 2)`} {
		if _, err := look.Exec(t.Context(), fmt.Sprintf(statement, prefix)); err != nil {
			t.Fatal(err)
		}
	}
	db.AgeHorizon(1 << 40) // as if the transactions of the lost log had higher IDs
	add("new")
	if now := positionOf(t, log, 2); now.Pos != lost.Pos || now.Check == lost.Check {
		t.Fatalf("the log ends at %+v, and ended at %+v: the test is about the same position of another log", now, lost)
	}
	feed := changelog.NewFeed(changelog.FeedConfig{Store: log, Poll: time.Millisecond})
	if _, err := feed.Follow(t.Context(), "", lost); !errors.Is(err, changelog.ErrGone) {
		t.Errorf("a reader of the lost change: %v, want that its position is gone", err)
	}
	r, err := feed.Follow(t.Context(), "", kept)
	if err != nil {
		t.Fatal(err)
	}
	defer r.Close()
	ctx, cancel := context.WithTimeout(t.Context(), time.Minute)
	defer cancel()
	if items, err := r.Next(ctx); err != nil || len(items) != 1 || items[0].RunID != "new" {
		t.Errorf("a reader of what was kept gets %v, %v, want the new change", items, err)
	}
}
