package anthropic

import (
	"encoding/json"
	"slices"

	"github.com/awaken-go/awaken/llm/provider"
)

// closed returns a schema in the part of JSON Schema that the API can hold answers to, or
// false if that cannot say the same about the answer's shape. Objects get no properties
// but those they name. Limits on values are left out: whoever asked checks the answer.
func closed(schema json.RawMessage) (any, bool) {
	var v any
	if json.Unmarshal(schema, &v) != nil {
		return nil, false
	}
	return v, closeSchema(v)
}

// limits are the keywords that the API refuses and that do not change the shape.
var limits = []string{"minimum", "maximum", "exclusiveMinimum", "exclusiveMaximum", "multipleOf",
	"minLength", "maxLength", "maxItems", "uniqueItems", "minProperties", "maxProperties", "$schema", "$id", "examples"}

// shapes are the keywords that it refuses and that do.
var shapes = []string{"patternProperties", "propertyNames", "prefixItems", "contains", "not", "if", "dependentSchemas", "unevaluatedProperties", "$dynamicRef"}

// closeSchema changes v in place.
func closeSchema(v any) bool {
	s, ok := v.(map[string]any)
	if !ok {
		return false // true allows anything
	}
	for _, k := range limits {
		delete(s, k)
	}
	if n, ok := s["minItems"].(float64); ok && n > 1 {
		s["minItems"] = 1
	}
	if one, ok := s["oneOf"]; ok {
		if _, both := s["anyOf"]; both {
			return false
		}
		delete(s, "oneOf")
		s["anyOf"] = one
	}
	if slices.ContainsFunc(shapes, func(k string) bool { _, has := s[k]; return has }) {
		return false
	}
	if s["type"] == "object" || s["properties"] != nil {
		if more, ok := s["additionalProperties"]; ok && more != false && more != true || s["properties"] == nil {
			return false // a map
		}
		s["additionalProperties"] = false
	}
	for inner := range provider.Subschemas(s) {
		if !closeSchema(inner) {
			return false
		}
	}
	return true
}
