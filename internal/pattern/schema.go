package pattern

import (
	"encoding/json"
	"fmt"
	"maps"
	"slices"
	"strings"

	"github.com/awaken-go/awaken/internal/toolname"
)

// Missing returns the paths of the pattern that cannot exist in arguments described by a JSON
// Schema: fields that it does not describe, or fields of values that have none. What the
// schema leaves open is not missing.
func (p *Pattern) Missing(schema json.RawMessage) []string {
	var root any
	if len(p.fields) == 0 || json.Unmarshal(schema, &root) != nil {
		return nil
	}
	var out []string
	for i := range p.fields {
		s := search{root: root}
		if s.look(root, p.fields[i].path) == absent {
			out = append(out, p.fields[i].text)
		}
	}
	return out
}

// Review reports rules whose patterns name fields that no matching tool has, given the JSON
// Schemas of the tools' arguments. Such a rule never matches, and is most likely a typo.
func Review[R any](rules []R, patternOf func(R) *Pattern, names *toolname.Names, tools map[string]json.RawMessage) (out []string) {
	for _, r := range rules {
		p := patternOf(r)
		missing, matched := map[string]int{}, 0
		last := ""
		for _, tool := range slices.Sorted(maps.Keys(tools)) {
			if len(p.fields) == 0 || !p.Restricts(names.Tool(tool)) {
				continue
			}
			matched, last = matched+1, tool
			for _, path := range p.Missing(tools[tool]) {
				missing[path]++
			}
		}
		for _, path := range slices.Sorted(maps.Keys(missing)) {
			switch {
			case missing[path] < matched: // some tool has it
			case matched == 1:
				out = append(out, fmt.Sprintf("pattern %q names argument %q, which tool %q does not have; available: %q", p.text, path, last, fields(tools[last])))
			default:
				out = append(out, fmt.Sprintf("pattern %q names argument %q, which none of the %d matching tools has", p.text, path, matched))
			}
		}
	}
	return out
}

// fields returns the names of the fields that a JSON Schema describes, sorted.
func fields(schema json.RawMessage) []string {
	var s struct {
		Properties map[string]json.RawMessage `json:"properties"`
	}
	if json.Unmarshal(schema, &s) != nil {
		return nil
	}
	return slices.Sorted(maps.Keys(s.Properties))
}

// finding is what a part of a schema says about a path.
type finding uint8

const (
	silent  finding = iota // nothing
	absent                 // the path cannot exist
	present                // the path can exist
)

// search looks up paths in a schema.
type search struct {
	root any
	refs int
}

// maxRefs limits how many references are followed, because schemas may be cyclic.
const maxRefs = 64

func (s *search) look(node any, path []step) finding {
	schema, ok := node.(map[string]any)
	if !ok {
		if open, isBool := node.(bool); isBool && !open {
			return absent
		}
		return silent
	}
	if len(path) == 0 {
		return present
	}
	found := s.own(schema, path)
	if ref, ok := schema["$ref"].(string); ok {
		found = max(found, s.follow(ref, path))
	}
	for _, key := range []string{"allOf", "anyOf", "oneOf"} {
		list, _ := schema[key].([]any)
		for _, part := range list {
			found = max(found, s.look(part, path))
		}
	}
	for _, key := range []string{"then", "else"} {
		if part, ok := schema[key]; ok {
			found = max(found, s.look(part, path))
		}
	}
	return found
}

// follow looks at the target of a reference within the document.
func (s *search) follow(ref string, path []step) finding {
	pointer, ok := strings.CutPrefix(ref, "#")
	if s.refs++; !ok || s.refs > maxRefs {
		return present // unknown
	}
	node := s.root
	for _, name := range strings.Split(pointer, "/")[1:] {
		m, ok := node.(map[string]any)
		if !ok {
			return present
		}
		node = m[strings.NewReplacer("~1", "/", "~0", "~").Replace(name)]
	}
	if node == nil {
		return present
	}
	return s.look(node, path)
}

// own looks at what a schema says itself, without its references and combinations.
func (s *search) own(schema map[string]any, path []step) finding {
	at, rest := path[0], path[1:]
	if at.list {
		if !allows(schema, "array") {
			return absent
		}
		prefix, _ := schema["prefixItems"].([]any)
		found := silent
		for i, item := range prefix {
			if at.any || at.index == i {
				found = max(found, s.look(item, rest))
			}
		}
		if items, ok := schema["items"]; ok && (at.any || at.index >= len(prefix)) {
			found = max(found, s.look(items, rest))
		}
		return found
	}
	if !allows(schema, "object") {
		return absent
	}
	described, _ := schema["properties"].(map[string]any)
	if next, ok := described[at.name]; ok && !at.any {
		return s.into(next, rest)
	}
	if schema["patternProperties"] != nil {
		return present
	}
	found := silent
	if at.any {
		for _, next := range described {
			found = max(found, s.into(next, rest))
		}
	}
	switch more := schema["additionalProperties"].(type) {
	case nil:
		if len(described) > 0 {
			found = max(found, absent)
		}
	case bool:
		found = max(found, map[bool]finding{false: absent, true: present}[more])
	default:
		found = max(found, s.look(more, rest))
	}
	return found
}

// into looks into a described value. A value that is not described further may be anything.
func (s *search) into(node any, path []step) finding {
	if found := s.look(node, path); found != silent {
		return found
	}
	return present
}

// allows reports whether a schema allows values of a type.
func allows(schema map[string]any, kind string) bool {
	switch t := schema["type"].(type) {
	case string:
		return t == kind
	case []any:
		return slices.Contains(t, any(kind))
	}
	return true
}
