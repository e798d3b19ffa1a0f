package openai

import (
	"cmp"
	"encoding/json"
	"slices"
	"strings"

	"github.com/awaken-go/awaken/llm"
	"github.com/awaken-go/awaken/llm/provider"
)

// reasons reports whether a request is for a reasoning model. Others reject requests for encrypted
// reasoning.
func reasons(req *llm.Request) bool {
	if kind := req.Capabilities.Reasoning; kind != "" {
		return kind != llm.NoReasoning
	}
	model := req.Model
	name := strings.ToLower(model[strings.LastIndexByte(model, '/')+1:])
	if slices.ContainsFunc([]string{"o1", "o3", "o4", "codex", "computer-use", "gpt-oss"}, func(p string) bool { return strings.HasPrefix(name, p) }) {
		return true
	}
	// gpt-5 and later, except chat models.
	n, ok := strings.CutPrefix(name, "gpt-")
	return ok && n != "" && n[0] >= '5' && n[0] <= '9' && !strings.Contains(n, "chat")
}

// responsesRules returns the rules of the Responses API.
func (m *Model) responsesRules() provider.Rules {
	return provider.Rules{Provider: m.preset.Name, LateSystem: true, CallID: safeID64, Media: responsesMedia}
}

// responsesMedia reports whether the Responses API accepts a media block: images and documents, in
// user messages and tool results.
func responsesMedia(b *llm.Block, role llm.Role) bool {
	if role != llm.User && role != llm.ToolRole {
		return false
	}
	return b.Type == llm.ImageBlock || b.Type == llm.DocumentBlock
}

// responsesRequest builds a request of the Responses API.
func (m *Model) responsesRequest(req *llm.Request, names provider.Names) (*responsesRequest, error) {
	switch {
	case len(req.StopSequences) > 0:
		return nil, m.invalid("the Responses API has no stop sequences: use Chat Completions")
	case req.Seed != nil:
		return nil, m.invalid("the Responses API has no seed: use Chat Completions")
	}
	system, msgs := provider.History(req, m.responsesRules())
	q := &responsesRequest{Model: req.Model, Instructions: provider.Paragraphs(system, llm.TextBlock), Input: []any{}, Stream: true}
	for _, msg := range msgs {
		q.Input = appendItems(q.Input, msg, names)
	}
	for i := range req.Tools {
		t := &req.Tools[i]
		schema, isStrict, err := m.parameters(t)
		if err != nil {
			return nil, err
		}
		q.Tools = append(q.Tools, responsesTool{Type: "function", Name: names.Out(t.Name), Description: t.Description, Parameters: schema, Strict: isStrict})
	}
	if o := req.Output; o != nil {
		schema, err := outputSchema(o)
		if err != nil {
			return nil, err
		}
		q.Text = &responsesText{responsesFormat{"json_schema", schema}}
	}
	m.responsesParams(req, q, names)
	return q, nil
}

// responsesParams sets the inference parameters.
func (m *Model) responsesParams(req *llm.Request, q *responsesRequest, names provider.Names) {
	q.Temperature, q.TopP, q.MaxOutputTokens, q.PromptCacheKey = req.Temperature, req.TopP, req.MaxTokens, m.cacheKey(req)
	if e := req.ReasoningEffort; e != nil {
		q.Reasoning = &reasoning{Effort: provider.EffortLevel(*e)}
		if m.config.Summary != "none" && e.Level != "none" {
			q.Reasoning.Summary = cmp.Or(m.config.Summary, "auto")
		}
	}
	if req.ReasoningEffort != nil && req.ReasoningEffort.Level != "none" || reasons(req) {
		q.Include = []string{"reasoning.encrypted_content"}
	}
	if len(req.Tools) == 0 {
		return
	}
	q.ParallelToolCalls = req.ParallelTools
	if c := req.ToolChoice; c != nil {
		switch {
		case c.Mode == "tool":
			q.ToolChoice = responsesChoice{Type: "function", Name: names.Out(c.Name)}
		case c.Mode != "":
			q.ToolChoice = c.Mode
		}
	}
}

// appendItems converts a message of [provider.History].
func appendItems(to []any, msg *llm.Message, names provider.Names) []any {
	switch msg.Role {
	case llm.System:
		return append(to, inputMessage{Role: "developer", Content: provider.Paragraphs(msg.Content, llm.TextBlock)})
	case llm.ToolRole:
		out := functionOutput{Type: "function_call_output", CallID: msg.ToolCallID}
		if onlyText(msg.Content) {
			out.Output = provider.Paragraphs(msg.Content, llm.TextBlock)
		} else {
			out.Output = inputParts(msg.Content, "")
		}
		return append(to, out)
	case llm.Assistant:
		return appendAssistant(to, msg, names)
	}
	return append(to, inputMessage{Role: "user", Content: inputParts(msg.Content, "auto")})
}

// inputParts converts blocks into parts of an item. Detail is the detail of images; "" means the
// API's default.
func inputParts(blocks []llm.Block, detail string) []inputPart {
	parts := make([]inputPart, 0, len(blocks))
	for i := range blocks {
		switch b := &blocks[i]; {
		case b.Type == llm.TextBlock:
			parts = append(parts, inputPart{Type: "input_text", Text: b.Text})
		case b.Type == llm.ImageBlock:
			parts = append(parts, inputPart{Type: "input_image", Detail: detail, ImageURL: dataURL(b.Source)})
		case b.Type == llm.DocumentBlock && b.Source.Type == "url":
			parts = append(parts, inputPart{Type: "input_file", FileURL: b.Source.URL})
		case b.Type == llm.DocumentBlock:
			parts = append(parts, inputPart{Type: "input_file", Filename: fileName(b), FileData: dataURL(b.Source)})
		}
	}
	return parts
}

// reasoningData is the opaque data of a thinking block: a reasoning item.
type reasoningData struct {
	ID        string    `json:"id"`
	Encrypted string    `json:"encrypted_content"`
	Summary   []summary `json:"summary,omitempty"`
}

type summary struct {
	Text string `json:"text"`
}

// responseData is the opaque data of a message: the order of its items, if it is not the usual one.
// r is reasoning, m a message, c a call.
type responseData struct {
	Order string `json:"order"`
}

// appendAssistant adds the items of an assistant message: reasoning and text, then the calls, or all
// in the order in which they arrived.
func appendAssistant(to []any, msg *llm.Message, names provider.Names) []any {
	var thoughts, texts, calls, usual []any
	for i := range msg.Content {
		switch b := &msg.Content[i]; b.Type {
		case llm.TextBlock:
			item := inputMessage{Role: "assistant", Content: b.Text}
			texts, usual = append(texts, item), append(usual, item)
		case llm.ThinkingBlock:
			if item, ok := newReasoningItem(b.Opaque); ok {
				thoughts, usual = append(thoughts, item), append(usual, item)
			}
		}
	}
	for _, c := range msg.ToolCalls {
		item := functionCall{Type: "function_call", CallID: c.ID, Name: names.Out(c.Name), Arguments: string(c.Arguments)}
		calls, usual = append(calls, item), append(usual, item)
	}
	var d responseData
	if msg.Opaque == nil || json.Unmarshal(msg.Opaque.Data, &d) != nil || strings.Count(d.Order, "r") != len(thoughts) ||
		strings.Count(d.Order, "m") != len(texts) || strings.Count(d.Order, "c") != len(calls) {
		return append(to, usual...)
	}
	for _, c := range d.Order {
		from := &calls
		switch c {
		case 'r':
			from = &thoughts
		case 'm':
			from = &texts
		}
		to, *from = append(to, (*from)[0]), (*from)[1:]
	}
	return to
}

// newReasoningItem restores a reasoning item from opaque data, or returns false.
func newReasoningItem(o *llm.Opaque) (item reasoningItem, ok bool) {
	var d reasoningData
	if o == nil || json.Unmarshal(o.Data, &d) != nil || d.Encrypted == "" {
		return item, false
	}
	item = reasoningItem{Type: "reasoning", ID: d.ID, Summary: make([]summaryPart, 0, len(d.Summary)), EncryptedContent: d.Encrypted}
	for _, s := range d.Summary {
		item.Summary = append(item.Summary, summaryPart{Type: "summary_text", Text: s.Text})
	}
	return item, true
}
