package gemini

import (
	"context"
	"encoding/json"
	"fmt"
	"io"
	"net/http"
	"net/http/httptest"
	"regexp"
	"strings"
	"sync"
	"testing"

	"github.com/awaken-go/awaken/llm"
	"github.com/awaken-go/awaken/llm/provider"
)

// fake is a server that speaks streamGenerateContent, of the Gemini API and of Vertex AI. It
// refuses requests that the real one would refuse, and answers the others with the chunks
// it was given, one list for each.
type fake struct {
	*httptest.Server
	mu      sync.Mutex
	replies [][]string
	bodies  [][]byte
	headers []http.Header
	paths   []string
}

func serve(t *testing.T, replies ...[]string) *fake {
	f := &fake{replies: replies}
	f.Server = httptest.NewServer(f)
	t.Cleanup(f.Close)
	return f
}

var modelPath = regexp.MustCompile(`^/(?:v1beta|v1beta1(?:/projects/[^/]+/locations/[^/]+)?/publishers/google)/models/([^/:]+):streamGenerateContent$`)

func (f *fake) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	body, _ := io.ReadAll(r.Body)
	f.mu.Lock()
	n := len(f.bodies)
	f.bodies = append(f.bodies, body)
	f.headers = append(f.headers, r.Header.Clone())
	f.paths = append(f.paths, r.URL.Path)
	f.mu.Unlock()
	var err error
	path := modelPath.FindStringSubmatch(r.URL.Path)
	if path == nil || r.URL.RawQuery != "alt=sse" {
		err = fmt.Errorf("address %s", r.URL)
	} else {
		err = strictly(path[1], body)
	}
	if err != nil {
		w.Header().Set("Content-Type", "application/json; charset=UTF-8")
		w.WriteHeader(http.StatusBadRequest)
		fmt.Fprintf(w, `{"error":{"code":400,"message":%q,"status":"INVALID_ARGUMENT"}}`, err)
		return
	}
	w.Header().Set("Content-Type", "text/event-stream")
	for _, c := range f.replies[min(n, len(f.replies)-1)] {
		fmt.Fprintf(w, "data: %s\r\n\r\n", c)
	}
}

// request returns what was asked, the nth time.
func (f *fake) request(t *testing.T, n int) *wireRequest {
	t.Helper()
	var r wireRequest
	if err := json.Unmarshal(f.bodies[n], &r); err != nil {
		t.Fatal(err)
	}
	return &r
}

func (f *fake) model(t *testing.T) *Model {
	t.Helper()
	m, err := New(Config{Config: provider.Config{APIKey: "key", BaseURL: f.URL}})
	if err != nil {
		t.Fatal(err)
	}
	return m
}

// Chunks of the wire.

func parts(list ...string) string {
	return fmt.Sprintf(`{"candidates":[{"content":{"parts":[%s],"role":"model"},"index":0}],"usageMetadata":{"promptTokenCount":8,"totalTokenCount":8},"modelVersion":"m","responseId":"resp1"}`, strings.Join(list, ","))
}

func ended(reason string) string {
	return fmt.Sprintf(`{"candidates":[{"content":{"parts":[{"text":""}],"role":"model"},"finishReason":%q,"index":0}],"usageMetadata":{"promptTokenCount":100,"candidatesTokenCount":20,"totalTokenCount":150,"cachedContentTokenCount":64,"thoughtsTokenCount":30},"modelVersion":"m","responseId":"resp1"}`, reason)
}

func ask(t *testing.T, m llm.Model, req *llm.Request) *llm.Reply {
	t.Helper()
	r, err := llm.Generate(context.Background(), m, req)
	if err != nil {
		t.Fatal(err)
	}
	return r
}

func hello(model string) *llm.Request {
	return &llm.Request{Model: model, Messages: llm.NewMessages(llm.UserText("hello"))}
}

func lookup() llm.Tool {
	return llm.Tool{Name: "lookup", Description: "looks up", Parameters: json.RawMessage(`{"type":"object","properties":{"q":{"type":"string"}}}`)}
}

func ptr[T any](v T) *T { return &v }

func show(v any) string {
	b, _ := json.Marshal(v)
	return string(b)
}
