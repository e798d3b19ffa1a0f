package schema

import (
	"bytes"
	"encoding/json"
	"unicode/utf8"
)

// fastObject accepts documents of the commonest schema, an object of plain
// string, number, integer and boolean properties, without building a tree of it.
// It may only say yes when it is sure: whatever it does not accept goes to the
// full validator, which finds the words for what is wrong.
type fastObject struct {
	props    map[string]byte // name -> s, n, i, b
	required []string
	open     bool // other properties are allowed
}

// known keywords that do not restrict anything the fast path does not check
var plainKeywords = map[string]bool{"type": true, "description": true, "title": true, "default": true, "examples": true}

func newFastObject(doc any) *fastObject {
	m, ok := doc.(map[string]any)
	if !ok || m["type"] != "object" {
		return nil
	}
	f := &fastObject{props: map[string]byte{}, open: true}
	for k, v := range m {
		switch {
		case k == "properties":
			props, _ := v.(map[string]any)
			for name, p := range props {
				t, ok := plainType(p)
				if !ok || len(props) > 64 {
					return nil
				}
				f.props[name] = t
			}
		case k == "required":
			list, _ := v.([]any)
			for _, r := range list {
				name, ok := r.(string)
				if !ok {
					return nil
				}
				f.required = append(f.required, name)
			}
		case k == "additionalProperties":
			switch v := v.(type) {
			case bool:
				f.open = v
			case map[string]any: // {"not": {}} is how the inferrer writes false
				if not, ok := v["not"].(map[string]any); !ok || len(not) > 0 || len(v) != 1 {
					return nil
				}
				f.open = false
			default:
				return nil
			}
		case !plainKeywords[k] && k != "$schema":
			return nil
		}
	}
	for _, r := range f.required {
		if _, ok := f.props[r]; !ok {
			return nil
		}
	}
	return f
}

func plainType(p any) (byte, bool) {
	m, ok := p.(map[string]any)
	if !ok {
		return 0, false
	}
	for k := range m {
		if !plainKeywords[k] {
			return 0, false
		}
	}
	switch m["type"] {
	case "string":
		return 's', true
	case "number":
		return 'n', true
	case "integer":
		return 'i', true
	case "boolean":
		return 'b', true
	}
	return 0, false
}

// ok reports whether data certainly satisfies the schema.
func (f *fastObject) ok(data []byte) bool {
	if !json.Valid(data) {
		return false
	}
	data = bytes.TrimSpace(data)
	if len(data) < 2 || data[0] != '{' {
		return false
	}
	var seen [8]string // required names found; more than 8 goes the slow way
	found := 0
	i := skip(data, 1)
	for data[i] != '}' {
		end := stringEnd(data, i)
		name := data[i+1 : end]
		if bytes.IndexByte(name, '\\') >= 0 || !utf8.Valid(name) {
			return false
		}
		t, known := f.props[string(name)]
		if !known && !f.open {
			return false
		}
		i = skip(data, end+1)
		i = skip(data, i+1) // the colon
		next, ok := plainValue(data, i, t)
		if !ok {
			return false
		}
		if known {
			for _, s := range seen[:found] {
				if s == string(name) { // a repeated name: let the full validator decide
					return false
				}
			}
			if found == len(seen) {
				return false
			}
			seen[found] = nameOf(f, name)
			found++
		}
		i = skip(data, next)
		if data[i] == ',' {
			i = skip(data, i+1)
		}
	}
	for _, r := range f.required {
		has := false
		for _, s := range seen[:found] {
			has = has || s == r
		}
		if !has {
			return false
		}
	}
	return true
}

// nameOf returns the schema's own copy of a known name, so that nothing is allocated.
func nameOf(f *fastObject, name []byte) string {
	for _, r := range f.required {
		if r == string(name) {
			return r
		}
	}
	return string(name)
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
