package main

import (
	"context"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"time"

	"github.com/spf13/cobra"

	"github.com/awaken-go/awaken/internal/ids"
	"github.com/awaken-go/awaken/store/sqlite"
)

func backupCommand(con *console) *cobra.Command {
	t := &threadTool{con: con}
	cmd := &cobra.Command{
		Use:   "backup FILE",
		Short: "Copy the store to a new file",
		Args:  cobra.ExactArgs(1),
		RunE: func(cmd *cobra.Command, args []string) (err error) {
			db, err := openStore(cmd.Context(), t.store, false)
			if err != nil {
				return err
			}
			defer closing(db, &err)
			if err := db.Backup(cmd.Context(), args[0]); err != nil {
				return fileError(err)
			}
			return withStatus(os.Chmod(args[0], 0o600)) // it holds conversations
		},
	}
	addStoreFlag(cmd, &t.store, "`file` that stores the threads")
	return cmd
}

func restoreCommand(con *console) *cobra.Command {
	t := &threadTool{con: con}
	var force bool
	cmd := &cobra.Command{
		Use:   "restore FILE",
		Short: "Restore the store from a backup",
		Long: `Restore the store from a backup. No other process may use the store at that time. The command
does not overwrite an existing store; --force moves it aside.

Runs that are unfinished in the backup may have continued since it was made. They wait as
"restored" until 'awaken release' releases them, and the outcome of their open calls is in
doubt.`,
		Args: cobra.ExactArgs(1),
		RunE: func(cmd *cobra.Command, args []string) error {
			return t.restore(cmd.Context(), args[0], force)
		},
	}
	addStoreFlag(cmd, &t.store, "`file` that stores the threads")
	cmd.Flags().BoolVar(&force, "force", false, "move an existing store aside")
	return cmd
}

// restore restores the store from a backup. It copies and checks the backup before it moves
// the old store.
func (t *threadTool) restore(ctx context.Context, backup string, force bool) error {
	if t.store == inMemory {
		return usageError("--store is memory, want a file")
	}
	if st, err := os.Stat(backup); err == nil && st.Size() == 0 {
		return configError("restore %s: the file is empty", backup) // SQLite would accept it as an empty database
	}
	path := storeFile(t.store)
	_, err := os.Lstat(path)
	there := err == nil
	if there && !force {
		return configError("store %s already exists; --force moves it aside", path)
	}
	if t.store == "" {
		if err := os.MkdirAll(filepath.Dir(path), 0o700); err != nil {
			return configError("store %w", err)
		}
	}
	made := fmt.Sprintf("%s.restored-%s", path, ids.New())
	defer removeStore(made) // unless it was moved
	if err := sqlite.Restore(ctx, backup, made); err != nil {
		return fileError(err)
	}
	if err := os.Chmod(made, 0o600); err != nil {
		return failed(err)
	}
	db, err := sqlite.Open(ctx, made, nil) // checks that it is usable, and updates its schema
	if err != nil {
		return configError("restore %s: %w", backup, trimmed(err))
	}
	mark, n, err := markRestored(ctx, backendOf(db))
	if err := errors.Join(err, db.Close()); err != nil {
		return failed(err)
	}
	aside := fmt.Sprintf("%s.old-%s", path, time.Now().Format("20060102-150405"))
	if there {
		if old, err := sqlite.Open(ctx, path, nil); err == nil {
			_ = old.Close() // the write-ahead log is merged now; a store that cannot be opened is moved as it is
		}
		if err := moveStore(path, aside); err != nil {
			return failed(err)
		}
		fmt.Fprintf(t.con.err, "The old store is now %s.\n", printable(aside, false))
	}
	// SQLite would take the log that a lost store left for one of the restored store.
	if err := moveLog(path, aside); err != nil {
		return failed(err)
	}
	if err := moveStore(made, path); err != nil {
		return failed(err)
	}
	t.con.sayRestored(mark, n)
	return nil
}

// logFiles are the suffixes of the files that SQLite may keep beside a database. The first may
// hold the latest commits.
var logFiles = []string{"-wal", "-shm"}

// moveStore renames a database; the new name must be free. It moves the log first: without it, a
// database would lose its latest commits.
func moveStore(from, to string) error {
	if _, err := os.Lstat(to); err == nil {
		return fmt.Errorf("move %s to %s: %w", from, to, fs.ErrExist)
	}
	if err := moveLog(from, to); err != nil {
		return err
	}
	if err := os.Rename(from, to); err != nil {
		return err
	}
	return renameIfThere(from+sqlite.Marker, to+sqlite.Marker)
}

// moveLog renames the log of a database.
func moveLog(from, to string) error {
	for _, end := range logFiles {
		if err := renameIfThere(from+end, to+end); err != nil {
			return err
		}
	}
	return nil
}

func renameIfThere(from, to string) error {
	if err := os.Rename(from, to); !errors.Is(err, fs.ErrNotExist) {
		return err
	}
	return nil
}

// removeStore removes a database that is no longer needed.
func removeStore(path string) {
	for _, end := range append(logFiles, "", sqlite.Marker) {
		_ = os.Remove(path + end) // usually missing
	}
}
