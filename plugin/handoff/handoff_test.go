package handoff_test

import (
	"context"
	"encoding/json"
	"slices"
	"strings"
	"testing"

	"github.com/awaken-go/awaken"
	"github.com/awaken-go/awaken/awakentest"
	"github.com/awaken-go/awaken/engine"
	"github.com/awaken-go/awaken/internal/sectiontest"
	"github.com/awaken-go/awaken/llm"
	"github.com/awaken-go/awaken/llm/llmtest"
	"github.com/awaken-go/awaken/plugin/handoff"
	"github.com/awaken-go/awaken/registry"
	"github.com/awaken-go/awaken/state/builtin"
)

func agent(id, section string) *awaken.AgentSpec {
	a := &awaken.AgentSpec{ID: id, SystemPrompt: "I am " + id + ".", PluginIDs: []string{handoff.PluginID}}
	if section != "" {
		a.Sections = map[string]json.RawMessage{handoff.PluginID: json.RawMessage(section)}
	}
	return a
}

// do returns a tool that changes the thread.
func do(id string, fn func(call *awaken.ToolCall)) awaken.Tool {
	return awaken.NewTool(awaken.ToolSpec{ID: id, Effect: awaken.ReadOnly}, func(_ context.Context, call *awaken.ToolCall, _ struct{}) (string, error) {
		fn(call)
		return "ok", nil
	})
}

var tools = []awaken.Tool{
	do("request_terse", func(c *awaken.ToolCall) { handoff.Request(c, "terse") }),
	do("activate_terse", func(c *awaken.ToolCall) { handoff.Activate(c, "terse") }),
	do("request_other", func(c *awaken.ToolCall) { handoff.Request(c, "other") }),
	do("clear", func(c *awaken.ToolCall) { handoff.Clear(c) }),
	do("request_unknown", func(c *awaken.ToolCall) { handoff.Request(c, "unknown") }),
}

func harness(t *testing.T, agents []*awaken.AgentSpec, overlays map[string]awaken.Overlay, turns ...llmtest.Turn) *awakentest.Harness {
	t.Helper()
	return awakentest.New(t, engine.Config{Agents: agents, Plugins: []awaken.Plugin{handoff.New(overlays)}, Tools: tools}, turns...)
}

func prompts(h *awakentest.Harness) (out []string) {
	for _, r := range h.Requests() {
		out = append(out, strings.TrimSuffix(strings.TrimPrefix(r.System, "I am "), "."))
	}
	return out
}

func TestSection_EveryField(t *testing.T) {
	var docs []string
	for _, c := range []struct{ name, section, want, problem string }{
		{name: "nothing", section: ``, want: "default"},
		{name: "agents", section: `{"agents": ["other"]}`, want: "default handoff_to_other"},
		{name: "itself", section: `{"agents": ["default"]}`, want: "default"},
		{name: "overlays", section: `{"overlays": {"terse": {"system_prompt": "x"}, "wordy": {}}}`, want: "default handoff_to_terse handoff_to_wordy"},
		{name: "tools off", section: `{"agents": ["other"], "tools": false}`, want: "default"},
		{name: "max_handoffs", section: `{"max_handoffs": 1}`, want: "default"},
		{name: "no handoffs", section: `{"max_handoffs": 0}`, problem: "max_handoffs is 0, want 1 or more"},
		{name: "unknown agent", section: `{"agents": ["unknown"]}`, problem: `agents[0]: agent "unknown" not found`},
		{name: "twice", section: `{"agents": ["other", "other"]}`, problem: `agents lists "other" twice`},
		{name: "blank", section: `{"agents": [" "]}`, problem: `agents[0] is empty`},
		{name: "both", section: `{"agents": ["other"], "overlays": {"other": {}}}`, problem: `"other" is in both agents and overlays`},
		{name: "bad name", section: `{"overlays": {"a:b": {}}}`, problem: `variant "a:b"`},
		{name: "unknown field", section: `{"agent": ["other"]}`, problem: "agent"},
		{name: "unknown field of an overlay", section: `{"overlays": {"a": {"prompt": "x"}}}`, problem: "prompt"},
		{name: "unknown model of an overlay", section: `{"overlays": {"a": {"model_id": "none"}}}`, problem: `model_id is "none", which is not defined`},
	} {
		docs = append(docs, c.section)
		t.Run(c.name, func(t *testing.T) {
			agents := []*awaken.AgentSpec{agent("default", c.section), agent("other", "")}
			for _, a := range agents {
				a.ModelID = "m"
			}
			reg, err := registry.New(registry.Config{Builtin: builtin.For, Agents: agents, Plugins: []awaken.Plugin{handoff.New(nil)},
				Models: []awaken.ModelSpec{{ID: "m", ProviderID: "p", UpstreamModel: "x"}}, Providers: map[string]llm.Model{"p": llmtest.Demo()}})
			if c.problem != "" {
				if err == nil || !strings.Contains(err.Error(), c.problem) {
					t.Fatalf("got %v, want %q in it", err, c.problem)
				}
				return
			}
			if err != nil {
				t.Fatal(err)
			}
			if got := strings.Join(append([]string{"default"}, reg.ToolIDs("default")...), " "); got != c.want {
				t.Errorf("tools are %q, want %q", got, c.want)
			}
		})
	}
	sectiontest.Covers[handoff.Config](t, append(docs, everyOverlay)...)
}

// everyOverlay has an overlay for each field.
const everyOverlay = `{"overlays": {
	"prompt": {"system_prompt": "new"}, "model": {"model_id": "m2"}, "only": {"allowed_tools": ["clear"]}, "without": {"excluded_tools": ["clear"]}, "none": {"allowed_tools": []}}}`

func TestOverlay_EveryFieldIsApplied(t *testing.T) {
	base := agent("default", everyOverlay)
	base.ModelID, base.AllowedToolPatterns = "m1", []string{"clear", "request_*"}
	reg, err := registry.New(registry.Config{Builtin: builtin.For, Agents: []*awaken.AgentSpec{base}, Plugins: []awaken.Plugin{handoff.New(nil)}, Tools: tools,
		Models:    []awaken.ModelSpec{{ID: "m1", ProviderID: "p", UpstreamModel: "x"}, {ID: "m2", ProviderID: "p", UpstreamModel: "x"}},
		Providers: map[string]llm.Model{"p": llmtest.Demo()}})
	if err != nil {
		t.Fatal(err)
	}
	for name, want := range map[string]string{
		"prompt":  "new m1 clear,request_other,request_terse,request_unknown",
		"model":   "I am default. m2 clear,request_other,request_terse,request_unknown",
		"only":    "I am default. m1 clear",
		"without": "I am default. m1 request_other,request_terse,request_unknown",
		"none":    "I am default. m1 ",
	} {
		id := (&awaken.AgentSpec{ID: "default"}).VariantID(name)
		spec := reg.Agent(id)
		if got := spec.SystemPrompt + " " + spec.ModelID + " " + strings.Join(reg.ToolIDs(id), ","); got != want || spec.Base() != "default" {
			t.Errorf("%s is %q of %q, want %q", id, got, spec.Base(), want)
		}
	}
	if base.SystemPrompt != "I am default." || reg.Agent("default:default") != nil || reg.Agent("default:prompt:only") != nil {
		t.Error("the base agent has changed, or there are unexpected variants")
	}
}

func TestRequestActivateClear(t *testing.T) {
	terse := map[string]awaken.Overlay{"terse": {SystemPrompt: new("I am terse.")}}
	for name, c := range map[string]struct {
		turns []llmtest.Turn
		want  string // whose prompt each inference had
		state handoff.Handoffs
	}{
		"request":                  {[]llmtest.Turn{llmtest.Use("request_terse", `{}`), llmtest.Say("hi")}, "default terse", handoff.Handoffs{ActiveAgent: "terse", BaseAgent: "default"}},
		"activate":                 {[]llmtest.Turn{llmtest.Use("activate_terse", `{}`), llmtest.Say("hi")}, "default terse", handoff.Handoffs{ActiveAgent: "terse", BaseAgent: "default"}},
		"clear":                    {[]llmtest.Turn{llmtest.Use("request_terse", `{}`), llmtest.Use("clear", `{}`), llmtest.Say("hi")}, "default terse default", handoff.Handoffs{}},
		"clear at home":            {[]llmtest.Turn{llmtest.Use("clear", `{}`), llmtest.Say("hi")}, "default default", handoff.Handoffs{}},
		"clear from another agent": {[]llmtest.Turn{llmtest.Use("request_other", `{}`), llmtest.Use("clear", `{}`), llmtest.Say("hi")}, "default other default", handoff.Handoffs{}},
		"the last request counts": {[]llmtest.Turn{{ToolCalls: []llmtest.Call{{Name: "request_terse", Arguments: json.RawMessage("{}")}, {Name: "request_other", Arguments: json.RawMessage("{}")}}}, llmtest.Say("hi")},
			"default other", handoff.Handoffs{ActiveAgent: "other", BaseAgent: "default"}},
	} {
		t.Run(name, func(t *testing.T) {
			h := harness(t, []*awaken.AgentSpec{agent("default", ""), agent("other", "")}, terse, c.turns...)
			rec := h.Say("go")
			if rec.Err != nil {
				t.Fatal(rec.Err)
			}
			if got := strings.Join(prompts(h), " "); got != c.want {
				t.Errorf("agents were %q, want %q", got, c.want)
			}
			snaps := awakentest.All[*awaken.StateSnapshot](rec.Entries)
			if got := handoff.State.Get(snaps[len(snaps)-1].Snapshot); got != c.state {
				t.Errorf("state is %+v, want %+v", got, c.state)
			}
		})
	}
}

func TestHandoffs_Effective(t *testing.T) {
	for want, s := range map[string]handoff.Handoffs{"a": {ActiveAgent: "a"}, "b": {ActiveAgent: "a", RequestedAgent: "b"}, "": {ActiveAgent: "a", Cleared: true}} {
		if got := s.Effective(); got != want {
			t.Errorf("%+v: %q, want %q", s, got, want)
		}
	}
}

// L-49: a handoff did not survive its run, and events and records did not name the agent that had the thread.
func TestL49_AHandoffStaysWithTheThreadAndIsOnRecord(t *testing.T) {
	h := harness(t, []*awaken.AgentSpec{agent("default", `{"agents": ["other"]}`), agent("other", "")}, nil,
		llmtest.Use("handoff_to_other", `{}`), llmtest.Say("I have it"), llmtest.Say("still me"), llmtest.Say("me again"))
	first := h.Run(awaken.RunRequest{ThreadID: "t", Messages: []*llm.Message{llm.UserText("go")}})
	second := h.Run(awaken.RunRequest{ThreadID: "t", Messages: []*llm.Message{llm.UserText("and now?")}})
	for i, rec := range []*awakentest.Recording{first, second} {
		finish := awakentest.All[*awaken.RunFinish](rec.Entries)
		run, err := h.Store.LoadRun(t.Context(), rec.Result.RunID)
		if err != nil || run.AgentID != "other" || rec.Result.AgentID != "other" || finish[0].Identity.AgentID != "other" {
			t.Errorf("run %d is of %q in the record (%v), %q in the result, %q in the event", i, run.AgentID, err, rec.Result.AgentID, finish[0].Identity.AgentID)
		}
	}
	if third := h.Run(awaken.RunRequest{ThreadID: "t", AgentID: "default", Messages: []*llm.Message{llm.UserText("default, please")}}); third.Result.AgentID != "default" {
		t.Errorf("a run that names an agent gets %q", third.Result.AgentID)
	}
	if got := prompts(h); !slices.Equal(got, []string{"default", "other", "other", "default"}) {
		t.Errorf("agents were %q", got)
	}
}

func TestRequest_ForAnUnknownAgentBlocksTheRunAndNotTheThread(t *testing.T) {
	h := harness(t, []*awaken.AgentSpec{agent("default", "")}, nil, llmtest.Use("request_unknown", `{}`), llmtest.Say("hi"))
	first := h.Run(awaken.RunRequest{ThreadID: "t", Messages: []*llm.Message{llm.UserText("go")}})
	if first.Result.Termination.Type != awaken.Blocked || !strings.Contains(first.Result.Termination.Message, "unknown") {
		t.Fatalf("got %v", first.Result.Termination)
	}
	if second := h.Run(awaken.RunRequest{ThreadID: "t", Messages: []*llm.Message{llm.UserText("go")}}); second.Result == nil || second.Result.Termination.Type != awaken.NaturalEnd {
		t.Fatalf("got %v, %v", second.Result, second.Err)
	}
}

func TestCycle_OfRequestsFromCodeEndsTheRun(t *testing.T) {
	h := harness(t, []*awaken.AgentSpec{agent("default", `{"max_handoffs": 1}`), agent("other", `{"max_handoffs": 1}`)}, map[string]awaken.Overlay{"terse": {}},
		llmtest.Use("request_other", `{}`), llmtest.Use("request_terse", `{}`), llmtest.Say("never"))
	rec := h.Say("go")
	if rec.Err == nil || !strings.Contains(rec.Err.Error(), "the limit of 1 handoffs in one run is reached") {
		t.Fatalf("got %v", rec.Err)
	}
}

func TestVariant_AWaitingRunResumesAsTheVariant(t *testing.T) {
	ask := awaken.NewTool(awaken.ToolSpec{ID: "ask"}, func(_ context.Context, call *awaken.ToolCall, _ struct{}) (string, error) {
		if call.Resume == nil {
			return "", awaken.Suspend(awaken.Ticket{})
		}
		return "yes", nil
	})
	cfg := engine.Config{Agents: []*awaken.AgentSpec{agent("default", `{"overlays": {"terse": {"system_prompt": "I am terse."}}}`)},
		Plugins: []awaken.Plugin{handoff.New(nil)}, Tools: []awaken.Tool{ask}}
	h := awakentest.New(t, cfg, llmtest.Use("handoff_to_terse", `{}`), llmtest.Use("ask", `{}`), llmtest.Say("done"))
	rec := h.Say("go")
	rec = h.Resume(rec.Result.RunID, rec.Result.Waiting.Tickets[0].Approve())
	if rec.Err != nil || rec.Result.AgentID != "default:terse" || rec.Result.Response != "done" {
		t.Fatalf("got %+v, %v", rec.Result, rec.Err)
	}
}
