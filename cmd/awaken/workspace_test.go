package main

import (
	"encoding/json"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/awaken-go/awaken"
	"github.com/awaken-go/awaken/awakentest"
	"github.com/awaken-go/awaken/cmd/awaken/internal/settings"
	"github.com/awaken-go/awaken/engine"
	"github.com/awaken-go/awaken/internal/sandbox"
	"github.com/awaken-go/awaken/llm/llmtest"
	"github.com/awaken-go/awaken/plugin/permission"
	"github.com/awaken-go/awaken/plugin/workspace"
)

// The guide docs/workspace.md works as written, on a server with a folder for workspaces.
func TestWorkspace_Guide(t *testing.T) {
	if err := sandbox.Available(); err != nil {
		t.Skip(err)
	}
	dir := reachable(t)
	h := host(t, func(s *settings.Settings) {
		s.SeedProfile, s.Workspace.Dir, s.Workspace.Shell = "demo", filepath.Join(dir, "workspaces"), true
	})
	lines := curlLines(t, "docs/workspace.md")
	if len(lines) != 4 {
		t.Fatalf("docs/workspace.md has %d commands, want 4", len(lines))
	}
	vars := map[string]string{"AWAKEN_KEY": h.key}
	for i, line := range lines {
		got, want := runCurl(t, h, line, vars), []string{"", "HELLO", "olleh", "does not exist"}[i]
		if !strings.Contains(got, want) {
			t.Errorf("%s: the answer is %s, want %s", line, got, want)
		}
	}
	found, err := filepath.Glob(filepath.Join(dir, "workspaces/tenant-*/thread-notes.*/hello.txt"))
	if err != nil || len(found) != 1 {
		t.Errorf("the file is %v, %v", found, err)
	}
}

// A server removes the workspaces of threads that were deleted while it was down, or before the process that deleted them was lost, and
// none of another database.
func TestWorkspace_OfDeletedThreads(t *testing.T) {
	dir := reachable(t)
	h := host(t, func(s *settings.Settings) { s.SeedProfile, s.Workspace.Dir = "demo", dir })
	h.call("PUT", "/v1/config/agents/coder", json.RawMessage(`{"id":"coder","model_id":"default","system_prompt":"You write.","plugin_ids":["workspace"],"sections":{"workspace":{"write":true}}}`), nil)
	for _, thread := range []string{"gone", "stays"} {
		h.call("POST", "/v1/runs", map[string]any{"agent_id": "coder", "thread_id": thread, "stream": false, "messages": []any{map[string]string{"role": "user", "content": `RUN_TOOL file_write {"path":"a.txt","text":"x"}`}}}, nil)
	}
	foreign := filepath.Join(dir, "tenant-acme", "thread-other")
	if err := os.MkdirAll(foreign, 0o700); err != nil {
		t.Fatal(err)
	}
	if err := os.WriteFile(foreign+".json", []byte(`{"tenant":"acme","thread":"other","origin":"another database"}`), 0o600); err != nil {
		t.Fatal(err)
	}
	h.call("DELETE", "/v1/threads/gone", nil, nil)
	h.stop()
	h.start(newCode(h.settings))
	folders := func() []string {
		found, err := filepath.Glob(filepath.Join(dir, "tenant-*/*/a.txt"))
		if err != nil {
			t.Fatal(err)
		}
		return found
	}
	for end := time.Now().Add(time.Minute); len(folders()) > 1 && time.Now().Before(end); time.Sleep(20 * time.Millisecond) {
	}
	if found := folders(); len(found) != 1 || !strings.Contains(found[0], "thread-stays.") {
		t.Errorf("the folders are %q", found)
	}
	if _, err := os.Stat(foreign); err != nil {
		t.Errorf("the folder of another database: %v", err)
	}
}

// reachable returns a folder that other users can reach.
func reachable(t *testing.T) string {
	t.Helper()
	dir, err := os.MkdirTemp("", "awaken-workspace-")
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = os.RemoveAll(dir) })
	if err := os.Chmod(dir, 0o755); err != nil {
		t.Fatal(err)
	}
	return dir
}

// Every setting of workspaces has its effect on what agents may say.
func TestWorkspace_Settings(t *testing.T) {
	t.Parallel()
	agent := func(section string) *awaken.AgentSpec {
		return &awaken.AgentSpec{ID: "a", PluginIDs: []string{workspace.Name}, Sections: map[string]json.RawMessage{workspace.Name: json.RawMessage(section)}}
	}
	for _, tt := range []struct {
		name, section string
		set           func(s *settings.Settings)
		want          string // in the error; "" means none
	}{
		{"no shell", `{"shell":{"enabled":true}}`, func(*settings.Settings) {}, "shell.enabled is true, but this program does not run commands"},
		{"shell", `{"shell":{"enabled":true}}`, func(s *settings.Settings) { s.Workspace.Shell = true }, ""},
		{"no network", `{"shell":{"enabled":true,"network":true}}`, func(s *settings.Settings) { s.Workspace.Shell = true }, "gives commands no network"},
		{"network", `{"shell":{"enabled":true,"network":true}}`, func(s *settings.Settings) { s.Workspace.Shell, s.Workspace.ShellNetwork = true, true }, ""},
		{"no env", `{"shell":{"enabled":true,"env":["TZ"]}}`, func(s *settings.Settings) { s.Workspace.Shell = true }, `shell.env[0] is "TZ"`},
		{"env", `{"shell":{"enabled":true,"env":["TZ"]}}`, func(s *settings.Settings) { s.Workspace.Shell, s.Workspace.ShellEnv = true, []string{"TZ"} }, ""},
	} {
		s := settings.Defaults()
		s.Workspace.Dir = t.TempDir()
		tt.set(s)
		spec := agent(tt.section)
		spec.ModelID = "m"
		_, err := engine.New(engine.Config{Agents: []*awaken.AgentSpec{spec}, Models: []awaken.ModelSpec{{ID: "m", ProviderID: "p", UpstreamModel: "u"}}, Plugins: []awaken.Plugin{workspacePlugin(s, "")}})
		if tt.want != "" && (err == nil || !strings.Contains(err.Error(), tt.want)) || tt.want == "" && err != nil && strings.Contains(err.Error(), "shell") {
			t.Errorf("%s: the error is %v, want %q", tt.name, err, tt.want)
		}
	}
	s := settings.Defaults()
	s.Workspace.Shell = true
	if _, err := openWorkspace(t.Context(), s, nil, nil); err == nil || !strings.Contains(err.Error(), "workspace.dir is empty") {
		t.Errorf("a shell without a folder: %v", err)
	}
	for scope, same := range map[string]bool{"thread": false, "tenant": true} {
		s := settings.Defaults()
		s.Workspace.Dir, s.Workspace.Scope, s.Workspace.MaxBytes = t.TempDir(), scope, 10_000
		spec := agent(`{"write":true}`)
		spec.ID = engine.DefaultAgentID
		h := awakentest.New(t, engine.Config{Agents: []*awaken.AgentSpec{spec}, Plugins: []awaken.Plugin{workspacePlugin(s, "")}}, llmtest.Use("file_write", `{"path":"mine","text":"x"}`), llmtest.Say("ok"),
			llmtest.Use("file_list", `{}`), llmtest.Say("ok"), llmtest.Use("file_write", `{"path":"big","text":"`+strings.Repeat("x", 20_000)+`"}`), llmtest.Say("ok"))
		last := func() (text string) {
			rec := h.Say("go") // on a new thread
			for _, m := range h.Messages(rec.Result.ThreadID) {
				if m.ToolCallID != "" {
					text = m.Text()
				}
			}
			return text
		}
		if _, got := last(), last(); strings.Contains(got, "mine") != same {
			t.Errorf("%s: another thread sees %s", scope, got)
		}
		if got := last(); !strings.Contains(got, "the workspace is full") {
			t.Errorf("%s: a file above max_bytes: %s", scope, got)
		}
	}
}

// Permission rules decide about commands, whatever the section says.
func TestWorkspace_PermissionRules(t *testing.T) {
	t.Parallel()
	if err := sandbox.Available(); err != nil {
		t.Skip(err)
	}
	for _, tt := range []struct {
		section, rules string
		asks           bool
	}{
		{`{"shell":{"enabled":true}}`, `{"rules":[{"tool":"shell","behavior":"allow"}]}`, false},
		{`{"shell":{"enabled":true,"approval":"allow"}}`, `{"rules":[{"tool":"shell","behavior":"ask"}]}`, true},
	} {
		s := settings.Defaults()
		s.Workspace.Dir, s.Workspace.Shell = reachable(t), true
		spec := &awaken.AgentSpec{ID: engine.DefaultAgentID, PluginIDs: []string{workspace.Name, permission.Name}, Sections: map[string]json.RawMessage{workspace.Name: json.RawMessage(tt.section), permission.Name: json.RawMessage(tt.rules)}}
		h := awakentest.New(t, engine.Config{Agents: []*awaken.AgentSpec{spec}, Plugins: []awaken.Plugin{workspacePlugin(s, ""), permission.New(permission.Config{})}}, llmtest.Use("shell", `{"command":"echo ran"}`), llmtest.Say("ok"))
		rec := h.Say("go")
		if asked := rec.Result.Termination.Type == awaken.Suspended; asked != tt.asks {
			t.Errorf("%s: it asks: %t (%+v)", tt.rules, asked, rec.Result)
		}
	}
}
