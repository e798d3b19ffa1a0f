package config

import (
	"bytes"
	"context"
	"encoding/json"
	"fmt"
	"slices"

	"github.com/awaken-go/awaken"
)

// Difference is a document that is not the same. Before or After is nil if it is not there.
type Difference struct {
	Key           Key
	Before, After json.RawMessage
}

// Apply makes many documents what there is, in one publication: those that differ are
// written, and with prune those that people wrote and are not among them removed, and the
// overrides of builtin ones. It returns what it did, or with dry would do. A builtin
// document whose difference overrides can express stays builtin.
func (m *Manager) Apply(ctx context.Context, docs []Document, prune, dry bool, by Actor) ([]Difference, error) {
	given := map[Key]bool{}
	for _, d := range docs {
		if d.Key.Namespace != Tools {
			if err := m.writable(d.Key); err != nil {
				return nil, err
			}
		}
		if given[d.Key] {
			return nil, fmt.Errorf("%w: %s is there twice", awaken.ErrInvalid, d.Key)
		}
		given[d.Key] = true
	}
	var out []Difference
	_, err := m.write(ctx, plan{by: by, kind: "publish", note: "apply", resource: "apply", dry: dry}, func(ctx context.Context, p *plan) error {
		out = nil
		for _, d := range docs {
			if err := p.set(ctx, d, &out); err != nil {
				return err
			}
		}
		if prune {
			return p.prune(ctx, given, &out)
		}
		return nil
	})
	if err != nil {
		return nil, err
	}
	slices.SortFunc(out, func(a, b Difference) int { return compareKeys(a.Key, b.Key) })
	return out, nil
}

// set makes a document what a record holds and what is live.
func (p *plan) set(ctx context.Context, d Document, out *[]Difference) error {
	old, err := p.record(ctx, d.Key)
	if err != nil {
		return err
	}
	if d.Key.Namespace == Tools && p.m.toolRecord(d.Key.ID) == nil && old == nil {
		return fmt.Errorf("%s: %w", d.Key, awaken.ErrNotFound)
	}
	before := len(p.secrets)
	sealed, err := p.seal(d.Key, d.Spec, old)
	if err != nil {
		return err
	}
	rec, err := p.m.become(d.Key, old, sealed)
	if err != nil {
		return err
	}
	if rec == nil {
		if len(p.secrets) == before {
			return p.live(d.Key, old) // it may have been a draft
		}
		rec = &Record{Spec: old.Spec, Meta: Meta{Source: old.Meta.Source, UserOverrides: old.Meta.UserOverrides}}
	}
	if d.Key.Namespace == Tools && len(rec.Meta.UserOverrides) == 0 && old == nil {
		return nil // it is the program's
	}
	p.store(d.Key, rec, old)
	p.log(verb(old), d.Key, raw(d.Key, old), raw(d.Key, rec))
	if err := p.live(d.Key, rec); err != nil {
		return err
	}
	p.forget(d.Key, rec)
	return differ(out, d.Key, raw(d.Key, old), raw(d.Key, rec))
}

// prune removes what people wrote and is not given.
func (p *plan) prune(ctx context.Context, given map[Key]bool, out *[]Difference) error {
	for i := len(Namespaces) - 1; i >= 0; i-- {
		ns := Namespaces[i]
		var failed error
		p.m.listRecords(ctx, ns, func(s Stored, err error) bool {
			if key := (Key{ns, s.ID}); err == nil && !given[key] {
				err = p.pruneOne(key, &s.Record, out)
			}
			failed = err
			return err == nil
		})
		if failed != nil {
			return failed
		}
	}
	return nil
}

func (p *plan) pruneOne(key Key, old *Record, out *[]Difference) error {
	before := raw(key, old)
	switch {
	case old.Meta.Source.Kind == User || key.Namespace == Tools:
		p.remove(key, old)
		return differ(out, key, before, nil)
	case len(old.Meta.UserOverrides) > 0 && !old.Meta.Hidden:
		rec := &Record{Spec: old.Spec, Meta: Meta{Source: old.Meta.Source}}
		p.store(key, rec, old)
		p.log("update", key, before, rec.Spec)
		if err := p.live(key, rec); err != nil {
			return err
		}
		p.forget(key, rec)
		return differ(out, key, before, rec.Spec)
	}
	return nil
}

// differ adds a difference, as clients see it.
func differ(out *[]Difference, key Key, before, after json.RawMessage) error {
	d := Difference{Key: key}
	for _, side := range []struct {
		from json.RawMessage
		to   *json.RawMessage
	}{{before, &d.Before}, {after, &d.After}} {
		if side.from == nil {
			continue
		}
		var err error
		if *side.to, err = Redact(key.Namespace, side.from); err != nil {
			return err
		}
	}
	*out = append(*out, d)
	return nil
}

// Export returns the documents that people wrote, and the builtin ones that they put
// overrides over; if all, every document. They are effective, and secrets are left out.
func (m *Manager) Export(ctx context.Context, all bool) ([]Document, error) {
	var out []Document
	for _, ns := range Namespaces {
		var failed error
		m.listRecords(ctx, ns, func(s Stored, err error) bool {
			if err == nil && !s.Meta.Hidden && (all || s.Meta.Source.Kind == User || len(s.Meta.UserOverrides) > 0) {
				key := Key{ns, s.ID}
				var spec json.RawMessage
				if spec, err = Redact(ns, raw(key, &s.Record)); err == nil {
					out = append(out, Document{key, bytes.Clone(spec)})
				}
			}
			failed = err
			return err == nil
		})
		if failed != nil {
			return nil, failed
		}
	}
	return out, nil
}

// Rotate encrypts every secret with the vault's first key, and returns how many were
// encrypted with another one.
func (m *Manager) Rotate(ctx context.Context, by Actor) (int, error) {
	if m.o.Vault == nil {
		return 0, fmt.Errorf("%w: this server has no key for secrets: set secrets.key_file or secrets.key", awaken.ErrInvalid)
	}
	count := 0
	_, err := m.write(ctx, plan{by: by, resource: "secrets"}, func(_ context.Context, p *plan) error {
		count = 0
		for ref, sealed := range p.now.secrets.sealed {
			if sealed.KeyID == m.o.Vault.KeyID() {
				continue
			}
			value, err := p.now.secrets.value(ref)
			if err != nil {
				return err
			}
			next := m.o.Vault.Encrypt(ref, value)
			next.Revision, next.UpdatedAt, next.Server = sealed.Revision, sealed.UpdatedAt, sealed.Server
			p.secrets = append(p.secrets, SecretChange{Ref: ref, Secret: &next})
			count++
		}
		if count == 0 {
			return nil
		}
		e := m.event(by, "rotate", "secrets")
		e.After = encode(map[string]any{"secrets": count, "key_id": m.o.Vault.KeyID()})
		p.events = append(p.events, e)
		return nil
	})
	return count, err
}
