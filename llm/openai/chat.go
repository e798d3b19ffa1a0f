package openai

import (
	"encoding/json"
	"slices"
	"strings"

	sdk "github.com/openai/openai-go/v3"
	"github.com/openai/openai-go/v3/shared"

	"github.com/awaken-go/awaken/llm"
	"github.com/awaken-go/awaken/llm/provider"
)

// chatRules are what Chat Completions demands of a conversation.
func (m *Model) chatRules() provider.Rules {
	r := provider.Rules{Provider: m.preset.Name, LateSystem: true, EndUser: m.preset.EndUser, Media: m.chatMedia, CallID: m.preset.callID}
	if r.CallID == nil {
		r.CallID = provider.SafeID(40)
	}
	return r
}

// chatMedia is the media that Chat Completions takes: only from users.
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
		return m.preset.Files && b.Source.Type == "base64" && isPDF(b.Source)
	}
	return false
}

// chatParams is a request in the language of Chat Completions.
func (m *Model) chatParams(req *llm.Request, names provider.Names) (*sdk.ChatCompletionNewParams, error) {
	p := &sdk.ChatCompletionNewParams{Model: req.Model}
	extra := map[string]any{}
	system, msgs := provider.History(req, m.chatRules())
	if len(system) > 0 {
		p.Messages = append(p.Messages, sdk.SystemMessage(joined(system)))
	}
	for _, msg := range msgs {
		p.Messages = append(p.Messages, m.chatMessage(msg, names))
	}
	for i := range req.Tools {
		t := &req.Tools[i]
		schema, err := m.parameters(t)
		if err != nil {
			return nil, err
		}
		f := shared.FunctionDefinitionParam{Name: names.Out(t.Name), Parameters: schema}
		if t.Description != "" {
			f.Description = sdk.String(t.Description)
		}
		if s, ok := strict(schema); ok && m.config.StrictTools {
			f.Parameters, f.Strict = s, sdk.Bool(true)
		}
		p.Tools = append(p.Tools, sdk.ChatCompletionFunctionTool(f))
	}
	m.chatKnobs(req, p, extra, names)
	if o := req.Output; o != nil {
		if err := m.chatOutput(o, p); err != nil {
			return nil, err
		}
	}
	if len(extra) > 0 {
		p.SetExtraFields(extra)
	}
	return p, nil
}

// chatKnobs sets what Params says. Fields that the SDK does not know go to extra.
func (m *Model) chatKnobs(req *llm.Request, p *sdk.ChatCompletionNewParams, extra map[string]any, names provider.Names) {
	if req.Temperature != nil {
		p.Temperature = sdk.Float(*req.Temperature)
	}
	if req.TopP != nil {
		p.TopP = sdk.Float(*req.TopP)
	}
	if n := req.MaxTokens; n != nil && m.preset.MaxTokens {
		p.MaxTokens = sdk.Int(int64(*n))
	} else if n != nil {
		p.MaxCompletionTokens = sdk.Int(int64(*n))
	}
	if len(req.StopSequences) > 0 {
		p.Stop = sdk.ChatCompletionNewParamsStopUnion{OfStringArray: req.StopSequences}
	}
	if req.Seed != nil && m.preset.Seed != "" {
		extra[m.preset.Seed] = *req.Seed
	} else if req.Seed != nil {
		p.Seed = sdk.Int(*req.Seed)
	}
	if e := req.ReasoningEffort; e != nil {
		switch {
		case m.preset.Effort == "object" && e.Level == "":
			extra["reasoning"] = map[string]any{"max_tokens": e.Budget}
		case m.preset.Effort == "object":
			extra["reasoning"] = map[string]any{"effort": e.Level}
		case m.preset.Effort == "":
			p.ReasoningEffort = shared.ReasoningEffort(level(*e))
		}
	}
	if key := m.cacheKey(req); key != "" {
		p.PromptCacheKey = sdk.String(key)
	}
	if !m.preset.NoUsage {
		p.StreamOptions.IncludeUsage = sdk.Bool(true)
	}
	if len(req.Tools) == 0 {
		return // what follows is refused without tools
	}
	if req.ParallelTools != nil && !m.preset.NoParallel {
		p.ParallelToolCalls = sdk.Bool(*req.ParallelTools)
	}
	if c := req.ToolChoice; c != nil {
		switch {
		case c.Mode == "tool":
			p.ToolChoice = sdk.ToolChoiceOptionFunctionToolChoice(sdk.ChatCompletionNamedToolChoiceFunctionParam{Name: names.Out(c.Name)})
		case c.Mode == "required" && m.preset.Required != "":
			p.ToolChoice.OfAuto = sdk.String(m.preset.Required)
		case c.Mode != "":
			p.ToolChoice.OfAuto = sdk.String(c.Mode)
		}
	}
}

// chatOutput asks for JSON. A server that knows no schemas is told it in words.
func (m *Model) chatOutput(o *llm.OutputSchema, p *sdk.ChatCompletionNewParams) error {
	schema, err := m.schema("the output", o.Schema)
	if err != nil {
		return err
	}
	if m.preset.NoSchema {
		p.ResponseFormat.OfJSONObject = &shared.ResponseFormatJSONObjectParam{}
		p.Messages = append(p.Messages, sdk.SystemMessage("Answer with JSON of this JSON Schema, and nothing else:\n"+string(o.Schema)))
		return nil
	}
	js := shared.ResponseFormatJSONSchemaJSONSchemaParam{Name: outputName(o), Schema: schema, Strict: sdk.Bool(false)}
	if s, ok := strict(schema); ok {
		js.Schema, js.Strict = s, sdk.Bool(true)
	}
	p.ResponseFormat.OfJSONSchema = &shared.ResponseFormatJSONSchemaParam{JSONSchema: js}
	return nil
}

func outputName(o *llm.OutputSchema) string {
	if o.Name == "" {
		return "output"
	}
	return safeID64(o.Name)
}

// joined is the text of blocks, each a paragraph.
func joined(blocks []llm.Block) string {
	var texts []string
	for i := range blocks {
		if blocks[i].Type == llm.TextBlock {
			texts = append(texts, blocks[i].Text)
		}
	}
	return strings.Join(texts, "\n\n")
}

// chatMessage converts a message of a History.
func (m *Model) chatMessage(msg *llm.Message, names provider.Names) sdk.ChatCompletionMessageParamUnion {
	switch msg.Role {
	case llm.System:
		return sdk.SystemMessage(joined(msg.Content))
	case llm.ToolRole:
		return sdk.ToolMessage(joined(msg.Content), msg.ToolCallID)
	case llm.Assistant:
		return m.chatAssistant(msg, names)
	}
	if !slices.ContainsFunc(msg.Content, func(b llm.Block) bool { return b.Type != llm.TextBlock }) {
		return sdk.UserMessage(joined(msg.Content))
	}
	parts := make([]sdk.ChatCompletionContentPartUnionParam, 0, len(msg.Content))
	for i := range msg.Content {
		switch b := &msg.Content[i]; b.Type {
		case llm.TextBlock:
			parts = append(parts, sdk.TextContentPart(b.Text))
		case llm.ImageBlock:
			parts = append(parts, sdk.ImageContentPart(sdk.ChatCompletionContentPartImageImageURLParam{URL: dataURL(b.Source)}))
		case llm.AudioBlock:
			parts = append(parts, sdk.InputAudioContentPart(sdk.ChatCompletionContentPartInputAudioInputAudioParam{Data: b.Source.Data, Format: audioFormat(b.Source)}))
		case llm.DocumentBlock:
			parts = append(parts, sdk.FileContentPart(sdk.ChatCompletionContentPartFileFileParam{Filename: sdk.String(fileName(b)), FileData: sdk.String(dataURL(b.Source))}))
		}
	}
	return sdk.UserMessage(parts)
}

func (m *Model) chatAssistant(msg *llm.Message, names provider.Names) sdk.ChatCompletionMessageParamUnion {
	a := &sdk.ChatCompletionAssistantMessageParam{}
	if text := joined(msg.Content); text != "" {
		a.Content.OfString = sdk.String(text)
	}
	for _, c := range msg.ToolCalls {
		a.ToolCalls = append(a.ToolCalls, sdk.ChatCompletionMessageToolCallUnionParam{OfFunction: &sdk.ChatCompletionMessageFunctionToolCallParam{
			ID: c.ID, Function: sdk.ChatCompletionMessageFunctionToolCallFunctionParam{Name: names.Out(c.Name), Arguments: string(c.Arguments)}}})
	}
	// Reasoning belongs to the calls it led to. Of older answers no server wants it.
	if field := m.preset.Replay; field != "" && len(msg.ToolCalls) > 0 {
		if value := replayed(msg, field); value != nil {
			a.SetExtraFields(map[string]any{field: value})
		}
	}
	return sdk.ChatCompletionMessageParamUnion{OfAssistant: a}
}

// replayed is the value of the field with earlier reasoning, or nil.
func replayed(msg *llm.Message, field string) any {
	var texts []string
	var details []json.RawMessage
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
	switch {
	case field == "reasoning_details" && len(details) > 0:
		return details
	case field != "reasoning_details" && len(texts) > 0:
		return strings.Join(texts, "\n\n")
	}
	return nil
}
