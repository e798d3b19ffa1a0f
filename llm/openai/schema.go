package openai

import (
	"github.com/awaken-go/awaken/llm"
	"github.com/awaken-go/awaken/llm/provider"
)

// parameters decodes the schema of a tool's arguments and makes it strict if that is configured and
// possible.
func (m *Model) parameters(t *llm.Tool) (schema map[string]any, isStrict bool, err error) {
	if schema, err = provider.ToolSchema(t); err != nil || !m.config.StrictTools {
		return schema, false, err
	}
	if strict(schema) {
		return schema, true, nil
	}
	schema, err = provider.ToolSchema(t) // unmodified
	return schema, false, err
}

// outputSchema decodes an output schema and makes it strict if possible.
func outputSchema(o *llm.OutputSchema) (jsonSchema, error) {
	out := jsonSchema{Name: "output"}
	if o.Name != "" {
		out.Name = safeID64(o.Name)
	}
	var err error
	if out.Schema, err = provider.Schema("the output", o.Schema); err != nil {
		return out, err
	}
	if out.Strict = strict(out.Schema); !out.Strict {
		out.Schema, err = provider.Schema("the output", o.Schema) // unmodified
	}
	return out, err
}

// strict converts a schema in place into an equivalent one that OpenAI enforces. If that is not
// possible it returns false and leaves the schema partly converted. It is possible if every property
// is required; then only additionalProperties is missing. Optional properties would have to become
// nullable, which changes the meaning.
func strict(schema map[string]any) bool {
	return schema["type"] == "object" && schema["anyOf"] == nil && strictNode(schema, 0)
}

// kept are the keywords that strict schemas support.
var kept = map[string]bool{
	"type": true, "description": true, "title": true, "properties": true, "required": true, "additionalProperties": true, "items": true,
	"enum": true, "const": true, "anyOf": true, "$ref": true, "$defs": true, "definitions": true,
	"pattern": true, "format": true, "minimum": true, "maximum": true, "exclusiveMinimum": true, "exclusiveMaximum": true, "multipleOf": true,
	"minItems": true, "maxItems": true,
}

// silent are keywords that do not affect validity; they are dropped.
var silent = map[string]bool{"$schema": true, "$id": true, "$comment": true, "examples": true, "default": true, "deprecated": true, "readOnly": true, "writeOnly": true}

// formats are the formats that OpenAI supports.
var formats = map[any]bool{"date-time": true, "time": true, "date": true, "duration": true, "email": true, "hostname": true, "ipv4": true, "ipv6": true, "uuid": true}

func strictNode(v any, depth int) bool {
	schema, ok := v.(map[string]any)
	if !ok || depth > 10 {
		return false
	}
	for key, value := range schema {
		switch {
		case silent[key]:
			delete(schema, key)
		case !kept[key], key == "format" && !formats[value]:
			return false
		}
	}
	for inner := range provider.Subschemas(schema) {
		if !strictNode(inner, depth+1) {
			return false
		}
	}
	if schema["type"] == "object" {
		return strictObject(schema)
	}
	return schema["type"] != nil || schema["$ref"] != nil || schema["anyOf"] != nil || schema["enum"] != nil || schema["const"] != nil
}

// strictObject closes an object if all its properties are required.
func strictObject(schema map[string]any) bool {
	if more, ok := schema["additionalProperties"]; ok && more != false {
		return false
	}
	properties, _ := schema["properties"].(map[string]any)
	required, _ := schema["required"].([]any)
	if len(required) != len(properties) {
		return false
	}
	for _, name := range required {
		s, ok := name.(string)
		if _, there := properties[s]; !ok || !there {
			return false
		}
	}
	if len(properties) == 0 {
		schema["properties"], schema["required"] = map[string]any{}, []any{}
	}
	schema["additionalProperties"] = false
	return true
}
