//go:build unix

package killtest

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"math/rand/v2"
	"net"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"sync"
	"sync/atomic"
	"syscall"
	"testing"
	"time"

	"github.com/awaken-go/awaken/internal/testenv"
)

var postgresServer *testenv.Postgres

func TestMain(m *testing.M) { os.Exit(testenv.WithJobs(m, serve, &postgresServer)) }

// process is a server that can be killed.
type process struct {
	t   *testing.T
	job job
	cmd *exec.Cmd
	out *bytes.Buffer
	at  string // the failpoint at which it dies, as AWAKEN_FAILPOINT has it; "" if at none
}

func (p *process) start() {
	p.t.Helper()
	p.out = &bytes.Buffer{}
	p.cmd = testenv.JobCommand(context.Background(), p.job, "AWAKEN_FAILPOINT="+p.at)
	p.cmd.Stderr = p.out
	if err := p.cmd.Start(); err != nil {
		p.t.Fatal(err)
	}
}

// stop sends a signal and waits for the end.
func (p *process) stop(sig syscall.Signal) {
	_ = p.cmd.Process.Signal(sig)
	_ = p.cmd.Wait()
}

// freeze stops all that the process does, and returns when it has stopped.
func (p *process) freeze() {
	p.t.Helper()
	pid := p.cmd.Process.Pid
	if err := p.cmd.Process.Signal(syscall.SIGSTOP); err != nil {
		p.t.Fatal(err)
	}
	var ws syscall.WaitStatus
	_, err := syscall.Wait4(pid, &ws, syscall.WUNTRACED, nil)
	for errors.Is(err, syscall.EINTR) {
		_, err = syscall.Wait4(pid, &ws, syscall.WUNTRACED, nil)
	}
	if err != nil || !ws.Stopped() {
		p.t.Fatalf("the process did not stop: %v, %v", ws, err)
	}
}

// ready waits until the server answers.
func (p *process) ready(ctx context.Context) {
	p.t.Helper()
	if _, err := newClient("http://"+p.job.Address).call(ctx, "GET", "/health", "", nil); err != nil {
		p.t.Fatalf("the server does not answer: %v\n%s", err, p.out)
	}
}

// freeAddress returns an unused address. Servers come back to it, so it is
// none of those that the system hands out in between.
func freeAddress(t *testing.T) string {
	t.Helper()
	for {
		l, err := net.Listen("tcp", fmt.Sprint("127.0.0.1:", 10_000+rand.IntN(20_000)))
		if errors.Is(err, syscall.EADDRINUSE) {
			continue
		}
		if err != nil {
			t.Fatal(err)
		}
		defer l.Close()
		return l.Addr().String()
	}
}

// newJob returns the configuration of a server on a fresh store.
func newJob(t *testing.T, store string, lease time.Duration) job {
	t.Helper()
	dir := t.TempDir()
	j := job{Store: store, Where: filepath.Join(dir, "awaken.db"), Dir: dir, Address: freeAddress(t), Lease: lease, Drain: 10 * time.Second}
	if store == "postgres" {
		j.Where = postgresServer.Database()
	}
	return j
}

// messages are what clients ask for: tools of all classes, one after the other and at
// once, with people in between.
var messages = []string{
	"effect look put",
	"look+put+effect look",
	"ask effect",
	"effect ask+look put",
	"put put look look",
	"effect effect effect",
}

// world is the marks that tools left.
type world struct {
	kinds map[string]string // key -> tool
	made  map[string]int    // key -> how often
	pids  map[string][]string
}

func readWorld(t *testing.T, dir string) world {
	t.Helper()
	w := world{map[string]string{}, map[string]int{}, map[string][]string{}}
	data, err := os.ReadFile(filepath.Join(dir, "marks"))
	if err != nil && !os.IsNotExist(err) {
		t.Fatal(err)
	}
	for line := range strings.Lines(string(data)) {
		f := strings.Fields(line)
		if len(f) != 3 {
			t.Fatalf("the mark %q is torn", line)
		}
		w.kinds[f[1]] = f[0]
		w.made[f[1]]++
		w.pids[f[1]] = append(w.pids[f[1]], f[2])
	}
	return w
}

// check compares a transcript with the log.
func check(ctx context.Context, t *testing.T, c *client, tr *transcript) {
	t.Helper()
	log, err := c.log(ctx, tr.runID)
	if err != nil {
		t.Error(err)
		return
	}
	for i := range max(len(log), len(tr.events)) {
		switch {
		case i >= len(log):
			t.Errorf("run %s: the client has %s %s, the log has not", tr.runID, tr.events[i].cursor, tr.events[i].data)
			return
		case i >= len(tr.events):
			t.Errorf("run %s: the log has %s %s, the client has not", tr.runID, log[i].cursor, log[i].data)
			return
		case log[i] != tr.events[i]:
			t.Errorf("run %s differs at event %d:\nclient %s %s\nlog    %s %s", tr.runID, i, tr.events[i].cursor, tr.events[i].data, log[i].cursor, log[i].data)
			return
		}
	}
}

func kills() int { return testenv.Times(12, 2000) }

func TestKill(t *testing.T) {
	for _, store := range []string{"sqlite", "postgres"} {
		t.Run(store, func(t *testing.T) {
			t.Parallel()
			ctx, cancel := context.WithTimeout(t.Context(), 4*time.Duration(kills())*time.Second+2*time.Minute)
			defer cancel()
			p := &process{t: t, job: newJob(t, store, 300*time.Millisecond)}
			p.start()
			defer func() { p.stop(syscall.SIGKILL) }()
			p.ready(ctx)
			c := newClient("http://" + p.job.Address)

			var killing atomic.Bool
			killing.Store(true)
			var mu sync.Mutex
			var all []*transcript
			var longest atomic.Int64
			var wg sync.WaitGroup
			for worker := range 8 {
				wg.Go(func() {
					for i := 0; killing.Load() && ctx.Err() == nil; i++ {
						thread := fmt.Sprintf("thread-%d-%d", worker, i/3) // threads have several runs
						tr, err := c.follow(ctx, fmt.Sprintf("%d-%d", worker, i), thread, messages[(worker+i)%len(messages)])
						if err != nil {
							t.Errorf("thread %s: %v", thread, err)
							return
						}
						mu.Lock()
						all = append(all, tr)
						mu.Unlock()
					}
					// No more kills. What is blocked now must not be for longer than a lease.
					start := time.Now()
					tr, err := c.follow(ctx, fmt.Sprint("last-", worker), fmt.Sprintf("thread-%d-last", worker), "look")
					if err != nil {
						t.Errorf("the last run: %v", err)
						return
					}
					longest.Store(max(longest.Load(), int64(time.Since(start))))
					mu.Lock()
					all = append(all, tr)
					mu.Unlock()
				})
			}
			for range kills() {
				if rand.IntN(8) > 0 { // now and then it is killed while it starts
					p.ready(ctx)
				}
				time.Sleep(time.Duration(20+rand.IntN(380)) * time.Millisecond)
				p.stop(syscall.SIGKILL)
				if strings.Contains(p.out.String(), "DATA RACE") {
					t.Errorf("a race:\n%s", p.out)
				}
				p.start()
			}
			p.ready(ctx)
			last := time.Now()
			killing.Store(false)
			wg.Wait()
			settled := time.Since(last)

			resets, cuts := 0, 0
			for _, tr := range all {
				check(ctx, t, c, tr)
				resets += tr.resets
				cuts += tr.cuts
			}
			w := readWorld(t, p.job.Dir)
			effects := 0
			for key, n := range w.made {
				switch w.kinds[key] {
				case "effect", "long", "ask":
					effects++
					if n > 1 {
						t.Errorf("the effect %s of %s was made %d times", key, w.kinds[key], n)
					}
				}
			}
			for _, status := range []string{"created", "running", "waiting"} {
				var list struct {
					Total int `json:"total"`
				}
				if _, err := c.call(ctx, "GET", "/v1/runs?status="+status, "", &list); err != nil || list.Total != 0 {
					t.Errorf("%d runs are %s, %v", list.Total, status, err)
				}
			}
			replayAll(ctx, t, p.job)
			t.Logf("%s: %d kills, %d runs followed to their end, streams broken %d times, %d resets, %d effects made once; after the last kill all were done in %s",
				store, kills(), len(all), cuts, resets, effects, settled.Round(time.Millisecond))
			if len(all) < 10 || cuts < kills()/8 || effects == 0 {
				t.Errorf("too little happened to show anything: %d runs, %d cuts, %d effects", len(all), cuts, effects)
			}
		})
	}
}

func zombieTrials() int { return testenv.Times(10, 1000) }

// A worker is stopped for three leases in the middle of tool calls, another takes its
// runs over, and then it continues.
func TestZombie(t *testing.T) {
	const lease = 300 * time.Millisecond
	const each = 5
	ctx, cancel := context.WithTimeout(t.Context(), 4*time.Duration(zombieTrials())*time.Second+time.Minute)
	defer cancel()
	a := &process{t: t, job: newJob(t, "postgres", lease)}
	b := &process{t: t, job: a.job}
	b.job.Address = freeAddress(t)
	a.start()
	defer func() { a.stop(syscall.SIGKILL) }()
	a.ready(ctx)
	trials, taken := 0, 0
	for round := 0; trials < zombieTrials(); round++ {
		onA := newClient("http://" + a.job.Address)
		var runs []string
		for i := range each {
			var made struct {
				RunID string `json:"run_id"`
			}
			thread := fmt.Sprintf("z-%d-%d", round, i)
			if _, err := onA.call(ctx, "POST", "/v1/threads/"+thread+"/mailbox", `{"payload":{"text":"long look effect"}}`, &made); err != nil {
				t.Fatal(err)
			}
			runs = append(runs, made.RunID)
		}
		pid := fmt.Sprint(a.cmd.Process.Pid)
		begun := func() (n int) {
			w := readWorld(t, a.job.Dir)
			for _, id := range runs {
				for key := range w.made {
					if strings.HasPrefix(key, id) {
						n++
					}
				}
			}
			return n
		}
		for begun() < each && ctx.Err() == nil { // all are in their long call
			time.Sleep(2 * time.Millisecond)
		}
		a.freeze()
		before := readWorld(t, a.job.Dir)
		if round == 0 {
			b.start()
			defer func() { b.stop(syscall.SIGKILL) }()
			b.ready(ctx)
		} else if err := b.cmd.Process.Signal(syscall.SIGCONT); err != nil {
			t.Fatal(err)
		}
		onB := newClient("http://" + b.job.Address)
		for _, id := range runs {
			for ctx.Err() == nil {
				var run struct {
					Status string `json:"status"`
				}
				if _, err := onB.call(ctx, "GET", "/v1/runs/"+id, "", &run); err != nil {
					t.Fatal(err)
				}
				if run.Status == "done" {
					break
				}
				time.Sleep(5 * time.Millisecond)
			}
		}
		time.Sleep(3 * lease)
		logs := map[string][]seen{}
		for _, id := range runs {
			log, err := onB.log(ctx, id)
			if err != nil {
				t.Fatal(err)
			}
			logs[id] = log
		}
		if err := a.cmd.Process.Signal(syscall.SIGCONT); err != nil {
			t.Fatal(err)
		}
		a.ready(ctx)
		time.Sleep(2 * lease) // whatever it wanted to do, it has done
		after := readWorld(t, a.job.Dir)
		for _, id := range runs {
			log, err := onB.log(ctx, id)
			if err != nil {
				t.Fatal(err)
			}
			if len(log) != len(logs[id]) {
				t.Errorf("run %s: the zombie wrote %d events", id, len(log)-len(logs[id]))
			}
			for key, pids := range after.pids {
				if strings.HasPrefix(key, id) && len(pids) > 1 && after.kinds[key] != "look" {
					t.Errorf("%s %s was made by processes %v", after.kinds[key], key, pids)
				}
				for i, by := range pids {
					if strings.HasPrefix(key, id) && by == pid && i >= len(before.pids[key]) {
						t.Errorf("the zombie began %s %s", after.kinds[key], key)
					}
				}
			}
			trials++
			taken++
		}
		// The one that runs now is stopped, so that the next round's runs are A's.
		b.freeze()
		time.Sleep(2 * lease)
	}
	_ = b.cmd.Process.Signal(syscall.SIGCONT)
	replayAll(ctx, t, a.job)
	t.Logf("%d trials, %d runs taken over, 0 writes and 0 effects of the one that was stopped", trials, taken)
}

// Two servers share a database. What one runs, the other shows, decides and cancels, and
// continues with when the first is gone.
func TestReplicas(t *testing.T) {
	ctx, cancel := context.WithTimeout(t.Context(), 5*time.Minute)
	defer cancel()
	a := &process{t: t, job: newJob(t, "postgres", time.Second)}
	b := &process{t: t, job: a.job}
	b.job.Address = freeAddress(t)
	a.start()
	defer func() { a.stop(syscall.SIGKILL) }()
	a.ready(ctx)
	onA, onB := newClient("http://"+a.job.Address), newClient("http://"+b.job.Address)
	start := func(thread, text string) (id string) {
		t.Helper()
		var made struct {
			RunID string `json:"run_id"`
		}
		if status, err := onA.call(ctx, "POST", "/v1/threads/"+thread+"/mailbox", `{"payload":{"text":"`+text+`"}}`, &made); err != nil || status != 201 {
			t.Fatal(status, err)
		}
		return made.RunID
	}
	status := func(c *client, id string) string {
		t.Helper()
		var run struct {
			Status string `json:"status"`
		}
		if _, err := c.call(ctx, "GET", "/v1/runs/"+id, "", &run); err != nil {
			t.Fatal(err)
		}
		return run.Status
	}
	await := func(c *client, id string, want ...string) {
		t.Helper()
		for !slices.Contains(want, status(c, id)) {
			if ctx.Err() != nil {
				t.Fatalf("run %s does not become %s", id, want)
			}
			time.Sleep(5 * time.Millisecond)
		}
	}
	watched := start("watched", "look look ask look")
	await(onA, watched, "waiting")
	cancelled := start("cancelled", strings.Repeat("long ", 90))
	await(onA, cancelled, "running")
	b.start()
	defer func() { b.stop(syscall.SIGKILL) }()
	b.ready(ctx)

	tr := &transcript{runID: watched, threadID: "watched"}
	for !tr.over { // and decides
		if err := onB.read(ctx, tr); err != nil {
			t.Fatal(err)
		}
	}
	check(ctx, t, onB, tr)
	if code, err := onB.call(ctx, "POST", "/v1/runs/"+cancelled+"/cancel", "", nil); err != nil || code != 202 {
		t.Fatal(code, err)
	}
	made := len(readWorld(t, a.job.Dir).made)
	await(onB, cancelled, "done")
	if now := len(readWorld(t, a.job.Dir).made); now > made {
		t.Errorf("%d effects began after the cancel was acknowledged", now-made)
	}

	var left []string
	for i := range 10 {
		left = append(left, start(fmt.Sprint("left-", i), "long look long long"))
	}
	for _, id := range left {
		await(onA, id, "running", "done") // the first may be fast
	}
	a.stop(syscall.SIGKILL)
	for _, id := range left {
		await(onB, id, "done")
	}
	replayAll(ctx, t, a.job)
	a.start()
	a.ready(ctx)
}

// Both servers are restarted, one after the other, while many runs go on. None fails.
func TestRollingRestart(t *testing.T) {
	ctx, cancel := context.WithTimeout(t.Context(), 5*time.Minute)
	defer cancel()
	a := &process{t: t, job: newJob(t, "postgres", 2*time.Second)}
	b := &process{t: t, job: a.job}
	b.job.Address = freeAddress(t)
	for _, p := range []*process{a, b} {
		p.start()
		defer func() { p.stop(syscall.SIGKILL) }()
		p.ready(ctx)
	}
	c := newClient("http://"+a.job.Address, "http://"+b.job.Address)
	runs := testenv.Times(40, 200)
	all := make([]*transcript, runs)
	var wg sync.WaitGroup
	var under atomic.Int64
	for i := range runs {
		wg.Go(func() {
			under.Add(1)
			tr, err := c.follow(ctx, fmt.Sprint("roll-", i), fmt.Sprint("roll-", i), "look long effect look long put")
			if err != nil {
				t.Errorf("run %d: %v", i, err)
				return
			}
			all[i] = tr
		})
	}
	for under.Load() < int64(runs) {
		time.Sleep(time.Millisecond)
	}
	time.Sleep(200 * time.Millisecond)
	for _, p := range []*process{a, b, a} {
		p.stop(syscall.SIGTERM)
		p.start()
		p.ready(ctx)
	}
	wg.Wait()
	resets := 0
	for i, tr := range all {
		if tr == nil {
			t.Errorf("run %d has no transcript", i)
			continue
		}
		check(ctx, t, c, tr)
		resets += tr.resets
		if last := tr.events[len(tr.events)-1].data; !strings.Contains(last, `"natural_end"`) {
			t.Errorf("run %d ended as %s", i, last)
		}
	}
	w := readWorld(t, a.job.Dir)
	for key, n := range w.made {
		if n > 1 && (w.kinds[key] == "effect" || w.kinds[key] == "long") {
			t.Errorf("%s %s was made %d times", w.kinds[key], key, n)
		}
	}
	replayAll(ctx, t, a.job)
	t.Logf("%d runs, three restarts, %d resets", runs, resets)
}
