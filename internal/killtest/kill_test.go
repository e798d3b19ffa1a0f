//go:build unix

package killtest

import (
	"context"
	"fmt"
	"math/rand/v2"
	"os"
	"os/exec"
	"slices"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"github.com/awaken-go/awaken/internal/rigtest"
	"github.com/awaken-go/awaken/internal/testenv"
)

var postgresServer *testenv.Postgres

func TestMain(m *testing.M) { os.Exit(testenv.WithJobs(m, serve, &postgresServer)) }

// process is a server that can be killed.
type process struct {
	*rigtest.Process
	job job
	at  string // the failpoint at which it dies, as AWAKEN_FAILPOINT has it; "" if at none
}

// start starts a server on a store, which is ready when it returns.
func start(t *testing.T, j job) *process {
	t.Helper()
	j.Address = rigtest.FreeAddress(t)
	p := &process{job: j}
	p.Process = rigtest.Start(t, func() *exec.Cmd { return rigtest.Job(p.job, "AWAKEN_FAILPOINT="+p.at)() })
	p.Serves()
	return p
}

// newJob returns the configuration of a server on a fresh store.
func newJob(t *testing.T, kind string, lease time.Duration) job {
	t.Helper()
	return job{Store: rigtest.NewStore(t, kind, postgresServer), Effects: rigtest.NewLedger(t), Lease: lease, Drain: 10 * time.Second}
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

// made checks that no effect was made twice, and returns how many there are.
func made(t *testing.T, effects rigtest.Ledger) (n int) {
	t.Helper()
	for e, times := range rigtest.Counts(effects.Effects(t)) {
		if e.Tool == "effect" || e.Tool == "long" || e.Tool == "ask" {
			if n++; times > 1 {
				t.Errorf("the effect %s of %s was made %d times", e.Key, e.Tool, times)
			}
		}
	}
	return n
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

func kills() int { return testenv.Times(8, 2000) }

func TestKill(t *testing.T) {
	for _, store := range rigtest.Sample(rigtest.Postgres) {
		t.Run(store, func(t *testing.T) {
			t.Parallel()
			ctx, cancel := context.WithTimeout(t.Context(), 4*time.Duration(kills())*time.Second+2*time.Minute)
			defer cancel()
			p := start(t, newJob(t, store, 300*time.Millisecond))
			c := newClient(p)

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
					p.Serves()
				}
				time.Sleep(time.Duration(20+rand.IntN(380)) * time.Millisecond) // any moment may be its last
				p.Kill()
				p.Again()
			}
			p.Serves()
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
			effects := made(t, p.job.Effects)
			for _, status := range []string{"created", "running", "waiting"} {
				var list struct {
					Total int `json:"total"`
				}
				if err := c.Ask(ctx, "GET", "/v1/runs?status="+status, "", &list); err != nil || list.Total != 0 {
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
	a := start(t, newJob(t, rigtest.Postgres, lease))
	onA := newClient(a)
	var b *process
	trials := 0
	for round := 0; trials < zombieTrials(); round++ {
		var runs []string
		for i := range each {
			name := fmt.Sprintf("z-%d-%d", round, i)
			id, err := onA.mail(ctx, name, name, "long look effect")
			if err != nil {
				t.Fatal(err)
			}
			runs = append(runs, id)
		}
		ours := func(e rigtest.Effect) bool { return slices.Contains(runs, e.Run) }
		rigtest.Until(t, "all are in their long call", rigtest.Patience, func() bool { return len(a.job.Effects.Effects(t, ours)) >= each })
		a.Pause()
		zombie := rigtest.ByProcess(a.PID())
		before := len(a.job.Effects.Effects(t, ours, zombie))
		if b == nil {
			b = start(t, a.job)
		} else {
			b.Continue()
		}
		onB := newClient(b)
		for _, id := range runs {
			await(ctx, t, onB, id, "done")
		}
		time.Sleep(3 * lease) // nothing tells that it is not needed any more
		logs := map[string][]seen{}
		for _, id := range runs {
			var err error
			if logs[id], err = onB.log(ctx, id); err != nil {
				t.Fatal(err)
			}
		}
		a.Continue()
		if err := onA.Ask(ctx, "GET", "/health", "", nil); err != nil {
			t.Fatal(err)
		}
		time.Sleep(2 * lease) // whatever it wanted to do, it has done
		if after := len(a.job.Effects.Effects(t, ours, zombie)); after > before {
			t.Errorf("the zombie began %d calls", after-before)
		}
		for e, times := range rigtest.Counts(a.job.Effects.Effects(t, ours)) {
			if times > 1 && e.Tool != "look" {
				t.Errorf("%s %s was made %d times", e.Tool, e.Key, times)
			}
		}
		for _, id := range runs {
			log, err := onB.log(ctx, id)
			if err != nil {
				t.Fatal(err)
			}
			if len(log) != len(logs[id]) {
				t.Errorf("run %s: the zombie wrote %d events", id, len(log)-len(logs[id]))
			}
			trials++
		}
		// The one that runs now is stopped, so that the next round's runs are A's.
		b.Pause()
		time.Sleep(2 * lease)
	}
	b.Continue()
	replayAll(ctx, t, a.job)
	t.Logf("%d runs taken over, 0 writes and 0 effects of the one that was stopped", trials)
}

// await waits until a run has one of the wanted statuses.
func await(ctx context.Context, t *testing.T, c *client, id string, want ...string) {
	t.Helper()
	rigtest.Until(t, fmt.Sprintf("run %s is %s", id, strings.Join(want, " or ")), rigtest.Patience, func() bool {
		status, err := c.status(ctx, id)
		if err != nil {
			t.Fatal(err)
		}
		return slices.Contains(want, status)
	})
}

// Two servers share a database. What one runs, the other shows, decides and cancels, and
// continues with when the first is gone.
func TestReplicas(t *testing.T) {
	ctx, cancel := context.WithTimeout(t.Context(), 5*time.Minute)
	defer cancel()
	a := start(t, newJob(t, rigtest.Postgres, time.Second))
	onA := newClient(a)
	begin := func(thread, text string) string {
		t.Helper()
		id, err := onA.mail(ctx, thread, thread, text)
		if err != nil {
			t.Fatal(err)
		}
		return id
	}
	watched := begin("watched", "look look ask look")
	await(ctx, t, onA, watched, "waiting")
	cancelled := begin("cancelled", strings.Repeat("long ", 90))
	await(ctx, t, onA, cancelled, "running")
	onB := newClient(start(t, a.job))

	tr := &transcript{runID: watched, threadID: "watched"}
	for !tr.over { // and decides
		if err := onB.read(ctx, tr); err != nil {
			t.Fatal(err)
		}
	}
	check(ctx, t, onB, tr)
	if err := onB.Ask(ctx, "POST", "/v1/runs/"+cancelled+"/cancel", "", nil); err != nil {
		t.Fatal(err)
	}
	made := len(a.job.Effects.Effects(t))
	await(ctx, t, onB, cancelled, "done")
	if now := len(a.job.Effects.Effects(t)); now > made {
		t.Errorf("%d effects began after the cancel was acknowledged", now-made)
	}

	var left []string
	for i := range 10 {
		left = append(left, begin(fmt.Sprint("left-", i), "long look long long"))
	}
	for _, id := range left {
		await(ctx, t, onA, id, "running", "done") // the first may be fast
	}
	a.Kill()
	for _, id := range left {
		await(ctx, t, onB, id, "done")
	}
	replayAll(ctx, t, a.job)
	a.Again()
	a.Serves()
}

// Both servers are restarted, one after the other, while many runs go on. None fails.
func TestRollingRestart(t *testing.T) {
	ctx, cancel := context.WithTimeout(t.Context(), 5*time.Minute)
	defer cancel()
	a := start(t, newJob(t, rigtest.Postgres, 2*time.Second))
	b := start(t, a.job)
	c := newClient(a, b)
	runs := testenv.Times(40, 200)
	all := make([]*transcript, runs)
	var wg sync.WaitGroup
	for i := range runs {
		wg.Go(func() {
			tr, err := c.follow(ctx, fmt.Sprint("roll-", i), fmt.Sprint("roll-", i), "look long effect look long put")
			if err != nil {
				t.Errorf("run %d: %v", i, err)
				return
			}
			all[i] = tr
		})
	}
	rigtest.Until(t, "calls are under way", rigtest.Patience, func() bool {
		return len(a.job.Effects.Effects(t, rigtest.ByTool("long"))) >= runs/4
	})
	for _, p := range []*process{a, b, a} {
		if err := p.Stop(); err != nil {
			t.Error(err)
		}
		p.Again()
		p.Serves()
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
	if made(t, a.job.Effects) == 0 {
		t.Error("no effect was made")
	}
	replayAll(ctx, t, a.job)
	t.Logf("%d runs, three restarts, %d resets", runs, resets)
}
