package config

import (
	"cmp"
	"encoding/json"
	"slices"
	"strings"

	"github.com/awaken-go/awaken"
	"github.com/awaken-go/awaken/internal/check"
)

// ToolSpec describes a tool that is defined in code. Only its description can be
// overridden.
type ToolSpec struct {
	// ID is the name that models and tool catalogues use.
	ID string `json:"id"`
	// Name is shown to people.
	Name string `json:"name"`
	// Description tells models what the tool does and when to use it.
	Description string `json:"description"`
	// Category groups tools in user interfaces.
	Category string `json:"category,omitempty"`
	// ParametersSchema is the JSON Schema of the tool's arguments.
	ParametersSchema json.RawMessage `json:"parameters_schema,omitempty"`
}

// maxToolDescription limits the length of an overriding description, in bytes.
const maxToolDescription = 4096

// Validate reports every mistake at once.
func (s *ToolSpec) Validate() error {
	var m check.Problems
	m.NotBlank("id", s.ID)
	return m.Err()
}

// toolbox lists the tools of the program and of the live MCP servers.
type toolbox struct {
	own     []awaken.Tool // defined in code
	current *current
}

// record returns a tool without overrides as a record, or nil if there is no such tool.
func (b *toolbox) record(id string) *Record {
	for _, t := range b.all() {
		if t.ID == id {
			return toolRecord(t)
		}
	}
	return nil
}

// all returns the tools of the program and of the live MCP servers, by id.
func (b *toolbox) all() []awaken.ToolSpec {
	var out []awaken.ToolSpec
	for _, t := range b.own {
		out = append(out, t.Spec())
	}
	for _, s := range b.current.now().live.servers {
		if s.err == nil {
			for _, t := range s.conn.Tools() {
				out = append(out, t.Spec())
			}
		}
	}
	slices.SortFunc(out, func(a, b awaken.ToolSpec) int { return strings.Compare(a.ID, b.ID) })
	return out
}

// base returns the record that overrides apply to: old or, for a tool that was never
// overridden, the tool itself. It is nil if there is neither.
func (b *toolbox) base(key Key, old *Record) *Record {
	if old == nil && key.Namespace == Tools {
		return b.record(key.ID)
	}
	return old
}

// toolRecord returns the record of a tool without overrides.
func toolRecord(t awaken.ToolSpec) *Record {
	tree := map[string]any{"id": t.ID, "name": cmp.Or(t.Name, t.ID), "description": t.Description}
	return &Record{Spec: encode(tree), Meta: Meta{Source: Source{Kind: Builtin}}}
}
