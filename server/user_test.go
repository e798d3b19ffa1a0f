package server_test

import (
	"encoding/json"
	"fmt"
	"strings"
	"testing"

	"github.com/awaken-go/awaken"
	"github.com/awaken-go/awaken/plugin/permission"
	"github.com/awaken-go/awaken/registry"
	"github.com/awaken-go/awaken/server"
	"github.com/awaken-go/awaken/server/access"
	"github.com/awaken-go/awaken/server/servertest"
	"github.com/awaken-go/awaken/store/memory"
)

// userOf runs an agent and returns the user of the run, or the status and the error.
func (g *rig) userOf(body string, headers ...string) string {
	g.t.Helper()
	status, text := g.ask("POST", "/v1/runs", with(body, `"agent_id":"default","stream":false,"messages":[{"role":"user","content":"hello"}]`), headers...)
	if status != 200 {
		return fmt.Sprint(status, " ", text)
	}
	var made struct {
		RunID string `json:"run_id"`
	}
	if err := json.Unmarshal([]byte(text), &made); err != nil {
		g.t.Fatal(err)
	}
	var run awaken.Run
	if _, text = g.ask("GET", "/v1/runs/"+made.RunID, "", "Authorization", "Bearer "+adminKey); json.Unmarshal([]byte(text), &run) != nil {
		g.t.Fatal(text)
	}
	return run.UserID
}

// The key or the proxy determines the user of a run. The body counts only if neither names one.
func TestUser_ComesFromTheKeyOrTheProxy(t *testing.T) {
	t.Parallel()
	const alice, all = "the-key-of-alice", "the-key-of-all"
	long := `X-User is \"` + strings.Repeat("x", 80) + `…\", want at most 512 bytes of UTF-8 without control characters`
	keys := func(g *rig) {
		for secret, key := range map[string]server.Key{alice: {ID: "a", Kind: server.RunKey, User: "alice"}, all: {ID: "b", Kind: server.RunKey}} {
			if err := g.keys.Fix(secret, key); err != nil {
				t.Fatal(err)
			}
		}
	}
	plain := newRig(t)
	keys(plain)
	proxied := newRig(t, func(c *servertest.Config) { c.Users.Header = "X-User" })
	keys(proxied)
	for _, tt := range []struct {
		g       *rig
		body    string
		headers []string
		want    string
	}{
		{plain, `{}`, nil, ""},
		{plain, `{"user_id":"bob"}`, nil, "bob"},
		{plain, `{}`, []string{"X-User", "mallory"}, ""},
		{plain, `{}`, []string{"Authorization", "Bearer " + alice}, "alice"},
		{plain, `{"user_id":"alice"}`, []string{"Authorization", "Bearer " + alice}, "alice"},
		{plain, `{"user_id":"bob"}`, []string{"Authorization", "Bearer " + alice}, `403 {"error":"user_id is \"bob\", but the request is made by user \"alice\"","code":"forbidden"}`},
		{plain, `{"user_id":"bob"}`, []string{"Authorization", "Bearer " + all}, "bob"},
		{proxied, `{}`, nil, ""},
		{proxied, `{}`, []string{"X-User", "bob"}, "bob"},
		{proxied, `{"user_id":"bob"}`, []string{"X-User", "bob"}, "bob"},
		{proxied, `{"user_id":"eve"}`, []string{"X-User", "bob"}, `403 {"error":"user_id is \"eve\", but the request is made by user \"bob\"","code":"forbidden"}`},
		{proxied, `{"user_id":"eve"}`, nil, `403 {"error":"user_id is \"eve\", but the request is made by no user, and its key is not an operator's","code":"forbidden"}`},
		{proxied, `{}`, []string{"X-User", strings.Repeat("x", 513)}, `400 {"error":"` + long + `","code":"invalid_request","problems":[{"path":"","code":"invalid_request","message":"` + long + `","severity":"error"}]}`},
		{proxied, `{}`, []string{"X-User", "bob", "Authorization", "Bearer " + alice}, `403 {"error":"X-User is \"bob\", but the key or token belongs to user \"alice\"","code":"forbidden"}`},
		{proxied, `{}`, []string{"X-User", "alice", "Authorization", "Bearer " + alice}, "alice"},
		{proxied, `{}`, []string{"Authorization", "Bearer " + alice}, "alice"},
		{proxied, `{}`, []string{"X-User", "bob", "Authorization", "Bearer " + all}, "bob"},
	} {
		if got := tt.g.userOf(strings.Replace(tt.body, "{}", `{"mode":"queue"}`, 1), tt.headers...); got != tt.want {
			t.Errorf("body %s, headers %.60q: user %s, want %s", tt.body, tt.headers, got, tt.want)
		}
	}
	l := listen(t, func(c *servertest.Config) { c.Users.Header = "X-User" })
	if status, _ := l.raw(message("POST", "/v1/threads", "{}", "X-User: a", "X-User: b")); status != 400 {
		t.Errorf("two users: %d, want 400", status)
	}
	for _, name := range []string{"Authorization", "cookie", "X User", "X-User:", "Ü"} {
		if _, err := server.New(server.Config{Mailbox: plain.box, Users: server.Users{Header: name}}); err == nil || !strings.Contains(err.Error(), "user header is") {
			t.Errorf("user header %q: error is %v", name, err)
		}
	}
}

// A stored key keeps its user, which must be a valid id.
func TestUser_OfAStoredKey(t *testing.T) {
	t.Parallel()
	g := newRig(t)
	admin := []string{"Authorization", "Bearer " + adminKey}
	status, text := g.ask("POST", "/v1/keys", `{"kind":"run","user":"alice"}`, admin...)
	var made struct{ User, Secret string }
	if err := json.Unmarshal([]byte(text), &made); err != nil || status != 201 || made.User != "alice" {
		t.Fatalf("%d %s", status, text)
	}
	if got := g.userOf(`{"mode":"queue"}`, "Authorization", "Bearer "+made.Secret); got != "alice" {
		t.Errorf("a run with the key is for %q", got)
	}
	if status, text := g.ask("POST", "/v1/keys", `{"kind":"run","user":"a\nb"}`, admin...); status != 400 || !strings.Contains(text, "user is") {
		t.Errorf("%d %s", status, text)
	}
}

// What one user's request wants remembered holds for that user only.
func TestUser_DecidesForThemselves(t *testing.T) {
	t.Parallel()
	for _, tt := range []struct {
		section, user, scope string
		want                 string // status and part of the error
	}{
		{`{}`, "", "project", "404 thread not found"},
		{`{}`, "", "thread", "404 thread not found"},
		{`{}`, "operator", "project", "202"},
		{`{}`, "operator", "user", "202"},
		{`{}`, "alice", "thread", "202"},
		{`{}`, "alice", "user", "202"},
		{`{}`, "alice", "project", "403 applies to all users of the agent"},
		{`{}`, "bob", "user", "404 thread not found"},
		{`{"remember":["project"]}`, "bob", "project", "404 thread not found"},
		{`{"remember":["project"]}`, "alice", "project", "202"},
		{`{"remember":["project"]}`, "alice", "thread", "400 does not fit"},
	} {
		g := &rig{t: t, db: memory.NewDB(), keys: access.NewKeys(nil)}
		g.config = func(c *registry.Config) {
			c.Plugins = append(c.Plugins, permission.New(permission.Config{}))
			c.Agents[0].PluginIDs = []string{permission.Name}
			c.Agents[0].Sections = map[string]json.RawMessage{permission.Name: json.RawMessage(tt.section)}
		}
		if err := g.keys.Fix("the-key-of-an-operator", server.Key{ID: "op", Kind: server.RunKey, Operator: true}); err != nil {
			t.Fatal(err)
		}
		g.start(func(c *servertest.Config) { c.Users.Header = "X-User" })
		_, text := g.ask("POST", "/v1/runs", `{"agent_id":"default","thread_id":"t","stream":false,"messages":[{"role":"user","content":"RUN_TOOL wait {}"}]}`, "X-User", "alice")
		var got struct{ Waiting *awaken.Waiting }
		if err := json.Unmarshal([]byte(text), &got); err != nil || got.Waiting == nil {
			t.Fatalf("%s", text)
		}
		ticket := got.Waiting.Tickets[0].TicketID
		body := fmt.Sprintf(`{"tool_call_id":%q,"action":"resume","payload":{"remember":%q}}`, ticket, tt.scope)
		var headers []string
		switch tt.user {
		case "":
		case "operator":
			headers = []string{"Authorization", "Bearer the-key-of-an-operator"}
		default:
			headers = []string{"X-User", tt.user}
		}
		status, text := g.ask("POST", "/v1/threads/t/decision", body, headers...)
		code, part, _ := strings.Cut(tt.want, " ")
		if fmt.Sprint(status) != code || !strings.Contains(text, part) {
			t.Errorf("section %s, %q has it remembered for %s: %d %s, want %s", tt.section, tt.user, tt.scope, status, text, tt.want)
		}
	}
}
