package postgres_test

import (
	"fmt"
	"log/slog"
	"strings"
	"testing"

	"github.com/jackc/pgx/v5/pgxpool"

	"github.com/awaken-go/awaken"
	"github.com/awaken-go/awaken/internal/testenv"
	"github.com/awaken-go/awaken/server/servertest"
	"github.com/awaken-go/awaken/store/postgres"
	"github.com/awaken-go/awaken/store/storetest"
)

// another returns a function that opens a database as another process does. Settings are added to its
// URL.
func another(t *testing.T, settings string) func() awaken.Store {
	prefix := tables(t)
	return func() awaken.Store {
		return openAt(t, shared()+settings, &postgres.Options{Prefix: prefix}).Store("tenant")
	}
}

func TestLogs_AreTheSameInEveryProcess(t *testing.T) {
	for seed, settings := range []string{"", "", "&default_query_exec_mode=exec", "&default_query_exec_mode=simple_protocol"} {
		storetest.Logs(t, uint64(seed), testenv.Times(25, 60), another(t, settings))
	}
}

func TestLogs_OfAThreadThatIsCreatedAnewAreNew(t *testing.T) { storetest.NewLogs(t, another(t, "")) }

func TestLogs_AreReadWhileTheyGrow(t *testing.T) { storetest.ReadTogether(t, open(t).Store("")) }

func TestLogs_AreReadFromSegments(t *testing.T) {
	prefix := fmt.Sprintf("test%d", sharedTest.Add(1))
	pool, err := pgxpool.New(t.Context(), shared())
	if err != nil {
		t.Fatal(err)
	}
	defer pool.Close()
	storetest.Segments(t, func(logger *slog.Logger) awaken.Store {
		return openAt(t, shared(), &postgres.Options{Prefix: prefix, Logger: logger}).Store("tenant")
	}, func(query string) int64 {
		tag, err := pool.Exec(t.Context(), strings.ReplaceAll(query, "{p}", prefix))
		if err != nil {
			t.Fatal(err)
		}
		return tag.RowsAffected()
	})
}

func TestAcquire_CostsTheSameOnALongThread(t *testing.T) {
	storetest.LongAcquire(t, open(t).Store(""))
}

func TestPage_CostsTheSameOnALongThread(t *testing.T) {
	db := open(t)
	storetest.LongPage(t, db.Store(""), servertest.Start(t, db).Page)
}
