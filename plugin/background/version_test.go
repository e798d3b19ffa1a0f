package background_test

import (
	"context"
	"testing"

	"github.com/awaken-go/awaken"
	"github.com/awaken-go/awaken/awakentest"
	"github.com/awaken-go/awaken/engine"
	"github.com/awaken-go/awaken/llm"
	"github.com/awaken-go/awaken/llm/llmtest"
	"github.com/awaken-go/awaken/plugin/background"
	"github.com/awaken-go/awaken/registry"
	"github.com/awaken-go/awaken/state/builtin"
	"github.com/awaken-go/awaken/store/memory"
)

// A task uses the version that its parent is pinned to, even if the parent was resumed in
// another process after a change.
func TestVersion_TasksStartOnTheVersionOfTheirParent(t *testing.T) {
	t.Parallel()
	root := llmtest.NewScript(llmtest.Use("pay", `{}`), llmtest.Use("spawn", `{}`), llmtest.Say("Done."), llmtest.Say("Thanks."))
	helper := llmtest.NewScript(llmtest.Say("Helped.")).Loop().Record()
	store := memory.New()
	pay := awaken.NewTool(awaken.ToolSpec{ID: "pay"}, func(_ context.Context, call *awaken.ToolCall, _ struct{}) (string, error) {
		if call.Resume == nil {
			return "", awaken.Suspend(awaken.Ticket{Suspension: awaken.Suspension{Action: "tool:pay", Message: "Pay?"}})
		}
		return "paid", nil
	})
	process := func(prompts ...string) *engine.Runtime {
		v := awakentest.NewVersions()
		for i, prompt := range prompts {
			reg, err := registry.New(registry.Config{Builtin: builtin.For, ID: string(rune('1' + i)),
				Agents: []*awaken.AgentSpec{{ID: "root", ModelID: "root", PluginIDs: []string{background.PluginID}},
					{ID: "helper", ModelID: "helper", SystemPrompt: prompt}},
				Models:    []awaken.ModelSpec{{ID: "root", ProviderID: "root", UpstreamModel: "root"}, {ID: "helper", ProviderID: "helper", UpstreamModel: "helper"}},
				Providers: map[string]llm.Model{"root": root, "helper": helper},
				Plugins:   []awaken.Plugin{background.New()},
				Tools: []awaken.Tool{pay, awaken.NewTool(awaken.ToolSpec{ID: "spawn"}, func(_ context.Context, call *awaken.ToolCall, _ struct{}) (string, error) {
					return background.Spawn(call, background.Task{Agent: "helper", Prompt: "do it"})
				})}})
			if err != nil {
				t.Fatal(err)
			}
			v.Publish(reg)
		}
		rt, err := engine.New(engine.Config{Versions: v, Store: store})
		if err != nil {
			t.Fatal(err)
		}
		return rt
	}
	res, err := process("old").Run(t.Context(), awaken.RunRequest{AgentID: "root", ThreadID: "t", Messages: []*llm.Message{llm.UserText("Go")}}, nil)
	if err != nil {
		t.Fatal(err)
	}
	rt := process("old", "new")
	if _, err := rt.Resume(t.Context(), res.RunID, nil, res.Waiting.Tickets[0].Approve()); err != nil {
		t.Fatal(err)
	}
	if err := rt.Settle(t.Context()); err != nil {
		t.Fatal(err)
	}
	if helper.Calls() != 1 {
		t.Fatalf("the helper was asked %d times, want 1", helper.Calls())
	}
	for i, r := range helper.Requests() {
		if r.System != "old" {
			t.Errorf("request %d of the helper has the prompt %q, want the old one", i+1, r.System)
		}
	}
	runs, err := store.ListRuns(t.Context(), awaken.RunQuery{})
	if err != nil || len(runs) != 2 {
		t.Fatalf("there are %d runs, %v, want 2", len(runs), err)
	}
	for _, r := range runs {
		if r.Status != awaken.RunDone || r.ResolutionID != "1" {
			t.Errorf("run %s of %s is %s, pinned to %q", r.RunID, r.AgentID, r.Status, r.ResolutionID)
		}
	}
}
