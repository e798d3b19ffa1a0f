package rigtest

import (
	"context"
	"path/filepath"
	"testing"

	"github.com/awaken-go/awaken/automate/webhook"
	"github.com/awaken-go/awaken/config"
	"github.com/awaken-go/awaken/eventlog/changelog"
	"github.com/awaken-go/awaken/internal/testenv"
	"github.com/awaken-go/awaken/limit"
	"github.com/awaken-go/awaken/mailbox"
	"github.com/awaken-go/awaken/state/profile"
	"github.com/awaken-go/awaken/store/postgres"
	"github.com/awaken-go/awaken/store/sqlite"
)

// The kinds of databases that several processes can share.
const (
	SQLite   = "sqlite"
	Postgres = "postgres"
)

// Kinds lists the kinds of databases.
var Kinds = []string{SQLite, Postgres}

// Sample returns all kinds in long tests, and kind alone in short ones. The tests of a suite name different ones.
func Sample(kind string) []string {
	if testenv.Long() {
		return Kinds
	}
	return []string{kind}
}

// Store is the place of a database. It is JSON for jobs.
type Store struct {
	Kind  string
	Where string // its file or URL
}

// NewStore returns a place without a database. Only a store of the kind Postgres needs a server.
func NewStore(tb testing.TB, kind string, server *testenv.Postgres) Store {
	tb.Helper()
	switch kind {
	case SQLite:
		return Store{kind, filepath.Join(tb.TempDir(), "awaken.db")}
	case Postgres:
		return Store{kind, server.Database()}
	}
	tb.Fatalf("kind of store %q is not known; known: %q", kind, Kinds)
	return Store{}
}

// Flags returns the flags with which a program uses the store.
func (s Store) Flags() []string {
	if s.Kind == Postgres {
		return []string{"--database", s.Where}
	}
	return []string{"--storage-dir", filepath.Dir(s.Where)}
}

// Database is an open database.
type Database interface {
	mailbox.Queue
	Tenants(ctx context.Context) ([]string, error)
	Profile(tenant string) profile.Store
	Config() config.Store
	Limits() limit.Store
	Hooks() webhook.Store
	Endpoints() webhook.EndpointStore
	Changes() changelog.Store
	Close() error
}

// Open opens the database, and makes one if there is none.
func (s Store) Open(ctx context.Context) (Database, error) {
	if s.Kind == Postgres {
		db, err := postgres.Open(ctx, s.Where, nil)
		if err != nil {
			return nil, err
		}
		return postgresDB{db}, nil
	}
	db, err := sqlite.Open(ctx, s.Where, nil)
	if err != nil {
		return nil, err
	}
	return db, nil
}

// postgresDB closes as other databases do.
type postgresDB struct{ *postgres.DB }

func (db postgresDB) Close() error {
	db.DB.Close()
	return nil
}

// Use opens the database until the end of the test.
func (s Store) Use(tb testing.TB) Database {
	tb.Helper()
	db, err := s.Open(tb.Context())
	if err != nil {
		tb.Fatal(err)
	}
	tb.Cleanup(func() {
		if err := db.Close(); err != nil {
			tb.Error(err)
		}
	})
	return db
}
