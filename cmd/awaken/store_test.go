package main

import (
	"os"
	"path/filepath"
	"runtime"
	"testing"
)

// Other users of the machine cannot read the store.
func TestOpenStore_IsPrivate(t *testing.T) {
	if runtime.GOOS == "windows" {
		t.Skip("no modes")
	}
	dir := filepath.Join(t.TempDir(), "a", "b")
	t.Setenv(storageEnv, dir)
	db, err := openStore(t.Context(), "", true)
	if err != nil {
		t.Fatal(err)
	}
	defer db.Close()
	if _, err := db.Store("").Acquire(t.Context(), "t1"); err != nil { // so that there is a log
		t.Fatal(err)
	}
	for path, want := range map[string]os.FileMode{dir: 0o700, filepath.Join(dir, storeName): 0o600, filepath.Join(dir, storeName+"-wal"): 0o600} {
		st, err := os.Stat(path)
		if err != nil {
			t.Fatal(err)
		}
		if got := st.Mode().Perm(); got != want {
			t.Errorf("%s has mode %o, want %o", path, got, want)
		}
	}
}

// The write-ahead log moves with the database, and nothing is replaced.
func TestMoveStore(t *testing.T) {
	dir := t.TempDir()
	write := func(name string) string {
		t.Helper()
		path := filepath.Join(dir, name)
		if err := os.WriteFile(path, []byte(name), 0o600); err != nil {
			t.Fatal(err)
		}
		return path
	}
	from, to := write("a.db"), filepath.Join(dir, "b.db")
	write("a.db-wal")
	if err := moveStore(from, to); err != nil {
		t.Fatal(err)
	}
	for name, want := range map[string]string{"b.db": "a.db", "b.db-wal": "a.db-wal"} {
		if got, err := os.ReadFile(filepath.Join(dir, name)); err != nil || string(got) != want {
			t.Errorf("%s holds %q, %v", name, got, err)
		}
	}
	write("a.db")
	if err := moveStore(from, to); err == nil {
		t.Error("a file was replaced")
	}
}
