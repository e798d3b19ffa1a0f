package replay_test

import (
	"context"
	"encoding/json"
	"maps"
	"slices"
	"testing"

	"github.com/awaken-go/awaken"
	"github.com/awaken-go/awaken/engine"
	"github.com/awaken-go/awaken/llm"
	"github.com/awaken-go/awaken/llm/llmtest"
	"github.com/awaken-go/awaken/registry"
	"github.com/awaken-go/awaken/state/builtin"
	"github.com/awaken-go/awaken/store/memory"
	"github.com/awaken-go/awaken/trace"
	"github.com/awaken-go/awaken/trace/replay"
	"github.com/awaken-go/awaken/trace/replay/replaytest"
)

// A run that began before an MCP server was connected, and saw its tools appear and change, replays with the tools of each step.
func TestPlay_ToolsThatAppearDuringARun(t *testing.T) {
	t.Parallel()
	send := func(description string) awaken.Tool {
		return awaken.NewTool(awaken.ToolSpec{ID: "mcp__mail__send", Server: "mail", OwnName: "send", Description: description},
			func(context.Context, *awaken.ToolCall, struct{}) (*awaken.ToolResult, error) {
				return awaken.TextResult("sent"), nil
			})
	}
	var current *registry.Registry
	var next []registry.Edit
	change := func() {
		reg, err := current.Derive(next[0])
		if err != nil {
			t.Error(err)
			return
		}
		current.Supersede(reg)
		current, next = reg, next[1:]
	}
	wait := awaken.NewTool(awaken.ToolSpec{ID: "wait"}, func(context.Context, *awaken.ToolCall, struct{}) (*awaken.ToolResult, error) {
		change()
		return awaken.TextResult("waited"), nil
	})
	version := func() *registry.Registry {
		reg, err := registry.New(registry.Config{ID: "v", Builtin: builtin.For,
			Agents: []*awaken.AgentSpec{{ID: "default", ModelID: "m"}}, Tools: []awaken.Tool{wait},
			Models: []awaken.ModelSpec{{ID: "m", ProviderID: "p", UpstreamModel: "m-1"}}, Providers: map[string]llm.Model{"p": llmtest.NewScript(
				llmtest.Use("wait", `{}`), llmtest.Use("mcp__mail__send", `{}`), llmtest.Use("wait", `{}`), llmtest.Use("mcp__mail__send", `{}`),
				llmtest.Use("wait", `{}`), llmtest.Say("Done."))}})
		if err != nil {
			t.Fatal(err)
		}
		if reg, err = reg.Derive(registry.Edit{ID: "v", Away: []string{"mail"}}); err != nil {
			t.Fatal(err)
		}
		return reg
	}
	lists := map[string]registry.Edit{}
	for _, s := range []string{"Sends mail.", "Sends mail quickly."} {
		lists[registry.ListDigest([]awaken.ToolSpec{send(s).Spec()})] = registry.Edit{ID: "v", Away: []string{}, Tools: []awaken.Tool{send(s)}}
	}
	current = version()
	began := current
	next = []registry.Edit{{ID: "v", Away: []string{}, Tools: []awaken.Tool{send("Sends mail.")}},
		{ID: "v", Tools: []awaken.Tool{send("Sends mail quickly.")}},
		{ID: "v", Away: []string{"mail"}, Gone: registry.Gone{Tools: []string{"mcp__mail__send"}}}}
	store := memory.New()
	rt, err := engine.New(engine.Config{Versions: only{began}, Store: store})
	if err != nil {
		t.Fatal(err)
	}
	req := awaken.RunRequest{ThreadID: "t", RunID: "r", Messages: []*llm.Message{llm.UserText("Mail")}}
	if _, err := rt.Run(t.Context(), req, nil); err != nil {
		t.Fatal(err)
	}
	if len(next) > 0 {
		t.Fatalf("%d changes were not made", len(next))
	}
	rec, err := trace.Record(t.Context(), store, "r")
	if err != nil {
		t.Fatal(err)
	}
	var asked []string
	player := &replay.Player{Registry: version(), Store: memory.New(), Open: replaytest.Open}
	player.Retool = func(_ context.Context, want map[string]string) (*registry.Registry, error) {
		data, err := json.Marshal(want)
		asked = append(asked, string(data))
		if err != nil || len(want) == 0 {
			return version(), err
		}
		e, ok := lists[want["mail"]]
		if !ok {
			t.Errorf("the replay asks for %v, want one of %v", want, slices.Collect(maps.Keys(lists)))
		}
		return version().Derive(e)
	}
	res, err := player.Play(t.Context(), rec)
	if err != nil {
		t.Fatal(err)
	}
	if res.Difference != nil || res.Events != len(rec.Events) {
		t.Errorf("%d of %d events are equal; the difference is %v", res.Events, len(rec.Events), res.Difference)
	}
	if len(asked) != 4 || asked[0] != "{}" || asked[3] != "{}" {
		t.Errorf("the replay asked for the lists %q, want none, two and none", asked)
	}
}

// only is a registry with one version.
type only struct{ reg *registry.Registry }

func (o only) Registry() *registry.Registry                               { return o.reg }
func (o only) Choose(*awaken.Thread) *registry.Registry                   { return o.reg }
func (o only) Pinned(context.Context, string) (*registry.Registry, error) { return o.reg, nil }
