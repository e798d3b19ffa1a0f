//go:build unix

package ownertest

import (
	"context"
	"database/sql"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"syscall"
	"time"

	"github.com/awaken-go/awaken/internal/rigtest"
)

// pause stops the process as SIGSTOP does, until the test resumes it. A process that the test lets
// continue without that stops again: see [rig.paused].
func (j job) pause() error {
	for {
		_ = syscall.Kill(os.Getpid(), syscall.SIGSTOP)
		for since := time.Now(); time.Since(since) < 20*time.Millisecond; { // the signal takes a moment, and the clocks continue
		}
		if _, err := os.Stat(j.resumed(os.Getpid())); !errors.Is(err, os.ErrNotExist) {
			return err
		}
	}
}

// resumed is the file that tells a process not to pause again.
func (j job) resumed(pid int) string { return filepath.Join(j.Dir, fmt.Sprint("resumed.", pid)) }

// paused waits until a worker has stopped at its failpoint and holds no lock of the database: another
// goroutine of it may have been in a transaction, and no process writes to an SQLite file while a
// stopped one has its lock. Such a worker continues for a moment and stops again, at the same point.
func (g *rig) paused(w *rigtest.Process) {
	g.Helper()
	for w.Paused(); !g.writable(); w.Paused() {
		w.Continue()
	}
}

// resume lets a paused worker continue.
func (g *rig) resume(w *rigtest.Process) {
	g.Helper()
	if err := os.WriteFile(g.job.resumed(w.PID()), nil, 0o600); err != nil {
		g.Fatal(err)
	}
	w.Continue()
}

// writable says whether a process can write. Transactions of PostgreSQL lock rows, and claims pass over
// locked rows.
func (g *rig) writable() bool {
	g.Helper()
	if g.job.Store.Kind != rigtest.SQLite {
		return true
	}
	db, err := sql.Open("sqlite", "file:"+g.job.Store.Where+"?_pragma=busy_timeout(1000)&_txlock=immediate")
	if err != nil {
		g.Fatal(err)
	}
	defer db.Close()
	tx, err := db.BeginTx(context.Background(), nil)
	if err != nil {
		return false
	}
	if err := tx.Rollback(); err != nil {
		g.Fatal(err)
	}
	return true
}
