package registry

import (
	"cmp"
	"encoding/json"
	"errors"
	"fmt"
	"iter"
	"maps"
	"slices"
	"sync"

	"github.com/awaken-go/awaken"
	"github.com/awaken-go/awaken/internal/schema"
	"github.com/awaken-go/awaken/internal/toolname"
	"github.com/awaken-go/awaken/llm"
)

// toolSet holds the tools of a registry. It is immutable. Agents that are offered all tools
// share it.
type toolSet struct {
	byID      map[string]*Tool
	ids       []string   // sorted
	offered   []llm.Tool // in the same order
	delegates bool       // one of them is a Delegator
	named     func() *toolname.Names
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
	s.named = sync.OnceValue(func() *toolname.Names { return toolname.New(namesOf(s.byID)) })
	return s
}

// names returns the names of the tools.
func (s *toolSet) names() *toolname.Names {
	if s.named == nil {
		return nil
	}
	return s.named()
}

// namesOf yields the names of tools.
func namesOf(tools map[string]*Tool) iter.Seq[toolname.Spec] {
	return func(yield func(toolname.Spec) bool) {
		for _, t := range tools {
			if !yield(toolname.Spec{ID: t.Spec.ID, Server: t.Spec.Server, Own: t.Spec.OwnName, Aliases: t.Spec.Aliases}) {
				return
			}
		}
	}
}

// Tool is a tool with its compiled schema and its description for models.
type Tool struct {
	Tool   awaken.Tool
	Spec   awaken.ToolSpec
	Schema *schema.Schema // checks arguments
	Desc   llm.Tool       // for the model
	own    string         // the tool's own description
}

// NewTool checks the spec of t and compiles its schema.
func NewTool(t awaken.Tool) (*Tool, error) {
	spec := t.Spec()
	if spec.ID == "" {
		return nil, errors.New("id is empty")
	}
	switch spec.Effect {
	case awaken.Effectful, awaken.Idempotent, awaken.ReadOnly:
	default:
		return nil, fmt.Errorf("effect is %q, want idempotent, read_only or empty", spec.Effect)
	}
	if spec.InDoubt != awaken.DoubtTell && spec.InDoubt != awaken.DoubtSuspend {
		return nil, fmt.Errorf("in_doubt is %q, want suspend or empty", spec.InDoubt)
	}
	params, err := schema.Clean(spec.Parameters)
	if err != nil {
		return nil, fmt.Errorf("parameters: %w", err)
	}
	// Models see the cleaned schema, but arguments are checked against the tool's own,
	// which may allow null or use another draft.
	s, err := schema.Compile(spec.Parameters)
	if err != nil {
		if s, err = schema.Compile(params); err != nil {
			return nil, fmt.Errorf("parameters: %w", err)
		}
	}
	return &Tool{Tool: t, Spec: spec, Schema: s, own: spec.Description,
		Desc: llm.Tool{Name: spec.ID, Description: spec.Description, Parameters: params}}, nil
}

// sameNames reports whether two tools have the same names.
func (e *Tool) sameNames(o *Tool) bool {
	a, b := &e.Spec, &o.Spec
	return a.Server == b.Server && a.OwnName == b.OwnName && slices.Equal(a.Aliases, b.Aliases)
}

// Egress returns where a call of the tool carries data to.
func (e *Tool) Egress(args json.RawMessage) (to awaken.Egress) {
	d, ok := e.Tool.(awaken.Destined)
	if !ok {
		return e.Spec.Egress
	}
	defer func() {
		if recover() != nil {
			to = awaken.Egress{} // it may reach any host
		}
	}()
	return d.Egress(args)
}

// described returns the tool with another description, or with its own if as is "".
func (e *Tool) described(as string) *Tool {
	if as = cmp.Or(as, e.own); as == e.Spec.Description {
		return e
	}
	c := *e
	c.Spec.Description, c.Desc.Description = as, as
	return &c
}
