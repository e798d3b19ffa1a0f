package main

import (
	"context"
	"encoding/json"
	"fmt"
	"io"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/awaken-go/awaken"
	"github.com/awaken-go/awaken/cmd/awaken/internal/settings"
	"github.com/awaken-go/awaken/config"
	"github.com/awaken-go/awaken/internal/testenv"
)

// hosted is a server in this process.
type hosted struct {
	t        *testing.T
	settings *settings.Settings
	url      string
	key      string   // the admin key
	log      *watched // what it logs
	stop     func()   // ends it; the second time it does nothing
}

// host starts a server on a free port, with an empty store, until the test ends.
func host(t *testing.T, change func(s *settings.Settings)) *hosted {
	t.Helper()
	s := settings.Defaults()
	s.Server.Address, s.StorageDir = "127.0.0.1:0", t.TempDir()
	s.Log.Level = "warn"
	change(s)
	h := &hosted{t: t, settings: s}
	h.start(newCode(s))
	return h
}

// start starts or restarts the server with the given code.
func (h *hosted) start(c *code) {
	h.t.Helper()
	out := &watched{text: "Ctrl-C stops", seen: make(chan struct{})}
	h.log = &watched{text: "level=ERROR", seen: make(chan struct{})}
	ctx, cancel := context.WithCancel(context.Background())
	ended := make(chan error, 1)
	var done sync.WaitGroup
	done.Go(func() {
		ended <- serve(ctx, &console{in: strings.NewReader(""), out: out, err: h.log}, h.settings, c)
	})
	h.stop = func() {
		cancel()
		done.Wait()
	}
	h.t.Cleanup(h.stop)
	select {
	case <-out.seen:
	case err := <-ended:
		h.t.Fatal(err)
	}
	h.url = listening.FindStringSubmatch(out.String())[1]
	if m := adminKey.FindStringSubmatch(out.String()); m != nil {
		h.key = m[1]
	}
}

// run runs an agent over HTTP and returns its outcome.
func (h *hosted) run(agent, text string) (response string, termination awaken.Termination, status awaken.RunStatus) {
	h.t.Helper()
	body, _ := json.Marshal(map[string]any{"agent_id": agent, "messages": []any{map[string]string{"role": "user", "content": text}}})
	var out strings.Builder
	code, err := curl(h.t.Context(), []string{"-H", "Content-Type: application/json", "-H", "Accept: application/json", "-d", string(body), h.url + "/v1/runs"}, &out)
	if err != nil || code != 200 {
		h.t.Fatalf("%s: %d %v %s", agent, code, err, out.String())
	}
	var res struct {
		Response    string
		Termination awaken.Termination
		Status      awaken.RunStatus
	}
	if err := json.Unmarshal([]byte(out.String()), &res); err != nil {
		h.t.Fatal(err)
	}
	return res.Response, res.Termination, res.Status
}

// The demo profile has all its agents with their limits, all its tools, and every agent
// answers.
func TestSeed_Demo(t *testing.T) {
	s := settings.Defaults()
	s.SeedProfile = "demo"
	docs, err := seedDocuments(s)
	if err != nil {
		t.Fatal(err)
	}
	var agents []*awaken.AgentSpec
	for _, d := range docs {
		if d.Key.Namespace != config.Agents {
			continue
		}
		a := new(awaken.AgentSpec)
		if err := json.Unmarshal(d.Spec, a); err != nil {
			t.Fatal(err)
		}
		agents = append(agents, a)
	}
	rounds := map[string]int{"default": 3, "limited": 1, "permission": 8, "travel": 3, "research": 3, "stopper": 1, "thinking": 1, "skills": 8, "a2a": 8,
		"phases": 2, "genui": 2, "a2ui": 8, "json-render": 4, "openui": 4, "json-render-ui": 1, "openui-ui": 1, "profile": 3, "creative": 3, "compact": 3,
		"budget": 3, "config-assistant": 6, "scenario": 8}
	if len(agents) != len(rounds) {
		t.Errorf("%d agents, want %d", len(agents), len(rounds))
	}
	h := host(t, func(s *settings.Settings) { s.SeedProfile = "demo" })
	for _, a := range agents {
		if a.Rounds() != rounds[a.ID] {
			t.Errorf("%s: max_rounds is %d, want %d", a.ID, a.Rounds(), rounds[a.ID])
		}
		want := "Scripted response to: hello"
		if a.ID == "openui-ui" {
			want = "root = Card("
		}
		if got, end, _ := h.run(a.ID, "hello"); !strings.HasPrefix(got, want) || end.Type != awaken.NaturalEnd {
			t.Errorf("%s: %q, %s", a.ID, got, end)
		}
		if none := a.ID == "json-render-ui" || a.ID == "openui-ui"; none != (a.AllowedTools != nil && len(a.AllowedTools) == 0) {
			t.Errorf("%s: allowed_tools is %q", a.ID, a.AllowedTools)
		}
	}
	for id, only := range map[string]string{"a2ui": "render_a2ui", "json-render": "render_json_ui", "openui": "render_openui_ui"} {
		for _, a := range agents {
			if a.ID == id && (len(a.AllowedTools) != 1 || a.AllowedTools[0] != only) {
				t.Errorf("%s: allowed_tools is %q, want %s", id, a.AllowedTools, only)
			}
		}
	}
	for call, want := range map[string]string{
		"render_json_ui {\"spec\":{\"type\":\"Card\"}}": `"type":"Card"`, "render_openui_ui {\"code\":\"root = Card([])\"}": "root = Card",
		"get_weather {\"city\":\"Paris\"}": `"temperature_c":21`, "get_stock_price {\"symbol\":\"MSFT\"}": "421.1", "append_note {\"note\":\"milk\"}": "milk",
		"serverInfo": "awaken", "failingTool": "always fails", "fail_tool": "always fails", "progress_demo {\"delay_ms\":1}": `"steps":5`,
		"add_trips {\"trips\":[{\"id\":\"1\"}]}": `"count":1`, "update_trips {\"trips\":[]}": `"count":0`, "delete_trips {\"trip_ids\":[\"1\"]}": `"count":1`,
		"select_trip {\"trip_id\":\"1\"}": `"selected":"1"`, "search_for_places {\"query\":\"cafe\"}": "The best of cafe", "search {\"query\":\"go\"}": "About go",
		"write_report {\"report\":\"ab\"}": `"characters":2`, "set_research_question {\"question\":\"why\"}": "why",
		"delete_resources {\"urls\":[\"u\"]}": `"count":1`, "extract_resources {\"resources\":[{\"url\":\"u\"}]}": `"count":1`,
	} {
		if got, end, _ := h.run("scenario", "RUN_TOOL "+call); !strings.Contains(got, want) || end.Type != awaken.NaturalEnd {
			t.Errorf("%s: %q, %s, want %q", call, got, end, want)
		}
	}
	for _, call := range []string{"delete_file {\"path\":\"x\"}", "askUserQuestion {}", "set_background_color {\"color\":\"red\"}", "get_user_location"} {
		if _, end, status := h.run("scenario", "RUN_TOOL "+call); end.Type != awaken.Suspended || status != awaken.RunWaiting {
			t.Errorf("%s: %s, %s", call, end, status)
		}
	}
	if got, _, _ := h.run("a2ui", "RUN_A2UI_TOOL"); !strings.Contains(got, `"rendered":true`) {
		t.Errorf("a2ui: %q", got)
	}
	if _, end, _ := h.run("scenario", "RUN_TOOL finish"); end.Type != awaken.BehaviorRequested {
		t.Errorf("finish: %s", end)
	}
	if _, end, _ := h.run("limited", "RUN_WEATHER_TOOL"); end.Type != awaken.Stopped {
		t.Errorf("limited: %s", end)
	}
}

// Two servers on one Postgres database: one accepts and streams, the other works.
func TestServe_Postgres(t *testing.T) {
	pg, err := testenv.StartPostgres()
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = pg.Stop() })
	url := awaken.NewSecret(pg.Database())
	front := host(t, func(s *settings.Settings) { s.DatabaseURL, s.Server.Lifecycle = url, "manual" })
	if front.key == "" {
		t.Error("the first server made no key")
	}
	if back := host(t, func(s *settings.Settings) { s.DatabaseURL = url }); back.key != "" {
		t.Error("the second server made a key too")
	}
	if got, end, _ := front.run("default", "hello"); got != "Scripted response to: hello" || end.Type != awaken.NaturalEnd {
		t.Errorf("%q, %s", got, end)
	}
	var out strings.Builder
	if status, err := curl(t.Context(), []string{"-N", "-H", "Content-Type: application/json", "-d", `{"agent_id":"default","messages":[{"role":"user","content":"hello"}]}`,
		front.url + "/v1/runs"}, &out); err != nil || status != 200 || !strings.Contains(out.String(), `"natural_end"`) {
		t.Errorf("%d %v %s", status, err, out.String())
	}
}

// On a database that machines share, a document with a secret is rejected without a key, and
// the error names the setting. With a key, every server can use the secret.
func TestServe_PostgresSecrets(t *testing.T) {
	pg, err := testenv.StartPostgres()
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = pg.Stop() })
	url, key := awaken.NewSecret(pg.Database()), awaken.NewSecret(config.NewKey())
	bare := host(t, func(s *settings.Settings) { s.DatabaseURL = url })
	put := func(h *hosted, admin string) (int, string) {
		var out strings.Builder
		status, err := curl(t.Context(), []string{"-X", "PUT", "-H", "Authorization: Bearer " + admin, "-H", "Content-Type: application/json", "-d", `{"id":"p","adapter":"openai","api_key":"sk-very-secret"}`,
			h.url + "/v1/config/providers/p"}, &out)
		if err != nil {
			t.Fatal(err)
		}
		return status, out.String()
	}
	if status, text := put(bare, bare.key); status != 400 || !strings.Contains(text, "secrets.key_file") {
		t.Errorf("%d %s, want 400 and the name of the setting", status, text)
	}
	if err := addSecretKey(&console{err: io.Discard}, bare.settings); err == nil || !strings.Contains(err.Error(), "AWAKEN_SECRETS_KEY_FILE") {
		t.Errorf("error is %v, want the name of the setting", err)
	}
	with := host(t, func(s *settings.Settings) { s.DatabaseURL, s.Secrets.Key = url, key })
	if status, text := put(with, bare.key); status != 200 || !strings.Contains(text, `"has_api_key":true`) {
		t.Errorf("%d %s", status, text)
	}
	other := host(t, func(s *settings.Settings) { s.DatabaseURL, s.Secrets.Key = url, awaken.NewSecret(config.NewKey()) })
	other.key = bare.key
	var found struct{ Diagnostics []struct{ Message string } }
	other.call("GET", "/v1/config/diagnostics", nil, &found)
	if len(found.Diagnostics) == 0 || !strings.Contains(found.Diagnostics[0].Message, "encryption key is not available") {
		t.Errorf("diagnostics are %v, want that the key is not there", found.Diagnostics)
	}
	if got, _, _ := other.run("default", "hello"); got != "Scripted response to: hello" {
		t.Errorf("a server with another key answers %q", got)
	}
}

// Unused threads of every tenant are deleted, whether it has a key or not.
func TestRetention_DeletesUnusedThreads(t *testing.T) {
	s := settings.Defaults()
	s.StorageDir = t.TempDir()
	b, err := openBackend(t.Context(), s, true, nil)
	if err != nil {
		t.Fatal(err)
	}
	defer b.close(&err)
	for _, tenant := range []string{"", "acme"} { // which has no key: its clients come with tokens
		store := b.queue.Handle(tenant).(interface {
			CreateThread(ctx context.Context, t *awaken.Thread) error
		})
		if err := store.CreateThread(t.Context(), &awaken.Thread{ID: "old"}); err != nil {
			t.Fatal(err)
		}
	}
	if n, err := prune(t.Context(), time.Now().Add(-time.Hour), b); n != 0 || err != nil {
		t.Errorf("%d deleted, %v; want none", n, err)
	}
	if n, err := prune(t.Context(), time.Now().Add(time.Minute), b); n != 2 || err != nil {
		t.Errorf("%d deleted, %v; want 2", n, err)
	}
	for _, tenant := range []string{"", "acme"} {
		if list, err := b.queue.Handle(tenant).ListThreads(t.Context(), awaken.ThreadQuery{}); err != nil || len(list) > 0 {
			t.Errorf("%v, %v", fmt.Sprint(len(list)), err)
		}
	}
}

// The admin assistant of the demo works without a key: it answers with the scripted model and
// calls its tools.
func TestDemo_AssistantWorksOnTheScriptedModel(t *testing.T) {
	h := host(t, func(s *settings.Settings) { s.SeedProfile = "demo" })
	ask := func(args ...string) string {
		t.Helper()
		var out strings.Builder
		code, err := curl(t.Context(), append([]string{"-H", "Authorization: Bearer " + h.key, "-H", "Content-Type: application/json"}, args...), &out)
		if err != nil || code != 200 {
			t.Fatalf("%d %v %s", code, err, out.String())
		}
		return out.String()
	}
	if got := ask(h.url + "/v1/capabilities"); !strings.Contains(got, `"enabled":true,"disabled_reason":null,"model_id":"default"`) {
		t.Errorf("capabilities are %s", got)
	}
	got := ask("-d", `{"id":"t","messages":[{"role":"user","content":"RUN_TOOL admin_get_platform_capabilities {}"}]}`, h.url+"/v1/admin/assistant/runs")
	if !strings.Contains(got, `"type":"tool-output-available"`) || !strings.Contains(got, "config-assistant") {
		t.Errorf("the assistant answers %s", got)
	}
}

// An agent that another one hands threads to cannot be deleted: the answer says what uses it.
func TestAgent_NamedByAHandoffIsInUse(t *testing.T) {
	h := host(t, func(s *settings.Settings) { s.SeedProfile = "demo" })
	ask := func(want int, args ...string) string {
		t.Helper()
		var out strings.Builder
		code, err := curl(t.Context(), append([]string{"-H", "Authorization: Bearer " + h.key, "-H", "Content-Type: application/json"}, args...), &out)
		if err != nil || code != want {
			t.Fatalf("%d %v %s", code, err, out.String())
		}
		return out.String()
	}
	ask(201, "-d", `{"id":"target","model_id":"default"}`, h.url+"/v1/config/agents")
	ask(201, "-d", `{"id":"desk","model_id":"default","plugin_ids":["agent_handoff"],"sections":{"agent_handoff":{"agents":["target"]}}}`, h.url+"/v1/config/agents")
	if got := ask(409, "-X", "DELETE", h.url+"/v1/config/agents/target"); !strings.Contains(got, `"in_use"`) || !strings.Contains(got, `"id":"desk"`) {
		t.Errorf("the answer is %s", got)
	}
	ask(204, "-X", "DELETE", h.url+"/v1/config/agents/desk")
	ask(204, "-X", "DELETE", h.url+"/v1/config/agents/target")
}

// Variables of the original's starters that are set but not acted on are reported at start.
func TestServe_WarnsAboutVariablesOfTheOriginal(t *testing.T) {
	t.Setenv("AGENT_ID", "helper")
	t.Setenv("RUST_LOG", "debug")
	h := host(t, func(*settings.Settings) {})
	h.stop()
	for name, want := range map[string]bool{"AGENT_ID": true, "OPENAI_ADAPTER": false, "A2A_REMOTE_URL": false, "RUST_LOG": true, "AGENT_CONFIG": false} {
		if got := strings.Contains(h.log.String(), "variable="+name); got != want {
			t.Errorf("%s: warned is %v; the log has %s", name, got, h.log.String())
		}
	}
}
