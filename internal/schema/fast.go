package schema

import (
	"bytes"
	"encoding/json"
	"reflect"
	"unicode/utf8"

	"github.com/awaken-go/awaken/internal/strict"
)

// fastObject accepts documents of the commonest schema, an object of plain
// string, number, integer and boolean properties, without building a tree of it.
// It may only say yes when it is sure: whatever it does not accept goes to the
// full validator, which finds the words for what is wrong.
//
// BenchmarkCheck: arguments of three properties take 0.5 µs and no allocations, where the
// validator takes 6 µs and 34. Ten tool steps of a run take 448 allocations instead of 760.
type fastObject struct {
	props    map[string]fastProperty
	required uint64 // the bits of the properties that must be there
	open     bool   // other properties are allowed
}

type fastProperty struct {
	kind byte // s, n, i or b, as in plainTypes
	bit  uint64
}

var plainTypes = map[string]byte{"string": 's', "number": 'n', "integer": 'i', "boolean": 'b'}

// plainSchema has the keywords that the fast path knows. Those of notes restrict nothing.
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

// newFastObject returns nil for a schema that says more than the fast path checks.
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
	switch never := map[string]any{"not": map[string]any{}}; { // how the inferrer writes false
	case s.Additional == nil || s.Additional == true:
		f.open = true
	case s.Additional != false && !reflect.DeepEqual(s.Additional, never):
		return nil
	}
	return f
}

// ok reports whether data certainly satisfies the schema.
func (f *fastObject) ok(data []byte) bool {
	if !json.Valid(data) {
		return false
	}
	data = bytes.TrimSpace(data)
	if data[0] != '{' {
		return false
	}
	var seen uint64 // the bits of the properties found
	i := skip(data, 1)
	for data[i] != '}' {
		end := stringEnd(data, i)
		name := data[i+1 : end]
		if bytes.IndexByte(name, '\\') >= 0 || !utf8.Valid(name) {
			return false
		}
		p, known := f.props[string(name)]
		if !known && !f.open || seen&p.bit != 0 { // a repeated name: let the full validator decide
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
