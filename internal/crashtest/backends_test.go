package crashtest

import (
	"context"
	"path/filepath"
	"testing"

	"github.com/awaken-go/awaken/store/sqlite"
)

// backends are the stores that survive their process.
var backends = map[string]backend{
	"sqlite": {
		own:   "sqlite.",
		place: func(_ *testing.T, dir string) string { return filepath.Join(dir, "threads.db") },
		open: func(where string) (store, error) {
			db, err := sqlite.Open(context.Background(), where, nil)
			if err != nil {
				return nil, err
			}
			return sqliteStore{db.Store(""), db}, nil
		},
	},
}

type sqliteStore struct {
	*sqlite.Store
	db *sqlite.DB
}

func (s sqliteStore) Close() error { return s.db.Close() }
