//go:build unix

package stalltest

import (
	"cmp"
	"context"
	"fmt"
	"slices"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"github.com/awaken-go/awaken/internal/rigtest"
	"github.com/awaken-go/awaken/internal/testenv"
)

// rows are the agents whose prompts are measured. None of these prompts fails.
var rows = []struct{ agent, what string }{
	{"thirds", "a provider whose every third prompt fails with 500, each time that it is sent: its other prompts"},
	{"unlimited", "a provider that says 429 to a model: another model"},
	{"pool", "the same: a pool of the two models"},
	{"hangs", "a provider that hangs for some prompts: its other prompts"},
	{"shopping", "an MCP server that is away: prompts of an agent that has it"},
	{"homely", "the same: another agent on the provider"},
	{"fine", "another provider"},
}

// failures are the prompts that fail while failures happen, by agent, and how many prompts of a row come to one of them.
var failures = []struct {
	agent, prompt string
	every         int
}{{"thirds", ill, 2}, {"limited", ill, 2}, {"hangs", ill, 4}, {"shopping", call, 4}}

const (
	// mostRatio is how much longer the 99th percentile may be with failures, and after them.
	mostRatio = 1.5
	// mostDelay is what no prompt takes that waits for none of the failures: the pause of a provider, the cooldown of a breaker, the
	// timeout of a request or of a server are longer.
	mostDelay = 4 * time.Second
	// leastPrompts is how many prompts a cell of the long run has, so that its 99th percentile is not one of the slowest few.
	leastPrompts = 700
)

// role is what a server is in a window.
type role int

const (
	failing   role = iota // failures happen
	after                 // failures have happened in the window before
	besides               // the control of a window with failures
	afterward             // the control of the window after
	roles
)

// sample is a prompt that was answered.
type sample struct {
	agent string
	role  role
	at    time.Duration // since the window began
	took  time.Duration
	// The parts of took: until the model was asked, until it had answered, and until the client had the answer.
	before, thinking, behind time.Duration
}

func (s *sample) String() string {
	names := [roles]string{"failing", "after", "control", "control"}
	ms := time.Duration.Milliseconds
	return fmt.Sprintf("%-9s %-7s at %4d ms took %4d ms: %4d until the model was asked, %4d there, %4d after",
		s.agent, names[s.role], ms(s.at), ms(s.took), ms(s.before), ms(s.thinking), ms(s.behind))
}

// samples are the prompts of all windows.
type samples struct {
	mu    sync.Mutex
	all   []sample
	shown int // that slowest has shown
	wrong []string
}

func (s *samples) add(x sample, out string, err error) {
	s.mu.Lock()
	defer s.mu.Unlock()
	if err != nil || !strings.Contains(out, "hello there") {
		s.wrong = append(s.wrong, fmt.Sprintf("%s: %v …%s", &x, err, out[max(0, len(out)-600):]))
		return
	}
	s.all = append(s.all, x)
}

// The failures of a provider, and an MCP server that is away, are no matter of other prompts, neither while they happen nor afterwards. The
// short run asserts that each is answered, and without a delay of seconds. It does not assert the ratio: with a few prompts a cell the 99th
// percentile is the slowest one, and on a machine that runs other tests at the same time, that is the machine's. What the machine adds to
// every prompt is logged for each window, with the slowest prompts and where they waited.
func TestStalls(t *testing.T) {
	windows, window, every := 2, 3*time.Second, 280*time.Millisecond
	if testenv.Long() {
		windows, window, every = 40, 5*time.Second, 126*time.Millisecond
	}
	servers := [2]*program{start(t), start(t)}
	ctx, cancel := context.WithTimeout(t.Context(), 10*time.Minute)
	defer cancel()
	for _, p := range servers {
		for _, r := range rows {
			if out, err := p.run(ctx, r.agent, good); err != nil || !strings.Contains(out, "hello there") {
				t.Fatalf("agent %s: %v %s", r.agent, err, out)
			}
		}
	}
	got := &samples{}
	m := watch(t)
	for i := range windows {
		first, second := servers[i/2%2], servers[1-i/2%2]
		began := time.Now()
		w := &load{length: window, every: every, got: got}
		if i%2 == 0 {
			first.set(true)
			w.send(ctx, map[role]*program{failing: first, besides: second})
			first.set(false)
			w.others.Wait()
		} else {
			w.send(ctx, map[role]*program{after: first, afterward: second})
			w.others.Wait()
			if err := first.forget(ctx); err != nil {
				t.Fatalf("reset what was learnt: %v", err)
			}
		}
		woke, wrote := m.worst()
		t.Logf("window %2d, %s: of the machine, latest wake-up %d ms, slowest write %d ms; slowest prompts:",
			i, time.Since(began).Round(time.Millisecond), woke.Milliseconds(), wrote.Milliseconds())
		for _, x := range got.slowest(3) {
			t.Log("   ", &x)
		}
	}
	got.report(t)
	for i, p := range servers {
		t.Logf("failures of server %d: %v", i, p.hit)
	}
	for _, name := range []string{"thirds", "limited", "hangs", "shop"} {
		if servers[0].hit[name] == 0 {
			t.Errorf("%s: nothing has failed", name)
		}
	}
}

// load is the prompts of a window.
type load struct {
	length, every time.Duration
	got           *samples
	number        atomic.Int64
	others        sync.WaitGroup // prompts that may fail
}

// send sends the same prompts at the same moments to each server, and waits for the answers to those that do not fail. An agent gets one in
// each period, and the agents take turns.
func (w *load) send(ctx context.Context, servers map[role]*program) {
	var measured sync.WaitGroup
	tick := time.NewTicker(w.every / time.Duration(len(rows)))
	defer tick.Stop()
	began := time.Now()
	for i := 0; time.Since(began) < w.length; i++ {
		turn, row := i/len(rows), rows[i%len(rows)]
		for role, p := range servers {
			measured.Go(func() { w.ask(ctx, p, sample{agent: row.agent, role: role, at: time.Since(began)}) })
			for j, f := range failures {
				if i%len(rows) == j && turn%f.every == 0 {
					w.others.Go(func() { _, _ = p.run(ctx, f.agent, f.prompt) })
				}
			}
		}
		<-tick.C
	}
	measured.Wait()
}

// ask sends a prompt and adds how long its answer took.
func (w *load) ask(ctx context.Context, p *program, x sample) {
	n := int(w.number.Add(1))
	began := time.Now()
	out, err := p.run(ctx, x.agent, fmt.Sprint(good, " ", n))
	x.took = time.Since(began)
	v := p.visit(n)
	x.before, x.thinking = v.asked.Sub(began), v.answered.Sub(v.asked)
	x.behind = x.took - x.before - x.thinking
	w.got.add(x, out, err)
}

// report writes the table, and checks it.
func (s *samples) report(t *testing.T) {
	for i, wrong := range s.wrong {
		if i < 3 {
			t.Errorf("a prompt that does not fail got %s", wrong)
		}
	}
	if len(s.wrong) > 0 {
		t.Errorf("%d prompts that do not fail were not answered", len(s.wrong))
	}
	t.Log("milliseconds: prompts, median, 99th percentile and slowest; with failures | the control at the same moments |" +
		" ratio of the 99th percentiles || after failures | its control | ratio")
	for _, r := range rows {
		var cells [roles][]time.Duration
		for _, x := range s.all {
			if x.agent == r.agent {
				cells[x.role] = append(cells[x.role], x.took)
			}
		}
		for _, cell := range cells {
			slices.Sort(cell)
			if len(cell) == 0 {
				t.Fatalf("%s: a cell of the table has no prompts", r.agent)
			}
			if most := cell[len(cell)-1]; most > mostDelay {
				t.Errorf("%s: a prompt took %s, want at most %s", r.what, most, mostDelay)
			}
			if testenv.Long() && len(cell) < leastPrompts {
				t.Errorf("%s: %d prompts, want %d at least", r.what, len(cell), leastPrompts)
			}
		}
		during, later := ratio(cells[failing], cells[besides]), ratio(cells[after], cells[afterward])
		t.Logf("%-9s %s | %s | %.2f || %s | %s | %.2f  %s", r.agent, figures(cells[failing]), figures(cells[besides]), during,
			figures(cells[after]), figures(cells[afterward]), later, r.what)
		if testenv.Long() && max(during, later) > mostRatio {
			t.Errorf("%s: the 99th percentile is %.2f times as long with failures, and %.2f times after them, want at most %g",
				r.what, during, later, mostRatio)
		}
	}
}

// ratio returns the ratio of two 99th percentiles.
func ratio(a, b []time.Duration) float64 {
	return float64(rigtest.Quantile(a, .99)) / float64(rigtest.Quantile(b, .99))
}

func figures(all []time.Duration) string {
	ms := func(part float64) int64 { return rigtest.Quantile(all, part).Milliseconds() }
	return fmt.Sprintf("%4d %4d %4d %4d", len(all), ms(.5), ms(.99), ms(1))
}

// slowest returns the n prompts since the last call that took longest.
func (s *samples) slowest(n int) []sample {
	s.mu.Lock()
	defer s.mu.Unlock()
	last := slices.SortedFunc(slices.Values(s.all[s.shown:]), func(a, b sample) int { return cmp.Compare(b.took, a.took) })
	s.shown = len(s.all)
	return last[:min(n, len(last))]
}
