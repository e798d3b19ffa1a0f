package sqlite_test

import (
	"strings"
	"testing"

	"github.com/awaken-go/awaken/internal/fault"
	"github.com/awaken-go/awaken/server/healthtest"
	"github.com/awaken-go/awaken/store/sqlite"
)

// fillUp fills the database with small values until it takes no more, until free is called.
func fillUp(t *testing.T, db *sqlite.DB) (free func()) {
	t.Helper()
	free = fill(t, db)
	for i := 0; ; i++ {
		err := db.Profile("").Set(t.Context(), "n", strings.Repeat("k", i%100+1), []byte(`"`+strings.Repeat("x", 2000+i)+`"`))
		if fault.OutageOf(err) != nil {
			return free
		}
		if err != nil {
			t.Fatal(err)
		}
	}
}

func TestHealth_SaysThatTheDiskIsFullUntilItHasSpace(t *testing.T) {
	t.Parallel()
	db := open(t)
	s := healthtest.Serve(t, db)
	free := fillUp(t, db)
	s.Unavailable("the store is out of disk space")
	free()
	s.Healthy()
}

func TestHealth_SaysThatTheDatabaseIsReadOnlyUntilItIsNot(t *testing.T) {
	t.Parallel()
	db := open(t)
	s := healthtest.Serve(t, db)
	if err := db.Pragma("query_only = 1"); err != nil {
		t.Fatal(err)
	}
	s.Unavailable("the store is read-only")
	if err := db.Pragma("query_only = 0"); err != nil {
		t.Fatal(err)
	}
	s.Healthy()
}

func TestProbe_LeavesNothingBehind(t *testing.T) {
	t.Parallel()
	db := open(t)
	probe := func() (pages int) {
		if err := db.Probe(t.Context()); err != nil {
			t.Fatal(err)
		}
		pages, err := db.Pages(t.Context())
		if err != nil {
			t.Fatal(err)
		}
		return pages
	}
	first := probe()
	for range 100 {
		if n := probe(); n != first {
			t.Fatalf("probes let the database grow from %d to %d pages", first, n)
		}
	}
}
