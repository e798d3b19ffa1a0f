package sqlite_test

import (
	"testing"

	"github.com/awaken-go/awaken"
	"github.com/awaken-go/awaken/changelog/changelogtest"
)

func TestChanges(t *testing.T) {
	changelogtest.Test(t, func(t *testing.T) changelogtest.Backend {
		path := newFile(t)
		db, other := openAt(t, path, nil), openAt(t, path, nil)
		return changelogtest.Backend{Changes: db.Changes(), Other: other.Changes(), Store: func(tenant string) awaken.Store { return db.Store(tenant) }, Queue: db, Config: db.Config()}
	})
}
