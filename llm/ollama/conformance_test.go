package ollama_test

import (
	"bytes"
	"encoding/base64"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"net/http"
	"regexp"
	"strings"
	"testing"
	"time"

	"github.com/awaken-go/awaken/llm"
	"github.com/awaken-go/awaken/llm/internal/providertest"
	"github.com/awaken-go/awaken/llm/ollama"
	"github.com/awaken-go/awaken/llm/provider"
)

var adapter = providertest.Adapter{
	Open: func(t testing.TB, c provider.Config) llm.Model {
		m, err := ollama.New(ollama.Config{Config: c})
		if err != nil {
			t.Fatal(err)
		}
		return m
	},
	Speaker:  speaker{},
	Provider: ollama.Name,
	Model:    "qwen3",
	Cannot: []providertest.Power{
		providertest.Choice, providertest.Parallel, providertest.CacheKey, providertest.CacheMarks, // it has no such fields
		providertest.ArgumentText, providertest.Interleaved, // calls come whole, as JSON
		providertest.Opaque, providertest.CachedTokens, providertest.ThinkingTokens,
		providertest.ImageURLs, providertest.Documents, providertest.Audio,
		providertest.Comments, providertest.Filter,
	},
}

func TestLive(t *testing.T) { providertest.Live(t, adapter.Open) }

func TestConformance(t *testing.T) {
	t.Parallel()
	providertest.Test(t, adapter)
}

func TestCapabilities(t *testing.T) { providertest.Capabilities(t, adapter, "llama3.2", "unheard") }

func TestFaults(t *testing.T) { providertest.Faults(t, adapter) }

func FuzzStream(f *testing.F) { providertest.Fuzz(f, adapter) }

// speaker is the server side of /api/chat.
type speaker struct{}

type object = map[string]any

func line(v object) []byte {
	data, err := json.Marshal(v)
	if err != nil {
		panic(err)
	}
	return append(data, '\n')
}

func (speaker) Speak(r providertest.Reply) (parts, end [][]byte) {
	say := func(message object) {
		message["role"] = "assistant"
		if message["content"] == nil {
			message["content"] = ""
		}
		parts = append(parts, line(object{"model": "qwen3", "created_at": "2026-11-15T09:00:00.123456789Z", "message": message, "done": false}))
	}
	index := 0
	call := func(c *providertest.Call) {
		say(object{"tool_calls": []any{object{"id": c.ID, "function": object{"index": index, "name": c.Name, "arguments": json.RawMessage(strings.Join(c.Args, ""))}}}})
		index++
	}
	for _, p := range r.Parts {
		for _, t := range p.Reasoning {
			say(object{"thinking": t})
		}
		for _, t := range p.Text {
			say(object{"content": t})
		}
		if p.Call != nil {
			call(p.Call)
		}
	}
	last := object{"model": "qwen3", "created_at": "2026-11-15T09:00:01Z", "message": object{"role": "assistant", "content": ""}, "done": true,
		"done_reason": map[llm.FinishReason]string{llm.EndTurn: "stop", llm.ToolUse: "stop", llm.MaxTokens: "length"}[r.Finish], "total_duration": 5, "load_duration": 1}
	if u := r.Usage; u != nil {
		last["prompt_eval_count"], last["eval_count"] = u.PromptTokens, u.CompletionTokens
	}
	return parts, [][]byte{line(last)}
}

// ErrorFrame has only a text: the adapter derives the kind from it.
func (speaker) ErrorFrame(f providertest.Failure) []byte {
	return line(object{"error": map[llm.Kind]string{llm.Overloaded: "server overloaded: ", llm.RateLimited: "rate limit: "}[f.Kind] + f.Message})
}

func (speaker) ErrorBody(f providertest.Failure) []byte {
	return bytes.TrimSpace(speaker{}.ErrorFrame(f))
}

// Models lists two: one with vision, and one without listed capabilities.
func (speaker) Models(key string) (http.Handler, []llm.ModelInfo) {
	mux := http.NewServeMux()
	guarded := func(h http.HandlerFunc) http.HandlerFunc {
		return func(w http.ResponseWriter, r *http.Request) {
			if r.Header.Get("Authorization") != "Bearer "+key {
				w.WriteHeader(http.StatusUnauthorized)
				return
			}
			w.Header().Set("Content-Type", "application/json; charset=utf-8")
			h(w, r)
		}
	}
	mux.HandleFunc("GET /api/tags", guarded(func(w http.ResponseWriter, _ *http.Request) {
		_, _ = io.WriteString(w, `{"models":[{"name":"gemma3:latest","model":"gemma3:latest","size":1,"details":{"family":"gemma3"}},{"name":"old:7b"}]}`)
	}))
	mux.HandleFunc("POST /api/show", guarded(func(w http.ResponseWriter, r *http.Request) {
		body, _ := io.ReadAll(r.Body)
		switch string(body) {
		case `{"model":"gemma3:latest"}`:
			_, _ = io.WriteString(w, `{"model_info":{"general.architecture":"gemma3","gemma3.context_length":131072,"gemma3.block_count":34},"capabilities":["completion","vision"]}`)
		case `{"model":"old:7b"}`:
			_, _ = io.WriteString(w, `{"model_info":null}`)
		default:
			w.WriteHeader(http.StatusNotFound)
		}
	}))
	return mux, []llm.ModelInfo{{ID: "gemma3:latest", ContextWindow: 131072, Input: []string{"text", "image"}, Output: []string{"text"}, Capabilities: llm.ModelCapabilities{Reasoning: llm.NoReasoning}}, {ID: "old:7b"}}
}

// The fields that a request may have. Others are rejected.
type wireRequest struct {
	Model     string          `json:"model"`
	Messages  []wireMessage   `json:"messages"`
	Stream    *bool           `json:"stream"`
	Think     any             `json:"think"`
	Format    json.RawMessage `json:"format"`
	KeepAlive *string         `json:"keep_alive"`
	Truncate  *bool           `json:"truncate"`
	Shift     *bool           `json:"shift"`
	Options   *struct {
		Temperature *float64 `json:"temperature"`
		TopP        *float64 `json:"top_p"`
		NumPredict  *int     `json:"num_predict"`
		NumCtx      *int     `json:"num_ctx"`
		Stop        []string `json:"stop"`
		Seed        *int64   `json:"seed"`
		TopK        *int     `json:"top_k"`
	} `json:"options"`
	Tools []struct {
		Type     string `json:"type"`
		Function struct {
			Name        string          `json:"name"`
			Description string          `json:"description"`
			Parameters  json.RawMessage `json:"parameters"`
		} `json:"function"`
	} `json:"tools"`
}

type wireMessage struct {
	Role      string   `json:"role"`
	Content   *string  `json:"content"`
	Thinking  string   `json:"thinking"`
	Images    []string `json:"images"`
	ToolCalls []struct {
		ID       string `json:"id"`
		Function struct {
			Index     int             `json:"index"`
			Name      string          `json:"name"`
			Arguments json.RawMessage `json:"arguments"`
		} `json:"function"`
	} `json:"tool_calls"`
	ToolName   string `json:"tool_name"`
	ToolCallID string `json:"tool_call_id"`
}

var plainName = regexp.MustCompile(`^[a-zA-Z0-9_-]{1,64}$`)

func exactly(body []byte, into any) error {
	dec := json.NewDecoder(bytes.NewReader(body))
	dec.DisallowUnknownFields()
	return dec.Decode(into)
}

// Read rejects what the server, or the template of some model, does not accept.
func (speaker) Read(r *http.Request, body []byte) (*providertest.Asked, error) {
	var q wireRequest
	if err := exactly(body, &q); err != nil {
		return nil, err
	}
	switch {
	case r.Method != http.MethodPost || !strings.HasSuffix(r.URL.Path, "/api/chat"):
		return nil, fmt.Errorf("%s %s", r.Method, r.URL.Path)
	case r.Header.Get("Content-Type") != "application/json":
		return nil, errors.New("the content type is not JSON")
	case q.Truncate == nil || *q.Truncate || q.Shift == nil || *q.Shift:
		return nil, errors.New("the server would leave out what is too long")
	case q.Stream == nil || q.Model == "" || len(q.Messages) == 0:
		return nil, errors.New("a field is missing")
	}
	if q.KeepAlive != nil {
		if _, err := time.ParseDuration(*q.KeepAlive); err != nil {
			return nil, err
		}
	}
	a := &providertest.Asked{Model: q.Model, Stream: *q.Stream, Output: q.Format}
	a.Key, _ = strings.CutPrefix(r.Header.Get("Authorization"), "Bearer ")
	if q.Think != nil && strings.HasPrefix(q.Model, "llama3") {
		return nil, fmt.Errorf("%q does not support thinking", q.Model)
	}
	switch think := q.Think.(type) {
	case nil:
	case bool:
		a.Effort = fmt.Sprint(think)
	case string:
		if a.Effort = think; !strings.Contains("low medium high max", think) {
			return nil, fmt.Errorf("invalid think value: %q", think)
		}
	default:
		return nil, fmt.Errorf("think is %v", think)
	}
	if o := q.Options; o != nil {
		a.Temperature, a.TopP, a.MaxTokens, a.Stop, a.Seed = o.Temperature, o.TopP, o.NumPredict, o.Stop, o.Seed
	}
	for _, t := range q.Tools {
		var schema struct {
			Type       string         `json:"type"`
			Properties map[string]any `json:"properties"`
		}
		if err := json.Unmarshal(t.Function.Parameters, &schema); err != nil || schema.Type != "object" || schema.Properties == nil || t.Type != "function" || !plainName.MatchString(t.Function.Name) {
			return nil, fmt.Errorf("tool %+v: %w", t, err)
		}
		a.Tools = append(a.Tools, providertest.Tool{Name: t.Function.Name, Description: t.Function.Description, Schema: t.Function.Parameters})
	}
	called := map[string]string{}
	for i, m := range q.Messages {
		turn, err := m.turn(called)
		if err != nil {
			return nil, fmt.Errorf("messages[%d]: %w", i, err)
		}
		if i == 0 && turn.Role == llm.System {
			a.System = turn.Text
			continue
		}
		a.Turns = append(a.Turns, turn)
	}
	return a, nil
}

func (m *wireMessage) turn(called map[string]string) (t providertest.Turn, err error) {
	t = providertest.Turn{Role: llm.Role(m.Role), CallID: m.ToolCallID, Media: m.Images}
	tool := m.Role == "tool"
	switch {
	case m.Role != "system" && m.Role != "user" && m.Role != "assistant" && !tool:
		return t, fmt.Errorf("role %q", m.Role)
	case m.Content == nil:
		return t, errors.New("content is missing")
	case *m.Content == "" && len(m.Images) == 0 && len(m.ToolCalls) == 0 && !tool:
		return t, errors.New("it is empty")
	case tool != (m.ToolCallID != "") || tool && (m.ToolName == "" || m.ToolName != called[m.ToolCallID]):
		return t, fmt.Errorf("role %s is for call %q of tool %q", m.Role, m.ToolCallID, m.ToolName)
	case m.Role != "assistant" && (m.Thinking != "" || len(m.ToolCalls) > 0), m.Role != "user" && len(m.Images) > 0:
		return t, fmt.Errorf("role %s has %+v", m.Role, m)
	}
	t.Text = *m.Content
	for _, image := range m.Images {
		if _, err := base64.StdEncoding.DecodeString(image); err != nil {
			return t, err
		}
	}
	for i, c := range m.ToolCalls {
		var args map[string]any
		if err := json.Unmarshal(c.Function.Arguments, &args); err != nil || args == nil || c.Function.Index != i || c.ID == "" || !plainName.MatchString(c.Function.Name) {
			return t, fmt.Errorf("call %+v: %w", c, err)
		}
		called[c.ID] = c.Function.Name
		t.Calls = append(t.Calls, providertest.Call{ID: c.ID, Name: c.Function.Name, Args: []string{string(c.Function.Arguments)}})
	}
	return t, nil
}
