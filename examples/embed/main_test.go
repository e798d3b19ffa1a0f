package main

import (
	"context"
	"io"
	"net/http"
	"net/http/httptest"
	"strings"
	"testing"
)

func TestEmbed(t *testing.T) {
	app, box, err := newApp()
	if err != nil {
		t.Fatal(err)
	}
	ctx, cancel := context.WithCancel(t.Context())
	done := make(chan error, 1)
	go func() { done <- box.Work(ctx) }()
	web := httptest.NewServer(app)
	defer func() {
		web.Close()
		cancel()
		<-done
	}()
	own := get(t, web, "GET", "/", "")
	if own != "My own page.\n" {
		t.Errorf("own page: %q", own)
	}
	got := get(t, web, "POST", "/agents/v1/runs", `{"agent_id":"greeter","messages":[{"role":"user","content":"RUN_TOOL greet {\"name\":\"Ada\"}"}]}`)
	if !strings.Contains(got, "Hello, Ada!") || !strings.Contains(got, `"termination":{"type":"natural_end"}`) {
		t.Errorf("stream: %s", got)
	}
}

func get(t *testing.T, web *httptest.Server, method, path, body string) string {
	t.Helper()
	req, err := http.NewRequestWithContext(t.Context(), method, web.URL+path, strings.NewReader(body))
	if err != nil {
		t.Fatal(err)
	}
	req.Header.Set("Content-Type", "application/json")
	resp, err := http.DefaultClient.Do(req)
	if err != nil {
		t.Fatal(err)
	}
	defer resp.Body.Close()
	data, err := io.ReadAll(resp.Body)
	if err != nil || resp.StatusCode != 200 {
		t.Fatalf("%s %s: %s, %v, %s", method, path, resp.Status, err, data)
	}
	return string(data)
}
