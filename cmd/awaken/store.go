package main

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"io/fs"
	"log/slog"
	"os"
	"path/filepath"
	"strings"

	"github.com/spf13/cobra"

	"github.com/awaken-go/awaken"
	"github.com/awaken-go/awaken/store/sqlite"
)

const (
	storageEnv = "AWAKEN_STORAGE_DIR"
	storageDir = ".awaken" // unless the environment sets another
	storeName  = "awaken.db"
	inMemory   = "memory" // as --store: store nothing
)

// addStoreFlag adds the flag that selects the store.
func addStoreFlag(cmd *cobra.Command, store *string, usage string) {
	cmd.PersistentFlags().StringVar(store, "store", "", usage)
}

// storeFile returns the path of the store.
func storeFile(flag string) string {
	if flag != "" {
		return flag
	}
	return filepath.Join(cmp.Or(os.Getenv(storageEnv), storageDir), storeName)
}

// errNoStore reports a missing store.
var errNoStore = errors.New("the store does not exist; awaken run and awaken serve create it")

// openStore opens the store. If create is set, it creates a missing store, and the default
// folder, readable by the owner only.
func openStore(ctx context.Context, flag string, create bool) (*sqlite.DB, error) {
	if flag == inMemory {
		return nil, usageError("--store is %s, which stores nothing; for a file of that name write ./%s", flag, flag)
	}
	return openFile(ctx, storeFile(flag), create, flag == "", nil)
}

// openFile opens the store at path. If create is set, it creates a missing store, and if folder
// is set, its folder. Log may be nil.
func openFile(ctx context.Context, path string, create, folder bool, log *slog.Logger) (*sqlite.DB, error) {
	st, err := os.Stat(path)
	switch {
	case err == nil && st.IsDir():
		return nil, configError("store %s is a folder, want a file", path)
	case err == nil:
	case !errors.Is(err, fs.ErrNotExist):
		return nil, configError("store %w", err)
	case !create && !wasThere(path):
		return nil, configError("store %s: %w", path, errNoStore)
	case folder:
		if err := os.MkdirAll(filepath.Dir(path), 0o700); err != nil {
			return nil, configError("store %w", err)
		}
	}
	db, err := sqlite.Open(ctx, path, &sqlite.Options{Logger: log})
	if err != nil {
		return nil, configError("store %s: %w", path, trimmed(err))
	}
	return db, nil
}

// wasThere reports whether there was a store at path. If it is missing, opening it says so.
func wasThere(path string) bool {
	_, err := os.Stat(path + sqlite.Marker)
	return err == nil
}

// trimmed removes the package name from an error message.
func trimmed(err error) error {
	if text, ok := strings.CutPrefix(err.Error(), "sqlite: "); ok {
		return &rewordedError{text, err}
	}
	return err
}

// rewordedError is an error with another message.
type rewordedError struct {
	text string
	err  error
}

func (e *rewordedError) Error() string { return e.text }
func (e *rewordedError) Unwrap() error { return e.err }

// closing closes db in a deferred call. It sets *err if closing fails and *err is nil.
func closing(db *sqlite.DB, err *error) {
	if closeErr := db.Close(); closeErr != nil && *err == nil {
		*err = failed(closeErr)
	}
}

// newestThread returns the thread that was used last, ignoring the threads of subagents.
func newestThread(ctx context.Context, store awaken.Store) (*awaken.Thread, error) {
	for t, err := range awaken.Pages(ctx, 50, func(ctx context.Context, offset, limit int) ([]*awaken.Thread, error) {
		return store.ListThreads(ctx, awaken.ThreadQuery{Offset: offset, Limit: limit})
	}) {
		if err != nil {
			return nil, err
		}
		if t.MessageCount == 0 && t.LatestRunID == "" {
			continue // it has no messages and no runs
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
	return nil, fmt.Errorf("%w: no thread to continue", awaken.ErrNotFound)
}
