package fire_test

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"math/rand/v2"
	"strings"
	"sync"
	"testing"
	"testing/synctest"
	"time"
	_ "time/tzdata" // the tests need no files of the machine

	"github.com/google/go-cmp/cmp"

	"github.com/awaken-go/awaken"
	"github.com/awaken-go/awaken/automate/schedule"
	"github.com/awaken-go/awaken/automate/schedule/fire"
	"github.com/awaken-go/awaken/internal/bubbletest"
)

// world has the runs of a test, which last for a while, and refuses what the runs of a server refuse.
type world struct {
	lasts time.Duration

	mu      sync.Mutex
	began   map[string]time.Time // by run
	starts  []time.Time          // when runs began
	ended   map[string]bool      // that were cancelled
	refuse  error                // of Start
	calls   int                  // of Start
	started func()               // called after Start, without lock
}

func (w *world) Start(ctx context.Context, s *schedule.Schedule) (string, error) {
	p := s.State.Pending
	w.mu.Lock()
	defer w.mu.Unlock()
	if err := ctx.Err(); err != nil {
		return "", err
	}
	w.calls++
	if w.refuse != nil {
		return "", w.refuse
	}
	if w.began == nil {
		w.began, w.ended = map[string]time.Time{}, map[string]bool{}
	}
	if _, ok := w.began[p.RunID]; !ok {
		w.began[p.RunID] = time.Now()
		w.starts = append(w.starts, time.Now())
	}
	if w.started != nil {
		defer w.started()
	}
	return p.ThreadID, nil
}

func (w *world) Active(_ context.Context, _, runID string) (bool, error) {
	w.mu.Lock()
	defer w.mu.Unlock()
	began, ok := w.began[runID]
	return ok && !w.ended[runID] && time.Since(began) < w.lasts, nil
}

func (w *world) Cancel(_ context.Context, _, runID string) error {
	w.mu.Lock()
	defer w.mu.Unlock()
	w.ended[runID] = true
	return nil
}

func worker(t *testing.T, st schedule.Store, runs fire.Runs) *fire.Worker {
	t.Helper()
	w, err := fire.New(fire.Config{Store: st, Runs: runs})
	if err != nil {
		t.Fatal(err)
	}
	return w
}

func add(t *testing.T, st schedule.Store, spec schedule.Spec) {
	t.Helper()
	spec.Run = json.RawMessage(`{}`)
	s := &schedule.Schedule{Tenant: "t", ID: "x", Spec: spec}
	if err := s.Arm(time.Now()); err != nil {
		t.Fatal(err)
	}
	if ok, err := st.Swap(t.Context(), s); !ok || err != nil {
		t.Fatal(ok, err)
	}
}

// log returns the log of the schedule, oldest first, as minutes since the beginning and outcomes.
func log(t *testing.T, st schedule.Store, since time.Time) string {
	t.Helper()
	firings, err := st.Firings(t.Context(), "t", "x", 0, schedule.KeptFirings)
	if err != nil {
		t.Fatal(err)
	}
	var out []string
	for _, f := range firings {
		line := fmt.Sprintf("%g %s", f.At.Sub(since).Minutes(), f.Outcome)
		if f.Through != nil {
			line = fmt.Sprintf("%g-%g (%d) %s", f.At.Sub(since).Minutes(), f.Through.Sub(since).Minutes(), f.Count, f.Outcome)
		}
		out = append([]string{line}, out...)
	}
	return strings.Join(out, ", ")
}

// run works for a while.
func run(t *testing.T, w *fire.Worker, d time.Duration) {
	ctx, cancel := context.WithTimeout(t.Context(), d)
	defer cancel()
	w.Work(ctx)
}

func TestWorker_OverlapAndMissed(t *testing.T) {
	t.Parallel()
	for _, tt := range []struct {
		name      string
		spec      schedule.Spec
		lasts     time.Duration
		down, run time.Duration
		want      string
	}{
		{"every minute", schedule.Spec{Cron: "* * * * *"}, time.Second, 0, 3*time.Minute + 5*time.Second, "1 started, 2 started, 3 started"},
		{"skip", schedule.Spec{Cron: "* * * * *"}, 90 * time.Second, 0, 4*time.Minute + 5*time.Second, "1 started, 2 skipped, 3 started, 4 skipped"},
		{"allow", schedule.Spec{Cron: "* * * * *", Overlap: schedule.AllowOverlap}, time.Hour, 0, 3*time.Minute + 5*time.Second, "1 started, 2 started, 3 started"},
		{"cancel", schedule.Spec{Cron: "* * * * *", Overlap: schedule.EndOverlap}, time.Hour, 0, 3*time.Minute + 5*time.Second, "1 started, 2 started, 3 started"},
		{"wait", schedule.Spec{Cron: "* * * * *", Overlap: schedule.WaitOverlap}, 150 * time.Second, 0, 4*time.Minute + 5*time.Second, "1 started, 3 skipped, 2 started"},
		{"latest", schedule.Spec{Cron: "* * * * *"}, 0, 10*time.Minute + 30*time.Second, time.Minute, "1-9 (9) missed, 10 started, 11 started"},
		{"latest, long ago", schedule.Spec{Cron: "0 * * * *"}, 0, 10*time.Hour + 50*time.Minute, time.Minute, "60-540 (9) missed, 600 started"},
		{"skip, on time", schedule.Spec{Cron: "* * * * *", Missed: schedule.CatchNone}, 0, 3*time.Minute + 30*time.Second, time.Second, "1-2 (2) missed, 3 started"},
		{"skip, too late", schedule.Spec{Cron: "0 * * * *", Missed: schedule.CatchNone}, 0, 70 * time.Minute, time.Minute, "60 missed"},
		{"all", schedule.Spec{Cron: "* * * * *", Missed: schedule.CatchAll}, 0, 3*time.Minute + 30*time.Second, 10 * time.Second, "1 started, 2 started, 3 started"},
		{"all, too many", schedule.Spec{Cron: "* * * * *", Missed: schedule.CatchAll, Overlap: schedule.AllowOverlap}, 0, 102*time.Minute + 30*time.Second, time.Second, "1-2 (2) missed, 3 started, 4 started"},
		{"not counted", schedule.Spec{Cron: "0 0 * * *"}, 0, 100 * 24 * time.Hour, time.Second, "1440-142560 (60) missed, 144000 started"},
	} {
		t.Run(tt.name, func(t *testing.T) {
			bubbletest.Test(t, func(t *testing.T) {
				began, st := time.Now(), new(schedule.Memory)
				add(t, st, tt.spec)
				time.Sleep(tt.down)
				run(t, worker(t, st, &world{lasts: tt.lasts}), tt.run)
				got := log(t, st, began)
				if tt.name == "all, too many" {
					got = strings.Join(strings.Split(got, ", ")[:3], ", ")
				}
				if got != tt.want {
					t.Errorf("log: %s\nwant %s", got, tt.want)
				}
			})
		})
	}
}

func TestWorker_OneTime(t *testing.T) {
	t.Parallel()
	bubbletest.Test(t, func(t *testing.T) {
		began, st, runs := time.Now(), new(schedule.Memory), new(world)
		at := began.Add(90 * time.Second)
		add(t, st, schedule.Spec{At: &at})
		run(t, worker(t, st, runs), time.Hour)
		s, err := st.Get(t.Context(), "t", "x")
		if got := log(t, st, began); got != "1.5 started" || err != nil || !s.Ended() || !s.Due.IsZero() {
			t.Errorf("log %q, %+v, %v", got, s, err)
		}
		if off := runs.starts[0].Sub(at); off < 0 || off > 2*time.Second {
			t.Errorf("it started %s after its time", off)
		}
	})
}

func TestWorker_JitterDelaysEachTimeByTheSame(t *testing.T) {
	t.Parallel()
	bubbletest.Test(t, func(t *testing.T) {
		st, runs := new(schedule.Memory), new(world)
		add(t, st, schedule.Spec{Cron: "0 * * * *", JitterSecs: 600})
		s, err := st.Get(t.Context(), "t", "x")
		if err != nil {
			t.Fatal(err)
		}
		delays := map[time.Duration]bool{}
		for _, at := range s.Upcoming(20) {
			d := s.Delay(at)
			if delays[d] = true; d < 0 || d >= 10*time.Minute || d != s.Delay(at) {
				t.Errorf("%s is delayed by %s", at, d)
			}
		}
		if len(delays) < 15 {
			t.Errorf("%d different delays of 20", len(delays))
		}
		first := s.State.Next
		run(t, worker(t, st, runs), 71*time.Minute)
		if want := first.Add(s.Delay(first)); len(runs.starts) != 1 || runs.starts[0].Sub(want).Abs() > 2*time.Second {
			t.Errorf("runs began at %v, want %s", runs.starts, want)
		}
	})
}

func TestWorker_RefusedAndFailed(t *testing.T) {
	t.Parallel()
	bubbletest.Test(t, func(t *testing.T) {
		began, st := time.Now(), new(schedule.Memory)
		runs := &world{refuse: fmt.Errorf("%w: agent not found", fire.ErrRefused)}
		add(t, st, schedule.Spec{Cron: "*/10 * * * *"})
		w := worker(t, st, runs)
		run(t, w, 11*time.Minute) // refused once
		runs.refuse = errors.New("the queue is full")
		run(t, w, 16*time.Minute) // tried again for five minutes
		tried := runs.calls
		runs.refuse = nil
		run(t, w, 10*time.Minute)
		if got := log(t, st, began); got != "10 refused, 20 missed, 30 started" || tried < 5 {
			t.Errorf("log: %s, tried %d times", got, tried)
		}
	})
}

func TestNow_StartsARunOfItsOwn(t *testing.T) {
	t.Parallel()
	bubbletest.Test(t, func(t *testing.T) {
		st, runs := new(schedule.Memory), &world{lasts: time.Hour}
		add(t, st, schedule.Spec{Cron: "0 * * * *", Paused: true})
		w := worker(t, st, runs)
		for range 2 {
			f, err := w.Now(t.Context(), "t", "x")
			if err != nil || f.Outcome != schedule.Started || !f.Manual || runs.began[f.RunID].IsZero() {
				t.Fatalf("%+v, %v", f, err)
			}
			time.Sleep(time.Second)
		}
		if _, err := w.Now(t.Context(), "t", "y"); !errors.Is(err, awaken.ErrNotFound) {
			t.Error(err)
		}
		run(t, w, 2*time.Hour)
		if len(runs.starts) != 2 {
			t.Errorf("%d runs of a paused schedule, want the two that were asked for", len(runs.starts))
		}
	})
}

// TestWorkers_EveryTimeHasOneEntryAndOneRun has three processes, of which one at a time is killed between any two steps, over a change of daylight saving time.
func TestWorkers_EveryTimeHasOneEntryAndOneRun(t *testing.T) {
	t.Parallel()
	bubbletest.Test(t, func(t *testing.T) {
		const want = 1000
		berlin, err := time.LoadLocation("Europe/Berlin")
		if err != nil {
			t.Fatal(err)
		}
		time.Sleep(time.Until(time.Date(2027, 3, 27, 18, 0, 0, 0, berlin))) // the clock is changed eight hours later
		st, runs, r := new(schedule.Memory), new(world), rand.New(rand.NewPCG(1, 2))
		var mu sync.Mutex
		kill := func() {}
		runs.started = func() { // most deaths: a run has begun, and no process has written it down
			mu.Lock()
			defer mu.Unlock()
			if r.IntN(4) == 0 {
				kill()
			}
		}
		add(t, st, schedule.Spec{Cron: "* * * * *", TimeZone: "Europe/Berlin", Missed: schedule.CatchAll, Overlap: schedule.AllowOverlap})
		first, err := st.Get(t.Context(), "t", "x")
		if err != nil {
			t.Fatal(err)
		}
		ctx, stop := context.WithCancel(t.Context())
		var wg sync.WaitGroup
		for range 3 {
			wg.Go(func() {
				for ctx.Err() == nil {
					life, die := context.WithCancel(ctx)
					mu.Lock()
					kill = die
					mu.Unlock()
					worker(t, dying{st, life}, runs).Work(life)
					die()
					mu.Lock()
					pause := time.Duration(r.IntN(20)) * time.Second
					mu.Unlock()
					time.Sleep(pause) // until it is started again
				}
			})
		}
		for {
			time.Sleep(time.Minute)
			if s, err := st.Get(t.Context(), "t", "x"); err != nil {
				t.Fatal(err)
			} else if s.State.Logged >= want {
				break
			}
		}
		stop()
		wg.Wait()
		synctest.Wait()
		firings, err := st.Firings(t.Context(), "t", "x", 0, 2*want)
		if err != nil {
			t.Fatal(err)
		}
		at, named := first.State.Next, map[string]bool{}
		var times, expected []time.Time
		for i := len(firings) - 1; i >= 0; i-- {
			f := &firings[i]
			if f.Outcome != schedule.Started || runs.began[f.RunID].IsZero() {
				t.Errorf("%s: %s, run %q", f.At, f.Outcome, f.RunID)
			}
			named[f.RunID] = true
			times, expected, at = append(times, f.At.UTC()), append(expected, at.UTC()), at.Add(time.Minute)
		}
		if diff := cmp.Diff(expected, times); diff != "" {
			t.Errorf("times (-want +got):\n%s", diff)
		}
		s, err := st.Get(t.Context(), "t", "x")
		if p := s.State.Pending; err == nil && p != nil {
			named[p.RunID] = true
		}
		if len(named) < len(runs.began) {
			t.Errorf("%d runs, of which the log has %d", len(runs.began), len(named))
		}
		t.Logf("%d times, %d runs, %d starts", len(firings), len(runs.began), runs.calls)
		if runs.calls == len(runs.began) {
			t.Error("no start was repeated: no process died between starting a run and writing it down")
		}
	})
}

// dying is a store that a dead process does not reach.
type dying struct {
	schedule.Store
	life context.Context
}

func (d dying) Swap(ctx context.Context, s *schedule.Schedule) (bool, error) { return d.Record(ctx, s) }

func (d dying) Record(ctx context.Context, s *schedule.Schedule, log ...schedule.Firing) (bool, error) {
	if err := d.life.Err(); err != nil {
		return false, err
	}
	return d.Store.Record(ctx, s, log...)
}
