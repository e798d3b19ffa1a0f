package main

import (
	"bytes"
	"encoding/json"
	"fmt"
	"io"
	"io/fs"
	"net/http"
	"net/http/httptest"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"sync"
	"syscall"
	"testing"
	"time"
)

// spilling is an endpoint that rejects every request with an error that contains the
// credentials it was given.
type spilling struct {
	*httptest.Server
	mu  sync.Mutex
	got strings.Builder
}

func startSpilling(t *testing.T) *spilling {
	s := &spilling{}
	s.Server = httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		var given strings.Builder
		for name, values := range r.Header {
			fmt.Fprintf(&given, "%s: %s; ", name, strings.Join(values, ","))
		}
		s.mu.Lock()
		s.got.WriteString(given.String())
		s.mu.Unlock()
		w.Header().Set("Content-Type", "application/json")
		w.WriteHeader(http.StatusUnauthorized)
		_ = json.NewEncoder(w).Encode(map[string]any{"error": map[string]any{"message": "these are wrong: " + given.String(), "code": "invalid_api_key"}})
	}))
	t.Cleanup(s.Close)
	return s
}

// leaks looks for secrets where none may be.
type leaks struct {
	t        *testing.T
	secrets  map[string]string // by what they are
	searched int
}

func (l *leaks) search(where string, data []byte) {
	l.t.Helper()
	l.searched++
	for what, secret := range l.secrets {
		if i := bytes.Index(data, []byte(secret)); i >= 0 {
			l.t.Errorf("%s has the secret of %s: …%q…", where, what, data[max(i-80, 0):min(i+len(secret)+20, len(data))])
		}
	}
}

// folder searches all files of a folder but one.
func (l *leaks) folder(dir, except string) (files []string) {
	l.t.Helper()
	err := filepath.WalkDir(dir, func(path string, d fs.DirEntry, err error) error {
		if err != nil || d.IsDir() || path == except {
			return err
		}
		data, err := os.ReadFile(path)
		if err != nil {
			return err
		}
		files = append(files, filepath.Base(path))
		l.search(path, data)
		return nil
	})
	if err != nil {
		l.t.Fatal(err)
	}
	return files
}

// Secrets are planted in every place that takes one, used, and made part of errors. None is
// in an answer, the log, the database, an export, or any other file but that of the key.
func TestSecrets_NeverShown(t *testing.T) {
	provider := startSpilling(t)
	dir := t.TempDir()
	l := &leaks{t: t, secrets: map[string]string{}}
	plant := func(what string) string {
		s := "canary" + strings.ReplaceAll(what, " ", "") + "Zq7Xw93Lk"
		l.secrets[what] = s
		return s
	}
	admin := plant("admin token")
	env := append(slices.DeleteFunc(os.Environ(), func(kv string) bool {
		return strings.HasPrefix(kv, "AWAKEN_") || strings.HasPrefix(kv, "AGENT_") || strings.HasPrefix(kv, "OPENAI_")
	}), "AWAKEN_ADMIN_API_BEARER_TOKEN="+admin, "AWAKEN_STORAGE_DIR="+dir, "AWAKEN_OUTBOUND_ALLOW=127.0.0.0/8", "AWAKEN_LOG_LEVEL=debug", "AWAKEN_SERVER_SHUTDOWN_TIMEOUT_SECS=5")
	exe, err := os.Executable()
	if err != nil {
		t.Fatal(err)
	}
	program := func(args ...string) *exec.Cmd {
		return &exec.Cmd{Path: exe, Args: append([]string{"awaken"}, args...), Env: env, Dir: t.TempDir()}
	}
	var url string
	var log *watched
	var cmd *exec.Cmd
	start := func() {
		out := &watched{text: "Ctrl-C stops", seen: make(chan struct{})}
		log = &watched{text: "\x00", seen: make(chan struct{})}
		cmd = program("serve", "--address", "127.0.0.1:0")
		cmd.Stdout, cmd.Stderr = out, log
		if err := cmd.Start(); err != nil {
			t.Fatal(err)
		}
		server := cmd
		t.Cleanup(func() { _ = server.Process.Kill() })
		select {
		case <-out.seen:
		case <-time.After(30 * time.Second):
			t.Fatalf("the server does not start: %s", log)
		}
		url = listening.FindStringSubmatch(out.String())[1]
		l.search("the greeting", []byte(out.String()))
	}
	stop := func() {
		_ = cmd.Process.Signal(syscall.SIGTERM)
		if err := cmd.Wait(); err != nil {
			t.Errorf("the server ended with %v: %s", err, log)
		}
		l.search("the log", []byte(log.String()))
	}
	start()
	key, err := os.ReadFile(filepath.Join(dir, secretKeyName))
	if err != nil {
		t.Fatal(err)
	}
	l.secrets["the key file"] = strings.TrimSpace(string(key))

	// ask asks for something, and looks for secrets in the answer. Want is its status; 0 is any.
	ask := func(want int, method, path string, body any) []byte {
		t.Helper()
		var in io.Reader
		if text, ok := body.(string); ok {
			in = strings.NewReader(text)
		} else if body != nil {
			data, err := json.Marshal(body)
			if err != nil {
				t.Fatal(err)
			}
			in = bytes.NewReader(data)
		}
		req, err := http.NewRequestWithContext(t.Context(), method, url+path, in)
		if err != nil {
			t.Fatal(err)
		}
		req.Header.Set("Authorization", "Bearer "+admin)
		if in != nil {
			req.Header.Set("Content-Type", "application/json")
		}
		resp, err := http.DefaultClient.Do(req)
		if err != nil {
			t.Fatal(err)
		}
		defer resp.Body.Close()
		data, err := io.ReadAll(resp.Body)
		if err != nil {
			t.Fatal(err)
		}
		if want != 0 && resp.StatusCode != want {
			t.Errorf("%s %s: %d, want %d: %s", method, path, resp.StatusCode, want, data)
		}
		l.search(method+" "+path, data)
		l.search(method+" "+path+" (headers)", fmt.Append(nil, resp.Header))
		return data
	}

	type doc = map[string]any
	bearer := func(what string) doc { return doc{"type": "bearer", "token": plant(what)} }
	account, _ := json.Marshal(doc{"type": "service_account", "project_id": "p", "private_key": plant("service account"), "client_email": "a@p.iam.gserviceaccount.com", "token_uri": "https://oauth2.googleapis.com/token"})
	planted := []struct {
		path string
		doc  doc
	}{
		{"providers/spill", doc{"id": "spill", "adapter": "openai", "base_url": provider.URL + "/v1", "api_key": plant("api_key"), "adapter_options": doc{"headers": doc{"X-Extra": plant("header")}}}},
		{"providers/google", doc{"id": "google", "adapter": "vertex", "api_key": string(account), "adapter_options": doc{"credentials_kind": "service_account_json", "location": "europe-west1"}}},
		{"models/m", doc{"id": "m", "provider_id": "spill", "upstream_model": "gpt-5.5", "context_window": 1000}},
		{"mcp-servers/local", doc{"id": "local", "transport": "stdio", "command": "true", "env": doc{"TOKEN": plant("mcp env")}}},
		{"mcp-servers/far", doc{"id": "far", "transport": "http", "url": "http://127.0.0.1:1/", "config": doc{"token": plant("mcp config"), "headers": doc{"X-Key": plant("mcp header")}}}},
		{"a2a-servers/other", doc{"id": "other", "base_url": "https://a2a.example", "auth": bearer("a2a auth"), "options": doc{"api_key": plant("a2a option")}}},
		{"agents/remote?publish=false", doc{"id": "remote", "endpoint": doc{"base_url": "https://agent.example", "auth": bearer("endpoint"), "options": doc{"headers": doc{"X": plant("endpoint header")}}}}},
		{"agents/local", doc{"id": "local", "model_id": "m", "sections": doc{"mine": doc{"password": plant("section"), "list": []doc{{"api_token": plant("section list")}}}}}},
	}
	for _, p := range planted {
		ns, _, _ := strings.Cut(p.path, "/")
		ask(0, "POST", "/v1/config/"+ns+"/validate", p.doc) // this program has no backend for the remote agent
		ask(200, "PUT", "/v1/config/"+p.path, p.doc)
		path, _, _ := strings.Cut(p.path, "?")
		ask(200, "GET", "/v1/config/"+path, nil)
		ask(200, "GET", "/v1/config/"+path+"/meta", nil)
	}

	// Mistakes in documents do not show what is in them.
	for _, p := range planted {
		for _, change := range []doc{{"unknown_field": plant("unknown field")}, {"id": doc{"x": plant("wrong id")}}, {"base_url": "https://user:" + plant("password in a URL") + "@h/"},
			{"api_key": []string{plant("wrong type")}}, {"timeout_secs": plant("wrong number")}} {
			bad := doc{}
			for name, v := range p.doc {
				bad[name] = v
			}
			for name, v := range change {
				bad[name] = v
			}
			ask(400, "PUT", "/v1/config/"+p.path, bad)
		}
		ask(400, "PUT", "/v1/config/"+p.path, `{"id":"x","api_key":"`+plant("broken JSON"))
	}

	// They are used, and the provider spills them.
	ask(200, "POST", "/v1/providers/spill/test", nil)
	ask(0, "POST", "/v1/providers/google/test", nil)
	var run struct {
		RunID string `json:"run_id"`
	}
	hello := []doc{{"role": "user", "content": "hello"}}
	_ = json.Unmarshal(ask(200, "POST", "/v1/runs", doc{"agent_id": "local", "thread_id": "t", "stream": false, "messages": hello}), &run)
	ask(200, "POST", "/v1/runs", doc{"agent_id": "local", "thread_id": "t2", "messages": hello})
	ask(0, "POST", "/v1/runs", doc{"agent_id": "remote", "thread_id": "t3", "stream": false, "messages": hello})
	provider.mu.Lock()
	for _, what := range []string{"api_key", "header"} {
		if !strings.Contains(provider.got.String(), l.secrets[what]) {
			t.Errorf("the provider did not get the %s: %s", what, provider.got.String())
		}
	}
	provider.mu.Unlock()

	// Everything that tells about it.
	for _, path := range []string{"/v1/runs/" + run.RunID, "/v1/runs/" + run.RunID + "/events", "/v1/threads/t", "/v1/threads/t/messages", "/v1/threads/t/runs", "/v1/config/diagnostics", "/v1/capabilities",
		"/v1/agents", "/v1/agents/local", "/v1/agents/runtime-stats", "/v1/registry/versions", "/v1/registry/drafts", "/v1/registry/canary", "/v1/audit-log?limit=1000", "/metrics", "/v1/system/info",
		"/v1/system/modules", "/v1/keys", "/v1/dead-letters", "/openapi.json", "/v1/admin/assistant/config", "/v1/config/providers",
		"/v1/config/mcp-servers", "/v1/config/a2a-servers", "/v1/config/agents", "/v1/config/providers/meta", "/v1/config/providers/spill/removal-preview", "/v1/agents/local/permission-preview"} {
		ask(200, "GET", path, nil)
	}
	for _, path := range []string{"/v1/mcp-servers/local/status", "/v1/mcp-servers/far/status", "/v1/a2a-servers/other/status"} {
		ask(0, "GET", path, nil)
	}
	ask(0, "POST", "/v1/mcp-servers/far/restart", nil)
	said := []doc{{"id": "1", "role": "user", "parts": []doc{{"type": "text", "text": "hello"}}}}
	kept := doc{"id": "local", "model_id": "m", "system_prompt": "new", "sections": doc{"mine": doc{"password": "***", "list": []doc{{"api_token": "***"}}}}}
	ask(400, "POST", "/v1/ai-sdk/agent-previews/runs", doc{"agent": planted[len(planted)-1].doc, "messages": said}) // a secret of its own would be kept
	ask(200, "POST", "/v1/ai-sdk/agent-previews/runs", doc{"agent": kept, "messages": said})
	ask(200, "POST", "/v1/admin/assistant/runs", doc{"messages": said})
	type version struct {
		Number int64
		Kind   string
	}
	var versions struct{ Items []version }
	_ = json.Unmarshal(ask(200, "GET", "/v1/registry/versions", nil), &versions)
	if len(versions.Items) < len(planted) {
		t.Errorf("there are %d versions, want one for each of %d documents", len(versions.Items), len(planted))
	}
	for _, v := range versions.Items {
		ask(200, "GET", fmt.Sprintf("/v1/registry/versions/%d", v.Number), nil)
	}

	// Other secrets, what was before, and back.
	again := doc{}
	for name, v := range planted[0].doc {
		again[name] = v
	}
	again["api_key"] = plant("second api_key")
	ask(200, "PUT", "/v1/config/providers/spill", again)
	ask(200, "PUT", "/v1/config/agents/local?publish=false", kept)
	ask(200, "GET", "/v1/registry/drafts", nil)
	var events struct {
		Items []struct{ ID, Resource string }
	}
	_ = json.Unmarshal(ask(200, "GET", "/v1/audit-log?resource=providers/spill", nil), &events)
	restored := 0
	for _, e := range events.Items {
		data := ask(0, "POST", "/v1/config/providers/spill/restore", doc{"version": e.ID})
		if bytes.Contains(data, []byte(`"adapter"`)) {
			restored++
		}
	}
	if restored == 0 {
		t.Error("nothing was restored")
	}
	i := slices.IndexFunc(versions.Items, func(v version) bool { return v.Kind == "publish" })
	ask(200, "POST", fmt.Sprintf("/v1/registry/versions/%d/rollback", versions.Items[i].Number), nil)
	files := l.folder(dir, filepath.Join(dir, secretKeyName))
	if !slices.Contains(files, "awaken.db") || !slices.Contains(files, "awaken.db-wal") {
		t.Errorf("searched %v, want the database and its log", files)
	}

	// Exports and the other commands.
	exported := t.TempDir()
	for _, args := range [][]string{{"config", "export", "--all", "-o", exported}, {"config", "export", "--all"}, {"config", "check"}, {"config", "diff", exported}, {"secrets", "rotate", "--new-key"}} {
		out, err := program(args...).CombinedOutput()
		if err != nil && args[1] != "diff" {
			t.Errorf("%s: %v %s", strings.Join(args, " "), err, out)
		}
		l.search(strings.Join(args, " "), out)
	}
	if files := l.folder(exported, ""); len(files) < len(planted) {
		t.Errorf("exported %v", files)
	}
	stop()

	// The next start, also without the key.
	keys, err := os.ReadFile(filepath.Join(dir, secretKeyName))
	if err != nil {
		t.Fatal(err)
	}
	l.secrets["the new key"], _, _ = strings.Cut(string(keys), "\n")
	if err := os.Remove(filepath.Join(dir, secretKeyName)); err != nil {
		t.Fatal(err)
	}
	start()
	if data := ask(200, "GET", "/v1/config/diagnostics", nil); !bytes.Contains(data, []byte("encryption key is not available")) {
		t.Errorf("diagnostics do not tell that the key is not there: %s", data)
	}
	ask(200, "GET", "/v1/config/providers/spill", nil)
	stop()
	l.folder(dir, filepath.Join(dir, secretKeyName))
	t.Logf("searched %d texts for %d secrets", l.searched, len(l.secrets))
}
