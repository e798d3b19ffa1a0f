package anthropic

import (
	"encoding/json"
	"slices"

	"github.com/awaken-go/awaken/llm/provider"
)

// closed returns a schema in the subset of JSON Schema that the API enforces, or false if the
// subset cannot express the same shape. Objects become closed. Limits on values are dropped: the
// caller validates the reply.
func closed(schema json.RawMessage) (any, bool) {
	var v any
	if json.Unmarshal(schema, &v) != nil {
		return nil, false
	}
	return v, closeSchema(v)
}

// limits are keywords that the API rejects and that do not affect the shape.
var limits = []string{"minimum", "maximum", "exclusiveMinimum", "exclusiveMaximum", "multipleOf",
	"minLength", "maxLength", "maxItems", "uniqueItems", "minProperties", "maxProperties", "$schema", "$id", "examples"}

// shapes are keywords that the API rejects and that affect the shape.
var shapes = []string{"patternProperties", "propertyNames", "prefixItems", "contains", "not", "if", "dependentSchemas", "unevaluatedProperties", "$dynamicRef"}

// closeSchema closes v in place.
func closeSchema(v any) bool {
	s, ok := v.(map[string]any)
	if !ok {
		return false // a boolean schema
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
