package memory_test

import (
	"testing"

	"github.com/awaken-go/awaken/mailbox"
	"github.com/awaken-go/awaken/store/memory"
	"github.com/awaken-go/awaken/trace/rollup/rolluptest"
)

func TestRollups(t *testing.T) {
	rolluptest.Test(t, func(t *testing.T) rolluptest.Backend {
		db := memory.NewDB()
		return rolluptest.Backend{Rollups: db.Rollups(), Store: func(tenant string) mailbox.Handle { return db.Store(tenant) }}
	})
}
