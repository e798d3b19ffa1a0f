package openai

import (
	"bytes"
	"cmp"
	"encoding/json"
	"fmt"

	"github.com/awaken-go/awaken"
	"github.com/awaken-go/awaken/llm"
)

// tool is a tool that the client executes. Chat Completions has its description in function, Responses
// beside the type.
type tool struct {
	Type     string    `json:"type"`
	Function *function `json:"function,omitempty"`
	function
}

type function struct {
	Name        string          `json:"name,omitempty"`
	Description string          `json:"description,omitempty"`
	Parameters  json.RawMessage `json:"parameters,omitempty"` // a JSON Schema
}

// toolsOf converts the client's tools and the field tool_choice. The choice is nil if the model decides.
func toolsOf(tools []tool, data json.RawMessage) ([]awaken.ToolSpec, *llm.ToolChoice, error) {
	specs, err := specsOf(tools)
	if err != nil {
		return nil, nil, err
	}
	var c choice
	if !absent(data) {
		if err := c.parse(data); err != nil {
			return nil, nil, err
		}
	}
	return c.among(specs)
}

// specsOf converts the client's tools.
func specsOf(tools []tool) ([]awaken.ToolSpec, error) {
	var out []awaken.ToolSpec
	for i, t := range tools {
		f := t.function
		if t.Function != nil {
			f = *t.Function
		}
		field := fmt.Sprintf("tools[%d]", i)
		switch {
		case t.Type != "function":
			return nil, unsupported(field+".type", "it is %s, want function; the agent has its own tools", quoted(t.Type))
		case f.Name == "":
			return nil, misfit(field+".name", fmt.Errorf("it is missing"))
		}
		spec := awaken.ToolSpec{ID: f.Name, Name: f.Name, Description: cmp.Or(f.Description, "Tool of the client"), Parameters: f.Parameters}
		if absent(spec.Parameters) {
			spec.Parameters = json.RawMessage(`{"type":"object"}`)
		}
		out = append(out, spec)
	}
	return out, nil
}

// format says what the answer looks like. Chat Completions has the schema in json_schema, Responses
// beside the type.
type format struct {
	Type       string          `json:"type"`
	JSONSchema *format         `json:"json_schema,omitempty"`
	Name       string          `json:"name,omitempty"` // of the schema
	Schema     json.RawMessage `json:"schema,omitempty"`
}

// schema returns the JSON Schema of the answer, or nil if it is plain text.
func (f *format) schema(field string) (json.RawMessage, error) {
	if f == nil {
		return nil, nil
	}
	switch f.Type {
	case "text", "":
		return nil, nil
	case "json_object":
		return json.RawMessage(`{"type":"object"}`), nil
	case "json_schema":
		schema := f.Schema
		if f.JSONSchema != nil {
			schema = f.JSONSchema.Schema
		}
		if absent(bytes.TrimSpace(schema)) {
			return nil, misfit(field, fmt.Errorf("the schema is missing"))
		}
		return schema, nil
	}
	return nil, refused(field+".type", "%s.type is %s, want text, json_object or json_schema", field, quoted(f.Type))
}

// sampling is how a request asks the model to answer. A field that is not set leaves it to the agent.
type sampling struct {
	Temperature *float64 `json:"temperature,omitempty"`
	TopP        *float64 `json:"top_p,omitempty"`
	Seed        *int64   `json:"seed,omitempty"`
	Parallel    *bool    `json:"parallel_tool_calls,omitempty"` // whether the model may make several calls at once
}

// overrides converts the parameters of the model.
func (s *sampling) overrides(maxTokens *int, maxField, effort, effortField string) (*awaken.InferenceOverride, error) {
	o := awaken.InferenceOverride{Temperature: s.Temperature, TopP: s.TopP, MaxTokens: maxTokens, Seed: s.Seed, ParallelTools: s.Parallel}
	if v := o.Temperature; v != nil && !(*v >= 0 && *v <= 2) {
		return nil, refused("temperature", "temperature is %v, want 0 to 2", *v)
	}
	if v := o.TopP; v != nil && !(*v >= 0 && *v <= 1) {
		return nil, refused("top_p", "top_p is %v, want 0 to 1", *v)
	}
	if maxTokens != nil && *maxTokens < 1 {
		return nil, refused(maxField, "%s is %d, want at least 1", maxField, *maxTokens)
	}
	switch effort {
	case "":
	case "minimal":
		o.ReasoningEffort = &llm.Effort{Level: "low"}
	case "none", "low", "medium", "high", "max":
		o.ReasoningEffort = &llm.Effort{Level: effort}
	case "xhigh":
		o.ReasoningEffort = &llm.Effort{Level: "max"}
	default:
		return nil, refused(effortField, "%s is %s, want none, minimal, low, medium, high, xhigh or max", effortField, quoted(effort))
	}
	return &o, nil
}
