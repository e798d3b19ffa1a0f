package sqlite_test

import (
	"context"
	"errors"
	"os"
	"path/filepath"
	"strings"
	"sync"
	"testing"

	"github.com/awaken-go/awaken"
	"github.com/awaken-go/awaken/eventlog/eventlogtest"
	"github.com/awaken-go/awaken/internal/testenv"
	"github.com/awaken-go/awaken/state/profile"
	"github.com/awaken-go/awaken/state/profile/profiletest"
	"github.com/awaken-go/awaken/store/sqlite"
	"github.com/awaken-go/awaken/store/storetest"
)

// open opens a database in a temporary folder.
func open(t testing.TB) *sqlite.DB {
	t.Helper()
	return openAt(t, newFile(t), nil)
}

// empty is a database file with its schema and nothing else: its migrations take ten times as long as opening it.
var empty = sync.OnceValues(func() (_ []byte, err error) {
	dir, err := os.MkdirTemp("", "sqlite")
	if err != nil {
		return nil, err
	}
	defer func() { err = errors.Join(err, os.RemoveAll(dir)) }()
	path := filepath.Join(dir, "awaken.db")
	db, err := sqlite.Open(context.Background(), path, nil)
	if err != nil {
		return nil, err
	}
	if err := db.Close(); err != nil {
		return nil, err
	}
	return os.ReadFile(path)
})

// newFile returns the path of a database that has its schema and nothing else.
func newFile(t testing.TB) string {
	t.Helper()
	data, err := empty()
	if err != nil {
		t.Fatal(err)
	}
	path := filepath.Join(t.TempDir(), "awaken.db")
	if err := os.WriteFile(path, data, 0o600); err != nil {
		t.Fatal(err)
	}
	return path
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

func TestSpending_ConcurrentRunsNeverExceedTheBudgetOfTheirTenant(t *testing.T) {
	path := filepath.Join(t.TempDir(), "awaken.db")
	var stores []awaken.Store
	for range 3 { // as several processes do
		stores = append(stores, openAt(t, path, nil).Store("tenant"))
	}
	storetest.SpendTogether(t, testenv.Times(60, 200), stores...)
}

func TestStore_TakeOver(t *testing.T) {
	storetest.TakeOver(t, open(t).Store(""), testenv.Times(50, 1000))
}

func TestEventLog(t *testing.T) {
	eventlogtest.Test(t, func(t *testing.T) eventlogtest.Store {
		if strings.HasSuffix(t.Name(), "/AReaderResumesAtEveryCut") && !testenv.Long() {
			t.Skip("10,000 cuts take a while; scripts/test -long makes them")
		}
		return open(t).Store("tenant")
	})
}

func TestProfile(t *testing.T) {
	profiletest.Test(t, func(t *testing.T) profile.Store { return open(t).Profile("tenant") })
}
