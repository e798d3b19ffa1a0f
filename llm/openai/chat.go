package openai

import (
	"encoding/json"
	"slices"
	"strings"

	"github.com/awaken-go/awaken/llm"
	"github.com/awaken-go/awaken/llm/provider"
)

// chatRules returns the rules of Chat Completions.
func (m *Model) chatRules() provider.Rules {
	r := provider.Rules{Provider: m.preset.Name, LateSystem: true, EndUser: m.preset.EndUser, Media: m.chatMedia, CallID: m.preset.callID}
	if r.CallID == nil {
		r.CallID = provider.SafeID(40)
	}
	return r
}

// chatMedia reports whether Chat Completions accepts a media block. Only users may send media.
func (m *Model) chatMedia(b *llm.Block, role llm.Role) bool {
	if role != llm.User {
		return false
	}
	switch b.Type {
	case llm.ImageBlock:
		return true
	case llm.AudioBlock:
		return m.preset.Audio && audioFormat(b.Source) != ""
	case llm.DocumentBlock:
		return m.preset.Files && b.Source.Type == "base64" && b.Source.IsPDF()
	}
	return false
}

// chatRequest builds a request of Chat Completions. Extra are fields that only this server has.
func (m *Model) chatRequest(req *llm.Request, names provider.Names) (q *chatRequest, extra map[string]any, err error) {
	q = &chatRequest{Model: req.Model, Stream: true}
	system, msgs := provider.History(req, m.chatRules())
	if len(system) > 0 {
		q.Messages = append(q.Messages, chatMessage{Role: "system", Content: provider.Paragraphs(system, llm.TextBlock)})
	}
	for _, msg := range msgs {
		q.Messages = append(q.Messages, m.chatMessage(msg, names))
	}
	for i := range req.Tools {
		t := &req.Tools[i]
		schema, isStrict, err := m.parameters(t)
		if err != nil {
			return nil, nil, err
		}
		q.Tools = append(q.Tools, chatTool{Type: "function", Function: chatFunction{Name: names.Out(t.Name), Description: t.Description, Parameters: schema, Strict: isStrict}})
	}
	extra = m.chatParams(req, q, names)
	if o := req.Output; o != nil {
		err = m.chatOutput(o, q)
	}
	return q, extra, err
}

// chatParams sets the inference parameters and returns the fields that only this server has.
func (m *Model) chatParams(req *llm.Request, q *chatRequest, names provider.Names) map[string]any {
	extra := map[string]any{}
	q.Temperature, q.TopP, q.Stop, q.PromptCacheKey = req.Temperature, req.TopP, req.StopSequences, m.cacheKey(req)
	if m.preset.MaxTokens {
		q.MaxTokens = req.MaxTokens
	} else {
		q.MaxCompletionTokens = req.MaxTokens
	}
	if req.Seed != nil && m.preset.Seed != "" {
		extra[m.preset.Seed] = *req.Seed
	} else {
		q.Seed = req.Seed
	}
	if e := req.ReasoningEffort; e != nil {
		m.chatEffort(e, q, extra)
	}
	if !m.preset.NoUsage {
		q.StreamOptions = &streamOptions{IncludeUsage: true}
	}
	if len(req.Tools) == 0 {
		return extra // servers reject the rest without tools
	}
	if !m.preset.NoParallel {
		q.ParallelToolCalls = req.ParallelTools
	}
	if c := req.ToolChoice; c != nil {
		switch {
		case c.Mode == "tool":
			q.ToolChoice = chatChoice{Type: "function", Function: chosenTool{names.Out(c.Name)}}
		case c.Mode == "required" && m.preset.Required != "":
			q.ToolChoice = m.preset.Required
		case c.Mode != "":
			q.ToolChoice = c.Mode
		}
	}
	return extra
}

// chatEffort sets the reasoning effort, in the fields that the server has for it.
func (m *Model) chatEffort(e *llm.Effort, q *chatRequest, extra map[string]any) {
	off := e.Level == "none"
	switch m.preset.Effort {
	case "":
		q.ReasoningEffort = provider.EffortLevel(*e)
	case "high":
		if q.ReasoningEffort = "high"; off {
			q.ReasoningEffort = "none"
		}
	case "object":
		if e.Level == "" {
			extra["reasoning"] = map[string]any{"max_tokens": e.Budget}
			return
		}
		extra["reasoning"] = map[string]any{"effort": e.Level}
	case "thinking":
		kind := "enabled"
		if off {
			kind = "disabled"
		}
		extra["thinking"] = map[string]any{"type": kind}
	case "enable_thinking":
		if extra["enable_thinking"] = !off; e.Level == "" {
			extra["thinking_budget"] = e.Budget
		}
	}
}

// chatOutput sets the output format. For servers that do not enforce schemas, it also adds the
// schema as an instruction.
func (m *Model) chatOutput(o *llm.OutputSchema, q *chatRequest) error {
	schema, err := outputSchema(o)
	if err != nil {
		return err
	}
	if m.preset.NoSchema {
		q.ResponseFormat = &chatFormat{Type: "json_object"}
		q.Messages = append(q.Messages, chatMessage{Role: "system", Content: "Answer with JSON of this JSON Schema, and nothing else:\n" + string(o.Schema)})
		return nil
	}
	q.ResponseFormat = &chatFormat{Type: "json_schema", JSONSchema: &schema}
	return nil
}

// chatMessage converts a message of [provider.History].
func (m *Model) chatMessage(msg *llm.Message, names provider.Names) chatMessage {
	out := chatMessage{Role: string(msg.Role), ToolCallID: msg.ToolCallID}
	switch {
	case msg.Role == llm.Assistant:
		return m.chatAssistant(msg, names)
	case msg.Role != llm.User, onlyText(msg.Content):
		out.Content = provider.Paragraphs(msg.Content, llm.TextBlock)
		return out
	}
	parts := make([]chatPart, 0, len(msg.Content))
	for i := range msg.Content {
		switch b := &msg.Content[i]; b.Type {
		case llm.TextBlock:
			parts = append(parts, chatPart{Type: "text", Text: b.Text})
		case llm.ImageBlock:
			parts = append(parts, chatPart{Type: "image_url", ImageURL: &chatImage{dataURL(b.Source)}})
		case llm.AudioBlock:
			parts = append(parts, chatPart{Type: "input_audio", InputAudio: &inputAudio{Data: b.Source.Data, Format: audioFormat(b.Source)}})
		case llm.DocumentBlock:
			parts = append(parts, chatPart{Type: "file", File: &chatFile{Filename: fileName(b), FileData: dataURL(b.Source)}})
		}
	}
	out.Content = parts
	return out
}

func onlyText(blocks []llm.Block) bool {
	return !slices.ContainsFunc(blocks, func(b llm.Block) bool { return b.Type != llm.TextBlock })
}

func (m *Model) chatAssistant(msg *llm.Message, names provider.Names) chatMessage {
	out := chatMessage{Role: "assistant"}
	if text := provider.Paragraphs(msg.Content, llm.TextBlock); text != "" {
		out.Content = text
	}
	for _, c := range msg.ToolCalls {
		out.ToolCalls = append(out.ToolCalls, chatToolCall{ID: c.ID, Type: "function", Function: calledFunction{Name: names.Out(c.Name), Arguments: string(c.Arguments)}})
	}
	if len(msg.ToolCalls) > 0 { // only reasoning that led to calls is sent back
		switch texts, details := thoughts(msg); m.preset.Thoughts {
		case "reasoning_content":
			out.ReasoningContent = strings.Join(texts, "\n\n")
		case "reasoning_details":
			out.ReasoningDetails = details
		}
	}
	return out
}

// thoughts returns the reasoning of a message from this server: as text, and as received.
func thoughts(msg *llm.Message) (texts []string, details []json.RawMessage) {
	for i := range msg.Content {
		b := &msg.Content[i]
		if b.Type != llm.ThinkingBlock || b.Opaque == nil {
			continue
		}
		if b.Text != "" {
			texts = append(texts, b.Text)
		}
		var list []json.RawMessage
		if json.Unmarshal(b.Opaque.Data, &list) == nil {
			details = append(details, list...)
		}
	}
	return texts, details
}
