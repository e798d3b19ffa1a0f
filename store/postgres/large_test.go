package postgres_test

import (
	"errors"
	"fmt"
	"math"
	"testing"
	"time"

	"github.com/jackc/pgx/v5"

	"github.com/awaken-go/awaken"
	"github.com/awaken-go/awaken/automate/webhook"
	"github.com/awaken-go/awaken/eventlog/changelog"
	"github.com/awaken-go/awaken/store/postgres"
)

// large are positions beyond which numbers of 32 bits, of JavaScript, and of the log itself end.
var large = []int64{math.MaxInt32 - 1, 1 << 53, math.MaxInt64 - 1000}

// The log of changes goes on beyond every one of them.
func TestChanges_AtLargePositions(t *testing.T) {
	prefix := tables(t)
	db := openTables(t, &postgres.Options{Prefix: prefix})
	conn, err := pgx.Connect(t.Context(), shared())
	if err != nil {
		t.Fatal(err)
	}
	defer conn.Close(t.Context())
	for i, at := range large {
		if _, err := conn.Exec(t.Context(), `SELECT setval($1::regclass, $2)`, prefix+"_changes_pos", at-at%2); err != nil {
			t.Fatal(err)
		}
		var want []string
		for n := range 3 {
			want = append(want, fmt.Sprintf("run-%d-%d", i, n))
			if err := slowTransaction(t, shared(), prefix, want[n]).Commit(t.Context()); err != nil {
				t.Fatal(err)
			}
		}
		got, upto := readAll(t, db.Changes(), at-at%2)
		if fmt.Sprint(got) != fmt.Sprint(want) || upto < at {
			t.Errorf("behind %d there are the changes of %v up to %d, want %v", at, got, upto, want)
		}
		if _, err := db.Changes().Changes(t.Context(), changelog.Query{After: upto, Check: 1}); !errors.Is(err, changelog.ErrGone) {
			t.Errorf("a position with another check is %v, want %v", err, changelog.ErrGone)
		}
		if _, err := db.Changes().Changes(t.Context(), changelog.Query{After: math.MaxInt64}); !errors.Is(err, changelog.ErrGone) {
			t.Errorf("the last position is %v, want %v", err, changelog.ErrGone)
		}
	}
}

// Fences, generations, numbers of events and of commits may be as large.
func TestStore_AtLargeNumbers(t *testing.T) {
	for _, at := range large {
		t.Run(fmt.Sprint(at), func(t *testing.T) {
			prefix := tables(t)
			db := openTables(t, &postgres.Options{Prefix: prefix})
			store := db.Store("")
			conn, err := pgx.Connect(t.Context(), shared())
			if err != nil {
				t.Fatal(err)
			}
			defer conn.Close(t.Context())
			commitAt(t, store, func() {
				if _, err := conn.Exec(t.Context(), `UPDATE `+prefix+`_threads SET fence = $1, generation = $1, last_seq = $1`, at); err != nil {
					t.Fatal(err)
				}
			}, uint64(at))
		})
	}
}

// commitAt commits an event on a thread whose numbers were moved, and reads it.
func commitAt(t *testing.T, store awaken.Store, move func(), at uint64) {
	t.Helper()
	ctx := t.Context()
	if _, err := store.Acquire(ctx, "t"); err != nil {
		t.Fatal(err)
	}
	move()
	claim, err := store.Acquire(ctx, "t")
	if err != nil {
		t.Fatal(err)
	}
	for i := range 3 {
		seq := at + uint64(i) + 1
		c := &awaken.Commit{ThreadID: "t", Fence: claim.Fence, Generation: claim.Generation, Number: uint64(i) + 1, Time: 1,
			Run:     awaken.Run{RunID: "r", ThreadID: "t", Status: awaken.RunRunning},
			Entries: []awaken.Entry{{Cursor: awaken.Cursor{Epoch: claim.Fence, Seq: seq}, RunID: "r", Event: &awaken.StepEnd{}}}}
		if err := store.Commit(ctx, c); err != nil {
			t.Fatalf("commit %d: %v", i+1, err)
		}
	}
	got, err := store.(awaken.EventLog).Entries(ctx, "t", awaken.EntryQuery{After: at, Limit: 10})
	if err != nil || len(got) != 3 || got[2].Seq != at+3 {
		t.Errorf("behind %d there are %d entries, %v", at, len(got), err)
	}
	if _, err := store.(awaken.EventLog).Entries(ctx, "t", awaken.EntryQuery{After: math.MaxInt64, Limit: 10}); err != nil {
		t.Errorf("behind the last number: %v", err)
	}
}

// A delivery may be due in a month, which has more milliseconds than 32 bits can count.
func TestHooks_DueInAMonth(t *testing.T) {
	db := openTables(t, &postgres.Options{Prefix: tables(t)})
	if ok, err := db.Hooks().SwapHook(t.Context(), &webhook.Hook{RunID: "r", ID: "h", Wait: 31 * 24 * time.Hour}); err != nil || !ok {
		t.Errorf("the hook is stored: %v, %v", ok, err)
	}
}
