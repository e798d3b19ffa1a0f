package openai

import (
	"cmp"
	"context"
	"encoding/json"
	"fmt"
	"strings"

	"github.com/awaken-go/awaken/llm"
	"github.com/awaken-go/awaken/llm/provider"
)

// chat sends the request to Chat Completions.
func (m *Model) chat(ctx context.Context, req *llm.Request, emit provider.Emit) error {
	s := chatStream{m: m, names: provider.NewNames(req, safeName64), emit: emit}
	q, extra, err := m.chatRequest(req, s.names)
	if err != nil {
		return err
	}
	return m.post(ctx, "chat/completions", q, extra, s.take)
}

// chatChunk is an event, with the fields that the adapter uses.
type chatChunk struct {
	ID      string            `json:"id"`
	Error   json.RawMessage   `json:"error"`
	Choices []chatChoiceDelta `json:"choices"`
	Usage   *chatUsage        `json:"usage"`
	Groq    *struct {
		Usage *chatUsage `json:"usage"`
	} `json:"x_groq"`
}

type chatChoiceDelta struct {
	Index int `json:"index"`
	Delta struct {
		Content          content           `json:"content"`
		Refusal          string            `json:"refusal"`
		ReasoningContent string            `json:"reasoning_content"`
		Reasoning        string            `json:"reasoning"`
		ReasoningDetails []json.RawMessage `json:"reasoning_details"`
		ToolCalls        []chatCall        `json:"tool_calls"`
	} `json:"delta"`
	FinishReason string `json:"finish_reason"`
}

type chatCall struct {
	Index    *int   `json:"index"`
	ID       string `json:"id"`
	Function struct {
		Name      string    `json:"name"`
		Arguments arguments `json:"arguments"`
	} `json:"function"`
}

type chatUsage struct {
	Prompt     int64 `json:"prompt_tokens"`
	Completion int64 `json:"completion_tokens"`
	Total      int64 `json:"total_tokens"`
	Details    *struct {
		Cached  int64 `json:"cached_tokens"`
		Written int64 `json:"cache_write_tokens"`
	} `json:"prompt_tokens_details"`
	Completed *struct {
		Reasoning int64 `json:"reasoning_tokens"`
	} `json:"completion_tokens_details"`
	CacheHit int64 `json:"prompt_cache_hit_tokens"` // DeepSeek
}

func (u *chatUsage) neutral() *llm.Usage {
	out := &llm.Usage{PromptTokens: u.Prompt, CompletionTokens: u.Completion, TotalTokens: u.Total, CacheReadTokens: u.CacheHit}
	if u.Details != nil {
		out.CacheReadTokens = max(out.CacheReadTokens, u.Details.Cached)
		out.CacheCreationTokens = u.Details.Written
	}
	if u.Completed != nil {
		out.ThinkingTokens = u.Completed.Reasoning
	}
	return out
}

// content is a string, or a list of parts, some of which may be thinking.
type content struct{ text, thinking string }

func (c *content) UnmarshalJSON(data []byte) error {
	if len(data) > 0 && data[0] != '[' {
		return json.Unmarshal(data, &c.text) // null means no text
	}
	var parts []struct {
		Type     string  `json:"type"`
		Text     string  `json:"text"`
		Thinking content `json:"thinking"`
	}
	if err := json.Unmarshal(data, &parts); err != nil {
		return err
	}
	for _, p := range parts {
		c.text += p.Text
		c.thinking += p.Thinking.text
	}
	return nil
}

// arguments are JSON in a string. Some servers send the object itself.
type arguments string

func (a *arguments) UnmarshalJSON(data []byte) error {
	if len(data) > 0 && data[0] == '{' {
		*a = arguments(data)
		return nil
	}
	return json.Unmarshal(data, (*string)(a))
}

// chatStream converts the chunks of one stream into deltas.
type chatStream struct {
	m     *Model
	names provider.Names
	emit  provider.Emit

	begun    bool // the response id was emitted
	thinking bool // reasoning was emitted and is not ended
	calls    []chatOpen
	indexes  map[int]int    // of the newest call with the server's index
	sent     map[string]int // of the newest call with the server's id
	ids      provider.CallIDs
	details  details
}

// chatOpen is a call that has started.
type chatOpen struct {
	sent string // the server's id
	id   string // the id that was emitted
}

// take handles one event and reports whether it was the last.
func (s *chatStream) take(ev provider.Event) (last bool, err error) {
	if string(ev.Data) == "[DONE]" {
		return true, nil
	}
	var c chatChunk
	if err := json.Unmarshal(ev.Data, &c); err != nil {
		return false, &llm.Error{Kind: llm.Interrupted, Message: "a chunk of the stream is not valid JSON", Err: err}
	}
	if string(ev.Type) == "error" || len(c.Error) > 0 && string(c.Error) != "null" {
		return false, provider.StreamError(s.m.preset.Name, ev.Data)
	}
	if c.ID != "" && !s.begun {
		s.begun = true
		s.emit(llm.Delta{Kind: llm.ResponseDelta, ID: c.ID})
	}
	if c.Usage == nil && c.Groq != nil {
		c.Usage = c.Groq.Usage
	}
	if c.Usage != nil {
		s.emit(llm.Delta{Kind: llm.UsageDelta, Usage: c.Usage.neutral()})
	}
	for i := range c.Choices {
		if c.Choices[i].Index != 0 {
			continue
		}
		if err := s.choice(&c.Choices[i]); err != nil {
			return false, err
		}
	}
	return false, nil
}

func (s *chatStream) choice(c *chatChoiceDelta) error {
	d := &c.Delta
	if err := s.details.add(d.ReasoningDetails); err != nil {
		return err
	}
	if text := cmp.Or(d.ReasoningContent, d.Reasoning) + d.Content.thinking; text != "" {
		s.thinking = true
		s.emit(llm.Delta{Kind: llm.ReasoningDelta, Text: text})
	}
	if text := d.Content.text + d.Refusal; text != "" {
		s.endReasoning()
		s.emit(llm.Delta{Kind: llm.TextDelta, Text: text})
	}
	for i := range d.ToolCalls {
		if err := s.call(&d.ToolCalls[i]); err != nil {
			return err
		}
	}
	if c.FinishReason == "" {
		return nil
	}
	s.endReasoning()
	return s.finish(c.FinishReason)
}

// endReasoning ends the reasoning with the opaque data that the server needs back.
func (s *chatStream) endReasoning() {
	if s.thinking || len(s.details.list) > 0 {
		s.thinking = false
		s.emit(llm.Delta{Kind: llm.OpaqueDelta, Opaque: &llm.Opaque{Provider: s.m.preset.Name, Data: s.details.take()}})
	}
}

// call handles a piece of a call. Pieces with the same index belong to one call; servers without an
// index start a call with each id.
func (s *chatStream) call(c *chatCall) error {
	s.endReasoning()
	at := s.find(c)
	if at >= 0 && c.Index != nil && c.ID != "" && c.Function.Name != "" && s.calls[at].sent != "" && s.calls[at].sent != c.ID {
		at = -1 // a new call with the same index: some servers number all calls 0
	}
	if at < 0 {
		if c.Function.Name == "" {
			return &llm.Error{Kind: llm.Interrupted, Message: "the stream has a tool call without a name"}
		}
		o := chatOpen{sent: c.ID, id: s.ids.Take(c.ID)}
		if at = len(s.calls); s.sent == nil {
			s.indexes, s.sent = map[int]int{}, map[string]int{}
		}
		s.calls, s.sent[c.ID] = append(s.calls, o), at
		if c.Index != nil {
			s.indexes[*c.Index] = at
		}
		s.emit(llm.Delta{Kind: llm.ToolCallStart, ID: o.id, Name: s.names.In(c.Function.Name)})
	}
	s.emit(llm.Delta{Kind: llm.ToolCallDelta, ID: s.calls[at].id, Text: string(c.Function.Arguments)})
	return nil
}

// find returns the newest call that a piece can belong to, or -1.
func (s *chatStream) find(c *chatCall) int {
	at, ok := len(s.calls)-1, true
	switch {
	case c.Index != nil:
		at, ok = s.indexes[*c.Index]
	case c.ID != "":
		at, ok = s.sent[c.ID]
	}
	if !ok {
		return -1
	}
	return at
}

// finish emits the finish, or returns an error for a reply that did not end well.
func (s *chatStream) finish(reason string) error {
	f := llm.EndTurn
	switch strings.ToLower(reason) {
	case "stop", "eos", "end_turn", "tool_calls", "function_call", "tool_use", "stop_sequence":
		if len(s.calls) > 0 {
			f = llm.ToolUse
		}
	case "length", "max_tokens", "model_length":
		f = llm.MaxTokens
	case "content_filter", "safety":
		return &llm.Error{Kind: llm.ContentFiltered, Message: "the provider's content filter stopped the response"}
	case "insufficient_system_resource":
		return &llm.Error{Kind: llm.Overloaded, Message: "the provider ran out of resources"}
	default:
		return &llm.Error{Kind: llm.Provider, Message: fmt.Sprintf("unknown finish reason %q", reason)}
	}
	s.emit(llm.Delta{Kind: llm.FinishDelta, Finish: f})
	return nil
}

// details are OpenRouter's reasoning_details. They arrive in pieces that must be joined before they
// are sent back.
type details struct {
	list []detail
	held provider.Held
}

// detail is one of them: its fields, and its texts that may still grow.
type detail struct {
	fields map[string]any
	texts  map[string][]byte
}

func (d *details) add(pieces []json.RawMessage) error {
	for _, raw := range pieces {
		var piece map[string]any
		if json.Unmarshal(raw, &piece) != nil || piece == nil {
			continue
		}
		n := len(d.list)
		if n == 0 || piece["index"] == nil || piece["type"] != d.list[n-1].fields["type"] || piece["index"] != d.list[n-1].fields["index"] {
			d.list = append(d.list, detail{map[string]any{}, map[string][]byte{}})
			n++
		}
		if err := d.list[n-1].join(piece, len(raw), &d.held); err != nil {
			return err
		}
	}
	return nil
}

// join adds a piece of size bytes.
func (d *detail) join(piece map[string]any, size int, held *provider.Held) error {
	rest, grows := size, false // of the fields that are not texts
	for k, v := range piece {
		s, isText := v.(string)
		_, known := d.fields[k]
		switch {
		case isText && (k == "text" || k == "summary" || k == "data"):
			d.texts[k] = append(d.texts[k], s...)
			rest -= len(s)
			if err := held.Add(len(s)); err != nil {
				return err
			}
		case v != nil || !known:
			d.fields[k] = v
			grows = grows || !known
		}
	}
	if grows || rest > 4<<10 { // small values that replace others cost nothing
		return held.Add(max(rest, 0))
	}
	return nil
}

// take returns the details as JSON, or nil, and resets them.
func (d *details) take() json.RawMessage {
	if len(d.list) == 0 {
		return nil
	}
	list := make([]map[string]any, len(d.list))
	for i, one := range d.list {
		for k, text := range one.texts {
			one.fields[k] = string(text)
		}
		list[i] = one.fields
	}
	data, _ := json.Marshal(list) // they were JSON
	d.list = nil
	return data
}
