package schema

import (
	"bytes"
	"encoding/json"
	"fmt"
	"regexp"
	"regexp/syntax"

	validator "github.com/santhosh-tekuri/jsonschema/v6"
)

// Bounds limits what the schemas of one request may cost. Compiling a subschema takes 0.1 ms, and
// references let a few kilobytes stand for more subschemas than a document can ever be validated
// against. A field that is 0 or less sets no limit.
type Bounds struct {
	Bytes int // of all schemas together
	Parts int // subschemas of all schemas together; with what references repeat, ten times as many

	bytes, parts, expanded, patterns int // used
}

const (
	repeats     = 10     // how many times more subschemas there may be with what references repeat
	maxPattern  = 10_000 // instructions of one compiled pattern
	maxPatterns = 50_000 // instructions of all patterns that Bounds allows
)

// Compile compiles a schema that fits in what is left of the bounds. An error says which value is
// too large and what is accepted.
func (b *Bounds) Compile(raw json.RawMessage) (*Schema, error) {
	if b.bytes += len(raw); b.Bytes > 0 && b.bytes > b.Bytes {
		return nil, fmt.Errorf("schemas take %d bytes up to here, want at most %d in a request", b.bytes, b.Bytes)
	}
	doc, err := validator.UnmarshalJSON(bytes.NewReader(raw))
	if err != nil {
		return nil, fmt.Errorf("schema is not JSON: %w", err)
	}
	if err := b.count(doc); err != nil {
		return nil, err
	}
	if b.Parts > 0 && b.parts > b.Parts {
		return nil, fmt.Errorf("schemas have %d subschemas up to here, want at most %d in a request", b.parts, b.Parts)
	}
	if b.patterns > maxPatterns {
		return nil, fmt.Errorf("patterns are too complex: they compile to %d instructions up to here, want at most %d in a request", b.patterns, maxPatterns)
	}
	s, err := Compile(raw)
	if err != nil { // a tool's schema that does not compile as it is may do so when it is clean
		if cleaned, cleanErr := Clean(raw); cleanErr == nil {
			if c, cleanErr := Compile(cleaned); cleanErr == nil {
				s, err = c, nil
			}
		}
	}
	if err != nil || b.Parts <= 0 {
		return s, err
	}
	e := expansion{left: repeats*b.Parts - b.expanded, open: map[*validator.Schema]bool{}}
	e.add(s.s)
	if e.left < 0 {
		return nil, fmt.Errorf("references repeat subschemas too often: want at most %d subschemas in a request with each reference replaced by what it refers to", repeats*b.Parts)
	}
	b.expanded = repeats*b.Parts - e.left
	return s, nil
}

// count adds what may be a subschema or a pattern, anywhere in a document.
func (b *Bounds) count(v any) error {
	switch v := v.(type) {
	case bool:
		b.parts++
	case []any:
		for _, e := range v {
			if err := b.count(e); err != nil {
				return err
			}
		}
	case map[string]any:
		b.parts++
		for name, e := range v {
			switch text, isText := e.(string); {
			case name == "$dynamicRef" || name == "$recursiveRef":
				return fmt.Errorf("schema has a %s, want $ref", name)
			case name == "pattern" && isText:
				b.patterns += patternSize(text)
			case name == "patternProperties":
				props, _ := e.(map[string]any)
				for p := range props {
					b.patterns += patternSize(p)
				}
			}
			if err := b.count(e); err != nil {
				return err
			}
		}
	}
	return nil
}

// patternSize returns about how many instructions a pattern compiles to. A pattern that does not
// compile has none.
func patternSize(pattern string) int {
	re, err := syntax.Parse(pattern, syntax.Perl)
	if err != nil {
		return 0
	}
	return instructions(re)
}

func instructions(re *syntax.Regexp) int {
	n := 1 + len(re.Rune)
	for _, sub := range re.Sub {
		n += instructions(sub)
	}
	if re.Op == syntax.OpRepeat {
		n *= max(re.Min, re.Max, 1)
	}
	return min(n, 1<<30)
}

// compilePattern is the validator's engine for patterns. A pattern such as x{1000} repeated a
// thousand times would compile to a million instructions.
func compilePattern(pattern string) (validator.Regexp, error) {
	if n := patternSize(pattern); n > maxPattern {
		return nil, fmt.Errorf("pattern %.40q compiles to %d instructions, want at most %d", pattern, n, maxPattern)
	}
	re, err := regexp.Compile(pattern)
	if err != nil {
		return nil, err
	}
	return re, nil
}

// expansion counts the subschemas of a schema with each reference replaced by what it refers to. A
// reference to a schema that it is part of counts as one.
type expansion struct {
	left int
	open map[*validator.Schema]bool
}

func (e *expansion) add(s *validator.Schema) {
	if e.left--; e.left < 0 || e.open[s] {
		return
	}
	e.open[s] = true
	eachPart(s, func(sub *validator.Schema) bool { e.add(sub); return e.left >= 0 })
	delete(e.open, s)
}

// eachPart calls fn for the subschemas of s, until fn returns false.
func eachPart(s *validator.Schema, fn func(*validator.Schema) bool) {
	if !inPlace(s, fn) {
		return
	}
	for _, one := range [...]any{s.PropertyNames, s.AdditionalProperties, s.UnevaluatedProperties, s.Contains, s.Items, s.AdditionalItems, s.Items2020, s.UnevaluatedItems, s.ContentSchema} {
		switch one := one.(type) {
		case *validator.Schema:
			if one != nil && !fn(one) {
				return
			}
		case []*validator.Schema:
			for _, p := range one {
				if !fn(p) {
					return
				}
			}
		}
	}
	for _, p := range s.PrefixItems {
		if !fn(p) {
			return
		}
	}
	for _, p := range s.Properties {
		if !fn(p) {
			return
		}
	}
	for _, p := range s.PatternProperties {
		if !fn(p) {
			return
		}
	}
}

// inPlace calls fn for the subschemas that apply to the same value as s, until fn returns false. It
// reports whether none did.
func inPlace(s *validator.Schema, fn func(*validator.Schema) bool) bool {
	for _, one := range [...]*validator.Schema{s.Ref, s.RecursiveRef, s.Not, s.If, s.Then, s.Else} {
		if one != nil && !fn(one) {
			return false
		}
	}
	if s.DynamicRef != nil && s.DynamicRef.Ref != nil && !fn(s.DynamicRef.Ref) {
		return false
	}
	for _, list := range [...][]*validator.Schema{s.AllOf, s.AnyOf, s.OneOf} {
		for _, p := range list {
			if !fn(p) {
				return false
			}
		}
	}
	for _, p := range s.DependentSchemas {
		if !fn(p) {
			return false
		}
	}
	for _, d := range s.Dependencies {
		if p, ok := d.(*validator.Schema); ok && !fn(p) {
			return false
		}
	}
	return true
}

// A validation may take leastSteps, and stepsPerByte for each byte of the document. A step is one
// value looked at by one subschema.
const (
	leastSteps   = 100_000
	stepsPerByte = 4
)

// meter counts the steps that a validation takes at most. The validator itself cannot be stopped.
type meter struct{ left int }

// add counts the steps of validating v against s. It reports false if they are more than left.
func (m *meter) add(s *validator.Schema, v any) bool {
	m.left -= 1 + len(s.Required)
	if s.Enum != nil {
		m.left -= len(s.Enum.Values)
	}
	if m.left < 0 {
		return false
	}
	same := func(sub *validator.Schema) bool { return m.add(sub, v) }
	if !inPlace(s, same) {
		return false
	}
	switch v := v.(type) {
	case string:
		m.left -= len(v) / 64 // its length, pattern and format
	case json.Number:
		m.left -= len(v) * len(v) / 1024 // numbers are computed exactly
	case []any:
		return m.items(s, v)
	case map[string]any:
		return m.properties(s, v)
	}
	return m.left >= 0
}

func (m *meter) items(s *validator.Schema, list []any) bool {
	m.left -= len(list)
	for i, v := range list {
		for _, one := range [...]any{s.Contains, s.Items, s.AdditionalItems, s.Items2020, s.UnevaluatedItems} {
			switch one := one.(type) {
			case *validator.Schema:
				if one != nil && !m.add(one, v) {
					return false
				}
			case []*validator.Schema:
				if i < len(one) && !m.add(one[i], v) {
					return false
				}
			}
		}
		if i < len(s.PrefixItems) && !m.add(s.PrefixItems[i], v) {
			return false
		}
	}
	return m.left >= 0
}

func (m *meter) properties(s *validator.Schema, object map[string]any) bool {
	m.left -= len(object) * (1 + len(s.PatternProperties))
	for name, v := range object {
		if s.PropertyNames != nil && !m.add(s.PropertyNames, name) {
			return false
		}
		p := s.Properties[name]
		if p != nil && !m.add(p, v) {
			return false
		}
		matched := p != nil
		for re, sub := range s.PatternProperties {
			if re.MatchString(name) {
				matched = true
				if !m.add(sub, v) {
					return false
				}
			}
		}
		if rest, ok := s.AdditionalProperties.(*validator.Schema); ok && rest != nil && !matched && !m.add(rest, v) {
			return false
		}
		if s.UnevaluatedProperties != nil && !matched && !m.add(s.UnevaluatedProperties, v) {
			return false
		}
	}
	return m.left >= 0
}
