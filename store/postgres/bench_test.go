package postgres_test

import (
	"context"
	"fmt"
	"testing"

	"github.com/jackc/pgx/v5"
	"github.com/jackc/pgx/v5/pgxpool"

	"github.com/awaken-go/awaken"
	"github.com/awaken-go/awaken/internal/testenv"
	"github.com/awaken-go/awaken/server/servertest"
	"github.com/awaken-go/awaken/store/storetest"
)

// rawCommit creates the tables of the raw twin. A step is one statement, hence one round
// trip.
func rawCommit(tb testing.TB, url string) storetest.RawCommit {
	tb.Helper()
	pool, err := pgxpool.New(context.Background(), url)
	if err != nil {
		tb.Fatal(err)
	}
	tb.Cleanup(pool.Close)
	if _, err := pool.Exec(context.Background(), `CREATE TABLE raw_threads (id text COLLATE "C" PRIMARY KEY, revision bigint NOT NULL) WITH (fillfactor = 70);
		CREATE TABLE raw_messages (thread text COLLATE "C", seq bigint, data text, PRIMARY KEY (thread, seq));
		CREATE TABLE raw_runs (thread text COLLATE "C" PRIMARY KEY, data text) WITH (fillfactor = 70);
		CREATE TABLE raw_calls (thread text COLLATE "C", seq bigint, data text, PRIMARY KEY (thread, seq));
		CREATE TABLE raw_events (thread text COLLATE "C", seq bigint, data text, PRIMARY KEY (thread, seq))`); err != nil {
		tb.Fatal(err)
	}
	return func(thread string, from int, msgs []string, more *storetest.RawMore) error {
		// The revision is the number of messages.
		guard := `UPDATE raw_threads SET revision = revision + cardinality($3::text[]) WHERE id = $1 AND revision = $2 RETURNING 1`
		if from == 0 {
			guard = `INSERT INTO raw_threads SELECT $1, $2::bigint + cardinality($3::text[]) RETURNING 1`
		}
		args, others := []any{thread, from, msgs}, ""
		if more != nil {
			args = append(args, more.Run, more.Call, more.Events)
			others = `, r AS (INSERT INTO raw_runs SELECT $1, $4::text FROM t ON CONFLICT (thread) DO UPDATE SET data = excluded.data),
				c AS (INSERT INTO raw_calls SELECT $1, $2, $5::text FROM t WHERE $5::text IS NOT NULL),
				e AS (INSERT INTO raw_events SELECT $1, $2, $6::text FROM t)`
		}
		tag, err := pool.Exec(context.Background(), `WITH t AS (`+guard+`)`+others+` INSERT INTO raw_messages
			SELECT $1, $2 + m.n, m.data FROM t, unnest($3::text[]) WITH ORDINALITY AS m (data, n)`, args...)
		if err == nil && tag.RowsAffected() != int64(len(msgs)) {
			err = fmt.Errorf("thread %s changed", thread)
		}
		return err
	}
}

// benchServer starts a server that syncs commits, unlike the server of the tests.
func benchServer(b *testing.B) string {
	b.Helper()
	server, err := testenv.StartPostgres("fsync=on", "synchronous_commit=on", "full_page_writes=on", "autovacuum=on", "max_wal_size=4GB")
	if err != nil {
		b.Fatal(err)
	}
	b.Cleanup(func() {
		if err := server.Stop(); err != nil {
			b.Error(err)
		}
	})
	return server.Database()
}

func beside(b *testing.B) storetest.Beside {
	server := benchServer(b)
	url := server + "&pool_max_conns=16"
	look, err := pgx.Connect(b.Context(), server)
	if err != nil {
		b.Fatal(err)
	}
	b.Cleanup(func() { look.Close(context.Background()) })
	return storetest.Beside{Store: openAt(b, url, nil).Store(""), Raw: rawCommit(b, url), Transactions: func() int64 { return number(b, look, transactions) }}
}

func BenchmarkW7(b *testing.B) { storetest.BenchmarkW7(b, 20, 1, beside) }

// W7c is W7 with 32 concurrent runs.
func BenchmarkW7c(b *testing.B) { storetest.BenchmarkW7(b, 128, 32, beside) }

// BenchmarkLong compares a thread of 10,000 turns with one of 10.
func BenchmarkLong(b *testing.B) {
	storetest.BenchmarkLong(b, openAt(b, benchServer(b), nil).Store(""))
}

// W4d opens the database again as another process would.
func BenchmarkW4d(b *testing.B) {
	url := benchServer(b)
	storetest.BenchmarkW4d(b, func(b *testing.B) awaken.Store { return openAt(b, url, nil).Store("") })
}

func BenchmarkW4dPage(b *testing.B) {
	db := openAt(b, benchServer(b), nil)
	storetest.BenchmarkW4dPage(b, db.Store(""), servertest.Start(b, db).Page)
}
