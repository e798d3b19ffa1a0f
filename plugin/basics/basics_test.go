package basics_test

import (
	"encoding/json"
	"fmt"
	"strings"
	"testing"
	"time"

	"github.com/awaken-go/awaken"
	"github.com/awaken-go/awaken/awakentest"
	"github.com/awaken-go/awaken/engine"
	"github.com/awaken-go/awaken/internal/sectiontest"
	"github.com/awaken-go/awaken/llm"
	"github.com/awaken-go/awaken/llm/llmtest"
	"github.com/awaken-go/awaken/plugin/basics"
)

// start returns an agent with the section, whose model plays turns.
func start(t *testing.T, section string, turns ...llmtest.Turn) *awakentest.Harness {
	t.Helper()
	spec := &awaken.AgentSpec{ID: engine.DefaultAgentID, PluginIDs: []string{basics.Name}}
	if section != "" {
		spec.Sections = map[string]json.RawMessage{basics.Name: json.RawMessage(section)}
	}
	return awakentest.New(t, engine.Config{Agents: []*awaken.AgentSpec{spec}, Plugins: []awaken.Plugin{basics.New()}}, turns...)
}

// results returns the results of the calls of a run, as the model sees them.
func results(h *awakentest.Harness, rec *awakentest.Recording) (out []string) {
	for _, m := range h.Messages(rec.Result.ThreadID) {
		if m.ToolCallID != "" {
			out = append(out, m.Text())
		}
	}
	return out
}

// use makes one call of an agent with the section, and returns its result.
func use(t *testing.T, section, tool, args string) string {
	t.Helper()
	h := start(t, section, llmtest.Use(tool, args), llmtest.Say("ok"))
	rec := h.Say("go")
	if rec.Result.Status == awaken.RunWaiting {
		return "asked"
	}
	return results(h, rec)[0]
}

// Every field of the section has its effect.
func TestSection(t *testing.T) {
	t.Parallel()
	var docs []string
	for _, tt := range []struct{ name, section, tool, args, want string }{
		{"all tools by default", ``, basics.Calculate, `{"expression":"1+1"}`, `{"result":"2","exact":true}`},
		{"a tool that is listed", `{"tools":["calculate"]}`, basics.Calculate, `{"expression":"1+1"}`, `{"result":"2","exact":true}`},
		{"a tool that is not", `{"tools":["time_now"]}`, basics.Calculate, `{"expression":"1+1"}`, `not found`},
		{"the time zone", `{"time_zone":"Asia/Tokyo"}`, basics.TimeNow, `{}`, `"time_zone":"Asia/Tokyo"`},
		{"another time zone", `{"time_zone":"Asia/Tokyo"}`, basics.TimeNow, `{"time_zone":"Europe/Berlin"}`, `"time_zone":"Europe/Berlin"`},
		{"not where the process runs", ``, basics.TimeNow, `{"time_zone":"Local"}`, `want an IANA name`},
		{"not a file", ``, basics.TimeNow, `{"time_zone":"../../etc/passwd"}`, `want an IANA name`},
		{"too many items", `{"max_todos":1}`, basics.TodoWrite, `{"items":[{"text":"a","status":"done"},{"text":"b","status":"done"}]}`, `items has 2 items, want at most 1`},
		{"a question waits", `{"ask_timeout_seconds":60}`, basics.AskUser, `{"question":"Which?"}`, `asked`},
	} {
		docs = append(docs, tt.section)
		t.Run(tt.name, func(t *testing.T) {
			t.Parallel()
			if got := use(t, tt.section, tt.tool, tt.args); !strings.Contains(got, tt.want) {
				t.Errorf("the result is %s, want %s", got, tt.want)
			}
		})
	}
	sectiontest.Covers[basics.Config](t, docs...)
}

// A question expires after ask_timeout_seconds, and never by default.
func TestSection_AskTimeout(t *testing.T) {
	t.Parallel()
	for section, after := range map[string]time.Duration{``: 0, `{"ask_timeout_seconds":60}`: time.Minute} {
		h := start(t, section, llmtest.Use(basics.AskUser, `{"question":"Which?"}`))
		rec := h.Say("go")
		if rec.Result.Waiting == nil || len(rec.Result.Waiting.Tickets) != 1 {
			t.Fatalf("%s: the run waits for %+v", section, rec.Result.Waiting)
		}
		ticket, want := rec.Result.Waiting.Tickets[0], int64(0)
		if after > 0 {
			want = ticket.UpdatedAt + after.Milliseconds()
		}
		if ticket.ExpiresAt != want {
			t.Errorf("%s: the question of %d expires at %d, want %d", section, ticket.UpdatedAt, ticket.ExpiresAt, want)
		}
	}
}

// A mistake in the section is reported with the field, the value and what is accepted.
func TestSection_Mistakes(t *testing.T) {
	t.Parallel()
	for section, want := range map[string]string{
		`{"tools":["bash"]}`:         `tools[0] is "bash", want one of time_now, calculate, todo_write, todo_read, ask_user`,
		`{"time_zone":"Mars"}`:       `time_zone: time zone is "Mars", want an IANA name`,
		`{"max_todos":0}`:            `max_todos is 0, want 1 to 1000`,
		`{"ask_timeout_seconds":-1}`: `ask_timeout_seconds is -1, want 0 or more`,
	} {
		spec := &awaken.AgentSpec{ID: "a", ModelID: "m", PluginIDs: []string{basics.Name}, Sections: map[string]json.RawMessage{basics.Name: json.RawMessage(section)}}
		_, err := engine.New(engine.Config{Agents: []*awaken.AgentSpec{spec}, Plugins: []awaken.Plugin{basics.New()}})
		if err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("%s: the error is %v, want %s", section, err, want)
		}
	}
}

func TestCalculate(t *testing.T) {
	t.Parallel()
	for expr, want := range map[string]string{
		"1 + 2 * 3": "7",
		"(1+2)*3":   "9",
		"0.1 + 0.2": "0.3",
		"1/3":       "0.33333333333333333333~",
		"2^10":      "1024",
		"2^-2":      "0.25",
		"-2^2":      "-4",
		"2^3^2":     "512",
		"7 % 3":     "1",
		"-7 % 3":    "-1",
		"1.5e3 - 1": "1499",
		"12345678901234567890 * 98765432109876543210": "1219326311370217952237463801111263526900",
		"sqrt(16) + abs(-2)":                          "6",
		"sqrt(2)":                                     "1.4142135623731~",
		"max(1, 5, 3) - min(4, 2)":                    "3",
		"round(2.5) + floor(-1.5) + ceil(1.2)":        "3",
		"round(sin(pi) * 1000)":                       "0~",
		"ln(exp(1))":                                  "1~",
		"4^0.5":                                       "2~",
	} {
		got := use(t, "", basics.Calculate, fmt.Sprintf(`{"expression":%q}`, expr))
		var r struct {
			Result string
			Exact  bool
		}
		if err := json.Unmarshal([]byte(got), &r); err != nil {
			t.Errorf("%s: %s", expr, got)
			continue
		}
		if !r.Exact {
			r.Result += "~"
		}
		if want = strings.TrimSpace(want); r.Result != want && !(strings.HasPrefix(r.Result, strings.TrimSuffix(want, "~")) && strings.HasSuffix(r.Result, "~") && strings.HasSuffix(want, "~")) {
			t.Errorf("%s is %s, want %s", expr, r.Result, want)
		}
	}
}

// What is not arithmetic, or would take much time or memory, is refused with its place.
func TestCalculate_Refuses(t *testing.T) {
	t.Parallel()
	for expr, want := range map[string]string{
		"":                              "want a number",
		"1 +":                           "want a number",
		"1 2":                           "at character 3: want an operator or the end",
		"(1":                            "want )",
		"1/0":                           "division by zero",
		"1 % (2-2)":                     "division by zero",
		"0^-1":                          "division by zero",
		"9^9^9":                         "the exponent is 387420489, want at most 10000",
		"9^9999^2":                      "the exponent is",
		"(2^5000)^1000":                 "too many digits",
		"1e9999999":                     "more than 4 digits",
		"1e9999 * 1e9999":               "too many digits",
		strings.Repeat("(", 60) + "1":   "nested more than 50 times",
		strings.Repeat("-", 60) + "1":   "nested more than 50 times",
		strings.Repeat("1+", 600) + "1": "want at most 1000",
		"system(1)":                     `there is no function "system" with 1 arguments`,
		"sqrt(1, 2)":                    `there is no function "sqrt" with 2 arguments`,
		"x":                             `"x" is no constant`,
		"1.2.3":                         "want a number such as",
		"sqrt(-1)":                      "the result is NaN",
		"ln(0)":                         "the result is -Inf",
		"exp(100000)":                   "the result is +Inf",
		"__import__":                    "want a number",
		"1; rm -rf /":                   "want an operator or the end",
		"\x00":                          "want a number",
	} {
		args, err := json.Marshal(map[string]string{"expression": expr})
		if err != nil {
			t.Fatal(err)
		}
		if got := use(t, "", basics.Calculate, string(args)); !strings.Contains(got, want) {
			t.Errorf("%.40q: the result is %.200s, want %s", expr, got, want)
		}
	}
}

// The to-do list stays with the thread.
func TestTodo(t *testing.T) {
	t.Parallel()
	h := start(t, "", llmtest.Use(basics.TodoWrite, `{"items":[{"text":"plan","status":"done"},{"text":"build","status":"in_progress"}]}`), llmtest.Say("ok"),
		llmtest.Use(basics.TodoRead, `{}`), llmtest.Use(basics.TodoWrite, `{"items":[{"text":"x","status":"later"}]}`), llmtest.Use(basics.TodoWrite, `{"items":[{"text":"","status":"done"}]}`), llmtest.Say("ok"))
	say := func(text string) *awakentest.Recording {
		return h.Run(awaken.RunRequest{ThreadID: "t", Messages: []*llm.Message{llm.UserText(text)}})
	}
	say("go")
	got := results(h, say("more"))
	want := `{"items":[{"text":"plan","status":"done"},{"text":"build","status":"in_progress"}],"open":1}`
	if len(got) != 4 || got[0] != want || got[1] != want || !strings.Contains(got[2], "status") || !strings.Contains(got[3], "items[0].text is 0 bytes long, want 1 to 500") {
		t.Errorf("the results are %q", got)
	}
}

// A question suspends the run with a form; the answer fits the form and is the result.
func TestAsk(t *testing.T) {
	t.Parallel()
	form := `{"question":"Which room?","fields":[{"name":"room","type":"choice","options":["blue","red"]},{"name":"nights","type":"number","label":"Nights"},{"name":"note","optional":true}]}`
	h := start(t, "", llmtest.Use(basics.AskUser, form), llmtest.Say("ok"))
	rec := h.Say("go")
	if rec.Result.Waiting == nil || rec.Result.Waiting.Reason != awaken.WaitUserInput {
		t.Fatalf("the run is %+v", rec.Result)
	}
	q := rec.Result.Waiting.Tickets[0]
	if q.Reason != "Which room?" || q.Suspension.Action != "tool:ask_user" || !strings.Contains(string(q.Suspension.ResponseSchema), `"enum":["blue","red"]`) {
		t.Errorf("the question is %+v with %s", q, q.Suspension.ResponseSchema)
	}
	for _, bad := range []string{`{"room":"green","nights":1}`, `{"room":"red"}`, `{"room":"red","nights":"two"}`, `{"room":"red","nights":1,"admin":true}`, `"red"`} {
		if err := h.Runtime.Decide(t.Context(), rec.Result.RunID, q.Answer(json.RawMessage(bad))); err == nil {
			t.Errorf("the answer %s was accepted", bad)
		}
	}
	rec = h.Resume(rec.Result.RunID, q.Answer(json.RawMessage(`{"room":"red","nights":2}`)))
	if got := results(h, rec); len(got) != 1 || got[0] != `{"room":"red","nights":2}` {
		t.Errorf("the result is %q", got)
	}
	for args, want := range map[string]string{
		`{"question":""}`: "question is 0 bytes long, want 1 to 4000",
		`{"question":"?","fields":[{"name":"a b"}]}`:                                          "want up to 64 letters, digits and _",
		`{"question":"?","fields":[{"name":"a"},{"name":"a"}]}`:                               `fields[1].name "a" is used twice`,
		`{"question":"?","fields":[{"name":"a","type":"choice"}]}`:                            "options has 0 options, want 1 to 50",
		`{"question":"?","fields":[{"name":"a","options":["x"]}]}`:                            "options is for fields of type choice",
		`{"question":"?","fields":[` + strings.Repeat(`{"name":"a"},`, 20) + `{"name":"b"}]}`: "fields has 21 fields, want at most 20",
	} {
		if got := use(t, "", basics.AskUser, args); !strings.Contains(got, want) {
			t.Errorf("%.60s: the result is %s, want %s", args, got, want)
		}
	}
}
