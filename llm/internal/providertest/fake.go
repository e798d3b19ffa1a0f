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

// Fake is a provider for the adapters' own tests. It rejects requests that Speaker.Read rejects,
// which fails the test: an adapter might hide it by sending the request again. It replies to the
// others as configured.
type Fake struct {
	*httptest.Server
	// Refuse may reject more requests. Set it before the first.
	Refuse func(*Asked) error

	t       testing.TB
	adapter Adapter
	replies [][]byte

	mu    sync.Mutex
	asked []seen
}

// Serve starts a fake that sends the frames of the next reply for each request, and repeats the
// last reply.
func Serve(t testing.TB, a Adapter, replies ...[][]byte) *Fake {
	f := &Fake{t: t, adapter: a}
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
	asked, err := f.adapter.Read(r, body)
	if err != nil {
		f.t.Errorf("the provider rejects request %d: %v", n, err)
	} else if f.Refuse != nil {
		err = f.Refuse(asked)
	}
	if err != nil {
		w.Header().Set("Content-Type", "application/json")
		w.WriteHeader(http.StatusBadRequest)
		_, _ = w.Write(f.adapter.ErrorBody(Failure{Kind: llm.InvalidRequest, Status: http.StatusBadRequest, Message: err.Error()}))
		return
	}
	w.Header().Set("Content-Type", "text/event-stream")
	_, _ = w.Write(f.replies[min(n, len(f.replies)-1)])
}

// Model returns the adapter's model, with the API key "key".
func (f *Fake) Model(t testing.TB) llm.Model {
	t.Helper()
	return f.adapter.Open(t, provider.Config{APIKey: "key", BaseURL: f.URL})
}

// Requests returns the number of requests.
func (f *Fake) Requests() int {
	f.mu.Lock()
	defer f.mu.Unlock()
	return len(f.asked)
}

// Body returns the body of request i, counting from 0.
func (f *Fake) Body(n int) []byte { return f.nth(n).body }

// Header returns a header of request i.
func (f *Fake) Header(n int) http.Header { return f.nth(n).request.Header }

// Path returns the path of request i.
func (f *Fake) Path(n int) string { return f.nth(n).request.URL.Path }

// asks returns request i decoded.
func (f *Fake) asks(t testing.TB, n int) *Asked {
	t.Helper()
	s := f.nth(n)
	a, err := f.adapter.Read(s.request, s.body)
	if err != nil {
		t.Fatal(err)
	}
	return a
}

func (f *Fake) nth(n int) seen {
	f.mu.Lock()
	defer f.mu.Unlock()
	return f.asked[n]
}

// Generate returns the complete reply to a request. It fails the test on an error.
func Generate(t testing.TB, m llm.Model, req *llm.Request) *llm.Reply {
	t.Helper()
	r, err := llm.Generate(t.Context(), m, req)
	if err != nil {
		t.Fatal(err)
	}
	return r
}

// Hello returns a small request.
func Hello(model string) *llm.Request {
	return &llm.Request{Model: model, Messages: llm.NewMessages(llm.UserText("hello"))}
}

// Lookup returns a tool.
func Lookup() llm.Tool {
	return llm.Tool{Name: "lookup", Description: "looks up", Parameters: json.RawMessage(`{"type":"object","properties":{"q":{"type":"string"}}}`)}
}

// Show returns v as JSON, for messages.
func Show(v any) string {
	b, err := json.Marshal(v)
	if err != nil {
		return err.Error()
	}
	return string(b)
}
