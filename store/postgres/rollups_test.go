package postgres_test

import (
	"testing"
	"time"

	"github.com/awaken-go/awaken/mailbox"
	"github.com/awaken-go/awaken/store/postgres"
	"github.com/awaken-go/awaken/trace/rollup/rolluptest"
)

func TestRollups(t *testing.T) {
	rolluptest.Test(t, func(t *testing.T) rolluptest.Backend {
		opts := &postgres.Options{Prefix: tables(t)}
		db, look := openTables(t, opts), witness(t)
		return rolluptest.Backend{Rollups: db.Rollups(), Changes: db.Changes(), Store: func(tenant string) mailbox.Handle { return db.Store(tenant) }, Settle: func() {
			last := number(t, look, "SELECT CASE WHEN is_called THEN last_value ELSE 0 END FROM "+opts.Prefix+"_changes_pos")
			for deadline := time.Now().Add(time.Minute); ; time.Sleep(time.Millisecond) { // other tests have transactions that last
				if end, err := db.Changes().Horizon(t.Context()); err != nil || time.Now().After(deadline) {
					t.Fatalf("the log is complete up to %d of %d, %v", end, last, err)
				} else if end >= last {
					return
				}
			}
		}}
	})
}
