package sqlite_test

import (
	"bytes"
	"database/sql"
	"errors"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/awaken-go/awaken/store/internal/sqlstore"
	"github.com/awaken-go/awaken/store/sqlite"
)

// execute executes SQL on a file without the store.
func execute(t *testing.T, path, text string) {
	t.Helper()
	pool, err := sql.Open("sqlite", "file:"+path)
	if err != nil {
		t.Fatal(err)
	}
	defer pool.Close()
	if _, err := pool.Exec(text); err != nil {
		t.Fatal(err)
	}
}

func TestOpen_RefusesTheFileOfAnotherProgram(t *testing.T) {
	for name, text := range map[string]string{
		"tables":         `CREATE TABLE bookmarks (url TEXT); INSERT INTO bookmarks VALUES ('x')`,
		"application_id": `PRAGMA application_id = 1234; CREATE TABLE fossil (x)`,
		"schema":         `CREATE TABLE rails_schema (version TEXT)`,
	} {
		path := filepath.Join(t.TempDir(), "other.db")
		execute(t, path, text)
		before, err := os.ReadFile(path)
		if err != nil {
			t.Fatal(err)
		}
		_, err = sqlite.Open(t.Context(), path, nil)
		if err == nil || !strings.Contains(err.Error(), path+" is a database of another program") {
			t.Errorf("%s: open: %v", name, err)
		}
		err = sqlite.Restore(t.Context(), path, filepath.Join(t.TempDir(), "restored.db"))
		if err == nil || !strings.Contains(err.Error(), path+" is a database of another program") {
			t.Errorf("%s: restore: %v", name, err)
		}
		if after, err := os.ReadFile(path); err != nil || !bytes.Equal(before, after) {
			t.Errorf("%s: the file was changed, %v", name, err)
		}
	}
}

func TestOpen_RefusesANewerSchema(t *testing.T) {
	path := filepath.Join(t.TempDir(), "awaken.db")
	db, err := sqlite.Open(t.Context(), path, nil)
	if err != nil {
		t.Fatal(err)
	}
	if err := db.Close(); err != nil {
		t.Fatal(err)
	}
	execute(t, path, `INSERT INTO awaken_schema VALUES (1000, '1000_future.sql', 'x', 0)`)
	if _, err := sqlite.Open(t.Context(), path, nil); err == nil || !strings.Contains(err.Error(), "version 1000") {
		t.Errorf("open: %v", err)
	}
}

// A database of an unreleased version is refused with a text that says how to export, and is not changed.
func TestOpen_RefusesAnUnreleasedSchema(t *testing.T) {
	for name, table := range map[string]string{
		"without digests": `CREATE TABLE awaken_schema (version INTEGER PRIMARY KEY, name TEXT NOT NULL, applied INTEGER NOT NULL);
			INSERT INTO awaken_schema VALUES (1, '0001_init.sql', 0), (2, '0002_mailbox.sql', 0)`,
		"another digest": `CREATE TABLE awaken_schema (version INTEGER PRIMARY KEY, name TEXT NOT NULL, digest TEXT NOT NULL, applied INTEGER NOT NULL);
			INSERT INTO awaken_schema VALUES (1, '0001_tables.sql', 'other', 0)`,
	} {
		path := filepath.Join(t.TempDir(), "awaken.db")
		execute(t, path, table)
		_, err := sqlite.Open(t.Context(), path, nil)
		if _, ok := errors.AsType[*sqlstore.OtherSchemaError](err); !ok || !strings.Contains(err.Error(), "awaken threads export ID") {
			t.Errorf("%s: open: %v, want an error that says how to export", name, err)
		}
		execute(t, path, `SELECT version FROM awaken_schema; DROP TABLE awaken_schema; CREATE TABLE awaken_threads (id TEXT)`) // fails if that was made
	}
}

// Different prefixes can share a file, and an empty file that this program marked opens.
func TestOpen_AcceptsItsOwnFile(t *testing.T) {
	path := filepath.Join(t.TempDir(), "awaken.db")
	for _, prefix := range []string{"one", "two", "one"} {
		db, err := sqlite.Open(t.Context(), path, &sqlite.Options{Prefix: prefix})
		if err != nil {
			t.Fatal(err)
		}
		if err := db.Close(); err != nil {
			t.Fatal(err)
		}
	}
	execute(t, path, `PRAGMA application_id = 0`) // as in versions that did not mark files
	db, err := sqlite.Open(t.Context(), path, &sqlite.Options{Prefix: "one"})
	if err != nil {
		t.Fatal(err)
	}
	if err := db.Close(); err != nil {
		t.Fatal(err)
	}
}

func TestBackup_IsPrivateAndRestores(t *testing.T) {
	db, _ := openFile(t)
	if _, err := db.Store("").Acquire(t.Context(), "t"); err != nil {
		t.Fatal(err)
	}
	dir := t.TempDir()
	if err := db.Backup(t.Context(), dir+"/backup.db"); err != nil {
		t.Fatal(err)
	}
	if err := sqlite.Restore(t.Context(), dir+"/backup.db", dir+"/restored.db"); err != nil {
		t.Fatal(err)
	}
	for _, name := range []string{"/backup.db", "/restored.db"} {
		if info, err := os.Stat(dir + name); err != nil || info.Mode().Perm() != 0o600 {
			t.Errorf("%s: %v, %v", name, info.Mode(), err)
		}
	}
	restored, err := sqlite.Open(t.Context(), dir+"/restored.db", nil)
	if err != nil {
		t.Fatal(err)
	}
	defer restored.Close()
	if _, err := restored.Store("").Thread(t.Context(), "t"); err != nil {
		t.Error(err)
	}
}
