package awaken

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"reflect"
	"strings"

	"github.com/awaken-go/awaken/internal/schema"
	"github.com/awaken-go/awaken/llm"
)

// Output makes a run's answer a T. The zero value is ready:
//
//	var weather awaken.Output[Weather]
//	res, err := rt.Run(ctx, awaken.RunRequest{OutputSchema: weather.Schema(), …}, nil)
//	…
//	w, err := weather.Decode(res)
//
// The schema is inferred like that of a tool's arguments: `json` tags name the properties,
// a `jsonschema` tag is a property's description.
type Output[T any] struct{}

// Schema returns the JSON Schema of T, for RunRequest.OutputSchema or
// AgentSpec.OutputSchema. It panics if there is none: that is a mistake in the program.
func (Output[T]) Schema() json.RawMessage {
	raw, err := schema.For(reflect.TypeFor[T]())
	if err != nil {
		panic(fmt.Sprintf("awaken: no schema for %v: %v", reflect.TypeFor[T](), err))
	}
	return raw
}

// Decode returns the run's answer. A run that did not come to its natural end has none.
func (Output[T]) Decode(res *RunResult) (T, error) {
	var v T
	if res == nil || len(res.StructuredOutput) == 0 {
		if res == nil {
			return v, fmt.Errorf("output: %w: there is no result", ErrNotFound)
		}
		return v, fmt.Errorf("output of run %s: %w: the run ended with %s", res.RunID, ErrNotFound, res.Termination)
	}
	if err := json.Unmarshal(res.StructuredOutput, &v); err != nil {
		return v, fmt.Errorf("output of run %s: %w", res.RunID, err)
	}
	return v, nil
}

// CheckOutputSchema says what is wrong with an output schema.
func CheckOutputSchema(raw json.RawMessage) error {
	_, err := schema.Compile(raw)
	if err == nil {
		_, err = schema.Clean(raw)
	}
	if err != nil {
		return fmt.Errorf("%w: output_schema: %w", ErrInvalid, err)
	}
	return nil
}

// OutputError says that the answer did not fit its schema, however often the model was
// told. The run fails with it.
type OutputError struct {
	Attempts int
	Answer   string // the last
	Err      error  // what was wrong with it
}

func (e *OutputError) Error() string {
	return fmt.Sprintf("the answer does not fit the output schema after %d attempts: %s", e.Attempts, oneLine(e.Err))
}

// Unwrap returns what was wrong with the last answer.
func (e *OutputError) Unwrap() error { return e.Err }

func oneLine(err error) string { return strings.ReplaceAll(err.Error(), "\n", "; ") }

// FinalOutputTool is the tool by which a model gives an answer that is held to a schema,
// if its provider cannot hold answers to one.
const FinalOutputTool = "final_output"

// outputPlan is how the answer of a run is held to a schema. It is immutable.
type outputPlan struct {
	schema  *schema.Schema
	request *llm.OutputSchema // for a model that can do it by itself
	finish  *toolEntry        // for one that cannot
	wrapped bool              // the answer is the property "output" of the tool's arguments
	hint    llm.Block         // tells of the tool
}

// newOutputPlan compiles a schema.
func newOutputPlan(raw json.RawMessage, native bool) (*outputPlan, error) {
	s, err := schema.Compile(raw)
	if err != nil {
		return nil, err
	}
	shown, err := schema.Clean(raw)
	if err != nil {
		return nil, err
	}
	p := &outputPlan{schema: s}
	if native {
		p.request = &llm.OutputSchema{Name: FinalOutputTool, Schema: shown}
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
	p.finish = &toolEntry{spec: ToolSpec{ID: FinalOutputTool, Name: FinalOutputTool, Effect: ReadOnly}, schema: s,
		desc: llm.Tool{Name: FinalOutputTool, Description: "Gives the final answer. Call it once, when there is nothing left to find out.", Parameters: shown}}
	p.hint = llm.Text("Give your final answer by calling the tool " + FinalOutputTool + ", not as text.")
	return p, nil
}

// apply asks for the answer in the form it has to have.
func (p *outputPlan) apply(req *llm.Request) {
	if p.finish == nil {
		req.Output = p.request
		return
	}
	req.Tools = append(req.Tools[:len(req.Tools):len(req.Tools)], p.finish.desc)
	req.System = append(req.System[:len(req.System):len(req.System)], p.hint)
}

// given returns the answer in the arguments of a call of the tool.
func (p *outputPlan) given(args json.RawMessage) (json.RawMessage, error) {
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

// said returns the answer in a text. Models like to put it in a fence.
func (p *outputPlan) said(text string) (json.RawMessage, error) {
	text = strings.TrimSpace(text)
	if body, ok := strings.CutPrefix(text, "```"); ok {
		if body, ok = strings.CutSuffix(body, "```"); ok {
			text = strings.TrimPrefix(body, "json")
		}
	}
	return p.check([]byte(text))
}

func (p *outputPlan) check(data []byte) (json.RawMessage, error) {
	if err := p.schema.Check(data); err != nil {
		return nil, err
	}
	var buf bytes.Buffer
	if err := json.Compact(&buf, data); err != nil {
		return nil, err
	}
	return buf.Bytes(), nil
}
