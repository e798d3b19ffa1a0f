package main

import (
	"strings"
	"testing"

	"github.com/awaken-go/awaken"
	"github.com/awaken-go/awaken/cmd/awaken/internal/settings"
)

// An agent of one server runs on another: by a document of its server, and by an endpoint of its own. Its runs replay when both servers have stopped.
func TestRemote_AgentsOfAnotherServer(t *testing.T) {
	t.Parallel()
	type doc = map[string]any
	far := host(t, func(s *settings.Settings) { s.SeedProfile = "demo" })
	near := host(t, func(s *settings.Settings) { s.SeedProfile, s.Outbound.Allow = "demo", []string{"127.0.0.0/8"} })
	auth := doc{"type": "bearer", "token": far.key}
	near.call("PUT", "/v1/config/a2a-servers/partner", doc{"id": "partner", "base_url": far.url + "/v1/a2a", "auth": auth, "target": "default"}, nil)
	var status struct {
		Connected bool    `json:"connected"`
		LastError *string `json:"last_error"`
		CardURL   string  `json:"card_url"`
		Card      struct {
			Name string `json:"name"`
		} `json:"card"`
	}
	near.call("GET", "/v1/a2a-servers/partner/status", nil, &status)
	if !status.Connected || status.LastError != nil || status.Card.Name != "default" || !strings.HasPrefix(status.CardURL, far.url) {
		t.Errorf("the status is %+v", status)
	}
	near.call("PUT", "/v1/config/agents/cousin", doc{"id": "cousin", "endpoint": doc{"options": doc{"a2a_server_id": "partner"}}}, nil)
	near.call("PUT", "/v1/config/agents/uncle", doc{"id": "uncle", "endpoint": doc{"base_url": far.url, "target": "default", "auth": auth, "options": doc{"binding": "JSONRPC"}}}, nil)
	want, _, _ := far.run("default", "hello")
	for _, agent := range []string{"cousin", "uncle"} {
		if got, end, _ := near.run(agent, "hello"); got != want || want == "" || end.Type != awaken.NaturalEnd {
			t.Errorf("%s said %q and ended with %v, want %q", agent, got, end, want)
		}
	}
	// Without the setting, the server is not reached.
	guarded := host(t, func(s *settings.Settings) { s.SeedProfile = "demo" })
	guarded.call("PUT", "/v1/config/a2a-servers/partner", doc{"id": "partner", "base_url": far.url + "/v1/a2a"}, nil)
	status.LastError, status.Connected = nil, true
	guarded.call("GET", "/v1/a2a-servers/partner/status", nil, &status)
	if status.Connected || status.LastError == nil || !strings.Contains(*status.LastError, "not public") {
		t.Errorf("the status is %+v", status)
	}
	var runs struct {
		Items []struct {
			ID    string `json:"run_id"`
			Agent string `json:"agent_id"`
		} `json:"items"`
	}
	near.call("GET", "/v1/runs", nil, &runs)
	far.stop()
	near.stop()
	if len(runs.Items) != 2 {
		t.Fatalf("the server has runs %+v, want two", runs.Items)
	}
	near.replays(runs.Items[0].ID, runs.Items[1].ID)
}
