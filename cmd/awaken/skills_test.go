package main

import (
	"context"
	"encoding/json"
	"errors"
	"os"
	"path/filepath"
	"reflect"
	"slices"
	"strings"
	"testing"
	"testing/fstest"
	"time"

	"github.com/awaken-go/awaken"
	"github.com/awaken-go/awaken/awakentest"
	"github.com/awaken-go/awaken/cmd/awaken/internal/demo"
	"github.com/awaken-go/awaken/cmd/awaken/internal/settings"
	"github.com/awaken-go/awaken/config"
	"github.com/awaken-go/awaken/engine"
	"github.com/awaken-go/awaken/llm/llmtest"
	"github.com/awaken-go/awaken/plugin/deferred"
	"github.com/awaken-go/awaken/plugin/handoff"
	"github.com/awaken-go/awaken/plugin/permission"
	"github.com/awaken-go/awaken/plugin/skills"
)

// Every field of a skill's document makes another skill, and the way back loses nothing.
func TestSkillOf_UsesEveryField(t *testing.T) {
	t.Parallel()
	base := config.SkillSpec{ID: "a", Name: "A", Description: "d", InstructionsMD: "i"}
	was, err := skillOf(&base)
	if err != nil {
		t.Fatal(err)
	}
	values := map[string]any{"ID": "b", "Name": "B", "Description": "e", "InstructionsMD": "j", "AllowedTools": []string{"x"}, "WhenToUse": "w", "Arguments": []config.SkillArgument{{Name: "x", Description: "y", Required: true}},
		"ArgumentHint": "h", "UserInvocable": new(false), "ModelInvocable": new(false), "ModelOverride": "m", "Context": "fork", "Paths": nil}
	for field := range reflect.TypeFor[config.SkillSpec]().Fields() {
		v, ok := values[field.Name]
		if !ok {
			t.Errorf("no case for the field %s", field.Name)
			continue
		}
		if v == nil {
			continue // it must be empty
		}
		d := base
		reflect.ValueOf(&d).Elem().FieldByName(field.Name).Set(reflect.ValueOf(v))
		s, err := skillOf(&d)
		if err != nil || s.Digest() == was.Digest() {
			t.Errorf("%s makes no difference (%v)", field.Name, err)
			continue
		}
		if back := skillDocument(s); !reflect.DeepEqual(back, &d) {
			t.Errorf("%s: the way back is %+v, want %+v", field.Name, back, &d)
		}
	}
	if _, err := skillOf(&config.SkillSpec{ID: "a", Name: "A", Description: "d", InstructionsMD: "i", AllowedTools: []string{"(("}}); err == nil {
		t.Error("a pattern that cannot be read is accepted")
	}
}

// The demo profile has the skill greeting, and its agent loads it: asked by the model, and asked by a
// person. So has the command line, without a control plane.
func TestSkills_DemoAgent(t *testing.T) {
	t.Parallel()
	if list := demo.Skills(); len(list) != 1 || list[0].Name != "greeting" {
		t.Fatalf("the demo skills are %v", list)
	}
	h := host(t, func(s *settings.Settings) { s.SeedProfile = "demo" })
	var doc struct{ Name string }
	h.call("GET", "/v1/config/skills/greeting", nil, &doc)
	if doc.Name != "greeting" {
		t.Errorf("the document is %+v", doc)
	}
	got, end, _ := h.run("skills", `RUN_TOOL skill {"skill":"greeting","args":"Ada"}`)
	if end.Type != awaken.NaturalEnd || !strings.Contains(got, "Launching skill: greeting") {
		t.Errorf("the run says %q and ends with %v", got, end)
	}
	if got, _, _ := h.run("skills", `RUN_TOOL skill {"skill":"nothing"}`); !strings.Contains(got, "unknown_skill") {
		t.Errorf("an unknown skill: %q", got)
	}
	if got, _, _ := h.run("skills", `RUN_TOOL skill_script {"skill":"greeting","script":"scripts/x.py"}`); strings.Contains(got, "exit_code") {
		t.Errorf("scripts run although they are not enabled: %q", got)
	}
}

// A skill in a folder is offered without a restart, beside documents; publishing a document needs
// none either, and a document that cannot be a skill is refused.
func TestSkills_FoldersAndDocuments(t *testing.T) {
	t.Parallel()
	dir := t.TempDir()
	h := host(t, func(s *settings.Settings) {
		s.SeedProfile, s.Skills.Dirs, s.Skills.Poll = "demo", []string{dir}, 10*time.Millisecond
	})
	load := func(name string) string {
		got, _, _ := h.run("skills", `RUN_TOOL skill {"skill":"`+name+`"}`)
		return got
	}
	if got := load("from-file"); !strings.Contains(got, "unknown_skill") {
		t.Errorf("before it exists: %q", got)
	}
	if err := os.MkdirAll(filepath.Join(dir, "from-file"), 0o755); err != nil {
		t.Fatal(err)
	}
	if err := os.WriteFile(filepath.Join(dir, "from-file", "SKILL.md"), []byte("---\ndescription: d\nargument-hint: '[x]'\n---\nText with $ARGUMENTS.\n"), 0o644); err != nil {
		t.Fatal(err)
	}
	deadline := time.Now().Add(time.Minute)
	for got := ""; !strings.Contains(got, "Launching skill: from-file"); {
		if got = load("from-file"); time.Now().After(deadline) {
			t.Fatalf("the new skill is not offered: %q", got)
		}
	}
	var written any
	h.call("PUT", "/v1/config/skills/written", map[string]any{"id": "written", "name": "W", "description": "d", "instructions_md": "For ${who}.", "arguments": []any{map[string]any{"name": "who", "required": true}}}, &written)
	if got, _, _ := h.run("skills", `RUN_TOOL skill {"skill":"written","arguments":{"who":"Ada"}}`); !strings.Contains(got, "Launching skill: written") {
		t.Errorf("a new document: %q", got)
	}
	h.refused(400, "PUT", "/v1/config/skills/bad", map[string]any{"id": "bad", "name": "B", "description": "d", "instructions_md": "i", "allowed_tools": []string{"(("}}, "allowed-tools[0]")

	ask := func(method, params string) string {
		var out strings.Builder
		_, err := curl(t.Context(), []string{"-H", "Content-Type: application/json", "-d", `{"jsonrpc":"2.0","id":1,"method":"` + method + `","params":` + params + `}`, h.url + "/v1/mcp"}, &out)
		if err != nil {
			t.Fatal(err)
		}
		return out.String()
	}
	list := ask("prompts/list", `{}`)
	for _, want := range []string{`"name":"from-file"`, `"name":"greeting"`, `"name":"written"`, `{"name":"who","required":true}`, `{"name":"arguments","description":"[x]"}`} {
		if !strings.Contains(list, want) {
			t.Errorf("the prompts lack %s: %s", want, list)
		}
	}
	for params, want := range map[string]string{
		`{"name":"written","arguments":{"who":"Ada"}}`:         `"text":"For Ada."`,
		`{"name":"from-file","arguments":{"arguments":"a b"}}`: `"text":"Text with a b."`,
		`{"name":"written"}`:                                   "is missing",
		`{"name":"nothing"}`:                                   "which is no prompt",
	} {
		if got := ask("prompts/get", params); !strings.Contains(got, want) {
			t.Errorf("%s: %s, want %s", params, got, want)
		}
	}
	if !json.Valid([]byte(list)) {
		t.Errorf("the list is %s", list)
	}
}

// While a skill is active, its tools need no approval; rules of the agent still count, and so does
// grant: false. A deferred tool that the skill needs is shown. Rules decide about scripts too.
func TestSkills_AndOtherPlugins(t *testing.T) {
	t.Parallel()
	files := fstest.MapFS{"a/SKILL.md": {Data: []byte("---\nname: a\ndescription: d\nallowed-tools: save_note\n---\nx")}, "a/scripts/x.py": {Data: []byte("print(1)")}}
	lib, err := skills.Open(skills.FS(files))
	if err != nil {
		t.Fatal(err)
	}
	for _, tt := range []struct{ name, section, rules, tool, want string }{
		{"granted", `{}`, `{"rules":[{"tool":"skill","behavior":"allow"}]}`, "save_note", string(awaken.NaturalEnd)},
		{"not granted", `{"grant":false}`, `{"rules":[{"tool":"skill","behavior":"allow"}]}`, "save_note", "perm_"},
		{"a rule asks", `{}`, `{"rules":[{"tool":"skill","behavior":"allow"},{"tool":"save_*","behavior":"ask"}]}`, "save_note", "perm_"},
		{"a script is asked for once", `{}`, `{"rules":[{"tool":"skill","behavior":"allow"}]}`, "skill_script", "perm_"},
	} {
		plugins, err := skills.New(skills.Options{Library: lib, Runner: skills.NewRunner(skills.RunnerOptions{})})
		if err != nil {
			t.Fatal(err)
		}
		note := awaken.NewTool(awaken.ToolSpec{ID: "save_note"}, func(context.Context, *awaken.ToolCall, struct{}) (string, error) { return "saved", nil })
		args := `{}`
		if tt.tool == "skill_script" {
			args = `{"skill":"a","script":"scripts/x.py"}`
		}
		h := awakentest.New(t, engine.Config{
			Agents: []*awaken.AgentSpec{{ID: "default", PluginIDs: []string{skills.DiscoveryID, skills.InstructionsID, permission.Name, deferred.Name}, Sections: map[string]json.RawMessage{
				skills.SectionName: json.RawMessage(tt.section), permission.Name: json.RawMessage(tt.rules), deferred.SectionName: json.RawMessage(`{"enabled":true,"rules":[{"tool":"skill*","mode":"eager"}]}`)}}},
			Plugins: append(plugins, permission.New(permission.Config{}), deferred.New()), Tools: []awaken.Tool{note},
		}, llmtest.Use("skill", `{"skill":"a"}`), llmtest.Use(tt.tool, args), llmtest.Say("ok"))
		rec := h.Say("go")
		if rec.Err != nil {
			t.Fatal(tt.name, rec.Err)
		}
		got := string(rec.Result.Termination.Type)
		if rec.Result.Waiting != nil {
			got, _, _ = strings.Cut(rec.Result.Waiting.Tickets[0].TicketID, "_")
			got += "_"
		}
		if got != tt.want {
			t.Errorf("%s: %s, want %s", tt.name, got, tt.want)
		}
		if reqs := h.Requests(); slices.Contains(reqs[0].Tools, "save_note") || !slices.Contains(reqs[1].Tools, "save_note") {
			t.Errorf("%s: the tools are %q, then %q, want save_note once the skill is active", tt.name, reqs[0].Tools, reqs[1].Tools)
		}
	}
}

// What an active skill allows ends when the thread is handed to another agent.
func TestSkills_GrantsEndWithTheAgent(t *testing.T) {
	t.Parallel()
	dir := t.TempDir()
	if err := errors.Join(os.Mkdir(filepath.Join(dir, "free"), 0o755), os.WriteFile(filepath.Join(dir, "free/SKILL.md"), []byte("---\nname: free\ndescription: d\nallowed-tools: time_now handoff_to_second\n---\nx"), 0o644)); err != nil {
		t.Fatal(err)
	}
	for _, handed := range []bool{false, true} {
		lib, err := skills.Open(skills.Folder(dir))
		if err != nil {
			t.Fatal(err)
		}
		plugins, err := skills.New(skills.Options{Library: lib})
		if err != nil {
			t.Fatal(err)
		}
		rules := json.RawMessage(`{"default_behavior":"ask","rules":[{"tool":"skill","behavior":"allow"},{"tool":"handoff_to_second","behavior":"allow"}]}`)
		first := &awaken.AgentSpec{ID: engine.DefaultAgentID, PluginIDs: []string{skills.DiscoveryID, skills.InstructionsID, permission.Name, handoff.PluginID},
			Sections: map[string]json.RawMessage{permission.Name: rules, handoff.PluginID: json.RawMessage(`{"agents":["second"]}`)}}
		second := &awaken.AgentSpec{ID: "second", PluginIDs: []string{permission.Name}, Sections: map[string]json.RawMessage{permission.Name: rules}}
		turns := []llmtest.Turn{llmtest.Use("skill", `{"skill":"free"}`)}
		if handed {
			turns = append(turns, llmtest.Use("handoff_to_second", `{}`))
		}
		ran := false
		now := awaken.NewTool(awaken.ToolSpec{ID: "time_now"}, func(_ context.Context, _ *awaken.ToolCall, _ struct{}) (string, error) { ran = true; return "now", nil })
		h := awakentest.New(t, engine.Config{Agents: []*awaken.AgentSpec{first, second}, Tools: []awaken.Tool{now}, Plugins: append(plugins, permission.New(permission.Config{}), handoff.New(nil))},
			append(turns, llmtest.Use("time_now", `{}`), llmtest.Say("ok"))...)
		rec := h.Say("go")
		if asked := rec.Result.Termination.Type == awaken.Suspended; asked != handed || ran == handed {
			t.Errorf("handed over: %t; the call asks: %t, and ran: %t (%+v, %v)", handed, asked, ran, rec.Result, rec.Err)
		}
	}
}
