package replicatest

import (
	"context"
	"fmt"
	"os"
	"runtime"
	"sync"
	"testing"
	"time"

	"github.com/awaken-go/awaken"
	"github.com/awaken-go/awaken/engine"
	"github.com/awaken-go/awaken/mailbox"
	"github.com/awaken-go/awaken/store/postgres"
)

// The figures of replicas, at full size with AWAKEN_FIGURES=1, on a machine that does nothing else:
//
//	AWAKEN_FIGURES=1 go test ./internal/replicatest -v -run TestFigures_FirstDelta
//	AWAKEN_FIGURES=1 go test ./internal/replicatest -v -run TestFigures_CommitLatency
//
// Otherwise a small load shows that they can be taken.

func figures() bool { return os.Getenv("AWAKEN_FIGURES") != "" }

// firstDelta makes a load of runs in one of three replicas, with their clients at the others, and returns
// what the clients saw and how many cores everything but the database used.
func firstDelta(t *testing.T, join int, runs, rate int, lasts time.Duration) (m *measured, cores float64) {
	t.Helper()
	f := newFleet(t, 3, paced{int(lasts.Seconds() * float64(rate)), time.Second / time.Duration(rate)}, engines[join].join)
	m = &measured{texts: map[string]string{}}
	began, used := time.Now(), cpu()
	var all sync.WaitGroup
	for i := range runs {
		all.Go(func() {
			time.Sleep(time.Duration(i) * time.Second / time.Duration(runs))
			m.watchRun(f, 1+i%2, fmt.Sprint("t", i))
		})
	}
	all.Wait()
	cores = (cpu() - used).Seconds() / time.Since(began).Seconds()
	for thread, got := range m.texts {
		if want := f.logged(thread); got != want || got == "" {
			t.Errorf("%s: the client has %d bytes, the log %d", thread, len(got), len(want))
		}
	}
	return m, cores
}

// A delta reaches a client of another replica within 150 ms by PostgreSQL, and within 50 ms by NATS, in 99
// of 100 cases, with 200 runs of 50 deltas a second. If the machine cannot make that load, the figure is the
// highest rate that holds.
func TestFigures_FirstDelta(t *testing.T) {
	runs, rate, lasts := 10, 20, time.Second
	if figures() {
		runs, rate, lasts = 200, 50, 5*time.Second
	}
	for i, engine := range engines {
		t.Run(engine.name, func(t *testing.T) {
			limit := map[string]float64{"postgres": 150, "nats": 50}[engine.name]
			for rate := rate; rate > 0; rate = rate * 2 / 3 {
				var m *measured
				var cores float64
				t.Run(fmt.Sprint(rate, " per second"), func(t *testing.T) { m, cores = firstDelta(t, i, runs, rate, lasts) })
				holds := percentile(m.first, 99) <= limit
				t.Logf("%d runs of %d deltas per second: the first delta p50 %.1f ms, p99 %.1f ms; later ones p50 %.1f ms, p99 %.1f ms; %.2f of %d cores; within %.0f ms: %t",
					runs, rate, percentile(m.first, 50), percentile(m.first, 99), percentile(m.later, 50), percentile(m.later, 99), cores, runtime.NumCPU(), limit, holds)
				if holds || !figures() {
					return
				}
			}
			t.Errorf("no rate holds %.0f ms", limit)
		})
	}
}

// timedDB is a queue whose commits are timed.
type timedDB struct {
	*postgres.DB
	took *commitTimes
}

type commitTimes struct {
	mu   sync.Mutex
	list []time.Duration
}

func (c *commitTimes) add(from time.Time) {
	c.mu.Lock()
	defer c.mu.Unlock()
	c.list = append(c.list, time.Since(from))
}

func (d timedDB) Handle(tenant string) mailbox.Handle { return timedStore{d.Store(tenant), d.took} }

type timedStore struct {
	*postgres.Store
	took *commitTimes
}

func (s timedStore) Commit(ctx context.Context, c *awaken.Commit) error {
	defer s.took.add(time.Now())
	return s.Store.Commit(ctx, c)
}

func (s timedStore) CommitAndSettle(ctx context.Context, c *awaken.Commit, settlement mailbox.Settlement, wake *mailbox.Dispatch) (mailbox.Settled, error) {
	defer s.took.add(time.Now())
	return s.Store.CommitAndSettle(ctx, c, settlement, wake)
}

// Clients of other replicas cost the commits of runs as little as clients of their own: with 1,000 clients
// that get 2,000 deltas a second in all, the ratio should be at most 1.2.
func TestFigures_CommitLatency(t *testing.T) {
	threads, clients, rounds, lasts := 5, 10, 1, time.Second
	if figures() {
		threads, clients, rounds, lasts = 50, 1000, 3, 10*time.Second
	}
	// commits returns how long the commits of short runs take while clients of a replica follow others.
	commits := func(t *testing.T, join int, replica func(i int) int) []time.Duration {
		took := &commitTimes{}
		f := newFleet(t, 3, paced{int(2 * lasts.Seconds()), 500 * time.Millisecond}, engines[join].join, func(_ *engine.Config, c *mailbox.Config) {
			c.Queue = timedDB{c.Queue.(*postgres.DB), took}
		})
		for i := range threads {
			f.open(0, "/v1/runs", fmt.Sprintf(`{"agent_id":"default","thread_id":"t%d","messages":[{"role":"user","content":"go"}]}`, i)).body.Close()
		}
		ctx, cancel := context.WithTimeout(t.Context(), patience)
		defer cancel()
		got := make([]*transcript, clients)
		var all sync.WaitGroup
		for i := range got {
			all.Go(func() { got[i] = f.follow(ctx, replica(i), fmt.Sprint("t", i%threads)) })
		}
		time.Sleep(lasts / 5) // they are connected
		took.mu.Lock()
		took.list = nil
		took.mu.Unlock()
		for began, i := time.Now(), 0; time.Since(began) < lasts*3/5; i++ {
			id := fmt.Sprint("short", i)
			if _, err := f.box.Tenant("").Submit(t.Context(), mailbox.Submission{Request: awaken.RunRequest{AgentID: "quick", ThreadID: id, Messages: hello()}}); err != nil {
				t.Fatal(err)
			}
			time.Sleep(20 * time.Millisecond)
		}
		took.mu.Lock()
		list := took.list
		took.mu.Unlock()
		all.Wait()
		for i, tr := range got {
			if want := f.logged(fmt.Sprint("t", i%threads)); !tr.done || tr.text() != want {
				t.Errorf("client %d: over %t, %d bytes, the log has %d", i, tr.done, len(tr.text()), len(want))
			}
		}
		return list
	}
	for i, engine := range engines {
		t.Run(engine.name, func(t *testing.T) {
			var local, remote []time.Duration
			for range rounds {
				t.Run("local", func(t *testing.T) { local = append(local, commits(t, i, func(int) int { return 0 })...) })
				t.Run("remote", func(t *testing.T) { remote = append(remote, commits(t, i, func(i int) int { return 1 + i%2 })...) })
			}
			t.Logf("%d clients, %d deltas per second in all: %d commits with local clients p50 %.2f ms, p90 %.2f ms; %d with remote ones p50 %.2f ms, p90 %.2f ms; ratio of p50 %.2f, of p90 %.2f", clients, 2*clients,
				len(local), percentile(local, 50), percentile(local, 90), len(remote), percentile(remote, 50), percentile(remote, 90),
				percentile(remote, 50)/percentile(local, 50), percentile(remote, 90)/percentile(local, 90))
		})
	}
}
