package gemini

import (
	"encoding/json"
	"fmt"
	"math"

	"google.golang.org/genai"

	"github.com/awaken-go/awaken/llm"
	"github.com/awaken-go/awaken/llm/provider"
)

// builder makes one request.
type builder struct {
	req    *llm.Request
	traits traits
	names  functions
	config genai.GenerateContentConfig
	output string // the function that stands for the answer's form, or ""
}

func newBuilder(req *llm.Request) *builder {
	return &builder{req: req, traits: traitsOf(req.Model), names: newFunctions(req)}
}

func (b *builder) rules() provider.Rules {
	return provider.Rules{Provider: Name, Media: takesMedia(b.traits), CallID: provider.SafeID(64), Alternate: true, StartUser: true, EndUser: true}
}

// build returns the request. The conversation is put into its body last.
func (b *builder) build() (*genai.GenerateContentConfig, error) {
	system, msgs := provider.History(b.req, b.rules())
	if len(system) > 0 {
		b.config.SystemInstruction = &genai.Content{Role: "user"}
		for i := range system {
			b.config.SystemInstruction.Parts = append(b.config.SystemInstruction.Parts, &genai.Part{Text: system[i].Text})
		}
	}
	conversation, err := json.Marshal(b.contents(msgs))
	if err != nil {
		return nil, err
	}
	b.knobs()
	if err := b.tools(); err != nil {
		return nil, err
	}
	if err := b.form(); err != nil {
		return nil, err
	}
	if b.traits.thinks() && b.req.ReasoningEffort != nil {
		b.config.ThinkingConfig = b.thinking(b.req.ReasoningEffort)
	}
	never := false
	b.config.AutomaticContinuation = &never // the SDK would ask again by itself
	b.config.HTTPOptions = &genai.HTTPOptions{ExtrasRequestProvider: func(body map[string]any) map[string]any {
		body["contents"] = json.RawMessage(conversation)
		return body
	}}
	return &b.config, nil
}

func (b *builder) knobs() {
	small := func(f *float64) *float32 {
		if f == nil {
			return nil
		}
		v := float32(*f)
		return &v
	}
	b.config.Temperature, b.config.TopP = small(b.req.Temperature), small(b.req.TopP)
	if n := b.req.MaxTokens; n != nil && *n > 0 {
		b.config.MaxOutputTokens = int32(min(*n, math.MaxInt32))
	}
	if s := b.req.Seed; s != nil {
		v := int32(*s) // which is all the API takes
		b.config.Seed = &v
	}
	b.config.StopSequences = b.req.StopSequences
}

// tools offers the tools and says which may, or must, be called.
func (b *builder) tools() error {
	for i := range b.req.Tools {
		t := &b.req.Tools[i]
		if err := b.offer(b.names.Out(t.Name), t.Description, t.Parameters); err != nil {
			return err
		}
	}
	if len(b.config.Tools) == 0 || b.req.ToolChoice == nil {
		return nil
	}
	switch choice := b.req.ToolChoice; choice.Mode {
	case "none":
		b.choose(genai.FunctionCallingConfigModeNone)
	case "required":
		b.choose(genai.FunctionCallingConfigModeAny)
	case "tool":
		b.choose(genai.FunctionCallingConfigModeAny, b.names.Out(choice.Name))
	default:
		b.choose(genai.FunctionCallingConfigModeAuto)
	}
	return nil
}

func (b *builder) choose(mode genai.FunctionCallingConfigMode, only ...string) {
	b.config.ToolConfig = &genai.ToolConfig{FunctionCallingConfig: &genai.FunctionCallingConfig{Mode: mode, AllowedFunctionNames: only}}
}

func (b *builder) offer(name, description string, schema json.RawMessage) error {
	f := &genai.FunctionDeclaration{Name: name, Description: description}
	if len(schema) > 0 && string(schema) != "null" {
		v, err := decode(fmt.Sprintf("the schema of tool %s", name), schema)
		if err != nil {
			return err
		}
		f.ParametersJsonSchema = v
	}
	if len(b.config.Tools) == 0 {
		b.config.Tools = []*genai.Tool{{}}
	}
	b.config.Tools[0].FunctionDeclarations = append(b.config.Tools[0].FunctionDeclarations, f)
	return nil
}

// form holds the answer to a schema: by the API, or, for models that cannot do that while
// tools are offered, by a function that stands for the answer.
func (b *builder) form() error {
	out := b.req.Output
	if out == nil || b.calls() == genai.FunctionCallingConfigModeAny { // a call is the answer
		return nil
	}
	if len(b.config.Tools) == 0 || b.calls() == genai.FunctionCallingConfigModeNone || b.traits.formsWithTools() {
		v, err := decode("the schema of the output", out.Schema)
		if err != nil {
			return err
		}
		if !b.traits.formsWithTools() {
			b.config.Tools, b.config.ToolConfig = nil, nil // none may be called anyway
		}
		b.config.ResponseMIMEType, b.config.ResponseJsonSchema = "application/json", v
		return nil
	}
	name := first(out.Name, "answer")
	for name = b.names.Out(name); b.offers(name); {
		name = b.names.Out(name + "_output")
	}
	b.output = name
	b.choose(genai.FunctionCallingConfigModeAny)
	return b.offer(name, "Give the final answer. Call this when there is nothing left to find out.", out.Schema)
}

// calls is the mode of calling, or "".
func (b *builder) calls() genai.FunctionCallingConfigMode {
	if b.config.ToolConfig == nil {
		return ""
	}
	return b.config.ToolConfig.FunctionCallingConfig.Mode
}

func (b *builder) offers(name string) bool {
	for _, f := range b.config.Tools[0].FunctionDeclarations {
		if f.Name == name {
			return true
		}
	}
	return false
}

// budgets are what the levels mean for models that are given a number of tokens.
var budgets = map[string]int{"low": 1024, "medium": 8192, "high": 24576, "max": 32768}

// thinking says how much to think, and asks for a summary of it. Where thinking cannot be
// turned off, none is the least there is.
func (b *builder) thinking(e *llm.Effort) *genai.ThinkingConfig {
	t := &genai.ThinkingConfig{IncludeThoughts: e.Level != "none"}
	if b.traits.levels() {
		t.ThinkingLevel = b.level(e)
		return t
	}
	least, most := 0, 24576
	if b.traits.pro {
		least, most = 128, 32768
	}
	n := e.Budget
	if e.Level != "" {
		n = budgets[e.Level]
	}
	v := int32(min(max(n, least), most))
	t.ThinkingBudget = &v
	return t
}

func (b *builder) level(e *llm.Effort) genai.ThinkingLevel {
	switch level := e.Level; {
	case level == "none" && b.traits.pro, level == "low":
		return genai.ThinkingLevelLow
	case level == "none":
		return genai.ThinkingLevelMinimal
	case level == "" && e.Budget <= 4096:
		return genai.ThinkingLevelLow
	case level == "medium" || level == "" && e.Budget <= 16384:
		if b.traits.pro && b.traits.version == 300 {
			return genai.ThinkingLevelHigh // it knows only two
		}
		return genai.ThinkingLevelMedium
	}
	return genai.ThinkingLevelHigh
}
