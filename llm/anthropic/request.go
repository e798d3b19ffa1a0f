package anthropic

import (
	"encoding/json"
	"strings"

	sdk "github.com/anthropics/anthropic-sdk-go"
	"github.com/anthropics/anthropic-sdk-go/packages/param"

	"github.com/awaken-go/awaken/llm"
	"github.com/awaken-go/awaken/llm/provider"
)

// rules are those of the Messages API.
var rules = provider.Rules{
	Provider:  Name,
	Media:     takesMedia,
	CallID:    provider.SafeID(64),
	Alternate: true,
	StartUser: true,
	EndUser:   true, // not all models go on with what is put into their mouth
}

// builder makes the parameters of one request.
type builder struct {
	req    *llm.Request
	traits traits
	names  provider.Names
	params sdk.MessageNewParams
	output string // the tool that stands for the answer's form, or ""
	forced bool   // a tool has to be called
}

func newBuilder(req *llm.Request) *builder {
	return &builder{req: req, traits: traitsOf(req.Model), names: provider.NewNames(req, 128)}
}

// build returns the parameters.
func (b *builder) build() sdk.MessageNewParams {
	b.params.Model = b.req.Model
	b.params.MaxTokens = int64(b.traits.maxTokens())
	if n := b.req.MaxTokens; n != nil && *n > 0 {
		b.params.MaxTokens = int64(*n)
	}
	for _, s := range b.req.StopSequences {
		if strings.TrimSpace(s) != "" { // which the API refuses
			b.params.StopSequences = append(b.params.StopSequences, s)
		}
	}
	system, msgs := provider.History(b.req, rules)
	for i := range system {
		b.params.System = append(b.params.System, sdk.TextBlockParam{Text: system[i].Text})
	}
	b.params.Messages = b.turns(msgs)
	b.tools()
	b.form()
	b.think()
	b.sample()
	if b.req.CachePrompt {
		b.cache()
	}
	return b.params
}

// tools offers the tools and says which may, or must, be called.
func (b *builder) tools() {
	for i := range b.req.Tools {
		t := &b.req.Tools[i]
		b.offer(b.names.Out(t.Name), t.Description, t.Parameters)
	}
	if len(b.params.Tools) == 0 {
		b.pastTools()
		return // a choice among none is refused
	}
	alone := param.Opt[bool]{}
	if p := b.req.ParallelTools; p != nil {
		alone = param.NewOpt(!*p)
	}
	choice := llm.ToolChoice{Mode: "auto"}
	if b.req.ToolChoice != nil {
		choice = *b.req.ToolChoice
	}
	switch choice.Mode {
	case "none":
		none := sdk.NewToolChoiceNoneParam()
		b.params.ToolChoice.OfNone = &none
	case "required":
		b.forced = true
		b.params.ToolChoice.OfAny = &sdk.ToolChoiceAnyParam{DisableParallelToolUse: alone}
	case "tool":
		b.forced = true
		b.params.ToolChoice.OfTool = &sdk.ToolChoiceToolParam{Name: b.names.Out(choice.Name), DisableParallelToolUse: alone}
	default:
		if b.req.ToolChoice != nil || b.req.ParallelTools != nil {
			b.params.ToolChoice.OfAuto = &sdk.ToolChoiceAutoParam{DisableParallelToolUse: alone}
		}
	}
}

// pastTools offers the tools that the conversation has calls of, when no others are
// offered: the API wants to know them. They cannot be called.
func (b *builder) pastTools() {
	for _, m := range b.params.Messages {
		for _, c := range m.Content {
			if c.OfToolUse != nil && !b.offers(c.OfToolUse.Name) {
				b.offer(c.OfToolUse.Name, "No longer available.", nil)
			}
		}
	}
	if len(b.params.Tools) > 0 {
		none := sdk.NewToolChoiceNoneParam()
		b.params.ToolChoice.OfNone = &none
	}
}

func (b *builder) offer(name, description string, schema json.RawMessage) {
	if len(schema) == 0 || string(schema) == "null" {
		schema = json.RawMessage(`{"type":"object","properties":{}}`)
	}
	tool := &sdk.ToolParam{Name: name, InputSchema: param.Override[sdk.ToolInputSchemaParam](schema)}
	if description != "" {
		tool.Description = param.NewOpt(description)
	}
	b.params.Tools = append(b.params.Tools, sdk.ToolUnionParam{OfTool: tool})
}

// form holds the answer to a schema: by the API if it can, and otherwise by a tool that
// has to be called, whose input is then the text of the answer.
func (b *builder) form() {
	out := b.req.Output
	if out == nil || b.forced { // a call is the answer
		return
	}
	if schema, ok := closed(out.Schema); ok && b.traits.formats() {
		b.params.OutputConfig.Format = param.Override[sdk.JSONOutputFormatParam](map[string]any{"type": "json_schema", "schema": schema})
		return
	}
	name := out.Name
	if name == "" {
		name = "answer"
	}
	for name = b.names.Out(name); b.offers(name); {
		name = b.names.Out(name + "_output")
	}
	only := len(b.params.Tools) == 0 || b.params.ToolChoice.OfNone != nil
	b.offer(name, "Give the final answer. Call this when there is nothing left to find out.", out.Schema)
	b.output, b.forced = name, true
	b.params.ToolChoice = sdk.ToolChoiceUnionParam{OfAny: &sdk.ToolChoiceAnyParam{}}
	if p := b.req.ParallelTools; p != nil {
		b.params.ToolChoice.OfAny.DisableParallelToolUse = param.NewOpt(!*p)
	}
	if only {
		b.params.ToolChoice = sdk.ToolChoiceParamOfTool(name)
	}
}

func (b *builder) offers(name string) bool {
	for _, t := range b.params.Tools {
		if t.OfTool.Name == name {
			return true
		}
	}
	return false
}

// sample sets what the model accepts of temperature and top-p.
func (b *builder) sample() {
	if !b.traits.samples() {
		return
	}
	t, p := b.req.Temperature, b.req.TopP
	if b.thinks() {
		t = nil // it has to be 1
		if p != nil && *p < 0.95 {
			p = nil
		}
	}
	if t != nil {
		b.params.Temperature = param.NewOpt(*t)
		if b.traits.samplesOnce() {
			return
		}
	}
	if p != nil {
		b.params.TopP = param.NewOpt(*p)
	}
}
