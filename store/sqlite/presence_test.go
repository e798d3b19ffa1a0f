package sqlite_test

import (
	"os"
	"path/filepath"
	"testing"

	"github.com/awaken-go/awaken"
	"github.com/awaken-go/awaken/internal/fault"
	"github.com/awaken-go/awaken/server/healthtest"
	"github.com/awaken-go/awaken/store/sqlite"
)

func TestHealth_SaysThatTheDatabaseIsGoneUntilItIsBack(t *testing.T) {
	t.Parallel()
	path := filepath.Join(t.TempDir(), "awaken.db")
	s := healthtest.Serve(t, openAt(t, path, nil))
	for _, end := range []string{"", "-wal", "-shm"} {
		if err := os.Rename(path+end, path+".away"); err != nil {
			t.Fatal(err)
		}
		s.Unavailable("the file of the store is missing")
		if err := os.Rename(path+".away", path+end); err != nil {
			t.Fatal(err)
		}
		s.Healthy()
	}
}

func TestHealth_SaysThatTheDatabaseWasReplaced(t *testing.T) {
	t.Parallel()
	path, other := made(t), made(t)
	s := healthtest.Serve(t, openAt(t, path, nil))
	if err := os.Rename(other, path); err != nil {
		t.Fatal(err)
	}
	s.Unavailable("the file of the store was replaced")
}

func TestHealth_SaysThatTheDatabaseWasEmptied(t *testing.T) {
	t.Parallel()
	path := filepath.Join(t.TempDir(), "awaken.db")
	db, err := sqlite.Open(t.Context(), path, nil)
	if err != nil {
		t.Fatal(err)
	}
	defer func() { _ = db.Close() }() // it is damaged
	s := healthtest.Serve(t, db)
	if err := os.Truncate(path, 0); err != nil {
		t.Fatal(err)
	}
	s.Unavailable("the file of the store is empty")
}

// No write is acknowledged that goes to a file that is gone, not even the first.
func TestStore_AWriteToADeletedDatabaseFailsAtOnce(t *testing.T) {
	t.Parallel()
	path := filepath.Join(t.TempDir(), "awaken.db")
	db := openAt(t, path, nil)
	if _, err := db.Store("").Acquire(t.Context(), "t"); err != nil {
		t.Fatal(err)
	}
	if err := os.Remove(path); err != nil {
		t.Fatal(err)
	}
	if _, err := db.Store("").Acquire(t.Context(), "t2"); fault.OutageOf(err) == nil {
		t.Errorf("a write to a deleted database: %v, want an outage", err)
	}
	if _, err := db.Store("").ListThreads(t.Context(), awaken.ThreadQuery{}); fault.OutageOf(err) == nil {
		t.Errorf("a read from a deleted database: %v, want an outage", err)
	}
	if err := db.Backup(t.Context(), path+".backup"); fault.OutageOf(err) == nil {
		t.Errorf("a backup of a deleted database: %v, want an outage", err)
	}
	if _, err := os.Stat(path); !os.IsNotExist(err) {
		t.Errorf("an empty database was created: %v", err)
	}
}

// Other processes that open and close the database leave its files where they are.
func TestStore_OtherProcessesThatCloseTheDatabaseAreNoOutage(t *testing.T) {
	t.Parallel()
	path := filepath.Join(t.TempDir(), "awaken.db")
	db := openAt(t, path, nil)
	for range 5 {
		other, err := sqlite.Open(t.Context(), path, nil)
		if err != nil {
			t.Fatal(err)
		}
		if _, err := other.Store("").Acquire(t.Context(), "t"); err != nil {
			t.Fatal(err)
		}
		if err := other.Close(); err != nil {
			t.Fatal(err)
		}
		if err := db.Probe(t.Context()); err != nil {
			t.Fatal(err)
		}
	}
}
