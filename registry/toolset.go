package registry

import (
	"cmp"
	"crypto/sha256"
	"encoding/hex"
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
	lists     func() map[string]string // digests of the lists of MCP servers, by server
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
	s.lists = sync.OnceValue(s.digestLists)
	return s
}

// digestLists returns the digests of the lists of MCP servers, or nil if there are none.
func (s *toolSet) digestLists() map[string]string {
	var servers map[string][]awaken.ToolSpec
	for _, id := range s.ids {
		if spec := s.byID[id].Tool.Spec(); spec.Server != "" {
			if servers == nil {
				servers = map[string][]awaken.ToolSpec{}
			}
			servers[spec.Server] = append(servers[spec.Server], spec)
		}
	}
	var out map[string]string
	for server, specs := range servers {
		if out == nil {
			out = make(map[string]string, len(servers))
		}
		out[server] = ListDigest(specs)
	}
	return out
}

// listsOf returns the digests of the lists that have one of the tools. If there is none, it returns nil, or an empty map if a server is
// away.
func (s *toolSet) listsOf(tools map[string]*Tool, away bool) map[string]string {
	var out map[string]string
	if away {
		out = map[string]string{}
	}
	if s.lists == nil || len(s.lists()) == 0 {
		return out
	}
	for id, e := range tools {
		if server := e.Spec.Server; server != "" && s.byID[id] == e {
			if out == nil {
				out = map[string]string{}
			}
			out[server] = s.lists()[server]
		}
	}
	return out
}

// ListDigest returns a digest of the tools of an MCP server. Their order does not count.
func ListDigest(specs []awaken.ToolSpec) string {
	specs = slices.SortedFunc(slices.Values(specs), func(a, b awaken.ToolSpec) int { return cmp.Compare(a.ID, b.ID) })
	h := sha256.New()
	for i := range specs {
		s := &specs[i]
		data, err := json.Marshal(s)
		if err != nil {
			data = []byte(err.Error())
		}
		fmt.Fprintf(h, "%s %q %q %d %d\n", data, s.OwnName, s.Aliases, s.Timeout, s.MaxResultBytes)
	}
	return hex.EncodeToString(h.Sum(nil)[:8])
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
