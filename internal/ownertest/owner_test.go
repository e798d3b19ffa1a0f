//go:build unix

package ownertest

import (
	"flag"
	"strings"
	"testing"
	"time"

	"github.com/awaken-go/awaken"
	"github.com/awaken-go/awaken/internal/rigtest"
	"github.com/awaken-go/awaken/internal/testenv"
	"github.com/awaken-go/awaken/mailbox"
)

var busyTime = flag.Duration("busy", 0, "how long TestBusyProcessesAreNotTakenForDead takes; default 30 minutes in long tests, otherwise 5 seconds")

// A run that kills its process is given up, and only that run.
func TestARunThatKillsItsProcessIsGivenUpAlone(t *testing.T) {
	onStores(t, rigtest.Postgres, func(g *rig) {
		if !testenv.Long() {
			g.job.Liveness = time.Second // seven processes die one after the other
		}
		for range testenv.Times(1, 20) {
			g.poison(50)
		}
	})
}

// poison runs a run that kills its process beside innocent ones, with a supervisor that starts
// the process again, until all have ended.
func (g *rig) poison(innocents int) {
	g.Helper()
	began := time.Now()
	ids := []string{g.submit("poison").DispatchID}
	for range innocents {
		ids = append(ids, g.submit("nap nap nap").DispatchID)
	}
	deaths := 0
	w := g.start()
	defer w.Kill()
	g.until("all runs have ended", 5*time.Minute, func() bool {
		if w.Ended() {
			deaths++
			w.Again()
		}
		for i, id := range ids {
			if !g.dispatch(id).Status.Terminal() {
				ids = ids[i:] // those before have ended
				return false
			}
		}
		return true
	})
	dead, err := g.tenant.DeadLetters(g.Context(), 0, 100)
	if err != nil {
		g.Fatal(err)
	}
	for _, d := range dead {
		run, err := g.tenant.Store.LoadRun(g.Context(), d.RunID)
		if err != nil {
			g.Fatal(err)
		}
		if d.Request.Messages[0].Text() != "poison" {
			g.Errorf("innocent dispatch %s was given up after %d attempts and %d crashes: %s", d.ID, d.Attempts, d.Crashes, d.LastError)
		} else if run.Status != awaken.RunDone || d.Attempts != d.MaxAttempts || !strings.Contains(d.LastError, "its process died") {
			g.Errorf("the poisonous run is %s, its dispatch %+v", run.Status, d)
		}
	}
	if len(dead) != 1 {
		g.Errorf("%d runs were given up, want 1", len(dead))
	}
	if _, err := g.tenant.PurgeDeadLetters(g.Context()); err != nil {
		g.Fatal(err)
	}
	g.Logf("one run of %d given up after %d deaths, in %s", innocents+1, deaths, time.Since(began).Round(time.Millisecond))
}

// The runs of a process that was killed have another owner within five seconds.
func TestAKilledProcessIsReplacedWithinSeconds(t *testing.T) {
	onStores(t, rigtest.SQLite, func(g *rig) {
		workers := map[int]*rigtest.Process{}
		for range 2 {
			w := g.start()
			workers[w.PID()] = w
		}
		var took []time.Duration
		for range testenv.Times(2, 200) {
			r := g.submit("hold")
			of := rigtest.OfRun(r.RunID)
			g.until("the run has an owner", 30*time.Second, func() bool { return len(g.calls(of)) == 1 })
			owner := g.calls(of)[0].PID
			w := workers[owner]
			w.Kill()
			dead := time.Now()
			delete(workers, owner)
			g.until("the run has another owner", 30*time.Second, func() bool { return len(g.calls(of)) == 2 })
			took = append(took, g.calls(of)[1].At.Sub(dead))
			if d := g.dispatch(r.DispatchID); d.Attempts != 0 || d.Crashes != 1 {
				g.Errorf("the dispatch has %d attempts and %d crashes, want 0 and 1", d.Attempts, d.Crashes)
			}
			if err := g.tenant.Cancel(g.Context(), r.RunID); err != nil {
				g.Fatal(err)
			}
			g.until("the run is cancelled", 30*time.Second, func() bool { return g.dispatch(r.DispatchID).Status.Terminal() })
			w.Again()
			workers[w.PID()] = w
		}
		at := func(q float64) time.Duration { return rigtest.Quantile(took, q).Round(time.Millisecond) }
		g.Logf("%d kills: taken over after %s (median), %s (99th percentile), %s (most)", len(took), at(0.5), at(0.99), at(1))
		if p99 := at(0.99); p99 > 5*time.Second {
			g.Errorf("the 99th percentile is %s, want at most 5s", p99)
		}
	})
}

// A worker that is stopped gracefully leaves nothing claimed.
func TestAStoppedProcessLeavesNoClaims(t *testing.T) {
	onStores(t, rigtest.Postgres, func(g *rig) {
		for range testenv.Times(5, 30) {
			for range 20 {
				g.submit("nap nap")
			}
			w := g.start()
			g.until("it works", 30*time.Second, func() bool { return len(g.calls(rigtest.ByProcess(w.PID()))) > 0 })
			for range 20 { // claims are under way when it stops
				g.submit("nap")
			}
			if err := w.Stop(); err != nil {
				g.Error(err)
			}
			if n := g.claimed(); n != 0 {
				g.Errorf("%d dispatches are claimed by a worker that has stopped", n)
			}
		}
	})
}

// A process that was paused right before a tool call makes no call and writes nothing after
// another has taken its run over.
func TestAPausedProcessBeginsNothingAfterATakeover(t *testing.T) {
	onStores(t, rigtest.SQLite, func(g *rig) {
		if !testenv.Long() {
			g.job.Liveness = time.Second
		}
		for _, point := range []string{"call.before", "intent.after", "result.taken", "commit.before"}[:testenv.Times(2, 4)] {
			paused := g.start(func(j *job) { j.PauseAt = point })
			r := g.submit(words("effect", 5))
			of := rigtest.OfRun(r.RunID)
			g.paused(paused) // before another worker starts, which might take the run first
			other := g.start()
			g.until("the run is done", time.Minute, func() bool { return g.dispatch(r.DispatchID).Status == mailbox.Acked })
			calls, end := g.calls(of), g.end(r)
			g.resume(paused)
			// It finds out and continues as a new process: it takes the next run.
			other.Kill()
			next := g.submit("effect")
			g.until("the paused worker works again", 30*time.Second, func() bool { return g.dispatch(next.DispatchID).Status == mailbox.Acked })
			for _, m := range g.calls(of)[len(calls):] {
				g.Errorf("at %s: %+v was begun after the run had another owner", point, m)
			}
			if after := g.end(r); after != end {
				g.Errorf("at %s: the log ended at %v when the run was done, and ends at %v", point, end, after)
			}
			for e, times := range rigtest.Counts(g.calls(of)) {
				if times > 1 {
					g.Errorf("at %s: call %s was made %d times", point, e.Key, times)
				}
			}
			if !strings.Contains(paused.Log(), "silent for too long") {
				g.Errorf("at %s: the worker did not notice that it was paused:\n%s", point, paused.Log())
			}
			paused.Kill()
		}
	})
}

// end returns the end of the log of a run's thread.
func (g *rig) end(r *mailbox.Receipt) (end awaken.Cursor) {
	g.Helper()
	err := g.tenant.Store.Change(g.Context(), r.ThreadID, func(t *mailbox.Thread) error {
		end = t.End
		return nil
	})
	if err != nil {
		g.Fatal(err)
	}
	return end
}

// Processes that compete for the cores are not taken for dead.
func TestBusyProcessesAreNotTakenForDead(t *testing.T) {
	length, processes := *busyTime, 30
	if length == 0 {
		if length = 30 * time.Minute; !testenv.Long() {
			length, processes = 5*time.Second, 6
		}
	}
	onStores(t, rigtest.SQLite, func(g *rig) {
		var workers []*rigtest.Process
		for range processes {
			workers = append(workers, g.start(func(j *job) { j.Busy = true }))
		}
		var runs []*mailbox.Receipt
		for range 2 * processes {
			runs = append(runs, g.submit("forever nap"))
		}
		for end := time.Now().Add(length); time.Now().Before(end); time.Sleep(time.Second) {
			for _, r := range runs {
				if d := g.dispatch(r.DispatchID); d.LostAt != 0 || d.Crashes != 0 { // an attempt may fail: the file is locked for long
					g.Fatalf("dispatch %s was taken over: %+v", d.ID, d)
				}
			}
		}
		for _, w := range workers {
			if w.Ended() {
				g.Errorf("worker %d has ended", w.PID())
			}
			for _, bad := range []string{"silent for too long", "reclaimed dispatches", "cannot send a heartbeat"} {
				if n := strings.Count(w.Log(), bad); n > 0 {
					g.Errorf("worker %d logged %q %d times", w.PID(), bad, n)
				}
			}
		}
		g.Logf("%d processes, %s, %d calls", processes, length, len(g.calls()))
	})
}

// A process that accepts a run and has a slot for it claims it with the statement that stores it. If it
// dies before it begins the run, another process takes the run over, as any other.
func TestARunThatItsProcessHasAcceptedIsTakenOver(t *testing.T) {
	onStores(t, rigtest.Postgres, func(g *rig) {
		g.job.Liveness = time.Second
		dead := g.start(func(j *job) { j.Submit, j.KillAt = "effect", "submit.accepted" })
		<-dead.Over()
		d := g.own()
		if d.Status != mailbox.Claimed || d.ClaimedBy == "" {
			g.Fatalf("the dispatch is %s, claimed by %q", d.Status, d.ClaimedBy)
		}
		defer g.start().Kill()
		g.until("the run has ended", 30*time.Second, func() bool { return g.own().Status == mailbox.Acked })
		if d := g.own(); d.Attempts != 0 {
			g.Errorf("%d attempts", d.Attempts)
		}
		if n := len(g.calls()); n != 1 {
			g.Errorf("the tool was called %d times", n)
		}
	})
}

// One that is paused there finds that another has the run, and neither fences that one nor writes.
func TestAProcessThatPausesBeforeItBeginsARunDoesNotBeginIt(t *testing.T) {
	onStores(t, rigtest.SQLite, func(g *rig) {
		g.job.Liveness = time.Second
		paused := g.start(func(j *job) { j.Submit, j.PauseAt = "effect nap nap nap nap", "submit.accepted" })
		defer paused.Kill()
		g.paused(paused)
		d := g.own()
		if d.Status != mailbox.Claimed {
			g.Fatalf("the dispatch is %s", d.Status)
		}
		first := d.ClaimedBy
		defer g.start().Kill()
		g.until("another process has it", 30*time.Second, func() bool {
			d := g.own()
			return d.Status == mailbox.Claimed && d.ClaimedBy != first
		})
		g.resume(paused)
		g.until("the run has ended", 30*time.Second, func() bool { return g.own().Status == mailbox.Acked })
		if d := g.own(); d.Attempts != 0 || d.Crashes > 1 {
			g.Errorf("%d attempts, %d crashes", d.Attempts, d.Crashes)
		}
		if n := len(g.calls(rigtest.ByTool("effect"))); n != 1 {
			g.Errorf("the tool was called %d times", n)
		}
	})
}

// own returns the dispatch that a worker submitted itself.
func (g *rig) own() *mailbox.Dispatch {
	g.Helper()
	ds, err := g.tenant.Store.Dispatches(g.Context(), mailbox.Query{ThreadID: "own"})
	if err != nil || len(ds) != 1 {
		g.Fatalf("%d dispatches, %v", len(ds), err)
	}
	return ds[0]
}
