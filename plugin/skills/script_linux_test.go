package skills_test

import (
	"encoding/json"
	"fmt"
	"strings"
	"testing"

	"github.com/awaken-go/awaken"
	"github.com/awaken-go/awaken/engine"
	"github.com/awaken-go/awaken/llm/llmtest"
	"github.com/awaken-go/awaken/plugin/skills"
	"github.com/awaken-go/awaken/store/memory"
)

const count = `{"skill":"meeting-notes","script":"scripts/count.py","args":["TODO a","done","TODO b"]}`

// A call of a script asks a person, unless the agent says otherwise, and is in the ledger as an
// effectful call.
func TestScript_AsksAndRuns(t *testing.T) {
	t.Parallel()
	runner := skills.Options{Runner: skills.NewRunner(skills.RunnerOptions{})}
	for _, tt := range []struct {
		name, section string
		asks          bool
	}{
		{"by default", `{}`, true},
		{"ask", `{"scripts":"ask"}`, true},
		{"allowed", `{"scripts":"allow"}`, false},
	} {
		t.Run(tt.name, func(t *testing.T) {
			t.Parallel()
			r := newRig(t, setup{section: tt.section, options: runner}, llmtest.Use("skill_script", count), llmtest.Say("ok"))
			rec := r.Say("go")
			if tt.asks {
				if rec.Result == nil || rec.Result.Termination.Type != awaken.Suspended || !strings.HasPrefix(rec.Result.Waiting.Tickets[0].TicketID, "skill_") {
					t.Fatalf("the call does not ask: %+v, %v", rec.Result, rec.Err)
				}
				rec = r.Resume(rec.Result.RunID, awaken.Decision{Target: rec.Result.Waiting.Tickets[0].TicketID, Action: awaken.ActionResume})
			}
			if got := r.results(); rec.Err != nil || rec.Result.Response != "ok" || !strings.Contains(got, "2 action items") && !strings.Contains(got, "sandbox_unavailable") {
				t.Errorf("the script says %s (%v)", got, rec.Err)
			}
			calls, err := r.Store.Calls(t.Context(), rec.Result.RunID)
			if err != nil || len(calls) != 1 || calls[0].ToolName != "skill_script" || calls[0].Key == "" {
				t.Errorf("the ledger has %+v (%v)", calls, err)
			}
		})
	}
}

// What is no script of the skill does not run.
func TestScript_Refuses(t *testing.T) {
	t.Parallel()
	many, long := make([]string, 65), []string{strings.Repeat("a", 9000)}
	for _, tt := range []struct {
		skill, script string
		args          []string
		want          string
	}{
		{"nothing", "scripts/count.py", nil, "[unknown_skill]"}, {"fix-issue", "scripts/x.sh", nil, "[model_invocation_disabled]"}, {"meeting-notes", "scripts/other.py", nil, "[not_found]"},
		{"meeting-notes", "references/format.md", nil, "[unsupported_path]"}, {"meeting-notes", "../../x", nil, "[path_escapes_root]"}, {"meeting-notes", "/bin/ls", nil, "[path_escapes_root]"},
		{"meeting-notes", "scripts/count.py\x00", nil, "[invalid_path]"}, {"meeting-notes", "scripts/count.py", many, "[invalid_arguments]"}, {"meeting-notes", "scripts/count.py", long, "[invalid_arguments]"},
		{"meeting-notes", "scripts/count.py", []string{"a\x00b"}, "[invalid_arguments]"},
	} {
		args, err := json.Marshal(map[string]any{"skill": tt.skill, "script": tt.script, "args": tt.args})
		if err != nil {
			t.Fatal(err)
		}
		if tt.args == nil {
			args = fmt.Appendf(nil, `{"skill":%q,"script":%s}`, tt.skill, quote(tt.script))
		}
		r := newRig(t, setup{section: `{"scripts":"allow"}`, options: skills.Options{Runner: skills.NewRunner(skills.RunnerOptions{})}}, llmtest.Use("skill_script", string(args)), llmtest.Say("ok"))
		r.Say("go")
		if got := r.results(); !strings.Contains(got, tt.want) || strings.Contains(got, "exit_code") {
			t.Errorf("%s of %s: %s, want %s", tt.script, tt.skill, got, tt.want)
		}
	}
}

func quote(s string) string {
	data, _ := json.Marshal(s)
	return string(data)
}

// A forked skill that waits for a person waits as its parent does, and another process continues
// both; the child has its text, although the skill is gone.
func TestFork_WaitsAndContinuesElsewhere(t *testing.T) {
	t.Parallel()
	dir := write(t, t.TempDir(), map[string]string{"alone/SKILL.md": md("alone", "context: fork\nallowed-tools: ask\n", "Ask, about $ARGUMENTS.")})
	store := memory.New()
	ask := awaken.FrontendTool(awaken.ToolSpec{ID: "ask"})
	with := func(c *engine.Config) { c.Store, c.Tools = store, append(c.Tools, ask) }
	first := newRig(t, setup{folder: dir, config: with}, use("alone", `,"args":"tea"`), llmtest.Use("ask", `{}`))
	rec := first.Say("go")
	if rec.Err != nil || rec.Result.Termination.Type != awaken.Suspended || len(rec.Result.Waiting.Tickets) != 1 {
		t.Fatal(rec.Err, rec.Result)
	}
	second := newRig(t, setup{folder: dir, config: with}, llmtest.Use("other", `{}`), llmtest.Say("tea it is"), llmtest.Say("done"))
	rec = second.Resume(rec.Result.RunID, awaken.Decision{Target: rec.Result.Waiting.Tickets[0].TicketID, Action: awaken.ActionResume, Result: json.RawMessage(`"yes"`)})
	if rec.Err != nil || rec.Result.Response != "done" {
		t.Fatal(rec.Err, rec.Result)
	}
	reqs := second.Requests()
	if got := request(reqs[0]); !strings.Contains(got, "Ask, about tea.") {
		t.Errorf("the child sees %s", got)
	}
	if got := request(reqs[1]); !strings.Contains(got, "[tool_not_allowed]") || len(second.made) > 0 {
		t.Errorf("the child may use other tools: %s", got)
	}
	if got := request(reqs[2]); !strings.Contains(got, `"response":"tea it is"`) {
		t.Errorf("the parent sees %s", got)
	}
}
