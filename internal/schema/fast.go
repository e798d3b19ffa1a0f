package schema

import (
	"bytes"
	"encoding/json"
	"reflect"
	"unicode/utf8"

	"github.com/awaken-go/awaken/internal/strict"
)

// fastObject validates documents against the most common kind of schema, an object of
// string, number, integer and boolean properties, without decoding them. It accepts only
// documents that are certainly valid; the full validator decides about all others and
// words the errors.
//
// BenchmarkCheck: arguments with three properties take 0.5 µs and no allocations; the
// validator takes 6 µs and 34. A run of ten tool steps takes 448 allocations instead of 760.
type fastObject struct {
	props    map[string]fastProperty
	required uint64 // the bits of the required properties
	open     bool   // other properties are allowed
}

type fastProperty struct {
	kind byte // s, n, i or b, as in plainTypes
	bit  uint64
}

var plainTypes = map[string]byte{"string": 's', "number": 'n', "integer": 'i', "boolean": 'b'}

// plainSchema has the keywords that the fast path supports. Those of notes do not affect
// validity.
type (
	plainSchema struct {
		Schema     string `json:"$schema"`
		Properties map[string]struct {
			notes
			Type string `json:"type"`
		} `json:"properties"`
		Required   []string `json:"required"`
		Additional any      `json:"additionalProperties"`
		Type       string   `json:"type"`
		notes
	}
	notes struct {
		Title       any `json:"title"`
		Description any `json:"description"`
		Default     any `json:"default"`
		Examples    any `json:"examples"`
	}
)

// newFastObject returns nil for a schema that the fast path does not support.
func newFastObject(raw []byte) *fastObject {
	var s plainSchema
	if strict.Unmarshal(raw, &s) != nil || s.Type != "object" || len(s.Properties) > 64 {
		return nil
	}
	f := &fastObject{props: map[string]fastProperty{}}
	for name, p := range s.Properties {
		kind, ok := plainTypes[p.Type]
		if !ok {
			return nil
		}
		f.props[name] = fastProperty{kind: kind, bit: 1 << len(f.props)}
	}
	for _, name := range s.Required {
		p, ok := f.props[name]
		if !ok {
			return nil
		}
		f.required |= p.bit
	}
	switch never := map[string]any{"not": map[string]any{}}; { // how inferred schemas write false
	case s.Additional == nil || s.Additional == true:
		f.open = true
	case s.Additional != false && !reflect.DeepEqual(s.Additional, never):
		return nil
	}
	return f
}

// ok reports whether data is certainly valid.
func (f *fastObject) ok(data []byte) bool {
	if !json.Valid(data) {
		return false
	}
	data = bytes.TrimSpace(data)
	if data[0] != '{' {
		return false
	}
	var seen uint64 // the bits of the properties seen
	i := skip(data, 1)
	for data[i] != '}' {
		end := stringEnd(data, i)
		name := data[i+1 : end]
		if bytes.IndexByte(name, '\\') >= 0 || !utf8.Valid(name) {
			return false
		}
		p, known := f.props[string(name)]
		if !known && !f.open || seen&p.bit != 0 { // a repeated name is for the full validator
			return false
		}
		seen |= p.bit
		i = skip(data, end+1)
		i = skip(data, i+1) // the colon
		next, ok := plainValue(data, i, p.kind)
		if !ok {
			return false
		}
		i = skip(data, next)
		if data[i] == ',' {
			i = skip(data, i+1)
		}
	}
	return seen&f.required == f.required
}

// plainValue checks the value at i against the type and returns where it ends. An
// unknown property (t == 0) may be any scalar.
func plainValue(data []byte, i int, t byte) (int, bool) {
	switch c := data[i]; {
	case c == '"':
		end := stringEnd(data, i)
		return end + 1, (t == 's' || t == 0) && utf8.Valid(data[i:end])
	case c == 't':
		return i + 4, t == 'b' || t == 0
	case c == 'f':
		return i + 5, t == 'b' || t == 0
	case c == '-' || c >= '0' && c <= '9':
		whole := true
		for ; i < len(data); i++ {
			switch c := data[i]; {
			case c == '.' || c == 'e' || c == 'E':
				whole = false
			case c == '-' || c == '+' || c >= '0' && c <= '9':
			default:
				return i, t == 'n' || t == 0 || t == 'i' && whole
			}
		}
	}
	return i, false
}

// skip returns the index of the first byte at or after i that is not white space.
func skip(data []byte, i int) int {
	for data[i] == ' ' || data[i] == '\n' || data[i] == '\t' || data[i] == '\r' {
		i++
	}
	return i
}

// stringEnd returns the index of the quote that ends the string starting at i.
func stringEnd(data []byte, i int) int {
	for i++; data[i] != '"'; i++ {
		if data[i] == '\\' {
			i++
		}
	}
	return i
}
