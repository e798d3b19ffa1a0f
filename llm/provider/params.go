package provider

import (
	"encoding/json"
	"fmt"
	"iter"
	"strings"

	"github.com/awaken-go/awaken/llm"
)

// Schema decodes a JSON Schema that is an object. No schema, or null, is the empty object. Of
// names what the schema describes in the error, which is of kind InvalidRequest.
func Schema(of string, raw json.RawMessage) (map[string]any, error) {
	var out map[string]any
	if len(raw) > 0 {
		if err := json.Unmarshal(raw, &out); err != nil {
			return nil, &llm.Error{Kind: llm.InvalidRequest, Message: fmt.Sprintf("the schema of %s is not a JSON object", of), Err: err}
		}
	}
	if out == nil {
		out = map[string]any{}
	}
	return out, nil
}

// ToolSchema decodes the schema of a tool's arguments. It adds the type "object" if there is no
// type, and empty properties to an object without any.
func ToolSchema(t *llm.Tool) (map[string]any, error) {
	out, err := Schema("tool "+t.Name, t.Parameters)
	if err != nil {
		return nil, err
	}
	if out["type"] == nil {
		out["type"] = "object"
	}
	if out["type"] == "object" && out["properties"] == nil {
		out["properties"] = map[string]any{}
	}
	return out, nil
}

// Subschemas yields the schemas directly inside a JSON Schema: of properties, definitions,
// alternatives (anyOf, allOf) and items.
func Subschemas(schema map[string]any) iter.Seq[any] {
	return func(yield func(any) bool) {
		for _, key := range []string{"properties", "$defs", "definitions"} {
			group, _ := schema[key].(map[string]any)
			for _, inner := range group {
				if !yield(inner) {
					return
				}
			}
		}
		for _, key := range []string{"anyOf", "allOf"} {
			list, _ := schema[key].([]any)
			for _, inner := range list {
				if !yield(inner) {
					return
				}
			}
		}
		if items, ok := schema["items"]; ok {
			yield(items)
		}
	}
}

// EffortLevel returns an effort as a level, for providers that have no budgets.
func EffortLevel(e llm.Effort) string {
	switch {
	case e.Level != "":
		return e.Level
	case e.Budget <= 2048:
		return "low"
	case e.Budget <= 12288:
		return "medium"
	}
	return "high"
}

// Paragraphs joins the texts of the blocks of one type, separated by empty lines.
func Paragraphs(blocks []llm.Block, of llm.BlockType) string {
	var texts []string
	for i := range blocks {
		if b := &blocks[i]; b.Type == of && b.Text != "" {
			texts = append(texts, b.Text)
		}
	}
	return strings.Join(texts, "\n\n")
}
