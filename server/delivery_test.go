package server_test

import (
	"io"
	"strings"
	"testing"
	"time"

	"github.com/awaken-go/awaken/automate/webhook"
)

// notified stores a hook of which the last delivery has failed.
func (g *rig) notified() {
	g.t.Helper()
	h := &webhook.Hook{RunID: "run", ID: g.id(), Wait: time.Hour, State: webhook.State{Kind: "a2a", Sent: 1, Failures: 1,
		Target:   webhook.Target{URL: "https://example.com/told?key=s3cret", Secret: "s3cret", Headers: map[string]string{"Authorization": "Bearer s3cret"}},
		Attempts: []webhook.Attempt{{Message: 1, At: time.Now(), TookMS: 3, Status: 200}, {Message: 2, At: time.Now(), Status: 503, Error: "status 503"}}}}
	if ok, err := g.hooks.SwapHook(g.t.Context(), h); err != nil || !ok {
		g.t.Fatalf("%t, %v", ok, err)
	}
}

// An operator sees what was sent where, and what came back, without secrets and without what belongs to other tenants.
func TestDeliveries(t *testing.T) {
	t.Parallel()
	g := newRig(t)
	g.notified()
	other := &webhook.Hook{Tenant: "other", RunID: "run", ID: "theirs"}
	if _, err := g.hooks.SwapHook(t.Context(), other); err != nil {
		t.Fatal(err)
	}
	for _, path := range []string{"/v1/deliveries", "/v1/deliveries?run_id=run&limit=5"} {
		list := g.want(200, "GET", path, "", admin...)["items"].([]any)
		if len(list) != 1 {
			t.Fatalf("%s: %v", path, list)
		}
		item := list[0].(map[string]any)
		attempts := item["attempts"].([]any)
		if item["url"] != "https://example.com/told" || item["delivered"] != 1.0 || item["failures"] != 1.0 || item["next_at"] == nil || len(attempts) != 2 || attempts[1].(map[string]any)["error"] != "status 503" {
			t.Errorf("%v", item)
		}
	}
	resp := g.do("GET", "/v1/deliveries", "", admin...)
	defer resp.Body.Close()
	if all, err := io.ReadAll(resp.Body); err != nil || strings.Contains(string(all), "s3cret") {
		t.Errorf("secrets are shown: %s, %v", all, err)
	}
	if list := g.want(200, "GET", "/v1/deliveries?run_id=none", "", admin...)["items"].([]any); len(list) != 0 {
		t.Errorf("%v", list)
	}
	g.want(401, "GET", "/v1/deliveries", "")
}
