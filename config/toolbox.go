package config

import (
	"slices"
	"strings"

	"github.com/awaken-go/awaken"
)

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

func toolRecord(t awaken.ToolSpec) *Record {
	spec := ToolSpec{ID: t.ID, Name: t.Name, Description: t.Description, Category: t.Category, ParametersSchema: t.Parameters}
	if spec.Name == "" {
		spec.Name = t.ID
	}
	tree := map[string]any{"id": spec.ID, "name": spec.Name, "description": spec.Description}
	return &Record{Spec: encode(tree), Meta: Meta{Source: Source{Kind: Builtin}}}
}
