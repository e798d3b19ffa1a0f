package engine_test

import (
	"context"
	"fmt"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/awaken-go/awaken"
	"github.com/awaken-go/awaken/engine"
	"github.com/awaken-go/awaken/llm"
	"github.com/awaken-go/awaken/llm/llmtest"
	"github.com/awaken-go/awaken/state/builtin"
	"github.com/awaken-go/awaken/trace/timeline"
)

// composed returns what a run noted about the request of a step, without estimates, and what is doubted about it.
func (g *rig) composed(runID string, step int) (*llm.Composition, []string) {
	g.t.Helper()
	got, err := g.rt.Shown(g.t.Context(), runID, step)
	if err != nil {
		g.t.Fatal(err)
	}
	var codes []string
	for _, u := range got.Unrecorded {
		codes = append(codes, u.Code+" "+u.Plugin)
	}
	c := got.Composition
	if c == nil {
		return nil, codes
	}
	for i := range c.Context {
		if c.Context[i].Tokens < 1 {
			g.t.Errorf("context %q has %d tokens", c.Context[i].Key, c.Context[i].Tokens)
		}
		c.Context[i].Tokens = 0
	}
	return c, codes
}

// A request says who added context to it: a plugin, a tool or the client.
func TestComposition_SaysWhoAddedContext(t *testing.T) {
	t.Parallel()
	remind := at(awaken.PhaseStepStart, func(_ context.Context, h *awaken.HookCall) error {
		if h.Step == 0 {
			builtin.AddContextMessage.Schedule(h, builtin.SystemContext("hurry", "Finish soon."))
			builtin.ExcludeTool.Schedule(h, "other")
		}
		return nil
	})
	date := tool("date", func(_ context.Context, c *awaken.ToolCall, _ args) (*awaken.ToolResult, error) {
		builtin.AddContextMessage.Schedule(c, builtin.SystemContext("date", "It is Monday."))
		return awaken.TextResult("done"), nil
	})
	g := newRig(t, []llmtest.Turn{uses("date"), llmtest.Say("Done."), llmtest.Say("Again.")}, withTools(date, echo("other")), withPlugins(remind))
	q := say("Go")
	q.Context = []awaken.ContextMessage{{Key: "page", Role: llm.User, Source: "forged", Content: []llm.Block{llm.Text("The page is blue.")}, Target: awaken.TargetSuffix}}
	res, _ := g.run(q)
	first, doubts := g.composed(res.RunID, 0)
	if diff := cmp.Diff(&llm.Composition{Withheld: 1, Context: []llm.ContextNote{{Key: "hurry", Source: "at-step_start", Role: llm.System, Target: "system"},
		{Key: "page", Source: "client", Role: llm.User, Target: "suffix_system"}}}, first); diff != "" {
		t.Errorf("first request (-want +got):\n%s", diff)
	}
	if diff := cmp.Diff([]string{"context at-step_start", "context client", "tool_filter "}, doubts); diff != "" {
		t.Errorf("doubts (-want +got):\n%s", diff)
	}
	second, _ := g.composed(res.RunID, 1)
	if diff := cmp.Diff(&llm.Composition{Context: []llm.ContextNote{{Key: "date", Source: "tool:date", Role: llm.System, Target: "system"}}}, second); diff != "" {
		t.Errorf("second request (-want +got):\n%s", diff)
	}
}

// A request says how many messages the context window left out, and how many it shows in part.
func TestComposition_SaysWhatWasLeftOut(t *testing.T) {
	t.Parallel()
	var turns []llmtest.Turn
	for range 30 {
		turns = append(turns, llmtest.Say("ok"))
	}
	g := newRig(t, turns, within(2000, 500))
	for i := range 30 {
		res, _ := g.run(say(fmt.Sprint(i, " ", words(100))))
		got, _ := g.composed(res.RunID, 0)
		left := 0
		if got != nil {
			left = got.LeftOut
		}
		if want := 2*i + 1 - len(g.request(i+1).Messages); left != want || i == 29 && want == 0 {
			t.Errorf("request %d left out %d messages, and says %d", i, want, left)
		}
	}
}

// A request and the timeline say which member of a pool answered, also if it is not the first.
func TestComposition_SaysWhichMemberAnswered(t *testing.T) {
	t.Parallel()
	failing := llmtest.NewScript(llmtest.Turn{Error: &llmtest.Failure{Kind: llm.RateLimited}}).Loop()
	g := newRig(t, []llmtest.Turn{llmtest.Say("Hello.")}, func(c *engine.Config) {
		c.Models = []awaken.ModelSpec{{ID: "cheap", ProviderID: "q", UpstreamModel: "cheap-1"}, {ID: "dear", ProviderID: "p", UpstreamModel: "dear-1"}}
		c.Providers["q"] = failing
		c.Pools = []awaken.ModelPoolSpec{{ID: "pool", Members: []awaken.PoolMember{{ModelID: "cheap"}, {ModelID: "dear", Role: "failover_only"}}}}
		c.Agents[0].ModelID = "pool"
	})
	res, _ := g.run(say("Hello"))
	if got, _ := g.composed(res.RunID, 0); got == nil || got.Member != "dear" {
		t.Errorf("the request says %+v, want member dear", got)
	}
	run, err := g.store.LoadRun(t.Context(), res.RunID)
	if err != nil {
		t.Fatal(err)
	}
	page, _, _, err := timeline.Read(t.Context(), g.store, run, timeline.Mark{}, 100)
	if err != nil || len(page.Steps) != 1 || page.Steps[0].Member != "dear" || page.Steps[0].Model != "dear-1" {
		t.Errorf("the timeline says %+v, %v", page, err)
	}
}
