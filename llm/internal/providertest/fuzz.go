package providertest

import (
	"bytes"
	"errors"
	"io"
	"net/http"
	"slices"
	"testing"

	"github.com/awaken-go/awaken/llm"
	"github.com/awaken-go/awaken/llm/provider"
)

// Fuzz checks that whatever a server responds, the adapter's stream ends with one finish or one
// error, and the error is an *llm.Error.
func Fuzz(f *testing.F, a Adapter) {
	for _, r := range []Reply{says("Hello ", "you"), calls(Call{"call_1", "look", []string{`{"at":`, `"it"}`}}),
		{Parts: []Part{{Reasoning: []string{"Hm."}}, {Opaque: "b3BhcXVl"}, text("42")}, Finish: llm.MaxTokens, Usage: &llm.Usage{PromptTokens: 1, CompletionTokens: 2}}} {
		parts, end := a.Speak(r)
		f.Add(uint16(200), "", slices.Concat(slices.Concat(parts, end)...))
		f.Add(uint16(200), "", slices.Concat(append(parts, a.ErrorFrame(Failure{llm.Overloaded, 503, "no capacity"}))...))
	}
	for _, odd := range []string{"", "data: {}\n\n", "data: {\"error\":null}\n\n", "{\"error\":null}\n", "data: [DONE]\n\n", "data: null\n\n", "null\n", "data: []\n\n", "event: error\ndata: {}\n\n"} {
		f.Add(uint16(200), "", []byte(odd))
		f.Add(uint16(400), "1", []byte(odd))
	}
	f.Add(uint16(429), "Wed, 21 Oct 2015 07:28:00 GMT", a.ErrorBody(Failure{llm.RateLimited, 429, "slowly"}))
	f.Add(uint16(503), "99999999999999999999", a.ErrorBody(Failure{llm.Overloaded, 503, "no capacity"}))
	f.Add(uint16(400), "-1", a.ErrorBody(Failure{llm.ContextOverflow, 400, "prompt is too long: 9 tokens > 8 maximum"}))
	f.Fuzz(func(t *testing.T, status uint16, after string, body []byte) {
		s := fixed{status: 200 + (int(status)+200)%400, header: http.Header{"Content-Type": {"text/event-stream"}, "Retry-After": {after}}, body: body}
		m := a.Open(t, provider.Config{APIKey: key, BaseURL: "http://provider.invalid", HTTPClient: &http.Client{Transport: s}})
		o := ask(t, m, a.request())
		if s.status >= 300 && o.err == nil {
			t.Errorf("status %d is no error", s.status)
		}
		if e, ok := errors.AsType[*llm.Error](o.err); ok && (e.Kind == "" || e.RetryAfter < 0) {
			t.Errorf("the error is of kind %q, and to be tried again after %v", e.Kind, e.RetryAfter)
		}
	})
}

// fixed is a server that sends the same response to every request.
type fixed struct {
	status int
	header http.Header
	body   []byte
}

func (s fixed) RoundTrip(r *http.Request) (*http.Response, error) {
	return &http.Response{StatusCode: s.status, Header: s.header, Body: io.NopCloser(bytes.NewReader(s.body)), Request: r}, nil
}
