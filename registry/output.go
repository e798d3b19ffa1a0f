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

// OutputPlan is how the answer of a run is held to a schema. It is immutable.
type OutputPlan struct {
	schema  *schema.Schema
	request *llm.OutputSchema // for a model that can do it by itself
	Finish  *Tool             // for one that cannot
	wrapped bool              // the answer is the property "output" of the tool's arguments
	hint    llm.Block         // tells of the tool
}

// NewOutputPlan compiles a schema.
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
		p.wrapped = true // arguments are objects, always
		properties := map[string]any{"type": "object", "properties": map[string]json.RawMessage{"output": shown}, "required": []string{"output"}}
		if len(top.Defs) > 0 {
			properties["$defs"] = top.Defs // where references look for them
		}
		if shown, err = json.Marshal(properties); err != nil {
			return nil, err
		}
	}
	p.Finish = &Tool{Spec: awaken.ToolSpec{ID: awaken.FinalOutputTool, Name: awaken.FinalOutputTool, Effect: awaken.ReadOnly}, Schema: s,
		Desc: llm.Tool{Name: awaken.FinalOutputTool, Description: "Gives the final answer. Call it once, when there is nothing left to find out.", Parameters: shown}}
	p.hint = llm.Text("Give your final answer by calling the tool " + awaken.FinalOutputTool + ", not as text.")
	return p, nil
}

// Apply asks for the answer in the form it has to have.
func (p *OutputPlan) Apply(req *llm.Request) {
	if p.Finish == nil {
		req.Output = p.request
		return
	}
	req.Tools = append(req.Tools[:len(req.Tools):len(req.Tools)], p.Finish.Desc)
	req.System = append(req.System[:len(req.System):len(req.System)], p.hint)
}

// Given returns the answer in the arguments of a call of the tool.
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

// Said returns the answer in a text. Models like to put it in a fence.
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
