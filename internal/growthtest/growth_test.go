package growthtest

import (
	"context"
	"fmt"
	"os"
	"strings"
	"testing"
	"time"

	"github.com/awaken-go/awaken"
	"github.com/awaken-go/awaken/internal/rigtest"
	"github.com/awaken-go/awaken/internal/testenv"
	"github.com/awaken-go/awaken/llm"
)

var postgresServer *testenv.Postgres

func TestMain(m *testing.M) {
	os.Exit(testenv.WithPostgres(m, &postgresServer, "fsync=on", "synchronous_commit=on", "full_page_writes=on", "autovacuum=on"))
}

// most is how much more the largest size may cost than the smallest.
const most = 1.5

// sizes returns the sizes of a curve: up to the last one if the test is long.
func sizes(all ...int) []int {
	if testenv.Long() {
		return all
	}
	return all[:2]
}

// onStores runs a test on each durable store. Fresh returns the place of a fresh database.
func onStores(t *testing.T, test func(t *testing.T, fresh func() rigtest.Store)) {
	for _, kind := range rigtest.Kinds {
		t.Run(kind, func(t *testing.T) {
			test(t, func() rigtest.Store { return rigtest.NewStore(t, kind, postgresServer) })
		})
	}
}

// curve is what something costs at each size.
type curve struct {
	name  string
	flat  bool           // whether it is held to most
	at    func(size int) // does it once
	costs map[int][]time.Duration
}

// measure measures curves in interleaved rounds, prints their medians, and fails if one that is to be flat
// is not. The lowest tenths are compared, in which others on the machine show least.
func measure(t *testing.T, what string, sizes []int, curves ...*curve) {
	t.Helper()
	rounds := 5
	if testenv.Long() {
		rounds = 40
	}
	for _, c := range curves {
		c.costs = map[int][]time.Duration{}
		for _, size := range sizes {
			c.at(size) // warms up
		}
		for range rounds {
			for _, size := range sizes {
				start := time.Now()
				c.at(size)
				c.costs[size] = append(c.costs[size], time.Since(start))
			}
		}
	}
	table(t, what, sizes, curves, rounds)
}

// table prints medians, and ratios of lowest tenths.
func table(t *testing.T, what string, sizes []int, curves []*curve, rounds int) {
	t.Helper()
	var sb strings.Builder
	fmt.Fprintf(&sb, "%-28s", what)
	for _, size := range sizes {
		fmt.Fprintf(&sb, " %10d", size)
	}
	fmt.Fprintf(&sb, " %8s\n", "growth")
	small, large := sizes[0], sizes[len(sizes)-1]
	for _, c := range curves {
		fmt.Fprintf(&sb, "%-28s", c.name)
		for _, size := range sizes {
			fmt.Fprintf(&sb, " %10s", short(rigtest.Quantile(c.costs[size], .5)))
		}
		growth := float64(rigtest.Quantile(c.costs[large], .1)) / float64(rigtest.Quantile(c.costs[small], .1))
		fmt.Fprintf(&sb, " %7.2fx\n", growth)
		if c.flat && testenv.Long() && growth > most {
			t.Errorf("%s: %s costs %.2f times as much with %d as with %d, want at most %v", what, c.name, growth, large, small, most)
		}
	}
	t.Logf("medians of %d interleaved rounds\n%s", rounds, sb.String())
}

func short(d time.Duration) string {
	if d < time.Millisecond {
		return d.Round(100 * time.Nanosecond).String()
	}
	return d.Round(10 * time.Microsecond).String()
}

// write makes commits on a thread, each with messages, and ends its run.
func write(ctx context.Context, s awaken.Store, thread string, commits, messages int) error {
	cp, err := s.Acquire(ctx, thread)
	if err != nil {
		return err
	}
	run := awaken.Run{RunID: "run-" + thread, ThreadID: thread, AgentID: "default", Status: awaken.RunRunning, CreatedAt: 1, UpdatedAt: 1, StartedAt: 1}
	for n := range commits {
		c := &awaken.Commit{ThreadID: thread, Fence: cp.Fence, Number: uint64(n + 1), Time: 1, Expect: n * messages, Run: run}
		if n == commits-1 {
			c.Run.Status, c.Run.Termination, c.Run.FinishedAt = awaken.RunDone, awaken.Termination{Type: awaken.NaturalEnd}, 1
		}
		for i := range messages {
			role := llm.User
			if i%2 == 1 {
				role = llm.Assistant
			}
			c.Messages = append(c.Messages, &llm.Message{ID: fmt.Sprintf("%s-%d-%d", thread, n, i), Role: role, Content: []llm.Block{llm.Text(strings.Repeat("a word ", 20))}})
		}
		if err := s.Commit(ctx, c); err != nil {
			return err
		}
	}
	return nil
}
