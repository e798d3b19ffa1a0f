package skills_test

import (
	"encoding/json"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/awaken-go/awaken"
	"github.com/awaken-go/awaken/engine"
	"github.com/awaken-go/awaken/internal/sandbox"
	"github.com/awaken-go/awaken/llm"
	"github.com/awaken-go/awaken/llm/llmtest"
	"github.com/awaken-go/awaken/plugin/skills"
	"github.com/awaken-go/awaken/store/file"
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

// A script whose server is killed ends, is in doubt, and is not repeated when another takes the run over.
func TestScript_ServerIsKilled(t *testing.T) {
	seconds := fmt.Sprint(72_000_000 + os.Getpid()) // which nothing else sleeps
	options := func(dir string) setup {
		st, err := file.Open(filepath.Join(dir, "store"), nil)
		if err != nil {
			t.Fatal(err)
		}
		t.Cleanup(func() { _ = st.Close() })
		return setup{folder: filepath.Join(dir, "skills"), section: `{"scripts":"allow"}`, options: skills.Options{Runner: skills.NewRunner(skills.RunnerOptions{})}, config: func(c *engine.Config) { c.Store = st }}
	}
	if dir := os.Getenv("SKILLS_SERVER"); dir != "" {
		r := newRig(t, options(dir), llmtest.Use("skill_script", `{"skill":"slow","script":"scripts/x.sh"}`))
		r.Run(awaken.RunRequest{ThreadID: "t", RunID: "r", Messages: []*llm.Message{llm.UserText("go")}})
		return
	}
	if err := sandbox.Available(); err != nil {
		t.Skip(err)
	}
	dir := t.TempDir()
	write(t, filepath.Join(dir, "skills"), map[string]string{"slow/SKILL.md": md("slow", "", "Wait."), "slow/scripts/x.sh": "setsid sleep " + seconds + " & sleep " + seconds})
	server := exec.Command("/proc/self/exe", "-test.run=^TestScript_ServerIsKilled$")
	server.Env = append(os.Environ(), "SKILLS_SERVER="+dir)
	if err := server.Start(); err != nil {
		t.Fatal(err)
	}
	await(t, "the script begins", func() bool { return sleepers(seconds) > 0 })
	if err := server.Process.Kill(); err != nil {
		t.Fatal(err)
	}
	_ = server.Wait()
	await(t, "the script ends", func() bool { return sleepers(seconds) == 0 })
	r := newRig(t, options(dir), llmtest.Say("told"))
	rec := r.Run(awaken.RunRequest{Continue: "r"})
	if got := r.results(); rec.Err != nil || rec.Result.Response != "told" || !strings.Contains(got, "[in_doubt]") || strings.Contains(got, "exit_code") || sleepers(seconds) > 0 {
		t.Errorf("the model is told %s (%v)", got, rec.Err)
	}
}

// await waits until something is so.
func await(t *testing.T, what string, so func() bool) {
	t.Helper()
	for range 6000 {
		if so() {
			return
		}
		time.Sleep(10 * time.Millisecond)
	}
	t.Fatalf("waited in vain: %s", what)
}

// sleepers counts the processes that sleep so many seconds.
func sleepers(seconds string) (n int) {
	lines, _ := filepath.Glob("/proc/[0-9]*/cmdline")
	for _, f := range lines {
		if data, _ := os.ReadFile(f); string(data) == "sleep\x00"+seconds+"\x00" {
			n++
		}
	}
	return n
}
