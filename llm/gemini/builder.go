package gemini

import (
	"cmp"
	"encoding/json"
	"fmt"
	"math"
	"slices"

	"github.com/awaken-go/awaken/llm"
	"github.com/awaken-go/awaken/llm/provider"
)

// builder builds one request.
type builder struct {
	req     *llm.Request
	emit    provider.Emit
	traits  traits
	names   provider.Names
	request request
	output  string // the function whose arguments are the reply, or ""
}

func newBuilder(req *llm.Request, emit provider.Emit) *builder {
	return &builder{req: req, emit: emit, traits: traitsOf(req.Model), names: provider.NewNames(req, safeFunction)}
}

var safeName = provider.SafeName(63)

// safeFunction converts a tool's name into one that the API accepts. It must start with a letter
// or _.
func safeFunction(name string) string {
	name = safeName(name)
	if c := name[0]; c >= '0' && c <= '9' || c == '-' {
		return "_" + name
	}
	return name
}

func (b *builder) rules() provider.Rules {
	return provider.Rules{Provider: Name, Media: takesMedia(b.traits), CallID: provider.SafeID(64), Alternate: true, StartUser: true, EndUser: true}
}

// build returns the request.
func (b *builder) build() (*request, error) {
	system, msgs := provider.History(b.req, b.rules())
	if len(system) > 0 {
		b.request.SystemInstruction = &content{Role: "user", Parts: userParts(system)}
	}
	b.request.Contents = b.contents(msgs)
	b.params()
	if err := b.tools(); err != nil {
		return nil, err
	}
	if err := b.outputSchema(); err != nil {
		return nil, err
	}
	if b.req.ReasoningEffort != nil {
		b.request.GenerationConfig.ThinkingConfig = b.thinking(b.req.ReasoningEffort)
	}
	return &b.request, nil
}

func (b *builder) params() {
	small := func(f *float64) *float32 {
		if f == nil {
			return nil
		}
		v := float32(*f)
		return &v
	}
	g := &b.request.GenerationConfig
	g.Temperature, g.TopP, g.StopSequences = small(b.req.Temperature), small(b.req.TopP), b.req.StopSequences
	if n := b.req.MaxTokens; n != nil && *n > 0 {
		g.MaxOutputTokens = int32(min(*n, math.MaxInt32))
	}
	if s := b.req.Seed; s != nil {
		g.Seed = new(int32(*s))
		if int64(*g.Seed) != *s {
			b.emit.Omit("seed", "cut to 32 bits")
		}
	}
}

// tools sets the tools and the tool choice.
func (b *builder) tools() error {
	for i := range b.req.Tools {
		t := &b.req.Tools[i]
		if err := b.offer(b.names.Out(t.Name), t.Description, t.Parameters); err != nil {
			return err
		}
	}
	if len(b.request.Tools) == 0 || b.req.ToolChoice == nil {
		return nil
	}
	switch choice := b.req.ToolChoice; choice.Mode {
	case "none":
		b.choose("NONE")
	case "required":
		b.choose("ANY")
	case "tool":
		b.choose("ANY", b.names.Out(choice.Name))
	default:
		b.choose("AUTO")
	}
	return nil
}

func (b *builder) choose(mode string, only ...string) {
	b.request.ToolConfig = &toolConfig{functionCallingConfig{Mode: mode, AllowedFunctionNames: only}}
}

func (b *builder) offer(name, description string, schema json.RawMessage) error {
	f := function{Name: name, Description: description}
	if len(schema) > 0 && string(schema) != "null" {
		v, err := decode(fmt.Sprintf("the schema of tool %s", name), schema)
		if err != nil {
			return err
		}
		f.ParametersJSONSchema = v
	}
	if len(b.request.Tools) == 0 {
		b.request.Tools = []tool{{}}
	}
	b.request.Tools[0].FunctionDeclarations = append(b.request.Tools[0].FunctionDeclarations, f)
	return nil
}

// outputSchema enforces the output schema: by the API, or, for models that cannot do that in
// requests with tools, by a function whose arguments become the reply.
func (b *builder) outputSchema() error {
	out := b.req.Output
	if out == nil || b.callingMode() == "ANY" { // the reply is a tool call
		return nil
	}
	if len(b.request.Tools) == 0 || b.callingMode() == "NONE" || b.traits.schemaWithTools() {
		v, err := decode("the schema of the output", out.Schema)
		if err != nil {
			return err
		}
		if !b.traits.schemaWithTools() {
			b.request.Tools, b.request.ToolConfig = nil, nil // none may be called
		}
		b.request.GenerationConfig.ResponseMIMEType, b.request.GenerationConfig.ResponseJSONSchema = "application/json", v
		return nil
	}
	name := cmp.Or(out.Name, "answer")
	for name = b.names.Out(name); b.offers(name); {
		name = b.names.Out(name + "_output")
	}
	b.output = name
	b.choose("ANY")
	return b.offer(name, "Give the final answer. Call this when there is nothing left to find out.", out.Schema)
}

// callingMode returns the function calling mode, or "".
func (b *builder) callingMode() string {
	if b.request.ToolConfig == nil {
		return ""
	}
	return b.request.ToolConfig.FunctionCallingConfig.Mode
}

func (b *builder) offers(name string) bool {
	return slices.ContainsFunc(b.request.Tools[0].FunctionDeclarations, func(f function) bool { return f.Name == name })
}

// budgets maps levels to tokens, for models with a thinking budget.
var budgets = map[string]int{"low": 1024, "medium": 8192, "high": 24576, "max": 32768}

// thinking converts an effort and requests a summary of the thinking. A budget stays below the
// limit of the reply. For models that cannot turn
// thinking off, "none" is the least they accept.
func (b *builder) thinking(e *llm.Effort) *thinkingConfig {
	t := &thinkingConfig{IncludeThoughts: e.Level != "none"}
	if b.levels() {
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
	n = min(max(n, least), most)
	if limit := int(b.request.GenerationConfig.MaxOutputTokens); limit > 0 {
		n = max(min(n, share(e, limit)), least)
	}
	t.ThinkingBudget = new(int32(n))
	return t
}

// share returns how much of the limit of the reply, which includes thinking, an effort may take. A
// level leaves a fifth for the rest of the reply.
func share(e *llm.Effort, limit int) int {
	if e.Level == "" {
		return limit - 1
	}
	return limit * 4 / 5
}

// levels reports whether thinking is set by a level. Other models take a budget.
func (b *builder) levels() bool {
	if kind := b.req.Capabilities.Reasoning; kind != "" {
		return kind == llm.ReasoningLevels
	}
	return b.traits.levels()
}

func (b *builder) level(e *llm.Effort) string {
	switch level := e.Level; {
	case level == "none" && b.traits.pro, level == "low":
		return "LOW"
	case level == "none":
		return "MINIMAL"
	case level == "" && e.Budget <= 4096:
		return "LOW"
	case level == "medium" || level == "" && e.Budget <= 16384:
		if b.traits.pro && b.traits.version == 300 {
			return "HIGH" // it has only LOW and HIGH
		}
		return "MEDIUM"
	}
	return "HIGH"
}
