package sqlite_test

import (
	"context"
	"strings"
	"testing"

	"github.com/awaken-go/awaken"
	"github.com/awaken-go/awaken/internal/fault"
	"github.com/awaken-go/awaken/store/sqlite"
)

// fill lets the database of db take no more pages, as a full disk does, until free is called.
func fill(t *testing.T, db *sqlite.DB) (free func()) {
	t.Helper()
	set := func(pages string) {
		if err := db.Pragma("max_page_count = " + pages); err != nil {
			t.Fatal(err)
		}
	}
	set("1") // the least is what it has
	return func() { set("1000000") }
}

// big writes a value that needs new pages.
func big(ctx context.Context, db *sqlite.DB) error {
	return db.Profile("").Set(ctx, "n", "k", []byte(`"`+strings.Repeat("x", 1<<20)+`"`))
}

func TestStore_AFullDiskIsAnOutageThatPasses(t *testing.T) {
	db := open(t)
	free := fill(t, db)
	err := big(t.Context(), db)
	if o := fault.OutageOf(err); o == nil || o.Reason != "the store is out of disk space" {
		t.Errorf("the error on a full disk is %v, want an outage", err)
	}
	if _, err := db.Store("").ListThreads(t.Context(), awaken.ThreadQuery{}); err != nil {
		t.Errorf("reading from a full disk: %v", err)
	}
	free()
	if err := big(t.Context(), db); err != nil {
		t.Errorf("after space was freed: %v", err)
	}
}

func TestStore_AReadOnlyDatabaseIsAnOutageThatPasses(t *testing.T) {
	db := open(t)
	if err := db.Pragma("query_only = 1"); err != nil {
		t.Fatal(err)
	}
	err := big(t.Context(), db)
	if o := fault.OutageOf(err); o == nil || o.Reason != "the store is read-only" {
		t.Errorf("the error is %v, want an outage", err)
	}
	if err := db.Pragma("query_only = 0"); err != nil {
		t.Fatal(err)
	}
	if err := big(t.Context(), db); err != nil {
		t.Error(err)
	}
}
