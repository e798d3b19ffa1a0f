package awaken

import (
	"bytes"
	"encoding/json"
	"fmt"
	"reflect"

	"github.com/awaken-go/awaken/internal/schema"
	"github.com/awaken-go/awaken/internal/strict"
)

// A Section is the typed configuration of a plugin inside an [AgentSpec]. The Go struct C
// defines its JSON Schema; `jsonschema` struct tags describe and constrain the fields, as for
// [NewTool]. If *C has a method
// Validate() error, decoding calls it. Declare sections once, as package variables, and
// register them with [Registrar.Section].
type Section[C any] struct {
	Info   SectionInfo
	name   string
	def    []byte
	schema json.RawMessage
}

// SectionInfo tells a user interface how to present a section.
type SectionInfo struct {
	DisplayName string          `json:"display_name,omitempty"`
	Description string          `json:"description,omitempty"`
	Category    string          `json:"category,omitempty"`  // groups sections
	Editor      string          `json:"editor,omitempty"`    // name of a special editor, if the interface has one; "" means a form
	UISchema    json.RawMessage `json:"ui_schema,omitempty"` // hints for the form, in the interface's own format
}

// SectionSchema describes a section to clients.
type SectionSchema struct {
	Key    string          `json:"key"`
	Schema json.RawMessage `json:"json_schema"`
	SectionInfo
	Default json.RawMessage `json:"default_value"`
}

// AnySection is a *[Section] of any type.
type AnySection interface {
	// Describe returns the section's schema, default and presentation.
	Describe() SectionSchema
	decode(raw json.RawMessage) (any, error)
}

// Decode decodes a section of the spec and caches it for [Section.Read]. It is for code that
// resolves agents. It changes the spec; call it on a copy, see [AgentSpec.Copy].
func (s *AgentSpec) Decode(section AnySection) error {
	key := section.Describe().Key
	v, err := section.decode(s.Sections[key])
	if err != nil {
		return err
	}
	if s.decoded == nil {
		s.decoded = map[string]any{}
	}
	s.decoded[key] = v
	return nil
}

// Copy returns a shallow copy of the spec without cached sections.
func (s *AgentSpec) Copy() *AgentSpec {
	c := *s
	c.decoded = nil
	return &c
}

// NewSection returns the section with that name. Fields that a document leaves out have the
// values of def. NewSection panics if C has no JSON Schema, which is a programming error.
func NewSection[C any](name string, def C) *Section[C] {
	raw, err := schema.For(reflect.TypeFor[C]())
	if err != nil {
		panic(fmt.Sprintf("awaken: section %q: %v", name, err))
	}
	// Every field has a default, so none is required.
	var doc map[string]json.RawMessage
	if json.Unmarshal(raw, &doc) == nil && doc["required"] != nil {
		delete(doc, "required")
		raw, _ = json.Marshal(doc)
	}
	data, err := json.Marshal(def)
	if err != nil {
		panic(fmt.Sprintf("awaken: section %q: default value: %v", name, err))
	}
	return &Section[C]{name: name, def: data, schema: raw}
}

// Name returns the section's key in AgentSpec.Sections.
func (s *Section[C]) Name() string { return s.name }

// Describe returns the section's schema, default and presentation.
func (s *Section[C]) Describe() SectionSchema {
	return SectionSchema{Key: s.name, Schema: s.schema, SectionInfo: s.Info, Default: s.def}
}

// Read returns the section of spec. Inside hooks and tools it is cheap, because the section
// was decoded when the agent was resolved.
func (s *Section[C]) Read(spec *AgentSpec) (C, error) {
	if v, ok := spec.decoded[s.name].(C); ok {
		return v, nil
	}
	v, err := s.decode(spec.Sections[s.name])
	if err != nil {
		var zero C
		return zero, err
	}
	return v.(C), nil
}

// Set stores value as the section of spec.
func (s *Section[C]) Set(spec *AgentSpec, value C) error {
	data, err := json.Marshal(value)
	if err != nil {
		return fmt.Errorf("section %q: %w", s.name, err)
	}
	if spec.Sections == nil {
		spec.Sections = map[string]json.RawMessage{}
	}
	spec.Sections[s.name] = data
	delete(spec.decoded, s.name)
	return nil
}

func (s *Section[C]) decode(raw json.RawMessage) (any, error) {
	var v C
	if err := json.Unmarshal(s.def, &v); err != nil {
		return nil, fmt.Errorf("section %q: default value: %w", s.name, err)
	}
	if raw = bytes.TrimSpace(raw); len(raw) == 0 || bytes.Equal(raw, []byte("null")) {
		return v, nil
	}
	if err := strict.Unmarshal(raw, &v); err != nil {
		return nil, fmt.Errorf("section %q: %w", s.name, err)
	}
	if c, ok := any(&v).(interface{ Validate() error }); ok {
		if err := c.Validate(); err != nil {
			return nil, fmt.Errorf("section %q: %w", s.name, err)
		}
	}
	return v, nil
}
