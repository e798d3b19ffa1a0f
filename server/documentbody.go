package server

import "encoding/json"

// RawDocument is a config document as a body. Its namespace determines what it may contain.
type RawDocument json.RawMessage

// Documents of one namespace, and what overrides take, in the OpenAPI document.
type (
	AgentDocument json.RawMessage
	SkillDocument json.RawMessage
	ToolDocument  json.RawMessage
	PatchDocument json.RawMessage
)

// UnmarshalJSON keeps the document byte for byte.
func (d *RawDocument) UnmarshalJSON(data []byte) error {
	*d = append((*d)[:0], data...)
	return nil
}

// MarshalJSON returns the document byte for byte.
func (d RawDocument) MarshalJSON() ([]byte, error) { return d, nil }
