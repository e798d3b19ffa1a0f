package openai

import (
	"encoding/json"
	"slices"
	"strings"

	sdk "github.com/openai/openai-go/v3"
	"github.com/openai/openai-go/v3/responses"
	"github.com/openai/openai-go/v3/shared"

	"github.com/awaken-go/awaken/llm"
	"github.com/awaken-go/awaken/llm/provider"
)

// reasons reports whether a model thinks before it speaks. Those that do not refuse to be
// asked for their thoughts.
func reasons(model string) bool {
	name := strings.ToLower(model[strings.LastIndexByte(model, '/')+1:])
	for _, prefix := range []string{"o1", "o3", "o4", "codex", "computer-use", "gpt-oss"} {
		if strings.HasPrefix(name, prefix) {
			return true
		}
	}
	// gpt-5 and whatever follows it, but not the models for chatting.
	n, ok := strings.CutPrefix(name, "gpt-")
	return ok && n != "" && n[0] >= '5' && n[0] <= '9' && !strings.Contains(n, "chat")
}

// responsesRules are what the Responses API demands of a conversation.
func (m *Model) responsesRules() provider.Rules {
	return provider.Rules{Provider: m.preset.Name, LateSystem: true, CallID: safeID64, Media: responsesMedia}
}

// responsesMedia is the media that the Responses API takes: from users and from tools.
func responsesMedia(b *llm.Block, role llm.Role) bool {
	if role != llm.User && role != llm.ToolRole {
		return false
	}
	return b.Type == llm.ImageBlock || b.Type == llm.DocumentBlock
}

// responsesParams is a request in the language of the Responses API.
func (m *Model) responsesParams(req *llm.Request, names provider.Names) (*responses.ResponseNewParams, error) {
	switch {
	case len(req.StopSequences) > 0:
		return nil, m.invalid("the Responses API has no stop sequences: use Chat Completions")
	case req.Seed != nil:
		return nil, m.invalid("the Responses API has no seed: use Chat Completions")
	}
	p := &responses.ResponseNewParams{Model: req.Model, Store: sdk.Bool(false)}
	system, msgs := provider.History(req, m.responsesRules())
	if len(system) > 0 {
		p.Instructions = sdk.String(joined(system))
	}
	var input responses.ResponseInputParam
	for _, msg := range msgs {
		input = appendItems(input, msg, names)
	}
	p.Input.OfInputItemList = input
	for i := range req.Tools {
		t := &req.Tools[i]
		schema, err := m.parameters(t)
		if err != nil {
			return nil, err
		}
		f := &responses.FunctionToolParam{Name: names.Out(t.Name), Parameters: schema, Strict: sdk.Bool(false)}
		if t.Description != "" {
			f.Description = sdk.String(t.Description)
		}
		if s, ok := strict(schema); ok && m.config.StrictTools {
			f.Parameters, f.Strict = s, sdk.Bool(true)
		}
		p.Tools = append(p.Tools, responses.ToolUnionParam{OfFunction: f})
	}
	if o := req.Output; o != nil {
		schema, err := m.schema("the output", o.Schema)
		if err != nil {
			return nil, err
		}
		js := &responses.ResponseFormatTextJSONSchemaConfigParam{Name: outputName(o), Schema: schema, Strict: sdk.Bool(false)}
		if s, ok := strict(schema); ok {
			js.Schema, js.Strict = s, sdk.Bool(true)
		}
		p.Text.Format.OfJSONSchema = js
	}
	m.responsesKnobs(req, p, names)
	return p, nil
}

// responsesKnobs sets what Params says.
func (m *Model) responsesKnobs(req *llm.Request, p *responses.ResponseNewParams, names provider.Names) {
	if req.Temperature != nil {
		p.Temperature = sdk.Float(*req.Temperature)
	}
	if req.TopP != nil {
		p.TopP = sdk.Float(*req.TopP)
	}
	if req.MaxTokens != nil {
		p.MaxOutputTokens = sdk.Int(int64(*req.MaxTokens))
	}
	if key := m.cacheKey(req); key != "" {
		p.PromptCacheKey = sdk.String(key)
	}
	if e := req.ReasoningEffort; e != nil {
		p.Reasoning.Effort = shared.ReasoningEffort(level(*e))
		switch s := m.config.Summary; {
		case s == "none" || e.Level == "none":
		case s == "":
			p.Reasoning.Summary = shared.ReasoningSummaryAuto
		default:
			p.Reasoning.Summary = shared.ReasoningSummary(s)
		}
	}
	if req.ReasoningEffort != nil && req.ReasoningEffort.Level != "none" || reasons(req.Model) {
		p.Include = []responses.ResponseIncludable{responses.ResponseIncludableReasoningEncryptedContent}
	}
	if len(req.Tools) == 0 {
		return
	}
	if req.ParallelTools != nil {
		p.ParallelToolCalls = sdk.Bool(*req.ParallelTools)
	}
	if c := req.ToolChoice; c != nil {
		switch {
		case c.Mode == "tool":
			p.ToolChoice.OfFunctionTool = &responses.ToolChoiceFunctionParam{Name: names.Out(c.Name)}
		case c.Mode != "":
			p.ToolChoice.OfToolChoiceMode = sdk.Opt(responses.ToolChoiceOptions(c.Mode))
		}
	}
}

// appendItems converts a message of a History.
func appendItems(to responses.ResponseInputParam, msg *llm.Message, names provider.Names) responses.ResponseInputParam {
	switch msg.Role {
	case llm.System:
		return append(to, responses.ResponseInputItemParamOfMessage(joined(msg.Content), responses.EasyInputMessageRoleDeveloper))
	case llm.ToolRole:
		return append(to, responses.ResponseInputItemUnionParam{OfFunctionCallOutput: callOutput(msg)})
	case llm.Assistant:
		return appendAssistant(to, msg, names)
	}
	list := make(responses.ResponseInputMessageContentListParam, 0, len(msg.Content))
	for i := range msg.Content {
		switch b := &msg.Content[i]; b.Type {
		case llm.TextBlock:
			list = append(list, responses.ResponseInputContentParamOfInputText(b.Text))
		case llm.ImageBlock:
			list = append(list, responses.ResponseInputContentUnionParam{OfInputImage: &responses.ResponseInputImageParam{
				Detail: responses.ResponseInputImageDetailAuto, ImageURL: sdk.String(dataURL(b.Source))}})
		case llm.DocumentBlock:
			f := &responses.ResponseInputFileParam{}
			if b.Source.Type == "url" {
				f.FileURL = sdk.String(b.Source.URL)
			} else {
				f.Filename, f.FileData = sdk.String(fileName(b)), sdk.String(dataURL(b.Source))
			}
			list = append(list, responses.ResponseInputContentUnionParam{OfInputFile: f})
		}
	}
	return append(to, responses.ResponseInputItemParamOfMessage(list, responses.EasyInputMessageRoleUser))
}

// callOutput is the answer to a call: text, or a list if there is anything else.
func callOutput(msg *llm.Message) *responses.ResponseInputItemFunctionCallOutputParam {
	out := &responses.ResponseInputItemFunctionCallOutputParam{CallID: sdk.String(msg.ToolCallID)}
	if !slices.ContainsFunc(msg.Content, func(b llm.Block) bool { return b.Type != llm.TextBlock }) {
		out.Output.OfString = sdk.String(joined(msg.Content))
		return out
	}
	var list responses.ResponseFunctionCallOutputItemListParam
	for i := range msg.Content {
		var item responses.ResponseFunctionCallOutputItemUnionParam
		switch b := &msg.Content[i]; b.Type {
		case llm.TextBlock:
			item.OfInputText = &responses.ResponseInputTextContentParam{Text: b.Text}
		case llm.ImageBlock:
			item.OfInputImage = &responses.ResponseInputImageContentParam{ImageURL: sdk.String(dataURL(b.Source))}
		case llm.DocumentBlock:
			item.OfInputFile = &responses.ResponseInputFileContentParam{}
			if b.Source.Type == "url" {
				item.OfInputFile.FileURL = sdk.String(b.Source.URL)
			} else {
				item.OfInputFile.Filename, item.OfInputFile.FileData = sdk.String(fileName(b)), sdk.String(dataURL(b.Source))
			}
		}
		list = append(list, item)
	}
	out.Output.OfResponseFunctionCallOutputItemArray = list
	return out
}

// reasoningData is the opaque material of a thinking block: a reasoning item.
type reasoningData struct {
	ID        string    `json:"id"`
	Encrypted string    `json:"encrypted_content"`
	Summary   []summary `json:"summary,omitempty"`
}

type summary struct {
	Text string `json:"text"`
}

// responseData is that of a message: in which order its items came, if they cannot be sent
// back in the usual order. An r is reasoning, an m a message, a c a call.
type responseData struct {
	Order string `json:"order"`
}

// appendAssistant adds the items of an answer: what was thought and said, then the calls, or
// all of it in the order in which it came.
func appendAssistant(to responses.ResponseInputParam, msg *llm.Message, names provider.Names) responses.ResponseInputParam {
	var thoughts, texts, calls, usual responses.ResponseInputParam
	for i := range msg.Content {
		switch b := &msg.Content[i]; b.Type {
		case llm.TextBlock:
			item := responses.ResponseInputItemParamOfMessage(b.Text, responses.EasyInputMessageRoleAssistant)
			texts, usual = append(texts, item), append(usual, item)
		case llm.ThinkingBlock:
			if item, ok := reasoningItem(b.Opaque); ok {
				thoughts, usual = append(thoughts, item), append(usual, item)
			}
		}
	}
	for _, c := range msg.ToolCalls {
		item := responses.ResponseInputItemParamOfFunctionCall(string(c.Arguments), c.ID, names.Out(c.Name))
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

func reasoningItem(o *llm.Opaque) (item responses.ResponseInputItemUnionParam, ok bool) {
	var d reasoningData
	if o == nil || json.Unmarshal(o.Data, &d) != nil || d.Encrypted == "" {
		return item, false
	}
	list := make([]responses.ResponseReasoningItemSummaryParam, 0, len(d.Summary))
	for _, s := range d.Summary {
		list = append(list, responses.ResponseReasoningItemSummaryParam{Text: s.Text})
	}
	item = responses.ResponseInputItemParamOfReasoning(d.ID, list)
	item.OfReasoning.EncryptedContent = sdk.String(d.Encrypted)
	return item, true
}
