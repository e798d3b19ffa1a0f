package openai

import (
	"context"
	"encoding/json"
	"slices"
	"strings"

	"github.com/awaken-go/awaken/llm"
	"github.com/awaken-go/awaken/llm/provider"
)

// responses sends the request to the Responses API.
func (m *Model) responses(ctx context.Context, req *llm.Request, emit provider.Emit) error {
	s := responsesStream{m: m, names: provider.NewNames(req, safeName64), emit: emit}
	q, err := m.responsesRequest(req, s.names)
	if err != nil {
		return err
	}
	return m.post(ctx, "responses", q, nil, s.take)
}

// responsesEvent is any event, with the fields that the adapter uses.
type responsesEvent struct {
	Type         string `json:"type"`
	Delta        string `json:"delta"`
	OutputIndex  int    `json:"output_index"`
	SummaryIndex int    `json:"summary_index"`
	Arguments    string `json:"arguments"`

	Item struct {
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
		Incomplete struct {
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

// responsesStream converts the events of one stream into deltas.
type responsesStream struct {
	m     *Model
	names provider.Names
	emit  provider.Emit

	ev      responsesEvent // the current event; a field, so that it is allocated once
	calls   []responsesCall
	ids     provider.CallIDs
	order   []byte // of the items; see responseData
	thought bool   // reasoning of the current item was emitted
}

type responsesCall struct {
	index int // of the item
	id    string
	some  bool // arguments have arrived
}

// take handles one event and reports whether it was the last.
func (s *responsesStream) take(ev provider.Event) (last bool, err error) {
	if string(ev.Data) == "[DONE]" {
		return true, nil
	}
	s.ev = responsesEvent{}
	e := &s.ev
	if err := json.Unmarshal(ev.Data, e); err != nil {
		return false, &llm.Error{Kind: llm.Interrupted, Message: "an event of the stream is not valid JSON", Err: err}
	}
	if e.Type == "" {
		e.Type = string(ev.Type)
	}
	switch e.Type {
	case "response.output_text.delta", "response.refusal.delta":
		s.emit(llm.Delta{Kind: llm.TextDelta, Text: e.Delta})
	case "response.reasoning_summary_text.delta", "response.reasoning_text.delta":
		s.thought = true
		s.emit(llm.Delta{Kind: llm.ReasoningDelta, Text: e.Delta})
	case "response.reasoning_summary_part.added":
		if s.thought && e.SummaryIndex > 0 {
			s.emit(llm.Delta{Kind: llm.ReasoningDelta, Text: "\n\n"})
		}
	case "response.function_call_arguments.delta":
		s.arguments(e.OutputIndex, e.Delta, false)
	case "response.function_call_arguments.done":
		s.arguments(e.OutputIndex, e.Arguments, true)
	case "response.output_item.added":
		s.begin(e)
	case "response.output_item.done":
		s.end(e)
	case "response.created":
		if e.Response != nil && e.Response.ID != "" {
			s.emit(llm.Delta{Kind: llm.ResponseDelta, ID: e.Response.ID})
		}
	case "response.completed", "response.incomplete", "response.failed", "response.cancelled":
		return true, s.finish(e)
	case "error":
		return false, provider.StreamError(s.m.preset.Name, ev.Data)
	default: // many events add nothing
		if strings.HasPrefix(e.Type, "response.") || e.Type == "keepalive" {
			return false, nil
		}
		if err := provider.ErrorBody(s.m.preset.Name, ev.Data); err != nil {
			return false, err
		}
	}
	return false, nil
}

// begin handles the start of an item.
func (s *responsesStream) begin(e *responsesEvent) {
	switch e.Item.Type {
	case "reasoning":
		s.thought = false
	case "message":
		if n := len(s.order); n == 0 || s.order[n-1] != 'm' { // two in a row become one text
			s.order = append(s.order, 'm')
		}
	case "function_call":
		c := responsesCall{index: e.OutputIndex, id: s.ids.Take(e.Item.CallID)}
		s.order = append(s.order, 'c')
		s.calls = append(s.calls, c)
		s.emit(llm.Delta{Kind: llm.ToolCallStart, ID: c.id, Name: s.names.In(e.Item.Name)})
	}
}

// arguments handles a piece of a call's arguments, or all of them.
func (s *responsesStream) arguments(index int, text string, whole bool) {
	i := s.call(index)
	if i < 0 || whole && s.calls[i].some || text == "" {
		return
	}
	s.calls[i].some = true
	s.emit(llm.Delta{Kind: llm.ToolCallDelta, ID: s.calls[i].id, Text: text})
}

// call returns the call of the item with that index, or -1.
func (s *responsesStream) call(index int) int {
	return slices.IndexFunc(s.calls, func(c responsesCall) bool { return c.index == index })
}

// end handles a complete item. It emits only what was not emitted yet.
func (s *responsesStream) end(e *responsesEvent) {
	it := &e.Item
	switch it.Type {
	case "function_call":
		if s.call(e.OutputIndex) < 0 {
			s.begin(e)
		}
		s.arguments(e.OutputIndex, it.Arguments, true)
	case "reasoning":
		if !s.thought {
			for i, part := range it.Summary {
				if i > 0 {
					part.Text = "\n\n" + part.Text
				}
				s.emit(llm.Delta{Kind: llm.ReasoningDelta, Text: part.Text})
			}
		}
		if it.Encrypted == "" {
			return // it cannot be sent back
		}
		s.order = append(s.order, 'r')
		s.emit(llm.Delta{Kind: llm.OpaqueDelta, Opaque: s.opaque(reasoningData{ID: it.ID, Encrypted: it.Encrypted, Summary: it.Summary})})
	}
}

func (s *responsesStream) opaque(v any) *llm.Opaque {
	data, err := json.Marshal(v)
	if err != nil {
		panic(err) // strings
	}
	return &llm.Opaque{Provider: s.m.preset.Name, Data: data}
}

// finish handles the end of the response. It emits the finish, or returns an error for a reply that
// did not end well.
func (s *responsesStream) finish(e *responsesEvent) error {
	r := e.Response
	if r == nil {
		return &llm.Error{Kind: llm.Interrupted, Message: "the last event of the stream has no response"}
	}
	if u := r.Usage; u != nil {
		s.emit(llm.Delta{Kind: llm.UsageDelta, Usage: &llm.Usage{PromptTokens: u.Input, CompletionTokens: u.Output, TotalTokens: u.Total,
			CacheReadTokens: u.In.Cached, CacheCreationTokens: u.In.Written, ThinkingTokens: u.Out.Reasoning}})
	}
	f := llm.EndTurn
	switch {
	case e.Type == "response.failed":
		if len(r.Error) > 0 && string(r.Error) != "null" {
			return provider.StreamError(s.m.preset.Name, []byte(`{"error":`+string(r.Error)+`}`))
		}
		return &llm.Error{Kind: llm.Provider, Message: "the response failed; the provider gave no reason"}
	case e.Type == "response.cancelled":
		return &llm.Error{Kind: llm.Interrupted, Message: "the provider cancelled the response"}
	case e.Type == "response.completed":
		if len(s.calls) > 0 {
			f = llm.ToolUse
		}
	case r.Incomplete.Reason == "content_filter":
		return &llm.Error{Kind: llm.ContentFiltered, Message: "the provider's content filter stopped the response"}
	case r.Incomplete.Reason == "max_output_tokens":
		f = llm.MaxTokens
	default:
		return &llm.Error{Kind: llm.Provider, Message: "the response is incomplete for an unknown reason"}
	}
	if order := string(s.order); strings.Contains(order, "cr") || strings.Contains(order, "cm") {
		s.emit(llm.Delta{Kind: llm.ResponseDelta, ID: r.ID, Opaque: s.opaque(responseData{Order: order})})
	}
	s.emit(llm.Delta{Kind: llm.FinishDelta, Finish: f})
	return nil
}
