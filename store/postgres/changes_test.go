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
	"github.com/awaken-go/awaken/changelog"
	"github.com/awaken-go/awaken/changelog/changelogtest"
	"github.com/awaken-go/awaken/store/postgres"
)

func TestChanges(t *testing.T) {
	changelogtest.Test(t, func(t *testing.T) changelogtest.Backend {
		opts := &postgres.Options{Prefix: tables(t)}
		db, other := openAt(t, shared(), opts), openAt(t, shared(), opts)
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
	for at := start; len(got) < 2; {
		var runs []string
		runs, at = readAll(t, log, at)
		got = append(got, runs...)
		if t.Context().Err() != nil {
			t.Fatal("the changes are never read")
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
	for r := range got {
		wg.Go(func() {
			for at := int64(0); len(got[r]) < writers*each && t.Context().Err() == nil && !t.Failed(); {
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
	for n := 0; n == 0; time.Sleep(time.Millisecond) { // until the clock has advanced
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
	for found := false; !found; {
		items, err := r.Next(t.Context())
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
	for got, at := 0, int64(0); got < 3; {
		var runs []string
		runs, at = readAll(t, log, at)
		got += len(runs)
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
	for err == nil {
		_, err = r.Next(t.Context())
	}
	if !errors.Is(err, changelog.ErrGone) {
		t.Errorf("a reader that was further: %v", err)
	}
	again, err := feed.Follow(t.Context(), "", 1)
	if err != nil {
		t.Fatal(err)
	}
	defer again.Close()
	if err := slowTransaction(t, shared(), prefix, "fourth").Commit(t.Context()); err != nil {
		t.Fatal(err)
	}
	var got []string
	for len(got) == 0 {
		items, err := again.Next(t.Context())
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
