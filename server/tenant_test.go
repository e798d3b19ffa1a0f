package server_test

import (
	"errors"
	"fmt"
	"net/http"
	"strings"
	"sync/atomic"
	"testing"

	"github.com/awaken-go/awaken/server/servertest"
)

// An admin of the server sees every tenant, acts for one that it names, and the audit log says so. No other key may.
func TestTenants_AdminsOfTheServerActForThem(t *testing.T) {
	t.Parallel()
	g := newRig(t, func(c *servertest.Config) { c.Open = new(false) })
	key := func(body string) []string {
		return []string{"Authorization", "Bearer " + g.want(201, "POST", "/v1/keys", body, admin...)["secret"].(string)}
	}
	own, run, read := key(`{"kind":"admin","tenant":"acme"}`), key(`{"kind":"run","tenant":"acme"}`), key(`{"kind":"read"}`)
	thread, _ := g.done(run...)
	if got := fmt.Sprint(g.want(200, "GET", "/v1/tenants", "", admin...)["items"]); got != "[map[keys:2 tenant:] map[keys:2 tenant:acme]]" {
		t.Errorf("tenants are %s", got)
	}
	as := func(tenant string, key []string) []string { return append([]string{"X-Awaken-Tenant", tenant}, key...) }
	g.want(404, "GET", "/v1/threads/"+thread, "", admin...)
	for range 3 {
		g.want(200, "GET", "/v1/threads/"+thread, "", as("acme", admin)...)
	}
	g.want(404, "GET", "/v1/threads/"+thread, "", as("other", admin)...)
	g.want(200, "PATCH", "/v1/threads/"+thread, `{"title":"Seen"}`, as("acme", admin)...)
	g.want(200, "GET", "/v1/config/agents", "", as("acme", admin)...) // what concerns the whole server stays
	if out := g.want(200, "GET", "/v1/session", "", as("acme", admin)...); out["tenant"] != "acme" {
		t.Errorf("the session is %v", out)
	}
	if items := g.want(200, "GET", "/v1/keys", "", as("acme", admin)...)["items"].([]any); len(items) != 2 {
		t.Errorf("keys of the tenant are %v", items)
	}
	if made := g.want(201, "POST", "/v1/keys", `{"kind":"read"}`, as("acme", admin)...); made["tenant"] != "acme" {
		t.Errorf("the new key is %v", made)
	}
	_, log := g.ask("GET", "/v1/audit-log?resource=tenants", "", admin...)
	for text, want := range map[string]int{`"action":"read","resource":"tenants/acme"`: 1, `"action":"read","resource":"tenants/other"`: 1, `"action":"act","resource":"tenants/acme"`: 2, "/v1/threads/" + thread: 3} {
		if n := strings.Count(log, text); n < 1 || n != want && !strings.HasPrefix(text, "/") {
			t.Errorf("the audit log has %d times %s, want %d: %s", n, text, want, log)
		}
	}
	for _, k := range [][]string{own, run, read} {
		for _, tenant := range []string{"acme", "other", ""} {
			if status, text := g.ask("GET", "/v1/threads", "", as(tenant, k)...); status != http.StatusForbidden {
				t.Errorf("%v for %q: %d %s, want 403", k, tenant, status, text)
			}
		}
	}
	for _, bad := range []string{"", "awaken.admin", strings.Repeat("x", 201)} {
		if status, text := g.ask("GET", "/v1/threads", "", as(bad, admin)...); status != http.StatusBadRequest || !strings.Contains(text, "X-Awaken-Tenant") {
			t.Errorf("%q: %d %s, want 400", bad, status, text)
		}
	}
}

// A read that cannot be recorded does not happen, and does not count as recorded.
func TestTenants_ReadsAreRecordedBeforeTheyHappen(t *testing.T) {
	t.Parallel()
	var broken atomic.Bool
	g := &rig{t: t, db: newDB(), keys: adminKeys(t), conf: brokenConfig{newDB().Config(), &broken, errors.New("disk full")}}
	g.start()
	as := append([]string{"X-Awaken-Tenant", "acme"}, admin...)
	broken.Store(true)
	g.want(500, "GET", "/v1/threads", "", as...)
	g.want(500, "GET", "/v1/threads", "", as...)
	broken.Store(false)
	g.want(200, "GET", "/v1/threads", "", as...)
	g.want(200, "GET", "/v1/threads", "", as...)
	if _, log := g.ask("GET", "/v1/audit-log?resource=tenants", "", admin...); strings.Count(log, `"action":"read","resource":"tenants/acme"`) != 1 {
		t.Errorf("the audit log is %s, want one read", log)
	}
}
