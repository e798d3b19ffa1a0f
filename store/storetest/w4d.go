package storetest

import (
	"context"
	"fmt"
	"iter"
	"math"
	"runtime"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/awaken-go/awaken"
	"github.com/awaken-go/awaken/engine"
	"github.com/awaken-go/awaken/internal/testenv"
	"github.com/awaken-go/awaken/llm"
)

// Excerpts returns the beginnings of statements, one on each line.
func Excerpts(statements []string) string {
	var b strings.Builder
	for i, s := range statements {
		fmt.Fprintf(&b, "%3d  %.150s\n", i+1, s)
	}
	return b.String()
}

// lengths are those of the threads of W4d.
var lengths = []int{10, 100, 1000, 10_000}

// spent is what a function needed.
type spent struct{ wall, allocs, bytes float64 }

func spentBy(f func()) spent {
	var before, after runtime.MemStats
	runtime.ReadMemStats(&before)
	start := time.Now()
	f()
	wall := time.Since(start)
	runtime.ReadMemStats(&after)
	return spent{float64(wall.Nanoseconds()), float64(after.Mallocs - before.Mallocs), float64(after.TotalAlloc - before.TotalAlloc)}
}

// oneTurn is a model that answers at once.
type oneTurn struct{}

func (oneTurn) Stream(context.Context, *llm.Request) iter.Seq2[llm.Delta, error] {
	return func(yield func(llm.Delta, error) bool) {
		_ = yield(llm.Delta{Kind: llm.TextDelta, Text: "It rains."}, nil) && yield(llm.Delta{Kind: llm.FinishDelta, Finish: llm.EndTurn}, nil)
	}
}

func median(list []float64) float64 {
	sorted := slices.Sorted(slices.Values(list))
	return sorted[len(sorted)/2]
}

// answer returns a function that makes a run of one turn on a thread.
func answer(tb testing.TB, store awaken.Store) func(thread string) {
	tb.Helper()
	rt, err := engine.New(engine.Config{
		Agents:    []*awaken.AgentSpec{{ID: "agent", ModelID: "m"}},
		Models:    []awaken.ModelSpec{{ID: "m", ProviderID: "p", UpstreamModel: "scripted"}},
		Providers: map[string]llm.Model{"p": oneTurn{}},
		Store:     store,
	})
	if err != nil {
		tb.Fatal(err)
	}
	return func(thread string) {
		res, err := rt.Run(context.Background(), awaken.RunRequest{AgentID: "agent", ThreadID: thread, Messages: []*llm.Message{llm.UserText("go")}}, nil)
		if err != nil || res.Steps != 1 {
			tb.Errorf("%+v, %v", res, err)
		}
	}
}

// BenchmarkW4d is W4 of docs/performance.md on a durable store: a run of one turn on threads
// of 10 to 10,000 messages, and the ratio to the one of 10 messages. A warm process has just
// made a run on the thread. A cold one, for which open opens the same database once more, has
// connections and prepared statements, but has never seen the thread.
//
// Every turn of a thread was a commit of its own, as those of real threads are. Lengths are
// interleaved; ratios are medians of five rounds.
func BenchmarkW4d(b *testing.B, open func(b *testing.B) awaken.Store) {
	const rounds = 5
	warm := open(b)
	on := answer(b, warm)
	n := 0
	grown := func(length int) string {
		n++
		id := fmt.Sprintf("w4d-%d-%d", length, n)
		NewLong(b, warm, id).Grow(length/2, 1)
		return id
	}
	long := map[int]string{}
	var costs [2]map[int][]spent // warm and cold
	for i := range costs {
		costs[i] = map[int][]spent{}
	}
	for range rounds {
		cold := answer(b, open(b))
		cold(grown(2))
		for _, length := range lengths {
			thread := long[length]
			if thread == "" {
				thread = grown(length)
				if length >= 1000 { // the runs of the benchmark are few beside its messages
					long[length] = thread
				}
			}
			for i, run := range []func(string){on, cold} {
				if i == 0 {
					on(thread)
				}
				runtime.GC()
				costs[i][length] = append(costs[i][length], spentBy(func() { run(thread) }))
			}
		}
	}
	for i, name := range []string{"warm", "cold"} {
		b.Run(name, func(b *testing.B) { reportLengths(b, costs[i]) })
	}
}

// LongRun checks how many allocations a run makes for each message that its thread already
// has: at most warm in a process that has just made a run on the thread, and cold in one that
// never has, for which open opens the same database once more.
func LongRun(t *testing.T, open func() awaken.Store, warm, cold float64) {
	const short, long, trials = 10, 1000, 20 // the race detector drops a part of what pools hold, so some trials allocate more
	s := open()
	on := answer(t, s)
	for _, test := range []struct {
		name string
		most float64
		run  func() func(thread string)
	}{
		{"warm", warm, func() func(string) { return on }},
		{"cold", cold, func() func(string) {
			run := answer(t, open())
			run("other") // prepares the statements
			run("other")
			return run
		}},
	} {
		least := func(length int) float64 {
			thread := fmt.Sprint(test.name, length)
			NewLong(t, s, thread).Grow(length/2, 1)
			on(thread)
			allocs := math.Inf(1)
			for range trials {
				run := test.run()
				allocs = min(allocs, spentBy(func() { run(thread) }).allocs)
			}
			return allocs
		}
		a, b := least(short), least(long)
		each := (b - a) / (long - short)
		t.Logf("%s: a run makes %.0f allocations on a thread of %d messages and %.0f on one of %d: %.1f for each message", test.name, a, short, b, long, each)
		if each > test.most {
			t.Errorf("%s: a run makes %.1f allocations for each message of its thread, want at most %v", test.name, each, test.most)
		}
	}
}

// reportLengths reports what a function needed on threads of several lengths, and the ratios to the
// shortest.
func reportLengths(b *testing.B, costs map[int][]spent) {
	b.ReportMetric(0, "ns/op")
	first := 0
	for _, length := range lengths {
		list := costs[length]
		if list == nil {
			continue
		}
		if first == 0 {
			first = length
		}
		var wall, allocs, bytes, ratio []float64
		for i, c := range list {
			wall, allocs, bytes = append(wall, c.wall/1e6), append(allocs, c.allocs), append(bytes, c.bytes/1e3)
			ratio = append(ratio, c.wall/costs[first][i].wall)
		}
		b.ReportMetric(median(wall), fmt.Sprint("ms-", length))
		b.ReportMetric(median(allocs), fmt.Sprint("allocs-", length))
		b.ReportMetric(median(bytes), fmt.Sprint("KB-", length))
		if length != first {
			testenv.Report(b, fmt.Sprintf("x%d-%d", first, length), ratio)
		}
	}
}

// BenchmarkW4dPage compares pages of the last 50 messages of threads of 100 to 10,000, which
// get reads.
func BenchmarkW4dPage(b *testing.B, s awaken.Store, get func(thread string, n int)) {
	const rounds, size = 5, 50
	costs := map[int][]spent{}
	thread := func(length int) string { return fmt.Sprint("page-", length) }
	for _, length := range lengths[1:] {
		NewLong(b, s, thread(length)).Grow(length/2, 1)
		get(thread(length), size)
	}
	for range rounds {
		for _, length := range lengths[1:] {
			runtime.GC()
			costs[length] = append(costs[length], spentBy(func() { get(thread(length), size) }))
		}
	}
	reportLengths(b, costs)
}
