package sqlite_test

import (
	"errors"
	"fmt"
	"path/filepath"
	"testing"
	"time"

	"github.com/awaken-go/awaken"
	"github.com/awaken-go/awaken/eventlog/changelog"
	"github.com/awaken-go/awaken/eventlog/changelog/changelogtest"
	"github.com/awaken-go/awaken/store/sqlite"
)

func TestChanges(t *testing.T) {
	changelogtest.Test(t, func(t *testing.T) changelogtest.Backend {
		path := newFile(t)
		db, other := openAt(t, path, nil), openAt(t, path, nil)
		return changelogtest.Backend{Changes: db.Changes(), Other: other.Changes(), Store: func(tenant string) awaken.Store { return db.Store(tenant) }, Queue: db, Config: db.Config()}
	})
}

// begin makes the change that a run has begun, and returns the position behind it.
func begin(t *testing.T, db *sqlite.DB, id string) changelog.Position {
	t.Helper()
	cp, err := db.Store("").Acquire(t.Context(), id)
	if err != nil {
		t.Fatal(err)
	}
	if err := db.Store("").Commit(t.Context(), &awaken.Commit{ThreadID: id, Fence: cp.Fence, Number: 1, Time: 1, Run: awaken.Run{RunID: "run-" + id, ThreadID: id, Status: awaken.RunRunning}}); err != nil {
		t.Fatal(err)
	}
	time.Sleep(2 * time.Millisecond) // no two changes are made at once
	page, err := db.Changes().Changes(t.Context(), changelog.Query{})
	if err != nil {
		t.Fatal(err)
	}
	return changelog.Position{Pos: page.Upto, Check: page.Check}
}

// A database that was restored from a backup has another log from there on. Once that is as long as the lost one was, a reader of the lost one
// would miss its first changes: it is told so. A reader that has not read more than the backup has continues.
func TestChanges_AfterARestore(t *testing.T) {
	dir := t.TempDir()
	db := openAt(t, filepath.Join(dir, "awaken.db"), nil)
	kept := begin(t, db, "kept")
	if err := db.Backup(t.Context(), filepath.Join(dir, "backup.db")); err != nil {
		t.Fatal(err)
	}
	begin(t, db, "lost")
	lost := begin(t, db, "lost too")

	restored := openAt(t, filepath.Join(dir, "backup.db"), nil)
	for i := range 3 {
		begin(t, restored, fmt.Sprint("new", i))
	}
	feed := changelog.NewFeed(changelog.FeedConfig{Store: restored.Changes(), Poll: time.Millisecond})
	if _, err := feed.Follow(t.Context(), "", lost); !errors.Is(err, changelog.ErrGone) {
		t.Errorf("a reader of the lost changes: %v, want that its position is gone", err)
	}
	r, err := feed.Follow(t.Context(), "", kept)
	if err != nil {
		t.Fatal(err)
	}
	defer r.Close()
	items, err := r.Next(t.Context())
	if err != nil || len(items) != 3 || items[0].ThreadID != "new0" {
		t.Errorf("a reader of what the backup has gets %v, %v, want the three new changes", items, err)
	}
}

// Removing old changes reads and writes no more than it removes: a log without any is not scanned, nor is it written.
func TestTrimChanges_CostsNothingWithoutOldChanges(t *testing.T) {
	db, _ := openFile(t)
	for i := range 3 {
		begin(t, db, fmt.Sprint("t", i))
	}
	_, before := db.Used()
	if n, err := db.Changes().TrimChanges(t.Context(), time.Hour); n != 0 || err != nil {
		t.Fatalf("removed %d, %v", n, err)
	}
	if _, after := db.Used(); after != before {
		t.Errorf("it took %d transactions that write, want none", after-before)
	}
	if n, err := db.Changes().TrimChanges(t.Context(), 0); n != 2 || err != nil {
		t.Errorf("removed %d, %v, want all but the last", n, err)
	}
}
