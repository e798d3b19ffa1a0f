package deferred_test

import (
	"context"
	"encoding/json"
	"fmt"
	"math"
	"slices"
	"strings"
	"testing"

	"github.com/awaken-go/awaken"
	"github.com/awaken-go/awaken/awakentest"
	"github.com/awaken-go/awaken/engine"
	"github.com/awaken-go/awaken/internal/sectiontest"
	"github.com/awaken-go/awaken/llm"
	"github.com/awaken-go/awaken/llm/llmtest"
	"github.com/awaken-go/awaken/plugin/deferred"
	"github.com/awaken-go/awaken/state/profile"
	"github.com/awaken-go/awaken/store/memory"
)

// tool returns a tool whose schema has about that many tokens.
func tool(id, description string, tokens int) awaken.Tool {
	params := fmt.Sprintf(`{"type":"object","properties":{"a":{"type":"string","description":%q}}}`, strings.Repeat("x", max(0, tokens*4-70)))
	return awaken.NewTool(awaken.ToolSpec{ID: id, Description: description, Parameters: json.RawMessage(params)},
		func(context.Context, *awaken.ToolCall, struct{}) (string, error) { return "done", nil })
}

func harness(t *testing.T, section string, store profile.Store, tools []awaken.Tool, turns ...llmtest.Turn) *awakentest.Harness {
	t.Helper()
	spec := &awaken.AgentSpec{ID: engine.DefaultAgentID, MaxRounds: new(100), PluginIDs: []string{deferred.Name}}
	if section != "" {
		spec.Sections = map[string]json.RawMessage{deferred.SectionName: json.RawMessage(section)}
	}
	if tools == nil {
		tools = []awaken.Tool{tool("get_weather", "The weather of a city", 400), tool("debug_dump", "Dumps things", 400), tool("add", "Adds numbers", 400)}
	}
	return awakentest.New(t, engine.Config{Agents: []*awaken.AgentSpec{spec}, Plugins: []awaken.Plugin{deferred.New()}, Tools: tools, Profile: store}, turns...)
}

func offered(h *awakentest.Harness, request int) []string { return h.Model.Requests()[request].Tools }

// Every field of the section.
func TestSection(t *testing.T) {
	t.Parallel()
	all := []string{"add", "debug_dump", "get_weather"}
	search := []string{deferred.SearchTool}
	with := func(ids ...string) []string {
		out := append(slices.Clone(search), ids...)
		slices.Sort(out)
		return out
	}
	var docs []string
	for _, tt := range []struct {
		name, section string
		want          []string
	}{
		{"no section: 1200 tokens are more than the overhead", ``, search},
		{"enabled null", `{"enabled":null}`, search},
		{"not worth it", `{"beta_overhead":5000}`, all},
		{"enabled all the same", `{"enabled":true,"beta_overhead":5000}`, search},
		{"disabled", `{"enabled":false}`, all},
		{"eager by rule", `{"enabled":true,"rules":[{"tool":"get_weather","mode":"eager"}]}`, with("get_weather")},
		{"first rule wins", `{"enabled":true,"rules":[{"tool":"add","mode":"eager"},{"tool":"a*","mode":"deferred"}]}`, with("add")},
		{"eager by default", `{"enabled":true,"default_mode":"eager","rules":[{"tool":"debug_*","mode":"deferred"}]}`, with("add", "get_weather")},
		{"regular expression", `{"enabled":true,"default_mode":"eager","rules":[{"tool":"/^(add|debug)/","mode":"deferred"}]}`, with("get_weather")},
	} {
		docs = append(docs, tt.section)
		t.Run(tt.name, func(t *testing.T) {
			t.Parallel()
			h := harness(t, tt.section, nil, nil, llmtest.Say("hi"))
			h.Say("go")
			if got := offered(h, 0); !slices.Equal(got, tt.want) {
				t.Errorf("offered %q, want %q", got, tt.want)
			}
		})
	}
	for _, tt := range kept {
		docs = append(docs, tt.section)
	}
	sectiontest.Covers[deferred.Config](t, docs...)
}

// kept has sections that determine how long an unused promoted tool is kept, and the expected
// number of turns by the formulas of the estimate. The schema of the tool saves 398 tokens.
var kept = []struct {
	name, section string
	turns         int
}{
	{"defaults", `{"enabled":true}`, 15},
	{"a prior", `{"enabled":true,"agent_priors":{"get_weather":0.5}}`, 31},
	{"omega: the past is forgotten soon", `{"enabled":true,"disc_beta":{"omega":0.5}}`, 6},
	{"n0: what was believed before counts for much", `{"enabled":true,"disc_beta":{"n0":50}}`, 5},
	{"defer_after: not before", `{"enabled":true,"disc_beta":{"defer_after":30}}`, 30},
	{"thresh_mult: as soon as it is not worth it", `{"enabled":true,"disc_beta":{"thresh_mult":1}}`, 6},
	{"gamma: a search costs little", `{"enabled":true,"disc_beta":{"gamma":500}}`, 5},
}

func TestDiscBeta_EveryFieldSaysHowLongAToolIsKept(t *testing.T) {
	t.Parallel()
	for _, tt := range kept {
		turns := []llmtest.Turn{llmtest.Use(deferred.SearchTool, `{"query":"select:get_weather"}`)}
		for range 60 {
			turns = append(turns, llmtest.Say("hm"))
		}
		h := harness(t, tt.section, nil, nil, turns...)
		got := 0
		for i := 1; i <= 50; i++ {
			h.Run(awaken.RunRequest{ThreadID: "t", Messages: []*llm.Message{llm.UserText("go")}})
			if !slices.Contains(offered(h, i), "get_weather") {
				break
			}
			got = i
		}
		if got != tt.turns {
			t.Errorf("%s: it is kept for %d turns, want %d", tt.name, got, tt.turns)
		}
	}
}

func TestSection_RefusesInvalidValues(t *testing.T) {
	t.Parallel()
	for section, want := range map[string]string{
		`{"rules":[{"tool":"a(","mode":"eager"}]}`:   "rules[0].tool",
		`{"rules":[{"tool":"a(x)","mode":"eager"}]}`: "which has arguments",
		`{"rules":[{"tool":"a","mode":"lazy"}]}`:     "/mode",
		`{"default_mode":"lazy"}`:                    "/default_mode",
		`{"beta_overhead":-1}`:                       "/beta_overhead",
		`{"agent_priors":{"a":2}}`:                   "agent_priors",
		`{"disc_beta":{"omega":0}}`:                  "omega",
		`{"disc_beta":{"omega":2}}`:                  "omega",
		`{"disc_beta":{"n0":0}}`:                     "n0",
		`{"disc_beta":{"gamma":-1}}`:                 "gamma",
		`{"disc_beta":{"defer_after":-1}}`:           "defer_after",
		`{"disc_beta":{"thresh_mult":-1}}`:           "thresh_mult",
		`{"enabled":"yes"}`:                          "/enabled",
		`{"seed":[]}`:                                "seed",
	} {
		_, err := engine.New(engine.Config{
			Agents: []*awaken.AgentSpec{{ID: "a", ModelID: "m", PluginIDs: []string{deferred.Name},
				Sections: map[string]json.RawMessage{deferred.SectionName: json.RawMessage(section)}}},
			Models:    []awaken.ModelSpec{{ID: "m", ProviderID: "p", UpstreamModel: "x"}},
			Providers: map[string]llm.Model{"p": llmtest.NewScript()},
			Plugins:   []awaken.Plugin{deferred.New()},
		})
		if err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("%s: error is %v, want %s", section, err, want)
		}
	}
}

// An agent that may not use ToolSearch keeps its tools.
func TestSection_NeedsToolSearch(t *testing.T) {
	t.Parallel()
	h := awakentest.New(t, engine.Config{
		Agents: []*awaken.AgentSpec{{ID: engine.DefaultAgentID, PluginIDs: []string{deferred.Name}, ExcludedTools: []string{deferred.SearchTool},
			Sections: map[string]json.RawMessage{deferred.SectionName: json.RawMessage(`{"enabled":true}`)}}},
		Plugins: []awaken.Plugin{deferred.New()}, Tools: []awaken.Tool{tool("add", "", 400)},
	}, llmtest.Say("hi"))
	h.Say("go")
	if got := offered(h, 0); !slices.Equal(got, []string{"add"}) {
		t.Errorf("offered %q", got)
	}
}

// found returns what ToolSearch finds, in order.
func found(t *testing.T, args string, tools ...awaken.Tool) []string {
	t.Helper()
	h := harness(t, `{"enabled":true}`, nil, tools, llmtest.Use(deferred.SearchTool, args), llmtest.Say("ok"))
	rec := h.Say("go")
	for _, e := range rec.Entries {
		if done, ok := e.Event.(*awaken.ToolCallDone); ok {
			var data struct {
				Promote []string `json:"__promote"`
			}
			if err := json.Unmarshal(done.Result.Data, &data); err != nil {
				t.Fatal(err)
			}
			return data.Promote
		}
	}
	t.Fatal("no result")
	return nil
}

func TestToolSearch(t *testing.T) {
	t.Parallel()
	tools := []awaken.Tool{
		tool("get_weather", "Current weather of a city", 20), tool("weatherForecast", "What the week will be like", 20),
		tool("send_mail", "Sends a mail about anything, for example the weather", 20), tool("read_file", "Reads a file", 20),
		tool("write_file", "Writes a file", 20), tool("zz_file", "Writes a file", 20), tool("aa_file", "Writes a file", 20), tool("search_issues", "Finds issues on GitHub", 20),
	}
	for _, tt := range []struct {
		args string
		want []string
	}{
		{`{"query":"select:read_file,get_weather"}`, []string{"read_file", "get_weather"}},
		{`{"query":"select:nothing, read_file ,read_file"}`, []string{"read_file"}},
		{`{"query":"weather"}`, []string{"get_weather", "weatherForecast", "send_mail"}},
		{`{"query":"WEATHER forecast"}`, []string{"weatherForecast", "get_weather", "send_mail"}},
		{`{"query":"weather","max_results":1}`, []string{"get_weather"}},
		{`{"query":"+file write"}`, []string{"write_file", "aa_file", "zz_file", "read_file"}},
		{`{"query":"+github"}`, []string{"search_issues"}},
		{`{"query":"iss"}`, []string{"search_issues"}}, // the beginning of a word
		{`{"query":"writes a file","max_results":2}`, []string{"aa_file", "write_file"}},
		{`{"query":"quantum"}`, nil},
		{`{"query":""}`, nil},
	} {
		got := found(t, tt.args, tools...)
		if !slices.Equal(got, tt.want) {
			t.Errorf("%s finds %q, want %q", tt.args, got, tt.want)
		}
	}
}

// Tools with equal scores are ordered by name.
func TestToolSearch_TiesAreStable(t *testing.T) { // L-55
	t.Parallel()
	var tools []awaken.Tool
	for _, id := range []string{"e_x", "b_x", "d_x", "a_x", "c_x", "f_x"} {
		tools = append(tools, tool(id, "does the same", 20))
	}
	for range 5 {
		if got := found(t, `{"query":"same"}`, tools...); !slices.Equal(got, []string{"a_x", "b_x", "c_x", "d_x", "e_x"}) {
			t.Fatalf("got %q", got)
		}
	}
}

// A tool that was promoted late in a run is still available when the model calls it.
func TestPromotion_LastsUntilTheToolCanBeUsed(t *testing.T) { // L-67
	t.Parallel()
	var turns []llmtest.Turn
	for range 12 {
		turns = append(turns, llmtest.Use("add", `{}`))
	}
	turns = append(turns, llmtest.Use(deferred.SearchTool, `{"query":"select:get_weather"}`), llmtest.Use("get_weather", `{}`), llmtest.Say("ok"))
	h := harness(t, `{"enabled":true,"rules":[{"tool":"add","mode":"eager"}]}`, nil, nil, turns...)
	h.Say("go")
	if before, after := offered(h, 12), offered(h, 13); slices.Contains(before, "get_weather") || !slices.Contains(after, "get_weather") {
		t.Errorf("offered %q, and after the search %q", before, after)
	}
	if !slices.Contains(offered(h, 14), "get_weather") {
		t.Error("it is gone after it was used")
	}
}

// A promoted tool stays promoted on the thread, and is deferred again when it is not used.
func TestPromotion_EndsWhenTheToolIsNotUsed(t *testing.T) { // L-55
	t.Parallel()
	turns := []llmtest.Turn{llmtest.Use(deferred.SearchTool, `{"query":"weather"}`), llmtest.Say("ok")}
	for range 40 {
		turns = append(turns, llmtest.Say("hm"))
	}
	h := harness(t, `{"enabled":true}`, nil, nil, turns...)
	ask := awaken.RunRequest{ThreadID: "t", Messages: []*llm.Message{llm.UserText("go")}}
	h.Run(ask)
	gone := 0
	for i := range 40 {
		h.Run(ask)
		if !slices.Contains(offered(h, 2+i), "get_weather") {
			gone = i + 1
			break
		}
	}
	// c is about 400 tokens: by the table it is still worth it after 10 idle turns.
	if gone < 10 || gone > 30 {
		t.Errorf("it is deferred after %d idle runs", gone)
	}
	h.Run(awaken.RunRequest{ThreadID: "other", Messages: []*llm.Message{llm.UserText("go")}})
	if slices.Contains(offered(h, 2+gone), "get_weather") {
		t.Error("it is promoted on a thread that never asked for it")
	}
}

// Tool use is learned across threads, and tools with a high prior are kept longer.
func TestPriors_AreLearnedAcrossThreads(t *testing.T) { // L-55
	t.Parallel()
	store := memory.NewProfile()
	var turns []llmtest.Turn
	for range 3 {
		turns = append(turns, llmtest.Use(deferred.SearchTool, `{"query":"select:get_weather"}`), llmtest.Use("get_weather", `{}`), llmtest.Say("ok"))
	}
	h := harness(t, `{"enabled":true}`, store, nil, turns...)
	for i := range 3 {
		h.Run(awaken.RunRequest{ThreadID: fmt.Sprint(i), Messages: []*llm.Message{llm.UserText("go")}})
	}
	e, err := store.Get(t.Context(), "deferred_tools.agent_priors", profile.AgentType(engine.DefaultAgentID))
	if err != nil || e == nil {
		t.Fatalf("nothing was learned: %v", err)
	}
	var got struct {
		Sessions int                `json:"session_count"`
		Tools    map[string]float64 `json:"tools"`
	}
	if err := json.Unmarshal(e.Value, &got); err != nil {
		t.Fatal(err)
	}
	// The first lesson has all the weight, the second half, the third a third.
	if got.Sessions != 3 || math.Abs(got.Tools["get_weather"]-1) > 1e-9 || math.Abs(got.Tools["add"]) > 1e-9 {
		t.Errorf("learned %+v", got)
	}
	// With that prior, the estimate after a promotion differs.
	h = harness(t, `{"enabled":true}`, store, nil, llmtest.Use(deferred.SearchTool, `{"query":"select:get_weather"}`), llmtest.Say("ok"))
	rec := h.Say("go")
	if lines := awakentest.Lines(t, rec.Entries); !strings.Contains(lines, `"get_weather":{"alpha":5.`) {
		t.Errorf("the prior does not count:\n%s", lines)
	}
}

// agent_priors apply to tools about which nothing was learned yet.
func TestPriors_OfTheSection(t *testing.T) {
	t.Parallel()
	h := harness(t, `{"enabled":true,"agent_priors":{"get_weather":0.5}}`, nil, nil, llmtest.Use(deferred.SearchTool, `{"query":"select:get_weather"}`), llmtest.Say("ok"))
	if lines := awakentest.Lines(t, h.Say("go").Entries); !strings.Contains(lines, `"get_weather":{"alpha":3.`) {
		t.Errorf("the prior does not count:\n%s", lines)
	}
}

// Tools that arrive later, here with a request, are deferred too.
func TestTools_ThatArriveLaterAreDeferred(t *testing.T) { // L-55
	t.Parallel()
	h := harness(t, `{"enabled":true}`, nil, nil, llmtest.Say("ok"), llmtest.Use(deferred.SearchTool, `{"query":"camera"}`), llmtest.Say("ok"))
	h.Run(awaken.RunRequest{ThreadID: "t", Messages: []*llm.Message{llm.UserText("go")}})
	h.Run(awaken.RunRequest{ThreadID: "t", Messages: []*llm.Message{llm.UserText("go")},
		FrontendTools: []awaken.ToolSpec{{ID: "take_picture", Description: "Uses the camera"}}})
	if got := offered(h, 1); slices.Contains(got, "take_picture") {
		t.Errorf("offered %q", got)
	}
	if got := offered(h, 2); !slices.Contains(got, "take_picture") {
		t.Errorf("after the search, offered %q", got)
	}
}

// A deferred tool that the model calls by name is promoted.
func TestTools_ThatAreCalledUnseenArePromoted(t *testing.T) {
	t.Parallel()
	h := harness(t, `{"enabled":true}`, nil, nil, llmtest.Use("add", `{}`), llmtest.Say("ok"))
	h.Say("go")
	if got := offered(h, 1); !slices.Contains(got, "add") {
		t.Errorf("offered %q", got)
	}
}

// Other plugins can promote and defer.
type steward struct{}

func (steward) Name() string { return "steward" }

func (steward) Register(r *awaken.Registrar) error {
	r.On(awaken.PhaseStepStart, func(_ context.Context, h *awaken.HookCall) error {
		switch h.Step {
		case 1:
			deferred.Promote.Schedule(h, []string{"add"})
		case 2:
			deferred.Defer.Schedule(h, []string{"add"})
		}
		return nil
	})
	return nil
}

func TestActions_PromoteAndDefer(t *testing.T) {
	t.Parallel()
	h := awakentest.New(t, engine.Config{
		Agents: []*awaken.AgentSpec{{ID: engine.DefaultAgentID, PluginIDs: []string{deferred.Name, "steward"},
			Sections: map[string]json.RawMessage{deferred.SectionName: json.RawMessage(`{"enabled":true}`)}}},
		Plugins: []awaken.Plugin{deferred.New(), steward{}}, Tools: []awaken.Tool{tool("add", "", 400), tool("other", "", 400)},
	}, llmtest.Use(deferred.SearchTool, `{"query":"none"}`), llmtest.Use(deferred.SearchTool, `{"query":"none"}`), llmtest.Say("ok"))
	h.Say("go")
	for i, want := range []bool{false, true, false} {
		if got := slices.Contains(offered(h, i), "add"); got != want {
			t.Errorf("step %d: offered is %v", i, got)
		}
	}
}
