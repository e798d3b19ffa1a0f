package anthropic

import (
	"context"
	"encoding/json"
	"fmt"
	"io"
	"net/http"
	"net/http/httptest"
	"strings"
	"sync"
	"testing"

	"github.com/awaken-go/awaken/llm"
	"github.com/awaken-go/awaken/llm/provider"
)

// fake is a server that speaks the Messages API. It refuses requests that the real one
// would refuse, and answers the others with the events it was given, one list for each.
type fake struct {
	*httptest.Server
	mu      sync.Mutex
	replies [][]string
	bodies  [][]byte
	headers []http.Header
}

func serve(t *testing.T, replies ...[]string) *fake {
	f := &fake{replies: replies}
	f.Server = httptest.NewServer(f)
	t.Cleanup(f.Close)
	return f
}

func (f *fake) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	body, _ := io.ReadAll(r.Body)
	f.mu.Lock()
	n := len(f.bodies)
	f.bodies = append(f.bodies, body)
	f.headers = append(f.headers, r.Header.Clone())
	f.mu.Unlock()
	err := strictly(body)
	if r.URL.Path != "/v1/messages" || r.Header.Get("Anthropic-Version") != "2023-06-01" {
		err = fmt.Errorf("%s with version %q", r.URL.Path, r.Header.Get("Anthropic-Version"))
	}
	if err != nil {
		w.Header().Set("Content-Type", "application/json")
		w.WriteHeader(http.StatusBadRequest)
		fmt.Fprintf(w, `{"type":"error","error":{"type":"invalid_request_error","message":%q}}`, err)
		return
	}
	w.Header().Set("Content-Type", "text/event-stream; charset=utf-8")
	for _, ev := range f.replies[min(n, len(f.replies)-1)] {
		var head struct {
			Type string `json:"type"`
		}
		_ = json.Unmarshal([]byte(ev), &head)
		fmt.Fprintf(w, "event: %s\ndata: %s\n\n", head.Type, ev)
	}
}

// request returns what was asked, the nth time.
func (f *fake) request(t *testing.T, n int) *wireRequest {
	t.Helper()
	f.mu.Lock()
	defer f.mu.Unlock()
	var r wireRequest
	if err := exactly(f.bodies[n], &r); err != nil {
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

// Events of the wire.

const started = `{"type":"message_start","message":{"id":"msg_1","type":"message","role":"assistant","model":"m","content":[],"stop_reason":null,"usage":{"input_tokens":10,"cache_creation_input_tokens":20,"cache_read_input_tokens":300,"output_tokens":1}}}`

func ended(reason string) []string {
	return []string{
		fmt.Sprintf(`{"type":"message_delta","delta":{"stop_reason":%q,"stop_sequence":null},"usage":{"output_tokens":42}}`, reason),
		`{"type":"message_stop"}`,
	}
}

func textBlock(i int, pieces ...string) []string {
	out := []string{fmt.Sprintf(`{"type":"content_block_start","index":%d,"content_block":{"type":"text","text":""}}`, i), `{"type":"ping"}`}
	for _, p := range pieces {
		out = append(out, fmt.Sprintf(`{"type":"content_block_delta","index":%d,"delta":{"type":"text_delta","text":%q}}`, i, p))
	}
	return append(out, fmt.Sprintf(`{"type":"content_block_stop","index":%d}`, i))
}

func thinkingEvents(i int, signature string, pieces ...string) []string {
	out := []string{fmt.Sprintf(`{"type":"content_block_start","index":%d,"content_block":{"type":"thinking","thinking":"","signature":""}}`, i)}
	for _, p := range pieces {
		out = append(out, fmt.Sprintf(`{"type":"content_block_delta","index":%d,"delta":{"type":"thinking_delta","thinking":%q}}`, i, p))
	}
	if signature != "" {
		out = append(out, fmt.Sprintf(`{"type":"content_block_delta","index":%d,"delta":{"type":"signature_delta","signature":%q}}`, i, signature))
	}
	return append(out, fmt.Sprintf(`{"type":"content_block_stop","index":%d}`, i))
}

func toolBlock(i int, id, name, input string, pieces ...string) []string {
	out := []string{fmt.Sprintf(`{"type":"content_block_start","index":%d,"content_block":{"type":"tool_use","id":%q,"name":%q,"input":%s}}`, i, id, name, input)}
	for _, p := range pieces {
		out = append(out, fmt.Sprintf(`{"type":"content_block_delta","index":%d,"delta":{"type":"input_json_delta","partial_json":%q}}`, i, p))
	}
	return append(out, fmt.Sprintf(`{"type":"content_block_stop","index":%d}`, i))
}

func reply(parts ...[]string) []string {
	out := []string{started}
	for _, p := range parts {
		out = append(out, p...)
	}
	return out
}

// ask generates and fails the test on an error.
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
	return strings.TrimSpace(string(b))
}
