package engine_test

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"log/slog"
	"runtime"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/awaken-go/awaken"
	"github.com/awaken-go/awaken/engine"
	"github.com/awaken-go/awaken/internal/bubbletest"
	"github.com/awaken-go/awaken/llm"
	"github.com/awaken-go/awaken/llm/llmtest"
	"github.com/awaken-go/awaken/state"
)

// What people get wrong, and the errors they get. Errors name the field and the
// value, and say what would be right.

// says checks that an error contains every one of parts.
func says(t testing.TB, err error, parts ...string) {
	t.Helper()
	if err == nil {
		t.Errorf("no error, want one that says %q", parts)
		return
	}
	for _, part := range parts {
		if !strings.Contains(err.Error(), part) {
			t.Errorf("error does not say %q:\n%v", part, err)
		}
	}
}

// Documents.

func TestDocuments_NameWhatIsWrong(t *testing.T) {
	t.Parallel()
	agent, model, pool, provider := new(awaken.AgentSpec), new(awaken.ModelSpec), new(awaken.ModelPoolSpec), new(awaken.ProviderSpec)
	override, cond, decision, request := new(awaken.InferenceOverride), new(awaken.StopCondition), new(awaken.Decision), new(awaken.RunRequest)
	term := new(awaken.Termination)
	for _, tt := range []struct {
		into json.Unmarshaler
		doc  string
		want []string
	}{
		{agent, `{"id":"a","max_round":3}`, []string{"agent", `unknown field "max_round"`}},
		{agent, `{"id":"a","max_rounds":"three"}`, []string{"agent", `field "max_rounds" is a JSON string, want a whole number`}},
		{agent, `{"id":7}`, []string{`field "id" is a JSON number, want a string`}},
		{agent, `{"id":"a","allowed_tools":"x"}`, []string{`"allowed_tools"`, "want an array"}},
		{agent, `{"id":"a","allowed_tools":[1]}`, []string{`"allowed_tools"`}},
		{agent, `{"id":"a","sections":[]}`, []string{`field "sections" is a JSON array, want an object`}},
		{agent, `[]`, []string{"agent", "found a JSON array, want an object"}},
		{agent, `{"id":"a"} {}`, []string{"agent", "unexpected data"}},
		{agent, `{"id":"a"`, []string{"agent", "not JSON"}},
		{agent, `{"id":"a","active_plugins":["x"],"active_hook_filter":["y"]}`, []string{`agent "a"`, "active_hook_filter", "active_plugins"}},
		{agent, `{"id":"a","model_id":"m","backend":{"kind":"awaken","config":{"model_id":"n"}}}`, []string{`agent "a"`, "model_id is m", "backend.config.model_id is n"}},
		{agent, `{"id":"a","backend":{"kind":"awaken","config":{"modelid":"n"}}}`, []string{`"modelid"`, "want model_id, system_prompt or max_rounds"}},
		{agent, `{"id":"a","backend":{"kind":"awaken","config":{"max_rounds":"x"}}}`, []string{"backend.config.max_rounds", "want a whole number"}},
		{agent, `{"id":"a","context_policy":{"compaction_mode":"squeeze"}}`, []string{"context_policy.compaction_mode", `"squeeze"`, "keep_recent_raw_suffix"}},
		{agent, `{"id":"a","context_policy":{"min_recent_messages":-1}}`, []string{"context_policy.min_recent_messages", "-1", "0 or more"}},
		{agent, `{"id":"a","context_policy":{"autocompact_threshold":0}}`, []string{"context_policy.autocompact_threshold", "more than 0"}},
		{agent, `{"id":"a","context_policy":{"compaction_raw_suffix_messages":-2}}`, []string{"context_policy.compaction_raw_suffix_messages", "-2"}},
		{agent, `{"id":"a","context_policy":{"max_tokens":1}}`, []string{"context_policy", `"max_tokens"`}},
		{agent, `{"id":"a","reasoning_effort":"huge"}`, []string{"reasoning effort", `"huge"`, "medium"}},
		{agent, `{"id":"a","stop_conditions":[{"type":"max_rounds","seconds":3}]}`, []string{`stop condition "max_rounds"`, `unknown field "seconds"`, "want rounds"}},
		{agent, `{"id":"a","stop_conditions":[{"type":"never"}]}`, []string{`type is "never"`, "loop_detection"}},
		{cond, `{"rounds":3}`, []string{`field "type" is missing`}},
		{cond, `{"type":"timeout"}`, []string{`stop condition "timeout"`, `field "seconds" is missing`}},
		{cond, `{"type":"timeout","seconds":"long"}`, []string{`stop condition "timeout"`, "JSON string", "want a whole number"}},
		{cond, `{"type":"content_match","pattern":7}`, []string{`stop condition "content_match"`, "want a string"}},
		{cond, `null`, []string{"stop condition"}},
		{model, `{"id":"m","context_windows":1}`, []string{"model", `unknown field "context_windows"`}},
		{model, `{"id":"m","context_window":"big"}`, []string{`field "context_window" is a JSON string, want a whole number`}},
		{pool, `{"id":"p","member":[]}`, []string{"model pool", `unknown field "member"`}},
		{pool, `{"id":"p","members":[{"model_id":"m","wait":1}]}`, []string{`unknown field "wait"`}},
		{provider, `{"id":"p","apikey":"secret"}`, []string{"provider", `unknown field "apikey"`}},
		{override, `{"model":"x"}`, []string{"inference override", `unknown field "model"`}},
		{override, `{"max_tokens":1.5}`, []string{`field "max_tokens"`, "1.5", "want a whole number"}},
		{decision, `{"target":"c1","action":"resume","decision":"x"}`, []string{"decision", `unknown field "decision"`}},
		{decision, `{"target":1}`, []string{`field "target" is a JSON number, want a string`}},
		{request, `{"agent":"x"}`, []string{"run request", `unknown field "agent"`}},
		{request, `{"messages":[{"role":"robot","content":"hi"}]}`, []string{`role is "robot"`, "want system, user, assistant or tool"}},
		{request, `{"messages":"hi"}`, []string{`field "messages" is a JSON string, want an array`}},
		{term, `{"type":"exploded"}`, []string{`termination "exploded"`, "unknown type"}},
		{term, `{"type":"cancelled","value":"x"}`, []string{`termination "cancelled"`, `field "value" is set, but this type has none`}},
		{term, `{"type":"blocked"}`, []string{`termination "blocked"`, `field "value" is missing`}},
		{term, `{"type":"stopped"}`, []string{`termination "stopped"`, `field "value" is missing`}},
		{term, `{"type":"stopped","value":{"kode":"x"}}`, []string{`termination "stopped"`, `unknown field "kode"`}},
		{term, `{"type":"error","value":7}`, []string{`termination "error"`, "want a string"}},
	} {
		says(t, tt.into.UnmarshalJSON([]byte(tt.doc)), tt.want...)
		if t.Failed() {
			t.Fatalf("document %s", tt.doc)
		}
	}
}

func TestEvents_NameWhatIsWrong(t *testing.T) {
	t.Parallel()
	for doc, want := range map[string][]string{
		`{"type":"text_delta"}`:                        {`"event_type" is missing`},
		`{"event_type":7}`:                             {`"event_type" is missing or not a string`},
		`{"event_type":"text_delta","delta":[]}`:       {"text_delta event", `field "delta" is a JSON array, want a string`},
		`{"event_type":"run_finish","termination":{}}`: {"run_finish event", "termination"},
		`{"event_type":"run_finish","run_id":"r"}`:     {"run_finish event", `field "termination" is missing`},
		`null`: {"event", "want an object"},
		`[]`:   {"event", "want an object"},
		``:     {"event", "not JSON"},
		`{"event_type":"text_delta","delta":"x"}}`: {"event"},
	} {
		_, err := awaken.UnmarshalEvent([]byte(doc))
		says(t, err, want...)
	}
}

func TestValidate_ReportsEveryMistakeOfADocument(t *testing.T) {
	t.Parallel()
	minus, nan := -1, -0.5
	agent := awaken.AgentSpec{MaxRounds: new(-1), MaxContinuationRetries: &minus, ToolExecutionMode: "chaotic",
		StopConditions: []awaken.StopCondition{{Type: "timeout", Limit: 90_000}, {Type: "loop_detection", Limit: 1}, {Type: "stop_on_tool"},
			{Type: "content_match", Pattern: "("}, {Type: "token_budget", Limit: -5}, {Type: "magic"}, {Type: "content_match", Pattern: strings.Repeat("x", 1025)}, {Type: "cost_budget", MaxUSD: -1}},
		ContextPolicy:       &awaken.ContextPolicy{CompactionMode: "x", MaxOutputTokens: 5},
		AllowedToolPatterns: []string{"ok*", `bad\`}, ExcludedToolPatterns: []string{""},
		PluginIDs: []string{"p", "q", "p"}, Delegates: []string{"d", "d"}}
	says(t, agent.Validate(), "id is empty", "max_rounds is -1", "max_continuation_retries is -1", `tool_execution_mode is "chaotic"`,
		"stop_conditions[0]: seconds is 90000, want at most 86400", "stop_conditions[1]: window is 1", "stop_conditions[2]: tool_name is empty",
		`stop_conditions[3]: pattern "("`, "stop_conditions[4]: max_total is -5", `stop_conditions[5]: type is "magic"`, "stop_conditions[6]: pattern is 1025 characters long", "stop_conditions[7]: max_usd is -1",
		`context_policy.compaction_mode is "x"`, "context_policy.max_context_tokens is 0", "context_policy.max_output_tokens is 5",
		`allowed_tool_patterns[1]: pattern "bad\\": offset 3`, "excluded_tool_patterns[0]", `plugin_ids lists "p" twice`, `delegates lists "d" twice`)

	model := awaken.ModelSpec{ID: " ", ContextWindow: 10, MaxOutputTokens: 20, Prices: awaken.Prices{InputPrice: &nan}, KnowledgeCutoff: "2026-02-30",
		Modalities: &awaken.Modalities{Input: []string{"text", "smell", "text"}}}
	says(t, model.Validate(), "id is empty", "provider_id is empty", "upstream_model is empty", "max_output_tokens is 20, want at most context_window (10)",
		"input_token_price_per_million_usd is -0.5", `knowledge_cutoff is "2026-02-30"`, `modalities.input[1] is "smell"`, `modalities.input lists "text" twice`)

	zero := 0.0
	pool := awaken.ModelPoolSpec{Members: []awaken.PoolMember{{Weight: &zero, Role: "failover_only"}, {ModelID: "m", Role: "boss"}, {ModelID: "m", Role: "failover_only"}},
		Routing: awaken.PoolRouting{Home: "dice", StickyScope: "planet"}}
	says(t, pool.Validate(), "id is empty", "members[0].model_id is empty", "members[0].weight is 0", `members[1].role is "boss"`, `members lists "m" twice`,
		"members has none of role member", `routing.home is "dice"`, `routing.sticky_scope is "planet"`)

	provider := awaken.ProviderSpec{TimeoutSecs: -1}
	says(t, provider.Validate(), "id is empty", "adapter is empty", "timeout_secs is -1")

	for _, good := range []string{"2026-02", "2026-02-28"} {
		m := awaken.ModelSpec{ID: "m", ProviderID: "p", UpstreamModel: "u", KnowledgeCutoff: good}
		if err := m.Validate(); err != nil {
			t.Errorf("knowledge_cutoff %s: %v", good, err)
		}
	}
}

func TestRunRecord_MustAgreeWithItsStatus(t *testing.T) {
	t.Parallel()
	ended := awaken.Termination{Type: awaken.NaturalEnd}
	for _, tt := range []struct {
		run  awaken.Run
		want []string
	}{
		{awaken.Run{}, []string{"run_id or thread_id is empty", `status is "", want created, running, waiting or done`}},
		{awaken.Run{RunID: "r", ThreadID: "t", Status: awaken.RunRunning, Waiting: &awaken.Waiting{}, FinishedAt: 1, Termination: ended},
			[]string{`run "r"`, "status is running but waiting is set", "status is running but finished_at is set", "status is running but termination_reason is set"}},
		{awaken.Run{RunID: "r", ThreadID: "t", Status: awaken.RunWaiting}, []string{"status is waiting but waiting is not set"}},
		{awaken.Run{RunID: "r", ThreadID: "t", Status: awaken.RunDone}, []string{"status is done but finished_at or termination_reason is not set"}},
		{awaken.Run{RunID: "r", ThreadID: "t", Status: "sleeping"}, []string{`status is "sleeping"`}},
	} {
		says(t, tt.run.Validate(), tt.want...)
	}
}

// Configurations.

func TestNew_ReportsAllMistakesAtOnce(t *testing.T) {
	t.Parallel()
	noop := func(*awaken.Registrar) {}
	section := func() *awaken.Section[tone] { return awaken.NewSection("tone", tone{}) }
	act, eff := awaken.NewAction[int]("twice", awaken.PhaseStepEnd), awaken.NewEffect[int]("twice")
	doAct := func(context.Context, *awaken.HookCall, int) error { return nil }
	cfg := engine.Config{
		Models: []awaken.ModelSpec{
			{ID: "m", ProviderID: "p", UpstreamModel: "u"}, {ID: "m", ProviderID: "p", UpstreamModel: "u"},
			{ID: "lost", ProviderID: "nowhere", UpstreamModel: "u"}, {ID: "half"},
		},
		Providers: map[string]llm.Model{"p": llmtest.NewScript(), "empty": nil},
		Tools:     []awaken.Tool{echo("echo"), echo("echo"), nil, awaken.NewTool(awaken.ToolSpec{ID: "odd", Effect: "maybe"}, func(context.Context, *awaken.ToolCall, args) (int, error) { return 0, nil }), awaken.FrontendTool(awaken.ToolSpec{ID: "bad", Parameters: json.RawMessage(`{"type":"strng"}`)})},
		Plugins: []awaken.Plugin{
			plug{"one", func(r *awaken.Registrar) {
				r.Section(section())
				r.Handle(act.Handler(doAct))
				r.HandleEffect(eff.Handler(doAct))
				r.Key(state.NewValue[int]("twice", state.Options{}))
				r.Tool(echo("mine"))
			}},
			plug{"two", func(r *awaken.Registrar) {
				r.Section(section())
				r.Handle(act.Handler(doAct))
				r.HandleEffect(eff.Handler(doAct))
				r.Key(state.NewValue[string]("twice", state.Options{}))
				r.Tool(echo("mine"), echo("echo"))
				r.On(99, func(context.Context, *awaken.HookCall) error { return nil })
			}},
			plug{"boom", func(*awaken.Registrar) { panic("kaboom") }},
			plug{"one", noop}, plug{"", noop}, nil,
		},
		Agents: []*awaken.AgentSpec{
			{ID: "dup", ModelID: "m"}, {ID: "dup", ModelID: "m"}, nil,
			{ID: "a", ModelID: "gone", PluginIDs: []string{"one", "two", "boom", "ghost"}, ActiveHookFilter: []string{"one", "two", "boom", "unlisted"}, Delegates: []string{"absent"},
				Sections: map[string]json.RawMessage{"tone": json.RawMessage(`{"word":7,"volume":11}`)}},
			{ID: "b", ModelID: "lost"}, {ID: "c"}, {ID: "d", ModelID: "m", MaxRounds: new(-3)},
			{ID: "e", ModelID: "m", Backend: &awaken.Backend{Kind: "a2a"}, Endpoint: &awaken.RemoteEndpoint{}},
		},
	}
	_, err := engine.New(cfg)
	says(t, err,
		`model "m": is defined twice`, `model "half": provider_id is empty`, `model "half": upstream_model is empty`, `provider "empty": is nil`,
		`tool "echo": is given twice`, `tool "#2": is nil`, `tool "odd": effect is "maybe"`, `tool "bad": parameters`,
		`plugin "one": is given twice`, `plugin "": has no name`, `plugin "": is nil`,
		`agent "dup": is defined twice`, `agent "": is nil`, `agent "d": max_rounds is -3`,
		`agent "a": model_id is "gone", which is not defined; available: ["half" "lost" "m"]`,
		`agent "a": plugin_ids lists "ghost", which is not defined; available: ["boom" "one" "two"]`,
		`agent "a": delegates lists "absent"`, `agent "a": active_hook_filter lists "unlisted", which plugin_ids does not`,
		`section "tone" is declared by plugins "one" and "two"`, `plugin "two" handles action "twice", which already has a handler`,
		`plugin "two" handles effect "twice", which already has a handler`, `state key "twice" is declared twice`,
		`tool "mine" comes from plugin "one" and from plugin "two"`, `tool "echo" of plugin "two" is also a global tool`,
		`plugin "two" registers a hook`, "(99)", `plugin "boom": register panicked: kaboom`,
		`sections["tone"]`, `/word: got number, want string`, `unknown field "volume"`,
		`agent "b": model "lost" has provider_id "nowhere", which is not defined; available:`, `agent "c": model_id is empty`,
		`agent "e": backend "a2a" not found; available: ["awaken"]`)
	ce, ok := errors.AsType[*awaken.ConfigError](err)
	if !ok {
		t.Fatalf("error is a %T", err)
	}
	codes := map[string]string{}
	for _, p := range ce.Problems {
		if p.Severity != awaken.SeverityError {
			t.Errorf("%s is a %s", p, p.Severity)
		}
		codes[p.Code] = p.DependsOn
	}
	for code, dependsOn := range map[string]string{"agent_missing_model": "", "model_missing_provider": "providers/nowhere", "agent_missing_plugin": "plugins/ghost",
		"agent_missing_delegate": "agents/absent", "agent_hook_filter_plugin_not_loaded": ""} {
		if got, ok := codes[code]; !ok || dependsOn != "" && got != dependsOn {
			t.Errorf("diagnostic %s depends on %q (there: %v), want %q", code, got, ok, dependsOn)
		}
	}
}

func TestNew_Lazy_FindsTheMistakesOfAnAgentWhenItRuns(t *testing.T) {
	t.Parallel()
	g := newRig(t, []llmtest.Turn{llmtest.Say("ok")}, func(c *engine.Config) {
		c.Lazy = true
		c.Agents = append(c.Agents, &awaken.AgentSpec{ID: "broken", ModelID: "gone"})
	})
	g.run(say("hi"))
	req := say("hi")
	req.ThreadID, req.AgentID = "t2", "broken"
	p := &tape{}
	_, err := g.rt.Run(t.Context(), req, p)
	says(t, err, `agent "broken": model_id is "gone"`)
	if len(p.entries) != 1 || p.entries[0].Event.(*awaken.Error).Code != "config" {
		t.Errorf("events are %q", p.types())
	}
}

func TestBackend_WithoutAKindIsThisRuntime(t *testing.T) {
	t.Parallel()
	var spec awaken.AgentSpec
	if err := json.Unmarshal([]byte(`{"id":"default","backend":{"config":{"model_id":"m","system_prompt":"Hello.","max_rounds":3}}}`), &spec); err != nil {
		t.Fatal(err)
	}
	if spec.ModelID != "m" || spec.SystemPrompt != "Hello." || spec.Rounds() != 3 {
		t.Errorf("the settings of the backend are lost: %s", toJSON(t, spec))
	}
	g := newRig(t, []llmtest.Turn{llmtest.Say("ok")}, func(c *engine.Config) { c.Agents[0] = &spec })
	g.run(say("hi"))
}

// Tool catalogues: the five conditions of the specification's table "Validation".

func TestCatalogue_Diagnostics(t *testing.T) {
	t.Parallel()
	var logged bytes.Buffer
	spec := &awaken.AgentSpec{ID: "default", ModelID: "m",
		AllowedTools: []string{"Read", "mcp:*", "Bash(npm *)"}, ExcludedTools: []string{"Edit", "Web*"},
		AllowedToolPatterns: []string{"Bash*", "mcp:github*", "Write(src/*)"}, ExcludedToolPatterns: []string{"Nothing*"},
		Sections: map[string]json.RawMessage{"permission": json.RawMessage(`{"rules":[{"tool":"Edit"},{"tool":"Bash(rm *)"},{"tool":"Unknown"}]}`), "typo": json.RawMessage(`{}`)}}
	g := newRig(t, nil, withTools(echo("Read"), echo("Bash"), echo("Edit"), echo("Web")), func(c *engine.Config) {
		c.Agents[0] = spec
		c.Logger = slog.New(slog.NewTextHandler(&logged, nil))
	})
	var got []string
	for _, d := range g.rt.Registry().Diagnostics() {
		if d.Severity != awaken.Warning || d.Namespace != "agents" || d.ID != "default" {
			t.Errorf("diagnostic %+v", d)
		}
		got = append(got, d.Code+": "+d.Message)
		if !strings.Contains(logged.String(), d.Code) {
			t.Errorf("%s was not logged", d.Code)
		}
	}
	slices.Sort(got)
	want := []string{
		`catalog_entry_has_arguments: allowed_tool_patterns has "Write(src/*)", which looks like a permission rule; put rules in sections["permission"]`,
		`catalog_entry_has_arguments: allowed_tools has "Bash(npm *)", which looks like a permission rule; put rules in sections["permission"]`,
		`catalog_literal_has_star: allowed_tools has "mcp:*", but its entries are literal; move patterns to allowed_tool_patterns`,
		`catalog_literal_has_star: excluded_tools has "Web*", but its entries are literal; move patterns to excluded_tool_patterns`,
		`catalog_pattern_matches_nothing: allowed_tool_patterns has "mcp:github*", which matches no registered tool; ids of MCP tools look like mcp__server__tool, did you mean "mcp__github*"?`,
		`catalog_pattern_matches_nothing: excluded_tool_patterns has "Nothing*", which matches no registered tool`,
		`permission_rule_for_removed_tool: sections["permission"].rules[0] names tool "Edit", which the tool catalogue removes`,
		`unclaimed_section: sections has "permission", which no loaded plugin reads; check its spelling`,
		`unclaimed_section: sections has "typo", which no loaded plugin reads; check its spelling`,
	}
	if diff := cmp.Diff(want, got); diff != "" {
		t.Errorf("diagnostics (-want +got):\n%s", diff)
	}
	if diff := cmp.Diff([]string{"Bash", "Read"}, g.rt.Registry().ToolIDs("default")); diff != "" {
		t.Errorf("tools (-want +got):\n%s", diff)
	}

	bad := g.cfg
	bad.Agents = []*awaken.AgentSpec{{ID: "default", ModelID: "m", AllowedToolPatterns: []string{`Read\`}}}
	_, err := engine.New(bad)
	says(t, err, `agent "default": allowed_tool_patterns[0]: pattern "Read\\": offset 4`)
}

// The conformance table of the original, applied to what an agent is offered.
func TestCatalogue_Globs(t *testing.T) {
	t.Parallel()
	for _, tt := range []struct {
		pattern string
		yes, no []string
	}{
		{"Bash", []string{"Bash"}, []string{"Read", "BashExtra"}},
		{"*", []string{"anything", "mcp:weather/forecast"}, nil},
		{"mcp:*", []string{"mcp:weather/forecast"}, []string{"plugin:reminder/add"}},
		{"mcp:weather/*", []string{"mcp:weather/foo/bar"}, nil},
		{"mcp__github__*", []string{"mcp__github__read_issue"}, []string{"mcp__gitlab__issue"}},
		{"*issue", []string{"read_issue"}, []string{"issues"}},
		{"*weather*", []string{"my_weather_tool"}, nil},
		{"a*b", []string{"a/b"}, nil},
		{"a*/b", []string{"a/x/b"}, nil},
		{`\*literal`, []string{"*literal"}, []string{"Xliteral"}},
		{`foo\\bar`, []string{`foo\bar`}, nil},
		{"!Bash", []string{"!Bash"}, []string{"Bash"}},
		{`\!Bash`, []string{"!Bash"}, []string{"Bash"}},
		{"{Bash}", []string{"{Bash}"}, []string{"Bash"}},
		{"[abc]", []string{"[abc]"}, []string{"a"}},
		{"tool?id", []string{"tool?id"}, []string{"toolXid"}},
		{"Bash(npm *)", nil, []string{"Bash"}},
		{"/B.*/", nil, []string{"Bash"}},
	} {
		var tools []awaken.Tool
		for _, id := range slices.Concat(tt.yes, tt.no) {
			tools = append(tools, echo(id))
		}
		allow := newRig(t, nil, withTools(tools...), withAgent(func(s *awaken.AgentSpec) { s.AllowedToolPatterns = []string{tt.pattern} }))
		deny := newRig(t, nil, withTools(tools...), withAgent(func(s *awaken.AgentSpec) { s.ExcludedToolPatterns = []string{tt.pattern} }))
		check := func(what string, want, got []string) {
			want = slices.Clone(want)
			slices.Sort(want)
			if !slices.Equal(want, got) {
				t.Errorf("%s by %q: got %q, want %q", what, tt.pattern, got, want)
			}
		}
		check("allowed", tt.yes, allow.rt.Registry().ToolIDs("default"))
		check("left", tt.no, deny.rt.Registry().ToolIDs("default"))
	}
}

func TestCatalogue_AbsentAllowsAllAndEmptyAllowsNone(t *testing.T) {
	t.Parallel()
	for doc, want := range map[string][]string{
		`{}`:                     {"a", "b"},
		`{"excluded_tools":[]}`:  {"a", "b"},
		`{"allowed_tools":[]}`:   nil,
		`{"allowed_tools":null}`: nil,
		`{"allowed_tools":null,"allowed_tool_patterns":null}`:     nil,
		`{"allowed_tool_patterns":[]}`:                            nil,
		`{"allowed_tools":["a"]}`:                                 {"a"},
		`{"allowed_tools":["a"],"allowed_tool_patterns":["b*"]}`:  {"a", "b"},
		`{"allowed_tool_patterns":["*"],"excluded_tools":["a"]}`:  {"b"},
		`{"allowed_tools":["a"],"excluded_tool_patterns":["a*"]}`: nil,
		`{"allowed_tools":["*"]}`:                                 nil,
	} {
		spec := awaken.AgentSpec{}
		if err := json.Unmarshal([]byte(doc), &spec); err != nil {
			t.Fatal(err)
		}
		spec.ID, spec.ModelID = "default", "m"
		g := newRig(t, nil, withTools(echo("a"), echo("b")), func(c *engine.Config) { c.Agents[0] = &spec })
		if got := g.rt.Registry().ToolIDs("default"); !slices.Equal(got, want) {
			t.Errorf("%s offers %q, want %q", doc, got, want)
		}
	}
}

// Requests.

func TestRequest_NamesWhatIsWrong(t *testing.T) {
	t.Parallel()
	g := newRig(t, nil)
	_, err := g.rt.Run(t.Context(), awaken.RunRequest{AgentID: " ", ThreadID: "\t", RunID: "r", Continue: "r2", Rewind: " ", ParentRunID: " ", ParentThreadID: "\t",
		ParentToolCallID: " ", DispatchID: " ", SessionID: " ", TransportRequestID: " ", Origin: "mars", Mode: "turbo",
		Messages:      []*llm.Message{nil, {Role: "robot"}},
		Decisions:     []awaken.Decision{{Action: "resume"}, {Target: "c", Action: "maybe"}, {Target: "c", Action: "resume", Result: json.RawMessage("{")}, {Target: "c", Action: "resume", Arguments: json.RawMessage("{")}},
		FrontendTools: []awaken.ToolSpec{{}, {ID: "f"}, {ID: "f"}},
	}, nil)
	if !errors.Is(err, awaken.ErrInvalid) {
		t.Errorf("error is %v, want ErrInvalid", err)
	}
	says(t, err, "agent_id is blank", "thread_id is blank", "rewind is blank", "parent_run_id is blank", "parent_thread_id is blank",
		"parent_tool_call_id is blank", "dispatch_id is blank", "session_id is blank", "transport_request_id is blank",
		`run_id "r" and continue "r2" are both set`, "cannot be its own parent", `origin is "mars", want user, mcp, subagent or internal`,
		`run_mode is "turbo", want foreground, scheduled, resume or internal_wake`, "messages[0] is null", `messages[1].role is "robot"`,
		"decisions[0]", "no target", `decisions[1]`, `decision on "c": action is "maybe", want resume or cancel`, "decisions[2]", "result is not JSON", "decisions[3]", "arguments are not JSON",
		"frontend_tools[0].id is empty", `frontend_tools[2].id "f" is listed twice`)
	if _, err := g.store.Thread(t.Context(), "\t"); !errors.Is(err, awaken.ErrNotFound) {
		t.Errorf("a request that is wrong left something in the store: %v", err)
	}
}

func TestRequest_ThatCannotStartSaysWhy(t *testing.T) {
	t.Parallel()
	g := newRig(t, []llmtest.Turn{uses("pay"), llmtest.Say("ok")}, withTools(echo("pay")), withPlugins(askAbout("pay", awaken.Ticket{})), func(c *engine.Config) {
		c.Agents = append(c.Agents, &awaken.AgentSpec{ID: "other", ModelID: "m"})
	})
	waiting := say("hi")
	waiting.RunID = "waits"
	g.run(waiting)
	done := awaken.RunRequest{ThreadID: "t2", RunID: "done", Messages: []*llm.Message{llm.UserText("hi")}}
	g.run(done)
	message := g.log("t2")[0].ID

	for _, tt := range []struct {
		name string
		req  awaken.RunRequest
		is   error
		code string
		want []string
	}{
		{"unknown agent", awaken.RunRequest{AgentID: "ghost"}, awaken.ErrNotFound, "not_found", []string{`agent "ghost"`, `available: ["default" "other"]`}},
		{"unknown run", awaken.RunRequest{Continue: "nope"}, awaken.ErrNotFound, "not_found", []string{"continue run nope"}},
		{"finished run", awaken.RunRequest{Continue: "done"}, awaken.ErrConflict, "conflict", []string{"continue run done", "it is done"}},
		{"decisions for a finished run", awaken.RunRequest{Continue: "done", Decisions: []awaken.Decision{approve("c1")}}, awaken.ErrNotFound, "not_found", []string{`decision on "c1"`}},
		{"run of another thread", awaken.RunRequest{Continue: "waits", ThreadID: "t2"}, awaken.ErrInvalid, "invalid_request", []string{"run waits is on thread t, not t2"}},
		{"run of another agent", awaken.RunRequest{Continue: "waits", AgentID: "other"}, awaken.ErrInvalid, "invalid_request", []string{`run waits belongs to agent "default", not "other"`}},
		{"run id that exists", awaken.RunRequest{ThreadID: "t3", RunID: "done"}, awaken.ErrConflict, "conflict", []string{"run done already exists"}},
		{"another run while one waits", awaken.RunRequest{ThreadID: "t", RunID: "new"}, awaken.ErrConflict, "conflict", []string{"thread t has an open run waits"}},
		{"decisions without a thread", awaken.RunRequest{Decisions: []awaken.Decision{approve("c1")}}, awaken.ErrInvalid, "invalid_request", []string{"need a thread_id"}},
		{"decisions on a thread where nothing waits", awaken.RunRequest{ThreadID: "t2", Decisions: []awaken.Decision{approve("c1")}}, awaken.ErrNotFound, "not_found", []string{"thread t2 has no waiting run"}},
		{"rewind without a thread", awaken.RunRequest{Rewind: message}, awaken.ErrInvalid, "invalid_request", []string{"need a thread_id"}},
		{"rewind to an unknown message", awaken.RunRequest{ThreadID: "t2", Rewind: "m99"}, awaken.ErrNotFound, "not_found", []string{`message "m99"`, "thread t2"}},
		{"unknown state", awaken.RunRequest{ThreadID: "t4", Seed: map[string]json.RawMessage{"no.such": json.RawMessage("1")}}, awaken.ErrInvalid, "invalid_request", []string{"seed", `state key "no.such"`}},
		{"frontend tool without a schema", awaken.RunRequest{ThreadID: "t5", FrontendTools: []awaken.ToolSpec{{ID: "f", Parameters: json.RawMessage(`{"type":"x"}`)}}}, awaken.ErrInvalid, "invalid_request", []string{`frontend tool "f"`, "parameters"}},
	} {
		t.Run(tt.name, func(t *testing.T) {
			p := &tape{}
			res, err := g.rt.Run(t.Context(), tt.req, p)
			if res != nil || !errors.Is(err, tt.is) {
				t.Errorf("result is %v, error is %v, want %v", res, err, tt.is)
			}
			says(t, err, tt.want...)
			if len(p.entries) != 1 {
				t.Fatalf("events are %q, want one error", p.types())
			}
			if e, ok := p.entries[0].Event.(*awaken.Error); !ok || e.Code != tt.code || e.Message != err.Error() {
				t.Errorf("event is %s, want code %s", toJSON(t, p.entries[0].Event), tt.code)
			}
		})
	}
	if rec := g.record("waits"); rec.Status != awaken.RunWaiting {
		t.Errorf("the run that waits was disturbed: it is %s", rec.Status)
	}
}

func TestRequest_WithNothingToAnswerIsRefused(t *testing.T) {
	t.Parallel()
	g := newRig(t, []llmtest.Turn{llmtest.Say("one"), llmtest.Say("two")}, withTools(echo("pay")))
	g.run(say("hi"))
	log := g.log("t")
	for name, req := range map[string]awaken.RunRequest{
		"new thread":               {},
		"answered thread":          {ThreadID: "t"},
		"rewound to its beginning": {ThreadID: "t", Rewind: log[0].ID},
	} {
		res, err := g.rt.Run(t.Context(), req, nil)
		if res != nil || !errors.Is(err, awaken.ErrInvalid) {
			t.Errorf("%s: result is %v, error is %v, want ErrInvalid", name, res, err)
		}
		says(t, err, "messages is empty", "nothing to answer")
	}
	if n := len(g.log("t")); n != len(log) {
		t.Errorf("refused requests left messages: the log has %d, want %d", n, len(log))
	}
	if res, _ := g.run(awaken.RunRequest{ThreadID: "t", Rewind: log[1].ID}); res.Response != "two" {
		t.Errorf("answering the user's message again says %q", res.Response)
	}
	if res, _ := g.run(awaken.RunRequest{ThreadID: "calls", Call: &awaken.PlannedCall{Tool: "pay"}}); res.Termination.Type != awaken.NaturalEnd {
		t.Errorf("a request with only a call ended as %v", res.Termination)
	}
}

func TestRequest_WhoseCallsAndResultsDoNotMatchIsRefused(t *testing.T) {
	t.Parallel()
	asks := func(ids ...string) *llm.Message {
		m := &llm.Message{Role: llm.Assistant}
		for _, id := range ids {
			m.ToolCalls = append(m.ToolCalls, llm.ToolCall{ID: id, Name: "pay", Arguments: json.RawMessage(`{}`)})
		}
		return m
	}
	answers := func(id string) *llm.Message {
		return &llm.Message{Role: llm.ToolRole, ToolCallID: id, Content: []llm.Block{llm.Text("done")}}
	}
	hi := llm.UserText("hi")
	wrong := asks("a")
	wrong.Role = llm.User
	for _, tt := range []struct {
		name string
		msgs []*llm.Message
		want string // in the error; "" for none
	}{
		{"matching", []*llm.Message{hi, asks("a", "b"), answers("b"), answers("a"), hi}, ""},
		{"the same id in two messages", []*llm.Message{hi, asks("a"), answers("a"), asks("a"), answers("a"), hi}, ""},
		{"orphan result", []*llm.Message{hi, answers("a")}, `messages[1] answers call "a"`},
		{"second result", []*llm.Message{hi, asks("a"), answers("a"), answers("a"), hi}, `messages[3] answers call "a"`},
		{"late result", []*llm.Message{hi, asks("a"), hi, answers("a")}, `messages[3] answers call "a"`},
		{"unanswered call", []*llm.Message{hi, asks("a", "b"), answers("a"), hi}, `messages[1] makes calls that the next messages do not answer: ["b"]`},
		{"unanswered at the end", []*llm.Message{hi, asks("a")}, `messages[1] makes calls that the next messages do not answer: ["a"]`},
		{"calls of a user", []*llm.Message{wrong}, "messages[0] makes calls and has role user, want assistant"},
	} {
		g := newRig(t, []llmtest.Turn{llmtest.Say("ok")})
		_, err := g.rt.Run(t.Context(), awaken.RunRequest{Messages: tt.msgs}, nil)
		if tt.want == "" {
			if err != nil {
				t.Errorf("%s: %v", tt.name, err)
			}
			continue
		}
		if !errors.Is(err, awaken.ErrInvalid) {
			t.Errorf("%s: error is %v, want ErrInvalid", tt.name, err)
		}
		says(t, err, tt.want)
	}
}

func TestRequest_OnABusyThreadIsRefused(t *testing.T) {
	t.Parallel()
	g := newRig(t, []llmtest.Turn{llmtest.Say("hello")})
	first := say("hi")
	first.RunID = "first"
	p := &tape{}
	p.on = func(ev awaken.Event) {
		if ev.Type() != "text_delta" {
			return
		}
		_, err := g.rt.Run(context.Background(), say("me too"), nil)
		if !errors.Is(err, awaken.ErrBusy) {
			t.Errorf("error is %v, want ErrBusy", err)
		}
		says(t, err, "thread t", "first")
	}
	if _, err := g.rt.Run(t.Context(), first, p); err != nil {
		t.Fatal(err)
	}
	if !slices.Contains(p.types(), "text_delta") {
		t.Error("the second request was never made")
	}
}

// Decisions.

func TestDecision_IsRefusedWithAReason(t *testing.T) {
	t.Parallel()
	bubbletest.Test(t, func(t *testing.T) {
		type in struct {
			Sum int `json:"sum"`
		}
		var paid []int
		pay := awaken.NewTool(awaken.ToolSpec{ID: "pay"}, func(_ context.Context, _ *awaken.ToolCall, in in) (string, error) {
			paid = append(paid, in.Sum)
			return "ok", nil
		})
		ticket := awaken.Ticket{Suspension: awaken.Suspension{ID: "s", ResponseSchema: json.RawMessage(`{"type":"object","required":["pin"],"properties":{"pin":{"type":"integer"}}}`)}, ExpiresIn: time.Hour}
		g := newRig(t, []llmtest.Turn{{ToolCalls: []llmtest.Call{{ID: "c1", Name: "pay", Arguments: json.RawMessage(`{"sum":1}`)}}}, llmtest.Say("ok")}, withTools(pay), withPlugins(askAbout("pay", ticket)))
		req := say("hi")
		req.RunID = "r"
		g.run(req)

		good := awaken.Decision{Target: "s", ID: "d1", Action: awaken.ActionResume, Result: json.RawMessage(`{"pin":7}`)}
		change := func(f func(d *awaken.Decision)) awaken.Decision {
			d := good
			f(&d)
			return d
		}
		for _, tt := range []struct {
			name string
			d    awaken.Decision
			is   error
			want []string
		}{
			{"unknown call", change(func(d *awaken.Decision) { d.Target = "c7" }), awaken.ErrNotFound, []string{`decision on "c7"`, "tool call or suspension not found"}},
			{"wrong action", change(func(d *awaken.Decision) { d.Action = "approve" }), awaken.ErrInvalid, []string{`decision on "s"`, `action is "approve", want resume or cancel`}},
			{"no action", change(func(d *awaken.Decision) { d.Action = "" }), awaken.ErrInvalid, []string{`action is ""`}},
			{"no target", change(func(d *awaken.Decision) { d.Target = " " }), awaken.ErrInvalid, []string{"no target"}},
			{"result that does not fit", change(func(d *awaken.Decision) { d.Result = json.RawMessage(`{"pin":"x"}`) }), awaken.ErrInvalid, []string{`decision on "s"`, "result does not fit", "/pin: got string, want integer"}},
			{"no result", change(func(d *awaken.Decision) { d.Result = nil }), awaken.ErrInvalid, []string{"result does not fit", "got null, want object"}},
			{"arguments that do not fit", change(func(d *awaken.Decision) { d.Arguments = json.RawMessage(`{"sum":"all"}`) }), awaken.ErrInvalid, []string{`decision on "s"`, "arguments do not fit", "/sum: got string, want integer"}},
		} {
			_, err := g.rt.Resume(t.Context(), "r", nil, tt.d)
			if !errors.Is(err, tt.is) {
				t.Errorf("%s: error is %v, want %v", tt.name, err, tt.is)
			}
			says(t, err, tt.want...)
			if tt.name != "arguments that do not fit" { // only the run knows the tool
				err = g.rt.Decide(t.Context(), "r", tt.d)
				if !errors.Is(err, tt.is) {
					t.Errorf("%s: Decide: error is %v, want %v", tt.name, err, tt.is)
				}
				says(t, err, tt.want...)
			}
			if rec := g.record("r"); rec.Status != awaken.RunWaiting {
				t.Fatalf("%s: the run is %s", tt.name, rec.Status)
			}
		}

		res, p := g.resume("r", good)
		checkTermination(t, res, p, awaken.NaturalEnd)
		again, err := g.rt.Resume(t.Context(), "r", nil, good)
		if err != nil || again.Response != "ok" || len(paid) != 1 {
			t.Errorf("the same decision again gives %+v, %v; the tool ran %d times", again, err, len(paid))
		}
		_, err = g.rt.Resume(t.Context(), "r", nil, change(func(d *awaken.Decision) { d.ID, d.Action = "d2", awaken.ActionCancel }))
		if !errors.Is(err, awaken.ErrDecided) {
			t.Errorf("another decision: error is %v, want ErrDecided", err)
		}
		says(t, err, `decision on "s"`, "already decided", `"s" was approved at `)
		if again, err := g.rt.Resume(t.Context(), "r", nil, change(func(d *awaken.Decision) { d.ID, d.Reason = "d2", "fine" })); err != nil || len(paid) != 1 {
			t.Errorf("an equal decision gives %+v, %v; the tool ran %d times", again, err, len(paid))
		}
		if err := g.rt.Decide(t.Context(), "no-run", good); !errors.Is(err, awaken.ErrNotFound) {
			t.Errorf("decision for an unknown run: error is %v", err)
		}
	})
}

func TestDecision_AfterTheExpiryIsRejected(t *testing.T) {
	t.Parallel()
	for _, tt := range []struct {
		policy awaken.ExpiryPolicy
		sees   string
	}{
		{awaken.ExpireReject, `The call of tool "pay" was refused: no decision in time. It was not made.`},
		{awaken.ExpireApprove, "pay {}"},
	} {
		t.Run(string(tt.policy), func(t *testing.T) {
			t.Parallel()
			bubbletest.Test(t, func(t *testing.T) {
				g := newRig(t, []llmtest.Turn{uses("pay"), llmtest.Say("ok")}, withTools(echo("pay")), withPlugins(askAbout("pay", awaken.Ticket{ExpiresIn: time.Minute, OnExpiry: tt.policy})))
				res, _ := g.run(say("hi"))
				time.Sleep(time.Minute)
				err := g.rt.Decide(t.Context(), res.RunID, approve("c1"))
				if !errors.Is(err, awaken.ErrExpired) {
					t.Errorf("Decide: error is %v, want ErrExpired", err)
				}
				says(t, err, `decision on "c1"`, "expired")
				// A resume carries out what the policy says, and tells that the decision was too late.
				res, p := g.resume(res.RunID, approve("c1"))
				checkTermination(t, res, p, awaken.NaturalEnd)
				if len(res.Rejected) != 1 || !strings.Contains(res.Rejected[0], `decision on "c1": suspension has expired`) {
					t.Errorf("rejected are %q", res.Rejected)
				}
				if got := g.request(2).Messages[2].Text(); got != tt.sees {
					t.Errorf("the model sees %q, want %q", got, tt.sees)
				}
			})
		})
	}
}

// Plugins.

type activates struct {
	plug
	fn awaken.Hook
}

func (a activates) Activate(ctx context.Context, h *awaken.HookCall) error { return a.fn(ctx, h) }

type panicsWhenAsked struct{}

func (panicsWhenAsked) ID() string                                      { return "p" }
func (panicsWhenAsked) Evaluate(*awaken.StopStats) *awaken.StopDecision { panic("kaboom") }

// pluginsThat returns a plugin for each kind of code that a run calls, which does what do does.
func pluginsThat(do func()) map[string]awaken.Plugin {
	hook := func(context.Context, *awaken.HookCall) error { do(); return nil }
	return map[string]awaken.Plugin{
		`hook of plugin "bad" in step_start`: plug{"bad", func(r *awaken.Registrar) { r.On(awaken.PhaseStepStart, hook) }},
		`hook of plugin "bad" in step_end`: plug{"bad", func(r *awaken.Registrar) {
			r.On(awaken.PhaseStepEnd, func(context.Context, *awaken.HookCall) error { return nil })
			r.On(awaken.PhaseStepEnd, hook)
		}},
		`gate of plugin "bad"`: plug{"bad", func(r *awaken.Registrar) {
			r.Gate(func(context.Context, *awaken.HookCall) (awaken.Verdict, error) { do(); return awaken.Allow(), nil })
		}},
		`guard of plugin "bad"`: plug{"bad", func(r *awaken.Registrar) {
			r.Guard(awaken.InputPoint, func(context.Context, *awaken.HookCall, *awaken.Passage) (awaken.Verdict, error) {
				do()
				return awaken.Allow(), nil
			})
		}},
		`transform of plugin "bad"`: plug{"bad", func(r *awaken.Registrar) {
			r.Transform(func(context.Context, *awaken.HookCall, *llm.Request) error { do(); return nil })
		}},
		`activate of plugin "bad"`: activates{plug{"bad", func(*awaken.Registrar) {}}, hook},
	}
}

func TestPlugin_ThatEndsItsGoroutineFailsTheRun(t *testing.T) {
	t.Parallel()
	for what, p := range pluginsThat(runtime.Goexit) {
		t.Run(what, func(t *testing.T) {
			t.Parallel()
			g := newRig(t, []llmtest.Turn{uses("echo"), llmtest.Say("ok")}, withTools(echo("echo")), withPlugins(p))
			tp := &tape{}
			res, err := g.rt.Run(t.Context(), say("hi"), tp)
			says(t, err, what+" ended its goroutine instead of returning")
			checkTermination(t, res, tp, awaken.Failed)
		})
	}
}

func TestPlugin_ThatTakesTooLongFailsTheRun(t *testing.T) {
	t.Parallel()
	kinds := pluginsThat(nil)
	for what := range kinds {
		t.Run(what, func(t *testing.T) {
			t.Parallel()
			bubbletest.Test(t, func(t *testing.T) {
				forever := make(chan struct{})
				defer close(forever)
				p := pluginsThat(func() { <-forever })[what]
				g := newRig(t, []llmtest.Turn{uses("echo"), llmtest.Say("ok")}, withTools(echo("echo")), withPlugins(p),
					func(c *engine.Config) { c.Limits.HookTimeout = time.Minute })
				tp := &tape{}
				began := time.Now()
				res, err := g.rt.Run(t.Context(), say("hi"), tp)
				says(t, err, what+" did not return within 1m0s")
				checkTermination(t, res, tp, awaken.Failed)
				if d := time.Since(began); d != time.Minute {
					t.Errorf("the run took %s, want 1m", d)
				}
				if rec := g.record(res.RunID); rec.Status != awaken.RunDone {
					t.Errorf("the run is %s", rec.Status)
				}
			})
		})
	}
}

func TestNew_ReportsPanicsOfHideAndReview(t *testing.T) {
	t.Parallel()
	_, err := engine.New(engine.Config{
		Agents:    []*awaken.AgentSpec{{ID: "a", ModelID: "m", PluginIDs: []string{"p"}}},
		Models:    []awaken.ModelSpec{{ID: "m", ProviderID: "p", UpstreamModel: "u"}},
		Providers: map[string]llm.Model{"p": llmtest.NewScript()},
		Tools:     []awaken.Tool{echo("echo")},
		Plugins: []awaken.Plugin{plug{"p", func(r *awaken.Registrar) {
			r.Hide(func(string) bool { panic("no idea") })
			r.Review("strange", func(map[string]json.RawMessage) []string { panic("no view") })
		}}},
	})
	says(t, err, `agent "a"`, `hide of plugin "p" panicked: no idea`, `review "strange" of plugin "p" panicked: no view`)
}

func TestRequest_WhoseToolsPanicAPluginIsRefused(t *testing.T) {
	t.Parallel()
	g := newRig(t, nil, withPlugins(plug{"p", func(r *awaken.Registrar) { r.Hide(func(tool string) bool { return tool == "f" && []bool{}[0] }) }}))
	req := say("hi")
	req.FrontendTools = []awaken.ToolSpec{{ID: "f"}}
	_, err := g.rt.Run(t.Context(), req, nil)
	says(t, err, `hide of plugin "p" panicked`)
}

func TestPlugin_ThatPanicsEndsItsRunAndNothingElse(t *testing.T) {
	t.Parallel()
	quiet := func(*awaken.Registrar) {}
	hook := func(p awaken.Phase) awaken.Plugin {
		return plug{"bad", func(r *awaken.Registrar) {
			r.On(p, func(context.Context, *awaken.HookCall) error { panic("kaboom") })
		}}
	}
	tests := map[string]struct {
		plugin awaken.Plugin
		want   string
	}{
		"activate": {activates{plug{"bad", quiet}, func(context.Context, *awaken.HookCall) error { panic("kaboom") }}, `activate of plugin "bad" panicked: kaboom`},
		"gate": {plug{"bad", func(r *awaken.Registrar) {
			r.Gate(func(context.Context, *awaken.HookCall) (awaken.Verdict, error) { panic("kaboom") })
		}}, `gate of plugin "bad" panicked: kaboom`},
		"transform": {plug{"bad", func(r *awaken.Registrar) {
			r.Transform(func(context.Context, *awaken.HookCall, *llm.Request) error { panic("kaboom") })
		}}, `transform of plugin "bad" panicked: kaboom`},
		"stop policy": {plug{"bad", func(r *awaken.Registrar) { r.Stop(panicsWhenAsked{}) }}, `stop policy "p" panicked: kaboom`},
		"reducer": {plug{"bad", func(r *awaken.Registrar) {
			k := state.NewKey("bad.key", func(int, int) int { panic("kaboom") }, state.Options{})
			r.Key(k)
			r.On(awaken.PhaseStepStart, func(_ context.Context, h *awaken.HookCall) error { k.Update(h, 1); return nil })
		}}, "state update panicked: kaboom"},
	}
	for _, p := range allPhases {
		tests["hook of "+p.String()] = struct {
			plugin awaken.Plugin
			want   string
		}{hook(p), `hook of plugin "bad" in ` + p.String() + " panicked: kaboom"}
	}
	for name, tt := range tests {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			g := newRig(t, []llmtest.Turn{uses("echo"), llmtest.Say("ok")}, withTools(echo("echo")), withPlugins(tt.plugin))
			p := &tape{}
			res, err := g.rt.Run(t.Context(), say("hi"), p)
			says(t, err, tt.want)
			if pe, ok := errors.AsType[*awaken.PanicError](err); !ok || len(pe.Stack) == 0 {
				t.Errorf("error is a %T without a stack", err)
			}
			checkBalanced(t, p)
			checkTermination(t, res, p, awaken.Failed)
			if rec := g.record(res.RunID); rec.Status != awaken.RunDone {
				t.Errorf("the record is %s", rec.Status)
			}
			checkValid(t, g.log("t"))
		})
	}
}

func TestPlugin_WhoseActionOrEffectFailsDoesNotEndTheRun(t *testing.T) {
	t.Parallel()
	act, eff := awaken.NewAction[string]("act", awaken.PhaseStepStart), awaken.NewEffect[string]("eff")
	var logged bytes.Buffer
	run := func(_ context.Context, _ *awaken.HookCall, how string) error {
		if how == "panic" {
			panic("kaboom")
		}
		return errors.New("no luck")
	}
	p := plug{"bad", func(r *awaken.Registrar) {
		r.Handle(act.Handler(run))
		r.HandleEffect(eff.Handler(run))
		r.On(awaken.PhaseRunStart, func(_ context.Context, h *awaken.HookCall) error {
			for _, how := range []string{"panic", "error"} {
				act.Schedule(h, how)
				eff.Emit(h, how)
			}
			return nil
		})
	}}
	g := newRig(t, []llmtest.Turn{llmtest.Say("ok")}, withPlugins(p), func(c *engine.Config) { c.Logger = slog.New(slog.NewTextHandler(&logged, nil)) })
	res, tp := g.run(say("hi"))
	checkTermination(t, res, tp, awaken.NaturalEnd)
	snaps := eventsOf[awaken.StateSnapshot](tp)
	ext, err := snaps[0].Snapshot.Export()
	if err != nil {
		t.Fatal(err)
	}
	for _, want := range []string{`action \"act\" of plugin \"bad\" panicked: kaboom`, "no luck"} {
		if failed := string(ext["__runtime.failed_scheduled_actions"]); !strings.Contains(failed, want) {
			t.Errorf("failed actions do not say %q: %s", want, failed)
		}
	}
	for _, want := range []string{`effect \"eff\" of plugin \"bad\" panicked: kaboom`, "effect=eff", "no luck"} {
		if !strings.Contains(logged.String(), want) {
			t.Errorf("the log does not say %s:\n%s", want, logged.String())
		}
	}
}

func TestPlugin_EndlessActionsEndTheRun(t *testing.T) {
	t.Parallel()
	for _, phase := range []awaken.Phase{awaken.PhaseStepStart, awaken.PhaseAfterToolExecute, awaken.PhaseStepEnd, awaken.PhaseRunEnd} {
		t.Run(phase.String(), func(t *testing.T) {
			t.Parallel()
			loop := awaken.NewAction[int]("again", phase)
			n := 0
			p := plug{"bad", func(r *awaken.Registrar) {
				r.On(phase, func(_ context.Context, h *awaken.HookCall) error { loop.Schedule(h, 0); return nil })
				r.Handle(loop.Handler(func(_ context.Context, h *awaken.HookCall, _ int) error { n++; loop.Schedule(h, 0); return nil }))
			}}
			g := newRig(t, []llmtest.Turn{uses("echo"), llmtest.Say("ok")}, withTools(echo("echo")), withPlugins(p))
			tp := &tape{}
			res, err := g.rt.Run(t.Context(), say("hi"), tp)
			pe, ok := errors.AsType[*engine.PhaseLoopError](err)
			if !ok || pe.Phase != phase || pe.Rounds != 16 || pe.Action != "again" {
				t.Errorf("error is %v", err)
			}
			says(t, err, "phase "+phase.String(), "16 rounds", `"again"`)
			checkBalanced(t, tp)
			checkTermination(t, res, tp, awaken.Failed)
			if n < 16 || n > 33 {
				t.Errorf("the action ran %d times", n)
			}
		})
	}
}

func TestPlugin_UnknownActionsAndEffectsEndTheRun(t *testing.T) {
	t.Parallel()
	early := awaken.NewAction[int]("early", awaken.PhaseStepStart)
	late := awaken.NewAction[int]("early", awaken.PhaseStepEnd)
	for want, fn := range map[string]func(h *awaken.HookCall){
		`action "ghost" has no handler`:                                      func(h *awaken.HookCall) { awaken.NewAction[int]("ghost", 0).Schedule(h, 1) },
		`effect "ghost" has no handler`:                                      func(h *awaken.HookCall) { awaken.NewEffect[int]("ghost").Emit(h, 1) },
		`action "early" is scheduled for step_end but handled in step_start`: func(h *awaken.HookCall) { late.Schedule(h, 1) },
		`state key "ghost" is not registered`:                                func(h *awaken.HookCall) { state.NewValue[int]("ghost", state.Options{}).Update(h, 1) },
		`payload of action "fn"`:                                             func(h *awaken.HookCall) { awaken.NewAction[func()]("fn", 0).Schedule(h, func() {}) },
	} {
		g := newRig(t, []llmtest.Turn{llmtest.Say("ok")}, withPlugins(plug{"bad", func(r *awaken.Registrar) {
			r.Handle(early.Handler(func(context.Context, *awaken.HookCall, int) error { return nil }))
			r.On(awaken.PhaseStepStart, func(_ context.Context, h *awaken.HookCall) error { fn(h); return nil })
		}}))
		p := &tape{}
		_, err := g.rt.Run(t.Context(), say("hi"), p)
		says(t, err, want)
		checkBalanced(t, p)
	}
}

// Tools.

type picky struct{ awaken.Tool }

func (picky) Validate(args json.RawMessage) error {
	if strings.Contains(string(args), "bomb") {
		panic("kaboom")
	}
	return errors.New("sum must be even")
}

func TestTool_MisuseIsReportedToTheModel(t *testing.T) {
	t.Parallel()
	weird := tool("weird", func(context.Context, *awaken.ToolCall, args) (*awaken.ToolResult, error) {
		return &awaken.ToolResult{Data: json.RawMessage("{oops")}, nil
	})
	nothing := tool("nothing", func(context.Context, *awaken.ToolCall, args) (*awaken.ToolResult, error) { return nil, nil })
	calls := []llmtest.Call{
		{ID: "c1", Name: "ghost"}, {ID: "c2", Name: "hidden"}, {ID: "c3", Name: "weird"}, {ID: "c4", Name: "picky"},
		{ID: "c5", Name: "picky", Arguments: json.RawMessage(`{"bomb":1}`)}, {ID: "c6", Name: "weird", Arguments: json.RawMessage(`[1]`)}, {ID: "c7", Name: "nothing"},
	}
	g := newRig(t, []llmtest.Turn{{ToolCalls: calls}, llmtest.Say("ok")}, withTools(weird, nothing, echo("hidden"), picky{echo("picky")}),
		withAgent(func(s *awaken.AgentSpec) { s.ExcludedTools = []string{"hidden"} }))
	res, p := g.run(say("hi"))
	checkTermination(t, res, p, awaken.NaturalEnd)
	msgs := g.request(2).Messages[2:]
	for i, want := range []string{`tool "ghost" not found`, `tool "hidden" not found`, `tool "weird" returned data that is not JSON`,
		"sum must be even", "kaboom", `arguments of tool "weird" do not fit`, ""} {
		if got := msgs[i].Text(); !strings.Contains(got, want) {
			t.Errorf("call %d: the model sees %q, want %q", i+1, got, want)
		}
	}
}

func TestNewTool_RefusesArgumentsThatAreNotObjects(t *testing.T) {
	t.Parallel()
	object := json.RawMessage(`{"type":"object"}`)
	for name, tt := range map[string]struct {
		make func()
		want string // in the panic; "" for none
	}{
		"string":                    {newToolOf[string](nil), `tool "x": no schema for string: the values of string are not JSON objects; want a struct or a map`},
		"slice":                     {newToolOf[[]int](nil), "are not JSON objects"},
		"time":                      {newToolOf[time.Time](nil), "are not JSON objects"},
		"any":                       {newToolOf[any](nil), "are not JSON objects"},
		"string with a schema":      {newToolOf[string](object), `tool "x": string cannot hold the arguments`},
		"struct":                    {newToolOf[struct{ A int }](nil), ""},
		"pointer":                   {newToolOf[*struct{ A int }](nil), ""},
		"map":                       {newToolOf[map[string]int](nil), ""},
		"any with a schema":         {newToolOf[any](object), ""},
		"raw message with a schema": {newToolOf[json.RawMessage](object), ""},
	} {
		t.Run(name, func(t *testing.T) {
			defer func() {
				text, _ := recover().(string)
				if (tt.want == "") != (text == "") || !strings.Contains(text, tt.want) {
					t.Errorf("panic is %q, want %q", text, tt.want)
				}
			}()
			tt.make()
		})
	}
}

func newToolOf[In any](parameters json.RawMessage) func() {
	return func() {
		awaken.NewTool(awaken.ToolSpec{ID: "x", Parameters: parameters}, func(context.Context, *awaken.ToolCall, In) (string, error) { return "", nil })
	}
}

func TestSection_TagsConstrainItsFields(t *testing.T) {
	t.Parallel()
	type settings struct {
		Mode  string `json:"mode" jsonschema:"enum=fast,enum=careful"`
		Tries int    `json:"tries" jsonschema:"minimum=1,maximum=5,description=attempts, including the first"`
	}
	section := awaken.NewSection("tuning", settings{Mode: "fast", Tries: 1})
	_, err := engine.New(engine.Config{
		Agents: []*awaken.AgentSpec{{ID: "a", ModelID: "m", PluginIDs: []string{"p"},
			Sections: map[string]json.RawMessage{"tuning": json.RawMessage(`{"mode":"reckless","tries":9}`)}}},
		Models:    []awaken.ModelSpec{{ID: "m", ProviderID: "p", UpstreamModel: "u"}},
		Providers: map[string]llm.Model{"p": llmtest.NewScript()},
		Plugins:   []awaken.Plugin{plug{"p", func(r *awaken.Registrar) { r.Section(section) }}},
	})
	says(t, err, `sections["tuning"]/mode: value must be one of`, `sections["tuning"]/tries: maximum`)
}

func TestTool_MayEndTheRun(t *testing.T) {
	t.Parallel()
	fatal := tool("fatal", func(context.Context, *awaken.ToolCall, args) (*awaken.ToolResult, error) {
		return nil, awaken.Fatal(errors.New("the building is on fire"))
	})
	g := newRig(t, []llmtest.Turn{uses("fatal", "fatal")}, withTools(fatal))
	p := &tape{}
	res, err := g.rt.Run(t.Context(), say("hi"), p)
	says(t, err, `tool "fatal"`, "the building is on fire")
	checkTermination(t, res, p, awaken.Failed)
	checkBalanced(t, p)
	checkValid(t, g.log("t"))
}

func TestGate_ThatBlocksEndsTheRun(t *testing.T) {
	t.Parallel()
	var ran int
	spy := tool("spy", func(context.Context, *awaken.ToolCall, args) (*awaken.ToolResult, error) { ran++; return nil, nil })
	g := newRig(t, []llmtest.Turn{uses("spy", "spy")}, withTools(spy), withPlugins(
		gate(func(context.Context, *awaken.HookCall) (awaken.Verdict, error) {
			return awaken.Answer(awaken.TextResult("soft")), nil
		}),
		plug{"strict", func(r *awaken.Registrar) {
			r.Gate(func(context.Context, *awaken.HookCall) (awaken.Verdict, error) {
				return awaken.Block("not on my watch"), nil
			})
			r.Gate(func(context.Context, *awaken.HookCall) (awaken.Verdict, error) {
				return awaken.SuspendCall(awaken.Ticket{}), nil
			})
		}}))
	res, p := g.run(say("hi"))
	checkTermination(t, res, p, awaken.Blocked)
	checkBalanced(t, p)
	if res.Termination.Message != "not on my watch" || ran != 0 {
		t.Errorf("termination is %s, the tool ran %d times", res.Termination, ran)
	}
	checkValid(t, g.log("t"))
	if rec := g.record(res.RunID); rec.StatusReason != "blocked:not on my watch" {
		t.Errorf("status reason is %q", rec.StatusReason)
	}
}

// cityTool returns a tool that echoes its only argument.
func cityTool() awaken.Tool {
	return awaken.NewTool(awaken.ToolSpec{ID: "city"}, func(_ context.Context, _ *awaken.ToolCall, in struct {
		Name string `json:"name" jsonschema:"enum=Paris,enum=Rome"`
	}) (string, error) {
		return "in " + in.Name, nil
	})
}

// rewrites returns a gate that turns the arguments from into to.
func rewrites(from, to string) awaken.Gate {
	return func(_ context.Context, h *awaken.HookCall) (awaken.Verdict, error) {
		if string(h.Tool.Args) != from {
			return awaken.Allow(), nil
		}
		return awaken.Allow().WithArguments(json.RawMessage(to)), nil
	}
}

const paris, rome = `{"name":"Paris"}`, `{"name":"Rome"}`

func TestGate_MayReplaceArguments(t *testing.T) {
	t.Parallel()
	g := newRig(t, []llmtest.Turn{llmtest.Use("city", paris), llmtest.Say("ok")}, withTools(cityTool()), withPlugins(gate(rewrites(paris, rome))))
	res, p := g.run(say("hi"))
	checkTermination(t, res, p, awaken.NaturalEnd)
	done := eventsOf[awaken.ToolCallDone](p)
	if len(done) != 1 || string(done[0].Arguments) != rome || string(done[0].Result.Data) != `"in Rome"` {
		t.Errorf("the call is done with %s", toJSON(t, done))
	}
	if calls := g.calls(res.RunID); len(calls) != 1 || string(calls[0].Arguments) != rome {
		t.Errorf("the ledger has %s", toJSON(t, calls))
	}
	if m := g.log("t")[1]; string(m.ToolCalls[0].Arguments) != paris {
		t.Errorf("the model's message changed: %s", toJSON(t, m))
	}
	data, err := awaken.AppendEvent(nil, done[0])
	if err != nil {
		t.Fatal(err)
	}
	if ev, err := awaken.UnmarshalEvent(data); err != nil || string(ev.(*awaken.ToolCallDone).Arguments) != rome {
		t.Errorf("%s decodes as %v, %v", data, ev, err)
	}
}

// A gate that allowed the model's arguments has not allowed others.
func TestGate_IsAskedAgainAboutReplacedArguments(t *testing.T) {
	t.Parallel()
	asked := awaken.Gate(func(_ context.Context, h *awaken.HookCall) (awaken.Verdict, error) {
		if string(h.Tool.Args) == rome {
			return awaken.SuspendCall(awaken.Ticket{}), nil
		}
		return awaken.Allow(), nil
	})
	g := newRig(t, []llmtest.Turn{llmtest.Use("city", paris), llmtest.Say("ok")}, withTools(cityTool()),
		withPlugins(plug{"gates", func(r *awaken.Registrar) { r.Gate(asked); r.Gate(rewrites(paris, rome)) }}))
	res, p := g.run(say("hi"))
	checkTermination(t, res, p, awaken.Suspended)
	ticket := res.Waiting.Tickets[0]
	if string(ticket.Arguments) != rome {
		t.Errorf("a person is asked about %s, want %s", ticket.Arguments, rome)
	}
	res, p = g.resume(res.RunID, approve(ticket.TicketID))
	checkTermination(t, res, p, awaken.NaturalEnd)
	if calls := g.calls(res.RunID); string(calls[0].Result.Data) != `"in Rome"` {
		t.Errorf("the result is %s", toJSON(t, calls[0].Result))
	}
}

func TestGate_WhoseArgumentsAreWrongFailsTheRun(t *testing.T) {
	t.Parallel()
	for want, gates := range map[string][]awaken.Gate{
		`arguments of tool "city" do not fit: /name: value must be one of`: {rewrites(paris, `{"name":"Oz"}`)},
		`not JSON`: {rewrites(paris, `{`)},
		`gates keep replacing the arguments of call`: {rewrites(paris, rome), rewrites(rome, paris)},
	} {
		g := newRig(t, []llmtest.Turn{llmtest.Use("city", paris), llmtest.Say("ok")}, withTools(cityTool()), withPlugins(plug{"gates", func(r *awaken.Registrar) {
			for _, gt := range gates {
				r.Gate(gt)
			}
		}}))
		p := &tape{}
		res, err := g.rt.Run(t.Context(), say("hi"), p)
		says(t, err, want)
		checkTermination(t, res, p, awaken.Failed)
	}
}
