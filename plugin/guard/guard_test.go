package guard_test

import (
	"context"
	"encoding/json"
	"errors"
	"strings"
	"testing"

	"github.com/awaken-go/awaken"
	"github.com/awaken-go/awaken/awakentest"
	"github.com/awaken-go/awaken/engine"
	"github.com/awaken-go/awaken/internal/sectiontest"
	"github.com/awaken-go/awaken/llm"
	"github.com/awaken-go/awaken/llm/llmtest"
	"github.com/awaken-go/awaken/plugin/guard"
)

// run lets a model call a tool that returns the text, and then say the text.
func run(t *testing.T, p awaken.Plugin, section, text string) (*awakentest.Harness, *awakentest.Recording) {
	t.Helper()
	spec := &awaken.AgentSpec{ID: engine.DefaultAgentID, PluginIDs: []string{p.Name()}}
	if section != "" {
		spec.Sections = map[string]json.RawMessage{guard.Name: json.RawMessage(section)}
	}
	h := awakentest.New(t, engine.Config{
		Agents:  []*awaken.AgentSpec{spec},
		Plugins: []awaken.Plugin{p},
		Tools: []awaken.Tool{awaken.NewTool(awaken.ToolSpec{ID: "read"}, func(context.Context, *awaken.ToolCall, struct{}) (map[string]any, error) {
			return map[string]any{"n": 12345678901234567, "lines": []string{text, "fine"}}, nil
		})},
	}, llmtest.Use("read", `{}`), llmtest.Say(text))
	return h, h.Say(text)
}

func messages(t *testing.T, h *awakentest.Harness, rec *awakentest.Recording) string {
	t.Helper()
	recs, err := h.Store.Messages(t.Context(), rec.Result.ThreadID, awaken.MessageQuery{})
	if err != nil {
		t.Fatal(err)
	}
	var sb strings.Builder
	for _, r := range recs {
		data, _ := json.Marshal(r.Message.Content)
		sb.WriteString(string(r.Message.Role) + " " + string(data) + "\n")
	}
	return sb.String()
}

// Every field of the section.
func TestRails(t *testing.T) {
	t.Parallel()
	const secret = "token ghp_abcdefghijklmnopqrstuvwxyz0123456789 ok"
	var docs []string
	for _, tt := range []struct {
		name, section, text string
		end                 awaken.TerminationType
		want                string // in the conversation
		not                 string // nowhere in it
	}{
		{"no section", ``, secret, awaken.NaturalEnd, "ghp_", "removed"},
		{"secrets", `{"secrets":{}}`, secret, awaken.NaturalEnd, "token [secret removed] ok", "ghp_"},
		{"secrets on input", `{"secrets":{"on":["input"]}}`, secret, awaken.NaturalEnd, `user [{"type":"text","text":"token [secret removed] ok"}]`, "nothing"},
		{"secrets on output", `{"secrets":{"on":["output"]}}`, secret, awaken.NaturalEnd, `assistant [{"type":"text","text":"token [secret removed] ok"}]`, "nothing"},
		{"secrets on results", `{"secrets":{"on":["tool_result"]}}`, secret, awaken.NaturalEnd, `\"token [secret removed] ok\",\"fine\"],\"n\":12345678901234567}`, "nothing"},
		{"secrets block", `{"secrets":{"action":"block"}}`, secret, awaken.Blocked, "", "ghp_"},
		{"secrets suspend", `{"secrets":{"action":"suspend","on":["tool_result"]}}`, secret, awaken.Suspended, "user", "nothing"},
		{"secrets of your own", `{"secrets":{"patterns":["EMP-[0-9]+"]}}`, "staff EMP-123", awaken.NaturalEnd, "staff [secret removed]", "EMP"},
		{"max_bytes rewrite", `{"rules":[{"on":["input","output","tool_result"],"max_bytes":5,"action":"rewrite"}]}`, "héllo wörld", awaken.NaturalEnd, `"héll"`, "wörld"},
		{"max_bytes block", `{"rules":[{"on":["input"],"max_bytes":5,"action":"block"}]}`, "hello world", awaken.Blocked, "", "hello"},
		{"max_bytes is enough", `{"rules":[{"on":["input"],"max_bytes":50,"action":"block"}]}`, "hello world", awaken.NaturalEnd, "hello", "nothing"},
		{"pattern rewrite", `{"rules":[{"on":["output"],"pattern":"(?i)damn","replacement":"***","action":"rewrite"}]}`, "Damn it", awaken.NaturalEnd, `assistant [{"type":"text","text":"*** it"}]`, "nothing"},
		{"pattern block output", `{"rules":[{"on":["output"],"pattern":"damn","action":"block"}]}`, "damn it", awaken.Blocked, "user", `assistant [{"type":"text","text":"damn`},
		{"pattern block result", `{"rules":[{"on":["tool_result"],"pattern":"damn","action":"block","reason":"words"}]}`, "damn it", awaken.Blocked, "the result of tool \\\"read\\\" was blocked: words", "fine"},
		{"tool", `{"rules":[{"on":["tool_result"],"tool":"r*","pattern":"damn","action":"block"}]}`, "damn it", awaken.Blocked, "blocked", "fine"},
		{"name", `{"rules":[{"name":"words","on":["tool_result"],"pattern":"damn","action":"suspend"}]}`, "damn it", awaken.Suspended, "user", "nothing"},
		{"suspend input", `{"rules":[{"on":["input"],"pattern":"damn","action":"suspend","reason":"words"}]}`, "damn it", awaken.Suspended, "", "damn"},
		{"suspend output", `{"rules":[{"on":["output"],"pattern":"damn","action":"suspend"}]}`, "damn it", awaken.Suspended, "user", `assistant [{"type":"text","text":"damn`},
		{"another tool", `{"rules":[{"on":["tool_result"],"tool":"w*","pattern":"damn","action":"block"}]}`, "damn it", awaken.NaturalEnd, "damn", "nothing"},
	} {
		docs = append(docs, tt.section)
		t.Run(tt.name, func(t *testing.T) {
			t.Parallel()
			h, rec := run(t, guard.Rails(), tt.section, tt.text)
			if w := rec.Result.Waiting; tt.name == "name" && (w == nil || w.Tickets[0].Suspension.Action != "guard:words") {
				t.Errorf("the run waits for %+v", w)
			}
			if rec.Result.Termination.Type != tt.end {
				t.Errorf("the run ends with %s, want %s", rec.Result.Termination, tt.end)
			}
			got := messages(t, h, rec)
			if !strings.Contains(got, tt.want) || strings.Contains(got, tt.not) {
				t.Errorf("want %s and not %s:\n%s", tt.want, tt.not, got)
			}
			if lines := awakentest.Lines(t, rec.Entries); tt.not != "nothing" && strings.Contains(lines, tt.not) && tt.end != awaken.Suspended {
				t.Errorf("%s was shown:\n%s", tt.not, lines)
			}
		})
	}
	sectiontest.Covers[guard.Config](t, docs...)
}

func TestSecrets_AreRecognisedByTheirForm(t *testing.T) {
	t.Parallel()
	for _, text := range []string{
		"AKIAIOSFODNN7EXAMPLE", "sk-" + strings.Repeat("a1", 12), "xoxb-123456789012-abcdef", "AIzaSyA-abcdefghijklmnopqrstuvwxyz01234",
		"eyJhbGciOiJIUzI1NiJ9.eyJzdWIiOiIxMjM0In0.abcdefghijkl", "Authorization: Bearer abcdef0123456789abcdef",
		"postgres://joe:hunter22@db/x", `"api_key": "0123456789abcdef"`, "password=correcthorse", "sk_live_0123456789abcdef",
		"-----BEGIN RSA PRIVATE KEY-----\nMIIE\n-----END RSA PRIVATE KEY-----", "-----BEGIN PRIVATE KEY-----\nMIIE", "glpat-abcdefghijklmnopqrst",
	} {
		h, rec := run(t, guard.Rails(), `{"secrets":{}}`, "x "+text+" y")
		if got := messages(t, h, rec); !strings.Contains(got, "[secret removed]") {
			t.Errorf("%s passes:\n%s", text, got)
		}
	}
	for _, text := range []string{"the password is wrong", "sk-short", "https://example.com/a:b@c", "task-driven development of things", "bearer of news"} {
		h, rec := run(t, guard.Rails(), `{"secrets":{}}`, text)
		if got := messages(t, h, rec); strings.Contains(got, "[secret removed]") {
			t.Errorf("%s does not pass:\n%s", text, got)
		}
	}
}

func TestRails_RefusesInvalidSections(t *testing.T) {
	t.Parallel()
	for section, want := range map[string]string{
		`{"rules":[{"on":["input"],"action":"block"}]}`:                                "has no max_bytes and no pattern",
		`{"rules":[{"on":[],"pattern":"x","action":"block"}]}`:                         "on is empty",
		`{"rules":[{"on":["door"],"pattern":"x","action":"block"}]}`:                   "/on/0",
		`{"rules":[{"on":["input"],"pattern":"[","action":"block"}]}`:                  "rules[0].pattern",
		`{"rules":[{"on":["tool_result"],"tool":"[","pattern":"x","action":"block"}]}`: "rules[0].tool",
		`{"rules":[{"on":["input"],"pattern":"x","action":"laugh"}]}`:                  "/action",
		`{"rules":[{"on":["input"],"max_bytes":-1,"action":"block"}]}`:                 "/max_bytes",
		`{"secrets":{"patterns":["["]}}`:                                               "secrets.patterns[0]",
		`{"secrets":{"on":["window"]}}`:                                                "secrets.on[0]",
		`{"secrets":{"action":"sing"}}`:                                                "secrets.action",
	} {
		_, err := engine.New(engine.Config{
			Agents: []*awaken.AgentSpec{{ID: "a", ModelID: "m", PluginIDs: []string{guard.Name},
				Sections: map[string]json.RawMessage{guard.Name: json.RawMessage(section)}}},
			Models:    []awaken.ModelSpec{{ID: "m", ProviderID: "p", UpstreamModel: "x"}},
			Providers: map[string]llm.Model{"p": llmtest.NewScript()},
			Plugins:   []awaken.Plugin{guard.Rails()},
		})
		if err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("%s: error is %v, want %s", section, err, want)
		}
	}
}

type funcGuard func(guard.Text) (guard.Verdict, error)

func (f funcGuard) Check(_ context.Context, t guard.Text) (guard.Verdict, error) { return f(t) }

func TestNew_RunsACustomGuard(t *testing.T) {
	t.Parallel()
	for _, tt := range []struct {
		name    string
		verdict guard.Verdict
		err     error
		end     awaken.TerminationType
		want    string
	}{
		{"pass", guard.Pass(), nil, awaken.NaturalEnd, "hello"},
		{"rewrite", guard.Rewrite("HI"), nil, awaken.NaturalEnd, `assistant [{"type":"text","text":"HI"}]`},
		{"block", guard.Block("no"), nil, awaken.Blocked, "user"},
		{"suspend", guard.Suspend("hm"), nil, awaken.Suspended, "user"},
		{"error", guard.Pass(), errors.New("broken"), awaken.Failed, "user"},
	} {
		p := guard.New("mine", funcGuard(func(guard.Text) (guard.Verdict, error) { return tt.verdict, tt.err }), awaken.OutputPoint)
		h, rec := run(t, p, "", "hello")
		if got := messages(t, h, rec); rec.Result.Termination.Type != tt.end || !strings.Contains(got, tt.want) {
			t.Errorf("%s: %s\n%s", tt.name, rec.Result.Termination, got)
		}
	}
}

// A message to a run in flight is checked too.
func TestInput_LaterMessagesAreChecked(t *testing.T) {
	t.Parallel()
	h := awakentest.New(t, engine.Config{
		Agents: []*awaken.AgentSpec{{ID: engine.DefaultAgentID, PluginIDs: []string{guard.Name},
			Sections: map[string]json.RawMessage{guard.Name: json.RawMessage(`{"secrets":{"on":["input"]}}`)}}},
		Plugins: []awaken.Plugin{guard.Rails()},
		Tools:   []awaken.Tool{awaken.NewTool(awaken.ToolSpec{ID: "read"}, func(context.Context, *awaken.ToolCall, struct{}) (string, error) { return "", nil })},
	}, llmtest.Use("read", `{}`), llmtest.Say("ok"))
	sent := false
	h.OnEvent = func(e awaken.Entry) {
		if _, ok := e.Event.(*awaken.ToolCallReady); ok && !sent {
			sent = true
			if err := h.Runtime.Send(t.Context(), "t", llm.UserText("password=correcthorse")); err != nil {
				t.Error(err)
			}
		}
	}
	rec := h.Run(awaken.RunRequest{ThreadID: "t", Messages: []*llm.Message{llm.UserText("go")}})
	if got := messages(t, h, rec); !strings.Contains(got, "[secret removed]") || strings.Contains(got, "correcthorse") {
		t.Errorf("the conversation is\n%s", got)
	}
}

// An answer through the tool final_output is checked too.
func TestOutput_StructuredOutputIsChecked(t *testing.T) {
	t.Parallel()
	h := awakentest.New(t, engine.Config{
		Agents: []*awaken.AgentSpec{{ID: engine.DefaultAgentID, PluginIDs: []string{guard.Name},
			OutputSchema: json.RawMessage(`{"type":"object","properties":{"note":{"type":"string"}},"required":["note"]}`),
			Sections:     map[string]json.RawMessage{guard.Name: json.RawMessage(`{"secrets":{"on":["output"]}}`)}}},
		Plugins: []awaken.Plugin{guard.Rails()},
	}, llmtest.Use(awaken.FinalOutputTool, `{"note":"password=correcthorse"}`))
	rec := h.Say("go")
	if got := string(rec.Result.StructuredOutput); !strings.Contains(got, "[secret removed]") || strings.Contains(got, "correcthorse") {
		t.Errorf("the answer is %s", got)
	}
	if lines := awakentest.Lines(t, rec.Entries); strings.Contains(lines, "correcthorse") {
		t.Errorf("it was shown:\n%s", lines)
	}
}

// The call of a held result was made. If people send a message instead of deciding, the model
// still learns that.
func TestResult_HeldResultIsReportedWhenAMessageArrivesInstead(t *testing.T) {
	t.Parallel()
	h, rec := run(t, guard.Rails(), `{"secrets":{"action":"suspend","on":["tool_result"]}}`, "token ghp_abcdefghijklmnopqrstuvwxyz0123456789 ok")
	if rec.Result.Termination.Type != awaken.Suspended {
		t.Fatalf("the run ends with %s", rec.Result.Termination)
	}
	h.Run(awaken.RunRequest{ThreadID: rec.Result.ThreadID, Messages: []*llm.Message{llm.UserText("never mind")}})
	asked := h.Model.Requests()
	answered := false
	for _, m := range asked[len(asked)-1].Messages {
		answered = answered || m.Role == llm.ToolRole
		if strings.Contains(m.Text(), "ghp_") && m.Role != llm.User {
			t.Errorf("the model is shown %s", m.Text())
		}
	}
	if !answered {
		t.Error("the model does not learn that its call was made")
	}
}
