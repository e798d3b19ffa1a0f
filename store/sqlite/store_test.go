package sqlite_test

import (
	"path/filepath"
	"testing"

	"github.com/awaken-go/awaken"
	"github.com/awaken-go/awaken/profile"
	"github.com/awaken-go/awaken/profile/profiletest"
	"github.com/awaken-go/awaken/store/sqlite"
	"github.com/awaken-go/awaken/store/storetest"
)

// open opens a database in a folder of the test's own.
func open(t testing.TB) *sqlite.DB {
	t.Helper()
	return openAt(t, filepath.Join(t.TempDir(), "awaken.db"), nil)
}

func openAt(t testing.TB, path string, opts *sqlite.Options) *sqlite.DB {
	t.Helper()
	db, err := sqlite.Open(t.Context(), path, opts)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		if err := db.Close(); err != nil {
			t.Error(err)
		}
	})
	return db
}

func TestStore(t *testing.T) {
	storetest.Test(t, func(t *testing.T) awaken.Store { return open(t).Store("tenant") })
}

func TestProfile(t *testing.T) {
	profiletest.Test(t, func(t *testing.T) profile.Store { return open(t).Profile("tenant") })
}
