package openai

import "maps"

// strict returns a schema that says the same and that OpenAI can hold a model to, or false.
// That is possible when every property is required: then all that is missing is that there
// are no others. A schema with properties that may be left out would have to demand nulls,
// which it does not allow.
func strict(schema map[string]any) (map[string]any, bool) {
	if schema["type"] != "object" || schema["anyOf"] != nil {
		return nil, false
	}
	return strictNode(schema, 0)
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

func strictNode(schema map[string]any, depth int) (map[string]any, bool) {
	if depth > 10 {
		return nil, false
	}
	out := maps.Clone(schema)
	for key, value := range schema {
		switch {
		case silent[key]:
			delete(out, key)
		case !kept[key], key == "format" && !formats[value]:
			return nil, false
		}
	}
	for _, key := range []string{"properties", "$defs", "definitions"} {
		nodes, ok := schema[key].(map[string]any)
		if !ok {
			if schema[key] != nil {
				return nil, false
			}
			continue
		}
		inner := make(map[string]any, len(nodes))
		for name, node := range nodes {
			n, ok := strictAny(node, depth+1)
			if !ok {
				return nil, false
			}
			inner[name] = n
		}
		out[key] = inner
	}
	if items, ok := schema["items"]; ok {
		n, ok := strictAny(items, depth+1)
		if !ok {
			return nil, false
		}
		out["items"] = n
	}
	if list, ok := schema["anyOf"].([]any); ok {
		inner := make([]any, len(list))
		for i, node := range list {
			if inner[i], ok = strictAny(node, depth+1); !ok {
				return nil, false
			}
		}
		out["anyOf"] = inner
	}
	if schema["type"] == "object" {
		return strictObject(schema, out)
	}
	if schema["type"] == nil && schema["$ref"] == nil && schema["anyOf"] == nil && schema["enum"] == nil && schema["const"] == nil {
		return nil, false
	}
	return out, true
}

func strictAny(node any, depth int) (map[string]any, bool) {
	n, ok := node.(map[string]any)
	if !ok {
		return nil, false
	}
	return strictNode(n, depth)
}

// strictObject closes an object, if all its properties are required.
func strictObject(schema, out map[string]any) (map[string]any, bool) {
	if more, ok := schema["additionalProperties"]; ok && more != false {
		return nil, false
	}
	properties, _ := schema["properties"].(map[string]any)
	required, _ := schema["required"].([]any)
	if len(required) != len(properties) {
		return nil, false
	}
	for _, name := range required {
		s, ok := name.(string)
		if _, there := properties[s]; !ok || !there {
			return nil, false
		}
	}
	if out["properties"] == nil {
		out["properties"] = map[string]any{}
	}
	if out["required"] == nil {
		out["required"] = []any{}
	}
	out["additionalProperties"] = false
	return out, true
}
