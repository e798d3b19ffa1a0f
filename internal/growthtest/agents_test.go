package growthtest

import (
	"context"
	"fmt"
	"iter"
	"testing"

	"github.com/awaken-go/awaken"
	"github.com/awaken-go/awaken/engine"
	"github.com/awaken-go/awaken/llm"
	"github.com/awaken-go/awaken/store/memory"
)

// What a run costs does not depend on how many agents there are.
func TestGrowth_Agents(t *testing.T) {
	sizes := sizes(10, 100, 1_000, 10_000)
	runtimes := map[int]*engine.Runtime{}
	for _, size := range sizes {
		cfg := engine.Config{Models: []awaken.ModelSpec{{ID: "m", ProviderID: "p", UpstreamModel: "m"}},
			Providers: map[string]llm.Model{"p": llm.ModelFunc(answer)}, Store: memory.New()}
		for i := range size {
			cfg.Agents = append(cfg.Agents, &awaken.AgentSpec{ID: fmt.Sprint("agent-", i), ModelID: "m", SystemPrompt: "You are an agent."})
		}
		rt, err := engine.New(cfg)
		if err != nil {
			t.Fatal(err)
		}
		runtimes[size] = rt
	}
	n := 0
	runs := func(size int) {
		for i := range 100 {
			n++
			res, err := runtimes[size].Run(t.Context(), awaken.RunRequest{AgentID: fmt.Sprint("agent-", i*size/100), ThreadID: fmt.Sprint("t", n), Messages: []*llm.Message{llm.UserText("hello")}}, nil)
			if err != nil || res.Status != awaken.RunDone {
				t.Fatalf("%+v, %v", res, err)
			}
		}
	}
	// Microseconds in memory say little on a busy machine; allocations do.
	measure(t, "agents", sizes, &curve{name: "100 runs of several agents", at: runs})
	small, large := sizes[0], sizes[len(sizes)-1]
	few, many := testing.AllocsPerRun(5, func() { runs(small) }), testing.AllocsPerRun(5, func() { runs(large) })
	t.Logf("allocations of 100 runs: %.0f with %d agents, %.0f with %d", few, small, many, large)
	if many > 1.1*few {
		t.Errorf("100 runs make %.0f allocations with %d agents and %.0f with %d", few, small, many, large)
	}
}

// answer answers with a few pieces.
func answer(context.Context, *llm.Request) iter.Seq2[llm.Delta, error] {
	return func(yield func(llm.Delta, error) bool) {
		for range 8 {
			if !yield(llm.Delta{Kind: llm.TextDelta, Text: "a piece "}, nil) {
				return
			}
		}
		yield(llm.Delta{Kind: llm.FinishDelta, Finish: llm.EndTurn}, nil)
	}
}
