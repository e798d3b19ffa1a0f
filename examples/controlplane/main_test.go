package main

import (
	"context"
	"io"
	"net/http"
	"path/filepath"
	"strings"
	"testing"

	"github.com/awaken-go/awaken/config"
)

func TestControlPlane(t *testing.T) {
	ctx, cancel := context.WithCancel(t.Context())
	address, done := make(chan string, 1), make(chan error, 1)
	file := filepath.Join(t.TempDir(), "example.db")
	go func() {
		done <- run(ctx, file, config.NewKey(), "an-admin-key", "127.0.0.1:0", func(a string) { address <- a })
	}()
	var url string
	select {
	case a := <-address:
		url = "http://" + a
	case err := <-done:
		t.Fatal(err)
	}
	defer func() {
		cancel()
		if err := <-done; err != nil {
			t.Error(err)
		}
	}()
	ask := func(want int, method, path, body string) string {
		t.Helper()
		req, err := http.NewRequestWithContext(t.Context(), method, url+path, strings.NewReader(body))
		if err != nil {
			t.Fatal(err)
		}
		req.Header.Set("Content-Type", "application/json")
		req.Header.Set("Authorization", "Bearer an-admin-key")
		resp, err := http.DefaultClient.Do(req)
		if err != nil {
			t.Fatal(err)
		}
		defer resp.Body.Close()
		data, err := io.ReadAll(resp.Body)
		if err != nil || resp.StatusCode != want {
			t.Fatalf("%s %s: %s, %v, %s", method, path, resp.Status, err, data)
		}
		return string(data)
	}
	ask(200, "PUT", "/v1/config/agents/clerk", `{"id":"clerk","model_id":"house","plugin_ids":["signature"],"sections":{"signature":{"name":"Ada"}}}`)
	got := ask(200, "POST", "/v1/runs", `{"agent_id":"clerk","messages":[{"role":"user","content":"RUN_TOOL order {\"number\":17}"}]}`)
	if !strings.Contains(got, "Order 17 is on its way.") || !strings.Contains(got, `"termination":{"type":"natural_end"}`) {
		t.Errorf("stream: %s", got)
	}
	// The scripted model draws a card if its instructions contain these words, which the plugin's section adds.
	ask(200, "PUT", "/v1/config/agents/clerk", `{"id":"clerk","model_id":"house","plugin_ids":["signature"],"sections":{"signature":{"name":"OpenUI Lang"}}}`)
	if got := ask(200, "POST", "/v1/runs", `{"agent_id":"clerk","stream":false,"messages":[{"role":"user","content":"hello"}]}`); !strings.Contains(got, "root = Card(") {
		t.Errorf("the plugin did nothing: %s", got)
	}
	if got := ask(400, "PUT", "/v1/config/agents/clerk", `{"id":"clerk","model_id":"house","plugin_ids":["signature"],"sections":{"signature":{"nme":"Ada"}}}`); !strings.Contains(got, "nme") {
		t.Errorf("a mistake in the section: %s", got)
	}
	if got := ask(400, "PUT", "/v1/config/providers/other", `{"id":"other","adapter":"openai"}`); !strings.Contains(got, "want house") {
		t.Errorf("another adapter: %s", got)
	}
}
