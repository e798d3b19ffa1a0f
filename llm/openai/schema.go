package openai

import (
	"github.com/awaken-go/awaken/llm"
	"github.com/awaken-go/awaken/llm/provider"
)

// parameters decodes the schema of a tool's arguments, strict if that is configured and possible.
func (m *Model) parameters(t *llm.Tool) (schema map[string]any, isStrict bool, err error) {
	if schema, err = provider.ToolSchema(t); err != nil || !m.config.StrictTools {
		return schema, false, err
	}
	if strict(schema) {
		return schema, true, nil
	}
	schema, err = provider.ToolSchema(t) // as it was
	return schema, false, err
}

// outputSchema decodes a schema for an answer, strict if that is possible.
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
		out.Schema, err = provider.Schema("the output", o.Schema) // as it was
	}
	return out, err
}

// strict changes a schema into one that says the same and that OpenAI can hold a model to, or
// returns false and leaves something half changed. It is possible when every property is
// required: then all that is missing is that there are no others. A schema with properties that
// may be left out would have to demand nulls, which it does not allow.
func strict(schema map[string]any) bool {
	return schema["type"] == "object" && schema["anyOf"] == nil && strictNode(schema, 0)
}

// kept are the keywords that strict schemas can have.
var kept = map[string]bool{
	"type": true, "description": true, "title": true, "properties": true, "required": true, "additionalProperties": true, "items": true,
	"enum": true, "const": true, "anyOf": true, "$ref": true, "$defs": true, "definitions": true,
	"pattern": true, "format": true, "minimum": true, "maximum": true, "exclusiveMinimum": true, "exclusiveMaximum": true, "multipleOf": true,
	"minItems": true, "maxItems": true,
}

// silent are those that say nothing about what is valid, and are left out.
var silent = map[string]bool{"$schema": true, "$id": true, "$comment": true, "examples": true, "default": true, "deprecated": true, "readOnly": true, "writeOnly": true}

// formats are the ones that OpenAI knows.
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

// strictObject closes an object, if all its properties are required.
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
