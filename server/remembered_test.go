package server_test

import (
	"fmt"
	"net/url"
	"strings"
	"testing"

	"github.com/awaken-go/awaken/plugin/permission"
	"github.com/awaken-go/awaken/server"
	"github.com/awaken-go/awaken/state/profile"
)

// recall stores a memory of a user, as the plugin does.
func (g *rig) recall(tenant, user, id string) {
	g.t.Helper()
	if err := g.profile(tenant).Set(g.t.Context(), "memory/"+profile.User(user), id, []byte(`{"text":"likes `+id+`","tags":["x"],"agent":"default"}`)); err != nil {
		g.t.Fatal(err)
	}
}

// approved stores an approval of a user, as the plugin does, and returns its id.
func (g *rig) approved(user string) string {
	g.t.Helper()
	g.approve("", profile.User(user), "Bash(npm *)")
	list, err := permission.Approvals(g.t.Context(), g.profile(""), profile.User(user))
	if err != nil || len(list) == 0 {
		g.t.Fatal(list, err)
	}
	return list[0].ID
}

func (g *rig) approve(tenant, of, pattern string) {
	g.t.Helper()
	if err := g.profile(tenant).Set(g.t.Context(), "permission.rules/"+of, pattern, []byte(fmt.Sprintf(`{"tool":%q,"behavior":"allow","scope":"user"}`, pattern))); err != nil {
		g.t.Fatal(err)
	}
}

// ids returns the ids of a list, over all its pages.
func (g *rig) ids(path string, headers ...string) (out []string) {
	g.t.Helper()
	for query := "&limit=1"; query != ""; {
		page := g.want(200, "GET", path+query, "", headers...)
		for _, item := range page["items"].([]any) {
			out = append(out, item.(map[string]any)["id"].(string))
		}
		query = ""
		if next, ok := page["next_cursor"].(string); ok {
			query = "&limit=1&cursor=" + url.QueryEscape(next)
		}
	}
	return out
}

// Memories and approvals are listed and removed by owner, and each tenant has its own.
func TestRemembered_ByTenantAndOwner(t *testing.T) {
	t.Parallel()
	g := newRig(t)
	if err := g.keys.Fix("the-secret-of-acme", server.Key{ID: "acme", Kind: server.AdminKey, Tenant: "acme"}); err != nil {
		t.Fatal(err)
	}
	acme, acting := []string{"Authorization", "Bearer the-secret-of-acme"}, append([]string{"X-Awaken-Tenant", "acme"}, admin...)
	for _, tenant := range []string{"", "acme"} {
		for _, user := range []string{"ann", "bob"} {
			g.recall(tenant, user, "a-"+tenant+user)
			g.recall(tenant, user, "b-"+tenant+user)
			g.approve(tenant, profile.User(user), "Bash("+tenant+user+" *)")
		}
		g.approve(tenant, profile.AgentType("default"), "read_"+tenant+"*")
	}
	for _, c := range []struct {
		path    string
		headers []string
		want    int
		says    string
	}{
		{"/v1/memories?user_id=ann", admin, 2, "a-ann"}, {"/v1/memories?user_id=ann", acme, 2, "a-acmeann"}, {"/v1/memories?user_id=ann", acting, 2, "a-acmeann"}, {"/v1/memories?user_id=eve", admin, 0, ""},
		{"/v1/remembered-approvals?user_id=ann", acme, 1, "Bash(acmeann *)"}, {"/v1/remembered-approvals?user_id=bob", admin, 1, "Bash(bob *)"},
		{"/v1/remembered-approvals?agent_id=default", acting, 1, "read_acme*"}, {"/v1/remembered-approvals?agent_id=ann", admin, 0, ""},
	} {
		got := g.ids(c.path, c.headers...)
		if status, text := g.ask("GET", c.path, "", c.headers...); len(got) != c.want || status != 200 || !strings.Contains(text, c.says) {
			t.Errorf("%s: %q, %d %s; want %d with %s", c.path, got, status, text, c.want, c.says)
		}
	}
	remove := func(want int, path string, headers ...string) {
		t.Helper()
		if status, text := g.ask("DELETE", path, "", headers...); status != want {
			t.Errorf("DELETE %s: %d %s, want %d", path, status, text, want)
		}
	}
	remove(404, "/v1/memories/a-ann?user_id=ann", acme...) // of another tenant
	remove(404, "/v1/memories/a-ann?user_id=bob", admin...)
	remove(204, "/v1/memories/a-ann?user_id=ann", admin...)
	remove(404, "/v1/memories/a-ann?user_id=ann", admin...)
	one := g.ids("/v1/remembered-approvals?user_id=ann", acme...)[0]
	remove(404, "/v1/remembered-approvals/"+one+"?user_id=bob", acme...)
	remove(204, "/v1/remembered-approvals/"+one+"?user_id=ann", acme...)
	remove(204, "/v1/memories?user_id=bob", acme...)
	remove(204, "/v1/remembered-approvals?agent_id=default", acting...)
	for path, want := range map[string]string{"/v1/memories?user_id=ann": "[b-ann] [a-acmeann b-acmeann]", "/v1/memories?user_id=bob": "[a-bob b-bob] []"} {
		if got := fmt.Sprint(g.ids(path, admin...), g.ids(path, acme...)); got != want {
			t.Errorf("%s: %s, want %s", path, got, want)
		}
	}
	if a, b, c := len(g.ids("/v1/remembered-approvals?user_id=ann", admin...)), len(g.ids("/v1/remembered-approvals?user_id=ann", acme...)), len(g.ids("/v1/remembered-approvals?agent_id=default", admin...)); a != 1 || b != 0 || c != 1 {
		t.Errorf("approvals left: %d, %d and %d, want 1, 0 and 1", a, b, c)
	}
	var actions []string
	for _, e := range g.want(200, "GET", "/v1/audit-log?action=forget", "", admin...)["items"].([]any) {
		actions = append(actions, e.(map[string]any)["resource"].(string))
	}
	if text := strings.Join(actions, " "); !strings.Contains(text, "memories/users/ann/a-ann") || !strings.Contains(text, "remembered-approvals/tenants/acme/agents/default") {
		t.Errorf("the audit log has %q", actions)
	}
}

// A removed approval no longer counts: the preview, which judges as runs are judged, asks again.
func TestRemembered_NoLongerCounts(t *testing.T) {
	t.Parallel()
	g := newRig(t)
	g.want(200, "PUT", "/v1/config/agents/careful", `{"id":"careful","model_id":"m","plugin_ids":["permission"]}`, admin...)
	g.approve("", profile.User("ann"), "Bash")
	const body = `{"agent":"careful","user_id":"ann","calls":[{"tool":"Bash"}]}`
	if got := rulings(g.want(200, "POST", "/v1/agents/permission-preview", body, admin...)); got[0] != "Bash allow remembered Bash 0" {
		t.Errorf("with the approval: %q", got)
	}
	if status, text := g.ask("DELETE", "/v1/remembered-approvals?user_id=ann", "", admin...); status != 204 {
		t.Fatalf("%d %s", status, text)
	}
	if got := rulings(g.want(200, "POST", "/v1/agents/permission-preview", body, admin...)); got[0] != "Bash ask 0" {
		t.Errorf("without it: %q", got)
	}
}
