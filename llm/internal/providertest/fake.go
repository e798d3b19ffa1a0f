package providertest

import (
	"encoding/json"
	"io"
	"net/http"
	"net/http/httptest"
	"slices"
	"sync"
	"testing"

	"github.com/awaken-go/awaken/llm"
	"github.com/awaken-go/awaken/llm/provider"
)

// Fake is a provider for what an adapter's own tests are about. It refuses requests that
// the adapter's Read refuses, and answers the others with what it was given.
type Fake struct {
	*httptest.Server
	adapter Adapter
	replies [][]byte

	mu    sync.Mutex
	asked []seen
}

// Serve starts a fake that answers each request with the frames of the next reply, and all
// others with the last.
func Serve(t testing.TB, a Adapter, replies ...[][]byte) *Fake {
	f := &Fake{adapter: a}
	for _, frames := range replies {
		f.replies = append(f.replies, slices.Concat(frames...))
	}
	f.Server = httptest.NewServer(f)
	t.Cleanup(f.Close)
	return f
}

func (f *Fake) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	body, err := io.ReadAll(r.Body)
	if err != nil {
		panic(http.ErrAbortHandler)
	}
	f.mu.Lock()
	n := len(f.asked)
	f.asked = append(f.asked, seen{r, body})
	f.mu.Unlock()
	if _, err := f.adapter.Read(r, body); err != nil {
		w.Header().Set("Content-Type", "application/json")
		w.WriteHeader(http.StatusBadRequest)
		_, _ = w.Write(f.adapter.ErrorBody(Failure{Kind: llm.InvalidRequest, Status: http.StatusBadRequest, Message: err.Error()}))
		return
	}
	w.Header().Set("Content-Type", "text/event-stream")
	_, _ = w.Write(f.replies[min(n, len(f.replies)-1)])
}

// Model is the adapter's, with the API key "key".
func (f *Fake) Model(t testing.TB) llm.Model {
	t.Helper()
	return f.adapter.Open(t, provider.Config{APIKey: "key", BaseURL: f.URL})
}

// Requests is how often it was asked.
func (f *Fake) Requests() int {
	f.mu.Lock()
	defer f.mu.Unlock()
	return len(f.asked)
}

// Body is that of a request, the first of which is 0.
func (f *Fake) Body(n int) []byte { return f.nth(n).body }

// Header is that of a request.
func (f *Fake) Header(n int) http.Header { return f.nth(n).request.Header }

// Path is that of a request.
func (f *Fake) Path(n int) string { return f.nth(n).request.URL.Path }

func (f *Fake) nth(n int) seen {
	f.mu.Lock()
	defer f.mu.Unlock()
	return f.asked[n]
}

// Generate asks for a whole reply, and fails the test if there is none.
func Generate(t testing.TB, m llm.Model, req *llm.Request) *llm.Reply {
	t.Helper()
	r, err := llm.Generate(t.Context(), m, req)
	if err != nil {
		t.Fatal(err)
	}
	return r
}

// Hello is a small request.
func Hello(model string) *llm.Request {
	return &llm.Request{Model: model, Messages: llm.NewMessages(llm.UserText("hello"))}
}

// Lookup is a tool.
func Lookup() llm.Tool {
	return llm.Tool{Name: "lookup", Description: "looks up", Parameters: json.RawMessage(`{"type":"object","properties":{"q":{"type":"string"}}}`)}
}

// Show is v as JSON, for messages.
func Show(v any) string {
	b, err := json.Marshal(v)
	if err != nil {
		return err.Error()
	}
	return string(b)
}
