package gemini

import (
	"encoding/json"
	"fmt"
	"io"
	"net/http"
	"strings"
	"testing"

	"github.com/awaken-go/awaken/llm"
	"github.com/awaken-go/awaken/llm/internal/providertest"
	"github.com/awaken-go/awaken/llm/provider"
)

func adapter(model string) providertest.Adapter {
	return providertest.Adapter{
		Open: func(t testing.TB, c provider.Config) llm.Model {
			m, err := New(Config{Config: c})
			if err != nil {
				t.Fatal(err)
			}
			return m
		},
		Speaker:  speaker{},
		Provider: Name,
		Model:    model,
		Cannot:   []providertest.Power{providertest.CacheKey, providertest.CacheMarks, providertest.Parallel, providertest.ArgumentText, providertest.Interleaved},
	}
}

// The third generation signs its calls and has stricter rules than the second.
func TestConformance(t *testing.T) {
	for _, model := range []string{"gemini-2.5-flash", "gemini-3-pro-preview"} {
		t.Run(model, func(t *testing.T) { providertest.Test(t, adapter(model)) })
	}
}

func TestCapabilities(t *testing.T) {
	providertest.Capabilities(t, adapter("gemini-3-pro-preview"), "gemini-2.0-flash", "gemini-flash-latest")
}

func TestFaults(t *testing.T) { providertest.Faults(t, adapter("gemini-3-pro-preview")) }

func TestLive(t *testing.T) { providertest.Live(t, adapter("").Open) }

func FuzzStream(f *testing.F) { providertest.Fuzz(f, adapter("gemini-3-pro-preview")) }

// speaker is the server side of streamGenerateContent.
type speaker struct{}

// Models lists models, on two pages.
func (speaker) Models(key string) (http.Handler, []llm.ModelInfo) {
	return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		if r.Method != http.MethodGet || r.URL.Path != "/v1beta/models" || r.Header.Get("X-Goog-Api-Key") != key {
			w.WriteHeader(http.StatusForbidden)
			return
		}
		w.Header().Set("Content-Type", "application/json; charset=UTF-8")
		if r.URL.Query().Get("pageToken") == "" {
			_, _ = io.WriteString(w, `{"models":[{"name":"models/gemini-2.5-flash","inputTokenLimit":1048576,"outputTokenLimit":65536,"thinking":true}],"nextPageToken":"more"}`)
			return
		}
		_, _ = io.WriteString(w, `{"models":[{"name":"models/gemini-embedding","inputTokenLimit":2048,"outputTokenLimit":1}]}`)
	}), []llm.ModelInfo{{ID: "gemini-2.5-flash", ContextWindow: 1048576, MaxOutputTokens: 65536}, {ID: "gemini-embedding", ContextWindow: 2048, MaxOutputTokens: 1, Capabilities: llm.ModelCapabilities{Reasoning: llm.NoReasoning}}}
}

func (speaker) Speak(r providertest.Reply) (frames, end [][]byte) {
	add := func(format string, args ...any) {
		part := fmt.Sprintf(format, args...)
		frames = append(frames, fmt.Appendf(nil, `data: {"candidates": [{"content": {"parts": [%s],"role": "model"},"index": 0}],"modelVersion": "gemini","responseId": "resp_1"}`+"\n\n", part))
	}
	for _, p := range r.Parts {
		switch {
		case len(p.Reasoning) > 0:
			for _, s := range p.Reasoning {
				add(`{"text":%s,"thought":true}`, providertest.Show(s))
			}
		case p.Opaque != "":
			add(`{"text":"","thought":true,"thoughtSignature":%q}`, p.Opaque)
		case p.Call != nil:
			add(`{"functionCall":{"id":%s,"name":%s,"args":%s}}`, providertest.Show(p.Call.ID), providertest.Show(p.Call.Name), strings.Join(p.Call.Args, ""))
		default:
			for _, s := range p.Text {
				add(`{"text":%s}`, providertest.Show(s))
			}
		}
	}
	usage := ""
	if u := r.Usage; u != nil {
		usage = fmt.Sprintf(`,"usageMetadata": {"promptTokenCount": %d,"candidatesTokenCount": %d,"totalTokenCount": %d,"cachedContentTokenCount": %d,"thoughtsTokenCount": %d}`,
			u.PromptTokens, u.CompletionTokens-u.ThinkingTokens, u.TotalTokens, u.CacheReadTokens, u.ThinkingTokens)
	}
	reason := map[llm.FinishReason]string{llm.EndTurn: "STOP", llm.ToolUse: "STOP", llm.StopSequence: "STOP", llm.MaxTokens: "MAX_TOKENS", "": "SAFETY"}[r.Finish]
	end = append(end, fmt.Appendf(nil, `data: {"candidates": [{"content": {"parts": [{"text": ""}],"role": "model"},"finishReason": %q,"index": 0}]%s,"modelVersion": "gemini","responseId": "resp_1"}`+"\n\n", reason, usage))
	return frames, end
}

var statuses = map[llm.Kind]string{
	llm.Overloaded: "UNAVAILABLE", llm.RateLimited: "RESOURCE_EXHAUSTED", llm.Provider: "INTERNAL", llm.Timeout: "DEADLINE_EXCEEDED",
	llm.InvalidRequest: "INVALID_ARGUMENT", llm.ContextOverflow: "INVALID_ARGUMENT", llm.Unauthorized: "PERMISSION_DENIED", llm.ModelNotFound: "NOT_FOUND",
}

func (speaker) ErrorBody(f providertest.Failure) []byte {
	return fmt.Appendf(nil, `{"error": {"code": %d,"message": %s,"status": %q}}`, f.Status, providertest.Show(f.Message), statuses[f.Kind])
}

func (s speaker) ErrorFrame(f providertest.Failure) []byte {
	return fmt.Appendf(nil, "data: %s\n\n", s.ErrorBody(f))
}

func (speaker) Read(r *http.Request, body []byte) (*providertest.Asked, error) {
	path := modelPath.FindStringSubmatch(r.URL.Path)
	if r.Method != http.MethodPost || path == nil || r.URL.RawQuery != "alt=sse" {
		return nil, fmt.Errorf("%s %s", r.Method, r.URL)
	}
	if err := strictly(path[1], body); err != nil {
		return nil, err
	}
	var w wireRequest
	if err := json.Unmarshal(body, &w); err != nil {
		return nil, err
	}
	g := &w.GenerationConfig
	a := &providertest.Asked{Model: path[1], Stream: true, Key: r.Header.Get("X-Goog-Api-Key"), Temperature: g.Temperature, TopP: g.TopP, MaxTokens: g.MaxOutputTokens, Stop: g.StopSequences}
	if w.SystemInstruction != nil {
		var texts []string
		for _, p := range w.SystemInstruction.Parts {
			texts = append(texts, *p.Text)
		}
		a.System = strings.Join(texts, "\n\n")
	}
	if g.Seed != nil {
		a.Seed = new(int64(*g.Seed))
	}
	if t := g.ThinkingConfig; t != nil {
		a.Effort = providertest.Show(t)
	}
	if g.ResponseSchema != nil {
		a.Output = json.RawMessage(providertest.Show(g.ResponseSchema))
	}
	for _, t := range w.Tools {
		for _, f := range t.FunctionDeclarations {
			a.Tools = append(a.Tools, providertest.Tool{Name: f.Name, Description: f.Description, Schema: json.RawMessage(providertest.Show(f.Parameters))})
		}
	}
	if c := w.ToolConfig; c != nil {
		a.Choice = map[string]string{"AUTO": "auto", "NONE": "none", "ANY": "required"}[c.FunctionCallingConfig.Mode]
		if only := c.FunctionCallingConfig.Allowed; len(only) == 1 {
			a.Choice = only[0]
		}
	}
	for _, c := range w.Contents {
		a.Turns = append(a.Turns, readTurns(c)...)
	}
	return a, nil
}

func readTurns(c wireContent) (turns []providertest.Turn) {
	whole := providertest.Turn{Role: map[string]llm.Role{"user": llm.User, "model": llm.Assistant}[c.Role]}
	some := false
	for _, p := range c.Parts {
		if f := p.FunctionResponse; f != nil {
			one := providertest.Turn{Role: llm.ToolRole, CallID: f.ID}
			if s, ok := f.Response["result"].(string); ok {
				one.Text = s
			} else {
				one.Text = providertest.Show(f.Response)
			}
			for _, m := range f.Parts {
				one.Media = append(one.Media, m.InlineData.Data)
			}
			turns = append(turns, one)
			continue
		}
		some = true
		readPart(&whole, p)
	}
	if some {
		turns = append(turns, whole)
	}
	return turns
}

func readPart(t *providertest.Turn, p wirePart) {
	if s := p.ThoughtSignature; s != "" && s != skipSignature {
		t.Opaque = append(t.Opaque, s)
	}
	switch {
	case p.FunctionCall != nil:
		t.Calls = append(t.Calls, providertest.Call{ID: p.FunctionCall.ID, Name: p.FunctionCall.Name, Args: []string{providertest.Show(p.FunctionCall.Args)}})
	case p.InlineData != nil:
		t.Media = append(t.Media, p.InlineData.Data)
	case p.FileData != nil:
		t.Media = append(t.Media, p.FileData.FileURI)
	case p.Text != nil && !p.Thought:
		if t.Text != "" {
			t.Text += "\n"
		}
		t.Text += *p.Text
	}
}
