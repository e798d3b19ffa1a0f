package postgres_test

import (
	"fmt"
	"os"
	"regexp"
	"strings"
	"sync"
	"sync/atomic"
	"testing"

	"github.com/awaken-go/awaken"
	"github.com/awaken-go/awaken/eventlog/eventlogtest"
	"github.com/awaken-go/awaken/internal/testenv"
	"github.com/awaken-go/awaken/state/profile"
	"github.com/awaken-go/awaken/state/profile/profiletest"
	"github.com/awaken-go/awaken/store/postgres"
	"github.com/awaken-go/awaken/store/storetest"
)

var (
	// server hosts the databases of all tests of this package.
	server *testenv.Postgres
	// shared is a database for tests that only need their own tables.
	shared     = sync.OnceValue(func() string { return server.Database() })
	sharedTest atomic.Int64
)

func TestMain(m *testing.M) { os.Exit(testenv.WithPostgres(m, &server)) }

// open returns a DB with new tables.
func open(t testing.TB) *postgres.DB {
	t.Helper()
	return openAt(t, shared(), &postgres.Options{Prefix: fmt.Sprintf("test%d", sharedTest.Add(1))})
}

// openSuite returns a DB for a case of a suite, with [tables] of its own.
func openSuite(t *testing.T) *postgres.DB {
	t.Helper()
	return openTables(t, &postgres.Options{Prefix: tables(t)})
}

func openAt(t testing.TB, url string, opts *postgres.Options) *postgres.DB {
	t.Helper()
	db, err := postgres.Open(t.Context(), url, opts)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(db.Close)
	return db
}

func TestStore(t *testing.T) {
	storetest.Test(t, func(t *testing.T) awaken.Store { return openSuite(t).Store("tenant") })
}

func TestSpending_ConcurrentRunsNeverExceedTheBudgetOfTheirTenant(t *testing.T) {
	prefix := fmt.Sprintf("test%d", sharedTest.Add(1))
	var stores []awaken.Store
	for range 5 { // as several processes do
		stores = append(stores, openAt(t, shared(), &postgres.Options{Prefix: prefix}).Store("tenant"))
	}
	storetest.SpendTogether(t, testenv.Times(60, 200), stores...)
}

func TestStore_WithoutShortcuts(t *testing.T) {
	storetest.Test(t, func(t *testing.T) awaken.Store {
		if lists := regexp.MustCompile("/(ListsOf|ThreadEditor)"); lists.MatchString(t.Name()) && !testenv.Long() {
			t.Skip("shortcuts are ways to commit; scripts/test -long reads lists and edits threads without them, too")
		}
		return openSuite(t).WithoutShortcuts().Store("tenant")
	})
}

func TestStore_TakeOver(t *testing.T) {
	storetest.TakeOver(t, open(t).Store(""), testenv.Times(50, 1000))
}

func TestEventLog(t *testing.T) {
	eventlogtest.Test(t, func(t *testing.T) eventlogtest.Store {
		if strings.HasSuffix(t.Name(), "/AReaderResumesAtEveryCut") && !testenv.Long() {
			t.Skip("10,000 cuts take a while; scripts/test -long makes them")
		}
		return openSuite(t).Store("tenant")
	})
}

func TestProfile(t *testing.T) {
	profiletest.Test(t, func(t *testing.T) profile.Store { return openSuite(t).Profile("tenant") })
}
