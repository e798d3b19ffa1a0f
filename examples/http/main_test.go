package main

import (
	"context"
	"io"
	"net/http"
	"path/filepath"
	"strings"
	"testing"
)

func TestHTTP(t *testing.T) {
	ctx, cancel := context.WithCancel(t.Context())
	address, ended := make(chan string, 1), make(chan error, 1)
	go func() {
		ended <- run(ctx, filepath.Join(t.TempDir(), "x.db"), "the-admin-key", "127.0.0.1:0", func(a string) { address <- a })
	}()
	var url string
	select {
	case a := <-address:
		url = "http://" + a
	case err := <-ended:
		t.Fatal(err)
	}
	if got := ask(t, "POST", url+"/v1/runs", `{"agent_id":"default","messages":[{"role":"user","content":"hello"}]}`); !strings.Contains(got, "run_finish") {
		t.Errorf("stream: %s", got)
	}
	if got := ask(t, "GET", url+"/v1/keys", ""); !strings.Contains(got, `"id":"admin"`) {
		t.Errorf("keys: %s", got)
	}
	if got := ask(t, "GET", url+"/metrics", ""); !strings.Contains(got, "awaken_mailbox_queue_depth 0") {
		t.Errorf("metrics: %s", got)
	}
	cancel()
	if err := <-ended; err != nil {
		t.Errorf("stopping: %v", err)
	}
}

func ask(t *testing.T, method, url, body string) string {
	t.Helper()
	req, err := http.NewRequestWithContext(t.Context(), method, url, strings.NewReader(body))
	if err != nil {
		t.Fatal(err)
	}
	req.Header.Set("Content-Type", "application/json")
	req.Header.Set("Authorization", "Bearer the-admin-key")
	resp, err := http.DefaultClient.Do(req)
	if err != nil {
		t.Fatal(err)
	}
	defer resp.Body.Close()
	data, err := io.ReadAll(resp.Body)
	if err != nil || resp.StatusCode != 200 {
		t.Fatalf("%s: %s, %v, %s", url, resp.Status, err, data)
	}
	return string(data)
}
