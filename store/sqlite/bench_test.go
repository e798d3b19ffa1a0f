package sqlite_test

import (
	"database/sql"
	"errors"
	"fmt"
	"path/filepath"
	"sync"
	"testing"

	"github.com/awaken-go/awaken"
	"github.com/awaken-go/awaken/server/servertest"
	"github.com/awaken-go/awaken/store/storetest"
)

// rawCommit opens a database with the same settings and prepares the statements of the raw
// twin.
func rawCommit(tb testing.TB) storetest.RawCommit {
	tb.Helper()
	pool, err := sql.Open("sqlite", "file:"+filepath.Join(tb.TempDir(), "raw.db")+"?_pragma=busy_timeout(5000)&_pragma=journal_mode(WAL)&_pragma=synchronous(FULL)&_txlock=immediate")
	if err != nil {
		tb.Fatal(err)
	}
	tb.Cleanup(func() { pool.Close() })
	pool.SetMaxOpenConns(1)
	if _, err := pool.Exec(`CREATE TABLE threads (id TEXT PRIMARY KEY, revision INTEGER NOT NULL) WITHOUT ROWID;
		CREATE TABLE messages (thread TEXT, seq INTEGER, data TEXT, PRIMARY KEY (thread, seq)) WITHOUT ROWID;
		CREATE TABLE runs (thread TEXT PRIMARY KEY, data TEXT);
		CREATE TABLE calls (thread TEXT, seq INTEGER, data TEXT, PRIMARY KEY (thread, seq)) WITHOUT ROWID;
		CREATE TABLE events (thread TEXT, seq INTEGER, data TEXT, PRIMARY KEY (thread, seq))`); err != nil {
		tb.Fatal(err)
	}
	prepare := func(q string) *sql.Stmt {
		s, err := pool.Prepare(q)
		if err != nil {
			tb.Fatal(err)
		}
		return s
	}
	insert := []*sql.Stmt{nil, prepare(`INSERT INTO messages VALUES (?, ?, ?)`), prepare(`INSERT INTO messages VALUES (?, ?, ?), (?, ?, ?)`),
		prepare(`INSERT INTO messages VALUES (?, ?, ?), (?, ?, ?), (?, ?, ?)`)}
	create, advance := prepare(`INSERT INTO threads VALUES (?, 1)`), prepare(`UPDATE threads SET revision = revision + 1 WHERE id = ? AND revision = ?`)
	saveRun, saveCall, saveEvents := prepare(`INSERT INTO runs VALUES (?, ?) ON CONFLICT (thread) DO UPDATE SET data = excluded.data`),
		prepare(`INSERT INTO calls VALUES (?, ?, ?)`), prepare(`INSERT INTO events VALUES (?, ?, ?)`)
	var mu sync.Mutex // one writer, as in the store
	revisions := map[string]int{}
	return func(thread string, from int, msgs []string, more *storetest.RawMore) error {
		var args []any
		for i, m := range msgs {
			args = append(args, thread, from+i+1, m)
		}
		mu.Lock()
		defer mu.Unlock()
		tx, err := pool.Begin()
		if err != nil {
			return err
		}
		defer tx.Rollback()
		if _, err := tx.Stmt(insert[len(msgs)]).Exec(args...); err != nil {
			return err
		}
		if from == 0 {
			_, err = tx.Stmt(create).Exec(thread)
		} else {
			var res sql.Result
			if res, err = tx.Stmt(advance).Exec(thread, revisions[thread]); err == nil {
				if n, _ := res.RowsAffected(); n != 1 {
					err = fmt.Errorf("thread %s changed", thread)
				}
			}
		}
		if more != nil {
			_, runErr := tx.Stmt(saveRun).Exec(thread, more.Run)
			_, eventErr := tx.Stmt(saveEvents).Exec(thread, from, more.Events)
			err = errors.Join(err, runErr, eventErr)
		}
		if more != nil && more.Call != nil {
			_, callErr := tx.Stmt(saveCall).Exec(thread, from, *more.Call)
			err = errors.Join(err, callErr)
		}
		if err != nil {
			return err
		}
		revisions[thread]++
		return tx.Commit()
	}
}

func beside(b *testing.B) storetest.Beside {
	db := open(b)
	return storetest.Beside{Store: db.Store(""), Raw: rawCommit(b), Transactions: func() int64 {
		_, n := db.Used()
		return n
	}}
}

func BenchmarkW7(b *testing.B) { storetest.BenchmarkW7(b, 20, 1, beside) }

// W7c is W7 with 32 concurrent runs.
func BenchmarkW7c(b *testing.B) { storetest.BenchmarkW7(b, 64, 32, beside) }

// BenchmarkLong compares a thread of 10,000 turns with one of 10.
func BenchmarkLong(b *testing.B) { storetest.BenchmarkLong(b, open(b).Store("")) }

// W4d opens the database again as another process would.
func BenchmarkW4d(b *testing.B) {
	path := filepath.Join(b.TempDir(), "awaken.db")
	storetest.BenchmarkW4d(b, func(b *testing.B) awaken.Store { return openAt(b, path, nil).Store("") })
}

func BenchmarkW4dPage(b *testing.B) {
	db := open(b)
	storetest.BenchmarkW4dPage(b, db.Store(""), servertest.Start(b, db).Page)
}
