package sqlite_test

import (
	"errors"
	"io/fs"
	"os"
	"path/filepath"
	"runtime"
	"strings"
	"sync"
	"testing"

	"github.com/awaken-go/awaken/store/sqlite"
)

// made creates a database with the thread t and closes it.
func made(t *testing.T) (path string) {
	t.Helper()
	path = filepath.Join(t.TempDir(), "awaken.db")
	db, err := sqlite.Open(t.Context(), path, nil)
	if err != nil {
		t.Fatal(err)
	}
	if _, err := db.Store("").Acquire(t.Context(), "t"); err != nil {
		t.Fatal(err)
	}
	if err := db.Close(); err != nil {
		t.Fatal(err)
	}
	return path
}

func TestOpen_RefusesADatabaseThatWasLost(t *testing.T) {
	for state, lose := range map[string]func(path string) error{
		"missing": os.Remove,
		"empty":   func(path string) error { return os.Truncate(path, 0) },
	} {
		path := made(t)
		if err := lose(path); err != nil {
			t.Fatal(err)
		}
		for range 2 { // it stays refused
			_, err := sqlite.Open(t.Context(), path, nil)
			if err == nil || !strings.Contains(err.Error(), "the file is "+state+", but "+path+"-created says that there was a database: restore a backup, or delete") {
				t.Errorf("%s: open: %v", state, err)
			}
		}
		if info, err := os.Stat(path); state == "missing" && err == nil || state == "empty" && info.Size() != 0 {
			t.Errorf("%s: the file was changed: %v, %v", state, info, err)
		}
		if err := os.Remove(path + sqlite.Marker); err != nil {
			t.Fatal(err)
		}
		openAt(t, path, nil) // as a new one
	}
}

func TestOpen_AcceptsABackupInPlaceOfADatabaseThatWasLost(t *testing.T) {
	path := made(t)
	backup := path + ".backup"
	db := openAt(t, path, nil)
	if err := db.Backup(t.Context(), backup); err != nil {
		t.Fatal(err)
	}
	if err := db.Close(); err != nil {
		t.Fatal(err)
	}
	if err := os.Remove(path); err != nil {
		t.Fatal(err)
	}
	if err := os.WriteFile(path+"-wal", []byte("of the database that was lost"), 0o600); err != nil {
		t.Fatal(err)
	}
	if err := sqlite.Restore(t.Context(), backup, path); !errors.Is(err, fs.ErrExist) || !strings.Contains(err.Error(), path+"-wal") {
		t.Errorf("restoring beside the log of another database: %v", err)
	}
	if err := os.Remove(path + "-wal"); err != nil {
		t.Fatal(err)
	}
	if err := sqlite.Restore(t.Context(), backup, path); err != nil {
		t.Fatal(err)
	}
	if _, err := openAt(t, path, nil).Store("").Thread(t.Context(), "t"); err != nil {
		t.Error(err)
	}
}

// A database that an earlier version created has no marker.
func TestOpen_MarksADatabaseThatHasNoMarker(t *testing.T) {
	path := made(t)
	if err := os.Remove(path + sqlite.Marker); err != nil {
		t.Fatal(err)
	}
	db := openAt(t, path, nil)
	if _, err := db.Store("").Thread(t.Context(), "t"); err != nil {
		t.Error(err)
	}
	if _, err := os.Stat(path + sqlite.Marker); err != nil {
		t.Error(err)
	}
}

func TestOpen_CreatesAFileThatOnlyItsOwnerMayRead(t *testing.T) {
	if runtime.GOOS == "windows" {
		t.Skip("Windows has no modes of files")
	}
	path := made(t)
	for _, end := range []string{"", sqlite.Marker} {
		if info, err := os.Stat(path + end); err != nil || info.Mode().Perm() != 0o600 {
			t.Errorf("%s: %v, %v", path+end, info, err)
		}
	}
}

// SQLite keeps the log beside the file that the link names.
func TestOpen_FollowsALinkToADatabaseThatExistsOrNot(t *testing.T) {
	if runtime.GOOS == "windows" {
		t.Skip("Windows lets few users create links")
	}
	exists, dir := made(t), t.TempDir()
	for name, target := range map[string]string{"to.db": exists, "to-new.db": filepath.Join(t.TempDir(), "new.db"), "relative.db": "beside.db"} {
		link := filepath.Join(dir, name)
		if err := os.Symlink(target, link); err != nil {
			t.Fatal(err)
		}
		db := openAt(t, link, nil)
		if _, err := db.Store("").Acquire(t.Context(), "t"); err != nil {
			t.Error(err)
		}
		if err := os.Remove(link); err != nil {
			t.Fatal(err)
		}
		if err := db.Probe(t.Context()); err == nil {
			t.Errorf("%s: the link was deleted, and the database was not missed", name)
		}
	}
}

func TestOpen_ManyAtOnceCreateOneDatabase(t *testing.T) {
	for range 10 {
		path := filepath.Join(t.TempDir(), "awaken.db")
		var wg sync.WaitGroup
		for range 4 {
			wg.Go(func() {
				db, err := sqlite.Open(t.Context(), path, nil)
				if err != nil {
					t.Error(err)
					return
				}
				if _, err := db.Store("").Acquire(t.Context(), "t"); err != nil {
					t.Error(err)
				}
				if err := db.Close(); err != nil {
					t.Error(err)
				}
			})
		}
		wg.Wait()
	}
}
