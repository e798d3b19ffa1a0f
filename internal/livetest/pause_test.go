//go:build unix

package livetest

import (
	"context"
	"database/sql"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"syscall"
	"time"
)

// pause stops the process as SIGSTOP does, until the test resumes it. A process that the test lets
// continue without that stops again: see [rig.paused].
func (j job) pause() error {
	for {
		if err := (mark{Tool: "pause", PID: os.Getpid(), At: time.Now()}).write(j.Dir); err != nil {
			return err
		}
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
func (g *rig) paused(w *worker) {
	g.Helper()
	for times := 1; ; times++ {
		g.until("the worker pauses", 30*time.Second, func() bool {
			return len(g.marks(func(m mark) bool { return m.Tool == "pause" && m.PID == w.pid })) >= times && w.stopped()
		})
		if g.writable() {
			return
		}
		g.signal(w, syscall.SIGCONT)
	}
}

// resume lets a paused worker continue.
func (g *rig) resume(w *worker) {
	g.Helper()
	if err := os.WriteFile(g.job.resumed(w.pid), nil, 0o600); err != nil {
		g.Fatal(err)
	}
	g.signal(w, syscall.SIGCONT)
}

func (g *rig) signal(w *worker, s syscall.Signal) {
	g.Helper()
	if err := w.cmd.Process.Signal(s); err != nil {
		g.Fatal(err)
	}
}

// stopped says whether the process is stopped. Without /proc, its mark has to do.
func (w *worker) stopped() bool {
	stat, err := os.ReadFile(fmt.Sprintf("/proc/%d/stat", w.pid))
	if err != nil {
		return true
	}
	_, rest, _ := strings.Cut(string(stat), ") ") // behind the name of the program
	return strings.HasPrefix(rest, "T")
}

// writable says whether a process can write. Transactions of PostgreSQL lock rows, and claims pass over
// locked rows.
func (g *rig) writable() bool {
	g.Helper()
	if g.job.Store != "sqlite" {
		return true
	}
	db, err := sql.Open("sqlite", "file:"+g.job.Where+"?_pragma=busy_timeout(1000)&_txlock=immediate")
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
