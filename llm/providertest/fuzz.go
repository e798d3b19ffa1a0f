package providertest

import (
	"bytes"
	"io"
	"net/http"
	"slices"
	"testing"

	"github.com/awaken-go/awaken/llm"
	"github.com/awaken-go/awaken/llm/provider"
)

// Fuzz holds an adapter to this: whatever a server streams, what the adapter makes of it ends
// with one finish or one error, and the error is an *llm.Error.
func Fuzz(f *testing.F, a Adapter) {
	for _, r := range []Reply{says("Hello ", "you"), calls(Call{"call_1", "look", []string{`{"at":`, `"it"}`}}),
		{Parts: []Part{{Reasoning: []string{"Hm."}}, {Opaque: "b3BhcXVl"}, text("42")}, Finish: llm.MaxTokens, Usage: &llm.Usage{PromptTokens: 1, CompletionTokens: 2}}} {
		parts, end := a.Speak(r)
		f.Add(slices.Concat(slices.Concat(parts, end)...))
		f.Add(slices.Concat(append(parts, a.ErrorFrame(Failure{llm.Overloaded, 503, "no capacity"}))...))
	}
	for _, odd := range []string{"", "data: {}\n\n", "data: {\"error\":null}\n\n", "{\"error\":null}\n", "data: [DONE]\n\n", "data: null\n\n", "null\n", "data: []\n\n", "event: error\ndata: {}\n\n"} {
		f.Add([]byte(odd))
	}
	f.Fuzz(func(t *testing.T, stream []byte) {
		m := a.Open(t, provider.Config{APIKey: key, BaseURL: "http://provider.invalid", HTTPClient: &http.Client{Transport: says200(stream)}})
		ask(t, m, a.request())
	})
}

// says200 is a server that answers everything with this.
type says200 []byte

func (s says200) RoundTrip(r *http.Request) (*http.Response, error) {
	return &http.Response{StatusCode: http.StatusOK, Header: http.Header{"Content-Type": {"text/event-stream"}}, Body: io.NopCloser(bytes.NewReader(s)), Request: r}, nil
}
