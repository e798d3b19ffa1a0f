package memory_test

import (
	"testing"

	"github.com/awaken-go/awaken"
	"github.com/awaken-go/awaken/eventlog/changelog/changelogtest"
	"github.com/awaken-go/awaken/store/memory"
)

func TestChanges(t *testing.T) {
	changelogtest.Test(t, func(*testing.T) changelogtest.Backend {
		db := memory.NewDB()
		return changelogtest.Backend{Changes: db.Changes(), Store: func(tenant string) awaken.Store { return db.Store(tenant) }, Queue: db, Config: db.Config()}
	})
}
