//go:build unix

package crashtest

import (
	"context"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"sync"
	"sync/atomic"

	"github.com/awaken-go/awaken"
	"github.com/awaken-go/awaken/internal/testenv"
	"github.com/awaken-go/awaken/store/file"
	"github.com/awaken-go/awaken/store/postgres"
	"github.com/awaken-go/awaken/store/sqlite"
	"github.com/awaken-go/awaken/trace/timeline"
)

// store is what a crash test needs of a backend.
type store interface {
	awaken.Store
	awaken.EventLog
	timeline.Log
	Close() error
}

// backend is a store that survives its process.
type backend struct {
	own string // prefix of its own failpoints
	// place returns where a trial has its store; dir is for the trial alone.
	place func(dir string) (where string)
	open  func(where string) (store, error)
	// look returns where to find the same as at where, as it is now, so that looking
	// changes nothing that the next process finds. Nil is where itself.
	look func(where string) (string, error)
}

var backends = map[string]backend{
	"file": {
		own:   "file.",
		place: func(dir string) string { return filepath.Join(dir, "file") },
		open:  func(where string) (store, error) { return file.Open(where, nil) },
		look:  cloned,
	},
	"sqlite": {
		own:   "sqlite.",
		place: placeSQLite,
		open:  openSQLite,
		look:  cloned,
	},
	"postgres": {
		own:   "postgres.",
		place: func(string) string { return fmt.Sprintf("%s %d", database(), tenants.Add(1)) },
		open:  openPostgres,
	},
}

// cloned copies a folder to one beside it.
func cloned(where string) (string, error) {
	to, err := os.MkdirTemp(filepath.Dir(where), "look")
	if err != nil {
		return "", err
	}
	return to, os.CopyFS(to, os.DirFS(where))
}

type sqliteStore struct {
	*sqlite.Store
	db *sqlite.DB
}

func (s sqliteStore) Close() error { return s.db.Close() }

// blank is a database without threads. Trials begin with copies of it: to make its tables takes as long as a trial.
var blank = sync.OnceValues(func() (data []byte, err error) {
	dir, err := os.MkdirTemp("", "blank")
	if err != nil {
		return nil, err
	}
	defer os.RemoveAll(dir)
	s, err := openSQLite(dir)
	if err == nil {
		err = s.Close()
	}
	if err != nil {
		return nil, err
	}
	return os.ReadFile(filepath.Join(dir, sqliteFile))
})

const sqliteFile = "threads.db"

// placeSQLite makes the folder of a database without threads.
func placeSQLite(dir string) string {
	where := filepath.Join(dir, "sqlite")
	data, err := blank()
	if err == nil {
		err = os.MkdirAll(where, 0o700)
	}
	if err == nil {
		err = os.WriteFile(filepath.Join(where, sqliteFile), data, 0o600)
	}
	if err != nil {
		panic(err)
	}
	return where
}

func openSQLite(where string) (store, error) {
	if err := os.MkdirAll(where, 0o700); err != nil {
		return nil, err
	}
	db, err := sqlite.Open(context.Background(), filepath.Join(where, sqliteFile), nil)
	if err != nil {
		return nil, err
	}
	return sqliteStore{db.Store(""), db}, nil
}

// server is the PostgreSQL server of this test. All trials share one database of it,
// each as a tenant of its own: making a database takes longer than the trial.
var (
	server   *testenv.Postgres
	database = sync.OnceValue(func() string {
		url := server.Database()
		s, err := openPostgres(url)
		if err != nil {
			panic(err)
		}
		_ = s.Close()
		return url
	})
	tenants atomic.Int64
)

type postgresStore struct {
	*postgres.Store
	db *postgres.DB
}

func (s postgresStore) Close() error {
	s.db.Close()
	return nil
}

// openPostgres opens the store at a URL and a tenant.
func openPostgres(where string) (store, error) {
	url, tenant, _ := strings.Cut(where, " ")
	db, err := postgres.Open(context.Background(), url, nil)
	if err != nil {
		return nil, err
	}
	return postgresStore{db.Store(tenant), db}, nil
}
