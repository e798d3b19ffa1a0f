//go:build unix

package livetest

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"sync"
	"syscall"
	"testing"
	"time"

	"github.com/awaken-go/awaken"
	"github.com/awaken-go/awaken/internal/fault"
	"github.com/awaken-go/awaken/internal/testenv"
	"github.com/awaken-go/awaken/llm"
	"github.com/awaken-go/awaken/mailbox"
)

var postgresServer *testenv.Postgres

func TestMain(m *testing.M) {
	os.Exit(testenv.WithJobs(m, work, &postgresServer, "max_connections=500"))
}

// onStores runs a test on each store that several processes can share.
func onStores(t *testing.T, test func(g *rig)) {
	for _, store := range []string{"sqlite", "postgres"} {
		t.Run(store, func(t *testing.T) {
			if !testenv.Long() && *busyTime == 0 {
				t.Parallel()
			}
			test(newRig(t, store))
		})
	}
}

// rig is a store, and the test as a process that only submits.
type rig struct {
	*testing.T
	job     job
	tenant  *mailbox.Tenant
	queue   mailbox.Queue
	workers []*worker // all that were started
}

func newRig(t *testing.T, store string, change ...func(*job)) *rig {
	t.Helper()
	dir := t.TempDir()
	g := &rig{T: t, job: job{Store: store, Where: filepath.Join(dir, "awaken.db"), Dir: dir}}
	if store == "postgres" {
		g.job.Where = postgresServer.Database()
	}
	for _, c := range change {
		c(&g.job)
	}
	box, done, err := open(t.Context(), g.job)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(done)
	t.Cleanup(func() {
		for _, w := range g.workers {
			if t.Failed() {
				_, _ = w.cmd.Process.Signal(syscall.SIGQUIT), w.cmd.Process.Signal(syscall.SIGCONT) // it prints its stacks
				select {
				case <-w.over:
				case <-time.After(5 * time.Second):
				}
			}
			w.kill()
		}
		if t.Failed() {
			for _, w := range g.workers {
				t.Logf("worker %d:\n%s", w.pid, w.log())
			}
		}
	})
	g.tenant, g.queue = box.Tenant(""), box.Queue()
	return g
}

// submit submits a run that calls tools, and returns its receipt. It tries again while the store is busy, as clients do: many processes
// may hold the lock of a file for longer than a statement waits for it.
func (g *rig) submit(words string) (r *mailbox.Receipt) {
	g.Helper()
	g.until("the store accepts a run", time.Minute, func() bool {
		var err error
		r, err = g.tenant.Submit(g.Context(), mailbox.Submission{Request: awaken.RunRequest{AgentID: "default", Messages: []*llm.Message{llm.UserText(words)}}})
		if err != nil && fault.OutageOf(err) == nil {
			g.Fatal(err)
		}
		return err == nil
	})
	return r
}

func (g *rig) dispatch(id string) *mailbox.Dispatch {
	g.Helper()
	d, err := g.tenant.Store.Dispatch(g.Context(), id)
	if err != nil {
		g.Fatal(err)
	}
	return d
}

func (g *rig) claimed() int {
	g.Helper()
	counts, err := g.queue.Counts(g.Context())
	if err != nil {
		g.Fatal(err)
	}
	return counts[mailbox.Claimed]
}

// until waits until a condition is true, and returns when it was.
func (g *rig) until(what string, limit time.Duration, ok func() bool) time.Time {
	g.Helper()
	for deadline := time.Now().Add(limit); ; time.Sleep(10 * time.Millisecond) {
		if ok() {
			return time.Now()
		}
		if time.Now().After(deadline) {
			g.Fatalf("%s: not within %s", what, limit)
		}
	}
}

// marks returns the calls that were begun, in order. A line that is being written is not read: a reader may see a part of it.
func (g *rig) marks(which func(m mark) bool) (out []mark) {
	g.Helper()
	data, err := os.ReadFile(filepath.Join(g.job.Dir, "marks"))
	if err != nil && !errors.Is(err, os.ErrNotExist) {
		g.Fatal(err)
	}
	for line := range bytes.Lines(data) {
		if !bytes.HasSuffix(line, []byte("\n")) {
			break
		}
		var m mark
		if err := json.Unmarshal(line, &m); err != nil {
			g.Fatal(err)
		}
		if which(m) {
			out = append(out, m)
		}
	}
	return out
}

// worker is a worker process.
type worker struct {
	cmd  *exec.Cmd
	pid  int
	over chan struct{} // closed once the process is gone

	mu  sync.Mutex
	out bytes.Buffer
}

func (g *rig) start(change ...func(j *job)) *worker {
	g.Helper()
	j := g.job
	for _, f := range change {
		f(&j)
	}
	w := &worker{cmd: testenv.JobCommand(context.Background(), j), over: make(chan struct{})}
	w.cmd.Stderr = w
	if err := w.cmd.Start(); err != nil {
		g.Fatal(err)
	}
	w.pid = w.cmd.Process.Pid
	g.workers = append(g.workers, w)
	go func() {
		_ = w.cmd.Wait()
		close(w.over)
	}()
	return w
}

// Write takes what the worker logs.
func (w *worker) Write(p []byte) (int, error) {
	w.mu.Lock()
	defer w.mu.Unlock()
	return w.out.Write(p)
}

func (w *worker) log() string {
	w.mu.Lock()
	defer w.mu.Unlock()
	return w.out.String()
}

// kill kills the worker and waits until it is gone.
func (w *worker) kill() {
	_ = w.cmd.Process.Signal(syscall.SIGKILL)
	<-w.over
}

// quantile returns a quantile of durations.
func quantile(ds []time.Duration, q float64) time.Duration {
	ds = slices.Sorted(slices.Values(ds))
	return ds[min(int(q*float64(len(ds))), len(ds)-1)].Round(time.Millisecond)
}

// words is a message of n words.
func words(word string, n int) string { return strings.TrimSpace(strings.Repeat(word+" ", n)) }
