package openai

import (
	"context"
	"crypto/rand"
	"encoding/json"
	"strings"

	"github.com/awaken-go/awaken/llm"
	"github.com/awaken-go/awaken/llm/provider"
)

// responses asks in the language of the Responses API.
func (m *Model) responses(ctx context.Context, req *llm.Request, emit provider.Emit) error {
	names := provider.NewNames(req, 64)
	q, err := m.responsesRequest(req, names)
	if err != nil {
		return err
	}
	resp, err := m.post(ctx, "responses", q, nil)
	if err != nil {
		return err
	}
	defer resp.Body.Close()
	s := responsesStream{m: m, names: names, emit: emit}
	for ev, err := range provider.Events(resp.Body) {
		if err != nil {
			return err
		}
		if string(ev.Data) == "[DONE]" {
			return nil
		}
		if err := s.event(ev); err != nil || s.over {
			return err
		}
	}
	return nil
}

// responsesEvent is what is read of an event, whatever its type.
type responsesEvent struct {
	Type         string `json:"type"`
	Delta        string `json:"delta"`
	OutputIndex  int    `json:"output_index"`
	SummaryIndex int    `json:"summary_index"`
	Arguments    string `json:"arguments"`

	Item *struct {
		Type      string    `json:"type"`
		ID        string    `json:"id"`
		CallID    string    `json:"call_id"`
		Name      string    `json:"name"`
		Arguments string    `json:"arguments"`
		Encrypted string    `json:"encrypted_content"`
		Summary   []summary `json:"summary"`
	} `json:"item"`

	Response *struct {
		ID         string          `json:"id"`
		Error      json.RawMessage `json:"error"`
		Incomplete *struct {
			Reason string `json:"reason"`
		} `json:"incomplete_details"`
		Usage *responsesUsage `json:"usage"`
	} `json:"response"`
}

type responsesUsage struct {
	Input  int64 `json:"input_tokens"`
	Output int64 `json:"output_tokens"`
	Total  int64 `json:"total_tokens"`
	In     struct {
		Cached  int64 `json:"cached_tokens"`
		Written int64 `json:"cache_write_tokens"`
	} `json:"input_tokens_details"`
	Out struct {
		Reasoning int64 `json:"reasoning_tokens"`
	} `json:"output_tokens_details"`
}

// responsesStream turns events into deltas.
type responsesStream struct {
	m     *Model
	names provider.Names
	emit  provider.Emit

	calls   []responsesCall
	order   []byte // of the items; see responseData
	thought bool   // some reasoning of the open item has been said
	over    bool
}

type responsesCall struct {
	index int // of the item
	id    string
	some  bool // arguments have come
}

func (s *responsesStream) event(ev provider.Event) error {
	var e responsesEvent
	if err := json.Unmarshal(ev.Data, &e); err != nil {
		return &llm.Error{Kind: llm.Interrupted, Message: "an event of the stream is not the JSON of one", Err: err}
	}
	if e.Type == "" {
		e.Type = ev.Type
	}
	switch e.Type {
	case "response.output_text.delta", "response.refusal.delta":
		return s.emit(llm.Delta{Kind: llm.TextDelta, Text: e.Delta})
	case "response.reasoning_summary_text.delta", "response.reasoning_text.delta":
		s.thought = true
		return s.emit(llm.Delta{Kind: llm.ReasoningDelta, Text: e.Delta})
	case "response.reasoning_summary_part.added":
		if s.thought && e.SummaryIndex > 0 {
			return s.emit(llm.Delta{Kind: llm.ReasoningDelta, Text: "\n\n"})
		}
	case "response.function_call_arguments.delta":
		return s.arguments(e.OutputIndex, e.Delta, false)
	case "response.function_call_arguments.done":
		return s.arguments(e.OutputIndex, e.Arguments, true)
	case "response.output_item.added":
		return s.begin(&e)
	case "response.output_item.done":
		return s.end(&e)
	case "response.created":
		if e.Response != nil && e.Response.ID != "" {
			return s.emit(llm.Delta{Kind: llm.ResponseDelta, ID: e.Response.ID})
		}
	case "response.completed", "response.incomplete", "response.failed", "response.cancelled":
		s.over = true
		return s.finish(&e)
	case "error":
		return s.failed(ev.Data)
	}
	if strings.HasPrefix(e.Type, "response.") || e.Type == "keepalive" {
		return nil // there are many that add nothing
	}
	if err := provider.ErrorBody(s.m.preset.Name, ev.Data); err != nil {
		return err
	}
	return nil
}

func (s *responsesStream) failed(body []byte) error {
	if e := provider.ErrorBody(s.m.preset.Name, body); e != nil {
		return e
	}
	return &llm.Error{Kind: llm.Provider, Message: string(body)}
}

// begin takes the start of an item.
func (s *responsesStream) begin(e *responsesEvent) error {
	if e.Item == nil {
		return nil
	}
	switch e.Item.Type {
	case "reasoning":
		s.thought = false
	case "message":
		if n := len(s.order); n == 0 || s.order[n-1] != 'm' { // two in a row become one text
			s.order = append(s.order, 'm')
		}
	case "function_call":
		return s.beginCall(e)
	}
	return nil
}

func (s *responsesStream) beginCall(e *responsesEvent) error {
	c := responsesCall{index: e.OutputIndex, id: e.Item.CallID}
	for _, other := range s.calls {
		if other.id == c.id {
			c.id = ""
		}
	}
	if c.id == "" {
		c.id = "call_" + rand.Text()
	}
	s.order = append(s.order, 'c')
	s.calls = append(s.calls, c)
	return s.emit(llm.Delta{Kind: llm.ToolCallStart, ID: c.id, Name: s.names.In(e.Item.Name)})
}

// arguments takes a piece of a call's arguments, or all of them.
func (s *responsesStream) arguments(index int, text string, whole bool) error {
	for i := range s.calls {
		c := &s.calls[i]
		if c.index != index {
			continue
		}
		if whole && c.some || text == "" {
			return nil
		}
		c.some = true
		return s.emit(llm.Delta{Kind: llm.ToolCallDelta, ID: c.id, Text: text})
	}
	return nil
}

// end takes a whole item. What was already said of it is not said again.
func (s *responsesStream) end(e *responsesEvent) error {
	it := e.Item
	if it == nil {
		return nil
	}
	switch it.Type {
	case "function_call":
		known := false
		for i := range s.calls {
			known = known || s.calls[i].index == e.OutputIndex
		}
		if !known {
			if err := s.beginCall(e); err != nil {
				return err
			}
		}
		return s.arguments(e.OutputIndex, it.Arguments, true)
	case "reasoning":
		if !s.thought {
			for i, part := range it.Summary {
				if i > 0 {
					part.Text = "\n\n" + part.Text
				}
				if err := s.emit(llm.Delta{Kind: llm.ReasoningDelta, Text: part.Text}); err != nil {
					return err
				}
			}
		}
		if it.Encrypted == "" {
			return nil // without it, it cannot be sent back
		}
		data, err := json.Marshal(reasoningData{ID: it.ID, Encrypted: it.Encrypted, Summary: it.Summary})
		if err != nil {
			return err
		}
		s.order = append(s.order, 'r')
		return s.emit(llm.Delta{Kind: llm.OpaqueDelta, Opaque: &llm.Opaque{Provider: s.m.preset.Name, Data: data}})
	}
	return nil
}

// finish takes the end of the response.
func (s *responsesStream) finish(e *responsesEvent) error {
	r := e.Response
	if r == nil {
		return &llm.Error{Kind: llm.Interrupted, Message: "the last event of the stream has no response"}
	}
	if u := r.Usage; u != nil {
		if err := s.emit(llm.Delta{Kind: llm.UsageDelta, Usage: &llm.Usage{PromptTokens: u.Input, CompletionTokens: u.Output, TotalTokens: u.Total,
			CacheReadTokens: u.In.Cached, CacheCreationTokens: u.In.Written, ThinkingTokens: u.Out.Reasoning}}); err != nil {
			return err
		}
	}
	var f llm.FinishReason
	switch {
	case e.Type == "response.failed":
		if len(r.Error) > 0 && string(r.Error) != "null" {
			return s.failed([]byte(`{"error":` + string(r.Error) + `}`))
		}
		return &llm.Error{Kind: llm.Provider, Message: "the response failed, and the provider does not say why"}
	case e.Type == "response.cancelled":
		return &llm.Error{Kind: llm.Interrupted, Message: "the provider cancelled the response"}
	case e.Type == "response.completed":
		f = llm.EndTurn
		if len(s.calls) > 0 {
			f = llm.ToolUse
		}
	case r.Incomplete != nil && r.Incomplete.Reason == "content_filter":
		return &llm.Error{Kind: llm.ContentFiltered, Message: "the provider's content filter stopped the answer"}
	case r.Incomplete != nil && r.Incomplete.Reason == "max_output_tokens":
		f = llm.MaxTokens
	default:
		return &llm.Error{Kind: llm.Provider, Message: "the provider stopped for a reason that is not known"}
	}
	if order := string(s.order); strings.Contains(order, "cr") || strings.Contains(order, "cm") {
		data, err := json.Marshal(responseData{Order: order})
		if err != nil {
			return err
		}
		if err := s.emit(llm.Delta{Kind: llm.ResponseDelta, ID: r.ID, Opaque: &llm.Opaque{Provider: s.m.preset.Name, Data: data}}); err != nil {
			return err
		}
	}
	return s.emit(llm.Delta{Kind: llm.FinishDelta, Finish: f})
}
