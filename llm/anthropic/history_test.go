package anthropic

import (
	"context"
	"io"
	"net/http"
	"strings"
	"testing"

	"pgregory.net/rapid"

	"github.com/awaken-go/awaken/internal/testenv"
	"github.com/awaken-go/awaken/llm"
	"github.com/awaken-go/awaken/llm/provider"
	"github.com/awaken-go/awaken/llm/providertest"
)

// Whatever happened to a conversation, and whatever is asked of whichever model, the API
// accepts the request: the histories of the suite with Claude's own thinking in them.
func TestHistories_AreAcceptedWithAnyModelAndParameters(t *testing.T) {
	n := 10_000
	if testenv.Race {
		n = 500 // all of them are checked without it
	}
	if testenv.Long() {
		n = 1_000_000
	}
	server := &strictServer{answer: strings.Join(framed(reply(textBlock(0, "ok"), ended("end_turn"))), "")}
	m, err := New(Config{Config: provider.Config{APIKey: "key", BaseURL: "http://provider.invalid", HTTPClient: &http.Client{Transport: server}}})
	if err != nil {
		t.Fatal(err)
	}
	const each = 50
	gen := providertest.Histories(Name)
	for done := 0; done < n && !t.Failed(); {
		rapid.Check(t, func(rt *rapid.T) {
			for range each {
				if done++; done > n {
					return
				}
				req := anyRequest(rt, gen.Draw(rt, "history"))
				if _, err := llm.Generate(context.Background(), m, req); err != nil {
					rt.Fatalf("%v\n%s", err, server.last)
				}
				if req.CachePrompt && !strings.Contains(string(server.last), "cache_control") {
					rt.Fatalf("nothing is marked for the cache: %s", server.last)
				}
			}
		})
	}
}

func anyRequest(t *rapid.T, msgs []*llm.Message) *llm.Request {
	for _, m := range msgs {
		for i := range m.Content {
			if o := m.Content[i].Opaque; o != nil && o.Provider == Name {
				m.Content[i].Opaque = rapid.SampledFrom([]*llm.Opaque{o, {Provider: Name, Signature: "sig"}, redacted("data")}).Draw(t, "opaque")
			}
		}
	}
	req := &llm.Request{
		Model:       rapid.SampledFrom([]string{"claude-3-5-haiku-latest", "claude-opus-4-1", "claude-sonnet-4-5", "claude-sonnet-4-6", "claude-opus-4-7", "claude-sonnet-5", "claude-fable-5", "glm-4.6"}).Draw(t, "model"),
		Messages:    llm.NewMessages(msgs...),
		CachePrompt: rapid.Bool().Draw(t, "cache"),
	}
	if rapid.Bool().Draw(t, "tools") {
		req.Tools = []llm.Tool{lookup(), {Name: "a.b c"}}
		req.ToolChoice = rapid.SampledFrom([]*llm.ToolChoice{nil, {Mode: "auto"}, {Mode: "none"}, {Mode: "required"}, {Mode: "tool", Name: "a.b c"}}).Draw(t, "choice")
		req.ParallelTools = rapid.SampledFrom([]*bool{nil, new(true), new(false)}).Draw(t, "parallel")
	}
	req.ReasoningEffort = rapid.SampledFrom([]*llm.Effort{nil, {Level: "none"}, {Level: "low"}, {Level: "max"}, {Budget: 1}, {Budget: 1 << 20}}).Draw(t, "effort")
	req.Temperature = rapid.SampledFrom([]*float64{nil, new(0.0), new(1.0)}).Draw(t, "temperature")
	req.TopP = rapid.SampledFrom([]*float64{nil, new(0.5), new(0.99)}).Draw(t, "top p")
	req.MaxTokens = rapid.SampledFrom([]*int{nil, new(10), new(1024), new(1025), new(5000)}).Draw(t, "max tokens")
	req.StopSequences = rapid.SampledFrom([][]string{nil, {"END", " \n"}}).Draw(t, "stop")
	if rapid.IntRange(0, 3).Draw(t, "output") == 0 {
		req.Output = &llm.OutputSchema{Name: "lookup", Schema: lookup().Parameters}
	}
	return req
}

func framed(events []string) (out []string) {
	for _, e := range events {
		out = append(out, string(frame(e)))
	}
	return out
}

// strictServer checks each request without a network.
type strictServer struct {
	answer string
	last   []byte
}

func (s *strictServer) RoundTrip(r *http.Request) (*http.Response, error) {
	body, err := io.ReadAll(r.Body)
	if err != nil {
		return nil, err
	}
	s.last = body
	resp := &http.Response{StatusCode: http.StatusOK, Header: http.Header{"Content-Type": {"text/event-stream"}}, Body: io.NopCloser(strings.NewReader(s.answer)), Request: r}
	if err := strictly(body); err != nil {
		resp.StatusCode, resp.Body = http.StatusBadRequest, io.NopCloser(strings.NewReader(err.Error()))
	}
	return resp, nil
}
