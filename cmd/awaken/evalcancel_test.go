package main

import (
	"bytes"
	"context"
	"fmt"
	"io"
	"net/http"
	"net/http/httptest"
	"os"
	"path/filepath"
	"strings"
	"sync/atomic"
	"testing"
)

// Ctrl-C ends an evaluation, and what was paid for is kept.
func TestEvalRun_KeepsReportsWhenItIsCancelled(t *testing.T) {
	t.Setenv("OPENAI_API_KEY", "key")
	ctx, cancel := context.WithCancelCause(t.Context())
	var asked atomic.Int32
	provider := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		if _, err := io.Copy(io.Discard, r.Body); err != nil { // the server notices a client that is gone when it has read all
			t.Error(err)
		}
		if r.Method == http.MethodPost && asked.Add(1) == 2 {
			cancel(interrupted{os.Interrupt})
			<-r.Context().Done()
			return
		}
		w.Header().Set("Content-Type", "text/event-stream")
		fmt.Fprint(w, `data: {"id":"1","object":"chat.completion.chunk","model":"m","choices":[{"index":0,"delta":{"role":"assistant","content":"yes"},"finish_reason":"stop"}]}`+"\n\ndata: [DONE]\n\n")
	}))
	defer provider.Close()
	dir := t.TempDir()
	write := func(name, text string) string {
		path := filepath.Join(dir, name)
		if err := os.WriteFile(path, []byte(text), 0o600); err != nil {
			t.Fatal(err)
		}
		return path
	}
	agents := write("agent.yaml", "agents:\n  - id: a\n    model_id: m\nmodels:\n  - id: m\n    provider_id: p\n    upstream_model: m\nproviders:\n  - id: p\n    adapter: openai\n    base_url: "+provider.URL+"/v1\n")
	cases := write("cases.json", `[{"id":"one","user_input":"1"},{"id":"two","user_input":"2"},{"id":"three","user_input":"3"}]`)
	report := filepath.Join(dir, "new.ndjson")
	var out, errs bytes.Buffer
	got := execute(ctx, &console{in: strings.NewReader(""), out: &out, err: &errs, errTTY: true}, []string{"eval", "run", "--fixtures", cases, "--report", report, "-f", agents, "--live", "--concurrency", "1"})
	if want := fmt.Sprintf("awaken: cancelled after 1 of 3 cases; their reports are in %s\n", report); got != exitInterrupted || !strings.HasSuffix(errs.String(), want) || !strings.Contains(errs.String(), "1 of 3 run, 0 failed") {
		t.Errorf("exit status %d, %q, want %q", got, errs.String(), want)
	}
	if data, err := os.ReadFile(report); err != nil || bytes.Count(data, []byte("\n")) != 1 || !bytes.Contains(data, []byte(`"fixture_id":"one"`)) {
		t.Errorf("the report is %q, %v", data, err)
	}
}
