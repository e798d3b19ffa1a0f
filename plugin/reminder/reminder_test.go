package reminder_test

import (
	"context"
	"encoding/json"
	"errors"
	"maps"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/awaken-go/awaken"
	"github.com/awaken-go/awaken/awakentest"
	"github.com/awaken-go/awaken/engine"
	"github.com/awaken-go/awaken/internal/sectiontest"
	"github.com/awaken-go/awaken/llm"
	"github.com/awaken-go/awaken/llm/llmtest"
	"github.com/awaken-go/awaken/plugin/reminder"
)

// run makes one call and returns the second request to the model.
func run(t *testing.T, base reminder.Config, section, tool, args string) string {
	t.Helper()
	spec := &awaken.AgentSpec{ID: engine.DefaultAgentID, PluginIDs: []string{reminder.Name}}
	if section != "" {
		spec.Sections = map[string]json.RawMessage{reminder.Name: json.RawMessage(section)}
	}
	type in struct {
		Path string `json:"path,omitempty"`
	}
	h := awakentest.New(t, engine.Config{
		Agents:  []*awaken.AgentSpec{spec},
		Plugins: []awaken.Plugin{reminder.New(base)},
		Tools: []awaken.Tool{
			awaken.NewTool(awaken.ToolSpec{ID: "Edit"}, func(context.Context, *awaken.ToolCall, in) (map[string]any, error) {
				return map[string]any{"lines": 3, "files": []any{map[string]any{"name": "a.go"}}}, nil
			}),
			awaken.NewTool(awaken.ToolSpec{ID: "Say"}, func(context.Context, *awaken.ToolCall, in) (string, error) { return "plain text", nil }),
			awaken.NewTool(awaken.ToolSpec{ID: "Show"}, func(context.Context, *awaken.ToolCall, in) (*awaken.ToolResult, error) {
				return &awaken.ToolResult{Content: []llm.Block{llm.Text("shown text")}}, nil
			}),
			awaken.NewTool(awaken.ToolSpec{ID: "Fail"}, func(context.Context, *awaken.ToolCall, in) (string, error) {
				return "", errors.New("permission denied for x")
			}),
			awaken.NewTool(awaken.ToolSpec{ID: "Coded"}, func(context.Context, *awaken.ToolCall, in) (*awaken.ToolResult, error) {
				return awaken.ErrorResult("403", "forbidden"), nil
			}),
		},
	}, llmtest.Use(tool, args), llmtest.Say("ok"))
	h.Say("go")
	return requestText(h, 1)
}

func requestText(h *awakentest.Harness, i int) string {
	data, _ := json.Marshal(h.Model.Requests()[i])
	return string(data)
}

const note = `"message":{"target":"system","content":"REMEMBER"}`

// Every matcher and operator.
func TestRules(t *testing.T) {
	t.Parallel()
	var docs []string
	for _, tt := range []struct {
		name, rule, tool, args string
		want                   bool
	}{
		{"name", `"name":"mine","tool":"Edit"`, "Edit", `{}`, true},
		{"tool", `"tool":"Edit"`, "Edit", `{}`, true},
		{"other tool", `"tool":"Edit"`, "Say", `{}`, false},
		{"glob", `"tool":"E*"`, "Edit", `{}`, true},
		{"regex", `"tool":"/^E/"`, "Edit", `{}`, true},
		{"argument", `"tool":"Edit(path ~ '*.toml')"`, "Edit", `{"path":"a/b.toml"}`, true},
		{"other argument", `"tool":"Edit(path ~ '*.toml')"`, "Edit", `{"path":"a.go"}`, false},
		{"output any", `"tool":"*","output":"any"`, "Fail", `{}`, true},
		{"status any", `"tool":"*","output":{"status":"any"}`, "Fail", `{}`, true},
		{"status success", `"tool":"*","output":{"status":"success"}`, "Say", `{}`, true},
		{"not success", `"tool":"*","output":{"status":"success"}`, "Fail", `{}`, false},
		{"status error", `"tool":"*","output":{"status":"error"}`, "Fail", `{}`, true},
		{"not error", `"tool":"*","output":{"status":"error"}`, "Say", `{}`, false},
		{"status pending", `"tool":"*","output":{"status":"pending"}`, "Say", `{}`, false},
		{"content of text", `"tool":"*","output":{"content":"plain*"}`, "Say", `{}`, true},
		{"content is anchored", `"tool":"*","output":{"content":"text"}`, "Say", `{}`, false},
		{"content of JSON", `"tool":"*","output":{"content":"*a.go*"}`, "Edit", `{}`, true},
		{"content of blocks", `"tool":"*","output":{"content":"shown*"}`, "Show", `{}`, true},
		{"content of an error", `"tool":"*","output":{"status":"error","content":"*permission denied*"}`, "Fail", `{}`, true}, // L-54
		{"both must hold", `"tool":"*","output":{"status":"success","content":"*permission denied*"}`, "Fail", `{}`, false},
		{"field", `"tool":"*","output":{"content":{"fields":[{"path":"lines","value":"3"}]}}`, "Edit", `{}`, true},
		{"field in an element", `"tool":"*","output":{"content":{"fields":[{"path":"files[*].name","value":"*.go"}]}}`, "Edit", `{}`, true},
		{"error code", `"tool":"*","output":{"content":{"fields":[{"path":"error.code","op":"exact","value":"403"}]}}`, "Coded", `{}`, true},
		{"error message", `"tool":"*","output":{"content":{"fields":[{"path":"error.message","op":"regex","value":"^permission"}]}}`, "Fail", `{}`, true}, // L-54
		{"op glob", `"tool":"*","output":{"content":{"fields":[{"path":"lines","op":"glob","value":"?"}]}}`, "Edit", `{}`, true},
		{"op exact", `"tool":"*","output":{"content":{"fields":[{"path":"lines","op":"exact","value":"4"}]}}`, "Edit", `{}`, false},
		{"op regex", `"tool":"*","output":{"content":{"fields":[{"path":"lines","op":"regex","value":"^[0-9]$"}]}}`, "Edit", `{}`, true},
		{"op not_glob", `"tool":"*","output":{"content":{"fields":[{"path":"lines","op":"not_glob","value":"4*"}]}}`, "Edit", `{}`, true},
		{"op not_exact", `"tool":"*","output":{"content":{"fields":[{"path":"lines","op":"not_exact","value":"3"}]}}`, "Edit", `{}`, false},
		{"op not_regex", `"tool":"*","output":{"content":{"fields":[{"path":"lines","op":"not_regex","value":"x"}]}}`, "Edit", `{}`, true},
		{"fields must all hold", `"tool":"*","output":{"content":{"fields":[{"path":"lines","value":"3"},{"path":"none","value":"*"}]}}`, "Edit", `{}`, false},
	} {
		section := `{"rules":[{` + tt.rule + `,` + note + `}]}`
		docs = append(docs, section)
		t.Run(tt.name, func(t *testing.T) {
			t.Parallel()
			got := run(t, reminder.Config{}, section, tt.tool, tt.args)
			if strings.Contains(got, "REMEMBER") != tt.want {
				t.Errorf("reminded: %v, want %v\n%s", !tt.want, tt.want, got)
			}
		})
	}
	sectiontest.Covers[reminder.Config](t, append(docs, slices.Collect(maps.Keys(messages))...)...)
}

// messages has a section for each field of a message, and the requests after three calls of
// Edit that contain it.
var messages = map[string][]bool{
	`{"rules":[{"tool":"Edit","message":{"target":"system","content":"REMEMBER"}}]}`:                            {false, true, true, true},
	`{"rules":[{"tool":"Edit","message":{"target":"session","content":"REMEMBER"}}]}`:                           {false, true, true, true},
	`{"rules":[{"tool":"Edit","message":{"target":"conversation","content":"REMEMBER"}}]}`:                      {false, true, true, true},
	`{"rules":[{"tool":"Edit","message":{"target":"suffix_system","content":"REMEMBER"}}]}`:                     {false, true, true, true},
	`{"rules":[{"tool":"Edit","message":{"target":"system","content":"REMEMBER","cooldown_turns":2}}]}`:         {false, true, false, true},
	`{"rules":[{"name":"x","tool":"Edit","message":{"target":"system","content":"other","cooldown_turns":2}}]}`: {false, false, false, false},
}

func TestMessages_ReachTheirTarget(t *testing.T) {
	t.Parallel()
	for section, want := range messages {
		h := awakentest.New(t, engine.Config{
			Agents: []*awaken.AgentSpec{{ID: engine.DefaultAgentID, PluginIDs: []string{reminder.Name},
				Sections: map[string]json.RawMessage{reminder.Name: json.RawMessage(section)}}},
			Plugins: []awaken.Plugin{reminder.New(reminder.Config{})},
			Tools:   []awaken.Tool{awaken.NewTool(awaken.ToolSpec{ID: "Edit"}, func(context.Context, *awaken.ToolCall, struct{}) (string, error) { return "ok", nil })},
		}, llmtest.Use("Edit", `{}`), llmtest.Use("Edit", `{}`), llmtest.Use("Edit", `{}`), llmtest.Say("ok"))
		h.Say("go")
		var got []bool
		for i := range h.Model.Requests() {
			got = append(got, strings.Contains(requestText(h, i), "REMEMBER"))
		}
		if !slices.Equal(got, want) {
			t.Errorf("%s is told in %v, want %v", section, got, want)
		}
	}
}

// L-54: conditions on content ignored the text of errors.
func TestL54_ContentIncludesErrorTexts(t *testing.T) {
	t.Parallel()
	for _, output := range []string{`{"status":"error","content":"*permission denied*"}`, `{"content":{"fields":[{"path":"error.message","op":"glob","value":"permission*"}]}}`} {
		if got := run(t, reminder.Config{}, `{"rules":[{"tool":"*","output":`+output+`,`+note+`}]}`, "Fail", `{}`); !strings.Contains(got, "REMEMBER") {
			t.Errorf("%s is not reminded of:\n%s", output, got)
		}
	}
}

func TestNew_RulesOfThePluginComeBeforeTheAgents(t *testing.T) {
	t.Parallel()
	base := reminder.Config{Rules: []reminder.Rule{
		{Tool: "Edit", Message: reminder.Message{Target: reminder.System, Content: "BASE"}},
		{Name: "shared", Tool: "Edit", Message: reminder.Message{Target: reminder.System, Content: "OLD"}},
	}}
	got := run(t, base, `{"rules":[{"tool":"Edit",`+note+`},{"name":"shared","tool":"Edit","message":{"target":"system","content":"NEW"}}]}`, "Edit", `{}`)
	for text, want := range map[string]bool{"BASE": true, "REMEMBER": true, "NEW": true, "OLD": false} {
		if strings.Contains(got, text) != want {
			t.Errorf("%s is told: %v\n%s", text, !want, got)
		}
	}
}

func TestSection_RefusesRulesItCannotRead(t *testing.T) {
	t.Parallel()
	for rule, want := range map[string]string{
		`"tool":"Edit(",` + note:                                                                     "offset 4: ( is not closed",
		`"tool":"*","output":"some",` + note:                                                         "/output",
		`"tool":"*","output":{"status":"done"},` + note:                                              "/output",
		`"tool":"*","output":{"content":{}},` + note:                                                 "/output",
		`"tool":"*","output":{"content":"[a"},` + note:                                               "offset 0: [ is not closed",
		`"tool":"*","output":{"content":{"fields":[{"path":"a","op":"like","value":"x"}]}},` + note:  "/output",
		`"tool":"*","output":{"content":{"fields":[{"path":"a b","value":"x"}]}},` + note:            `path is "a b"`,
		`"tool":"*","output":{"content":{"fields":[{"path":"a","op":"regex","value":"["}]}},` + note: "missing closing ]",
		`"tool":"*","message":{"target":"nowhere","content":"x"}`:                                    "/message/target",
		`"tool":"*","message":{"target":"system","content":" "}`:                                     "message.content is empty",
		`"tool":"*","message":{"target":"system","content":"x","cooldown_turns":-1}`:                 "/message/cooldown_turns",
		`"tool":"*"`: "message",
		`"name":"a","tool":"*",` + note + `},{"name":"a","tool":"*",` + note: `name "a" is used by another rule`,
	} {
		_, err := engine.New(engine.Config{
			Agents: []*awaken.AgentSpec{{ID: "a", ModelID: "m", PluginIDs: []string{reminder.Name},
				Sections: map[string]json.RawMessage{reminder.Name: json.RawMessage(`{"rules":[{` + rule + `}]}`)}}},
			Models:    []awaken.ModelSpec{{ID: "m", ProviderID: "p", UpstreamModel: "x"}},
			Providers: map[string]llm.Model{"p": llmtest.NewScript()},
			Plugins:   []awaken.Plugin{reminder.New(reminder.Config{})},
		})
		if err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("%s: error is %v, want %s", rule, err, want)
		}
	}
}

func TestLoad_ReadsYAMLAndJSON(t *testing.T) { // L-64
	t.Parallel()
	for name, text := range map[string]string{
		"r.yaml": "rules:\n  - name: toml\n    tool: \"Edit(file_path ~ '*.toml')\"\n    output: any\n    message: {target: system, content: check, cooldown_turns: 3}\n",
		"r.json": `{"rules":[{"name":"toml","tool":"Edit(file_path ~ '*.toml')","output":"any","message":{"target":"system","content":"check","cooldown_turns":3}}]}`,
	} {
		path := filepath.Join(t.TempDir(), name)
		if err := os.WriteFile(path, []byte(text), 0o600); err != nil {
			t.Fatal(err)
		}
		c, err := reminder.Load(path)
		if err != nil || len(c.Rules) != 1 || c.Rules[0].Name != "toml" || c.Rules[0].Message.CooldownTurns != 3 {
			t.Errorf("%s: %+v, %v", name, c, err)
		}
	}
	bad := filepath.Join(t.TempDir(), "bad.yaml")
	if err := os.WriteFile(bad, []byte("rules:\n  - tool: x\n    mesage: {}\n"), 0o600); err != nil {
		t.Fatal(err)
	}
	if _, err := reminder.Load(bad); err == nil || !strings.Contains(err.Error(), "bad.yaml:3:") {
		t.Errorf("error is %v", err)
	}
}
