package anthropic

import (
	"encoding/json"
	"slices"
	"strings"

	"github.com/awaken-go/awaken/llm"
	"github.com/awaken-go/awaken/llm/provider"
)

// rules are the rules of the Messages API.
var rules = provider.Rules{
	Provider:  Name,
	Media:     takesMedia,
	CallID:    provider.SafeID(64),
	Alternate: true,
	StartUser: true,
	EndUser:   true, // not all models continue an assistant message
}

var safeName = provider.SafeName(128)

// builder builds one request.
type builder struct {
	req     *llm.Request
	emit    provider.Emit
	traits  traits
	names   provider.Names
	request request
	output  string // the tool whose input is the reply, or ""
	forced  bool   // the model must call a tool
}

func newBuilder(req *llm.Request, emit provider.Emit) *builder {
	return &builder{req: req, emit: emit, traits: traitsOf(req.Model), names: provider.NewNames(req, safeName)}
}

// build returns the request.
func (b *builder) build() *request {
	b.request = request{Model: b.req.Model, MaxTokens: b.traits.maxTokens(), Stream: true}
	if n := b.req.MaxTokens; n != nil && *n > 0 {
		b.request.MaxTokens = *n
	}
	for _, s := range b.req.StopSequences {
		if strings.TrimSpace(s) != "" { // the API rejects blank ones
			b.request.StopSequences = append(b.request.StopSequences, s)
		}
	}
	system, msgs := provider.History(b.req, rules)
	for i := range system {
		b.request.System = append(b.request.System, plainText(system[i].Text))
	}
	b.request.Messages = b.turns(msgs)
	b.tools()
	b.outputSchema()
	b.think()
	b.sample()
	if b.req.CachePrompt {
		b.cache()
	}
	return &b.request
}

// tools sets the tools and the tool choice.
func (b *builder) tools() {
	for i := range b.req.Tools {
		t := &b.req.Tools[i]
		b.offer(b.names.Out(t.Name), t.Description, t.Parameters)
	}
	if len(b.request.Tools) == 0 {
		b.pastTools()
		return // the API rejects a choice without tools
	}
	c := b.req.ToolChoice
	if c == nil && b.req.ParallelTools == nil {
		return
	}
	choice := &toolChoice{Type: "auto", DisableParallelToolUse: b.disableParallel()}
	switch {
	case c == nil:
	case c.Mode == "none":
		choice = &toolChoice{Type: "none"}
	case c.Mode == "required":
		choice.Type, b.forced = "any", true
	case c.Mode == "tool":
		choice.Type, choice.Name, b.forced = "tool", b.names.Out(c.Name), true
	}
	b.request.ToolChoice = choice
}

// disableParallel returns whether the model may call only one tool at a time; nil is the default.
func (b *builder) disableParallel() *bool {
	if b.req.ParallelTools == nil {
		return nil
	}
	return new(!*b.req.ParallelTools)
}

// pastTools declares the tools that the conversation has calls of, if the request has none: the
// API requires it. The model cannot call them.
func (b *builder) pastTools() {
	for _, m := range b.request.Messages {
		for _, c := range m.Content {
			if c.Type == "tool_use" && !b.offers(c.Name) {
				b.offer(c.Name, "No longer available.", nil)
			}
		}
	}
	if len(b.request.Tools) > 0 {
		b.request.ToolChoice = &toolChoice{Type: "none"}
	}
}

func (b *builder) offer(name, description string, schema json.RawMessage) {
	if len(schema) == 0 || string(schema) == "null" {
		schema = json.RawMessage(`{"type":"object","properties":{}}`)
	}
	b.request.Tools = append(b.request.Tools, tool{Name: name, Description: description, InputSchema: schema})
}

// outputSchema enforces the output schema: by the API if it can, and otherwise by a tool that the
// model must call and whose input becomes the text of the reply.
func (b *builder) outputSchema() {
	out := b.req.Output
	if out == nil || b.forced { // the reply is a tool call
		return
	}
	if schema, ok := closed(out.Schema); ok && b.traits.enforcesSchema() {
		b.request.OutputConfig = &outputConfig{Format: &outputFormat{Type: "json_schema", Schema: schema}}
		return
	}
	name := out.Name
	if name == "" {
		name = "answer"
	}
	for name = b.names.Out(name); b.offers(name); {
		name = b.names.Out(name + "_output")
	}
	choice := &toolChoice{Type: "any", DisableParallelToolUse: b.disableParallel()}
	if only := len(b.request.Tools) == 0 || b.request.ToolChoice != nil && b.request.ToolChoice.Type == "none"; only {
		choice = &toolChoice{Type: "tool", Name: name}
	}
	b.offer(name, "Give the final answer. Call this when there is nothing left to find out.", out.Schema)
	b.output, b.forced, b.request.ToolChoice = name, true, choice
}

func (b *builder) offers(name string) bool {
	return slices.ContainsFunc(b.request.Tools, func(t tool) bool { return t.Name == name })
}

// sample sets the temperature and top-p, as far as the model accepts them.
func (b *builder) sample() {
	t, p := b.req.Temperature, b.req.TopP
	switch {
	case t == nil:
	case !b.traits.samples():
		b.emit.Omit("temperature", "omitted: the model does not accept it")
		t = nil
	case b.thinks():
		if *t != 1 { // what it is while the model thinks
			b.emit.Omit("temperature", "omitted while the model thinks")
		}
		t = nil
	}
	switch {
	case p == nil:
	case !b.traits.samples():
		b.emit.Omit("top_p", "omitted: the model does not accept it")
		p = nil
	case b.thinks() && *p < 0.95:
		b.emit.Omit("top_p", "omitted below 0.95 while the model thinks")
		p = nil
	case t != nil && b.traits.samplesOnce():
		b.emit.Omit("top_p", "omitted beside a temperature")
		p = nil
	}
	b.request.Temperature, b.request.TopP = t, p
}
