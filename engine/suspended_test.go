package engine_test

import (
	"context"
	"fmt"
	"runtime"
	"testing"
	"time"

	"github.com/awaken-go/awaken"
	"github.com/awaken-go/awaken/engine"
	"github.com/awaken-go/awaken/internal/testenv"
	"github.com/awaken-go/awaken/llm"
	"github.com/awaken-go/awaken/llm/llmtest"
	"github.com/awaken-go/awaken/store/memory"
)

// looseStore is a store that can be taken away from the runtime that uses it.
type looseStore struct{ awaken.Store }

// heap is the memory in use once everything that can be collected is.
func heap() int64 {
	for range 3 { // pools release their memory in the second round
		runtime.GC()
	}
	var m runtime.MemStats
	runtime.ReadMemStats(&m)
	return int64(m.HeapAlloc)
}

// goroutines waits for those to end that are on their way out.
func goroutines(most int) int {
	for deadline := time.Now().Add(time.Minute); runtime.NumGoroutine() > most && time.Now().Before(deadline); {
		time.Sleep(5 * time.Millisecond) // there is no signal for the end of a goroutine
	}
	return runtime.NumGoroutine()
}

// A run that waits for a person is in the store and nowhere else. This test must
// not run beside others: it counts what the process has.
func TestSuspendedRuns_CostNothingButTheirStore(t *testing.T) {
	const slack = 64 // bytes for each run
	runs := testenv.Times(4000, 10_000)
	model := llmtest.NewRules(
		llmtest.Rule{
			Match: func(r *llm.Request) bool { return r.Messages.Last().Role == llm.User },
			Turn: func(*llm.Request) llmtest.Turn {
				return llmtest.Turn{Text: llmtest.Text{"Let me ", "pay."}, ToolCalls: []llmtest.Call{{ID: "c1", Name: "pay"}}}
			}},
		llmtest.Rule{Turn: func(r *llm.Request) llmtest.Turn { return llmtest.Say("Paid: ", r.Messages.Last().Text()) }},
	)
	paid := 0
	pay := tool("pay", func(context.Context, *awaken.ToolCall, args) (*awaken.ToolResult, error) {
		paid++
		return awaken.TextResult("done"), nil
	})
	store := &looseStore{memory.New()}
	rt := mustNew(t, engine.Config{
		Agents:    []*awaken.AgentSpec{{ID: "default", ModelID: "m", PluginIDs: []string{"gate"}}},
		Models:    []awaken.ModelSpec{{ID: "m", ProviderID: "p", UpstreamModel: "u"}},
		Providers: map[string]llm.Model{"p": model},
		Tools:     []awaken.Tool{pay},
		Plugins:   []awaken.Plugin{askAbout("pay", awaken.Ticket{})},
		Store:     store,
	})
	start := func(i int) {
		id := fmt.Sprint("thread-", i)
		res, err := rt.Run(t.Context(), awaken.RunRequest{ThreadID: id, RunID: "run-" + id, Messages: []*llm.Message{llm.UserText("Pay, please.")}}, nil)
		if err != nil || res.Status != awaken.RunWaiting {
			t.Fatalf("run %d: %+v, %v", i, res, err)
		}
	}
	for i := range 200 { // whatever is made once is made now
		start(-1 - i)
	}
	store.Store = memory.New()
	baseGoroutines, baseHeap := runtime.NumGoroutine(), heap()

	for i := range runs {
		start(i)
	}
	if n := goroutines(baseGoroutines); n > baseGoroutines {
		buf := make([]byte, 1<<16)
		t.Errorf("%d goroutines before, %d after %d runs were parked\n%s", baseGoroutines, n, runs, buf[:runtime.Stack(buf, true)])
	}
	stored := heap() - baseHeap

	// They really wait, and really go on.
	waiting, err := store.ListRuns(t.Context(), awaken.RunQuery{Status: awaken.RunWaiting, Limit: runs + 1})
	if err != nil || len(waiting) != runs {
		t.Fatalf("%d runs wait, want %d: %v", len(waiting), runs, err)
	}
	for _, i := range []int{0, runs / 2, runs - 1} {
		res, err := rt.Resume(t.Context(), fmt.Sprint("run-thread-", i), nil, approve("c1"))
		if err != nil || res.Response != "Paid: done" || res.Termination.Type != awaken.NaturalEnd {
			t.Errorf("run %d resumed to %+v, %v", i, res, err)
		}
	}
	if paid != 3 {
		t.Errorf("the tool ran %d times, want 3", paid)
	}
	waiting = nil

	store.Store = nil
	left := heap() - baseHeap
	t.Logf("%d suspended runs: %d bytes each in the store, %d bytes each beside it, %d goroutines", runs, stored/int64(runs), left/int64(runs), goroutines(baseGoroutines)-baseGoroutines)
	if left > int64(runs*slack) {
		t.Errorf("without the store, %d runs keep %d bytes each", runs, left/int64(runs))
	}
	runtime.KeepAlive(rt)
}
