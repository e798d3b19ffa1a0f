//go:build !race

package engine_test

import (
	"context"
	"math"
	"slices"
	"testing"

	"github.com/awaken-go/awaken"
	"github.com/awaken-go/awaken/llm"
	"github.com/awaken-go/awaken/llm/llmtest"
	"github.com/awaken-go/awaken/store/memory"
)

// The budgets that are exact counts, and so can be held by tests on any machine. The
// race detector allocates too, so scripts/test runs this file once without it.
// Timings are benchmarks.

// countAllocs counts allocations and bytes over enough runs that the growth of maps does
// not show. A background goroutine of the test may add some, so the lowest of three counts.
func countAllocs(t *testing.T, turns []llmtest.Turn, deltas, results int) (allocs, bytes float64) {
	t.Helper()
	for i := range 3 {
		rt := benchRuntime(t, llmtest.NewScript(turns...).Loop(), awaken.Sequential, memory.New())
		a, b := allocsPerRun(t, 500, oneRun(t, rt, deltas, results))
		if i == 0 {
			allocs, bytes = a, b
		}
		allocs, bytes = min(allocs, a), min(bytes, b)
	}
	return math.Floor(allocs), bytes
}

func TestBudget_OneTurnTakesAtMost39Allocations(t *testing.T) {
	n, bytes := countAllocs(t, []llmtest.Turn{answer(64)}, 64, 0)
	t.Logf("%.0f allocations, %.0f bytes", n, bytes)
	if n > 39 || bytes > 9_700 {
		t.Errorf("a turn of 64 chunks takes %.0f allocations and %.0f bytes, want at most 39 and 9,700", n, bytes)
	}
}

func TestBudget_FurtherChunksAllocateNothing(t *testing.T) {
	few, _ := countAllocs(t, []llmtest.Turn{answer(64)}, 64, 0)
	many, _ := countAllocs(t, []llmtest.Turn{answer(6400)}, 6400, 0)
	perChunk := (many - few) / (6400 - 64)
	t.Logf("%.0f allocations for 64 chunks, %.0f for 6400", few, many)
	if perChunk > 0.01 { // buffers that double, nothing else
		t.Errorf("%.3f allocations for each further chunk, want none", perChunk)
	}
}

func TestBudget_TenToolStepsTakeAtMost426Allocations(t *testing.T) {
	n, bytes := countAllocs(t, toolTurns(10), 4, 10)
	t.Logf("%.0f allocations, %.0f bytes", n, bytes)
	if n > 426 || bytes > 45_500 {
		t.Errorf("ten tool steps take %.0f allocations and %.0f bytes, want at most 426 and 45,500", n, bytes)
	}
}

// The stack is 4 KB of it. One large frame too many, before the wait or during it, makes
// it 8 KB. Medians, because the first goroutines of a process cost more than later ones.
// The goal is 10 KB.
func TestBudget_ARunThatWaitsForItsModelKeepsASmallStack(t *testing.T) {
	var bytes []float64
	for range 5 {
		n, _, _ := inFlight(t, 1000, func(m llm.Model) func() {
			return oneRun(t, benchRuntime(t, m, "", memory.New()), 64, 0)
		})
		bytes = append(bytes, n)
	}
	slices.Sort(bytes)
	t.Logf("%.0f bytes", bytes)
	if n := bytes[2]; n > 12_000 {
		t.Errorf("a run that waits for its model takes %.0f bytes of heap and stack, want at most 12,000", n)
	}
}

func TestBudget_ALongThreadCostsNoMoreThanAnEmptyOne(t *testing.T) {
	emptyAllocs, emptyBytes := allocsPerRun(t, 2000, longThread(t, 0, nil))
	longAllocs, longBytes := allocsPerRun(t, 2000, longThread(t, 10_000, nil))
	t.Logf("empty: %.1f allocations, %.0f bytes; 10,000 messages: %.1f allocations, %.0f bytes", emptyAllocs, emptyBytes, longAllocs, longBytes)
	if longAllocs > 1.05*emptyAllocs || longBytes > 1.05*emptyBytes {
		t.Errorf("a run on 10,000 messages takes %.1f allocations and %.0f bytes, want within 5 %% of %.1f and %.0f", longAllocs, longBytes, emptyAllocs, emptyBytes)
	}
}

func TestBudget_AContextPolicyCountsOnlyWhatIsNew(t *testing.T) {
	for name, tokens := range map[string]int{"fits": 10_000_000, "left out": 1000} {
		t.Run(name, func(t *testing.T) {
			shortAllocs, shortBytes := allocsPerRun(t, 500, longThread(t, 100, boundTo(tokens)))
			longAllocs, longBytes := allocsPerRun(t, 500, longThread(t, 10_000, boundTo(tokens)))
			t.Logf("100 messages: %.1f allocations, %.0f bytes; 10,000 messages: %.1f allocations, %.0f bytes", shortAllocs, shortBytes, longAllocs, longBytes)
			if longAllocs > 1.05*shortAllocs || longBytes > 1.05*shortBytes {
				t.Errorf("a run on 10,000 messages takes %.1f allocations and %.0f bytes, want within 5 %% of %.1f and %.0f", longAllocs, longBytes, shortAllocs, shortBytes)
			}
		})
	}
}

func TestBudget_AReadOnlyStepIsOneCommit(t *testing.T) {
	store := &countingStore{Store: memory.New()}
	rt := benchRuntime(t, llmtest.NewScript(toolTurns(10)...), awaken.Sequential, store)
	if _, err := rt.Run(t.Context(), awaken.RunRequest{Messages: []*llm.Message{llm.UserText("go")}}, nil); err != nil {
		t.Fatal(err)
	}
	if store.commits != 12 { // the start, ten steps, and the answer with the end
		t.Errorf("ten read-only steps and an answer took %d commits, want 12", store.commits)
	}
}

// countingStore counts commits.
type countingStore struct {
	awaken.Store
	commits int
}

func (s *countingStore) Commit(ctx context.Context, c *awaken.Commit) error {
	s.commits++
	return s.Store.Commit(ctx, c)
}
