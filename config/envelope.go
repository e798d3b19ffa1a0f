package config

import (
	"encoding/json"
	"fmt"

	"github.com/awaken-go/awaken/internal/strict"
)

// DecodeRecord reads a record: its envelope, or the bare document of an earlier version,
// which somebody wrote. It does not look into the document and the overrides.
func DecodeRecord(data []byte) (*Record, error) {
	tree, err := parse(data)
	if err != nil {
		return nil, fmt.Errorf("record: %w", err)
	}
	_, spec := tree["spec"].(map[string]any)
	_, meta := tree["meta"].(map[string]any)
	if !spec && !meta {
		return &Record{Spec: encode(tree), Meta: Meta{Source: Source{Kind: User}, Revision: 1}}, nil
	}
	var r Record
	if err := strict.Unmarshal(data, &r); err != nil {
		return nil, fmt.Errorf("record: %w", err)
	}
	if !spec || !meta {
		return nil, fmt.Errorf("record: found one of spec and meta, want both")
	}
	if k := r.Meta.Source.Kind; k != User && k != Builtin {
		return nil, fmt.Errorf("record: meta.source.kind is %q, want user or builtin", k)
	}
	return &r, nil
}

// ValidateRecord checks the document and the overrides of a record. Both are sealed.
func ValidateRecord(key Key, r *Record) error {
	if err := CheckID(key); err != nil {
		return err
	}
	k := kinds[key.Namespace]
	tree, err := parse(r.Spec)
	if err != nil {
		return invalid(key, err)
	}
	if id := text(tree, "id"); id != key.ID {
		return invalid(key, fmt.Errorf("id is %q, want %q", id, key.ID))
	}
	if _, err := k.read(k.mask(tree)); err != nil {
		return invalid(key, err)
	}
	patch, err := parseOptional(r.Meta.UserOverrides)
	if err != nil {
		return invalid(key, fmt.Errorf("overrides: %w", err))
	}
	if len(patch) == 0 {
		return nil
	}
	if k.patch == nil {
		return fmt.Errorf("%w: %s have none", ErrNotOverridable, key.Namespace)
	}
	if _, err := k.checkPatch(k.mask(patch)); err != nil {
		return invalid(key, fmt.Errorf("overrides: %w", err))
	}
	if _, err := k.read(k.mask(k.patch.over(tree, patch))); err != nil {
		return invalid(key, fmt.Errorf("with its overrides: %w", err))
	}
	return nil
}

// Effective returns the document of a record with its overrides put over it, sealed.
func (r *Record) Effective(key Key) (json.RawMessage, error) {
	return Effective(key, r.Spec, r.Meta.UserOverrides)
}

// Visible returns the effective documents of the records that are not hidden, sealed.
func Visible(ns Namespace, records []Stored) ([]Document, error) {
	var out []Document
	for _, r := range records {
		if r.Meta.Hidden {
			continue
		}
		key := Key{ns, r.ID}
		doc, err := r.Effective(key)
		if err != nil {
			return nil, err
		}
		out = append(out, Document{Key: key, Spec: doc})
	}
	return out, nil
}
