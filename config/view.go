package config

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"iter"
	"slices"
	"strings"

	"github.com/awaken-go/awaken"
)

// View is a record for clients: the effective document, without its secrets.
type View struct {
	Key  Key
	Spec json.RawMessage
	Meta Meta
	// Live says that the document is part of what runs. A draft is not.
	Live bool
	// Diagnostics are warnings about the document: a secret that is gone.
	Diagnostics []awaken.Diagnostic
}

// Get returns a record. A tool that nobody has overridden has none, and is shown as the
// program has it.
func (m *Manager) Get(ctx context.Context, key Key) (*View, error) {
	if !key.Namespace.Known() {
		return nil, fmt.Errorf("namespace %q: %w", key.Namespace, awaken.ErrNotFound)
	}
	rec, err := m.o.Store.Record(ctx, key)
	if errors.Is(err, awaken.ErrNotFound) && key.Namespace == Tools {
		if rec = m.toolRecord(key.ID); rec != nil {
			err = nil
		}
	}
	if err != nil {
		return nil, fmt.Errorf("%s: %w", key, err)
	}
	return m.view(key, rec, m.now())
}

// List returns the records of a namespace by id. Of tools, it lists all that there are.
func (m *Manager) List(ctx context.Context, ns Namespace, offset, limit int) ([]*View, error) {
	if !ns.Known() {
		return nil, fmt.Errorf("namespace %q: %w", ns, awaken.ErrNotFound)
	}
	if limit <= 0 {
		limit = 100
	}
	var out []*View
	now := m.now()
	for s, err := range m.list(ctx, ns) {
		if err != nil {
			return nil, err
		}
		if offset > 0 {
			offset--
			continue
		}
		if len(out) == limit {
			break
		}
		v, err := m.view(Key{ns, s.ID}, &s.Record, now)
		if err != nil {
			return nil, err
		}
		out = append(out, v)
	}
	return out, nil
}

// All goes through the records of a namespace by id, until one cannot be read.
func (m *Manager) All(ctx context.Context, ns Namespace) iter.Seq2[*View, error] {
	return func(yield func(*View, error) bool) {
		now := m.now()
		for s, err := range m.list(ctx, ns) {
			if err != nil {
				yield(nil, err)
				return
			}
			v, err := m.view(Key{ns, s.ID}, &s.Record, now)
			if !yield(v, err) || err != nil {
				return
			}
		}
	}
}

// list goes through the records of a namespace, and the tools that have none.
func (m *Manager) list(ctx context.Context, ns Namespace) func(yield func(Stored, error) bool) {
	return func(yield func(Stored, error) bool) {
		if ns == Tools {
			m.listTools(ctx, yield)
			return
		}
		m.listRecords(ctx, ns, yield)
	}
}

func (m *Manager) listRecords(ctx context.Context, ns Namespace, yield func(Stored, error) bool) {
	const page = 256
	after := ""
	for {
		list, err := m.o.Store.Records(ctx, ns, after, page)
		if err != nil {
			yield(Stored{}, err)
			return
		}
		for _, s := range list {
			if !yield(s, nil) {
				return
			}
			after = s.ID
		}
		if len(list) < page {
			return
		}
	}
}

// view shows a record.
func (m *Manager) view(key Key, rec *Record, now *state) (*View, error) {
	doc, err := effective(key, rec)
	if err != nil {
		return nil, fmt.Errorf("%s: %w", key, err)
	}
	v := &View{Key: key, Meta: rec.Meta}
	if v.Spec, err = Redact(key.Namespace, doc.raw); err != nil {
		return nil, fmt.Errorf("%s: %w", key, err)
	}
	if len(rec.Meta.UserOverrides) > 0 {
		if v.Meta.UserOverrides, err = RedactPatch(key.Namespace, rec.Meta.UserOverrides); err != nil {
			return nil, fmt.Errorf("%s: %w", key, err)
		}
	}
	live := now.doc(key)
	v.Live = !rec.Meta.Hidden && (live != nil && live.Hash == doc.Hash || key.Namespace == Tools && rec.Meta.Revision == 0)
	for _, ref := range now.secrets.missing(doc) {
		v.Diagnostics = append(v.Diagnostics, warning(key, "secret_missing", "its secret %s is gone: set it again", ref))
	}
	return v, nil
}

// toolRecord returns a tool as the program, or a server, has it; nil if there is none.
func (m *Manager) toolRecord(id string) *Record {
	for _, t := range m.allTools() {
		if t.ID == id {
			return toolRecord(t)
		}
	}
	return nil
}

// allTools returns the tools of the program and of the live servers, by id.
func (m *Manager) allTools() []awaken.ToolSpec {
	var out []awaken.ToolSpec
	for _, t := range m.o.Code.Tools {
		out = append(out, t.Spec())
	}
	for _, s := range m.now().live.servers {
		if s.err == nil {
			for _, t := range s.conn.Tools() {
				out = append(out, t.Spec())
			}
		}
	}
	slices.SortFunc(out, func(a, b awaken.ToolSpec) int { return strings.Compare(a.ID, b.ID) })
	return out
}

func toolRecord(t awaken.ToolSpec) *Record {
	spec := ToolSpec{ID: t.ID, Name: t.Name, Description: t.Description, Category: t.Category, ParametersSchema: t.Parameters}
	if spec.Name == "" {
		spec.Name = t.ID
	}
	tree := map[string]any{"id": spec.ID, "name": spec.Name, "description": spec.Description}
	return &Record{Spec: encode(tree), Meta: Meta{Source: Source{Kind: Builtin}}}
}

// listTools goes through all tools. Those that are overridden have a record.
func (m *Manager) listTools(ctx context.Context, yield func(Stored, error) bool) {
	tools := m.allTools()
	more := true
	show := func(t awaken.ToolSpec) {
		more = more && yield(Stored{ID: t.ID, Record: *toolRecord(t)}, nil)
	}
	m.listRecords(ctx, Tools, func(s Stored, err error) bool {
		for err == nil && len(tools) > 0 && tools[0].ID <= s.ID {
			if tools[0].ID < s.ID {
				show(tools[0])
			}
			tools = tools[1:]
		}
		more = more && yield(s, err) && err == nil
		return more
	})
	for ; more && len(tools) > 0; tools = tools[1:] {
		show(tools[0])
	}
}
