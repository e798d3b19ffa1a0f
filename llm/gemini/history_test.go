package gemini

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
// accepts the request: the histories of the suite with signatures of Gemini in them.
func TestHistories_AreAcceptedWithAnyModelAndParameters(t *testing.T) {
	n := 10_000
	if testenv.Race {
		n = 500 // all of them are checked without it
	}
	if testenv.Long() {
		n = 1_000_000
	}
	server := &strictServer{answer: "data: " + parts(`{"text":"ok"}`) + "\n\ndata: " + ended("STOP") + "\n\n"}
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
			}
		})
	}
}

func anyRequest(t *rapid.T, msgs []*llm.Message) *llm.Request {
	req := &llm.Request{
		Model:    rapid.SampledFrom([]string{"gemini-2.0-flash", "gemini-2.5-flash", "gemini-2.5-pro", "gemini-3-pro-preview", "gemini-3-flash-preview", "gemini-flash-latest"}).Draw(t, "model"),
		Messages: llm.NewMessages(msgs...),
	}
	sign := func(o *llm.Opaque) *llm.Opaque {
		if o == nil || o.Provider != Name {
			return o
		}
		return rapid.SampledFrom([]*llm.Opaque{o, signed("c2ln", req.Model), signed("b3RoZXI=", "gemini-other")}).Draw(t, "opaque")
	}
	for _, m := range msgs {
		m.Opaque = sign(m.Opaque)
		for i := range m.Content {
			m.Content[i].Opaque = sign(m.Content[i].Opaque)
		}
		for i := range m.ToolCalls {
			m.ToolCalls[i].Opaque = sign(m.ToolCalls[i].Opaque)
		}
	}
	if rapid.Bool().Draw(t, "tools") {
		req.Tools = []llm.Tool{lookup(), {Name: "3d.a b"}}
		req.ToolChoice = rapid.SampledFrom([]*llm.ToolChoice{nil, {Mode: "auto"}, {Mode: "none"}, {Mode: "required"}, {Mode: "tool", Name: "3d.a b"}}).Draw(t, "choice")
	}
	req.ReasoningEffort = rapid.SampledFrom([]*llm.Effort{nil, {Level: "none"}, {Level: "low"}, {Level: "max"}, {Budget: 1}, {Budget: 1 << 20}}).Draw(t, "effort")
	if rapid.IntRange(0, 3).Draw(t, "output") == 0 {
		req.Output = &llm.OutputSchema{Name: "lookup", Schema: lookup().Parameters}
	}
	return req
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
	if err := strictly(modelPath.FindStringSubmatch(r.URL.Path)[1], body); err != nil {
		resp.StatusCode, resp.Body = http.StatusBadRequest, io.NopCloser(strings.NewReader(err.Error()))
	}
	return resp, nil
}
