package delegate_test

import (
	"testing"

	"github.com/awaken-go/awaken"
	"github.com/awaken-go/awaken/awakentest"
	"github.com/awaken-go/awaken/engine"
	"github.com/awaken-go/awaken/llm"
	"github.com/awaken-go/awaken/llm/llmtest"
	"github.com/awaken-go/awaken/plugin/delegate"
	"github.com/awaken-go/awaken/registry"
	"github.com/awaken-go/awaken/state/builtin"
	"github.com/awaken-go/awaken/store/memory"
)

// A delegate uses the version that its parent is pinned to, even if the parent was resumed in
// another process after a change.
func TestVersion_DelegatesStartOnTheVersionOfTheirParent(t *testing.T) {
	t.Parallel()
	root := llmtest.NewScript(llmtest.Use("pay", `{"text":"1"}`), give("helper"), llmtest.Say("Done."))
	helper := llmtest.NewScript(llmtest.Say("Helped.")).Loop().Record()
	store := memory.New()
	c := newCrew(t)
	process := func(prompts ...string) *engine.Runtime {
		v := awakentest.NewVersions()
		for i, prompt := range prompts {
			reg, err := registry.New(registry.Config{Builtin: builtin.For, ID: string(rune('1' + i)),
				Agents: []*awaken.AgentSpec{{ID: "root", ModelID: "root", Delegates: []string{"helper"}},
					{ID: "helper", ModelID: "helper", SystemPrompt: prompt}},
				Models:    []awaken.ModelSpec{{ID: "root", ProviderID: "root", UpstreamModel: "root"}, {ID: "helper", ProviderID: "helper", UpstreamModel: "helper"}},
				Providers: map[string]llm.Model{"root": root, "helper": helper},
				Plugins:   []awaken.Plugin{delegate.New(delegate.Options{})},
				Tools:     c.tools()})
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
	res, err := process("old").Run(t.Context(), say("t", "Go"), nil)
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
