package config

import (
	"bytes"
	"context"
)

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
			spec, err := Redact(ns, raw(key, &s.Record))
			if err != nil {
				return nil, err
			}
			out = append(out, Document{key, bytes.Clone(spec)})
		}
	}
	return out, nil
}
