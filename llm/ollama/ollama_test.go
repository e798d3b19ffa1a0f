package ollama_test

import (
	"encoding/json"
	"io"
	"net/http"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/awaken-go/awaken/llm"
	"github.com/awaken-go/awaken/llm/ollama"
	"github.com/awaken-go/awaken/llm/provider"
)

// wire is a server that sends the same lines for every request, and records the last one.
type wire struct {
	lines  string
	url    string
	header http.Header
	asked  wireRequest
}

func (w *wire) RoundTrip(r *http.Request) (*http.Response, error) {
	body, err := io.ReadAll(r.Body)
	if err != nil {
		return nil, err
	}
	w.url, w.header, w.asked = r.URL.String(), r.Header, wireRequest{}
	if err := exactly(body, &w.asked); err != nil {
		return nil, err
	}
	if _, err := (speaker{}).Read(r, body); err != nil {
		return nil, err
	}
	return &http.Response{StatusCode: http.StatusOK, Header: http.Header{"Content-Type": {"application/x-ndjson"}}, Body: io.NopCloser(strings.NewReader(w.lines)), Request: r}, nil
}

const done = `{"created_at":"2026-11-15T09:00:01Z","message":{"role":"assistant","content":"ok"},"done":true,"done_reason":"stop"}` + "\n"

// ask sends a request and returns the reply and the request as sent.
func ask(t *testing.T, c ollama.Config, lines string, change func(*llm.Request)) (*llm.Reply, *wire, error) {
	t.Helper()
	w := &wire{lines: lines}
	c.HTTPClient = &http.Client{Transport: w}
	m, err := ollama.New(c)
	if err != nil {
		t.Fatal(err)
	}
	req := &llm.Request{Model: "qwen3", Messages: llm.NewMessages(llm.UserText("Hello"))}
	if change != nil {
		change(req)
	}
	r, err := llm.Generate(t.Context(), m, req)
	return r, w, err
}

func TestNew_FindsTheServer(t *testing.T) {
	for host, want := range map[string]string{
		"": "http://localhost:11434/api/chat", "box": "http://box:11434/api/chat", "box:99": "http://box:99/api/chat", "0.0.0.0": "http://localhost:11434/api/chat",
		"https://ollama.com": "https://ollama.com/api/chat", "http://box/v1/": "http://box/api/chat", "http://box/api": "http://box/api/chat", "https://box/proxy/": "https://box/proxy/api/chat",
	} {
		t.Setenv("OLLAMA_HOST", host)
		if _, w, err := ask(t, ollama.Config{}, done, nil); err != nil || w.url != want {
			t.Errorf("%q: %s, %v, want %s", host, w.url, err, want)
		}
	}
	t.Setenv("OLLAMA_HOST", "elsewhere")
	if _, w, _ := ask(t, ollama.Config{Config: provider.Config{BaseURL: "http://here:1"}}, done, nil); w.url != "http://here:1/api/chat" {
		t.Errorf("the base URL does not win: %s", w.url)
	}
	t.Setenv("OLLAMA_HOST", "ftp://x")
	if _, err := ollama.New(ollama.Config{}); err == nil || !strings.Contains(err.Error(), `OLLAMA_HOST is "ftp://x", want an http or https URL`) {
		t.Errorf("%v", err)
	}
	if _, err := ollama.New(ollama.Config{ContextTokens: -1, Config: provider.Config{BaseURL: "http://x"}}); err == nil || !strings.Contains(err.Error(), "context is -1 tokens") {
		t.Errorf("%v", err)
	}
	if _, err := ollama.New(ollama.Config{Config: provider.Config{BaseURL: "http://x", KeyFile: "/nowhere"}}); err == nil || !strings.Contains(err.Error(), "key file") {
		t.Errorf("%v", err)
	}
}

func TestNew_NeedsNoKey(t *testing.T) {
	t.Setenv("OLLAMA_API_KEY", "")
	if _, w, err := ask(t, ollama.Config{}, done, nil); err != nil || w.header.Get("Authorization") != "" {
		t.Errorf("%v, %v", err, w.header)
	}
	t.Setenv("OLLAMA_API_KEY", "k")
	if _, w, _ := ask(t, ollama.Config{}, done, nil); w.header.Get("Authorization") != "Bearer k" {
		t.Errorf("%v", w.header)
	}
	if _, w, _ := ask(t, ollama.Config{Config: provider.Config{Headers: map[string]string{"authorization": "Basic x"}}}, done, nil); w.header.Get("Authorization") != "Basic x" {
		t.Errorf("%v", w.header)
	}
}

func TestThink(t *testing.T) {
	for _, c := range []struct {
		effort *llm.Effort
		want   any
	}{
		{nil, nil}, {&llm.Effort{Level: "none"}, false}, {&llm.Effort{Level: "low"}, "low"}, {&llm.Effort{Level: "max"}, "max"},
		{&llm.Effort{Budget: 100}, "low"}, {&llm.Effort{Budget: 8000}, "medium"}, {&llm.Effort{Budget: 100_000}, "high"},
	} {
		_, w, err := ask(t, ollama.Config{}, done, func(r *llm.Request) { r.ReasoningEffort = c.effort })
		if err != nil || w.asked.Think != c.want {
			t.Errorf("%+v: %v, %v, want %v", c.effort, w.asked.Think, err, c.want)
		}
	}
}

// Ollama has no tool choice: the adapter emulates it with the tools that it sends.
func TestToolChoice(t *testing.T) {
	for _, c := range []struct {
		choice *llm.ToolChoice
		tools  []string
		told   bool
	}{
		{nil, []string{"look", "take"}, false},
		{&llm.ToolChoice{Mode: "auto"}, []string{"look", "take"}, false},
		{&llm.ToolChoice{Mode: "none"}, nil, false},
		{&llm.ToolChoice{Mode: "required"}, []string{"look", "take"}, true},
		{&llm.ToolChoice{Mode: "tool", Name: "take"}, []string{"take"}, true},
	} {
		_, w, err := ask(t, ollama.Config{}, done, func(r *llm.Request) {
			r.Tools, r.ToolChoice = []llm.Tool{{Name: "look"}, {Name: "take"}}, c.choice
		})
		var got []string
		for _, one := range w.asked.Tools {
			got = append(got, one.Function.Name)
		}
		first := w.asked.Messages[0]
		if told := first.Role == "system" && strings.Contains(*first.Content, "have to call"); err != nil || cmp.Diff(c.tools, got) != "" || told != c.told {
			t.Errorf("%+v: %v, told %v, %v", c.choice, got, told, err)
		}
	}
}

func TestConfig_IsSent(t *testing.T) {
	c := ollama.Config{KeepAlive: "30m", ContextTokens: 16384, Options: map[string]any{"top_k": 7, "seed": 3}}
	_, w, err := ask(t, c, done, func(r *llm.Request) {
		r.Seed = new(int64(1))
		r.Output = &llm.OutputSchema{Schema: json.RawMessage(`{"type":"object"}`)}
	})
	if o := w.asked.Options; err != nil || *w.asked.KeepAlive != "30m" || *o.NumCtx != 16384 || *o.TopK != 7 || *o.Seed != 3 || string(w.asked.Format) != `{"type":"object"}` {
		t.Errorf("%+v, %v", w.asked, err)
	}
	if _, _, err := ask(t, ollama.Config{}, done, func(r *llm.Request) { r.Output = &llm.OutputSchema{Schema: json.RawMessage(`7`)} }); llm.KindOf(err) != llm.InvalidRequest {
		t.Errorf("a schema that is none: %v", err)
	}
}

// Thinking is sent back only with the calls that it led to.
func TestThinking_IsSentBackOnlyWithItsCalls(t *testing.T) {
	lines := `{"created_at":"2026-11-15T09:00:00.5Z","message":{"role":"assistant","content":"","thinking":"Let me look."},"done":false}
{"created_at":"2026-11-15T09:00:00.5Z","message":{"role":"assistant","content":"","tool_calls":[{"function":{"name":"look","arguments":{"at":"it"}}},{"function":{"name":"look","arguments":null}}]},"done":false}
{"message":{"role":"assistant","content":""},"done":true,"done_reason":"stop","prompt_eval_count":5}
`
	reply, _, err := ask(t, ollama.Config{}, lines, nil)
	if err != nil {
		t.Fatal(err)
	}
	calls := reply.Message.ToolCalls // an old server: there are no ids, but the same answer has the same
	if len(calls) != 2 || calls[0].ID != "call_202611150900005_0" || calls[1].ID != "call_202611150900005_1" || string(calls[1].Arguments) != "{}" || reply.Finish != llm.ToolUse || reply.Usage.TotalTokens != 5 {
		t.Fatalf("%+v", reply)
	}
	answers := []*llm.Message{{Role: llm.ToolRole, ToolCallID: calls[0].ID, Content: []llm.Block{llm.Text("seen")}}, {Role: llm.ToolRole, ToolCallID: calls[1].ID}}
	said := &llm.Message{Role: llm.Assistant, Content: []llm.Block{llm.Thinking("Hm.", nil), llm.Text("Done.")}}
	_, w, err := ask(t, ollama.Config{}, done, func(r *llm.Request) {
		r.Messages = llm.NewMessages(llm.UserText("Look"), reply.Message, answers[0], answers[1], said, llm.UserText("And?"))
	})
	if m := w.asked.Messages; err != nil || m[1].Thinking != "Let me look." || m[2].ToolName != "look" || m[4].Thinking != "" {
		t.Errorf("%+v, %v", m, err)
	}
}

func TestErrors_AreClassified(t *testing.T) {
	for lines, want := range map[string]llm.Kind{
		`{"error":"model runner has unexpectedly stopped"}`:                       llm.Provider,
		`{"error":"the input length exceeds the context length"}`:                 llm.ContextOverflow,
		`{"message":{"content":""},"done":true,"done_reason":"load"}`:             llm.Provider,
		`{"message":{"content":"a"},"done":false}`:                                llm.Interrupted,
		`{"message":{"content":"a"},"done":false}` + "\n" + `{"message":{"conten`: llm.Interrupted,
	} {
		if _, _, err := ask(t, ollama.Config{}, lines+"\n", nil); llm.KindOf(err) != want {
			t.Errorf("%s: %v, want %s", lines, err, want)
		}
	}
}
