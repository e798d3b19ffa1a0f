package config

import (
	"cmp"
	"encoding/json"
	"slices"
	"strings"

	"github.com/awaken-go/awaken"
)

// ToolSpec is a tool of the code, as documents see it. Only its description can be
// overridden.
type ToolSpec struct {
	// ID is what models and catalogues call the tool.
	ID string `json:"id"`
	// Name is for people.
	Name string `json:"name"`
	// Description is what models are told about the tool.
	Description string `json:"description"`
	// Category groups tools for people.
	Category string `json:"category,omitempty"`
	// ParametersSchema is the JSON Schema of the arguments.
	ParametersSchema json.RawMessage `json:"parameters_schema,omitempty"`
}

// maxToolDescription is how long a description that overrides one may be, in bytes.
const maxToolDescription = 4096

// Validate reports every mistake at once.
func (s *ToolSpec) Validate() error {
	var m mistakes
	m.id(s.ID)
	return m.join()
}

// toolbox is the tools that there are: those of the program and of the live servers.
type toolbox struct {
	own     []awaken.Tool // of the program
	current *current
}

// record returns a tool as the program, or a server, has it; nil if there is none.
func (b *toolbox) record(id string) *Record {
	for _, t := range b.all() {
		if t.ID == id {
			return toolRecord(t)
		}
	}
	return nil
}

// all returns the tools of the program and of the live servers, by id.
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

// base returns what overrides are put over in place of a record: the record, or if it is
// nil and that of a tool, the tool as it is. It is nil if there is neither.
func (b *toolbox) base(key Key, old *Record) *Record {
	if old == nil && key.Namespace == Tools {
		return b.record(key.ID)
	}
	return old
}

// toolRecord is a tool as a record that nobody has overridden.
func toolRecord(t awaken.ToolSpec) *Record {
	tree := map[string]any{"id": t.ID, "name": cmp.Or(t.Name, t.ID), "description": t.Description}
	return &Record{Spec: encode(tree), Meta: Meta{Source: Source{Kind: Builtin}}}
}
