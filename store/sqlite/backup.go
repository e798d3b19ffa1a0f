package sqlite

import (
	"context"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
)

// Backup copies a snapshot of the database to a new file at path, which only its owner may
// read. Reads and writes continue meanwhile. Backup refuses to overwrite a file, and leaves
// none behind if it fails.
func (db *DB) Backup(ctx context.Context, path string) error {
	c, err := db.database.connect(ctx)
	if err != nil {
		return fmt.Errorf("sqlite: backup %s: %w", db.database.path, err)
	}
	defer c.close()
	if err := copyInto(ctx, c, path); err != nil {
		return fmt.Errorf("sqlite: backup %s to %s: %w", db.database.path, path, err)
	}
	return nil
}

// Restore creates a database at path from a backup. It refuses to overwrite a file, also the log
// of a database that was lost, and refuses a damaged backup and a database of another program.
// Open migrates an older schema.
func Restore(ctx context.Context, backup, path string) error {
	fail := func(err error) error { return fmt.Errorf("sqlite: restore %s to %s: %w", backup, path, err) }
	if _, err := os.Stat(backup); err != nil {
		return fail(err) // opening would create it
	}
	abs, err := filepath.Abs(backup)
	if err != nil {
		return fail(err)
	}
	pool, err := openReadOnly(abs)
	if err != nil {
		return fail(err)
	}
	defer pool.Close()
	db := &database{path: abs, sql: pool}
	c, err := db.connect(ctx)
	if err != nil {
		return fail(err)
	}
	defer c.close()
	if err := ours(ctx, c); err != nil {
		return fail(err)
	}
	var verdict string
	if err := c.c.QueryRowContext(ctx, "PRAGMA integrity_check(1)").Scan(&verdict); err != nil {
		return fail(err)
	}
	if verdict != "ok" {
		return fail(fmt.Errorf("the backup is damaged: %s", verdict))
	}
	if err := copyInto(ctx, c, path); err != nil {
		return fail(err)
	}
	return nil
}

// copyInto copies the database of a connection to path. The copy is complete and synced
// before it gets its name.
func copyInto(ctx context.Context, c *conn, path string) (err error) {
	// SQLite would take a log that another database left for one of the copy.
	for _, name := range []string{path, path + "-wal", path + "-shm"} {
		if _, err := os.Lstat(name); !errors.Is(err, fs.ErrNotExist) {
			if err == nil {
				err = &fs.PathError{Op: "create", Path: name, Err: fs.ErrExist}
			}
			return err
		}
	}
	dir, err := os.MkdirTemp(filepath.Dir(path), ".awaken-copy-*")
	if err != nil {
		return err
	}
	defer func() { err = errors.Join(err, os.RemoveAll(dir)) }()
	tmp := filepath.Join(dir, "copy.db")
	if _, err := c.c.ExecContext(ctx, "VACUUM INTO ?", tmp); err != nil {
		return err
	}
	if err := os.Chmod(tmp, 0o600); err != nil { // until then the folder protects it
		return err
	}
	if err := syncFile(tmp); err != nil {
		return err
	}
	if err := os.Link(tmp, path); err != nil { // unlike a rename, it never replaces a file
		return err
	}
	return syncFile(filepath.Dir(path))
}

func syncFile(path string) error {
	f, err := os.Open(path)
	if err != nil {
		return err
	}
	return errors.Join(f.Sync(), f.Close())
}
