package main

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"strings"

	"github.com/spf13/cobra"

	"github.com/awaken-go/awaken"
	"github.com/awaken-go/awaken/store/sqlite"
)

const (
	storageEnv = "AWAKEN_STORAGE_DIR"
	storageDir = ".awaken" // unless the environment says otherwise
	storeName  = "awaken.db"
	inMemory   = "memory" // as --store: keep nothing
)

// addStoreFlag adds the flag that chooses where threads are kept.
func addStoreFlag(cmd *cobra.Command, store *string, usage string) {
	cmd.PersistentFlags().StringVar(store, "store", "", usage)
}

// storeFile is the file that holds the threads.
func storeFile(flag string) string {
	if flag != "" {
		return flag
	}
	return filepath.Join(cmp.Or(os.Getenv(storageEnv), storageDir), storeName)
}

// errNoStore says that there is no file yet.
var errNoStore = errors.New("there is no store yet; awaken run and awaken serve make one")

// openStore opens the file that holds the threads. If create, it is made when it is
// missing, readable for its owner only, and so is the default folder.
func openStore(ctx context.Context, flag string, create bool) (*sqlite.DB, error) {
	if flag == inMemory {
		return nil, usageError("--store is %s, and nothing is kept there; for a file of that name write ./%s", flag, flag)
	}
	return openFile(ctx, storeFile(flag), create, flag == "")
}

// openFile opens a store. If create, it is made when it is missing, and if folder, so is
// the folder that it is in.
func openFile(ctx context.Context, path string, create, folder bool) (*sqlite.DB, error) {
	st, err := os.Stat(path)
	switch {
	case err == nil && st.IsDir():
		return nil, configError("store %s: is a folder, want a file", path)
	case err == nil:
	case !errors.Is(err, fs.ErrNotExist):
		return nil, configError("store %w", err)
	case !create:
		return nil, configError("store %s: %w", path, errNoStore)
	default:
		if err := createStore(path, folder); err != nil {
			return nil, configError("store %w", err)
		}
	}
	db, err := sqlite.Open(ctx, path, nil)
	if err != nil {
		return nil, configError("store %s: %w", path, trimmed(err))
	}
	return db, nil
}

// createStore makes an empty file: SQLite takes it for a database, and gives the files
// that it puts beside it the same mode.
func createStore(path string, folder bool) error {
	if folder {
		if err := os.MkdirAll(filepath.Dir(path), 0o700); err != nil {
			return err
		}
	}
	f, err := os.OpenFile(path, os.O_RDWR|os.O_CREATE, 0o600)
	if err != nil {
		return err
	}
	return f.Close()
}

// trimmed takes the package's name off an error for people.
func trimmed(err error) error {
	if text, ok := strings.CutPrefix(err.Error(), "sqlite: "); ok {
		return &told{text, err}
	}
	return err
}

// told is an error in other words.
type told struct {
	text string
	err  error
}

func (e *told) Error() string { return e.text }
func (e *told) Unwrap() error { return e.err }

// closing closes db, and is for a deferred call: if nothing else went wrong, what goes
// wrong with closing is returned.
func closing(db *sqlite.DB, err *error) {
	if closeErr := db.Close(); closeErr != nil && *err == nil {
		*err = failed(closeErr)
	}
}

// newestThread returns the thread that was used last, leaving out those of agents that
// other agents called.
func newestThread(ctx context.Context, store awaken.Store) (*awaken.Thread, error) {
	for t, err := range awaken.Pages(ctx, 50, func(ctx context.Context, offset, limit int) ([]*awaken.Thread, error) {
		return store.ListThreads(ctx, awaken.ThreadQuery{Offset: offset, Limit: limit})
	}) {
		if err != nil {
			return nil, err
		}
		if t.MessageCount == 0 && t.LatestRunID == "" {
			continue // nothing was ever said
		}
		if t.LatestRunID != "" {
			run, err := store.LoadRun(ctx, t.LatestRunID)
			if err != nil {
				return nil, err
			}
			if run.Origin == "subagent" {
				continue
			}
		}
		return t, nil
	}
	return nil, fmt.Errorf("thread: %w: there is none to go on with yet", awaken.ErrNotFound)
}
