package sqlite_test

import (
	"database/sql"
	"log/slog"
	"path/filepath"
	"strings"
	"testing"

	"github.com/awaken-go/awaken"
	"github.com/awaken-go/awaken/internal/testenv"
	"github.com/awaken-go/awaken/server/servertest"
	"github.com/awaken-go/awaken/store/sqlite"
	"github.com/awaken-go/awaken/store/storetest"
)

// another returns a function that opens a file as another process does.
func another(t *testing.T) func() awaken.Store {
	path := filepath.Join(t.TempDir(), "awaken.db")
	return func() awaken.Store {
		db, err := sqlite.Open(t.Context(), path, nil)
		if err != nil {
			t.Fatal(err)
		}
		t.Cleanup(func() {
			if err := db.Close(); err != nil {
				t.Error(err)
			}
		})
		return db.Store("tenant")
	}
}

func TestLogs_AreTheSameInEveryProcess(t *testing.T) {
	for seed := range uint64(3) {
		storetest.Logs(t, seed, testenv.Times(25, 60), another(t))
	}
}

func TestLogs_OfAThreadThatIsCreatedAnewAreNew(t *testing.T) { storetest.NewLogs(t, another(t)) }

func TestLogs_AreReadWhileTheyGrow(t *testing.T) { storetest.ReadTogether(t, open(t).Store("")) }

func TestLogs_AreReadFromSegments(t *testing.T) {
	path := filepath.Join(t.TempDir(), "awaken.db")
	open := func(logger *slog.Logger) awaken.Store {
		db, err := sqlite.Open(t.Context(), path, &sqlite.Options{Logger: logger})
		if err != nil {
			t.Fatal(err)
		}
		t.Cleanup(func() {
			if err := db.Close(); err != nil {
				t.Error(err)
			}
		})
		return db.Store("tenant")
	}
	open(nil)
	other, err := sql.Open("sqlite", "file:"+path+"?_pragma=busy_timeout(5000)")
	if err != nil {
		t.Fatal(err)
	}
	defer other.Close()
	storetest.Segments(t, open, func(query string) int64 {
		res, err := other.ExecContext(t.Context(), strings.ReplaceAll(query, "{p}", "awaken"))
		if err != nil {
			t.Fatal(err)
		}
		n, err := res.RowsAffected()
		if err != nil {
			t.Fatal(err)
		}
		return n
	})
}

func TestAcquire_CostsTheSameOnALongThread(t *testing.T) {
	db, _ := openFile(t)
	if err := db.Pragma("synchronous = OFF"); err != nil {
		t.Fatal(err)
	}
	storetest.LongAcquire(t, db.Store(""))
}

func TestPage_CostsTheSameOnALongThread(t *testing.T) {
	db, _ := openFile(t)
	storetest.LongPage(t, db.Store(""), servertest.Start(t, db).Page)
}
