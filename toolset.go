package awaken

import (
	"cmp"
	"errors"
	"fmt"
	"maps"
	"slices"

	"github.com/awaken-go/awaken/internal/schema"
	"github.com/awaken-go/awaken/llm"
)

// toolSet is the tools of a registry. It is immutable, and shared by agents that are
// offered all of it.
type toolSet struct {
	byID      map[string]*toolEntry
	ids       []string   // sorted
	offered   []llm.Tool // in that order
	delegates bool       // one of them is a Delegator
}

func newToolSet(byID map[string]*toolEntry) *toolSet {
	s := &toolSet{byID: byID, ids: slices.Sorted(maps.Keys(byID)), offered: make([]llm.Tool, 0, len(byID))}
	for _, id := range s.ids {
		e := byID[id]
		s.offered = append(s.offered, e.desc)
		if _, ok := e.tool.(Delegator); ok {
			s.delegates = true
		}
	}
	return s
}

// toolEntry is a tool with everything that can be worked out once.
type toolEntry struct {
	tool   Tool
	spec   ToolSpec
	schema *schema.Schema
	desc   llm.Tool
	own    string // the description that the tool gives itself
}

func newToolEntry(t Tool) (*toolEntry, error) {
	spec := t.Spec()
	if spec.ID == "" {
		return nil, errors.New("id is empty")
	}
	switch spec.Effect {
	case Effectful, Idempotent, ReadOnly:
	default:
		return nil, fmt.Errorf("effect is %q, want idempotent, read_only or nothing", spec.Effect)
	}
	if spec.InDoubt != DoubtTell && spec.InDoubt != DoubtSuspend {
		return nil, fmt.Errorf("in_doubt is %q, want suspend or nothing", spec.InDoubt)
	}
	params, err := schema.Clean(spec.Parameters)
	if err != nil {
		return nil, fmt.Errorf("parameters: %w", err)
	}
	// Models are shown the cleaned schema, but arguments are held to the tool's own,
	// which may allow null, or follow another draft.
	s, err := schema.Compile(spec.Parameters)
	if err != nil {
		if s, err = schema.Compile(params); err != nil {
			return nil, fmt.Errorf("parameters: %w", err)
		}
	}
	return &toolEntry{tool: t, spec: spec, schema: s, own: spec.Description,
		desc: llm.Tool{Name: spec.ID, Description: spec.Description, Parameters: params}}, nil
}

// described returns the tool with another description, or with its own if that is "".
func (e *toolEntry) described(as string) *toolEntry {
	if as = cmp.Or(as, e.own); as == e.spec.Description {
		return e
	}
	c := *e
	c.spec.Description, c.desc.Description = as, as
	return &c
}
