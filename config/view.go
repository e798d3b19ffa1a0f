package config

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"iter"

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

// List returns the records of a namespace by id. Of tools, it lists all that there are.
func (m *Manager) List(ctx context.Context, ns Namespace, offset, limit int) ([]*View, error) {
	if _, err := ns.kind(); err != nil {
		return nil, err
	}
	if limit <= 0 {
		limit = 100
	}
	var out []*View
	now := m.current.now()
	for s, err := range m.records.list(ctx, ns) {
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
		v, err := newView(Key{ns, s.ID}, &s.Record, now)
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
		now := m.current.now()
		for s, err := range m.records.list(ctx, ns) {
			if err != nil {
				yield(nil, err)
				return
			}
			v, err := newView(Key{ns, s.ID}, &s.Record, now)
			if !yield(v, err) || err != nil {
				return
			}
		}
	}
}

// Export returns the documents that people wrote, and the builtin ones that they put
// overrides over; if all, every document. They are effective, and secrets are left out.
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

// newView shows a record beside what is live.
func newView(key Key, rec *Record, now *state) (*View, error) {
	doc, err := rec.document(key)
	if err != nil {
		return nil, fmt.Errorf("%s: %w", key, err)
	}
	v := &View{Key: key, Meta: rec.Meta}
	if v.Spec, err = redact(key.Namespace, doc.raw); err != nil {
		return nil, fmt.Errorf("%s: %w", key, err)
	}
	if len(rec.Meta.UserOverrides) > 0 {
		if v.Meta.UserOverrides, err = redactPatch(key.Namespace, rec.Meta.UserOverrides); err != nil {
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
