package replicatest

import (
	"fmt"
	"os"
	"slices"
	"strconv"
	"strings"
	"sync"
	"syscall"
	"testing"
	"time"

	"github.com/awaken-go/awaken"
	"github.com/awaken-go/awaken/eventlog"
)

// number returns a setting of the benchmark.
func number(name string, def int) int {
	if n, err := strconv.Atoi(os.Getenv(name)); err == nil {
		return n
	}
	return def
}

// measured is what the clients of a load saw.
type measured struct {
	mu           sync.Mutex
	first, later []time.Duration // from when a delta was made until it arrived
	texts        map[string]string
}

// watchRun posts a run to a replica and reads it to its end.
func (m *measured) watchRun(f *fleet, replica int, thread string) {
	s := f.open(replica, "/v1/runs", fmt.Sprintf(`{"agent_id":"default","thread_id":%q,"messages":[{"role":"user","content":"go"}]}`, thread))
	defer s.body.Close()
	var tr transcript
	var took []time.Duration
	for {
		e, ok := s.next()
		if !ok || e.Type == "run_finish" {
			break
		}
		if micros, found := strings.CutPrefix(e.Delta, "@"); found && e.Type == "text_delta" {
			n, err := strconv.ParseInt(strings.TrimSpace(micros), 10, 64)
			if err != nil {
				f.Error(err)
				return
			}
			took = append(took, time.Since(time.UnixMicro(n)))
		}
		if err := tr.apply(e.id, e); err != nil {
			f.Errorf("%s: %v", thread, err)
			return
		}
	}
	m.mu.Lock()
	defer m.mu.Unlock()
	if len(took) > 0 {
		m.first, m.later = append(m.first, took[0]), append(m.later, took[1:]...)
	}
	m.texts[thread] = tr.text()
}

// percentile returns a percentile in milliseconds.
func percentile(list []time.Duration, p int) float64 {
	if len(list) == 0 {
		return 0
	}
	slices.Sort(list)
	return float64(list[min(len(list)-1, len(list)*p/100)].Microseconds()) / 1000
}

// cpu returns the time that this process has used.
func cpu() time.Duration {
	var u syscall.Rusage
	if err := syscall.Getrusage(syscall.RUSAGE_SELF, &u); err != nil {
		return 0
	}
	return time.Duration(u.Utime.Nano() + u.Stime.Nano())
}

// BenchmarkReplicas measures how long a delta takes to a client of another replica: some runs
// (RUNS, 200) of 5 seconds, each with a number of deltas per second (RATE, 50), in one of three
// replicas, with their clients at the others. It reports the CPU that all replicas and clients use,
// without the database. Each iteration is one such load.
func BenchmarkReplicas(b *testing.B) {
	runs, rate := number("RUNS", 200), number("RATE", 50)
	for _, engine := range engines {
		b.Run(engine.name, func(b *testing.B) {
			f := newFleet(b, 3, paced{5 * rate, time.Second / time.Duration(rate)}, engine.join)
			m := &measured{texts: map[string]string{}}
			began, used := time.Now(), cpu()
			for i := range b.N {
				var all sync.WaitGroup
				for j := range runs {
					all.Go(func() {
						time.Sleep(time.Duration(j) * time.Second / time.Duration(runs))
						m.watchRun(f, 1+j%2, fmt.Sprintf("t%d-%d", i, j))
					})
				}
				all.Wait()
			}
			b.ReportMetric((cpu()-used).Seconds()/time.Since(began).Seconds(), "cores")
			for thread, got := range m.texts {
				if want := f.logged(thread); got != want || got == "" {
					b.Fatalf("%s: the client has %d bytes, the log %d", thread, len(got), len(want))
				}
			}
			b.ReportMetric(0, "ns/op")
			for _, p := range []int{50, 99} {
				b.ReportMetric(percentile(m.first, p), fmt.Sprintf("first-p%d-ms", p))
				b.ReportMetric(percentile(m.later, p), fmt.Sprintf("later-p%d-ms", p))
			}
		})
	}
}

// logged returns the answer that is stored.
func (f *fleet) logged(thread string) string {
	f.Helper()
	var text strings.Builder
	for e, err := range eventlog.New(f.store, nil).Tail(f.Context(), thread, awaken.Cursor{}, eventlog.Follow{Committed: true}) {
		if err != nil {
			f.Fatal(err)
		}
		if d, ok := e.Event.(*awaken.TextDelta); ok {
			text.WriteString(d.Delta)
		}
	}
	return text.String()
}
