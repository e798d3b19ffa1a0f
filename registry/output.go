package registry

import (
	"bytes"
	"encoding/json"
	"errors"
	"strings"

	"github.com/awaken-go/awaken"
	"github.com/awaken-go/awaken/internal/schema"
	"github.com/awaken-go/awaken/llm"
)

// OutputPlan says how a schema is enforced on the final answer of a run: by the provider, or
// with a tool that the model calls to answer. It is immutable.
type OutputPlan struct {
	schema  *schema.Schema
	request *llm.OutputSchema // if the provider enforces the schema
	Finish  *Tool             // the tool awaken.FinalOutputTool; nil if the provider enforces the schema
	wrapped bool              // the answer is the property "output" of the tool's arguments
	hint    llm.Block         // tells the model to use the tool
}

// NewOutputPlan compiles a schema. Native says whether the provider enforces schemas.
func NewOutputPlan(raw json.RawMessage, native bool) (*OutputPlan, error) {
	s, err := schema.Compile(raw)
	if err != nil {
		return nil, err
	}
	shown, err := schema.Clean(raw)
	if err != nil {
		return nil, err
	}
	p := &OutputPlan{schema: s}
	if native {
		p.request = &llm.OutputSchema{Name: awaken.FinalOutputTool, Schema: shown}
		return p, nil
	}
	var top struct {
		Type any             `json:"type"`
		Defs json.RawMessage `json:"$defs"`
	}
	if err := json.Unmarshal(shown, &top); err != nil || top.Type != "object" {
		p.wrapped = true // arguments must be an object
		properties := map[string]any{"type": "object", "properties": map[string]json.RawMessage{"output": shown}, "required": []string{"output"}}
		if len(top.Defs) > 0 {
			properties["$defs"] = top.Defs // at the root, where references expect them
		}
		if shown, err = json.Marshal(properties); err != nil {
			return nil, err
		}
	}
	const name = awaken.FinalOutputTool
	p.Finish = &Tool{
		Spec:   awaken.ToolSpec{ID: name, Name: name, Egress: awaken.Egress{None: true}, Effect: awaken.ReadOnly},
		Schema: s,
		Desc: llm.Tool{
			Name:        name,
			Description: "Gives the final answer. Call it once, when there is nothing left to find out.",
			Parameters:  shown,
		},
	}
	p.hint = llm.Text("Give your final answer by calling the tool " + awaken.FinalOutputTool + ", not as text.")
	return p, nil
}

// Apply adds the schema to a request.
func (p *OutputPlan) Apply(req *llm.Request) {
	if p.Finish == nil {
		req.Output = p.request
		return
	}
	req.Tools = append(req.Tools[:len(req.Tools):len(req.Tools)], p.Finish.Desc)
	req.System = append(req.System[:len(req.System):len(req.System)], p.hint)
}

// Given returns the answer in the arguments of a call of the tool Finish, or an error if it
// does not fit the schema.
func (p *OutputPlan) Given(args json.RawMessage) (json.RawMessage, error) {
	if p.wrapped {
		var w struct {
			Output json.RawMessage `json:"output"`
		}
		if err := json.Unmarshal(args, &w); err != nil || w.Output == nil {
			return nil, errors.New(`/: missing "output"`)
		}
		args = w.Output
	}
	return p.check(args)
}

// Said returns the answer in a text, with or without a Markdown code fence around it, or an
// error if it does not fit the schema.
func (p *OutputPlan) Said(text string) (json.RawMessage, error) {
	text = strings.TrimSpace(text)
	if body, ok := strings.CutPrefix(text, "```"); ok {
		if body, ok = strings.CutSuffix(body, "```"); ok {
			text = strings.TrimPrefix(body, "json")
		}
	}
	return p.check([]byte(text))
}

func (p *OutputPlan) check(data []byte) (json.RawMessage, error) {
	if err := p.schema.Check(data); err != nil {
		return nil, err
	}
	var buf bytes.Buffer
	if err := json.Compact(&buf, data); err != nil {
		return nil, err
	}
	return buf.Bytes(), nil
}
