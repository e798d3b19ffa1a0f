package openai

import (
	"context"
	"crypto/rand"
	"encoding/json"
	"fmt"
	"strings"

	"github.com/awaken-go/awaken/llm"
	"github.com/awaken-go/awaken/llm/provider"
)

// chat asks in the language of Chat Completions.
func (m *Model) chat(ctx context.Context, req *llm.Request, emit provider.Emit) error {
	names := provider.NewNames(req, 64)
	q, extra, err := m.chatRequest(req, names)
	if err != nil {
		return err
	}
	resp, err := m.post(ctx, "chat/completions", q, extra)
	if err != nil {
		return err
	}
	defer resp.Body.Close()
	s := chatStream{m: m, names: names, emit: emit}
	for ev, err := range provider.Events(resp.Body) {
		if err != nil {
			return err
		}
		if string(ev.Data) == "[DONE]" {
			return nil
		}
		if err := s.event(ev); err != nil {
			return err
		}
	}
	return nil
}

// chatChunk is what is read of an event. What nobody asked for is not decoded.
type chatChunk struct {
	ID      string          `json:"id"`
	Error   json.RawMessage `json:"error"`
	Choices []struct {
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
	} `json:"choices"`
	Usage *chatUsage `json:"usage"`
	Groq  *struct {
		Usage *chatUsage `json:"usage"`
	} `json:"x_groq"`
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

// content is text: a string, or a list of parts, of which some may be thinking.
type content struct{ text, thinking string }

func (c *content) UnmarshalJSON(data []byte) error {
	if len(data) > 0 && data[0] != '[' {
		return json.Unmarshal(data, &c.text) // null is no text
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

// arguments are a string. Some servers send the object itself.
type arguments string

func (a *arguments) UnmarshalJSON(data []byte) error {
	if len(data) > 0 && data[0] == '{' {
		*a = arguments(data)
		return nil
	}
	return json.Unmarshal(data, (*string)(a))
}

// chatStream turns chunks into deltas.
type chatStream struct {
	m     *Model
	names provider.Names
	emit  provider.Emit

	begun    bool // the response has been announced
	thinking bool // reasoning is being said
	calls    []chatOpen
	details  details
}

// chatOpen is a call that has begun.
type chatOpen struct {
	index int
	sent  string // the id as the server sent it
	id    string // the id as we pass it on
}

func (s *chatStream) event(ev provider.Event) error {
	var c chatChunk
	if err := json.Unmarshal(ev.Data, &c); err != nil {
		return &llm.Error{Kind: llm.Interrupted, Message: "a chunk of the stream is not the JSON of a chunk", Err: err}
	}
	if ev.Type == "error" || len(c.Error) > 0 && string(c.Error) != "null" {
		if e := provider.ErrorBody(s.m.preset.Name, ev.Data); e != nil {
			return e
		}
		return &llm.Error{Kind: llm.Provider, Message: string(ev.Data)}
	}
	if c.ID != "" && !s.begun {
		s.begun = true
		if err := s.emit(llm.Delta{Kind: llm.ResponseDelta, ID: c.ID}); err != nil {
			return err
		}
	}
	usage := c.Usage
	if usage == nil && c.Groq != nil {
		usage = c.Groq.Usage
	}
	if usage != nil {
		if err := s.emit(llm.Delta{Kind: llm.UsageDelta, Usage: usage.neutral()}); err != nil {
			return err
		}
	}
	for i := range c.Choices {
		choice := &c.Choices[i]
		if choice.Index != 0 {
			continue
		}
		d := &choice.Delta
		reasoning := d.ReasoningContent
		if reasoning == "" {
			reasoning = d.Reasoning
		}
		s.details.add(d.ReasoningDetails)
		if err := s.reasoning(reasoning + d.Content.thinking); err != nil {
			return err
		}
		if text := d.Content.text + d.Refusal; text != "" {
			if err := s.endReasoning(); err != nil {
				return err
			}
			if err := s.emit(llm.Delta{Kind: llm.TextDelta, Text: text}); err != nil {
				return err
			}
		}
		for j := range d.ToolCalls {
			if err := s.call(&d.ToolCalls[j]); err != nil {
				return err
			}
		}
		if choice.FinishReason != "" {
			if err := s.finish(choice.FinishReason); err != nil {
				return err
			}
		}
	}
	return nil
}

func (s *chatStream) reasoning(text string) error {
	if text == "" {
		return nil
	}
	s.thinking = true
	return s.emit(llm.Delta{Kind: llm.ReasoningDelta, Text: text})
}

// endReasoning marks what was thought as this server's, with what it wants to see again.
func (s *chatStream) endReasoning() error {
	if !s.thinking && len(s.details.list) == 0 {
		return nil
	}
	s.thinking = false
	return s.emit(llm.Delta{Kind: llm.OpaqueDelta, Opaque: &llm.Opaque{Provider: s.m.preset.Name, Data: s.details.take()}})
}

// call takes a piece of a call. Pieces are of the call with the same index; servers that
// send no index begin a call with each id.
func (s *chatStream) call(c *chatCall) error {
	if err := s.endReasoning(); err != nil {
		return err
	}
	at := -1
	for i := range s.calls {
		if o := &s.calls[i]; c.Index != nil && o.index == *c.Index || c.Index == nil && (c.ID == "" || o.sent == c.ID) {
			at = i
		}
	}
	if at >= 0 && c.Index != nil && c.ID != "" && c.Function.Name != "" && s.calls[at].sent != "" && s.calls[at].sent != c.ID {
		at = -1 // another call with the same index: some servers number all of them 0
	}
	if at < 0 {
		if c.Function.Name == "" {
			return &llm.Error{Kind: llm.Interrupted, Message: "the stream has a call without a name"}
		}
		o := chatOpen{index: -1, sent: c.ID, id: c.ID}
		if c.Index != nil {
			o.index = *c.Index
		}
		for _, other := range s.calls {
			if other.id == o.id {
				o.id = ""
			}
		}
		if o.id == "" {
			o.id = "call_" + rand.Text()
		}
		// The newest with an index is the one that further pieces are of.
		s.calls = append(s.calls, o)
		at = len(s.calls) - 1
		if err := s.emit(llm.Delta{Kind: llm.ToolCallStart, ID: o.id, Name: s.names.In(c.Function.Name)}); err != nil {
			return err
		}
	}
	return s.emit(llm.Delta{Kind: llm.ToolCallDelta, ID: s.calls[at].id, Text: string(c.Function.Arguments)})
}

func (s *chatStream) finish(reason string) error {
	if err := s.endReasoning(); err != nil {
		return err
	}
	var f llm.FinishReason
	switch strings.ToLower(reason) {
	case "stop", "eos", "end_turn", "tool_calls", "function_call", "tool_use", "stop_sequence":
		f = llm.EndTurn
		if len(s.calls) > 0 {
			f = llm.ToolUse
		}
	case "length", "max_tokens", "model_length":
		f = llm.MaxTokens
	case "content_filter", "safety":
		return &llm.Error{Kind: llm.ContentFiltered, Message: "the provider's content filter stopped the answer"}
	case "insufficient_system_resource":
		return &llm.Error{Kind: llm.Overloaded, Message: "the provider ran out of resources"}
	default:
		return &llm.Error{Kind: llm.Provider, Message: fmt.Sprintf("the provider stopped for a reason that is not known: %q", reason)}
	}
	return s.emit(llm.Delta{Kind: llm.FinishDelta, Finish: f})
}

// details are OpenRouter's reasoning_details. They come in pieces that have to be put
// together before they are sent back.
type details struct{ list []map[string]any }

func (d *details) add(pieces []json.RawMessage) {
	for _, raw := range pieces {
		var piece map[string]any
		if json.Unmarshal(raw, &piece) != nil || piece == nil {
			continue
		}
		if n := len(d.list); n > 0 && piece["type"] == d.list[n-1]["type"] && piece["index"] == d.list[n-1]["index"] && piece["index"] != nil {
			last := d.list[n-1]
			for k, v := range piece {
				switch s, isText := v.(string); {
				case isText && (k == "text" || k == "summary" || k == "data"):
					before, _ := last[k].(string)
					last[k] = before + s
				case v != nil:
					last[k] = v
				}
			}
			continue
		}
		d.list = append(d.list, piece)
	}
}

// take returns the details as JSON, or nil, and forgets them.
func (d *details) take() json.RawMessage {
	if len(d.list) == 0 {
		return nil
	}
	data, _ := json.Marshal(d.list) // they were JSON
	d.list = nil
	return data
}
