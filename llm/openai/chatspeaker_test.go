package openai_test

import (
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"net/http"
	"regexp"
	"slices"
	"strings"

	"github.com/awaken-go/awaken/llm"
	"github.com/awaken-go/awaken/llm/internal/providertest"
)

// object is a JSON object.
type object = map[string]any

func frame(event string, v any) []byte {
	data, err := json.Marshal(v)
	if err != nil {
		panic(err)
	}
	if event == "" {
		return fmt.Appendf(nil, "data: %s\n\n", data)
	}
	return fmt.Appendf(nil, "event: %s\ndata: %s\n\n", event, data)
}

// unreasoning matches OpenAI's models that do not reason.
var unreasoning = regexp.MustCompile(`^(gpt-3\.5|gpt-4)`)

// chatSpeaker is the server side of Chat Completions.
type chatSpeaker struct {
	reasoning string // the field
}

func (s chatSpeaker) Speak(r providertest.Reply) (parts, end [][]byte) {
	chunk := func(delta object, finish any) []byte {
		return frame("", object{"id": "chatcmpl-1", "object": "chat.completion.chunk", "created": 1, "model": "m", "usage": nil,
			"choices": []any{object{"index": 0, "delta": delta, "logprobs": nil, "finish_reason": finish}}})
	}
	say := func(delta object) { parts = append(parts, chunk(delta, nil)) }
	say(object{"role": "assistant", "content": "", "refusal": nil})
	index := 0
	start := func(c providertest.Call) {
		say(object{"tool_calls": []any{object{"index": index, "id": c.ID, "type": "function", "function": object{"name": c.Name, "arguments": ""}}}})
	}
	piece := func(index int, text string) {
		say(object{"tool_calls": []any{object{"index": index, "function": object{"arguments": text}}}})
	}
	for _, p := range r.Parts {
		for _, t := range p.Reasoning {
			say(object{s.reasoning: t, "content": nil})
		}
		for _, t := range p.Text {
			say(object{"content": t})
		}
		if c := p.Call; c != nil {
			start(*c)
			for _, t := range c.Args {
				piece(index, t)
			}
			index++
		}
		first := index
		for _, c := range p.Mixed {
			start(c)
			index++
		}
		for i := 0; len(p.Mixed) > 0 && i < len(p.Mixed[0].Args); i++ {
			for j, c := range p.Mixed {
				if i < len(c.Args) {
					piece(first+j, c.Args[i])
				}
			}
		}
	}
	reason := map[llm.FinishReason]string{llm.EndTurn: "stop", llm.MaxTokens: "length", llm.ToolUse: "tool_calls", "": "content_filter"}[r.Finish]
	end = append(end, chunk(object{}, reason))
	if u := r.Usage; u != nil {
		end = append(end, frame("", object{"id": "chatcmpl-1", "object": "chat.completion.chunk", "choices": []any{}, "usage": object{
			"prompt_tokens": u.PromptTokens, "completion_tokens": u.CompletionTokens, "total_tokens": u.TotalTokens,
			"prompt_tokens_details":     object{"cached_tokens": u.CacheReadTokens, "audio_tokens": 0},
			"completion_tokens_details": object{"reasoning_tokens": u.ThinkingTokens, "audio_tokens": 0}}}))
	}
	return parts, append(end, []byte("data: [DONE]\n\n"))
}

func errorObject(f providertest.Failure) object {
	kind, code := "server_error", any(nil)
	switch f.Kind {
	case llm.InvalidRequest, llm.ModelNotFound:
		kind = "invalid_request_error"
	case llm.ContextOverflow:
		kind, code = "invalid_request_error", "context_length_exceeded"
	case llm.Unauthorized:
		kind, code = "invalid_request_error", "invalid_api_key"
	case llm.RateLimited:
		kind, code = "requests", "rate_limit_exceeded"
	case llm.Overloaded:
		kind, code = "server_error", "server_overloaded"
	}
	return object{"message": f.Message, "type": kind, "param": nil, "code": code}
}

func (chatSpeaker) ErrorBody(f providertest.Failure) []byte {
	data, _ := json.Marshal(object{"error": errorObject(f)})
	return data
}

func (chatSpeaker) ErrorFrame(f providertest.Failure) []byte {
	return frame("", object{"error": errorObject(f)})
}

// Models lists models as Groq and OpenRouter do, which report the most.
func (chatSpeaker) Models(key string) (http.Handler, []llm.ModelInfo) {
	return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
			if r.Method != http.MethodGet || r.URL.Path != "/v1/models" || r.Header.Get("Authorization") != "Bearer "+key {
				w.WriteHeader(http.StatusForbidden)
				return
			}
			w.Header().Set("Content-Type", "application/json")
			_, _ = io.WriteString(w, `{"object":"list","data":[{"id":"small","object":"model","context_window":8192,"max_completion_tokens":1024},`+
				`{"id":"large","object":"model","context_length":200000,"architecture":{"input_modalities":["text","image"],"output_modalities":["text"]},"top_provider":{"max_completion_tokens":64000}},{"id":"secret"}]}`)
		}), []llm.ModelInfo{{ID: "small", ContextWindow: 8192, MaxOutputTokens: 1024},
			{ID: "large", ContextWindow: 200000, MaxOutputTokens: 64000, Input: []string{"text", "image"}, Output: []string{"text"}}, {ID: "secret"}}
}

var (
	plainName = regexp.MustCompile(`^[a-zA-Z0-9_-]{1,64}$`)
	plainID   = regexp.MustCompile(`^[a-zA-Z0-9_-]{1,40}$`)
)

type chatRequest struct {
	Model         string        `json:"model"`
	Messages      []chatMessage `json:"messages"`
	Stream        bool          `json:"stream"`
	StreamOptions *struct {
		IncludeUsage bool `json:"include_usage"`
	} `json:"stream_options"`
	Tools []struct {
		Type     string `json:"type"`
		Function struct {
			Name        string          `json:"name"`
			Description string          `json:"description"`
			Parameters  json.RawMessage `json:"parameters"`
			Strict      *bool           `json:"strict"`
		} `json:"function"`
	} `json:"tools"`
	ToolChoice     json.RawMessage `json:"tool_choice"`
	Parallel       *bool           `json:"parallel_tool_calls"`
	Temperature    *float64        `json:"temperature"`
	TopP           *float64        `json:"top_p"`
	MaxTokens      *int            `json:"max_completion_tokens"`
	Stop           []string        `json:"stop"`
	Seed           *int64          `json:"seed"`
	Effort         string          `json:"reasoning_effort"`
	CacheKey       string          `json:"prompt_cache_key"`
	ResponseFormat *struct {
		Type       string `json:"type"`
		JSONSchema *struct {
			Name   string          `json:"name"`
			Strict *bool           `json:"strict"`
			Schema json.RawMessage `json:"schema"`
		} `json:"json_schema"`
	} `json:"response_format"`
}

type chatMessage struct {
	Role       string          `json:"role"`
	Content    json.RawMessage `json:"content"`
	ToolCallID string          `json:"tool_call_id"`
	ToolCalls  []struct {
		ID       string `json:"id"`
		Type     string `json:"type"`
		Function struct {
			Name      string `json:"name"`
			Arguments string `json:"arguments"`
		} `json:"function"`
	} `json:"tool_calls"`
}

type chatPart struct {
	Type     string `json:"type"`
	Text     string `json:"text"`
	ImageURL *struct {
		URL string `json:"url"`
	} `json:"image_url"`
	Audio *struct {
		Data   string `json:"data"`
		Format string `json:"format"`
	} `json:"input_audio"`
	File *struct {
		Data string `json:"file_data"`
		Name string `json:"filename"`
	} `json:"file"`
}

// strictJSON decodes a body and rejects unknown fields.
func strictJSON(body []byte, v any) error {
	dec := json.NewDecoder(strings.NewReader(string(body)))
	dec.DisallowUnknownFields()
	return dec.Decode(v)
}

// Read rejects what OpenAI rejects.
func (chatSpeaker) Read(r *http.Request, body []byte) (*providertest.Asked, error) {
	if !strings.HasSuffix(r.URL.Path, "/chat/completions") {
		return nil, fmt.Errorf("path is %s", r.URL.Path)
	}
	var q chatRequest
	if err := strictJSON(body, &q); err != nil {
		return nil, err
	}
	if q.Effort != "" && unreasoning.MatchString(q.Model) {
		return nil, errors.New("Unrecognized request argument supplied: reasoning_effort")
	}
	a := &providertest.Asked{Model: q.Model, Stream: q.Stream, CacheKey: q.CacheKey, Temperature: q.Temperature, TopP: q.TopP, MaxTokens: q.MaxTokens, Stop: q.Stop,
		Seed: q.Seed, Parallel: q.Parallel, Effort: q.Effort}
	a.Key, _ = strings.CutPrefix(r.Header.Get("Authorization"), "Bearer ")
	if q.StreamOptions == nil || !q.StreamOptions.IncludeUsage {
		return nil, errors.New("usage is not asked for")
	}
	if len(q.Messages) == 0 || len(q.Messages) == 1 && q.Messages[0].Role == "system" {
		return nil, errors.New("there are no messages")
	}
	for i, m := range q.Messages {
		t, err := m.turn()
		if err != nil {
			return nil, fmt.Errorf("messages[%d]: %w", i, err)
		}
		if i == 0 && t.Role == llm.System {
			a.System = t.Text
			continue
		}
		a.Turns = append(a.Turns, t)
	}
	for _, t := range q.Tools {
		if !plainName.MatchString(t.Function.Name) || t.Type != "function" {
			return nil, fmt.Errorf("tool %q", t.Function.Name)
		}
		if err := objectSchema(t.Function.Parameters); err != nil {
			return nil, fmt.Errorf("tool %q: %w", t.Function.Name, err)
		}
		a.Tools = append(a.Tools, providertest.Tool{Name: t.Function.Name, Description: t.Function.Description, Schema: t.Function.Parameters})
	}
	if len(q.Tools) == 0 && (q.Parallel != nil || q.ToolChoice != nil) {
		return nil, errors.New("tool_choice and parallel_tool_calls are only allowed with tools")
	}
	if f := q.ResponseFormat; f != nil {
		if f.Type != "json_schema" || f.JSONSchema == nil || !plainName.MatchString(f.JSONSchema.Name) {
			return nil, fmt.Errorf("response_format %+v", f)
		}
		a.Output = f.JSONSchema.Schema
	}
	var err error
	a.Choice, err = readChoice(q.ToolChoice)
	return a, err
}

func readChoice(raw json.RawMessage) (string, error) {
	if raw == nil {
		return "", nil
	}
	var word string
	if json.Unmarshal(raw, &word) == nil {
		if !slices.Contains([]string{"auto", "none", "required"}, word) {
			return "", fmt.Errorf("tool_choice %q", word)
		}
		return word, nil
	}
	var c struct {
		Type     string `json:"type"`
		Name     string `json:"name"`
		Function struct {
			Name string `json:"name"`
		} `json:"function"`
	}
	if err := strictJSON(raw, &c); err != nil || c.Type != "function" {
		return "", fmt.Errorf("tool_choice %s: %w", raw, err)
	}
	return c.Name + c.Function.Name, nil
}

func objectSchema(raw json.RawMessage) error {
	var s struct {
		Type       string         `json:"type"`
		Properties map[string]any `json:"properties"`
	}
	if err := json.Unmarshal(raw, &s); err != nil {
		return err
	}
	if s.Type != "object" || s.Properties == nil {
		return fmt.Errorf("the schema is not one of an object with properties: %s", raw)
	}
	return nil
}

func (m *chatMessage) turn() (t providertest.Turn, err error) {
	t = providertest.Turn{Role: llm.Role(m.Role), CallID: m.ToolCallID}
	if (m.ToolCallID != "") != (m.Role == "tool") || len(m.ToolCalls) > 0 && m.Role != "assistant" {
		return t, fmt.Errorf("role %s does not fit: %+v", m.Role, m)
	}
	var parts []chatPart
	if m.Content == nil || string(m.Content) == "null" {
		if m.Role != "assistant" || len(m.ToolCalls) == 0 {
			return t, errors.New("content is missing")
		}
	} else if json.Unmarshal(m.Content, &t.Text) != nil {
		if err := strictJSON(m.Content, &parts); err != nil {
			return t, err
		}
		if m.Role != "user" || len(parts) == 0 {
			return t, fmt.Errorf("role %s has %d parts", m.Role, len(parts))
		}
	}
	if t.Text == "" && parts == nil && m.Role != "tool" && len(m.ToolCalls) == 0 {
		return t, errors.New("content is empty")
	}
	for _, p := range parts {
		switch {
		case p.Type == "text" && p.Text != "":
			t.Text += p.Text
		case p.Type == "image_url" && p.ImageURL != nil:
			t.Media = append(t.Media, undata(p.ImageURL.URL))
		case p.Type == "input_audio" && p.Audio != nil && (p.Audio.Format == "wav" || p.Audio.Format == "mp3"):
			t.Media = append(t.Media, p.Audio.Data)
		case p.Type == "file" && p.File != nil && strings.HasPrefix(p.File.Data, "data:") && p.File.Name != "":
			t.Media = append(t.Media, undata(p.File.Data))
		default:
			return t, fmt.Errorf("part %+v", p)
		}
	}
	for _, c := range m.ToolCalls {
		if !plainID.MatchString(c.ID) || !plainName.MatchString(c.Function.Name) || c.Type != "function" || !json.Valid([]byte(c.Function.Arguments)) {
			return t, fmt.Errorf("call %+v", c)
		}
		t.Calls = append(t.Calls, providertest.Call{ID: c.ID, Name: c.Function.Name, Args: []string{c.Function.Arguments}})
	}
	return t, nil
}

// undata returns the data of a data URL, or the URL itself.
func undata(s string) string {
	if head, data, ok := strings.Cut(s, ";base64,"); ok && strings.HasPrefix(head, "data:") {
		return data
	}
	return s
}
