package main

import (
	"encoding/json"
	"io"
	"io/fs"
	"net/http"
	"net/url"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/awaken-go/awaken"
	"github.com/awaken-go/awaken/cmd/awaken/internal/settings"
	"github.com/awaken-go/awaken/config"
	"github.com/awaken-go/awaken/plugin/mcp/oauth"
	"github.com/awaken-go/awaken/plugin/mcp/oauth/oauthtest"
)

// member is a user of the server, as the proxy in front of it names them.
type member struct {
	*hosted
	name string
	seen *strings.Builder // everything that the server has answered
}

// ask makes a request as the user, and returns the status and the body.
func (m *member) ask(method, path string, body any) (int, string) {
	m.t.Helper()
	var in io.Reader
	if body != nil {
		data, err := json.Marshal(body)
		if err != nil {
			m.t.Fatal(err)
		}
		in = strings.NewReader(string(data))
	}
	req, err := http.NewRequestWithContext(m.t.Context(), method, m.url+path, in)
	if err != nil {
		m.t.Fatal(err)
	}
	req.Header.Set("X-User", m.name)
	if body != nil {
		req.Header.Set("Content-Type", "application/json")
	}
	resp, err := http.DefaultClient.Do(req)
	if err != nil {
		m.t.Fatal(err)
	}
	defer resp.Body.Close()
	data, err := io.ReadAll(resp.Body)
	if err != nil {
		m.t.Fatal(err)
	}
	m.seen.Write(data)
	return resp.StatusCode, string(data)
}

// get makes a request as the user that must succeed.
func (m *member) get(method, path string, body, answer any) {
	m.t.Helper()
	status, text := m.ask(method, path, body)
	if status > 299 {
		m.t.Fatalf("%s %s: %d %s", method, path, status, text)
	}
	if answer != nil {
		if err := json.Unmarshal([]byte(text), answer); err != nil {
			m.t.Fatalf("%v in %s", err, text)
		}
	}
}

// order runs the agent for the user, and returns the run and what it says.
func (m *member) order(text string) (run struct {
	RunID    string `json:"run_id"`
	Status   awaken.RunStatus
	Response string
}) {
	m.t.Helper()
	m.get("POST", "/v1/runs", map[string]any{"agent_id": "default", "stream": false, "messages": []any{map[string]string{"role": "user", "content": text}}}, &run)
	return run
}

// ticket returns the address that a run of the user wants to have opened.
func (m *member) ticket(runID string) string {
	m.t.Helper()
	var run struct {
		Waiting struct {
			Tickets []struct {
				Suspension awaken.Suspension
			}
		}
	}
	m.get("GET", "/v1/runs/"+runID, nil, &run)
	var p struct{ URL string }
	if len(run.Waiting.Tickets) != 1 || json.Unmarshal(run.Waiting.Tickets[0].Suspension.Parameters, &p) != nil || p.URL == "" {
		m.t.Fatalf("the run has no ticket with an address: %+v", run)
	}
	return p.URL
}

// ends waits for a run of the user to end.
func (m *member) ends(runID string) {
	m.t.Helper()
	for end := time.Now().Add(2 * time.Minute); time.Now().Before(end); time.Sleep(20 * time.Millisecond) {
		var run runView
		if m.get("GET", "/v1/runs/"+runID, nil, &run); run.Status == awaken.RunDone {
			return
		}
	}
	m.t.Fatalf("run %s does not end", runID)
}

// sees returns what the tool whoami tells the user.
func (m *member) sees() string {
	m.t.Helper()
	return m.order("RUN_TOOL mcp__issues__whoami {}").Response
}

// flat returns the response of an authorization server as the object that an application delivers.
func flat(q url.Values) map[string]string {
	out := map[string]string{}
	for name := range q {
		out[name] = q.Get(name)
	}
	return out
}

// Two users authorize a server: one in a run that waits for it, across a restart, one beforehand. Each gets their own
// token, and no other user can complete, see or end an authorization. No secret is in an answer, in the log or in the
// database.
func TestMCPOAuth_OfTwoUsers(t *testing.T) {
	idp := oauthtest.New(t, oauthtest.Options{})
	h := host(t, func(s *settings.Settings) {
		s.SeedProfile, s.Outbound.Allow, s.Server.UserHeader, s.Server.PublicURL, s.Log.Level = "demo", []string{"127.0.0.0/8"}, "X-User", "http://localhost:3000", "debug"
	})
	seen := &strings.Builder{}
	alice, bob := &member{h, "alice", seen}, &member{h, "bob", seen}
	const secret = "a-client-secret-in-a-document"
	h.call("POST", "/v1/config/mcp-servers", map[string]any{"id": "issues", "transport": "http", "url": idp.URL, "auth": map[string]any{"type": "oauth"}}, nil)
	h.call("POST", "/v1/config/mcp-servers", map[string]any{"id": "other", "transport": "http", "url": idp.URL, "auth": map[string]any{"type": "oauth", "client_id": "x", "client_secret": secret, "issuer": idp.Issuer}}, nil)
	h.status("issues", func(st *config.MCPStatus) bool { return st.Connected && st.Authorization == "user" })

	run := alice.order("RUN_TOOL mcp__issues__authorize {}")
	if run.Status != awaken.RunWaiting {
		t.Fatalf("alice's run is %+v, want it to wait", run)
	}
	address := alice.ticket(run.RunID)
	logged := h.log.String()
	h.stop()
	h.start(newCode(h.settings))

	response := idp.Approve(address, "alice@idp")
	back := "/v1/mcp-oauth/callback?" + response.Encode()
	if status, page := bob.ask("GET", back, nil); status != 200 || !strings.Contains(page, `http-equiv="refresh"`) {
		t.Errorf("bob's browser gets %d %s", status, page)
	}
	if status, page := bob.ask("GET", back+"&again=true", nil); status != 403 || !strings.Contains(page, "Sign in") {
		t.Errorf("bob's browser gets %d %s", status, page)
	}
	if status, text := bob.ask("POST", "/v1/mcp-oauth/callback", flat(response)); status != 403 {
		t.Errorf("bob's application gets %d %s", status, text)
	}
	if status, page := alice.ask("GET", back, nil); status != 200 || !strings.Contains(page, "is authorized") {
		t.Fatalf("alice's browser gets %d %s", status, page)
	}
	alice.ends(run.RunID)
	if status, page := alice.ask("GET", back, nil); status != 400 {
		t.Errorf("the second time, alice's browser gets %d %s", status, page)
	}
	if got := alice.sees(); !strings.Contains(got, "alice@idp") {
		t.Errorf("alice is told %q", got)
	}

	var st config.MCPAuthorization
	if bob.get("GET", "/v1/mcp-servers/issues/authorization", nil, &st); st.Authorized || st.Reason == "" {
		t.Errorf("bob: %+v", st)
	}
	var req config.MCPAuthorizationRequest
	bob.get("POST", "/v1/mcp-servers/issues/authorization", nil, &req)
	bob.get("POST", "/v1/mcp-oauth/callback", flat(idp.Approve(req.URL, "bob@idp")), nil)
	if got := bob.sees(); !strings.Contains(got, "bob@idp") {
		t.Errorf("bob is told %q", got)
	}
	if bob.get("GET", "/v1/mcp-servers/issues/authorization", nil, &st); !st.Authorized || st.Issuer != idp.Issuer || !st.Refreshes || st.ExpiresAt == 0 {
		t.Errorf("bob: %+v", st)
	}

	bob.get("DELETE", "/v1/mcp-servers/issues/authorization", nil, nil)
	if run := bob.order("RUN_TOOL mcp__issues__whoami {}"); run.Status != awaken.RunWaiting || len(idp.Revocations()) != 1 {
		t.Errorf("bob's run is %+v after %d revocations, want it to wait", run, len(idp.Revocations()))
	}
	if got := alice.sees(); !strings.Contains(got, "alice@idp") {
		t.Errorf("alice is told %q", got)
	}
	if status, _ := bob.ask("GET", "/v1/mcp-servers/missing/authorization", nil); status != 404 {
		t.Errorf("status is %d", status)
	}

	h.stop()
	logged += h.log.String()
	secrets := append(idp.Secrets(), secret)
	if len(secrets) < 8 {
		t.Fatalf("only %d secrets are known", len(secrets))
	}
	files := map[string]string{"the log": logged, "an answer": seen.String()}
	err := filepath.WalkDir(h.settings.StorageDir, func(path string, d fs.DirEntry, err error) error {
		if err != nil || d.IsDir() {
			return err
		}
		data, err := os.ReadFile(path)
		files[path] = string(data)
		return err
	})
	if err != nil || len(files) < 3 {
		t.Fatalf("%d files, %v", len(files), err)
	}
	for where, text := range files {
		for _, s := range secrets {
			if strings.Contains(text, s) && (where != "an answer" || s != response.Get("code")) { // the page that loads itself again has the code in its address
				t.Errorf("a secret is in %s", where)
			}
		}
	}
}

// With the grant "server", an administrator authorizes once for all users, across a restart. Users can neither give nor end the
// authorization.
func TestMCPOAuth_OfTheServer(t *testing.T) {
	idp := oauthtest.New(t, oauthtest.Options{})
	h := host(t, func(s *settings.Settings) {
		s.SeedProfile, s.Outbound.Allow, s.Server.UserHeader, s.Server.PublicURL = "demo", []string{"127.0.0.0/8"}, "X-User", "http://localhost:3000"
	})
	alice, bob := &member{h, "alice", &strings.Builder{}}, &member{h, "bob", &strings.Builder{}}
	h.call("POST", "/v1/config/mcp-servers", map[string]any{"id": "issues", "transport": "http", "url": idp.URL, "auth": map[string]any{"type": "oauth", "grant": "server"}}, nil)
	h.status("issues", func(st *config.MCPStatus) bool { return st.Authorization == "server" })
	const path = "/v1/mcp-servers/issues/authorization"
	if status, text := alice.ask("POST", path, nil); status != 403 {
		t.Errorf("alice, who authorizes for all, gets %d %s", status, text)
	}
	var req config.MCPAuthorizationRequest
	h.call("POST", path, nil, &req)
	response := flat(idp.Approve(req.URL, "team@idp"))
	if status, text := alice.ask("POST", "/v1/mcp-oauth/callback", response); status != 403 {
		t.Errorf("alice, who completes an administrator's authorization, gets %d %s", status, text)
	}
	h.call("POST", "/v1/mcp-oauth/callback", response, nil)
	h.stop()
	h.start(newCode(h.settings))
	h.status("issues", func(st *config.MCPStatus) bool { return st.Connected })
	for _, m := range []*member{alice, bob} {
		if got := m.sees(); !strings.Contains(got, "team@idp") {
			t.Errorf("%s is told %q", m.name, got)
		}
	}
	if status, text := bob.ask("DELETE", path, nil); status != 403 {
		t.Errorf("bob, who ends the authorization of all, gets %d %s", status, text)
	}
	h.call("DELETE", path, nil, nil)
	if n := len(idp.Revocations()); n != 1 {
		t.Errorf("the authorization server has had %d revocations, want 1", n)
	}
	var st config.MCPAuthorization
	if h.call("GET", path, nil, &st); st.Authorized {
		t.Errorf("after its end, the authorization is %+v", st)
	}
	if got := alice.sees(); strings.Contains(got, "team@idp") {
		t.Errorf("after the end, alice is told %q", got)
	}
}

// A run that waits for an authorization continues, also if the process that completed the authorization was lost before it
// resumed the run.
func TestMCPOAuth_ResumesAfterACrash(t *testing.T) {
	idp := oauthtest.New(t, oauthtest.Options{})
	h := host(t, func(s *settings.Settings) {
		s.SeedProfile, s.Outbound.Allow, s.Server.UserHeader, s.Server.PublicURL = "demo", []string{"127.0.0.0/8"}, "X-User", "http://localhost:3000"
	})
	alice := &member{h, "alice", &strings.Builder{}}
	h.call("POST", "/v1/config/mcp-servers", map[string]any{"id": "issues", "transport": "http", "url": idp.URL, "auth": map[string]any{"type": "oauth"}}, nil)
	h.status("issues", func(st *config.MCPStatus) bool { return st.Connected && st.Authorization == "user" })
	run := alice.order("RUN_TOOL mcp__issues__authorize {}")
	response := idp.Approve(alice.ticket(run.RunID), "alice@idp")
	h.stop()
	complete(t, h.settings, response)
	h.start(newCode(h.settings))
	alice.ends(run.RunID)
	if who := alice.sees(); !strings.HasSuffix(who, "alice@idp") {
		t.Errorf("alice is %q", who)
	}
}

// complete completes an authorization as a process does that was lost some minutes ago, before it resumed anything.
func complete(t *testing.T, s *settings.Settings, response url.Values) {
	t.Helper()
	b, err := openBackend(t.Context(), s, false, nil)
	if err != nil {
		t.Fatal(err)
	}
	defer b.close(&err)
	vault, err := openVault(s)
	if err != nil {
		t.Fatal(err)
	}
	broker, err := oauth.New(oauth.Config{Values: b.profile, Shared: b.profile(systemTenant), Sealer: vaultSealer{vault}, RedirectURL: s.Server.PublicURL + "/v1/mcp-oauth/callback", Client: http.DefaultClient,
		Now: func() time.Time { return time.Now().Add(-3 * time.Minute) }})
	if err != nil {
		t.Fatal(err)
	}
	if _, err := broker.Complete(t.Context(), response, nil); err != nil {
		t.Fatal(err)
	}
}
