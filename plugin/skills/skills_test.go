package skills_test

import (
	"context"
	"encoding/json"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"testing/fstest"

	"github.com/awaken-go/awaken"
	"github.com/awaken-go/awaken/awakentest"
	"github.com/awaken-go/awaken/engine"
	"github.com/awaken-go/awaken/internal/sectiontest"
	"github.com/awaken-go/awaken/llm/llmtest"
	"github.com/awaken-go/awaken/plugin/skills"
	"github.com/awaken-go/awaken/state/builtin"
	"github.com/awaken-go/awaken/store/memory"
)

// A skill of the open format: the model sees it in the catalogue, loads it, follows its text, reads
// its files, and may use only the tools that the skill allows until it deactivates it.
func TestSkill_IsLoadedFollowedAndLeft(t *testing.T) {
	t.Parallel()
	r := newRig(t, setup{},
		use("meeting-notes"),
		llmtest.Use("load_skill_resource", `{"skill":"meeting-notes","path":"references/format.md"}`),
		llmtest.Use("load_skill_resource", `{"skill":"meeting-notes","path":"./assets/template.txt"}`),
		llmtest.Use("other", `{"text":"not allowed"}`),
		llmtest.Use("save_note", `{"text":"allowed"}`),
		llmtest.Use("deactivate_skill", `{"skill":"meeting-notes"}`),
		llmtest.Use("other", `{"text":"again"}`),
		llmtest.Say("ok"))
	if rec := r.Say("Here are the minutes."); rec.Err != nil || rec.Result.Response != "ok" {
		t.Fatal(rec.Err, rec.Result)
	}
	reqs := r.Requests()
	if len(reqs) != 8 {
		t.Fatalf("%d requests, want 8", len(reqs))
	}
	for _, want := range []string{"<available_skills>", "<name>meeting-notes</name>", "Turns raw minutes", "Needs: Python 3.9", "<skills_usage>"} {
		if !strings.Contains(reqs[0].System, want) {
			t.Errorf("the catalogue lacks %q:\n%s", want, reqs[0].System)
		}
	}
	if strings.Contains(request(reqs[0]), "1. Read") || slices.Contains(reqs[0].Tools, "deactivate_skill") || !slices.Contains(reqs[0].Tools, "other") {
		t.Errorf("before the skill is loaded, the model sees %s", request(reqs[0]))
	}
	for i, want := range [][]string{1: {"<skill_instruction skill=\"meeting-notes\">\n# Meeting notes", "Launching skill: meeting-notes", `"activated":true,"skill_id":"meeting-notes"`},
		2: {"One line per decision"}, 3: {"Decisions:", `"encoding":"utf-8"`}, 4: {"[tool_not_allowed]"}, 5: {"done"}, 6: {`"deactivated":true`}, 7: {"done"}} {
		for _, w := range want {
			if got := request(reqs[i]); !strings.Contains(got, w) {
				t.Errorf("request %d lacks %q:\n%s", i, w, got)
			}
		}
	}
	if got := reqs[1].Tools; slices.Contains(got, "other") || !slices.Contains(got, "save_note") || !slices.Contains(got, "deactivate_skill") || !slices.Contains(got, "skill") {
		t.Errorf("while the skill is active, the tools are %q", got)
	}
	if got := request(reqs[6]); strings.Contains(got, "<active_skill_instructions>") || !slices.Contains(reqs[6].Tools, "other") {
		t.Errorf("after the skill, the model still sees it, or lacks its tools: %s", got)
	}
	if want := []string{"save_note allowed", "other again"}; !slices.Equal(r.made, want) {
		t.Errorf("the calls are %q, want %q", r.made, want)
	}
}

// A skill that was written for another agent: a person calls it with arguments, its patterns and its
// variables are understood, its unknown fields are ignored. The model cannot call it by itself.
func TestSkill_OfAnotherAgentWorksUnchanged(t *testing.T) {
	t.Parallel()
	section := `{"tools":{"Read":"other","Bash":"run"}}`
	r := newRig(t, setup{section: section, tools: []string{"run"}},
		use("fix-issue", `,"args":"7"`), llmtest.Say("no"),
		llmtest.Use("run", `{"text":"git commit"}`), llmtest.Use("run", `{"text":"rm -rf /"}`), llmtest.Use("other", `{"text":"x"}`), llmtest.Use("save_note", `{}`),
		llmtest.Use("load_skill_resource", `{"skill":"fix-issue","path":"checklist.md"}`), llmtest.Say("ok"))
	r.Say("Fix issue 7.")
	if got := r.results(); !strings.Contains(got, "[model_invocation_disabled]") || strings.Contains(got, "<name>fix-issue</name>") {
		t.Errorf("the model may call it: %s", got)
	}
	r.Say("/fix-issue 42 high")
	got := request(r.Requests()[2])
	for _, want := range []string{"Fix issue 42 with priority high", `"fix: issue 42"`, "./checklist.md", "All that was asked: 42 high"} {
		if !strings.Contains(got, want) {
			t.Errorf("the instructions lack %q:\n%s", want, got)
		}
	}
	if want := []string{"run git commit", "other x"}; !slices.Equal(r.made, want) {
		t.Errorf("the calls are %q, want %q", r.made, want)
	}
	if !strings.Contains(r.results(), "- changelog") {
		t.Errorf("the file is not shown: %s", r.results())
	}
	if w := strings.Join(r.lib.Warnings(), "\n"); !strings.Contains(w, `unknown field "effort"`) || !strings.Contains(w, "is not YAML") || !strings.Contains(w, "name is missing") {
		t.Errorf("the warnings are %s", w)
	}
}

// A forked skill is a child run with the skill's text as its task, its model, and nothing of the
// conversation. It is offered once the run works with a file that it is for.
func TestSkill_ForksIntoARunOfItsOwn(t *testing.T) {
	t.Parallel()
	r := newRig(t, setup{},
		use("deep-dive", `,"arguments":{"topic":"bees"}`),
		llmtest.Use("other", `{"text":"docs/a/b.md"}`),
		use("deep-dive", `,"arguments":{"topic":"bees","depth":3}`),
		llmtest.Use("load_skill_resource", `{"skill":"deep-dive","path":"references/method.md"}`), // in the child
		llmtest.Use("deactivate_skill", `{"skill":"deep-dive"}`),
		llmtest.Say("Bees dance."),
		llmtest.Say("They dance."))
	rec := r.Say("Tell me a secret about bees.")
	if rec.Err != nil || rec.Result.Response != "They dance." {
		t.Fatal(rec.Err, rec.Result)
	}
	reqs := r.Requests()
	if got := request(reqs[0]); strings.Contains(got, "<name>deep-dive</name>") {
		t.Errorf("the skill is offered before there is a file for it")
	}
	if got := request(reqs[1]); !strings.Contains(got, "[skill_not_applicable]") {
		t.Errorf("the skill runs before there is a file for it: %s", got)
	}
	if got := request(reqs[2]); !strings.Contains(got, "<name>deep-dive</name>") || !strings.Contains(got, "When: when a question needs") {
		t.Errorf("the skill is not offered: %s", got)
	}
	child := reqs[3]
	if got := request(child); child.Model != "strong-1" || !strings.Contains(got, "Study bees at depth 3.") || strings.Contains(got, "secret") || child.Routing.RunID == reqs[0].Routing.RunID {
		t.Errorf("the child is asked %s", got)
	}
	if got := request(reqs[5]); !strings.Contains(got, "Read, compare, conclude.") || !strings.Contains(got, "[skill_owns_run]") {
		t.Errorf("the child sees %s", got)
	}
	if last := reqs[6]; last.Model != awakentest.Scripted || !strings.Contains(request(last), `"response":"Bees dance."`) {
		t.Errorf("the parent sees %s of %s", request(last), last.Model)
	}
	run, err := r.Store.LoadRun(t.Context(), child.Routing.RunID)
	if err != nil || run.ParentRunID != rec.Result.RunID || run.Status != awaken.RunDone {
		t.Errorf("the child's record is %+v (%v)", run, err)
	}
}

// Every field of the section.
func TestSection(t *testing.T) {
	t.Parallel()
	dir := write(t, t.TempDir(), map[string]string{
		"a/SKILL.md": md("a", "", "Text of a."), "b/SKILL.md": md("b", "", "Text of b."),
		"tooled/SKILL.md": md("tooled", "allowed-tools: Write\nmodel: small\n", "Use it."), "s/SKILL.md": md("s", "", "x"), "s/scripts/x.py": "print(1)"})
	var docs []string
	for _, tt := range []struct {
		name, section string
		turns         []llmtest.Turn
		has, lacks    []string
	}{
		{"all skills", `{}`, []llmtest.Turn{use("a")}, []string{"<name>a</name>", "<name>b</name>", "Text of a."}, nil},
		{"an allow-list hides and refuses", `{"allowlist":["b"]}`, []llmtest.Turn{use("a")}, []string{"<name>b</name>", "[unknown_skill]"}, []string{"<name>a</name>", "Text of a."}},
		{"and files too", `{"ids":["b"]}`, []llmtest.Turn{llmtest.Use("load_skill_resource", `{"skill":"s","path":"scripts/x.py"}`)}, []string{"[unknown_skill]"}, []string{"print(1)"}},
		{"an empty list means none", `{"allowlist":[]}`, []llmtest.Turn{use("b")}, []string{"[unknown_skill]"}, []string{"<available_skills>"}},
		{"entries", `{"max_entries":1}`, nil, []string{"<name>a</name>", "3 more skills are not listed"}, []string{"<name>b</name>"}},
		{"tokens", `{"max_tokens":30}`, nil, []string{"<name>a</name>", "more skills are not listed"}, []string{"<name>tooled</name>"}},
		{"tools by other names", `{"tools":{"Write":"save_note"}}`, []llmtest.Turn{use("tooled"), llmtest.Use("save_note", `{}`)}, []string{"done"}, []string{"which this agent does not have; its tool"}},
		{"models by other names", `{"models":{"small":"tiny-1"}}`, []llmtest.Turn{use("tooled")}, []string{`"Model":"tiny-1"`}, []string{"the skill names the model"}},
		{"no grant", `{"grant":false,"tools":{"Write":"save_note"}}`, []llmtest.Turn{use("tooled"), llmtest.Use("save_note", `{}`)}, []string{"done"}, nil},
		{"no scripts", `{"scripts":"off"}`, nil, nil, []string{"skill_script"}},
	} {
		docs = append(docs, tt.section)
		t.Run(tt.name, func(t *testing.T) {
			t.Parallel()
			s := setup{folder: dir, section: tt.section, options: skills.Options{Runner: skills.NewRunner(skills.RunnerOptions{})}}
			r := newRig(t, s, append(tt.turns, llmtest.Say("ok"))...)
			r.Say("go")
			got := r.results()
			for _, w := range tt.has {
				if !strings.Contains(got, w) {
					t.Errorf("the model does not see %q:\n%s", w, got)
				}
			}
			for _, w := range tt.lacks {
				if strings.Contains(got, w) {
					t.Errorf("the model sees %q:\n%s", w, got)
				}
			}
		})
	}
	sectiontest.Covers[skills.Config](t, docs...)
	for section, want := range map[string]string{`{"allowlist":["A"]}`: `allowlist[0] is "A"`, `{"allowlist":[],"ids":[]}`: "both given", `{"max_entries":-1}`: "max_entries is -1", `{"max_tokens":-1}`: "max_tokens is -1",
		`{"scripts":"yes"}`: `scripts is "yes"`, `{"tools":{"":"x"}}`: "tools maps", `{"unknown":1}`: "unknown"} {
		spec := &awaken.AgentSpec{Sections: map[string]json.RawMessage{skills.SectionName: json.RawMessage(section)}}
		if _, err := skills.Section.Read(spec); err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("%s: %v, want %q", section, err, want)
		}
	}
}

// A person's command that lacks an argument, is not for people, or names no skill.
func TestCommand(t *testing.T) {
	t.Parallel()
	dir := write(t, t.TempDir(), map[string]string{
		"needs/SKILL.md": md("needs", "arguments: [{name: x, required: true}]\n", "Got ${x}."),
		"model/SKILL.md": md("model", "user-invocable: false\n", "For models."),
		"alone/SKILL.md": md("alone", "context: fork\ndisable-model-invocation: true\n", "Alone with $ARGUMENTS.")})
	for _, tt := range []struct {
		say, has string
		turns    []llmtest.Turn
	}{
		{"/needs", `"x" is missing`, nil},
		{"/needs  it\nnow", "Got it now.", nil},
		{"please /needs it", "", nil},
		{"/model", "", nil},
		{"/nothing", "", nil},
		{"/alone one two", `"response":"from the fork"`, []llmtest.Turn{use("alone", `,"args":"one two"`), llmtest.Say("from the fork")}},
	} {
		r := newRig(t, setup{folder: dir}, append(tt.turns, llmtest.Say("ok"))...)
		r.Say(tt.say)
		got := r.results()
		if !strings.Contains(got, tt.has) || tt.has == "" && (strings.Contains(got, "<active_skill_instructions>") || strings.Contains(got, "The user asked for the skill")) {
			t.Errorf("%s: want %q in %s", tt.say, tt.has, got)
		}
	}
}

// A run that waits and is continued in another process has the text that it had, although the skill
// has changed; the files of the changed skill are refused until it is loaded again.
func TestRun_KeepsItsTextWhenTheSkillChanges(t *testing.T) {
	t.Parallel()
	dir := write(t, t.TempDir(), map[string]string{"a/SKILL.md": md("a", "", "The old text."), "a/references/x.md": "old file"})
	store := memory.New()
	ask := awaken.FrontendTool(awaken.ToolSpec{ID: "ask"})
	with := func(c *engine.Config) { c.Store, c.Tools = store, append(c.Tools, ask) }
	first := newRig(t, setup{folder: dir, config: with}, use("a"), llmtest.Use("ask", `{}`))
	rec := first.Say("go")
	if rec.Result.Termination.Type != awaken.Suspended {
		t.Fatal(rec.Result.Termination, rec.Err)
	}
	write(t, dir, map[string]string{"a/SKILL.md": md("a", "", "The new text."), "a/references/x.md": "new file"})
	run, err := store.LoadRun(t.Context(), rec.Result.RunID)
	if err != nil {
		t.Fatal(err)
	}
	second := newRig(t, setup{folder: dir, config: with},
		llmtest.Use("load_skill_resource", `{"skill":"a","path":"references/x.md"}`), use("a"), llmtest.Use("load_skill_resource", `{"skill":"a","path":"references/x.md"}`), llmtest.Say("ok"))
	rec = second.Resume(run.RunID, awaken.Decision{Target: run.Waiting.Tickets[0].TicketID, Action: awaken.ActionResume, Result: json.RawMessage(`"yes"`)})
	if rec.Err != nil || rec.Result.Response != "ok" {
		t.Fatal(rec.Err, rec.Result)
	}
	reqs := second.Requests()
	for i, want := range []string{"The old text.", "[skill_changed]", "The new text.", "new file"} {
		if got := request(reqs[i]); !strings.Contains(got, want) {
			t.Errorf("request %d lacks %q: %s", i, want, got)
		}
	}
	if strings.Contains(request(reqs[1]), "new file") || strings.Contains(request(reqs[2]), "The old text.") {
		t.Error("the run sees a mixture of both skills")
	}
}

// A change of the folder reaches a running run at its next step, and not within one.
func TestReload_IsTakenInAtTheBorderOfAStep(t *testing.T) {
	t.Parallel()
	dir := write(t, t.TempDir(), map[string]string{"a/SKILL.md": md("a", "", "First.")})
	r := newRig(t, setup{folder: dir},
		llmtest.Turn{ToolCalls: []llmtest.Call{{ID: "1", Name: "other", Arguments: json.RawMessage(`{}`)}, {ID: "2", Name: "skill", Arguments: json.RawMessage(`{"skill":"b"}`)}}},
		use("b"), llmtest.Say("ok"))
	r.OnEvent = func(e awaken.Entry) {
		if done, ok := e.Event.(*awaken.ToolCallDone); ok && done.ID == "1" { // in the middle of the first step
			write(t, dir, map[string]string{"b/SKILL.md": md("b", "model: strong\n", "Second.")})
			if changed, err := r.lib.Reload(); err != nil || !changed {
				t.Errorf("reload: %t, %v", changed, err)
			}
		}
	}
	if rec := r.Say("go"); rec.Err != nil {
		t.Fatal(rec.Err)
	}
	reqs := r.Requests()
	if got := request(reqs[1]); !strings.Contains(got, "[unknown_skill]") || !strings.Contains(got, "<name>b</name>") {
		t.Errorf("the first step sees the new skill, or the second does not: %s", got)
	}
	if got := request(reqs[2]); !strings.Contains(got, "Second.") || reqs[2].Model != "strong-1" {
		t.Errorf("the new skill is not active, or its model is not used: %s", got)
	}
}

// A skill that is loaded again, and no longer names a tool, does not keep what its earlier text allowed.
func TestReload_TakesBackWhatTheSkillAllowed(t *testing.T) {
	t.Parallel()
	dir := write(t, t.TempDir(), map[string]string{"a/SKILL.md": md("a", "allowed-tools: save_note\n", "First.")})
	seen := &grants{}
	r := newRig(t, setup{folder: dir, plugins: []awaken.Plugin{seen}, ids: []string{seen.Name()}}, use("a"), llmtest.Use("save_note", `{}`), use("a"), llmtest.Say("ok"))
	r.OnEvent = func(e awaken.Entry) {
		if done, ok := e.Event.(*awaken.ToolCallDone); ok && done.Result != nil && done.Result.ToolName == "save_note" {
			write(t, dir, map[string]string{"a/SKILL.md": md("a", "", "Second.")})
			if changed, err := r.lib.Reload(); err != nil || !changed {
				t.Errorf("reload: %t, %v", changed, err)
			}
		}
	}
	if rec := r.Say("go"); rec.Err != nil {
		t.Fatal(rec.Err)
	}
	if want := []int{1, 1, 0, 0}; !slices.Equal(seen.counts, want) {
		t.Errorf("after the steps there are %v grants, want %v", seen.counts, want)
	}
}

// grants is a plugin that counts what skills allow, after each step.
type grants struct{ counts []int }

func (*grants) Name() string { return "grants" }

func (g *grants) Register(r *awaken.Registrar) error {
	r.On(awaken.PhaseStepEnd, func(_ context.Context, h *awaken.HookCall) error {
		g.counts = append(g.counts, len(builtin.Grants.Get(h)))
		return nil
	})
	return nil
}

// A library keeps its skills while its folder cannot be read, and notices that nothing changed.
func TestReload_KeepsWhatItHas(t *testing.T) {
	t.Parallel()
	parent := t.TempDir()
	dir := write(t, filepath.Join(parent, "skills"), map[string]string{"a/SKILL.md": md("a", "", "x"), "not-a-skill/README.md": "x", ".hidden/SKILL.md": md("hidden", "", "x"), "bad/SKILL.md": "no frontmatter"})
	lib, err := skills.Open(skills.Folder(dir))
	if err != nil {
		t.Fatal(err)
	}
	if got := lib.Set().Names(); !slices.Equal(got, []string{"a"}) {
		t.Errorf("the skills are %q", got)
	}
	if w := lib.Warnings(); len(w) != 1 || !strings.Contains(w[0], `skill "bad" is left out`) {
		t.Errorf("the warnings are %q", w)
	}
	if changed, err := lib.Reload(); changed || err != nil {
		t.Errorf("reload: %t, %v", changed, err)
	}
	if err := os.Rename(dir, dir+"-gone"); err != nil {
		t.Fatal(err)
	}
	if changed, err := lib.Reload(); changed || err == nil {
		t.Errorf("reload without the folder: %t, %v", changed, err)
	}
	if got := lib.Set().Get("a"); got == nil || got.Body != "x" {
		t.Errorf("the skill is %+v", got)
	}
	if _, err := skills.Open(skills.Folder(dir)); err == nil {
		t.Error("a folder that does not exist is opened")
	}
}

// Documents take precedence over files, and the first source over the second.
func TestSources_HaveAnOrder(t *testing.T) {
	t.Parallel()
	embedded := fstest.MapFS{"a/SKILL.md": {Data: []byte(md("a", "", "embedded a"))}, "b/SKILL.md": {Data: []byte(md("b", "", "embedded b"))}, "c/SKILL.md": {Data: []byte(md("c", "", "embedded c"))},
		"c/link": {Data: []byte("x"), Mode: fs.ModeSymlink}}
	dir := write(t, t.TempDir(), map[string]string{"b/SKILL.md": md("b", "", "file b"), "c/SKILL.md": md("c", "", "file c")})
	lib, err := skills.Open(skills.Folder(dir), skills.FS(embedded))
	if err != nil {
		t.Fatal(err)
	}
	doc, err := (&skills.Skill{Name: "c", Description: "d", Body: "document c"}).Seal()
	if err != nil {
		t.Fatal(err)
	}
	r := newRig(t, setup{options: skills.Options{Library: lib, Documents: []*skills.Skill{doc}}}, use("a"), use("b"), use("c"), llmtest.Say("ok"))
	r.Say("go")
	if got := r.results(); !strings.Contains(got, "embedded a") || !strings.Contains(got, "file b") || !strings.Contains(got, "document c") || strings.Contains(got, "embedded b") || strings.Contains(got, "file c") {
		t.Errorf("the texts are %s", got)
	}
	if _, err := skills.New(skills.Options{Documents: []*skills.Skill{doc, doc}}); err == nil {
		t.Error("two documents of the same name are accepted")
	}
	if _, err := skills.Open(skills.Fixed(&skills.Skill{Name: "x"})); err == nil {
		t.Error("a skill that is not sealed is accepted")
	}
}

// An agent without the plugin that shows instructions gets them as the result.
func TestSkill_WithoutActiveInstructionsReturnsThem(t *testing.T) {
	t.Parallel()
	r := newRig(t, setup{config: func(c *engine.Config) { c.Agents[0].PluginIDs = []string{skills.DiscoveryID} }}, use("meeting-notes"), llmtest.Say("ok"))
	r.Say("go")
	if got := r.results(); !strings.Contains(got, `"instructions":"# Meeting notes`) || strings.Contains(got, "<active_skill_instructions>") {
		t.Errorf("the model sees %s", got)
	}
}

// A run may have 16 skills active, and no more.
func TestSkill_ActiveOnesAreLimited(t *testing.T) {
	t.Parallel()
	files := map[string]string{}
	var turns []llmtest.Turn
	for i := range 17 {
		name := fmt.Sprintf("s%d", i)
		files[name+"/SKILL.md"] = md(name, "", "x")
		turns = append(turns, use(name))
	}
	r := newRig(t, setup{folder: write(t, t.TempDir(), files), config: func(c *engine.Config) { c.Agents[0].MaxRounds = new(30) }}, append(turns, use("s3"), llmtest.Say("ok"))...)
	r.Say("go")
	reqs := r.Requests()
	last := reqs[len(reqs)-1]
	if n := strings.Count(last.System, "<skill_instruction "); n != 16 || strings.Count(request(last), "[too_many_skills]") != 1 {
		t.Errorf("the model sees %d skills: %s", n, request(last))
	}
}
