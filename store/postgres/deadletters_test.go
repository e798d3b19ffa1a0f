package postgres_test

import (
	"errors"
	"fmt"
	"sync"
	"testing"
	"time"

	"github.com/awaken-go/awaken/mailbox"
	"github.com/awaken-go/awaken/store/postgres"
)

// Two processes that give up dispatches, and remove them, count together, and what they have counted outlives them.
func TestDeadLettered_IsWhatAllProcessesCounted(t *testing.T) {
	opts := &postgres.Options{Prefix: tables(t)}
	dbs := []*postgres.DB{openTables(t, opts), openTables(t, opts)}
	const batches, batch = 40, 5
	var wg sync.WaitGroup
	for i, db := range dbs {
		name := fmt.Sprint("p", i)
		join(t, db, name)
		if left, err := db.Store(name).Enqueue(t.Context(), mailbox.Terms{}, dispatches(name, batches*batch)...); err != nil || len(left) > 0 {
			t.Fatalf("left %v, %v", left, err)
		}
	}
	for i, db := range dbs {
		wg.Go(func() {
			for range batches {
				if err := giveUp(t, db, fmt.Sprint("p", i), batch); err != nil {
					t.Error(err)
					return
				}
				if _, err := db.Purge(t.Context(), 0); err != nil { // the other process counts meanwhile
					t.Error(err)
				}
			}
		})
	}
	wg.Wait()
	for _, db := range append(dbs, openTables(t, opts)) {
		if n, err := db.DeadLettered(t.Context()); err != nil || n != 2*batches*batch {
			t.Errorf("%d dead letters, %v; want %d", n, err, 2*batches*batch)
		}
	}
}

// giveUp makes n dispatches dead letters.
func giveUp(t *testing.T, db *postgres.DB, process string, n int) error {
	ds, _, err := db.Claim(t.Context(), mailbox.ClaimRequest{Consumer: process, Lease: time.Minute, Limit: n})
	if err != nil || len(ds) != n {
		return fmt.Errorf("claimed %d, %w", len(ds), err)
	}
	var all []mailbox.Settlement
	for _, d := range ds {
		all = append(all, mailbox.Settlement{Claim: d.Claim(), Status: mailbox.DeadLetter, Error: "boom"})
	}
	errs, err := db.Settle(t.Context(), all...)
	return errors.Join(append(errs, err)...)
}
