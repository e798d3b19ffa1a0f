//go:build unix

package stalltest

import (
	"context"
	"fmt"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"

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
	// mostRatio is how much longer the 99th percentile may be with failures.
	mostRatio = 1.5
	// mostDelay is what no prompt takes that waits for none of the failures: the pause of a provider, the cooldown of a breaker, the
	// timeout of a request or of a server are longer.
	mostDelay = 4 * time.Second
)

// samples has how long prompts took, by row and whether failures happened.
type samples struct {
	mu    sync.Mutex
	took  map[string]*[2][]time.Duration
	wrong []string
	most  time.Duration // since slowest was called
}

func (s *samples) add(agent string, bad bool, took time.Duration, out string, err error) {
	s.mu.Lock()
	defer s.mu.Unlock()
	if err != nil || !strings.Contains(out, "hello there") {
		s.wrong = append(s.wrong, fmt.Sprintf("agent %s, failures %t: %v …%s", agent, bad, err, out[max(0, len(out)-600):]))
		return
	}
	s.most = max(s.most, took)
	i := 0
	if bad {
		i = 1
	}
	if s.took[agent] == nil {
		s.took[agent] = new([2][]time.Duration)
	}
	s.took[agent][i] = append(s.took[agent][i], took)
}

// The failures of a provider, and an MCP server that is away, are no matter of other prompts. The short run asserts that each is answered,
// and without a delay of seconds. It does not assert the ratio: with twenty prompts a cell the 99th percentile is the slowest one, and on a
// machine that runs other tests at the same time, that is the machine's. What the machine adds to every prompt is logged for each window.
func TestStalls(t *testing.T) {
	windows, window, every := 2, 4*time.Second, 200*time.Millisecond
	if testenv.Long() {
		windows, window, every = 32, 5*time.Second, 100*time.Millisecond // 800 prompts a cell
	}
	w := &weather{hit: map[string]int{}}
	p := start(t, w)
	ctx, cancel := context.WithTimeout(t.Context(), 10*time.Minute)
	defer cancel()
	for _, r := range rows {
		if out, err := p.run(ctx, r.agent, good); err != nil || !strings.Contains(out, "hello there") {
			t.Fatalf("agent %s: %v %s\n%s", r.agent, err, out, p.out.String())
		}
	}
	got := samples{took: map[string]*[2][]time.Duration{}}
	m := watch(t)
	for i := range windows {
		p.window(ctx, w, i%2 == 1, window, every, &got)
		woke, wrote := m.worst()
		t.Logf("window %2d: slowest prompt %4d ms; of the machine, latest wake-up %4d ms, slowest write %4d ms",
			i, got.slowest().Milliseconds(), woke.Milliseconds(), wrote.Milliseconds())
	}
	got.report(t)
	t.Logf("failures: %v", w.hit)
	for _, name := range []string{"thirds", "limited", "hangs", "shop"} {
		if w.hit[name] == 0 {
			t.Errorf("%s: nothing has failed", name)
		}
	}
}

// window sends prompts for a time, and waits for their answers. With failures or without, the prompts are the same.
func (p *program) window(ctx context.Context, w *weather, bad bool, length, every time.Duration, got *samples) {
	w.set(bad)
	defer w.set(false)
	var measured, others sync.WaitGroup
	tick := time.NewTicker(every)
	defer tick.Stop()
	for i, end := 0, time.Now().Add(length); time.Now().Before(end); i++ {
		for _, r := range rows {
			measured.Go(func() {
				began := time.Now()
				out, err := p.run(ctx, r.agent, good)
				got.add(r.agent, bad, time.Since(began), out, err)
			})
		}
		for _, f := range failures {
			if i%f.every == 0 {
				others.Go(func() { _, _ = p.run(ctx, f.agent, f.prompt) })
			}
		}
		<-tick.C
	}
	measured.Wait()
	w.set(false)
	others.Wait()
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
	t.Logf("milliseconds: prompts, median, 99th percentile and slowest, without and with failures, and the ratio of the 99th percentiles")
	for _, r := range rows {
		cells := s.took[r.agent]
		if cells == nil || len(cells[0]) == 0 || len(cells[1]) == 0 {
			t.Errorf("%s: no prompt was answered without failures, or with them", r.agent)
			continue
		}
		slices.Sort(cells[0])
		slices.Sort(cells[1])
		without, with := cells[0], cells[1]
		ratio := float64(quantile(with, .99)) / float64(quantile(without, .99))
		t.Logf("%-10s %s | %s | %.2f  %s", r.agent, figures(without), figures(with), ratio, r.what)
		if most := with[len(with)-1]; most > mostDelay {
			t.Errorf("%s: with failures a prompt took %s, want at most %s", r.what, most, mostDelay)
		}
		if !testenv.Long() {
			continue
		}
		if len(without) < 600 || len(with) < 600 {
			t.Errorf("%s: %d and %d prompts, want 600 at least, so that the 99th percentile is not the slowest", r.what, len(without), len(with))
		}
		if ratio > mostRatio {
			t.Errorf("%s: with failures the 99th percentile is %.2f times as long, want at most %g", r.what, ratio, mostRatio)
		}
	}
}

// quantile returns how long at most a part of the prompts took. All is sorted.
func quantile(all []time.Duration, part float64) time.Duration {
	return all[min(len(all)-1, int(float64(len(all))*part))]
}

func figures(all []time.Duration) string {
	ms := func(part float64) int64 { return quantile(all, part).Milliseconds() }
	return fmt.Sprintf("%5d %5d %5d %5d", len(all), ms(.5), ms(.99), ms(1))
}

// slowest returns the longest time since the last call.
func (s *samples) slowest() time.Duration {
	s.mu.Lock()
	defer s.mu.Unlock()
	most := s.most
	s.most = 0
	return most
}
