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
		Short: "Copy the store, as it is now, to a new file",
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
	addStoreFlag(cmd, &t.store, "`file` that keeps the threads")
	return cmd
}

func restoreCommand(con *console) *cobra.Command {
	t := &threadTool{con: con}
	var force bool
	cmd := &cobra.Command{
		Use:   "restore FILE",
		Short: "Make the store from a backup",
		Long: `Make the store from a backup. Nothing else may use the store meanwhile. A store that is
there is not touched, unless --force moves it aside.`,
		Args: cobra.ExactArgs(1),
		RunE: func(cmd *cobra.Command, args []string) error {
			return t.restore(cmd.Context(), args[0], force)
		},
	}
	addStoreFlag(cmd, &t.store, "`file` that keeps the threads")
	cmd.Flags().BoolVar(&force, "force", false, "move a store that is there aside")
	return cmd
}

// restore makes the store from a backup. The backup is complete and checked before the
// old store is moved.
func (t *threadTool) restore(ctx context.Context, backup string, force bool) error {
	if t.store == inMemory {
		return usageError("--store is memory, want a file")
	}
	if st, err := os.Stat(backup); err == nil && st.Size() == 0 {
		return configError("restore %s: the file is empty", backup) // SQLite would take it for a database
	}
	path := storeFile(t.store)
	_, err := os.Lstat(path)
	there := err == nil
	if there && !force {
		return configError("store %s: exists already; --force moves it aside", path)
	}
	if t.store == "" {
		if err := os.MkdirAll(filepath.Dir(path), 0o700); err != nil {
			return configError("store %w", err)
		}
	}
	made := fmt.Sprintf("%s.restored-%s", path, ids.New())
	defer removeStore(made) // unless it has moved
	if err := sqlite.Restore(ctx, backup, made); err != nil {
		return fileError(err)
	}
	if err := os.Chmod(made, 0o600); err != nil {
		return failed(err)
	}
	db, err := sqlite.Open(ctx, made, nil) // it can be used, and its schema is up to date
	if err != nil {
		return configError("restore %s: %w", backup, trimmed(err))
	}
	if err := db.Close(); err != nil {
		return failed(err)
	}
	if there {
		if old, err := sqlite.Open(ctx, path, nil); err == nil {
			_ = old.Close() // its write-ahead log is in it now; what cannot be opened is moved as it is
		}
		aside := fmt.Sprintf("%s.old-%s", path, time.Now().Format("20060102-150405"))
		if err := moveStore(path, aside); err != nil {
			return failed(err)
		}
		fmt.Fprintf(t.con.err, "The old store is now %s.\n", printable(aside, false))
	}
	return withStatus(moveStore(made, path))
}

// walFiles are what SQLite may put beside a database, by the ends of their names. What
// was committed last may be in the first of them.
var walFiles = []string{"-wal", "-shm"}

// moveStore gives a database another name, which must be free. The write-ahead log goes
// first: a database without its log would be an older one.
func moveStore(from, to string) error {
	if _, err := os.Lstat(to); err == nil {
		return fmt.Errorf("move %s to %s: %w", from, to, fs.ErrExist)
	}
	for _, end := range append(walFiles, "") {
		if err := os.Rename(from+end, to+end); err != nil && !(end != "" && errors.Is(err, fs.ErrNotExist)) {
			return err
		}
	}
	return nil
}

// removeStore removes a database that is not needed any more.
func removeStore(path string) {
	for _, end := range append(walFiles, "") {
		_ = os.Remove(path + end) // most often it is not there
	}
}
