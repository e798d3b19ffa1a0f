//go:build unix

package crashtest

import (
	"errors"
	"fmt"
	"maps"
	"math/rand/v2"
	"os"
	"slices"
	"strconv"
	"strings"
	"sync"
	"testing"

	"github.com/awaken-go/awaken"
	"github.com/awaken-go/awaken/internal/failpoint"
	"github.com/awaken-go/awaken/internal/testenv"
)

func TestMain(m *testing.M) { os.Exit(testenv.WithJobs(m, work, &server)) }

// kills is how many processes the test kills on each store, or more until there was one at
// every point of it.
func kills() int { return testenv.Times(15, 3000) }

// lanes is how many trials of a store are made at the same time: they wait more than
// they work.
const lanes = 4

// seedVar repeats the plans of an earlier test.
const seedVar = "AWAKEN_CRASH_SEED"

// crashSeed is where plans come from.
func crashSeed() uint64 {
	seed, err := strconv.ParseUint(os.Getenv(seedVar), 10, 64)
	if err != nil {
		seed = rand.Uint64()
	}
	return seed
}

func TestKill(t *testing.T) {
	seed := crashSeed()
	for _, name := range slices.Sorted(maps.Keys(backends)) {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			c := &campaign{T: t, name: name, backend: backends[name], seed: seed, dir: t.ArtifactDir(),
				points: pointsOf(name, seed), hit: map[string]int{}, flying: map[string]int{}}
			var wg sync.WaitGroup
			for range lanes {
				wg.Go(c.run)
			}
			wg.Wait()
			c.report()
		})
	}
}

// pointsOf lists the failpoints that a process on a store can come to in the conversation. In the short test the points that all stores
// have are dealt to them by the seed: a process dies at every point, but at most of them on one store.
func pointsOf(name string, seed uint64) []string {
	stores := slices.Sorted(maps.Keys(backends))
	dealt := int(seed % uint64(len(stores)))
	return slices.DeleteFunc(failpoint.Names(), func(p string) bool {
		if strings.HasPrefix(p, "compaction.") || strings.HasPrefix(p, "budget.") || strings.HasPrefix(p, "tool_step.") { // they have stories of their own
			return true
		}
		for other, o := range backends {
			if other != name && strings.HasPrefix(p, o.own) {
				return true
			}
		}
		if p == "file.before_removal" || // nothing is deleted here; see the tests of store/file
			strings.HasPrefix(p, "config.") || // see internal/publishtest
			strings.HasPrefix(p, "submit.") || strings.HasPrefix(p, "claim.") { // see internal/killtest
			return true
		}
		if testenv.Long() || strings.HasPrefix(p, backends[name].own) {
			return false
		}
		dealt++
		return stores[dealt%len(stores)] != name
	})
}

// campaign is all trials on one store.
type campaign struct {
	*testing.T
	name   string
	seed   uint64
	points []string
	dir    string
	backend

	mu     sync.Mutex
	trials int
	kills  int
	// replays are runs that replay equal, followed those of which every event does.
	replays, followed int

	hit    map[string]int // kills at each point
	flying map[string]int // calls that were on their way when a process was killed
}

// run makes trials until there are enough.
func (c *campaign) run() {
	for {
		c.mu.Lock()
		i := c.trials
		over := c.kills >= kills() && len(c.missing()) == 0 || i > 10*kills()
		c.trials++
		c.mu.Unlock()
		if over || c.Failed() {
			return
		}
		c.try(i)
	}
}

var modes = []awaken.ExecutionMode{awaken.Sequential, awaken.ParallelStreaming, awaken.ParallelBatchApproval}

// openings are the first trials: they cut off a call of each class, one after the other and at once, and one that waits.
var openings = []struct {
	mode awaken.ExecutionMode
	at   string
}{
	{awaken.Sequential, "call.after:1"}, {awaken.Sequential, "call.after:2"}, {awaken.Sequential, "call.after:4"},
	{awaken.ParallelStreaming, "call.after:2"}, {awaken.Sequential, "park.after:1"},
}

// plan says what a trial does, and where its processes are killed, one after the
// other. After the openings every point has its turn
// in every mode, first at its first hit and later at any; and others, while the run is
// taken up.
func (c *campaign) plan(i int) (j job, at []string) {
	rng := rand.New(rand.NewPCG(c.seed, uint64(i)))
	hit := func() int { return 1 + int(2*rng.ExpFloat64()) } // most points are hit only a few times
	j = job{Store: c.name, Mode: awaken.Sequential}
	if i < len(openings) {
		j.Mode, at = openings[i].mode, []string{openings[i].at}
	} else {
		i -= len(openings)
		round, turn := i/len(c.points), i%len(c.points)
		j.Mode, j.Cancel = modes[(turn+round)%len(modes)], round > 0 && rng.IntN(10) == 0
		switch point := c.points[turn]; {
		case point == "resume.doubt": // only after an effect was cut off
			at = []string{"call.before:4", "resume.doubt:1"}
		case point == "cancel.interrupted":
			j.Cancel, at = true, []string{"cancel.interrupted:1"}
		case round == 0:
			at = []string{point + ":1"}
		default:
			at = []string{fmt.Sprintf("%s:%d", point, hit())}
		}
	}
	more := func() bool { return rng.IntN(3) == 0 }
	if testenv.Long() {
		more = func() bool { return rng.IntN(3) > 0 }
	}
	for len(at) < 6 && more() {
		at = append(at, fmt.Sprintf("%s:%d", c.points[rng.IntN(len(c.points))], hit()))
	}
	return j, at
}

// try runs one conversation through the kills of a plan, and checks what is left.
func (c *campaign) try(i int) {
	j, plan := c.plan(i)
	fail := func(format string, args ...any) {
		c.Errorf("%s=%d: trial %d on %s, %s, killed at %v: %s", seedVar, c.seed, i, c.name, j.Mode, plan, fmt.Sprintf(format, args...))
	}
	dir, err := os.MkdirTemp(c.dir, "trial")
	if err != nil {
		fail("%v", err)
		return
	}
	j.Where, j.Dir = c.place(dir), dir
	for _, spec := range append(plan, "") {
		dead, err := testenv.RunJob(c.Context(), j, spec)
		if err != nil {
			fail("%v", err)
			return
		}
		if !dead {
			break // it came to the end
		}
		flying, err := c.inspect(j)
		if err != nil {
			fail("after %s: %v", spec, err)
			return
		}
		point, _, _ := strings.Cut(spec, ":")
		c.mu.Lock()
		c.kills++
		c.hit[point]++
		for _, what := range flying {
			c.flying[what]++
		}
		c.mu.Unlock()
	}
	s, err := c.open(j.Where)
	if err != nil {
		fail("open: %v", err)
		return
	}
	problems := check(c.Context(), s, j)
	if followed, err := replayed(c.Context(), s, j, conversation); err != nil {
		problems = append(problems, "replay: "+err.Error())
	} else {
		c.mu.Lock()
		c.replays++
		if followed {
			c.followed++
		}
		c.mu.Unlock()
	}
	if err := s.Close(); err != nil {
		problems = append(problems, err.Error())
	}
	for _, p := range problems {
		fail("%s", p)
	}
	if len(problems) == 0 {
		_ = os.RemoveAll(dir)
	}
}

var classes = map[awaken.EffectClass]string{awaken.ReadOnly: "read-only", awaken.Idempotent: "idempotent", awaken.Effectful: "effectful"}

// inspect looks at what a killed process has left, before another takes it up. It
// returns what was on its way.
func (c *campaign) inspect(j job) (flying []string, err error) {
	where := j.Where
	if c.look != nil {
		if where, err = c.look(where); err != nil {
			return nil, err
		}
		defer os.RemoveAll(where)
	}
	s, err := c.open(where)
	if err != nil {
		return nil, err
	}
	defer func() { err = errors.Join(err, s.Close()) }()
	calls, err := s.Calls(c.Context(), runID)
	if errors.Is(err, awaken.ErrNotFound) {
		if seen, err := j.notes().read(); err != nil || len(seen) > 0 {
			return nil, fmt.Errorf("the run is lost: %w", errors.Join(awaken.ErrNotFound, err))
		}
		return nil, nil // it died before there was a run
	}
	if err != nil {
		return nil, err
	}
	if err := checkWhole(c.Context(), s); err != nil {
		return nil, err
	}
	how := "parallel"
	if j.Mode == awaken.Sequential {
		how = "sequential"
	}
	marked := j.world().read()
	for _, call := range calls {
		begun := call.Status == awaken.CallRunning || call.Status == awaken.CallResuming || marked[call.ToolName+" "+call.Key] > 0
		switch {
		case call.Status == awaken.CallSuspended:
			flying = append(flying, "suspended")
		case begun && !call.Status.Terminal():
			flying = append(flying, how+" "+classes[call.Effect])
		}
	}
	return flying, nil
}

// missing lists what no process was killed at or with yet. Requires c.mu.
func (c *campaign) missing() (out []string) {
	for _, p := range c.points {
		if c.hit[p] == 0 {
			out = append(out, p)
		}
	}
	want := []string{"suspended"}
	for _, class := range classes {
		want = append(want, "sequential "+class, "parallel "+class)
	}
	for _, what := range want {
		if c.flying[what] == 0 {
			out = append(out, "a call that was "+what)
		}
	}
	return out
}

// report says what was tried, and fails if something was not.
func (c *campaign) report() {
	c.Logf("%s=%d: %d processes killed on %s in %d trials, at %d points %v; calls on their way: %v; %d runs replay equal, %d of them event by event",
		seedVar, c.seed, c.kills, c.name, c.trials-lanes, len(c.hit), c.hit, c.flying, c.replays, c.followed)
	if missing := c.missing(); !c.Failed() && (c.kills < kills() || len(missing) > 0) {
		c.Errorf("%d processes were killed, want %d; none at %q", c.kills, kills(), missing)
	}
	if !c.Failed() && (c.followed == 0 || c.followed == c.replays) {
		c.Errorf("of %d runs, %d replay event by event, want some and not all", c.replays, c.followed)
	}
}
