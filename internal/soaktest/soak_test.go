//go:build linux

package soaktest

import (
	"context"
	"flag"
	"fmt"
	"net/http"
	"net/http/httptest"
	"slices"
	"sync"
	"testing"
	"time"

	"github.com/awaken-go/awaken/internal/rigtest"
	"github.com/awaken-go/awaken/internal/testenv"
)

var (
	soakTime = flag.Duration("soak", 0, "how long to keep the program under load; default some seconds, with AWAKEN_LONG two minutes")
	soakRate = flag.Float64("rate", 0, "stories that begin in a second; default 10, with AWAKEN_LONG 40")
)

// storyTime is how long a story may take before its runs count as lost.
const storyTime = 2 * time.Minute

func TestSoak(t *testing.T) {
	length, rate := *soakTime, *soakRate
	if length == 0 {
		if length = 4 * time.Second; testenv.Long() {
			length = 2 * time.Minute
		}
	}
	if rate == 0 {
		if rate = 10; testenv.Long() {
			rate = 40
		}
	}
	for _, store := range rigtest.Kinds {
		t.Run(store, func(t *testing.T) {
			provider := httptest.NewServer(http.HandlerFunc(model))
			defer provider.Close()
			p := start(t, store, provider.URL+"/v1")
			l := &load{Client: &p.Client, idle: make(chan *conversation, 200), waits: map[string][]time.Duration{}, made: map[string]int{}}
			soak(t, p, l, length, rate)
		})
	}
}

// soak puts a server under load and samples what it takes.
func soak(t *testing.T, p *program, l *load, length time.Duration, rate float64) {
	ctx := t.Context()
	idle, err := p.sample(ctx)
	if err != nil {
		t.Fatal(err)
	}
	t.Logf("%-8s %6s %7s %7s %5s %5s %6s %6s %5s %6s | first event p50, p99 | GET p50, p99", "time", "runs", "RSS MB", "heap MB", "gor.", "files", "DB MB", "WAL MB", "CPU", "kinds")
	samples := []sample{idle}
	l.report(t, "idle", idle, idle)
	until, stop := context.WithTimeout(ctx, length)
	defer stop()
	var clients sync.WaitGroup
	clients.Go(func() { l.tell(t, until, rate) })
	every := max(min(length/30, time.Minute), time.Second)
	for tick := time.NewTicker(every); until.Err() == nil; {
		select {
		case <-tick.C:
			s, err := p.sample(ctx)
			if err != nil {
				t.Fatal(err)
			}
			l.report(t, "", s, samples[len(samples)-1])
			samples = append(samples, s)
		case <-until.Done():
		}
	}
	clients.Wait()
	calm := l.calm(t, p, idle)
	l.report(t, "after", calm, samples[len(samples)-1])
	for _, status := range []string{"created", "running", "waiting"} {
		var list struct {
			Total int `json:"total"`
		}
		if err := l.ask(ctx, http.StatusOK, "GET", "/v1/runs?status="+status, "", &list); err != nil || list.Total != 0 {
			t.Errorf("%d runs are %s, %v", list.Total, status, err)
		}
	}
	var dead struct {
		Items []any `json:"items"`
	}
	if err := l.ask(ctx, http.StatusOK, "GET", "/v1/dead-letters", "", &dead); err != nil || len(dead.Items) > 0 {
		t.Errorf("%d dead letters, %v", len(dead.Items), err)
	}
	t.Logf("%d runs in %s, stories %v; %d requests were refused because the server was busy, and sent again", l.runs, length, l.made, l.Repeated())
	p.save(t, "heap")
	if l.runs == 0 {
		t.Error("no run has ended")
	}
	if length >= 2*time.Minute {
		grown(t, samples[1:])
	}
}

// tell begins stories at a rate until ctx is done, and waits for their ends.
func (l *load) tell(t *testing.T, ctx context.Context, rate float64) {
	var telling sync.WaitGroup
	defer telling.Wait()
	slots := make(chan struct{}, 300)
	tick := time.NewTicker(time.Duration(float64(time.Second) / rate))
	defer tick.Stop()
	for {
		select {
		case <-ctx.Done():
			return
		case <-tick.C:
		}
		if t.Failed() {
			return
		}
		select {
		case slots <- struct{}{}:
		case <-ctx.Done():
			return
		}
		s := pick()
		telling.Go(func() {
			defer func() { <-slots }()
			own, cancel := context.WithTimeout(context.WithoutCancel(ctx), storyTime)
			defer cancel()
			if err := s.tell(l, own); err != nil {
				t.Errorf("%s: %v", s.name, err)
				return
			}
			l.mu.Lock()
			defer l.mu.Unlock()
			l.made[s.name]++
		})
	}
}

// waitingWorkers is how many goroutines a worker keeps for its next runs.
const waitingWorkers = 32

// calm waits until the server has let go of what the load took.
func (l *load) calm(t *testing.T, p *program, idle sample) (s sample) {
	l.HTTP.CloseIdleConnections()
	rigtest.Until(t, fmt.Sprintf("no more goroutines than the %d at the start", idle.goroutines), 30*time.Second, func() bool {
		var err error
		if s, err = p.sample(t.Context()); err != nil {
			t.Fatal(err)
		}
		return s.goroutines <= idle.goroutines+waitingWorkers+20
	})
	return s
}

// report prints a line with a sample and what clients waited for since the one before.
func (l *load) report(t *testing.T, name string, s, before sample) {
	l.mu.Lock()
	waits, runs, kinds := l.waits, l.runs, len(l.made)
	l.waits = map[string][]time.Duration{}
	l.mu.Unlock()
	if name == "" {
		name = s.at.Round(time.Second).String()
	}
	cpu := 0.0
	if s.at > before.at {
		cpu = 100 * float64(s.cpu-before.cpu) / float64(s.at-before.at)
	}
	quantile := func(what string, q float64) time.Duration {
		return rigtest.Quantile(waits[what], q).Round(100 * time.Microsecond)
	}
	t.Logf("%-8s %6d %7.1f %7.1f %5d %5d %6.1f %6.1f %4.0f%% %6d | %9s %9s | %9s %9s", name, runs, s.rss, s.heap, s.goroutines, s.open, s.database, s.wal, cpu, kinds,
		quantile("first event", .5), quantile("first event", .99), quantile("answer", .5), quantile("answer", .99))
}

// grown fails if the last third of the samples is far above the first, of those after the first sixth, in
// which caches fill.
func grown(t *testing.T, samples []sample) {
	samples = samples[len(samples)/6:]
	third := len(samples) / 3
	for _, m := range []struct {
		name  string
		of    func(s sample) float64
		spare float64 // what may be more in any case
	}{
		{"MB of RSS", func(s sample) float64 { return s.rss }, 64},
		{"MB of heap", func(s sample) float64 { return s.heap }, 36}, // a store keeps up to 32 MB of logs
		{"goroutines", func(s sample) float64 { return float64(s.goroutines) }, 50},
		{"open files", func(s sample) float64 { return float64(s.open) }, 50},
		{"MB of write-ahead log", func(s sample) float64 { return s.wal }, 128},
	} {
		median := func(of []sample) float64 {
			var values []float64
			for _, s := range of {
				values = append(values, m.of(s))
			}
			slices.Sort(values)
			return values[len(values)/2]
		}
		first, last := median(samples[:third]), median(samples[len(samples)-third:])
		t.Logf("%s: %.1f in the first third, %.1f in the last", m.name, first, last)
		if last > 1.3*first+m.spare {
			t.Errorf("%s grow without bound", m.name)
		}
	}
}
