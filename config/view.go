package config

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"iter"
	"slices"

	"github.com/awaken-go/awaken"
)

// View is a record as clients see it: the effective document, without its secrets.
type View struct {
	Key  Key
	Spec json.RawMessage
	Meta Meta
	// Live says whether the document is live. A draft is not.
	Live bool
	// Published says whether a document of this key is live, be it this one or the one that a draft is to replace. Base is
	// the revision of the record that it was made from.
	Published bool
	Base      int64
	// Diagnostics holds warnings about the document: a missing secret, a rule that names no tool.
	Diagnostics []awaken.Diagnostic
}

// Get returns a record. A tool that was never overridden is shown as it is in code.
func (m *Manager) Get(ctx context.Context, key Key) (*View, error) {
	if _, err := key.Namespace.kind(); err != nil {
		return nil, err
	}
	rec, err := m.o.Store.Record(ctx, key)
	if errors.Is(err, awaken.ErrNotFound) && key.Namespace == Tools {
		if rec = m.tools.record(key.ID); rec != nil {
			err = nil
		}
	}
	if err != nil {
		return nil, fmt.Errorf("%s: %w", key, err)
	}
	return newView(key, rec, m.current.now())
}

// Live returns the document that is live, or awaken.ErrNotFound. Of its metadata, only the revision of the record that it
// was made from is known.
func (m *Manager) Live(key Key) (*View, error) {
	if _, err := key.Namespace.kind(); err != nil {
		return nil, err
	}
	now := m.current.now()
	rec := &Record{}
	if doc := now.doc(key); doc != nil {
		rec.Spec, rec.Meta.Revision = doc.raw, doc.Revision
	} else if tool := m.tools.record(key.ID); tool != nil && key.Namespace == Tools {
		rec = tool
	} else {
		return nil, fmt.Errorf("live document of %s: %w", key, awaken.ErrNotFound)
	}
	return newView(key, rec, now)
}

// List returns records of a namespace by id: at most limit (0 means 100) after the first
// offset ones whose ids come after the given one. For tools, it lists all tools.
func (m *Manager) List(ctx context.Context, ns Namespace, after string, offset, limit int) ([]*View, error) {
	if _, err := ns.kind(); err != nil {
		return nil, err
	}
	if limit <= 0 {
		limit = 100
	}
	var out []*View
	for v, err := range m.views(ctx, ns, after, offset) {
		if err != nil {
			return nil, err
		}
		if out = append(out, v); len(out) == limit {
			break
		}
	}
	return out, nil
}

// All iterates over the records of a namespace by id. It ends at the first error.
func (m *Manager) All(ctx context.Context, ns Namespace) iter.Seq2[*View, error] {
	return m.views(ctx, ns, "", 0)
}

// views iterates over the records of a namespace after an id, without the first skip ones.
func (m *Manager) views(ctx context.Context, ns Namespace, after string, skip int) iter.Seq2[*View, error] {
	return func(yield func(*View, error) bool) {
		now := m.current.now()
		for s, err := range m.records.list(ctx, ns, after) {
			if err != nil {
				yield(nil, err)
				return
			}
			if skip--; skip >= 0 {
				continue
			}
			v, err := newView(Key{ns, s.ID}, &s.Record, now)
			if !yield(v, err) || err != nil {
				return
			}
		}
	}
}

// Export returns the documents that users wrote, and the builtin ones with overrides; if
// all is set, every document. They are effective documents without secrets.
func (m *Manager) Export(ctx context.Context, all bool) ([]Document, error) {
	var out []Document
	for _, ns := range Namespaces {
		for s, err := range m.records.stored(ctx, ns) {
			if err != nil {
				return nil, err
			}
			if s.Meta.Hidden || !all && s.Meta.Source.Kind != User && len(s.Meta.UserOverrides) == 0 {
				continue
			}
			key := Key{ns, s.ID}
			spec, err := redact(ns, effective(key, &s.Record))
			if err != nil {
				return nil, err
			}
			out = append(out, Document{key, spec})
		}
	}
	return out, nil
}

// newView returns a record as clients see it, compared with the live version.
func newView(key Key, rec *Record, now *state) (*View, error) {
	doc, err := rec.document(key)
	if err != nil {
		return nil, fmt.Errorf("%s: %w", key, err)
	}
	v := &View{Key: key, Meta: rec.Meta}
	v.Meta.Replaced = nil
	if v.Spec, err = redact(key.Namespace, doc.raw); err != nil {
		return nil, fmt.Errorf("%s: %w", key, err)
	}
	if v.Spec, err = imply(key, v.Spec, now); err != nil {
		return nil, fmt.Errorf("%s: %w", key, err)
	}
	if len(rec.Meta.UserOverrides) > 0 {
		if v.Meta.UserOverrides, err = redactPatch(key.Namespace, rec.Meta.UserOverrides); err != nil {
			return nil, fmt.Errorf("%s: %w", key, err)
		}
	}
	live := now.doc(key)
	v.Live = !rec.Meta.Hidden && (live != nil && live.Hash == doc.Hash || key.Namespace == Tools && rec.Meta.Revision == 0)
	if live != nil {
		v.Published, v.Base = true, live.Revision
	} else {
		v.Published = key.Namespace == Tools && v.Live
	}
	for _, ref := range now.secrets.missing(doc) {
		v.Diagnostics = append(v.Diagnostics, warning(key, "secret_missing", "secret %s is missing: set it again", ref))
	}
	if v.Live && key.Namespace == Agents {
		v.Diagnostics = append(v.Diagnostics, now.live.reg.Warnings(key.ID)...)
	}
	return v, nil
}

// imply returns a document with what clients are shown and what is not stored: an agent's
// defaults, and the schema of a tool's arguments.
func imply(key Key, spec json.RawMessage, now *state) (json.RawMessage, error) {
	k := kinds[key.Namespace]
	if k.imply == nil && key.Namespace != Tools {
		return spec, nil
	}
	tree, err := parse(spec)
	if err != nil {
		return nil, err
	}
	if k.imply != nil {
		k.imply(tree)
	}
	if key.Namespace == Tools {
		tools := now.live.reg.Tools()
		if i := slices.IndexFunc(tools, func(t awaken.ToolSpec) bool { return t.ID == key.ID }); i >= 0 {
			if schema, err := parse(tools[i].Parameters); err == nil {
				tree["parameters_schema"] = schema
			}
		}
	}
	return encode(tree), nil
}
