package registry

import (
	"cmp"
	"errors"
	"fmt"
	"maps"
	"slices"

	"github.com/awaken-go/awaken"
	"github.com/awaken-go/awaken/internal/schema"
	"github.com/awaken-go/awaken/llm"
)

// toolSet is the tools of a registry. It is immutable, and shared by agents that are
// offered all of it.
type toolSet struct {
	byID      map[string]*Tool
	ids       []string   // sorted
	offered   []llm.Tool // in that order
	delegates bool       // one of them is a Delegator
}

func newToolSet(byID map[string]*Tool) *toolSet {
	s := &toolSet{byID: byID, ids: slices.Sorted(maps.Keys(byID)), offered: make([]llm.Tool, 0, len(byID))}
	for _, id := range s.ids {
		e := byID[id]
		s.offered = append(s.offered, e.Desc)
		if _, ok := e.Tool.(awaken.Delegator); ok {
			s.delegates = true
		}
	}
	return s
}

// Tool is a tool with everything that can be worked out once.
type Tool struct {
	Tool   awaken.Tool
	Spec   awaken.ToolSpec
	Schema *schema.Schema
	Desc   llm.Tool
	own    string // the description that the tool gives itself
}

func NewTool(t awaken.Tool) (*Tool, error) {
	spec := t.Spec()
	if spec.ID == "" {
		return nil, errors.New("id is empty")
	}
	switch spec.Effect {
	case awaken.Effectful, awaken.Idempotent, awaken.ReadOnly:
	default:
		return nil, fmt.Errorf("effect is %q, want idempotent, read_only or nothing", spec.Effect)
	}
	if spec.InDoubt != awaken.DoubtTell && spec.InDoubt != awaken.DoubtSuspend {
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
	return &Tool{Tool: t, Spec: spec, Schema: s, own: spec.Description,
		Desc: llm.Tool{Name: spec.ID, Description: spec.Description, Parameters: params}}, nil
}

// described returns the tool with another description, or with its own if that is "".
func (e *Tool) described(as string) *Tool {
	if as = cmp.Or(as, e.own); as == e.Spec.Description {
		return e
	}
	c := *e
	c.Spec.Description, c.Desc.Description = as, as
	return &c
}
