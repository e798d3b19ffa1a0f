package config

import (
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
			if err := m.code.writable(d.Key); err != nil {
				return nil, err
			}
		}
		if given[d.Key] {
			return nil, fmt.Errorf("%w: %s is there twice", awaken.ErrInvalid, d.Key)
		}
		given[d.Key] = true
	}
	var a *applying
	_, err := m.publisher.write(ctx, intent{by: by, kind: "publish", note: "apply", resource: "apply", dry: dry}, func(ctx context.Context, p *plan) error {
		a = &applying{p: p, records: m.records}
		for _, d := range docs {
			if err := a.set(ctx, d); err != nil {
				return err
			}
		}
		if prune {
			return a.prune(ctx, given)
		}
		return nil
	})
	if err != nil {
		return nil, err
	}
	slices.SortFunc(a.done, func(a, b Difference) int { return compareKeys(a.Key, b.Key) })
	return a.done, nil
}

// applying is what Apply does.
type applying struct {
	p       *plan
	records *records
	done    []Difference
}

// set makes a document what a record holds and what is live.
func (a *applying) set(ctx context.Context, d Document) error {
	p := a.p
	old, err := p.record(ctx, d.Key)
	if err != nil {
		return err
	}
	if d.Key.Namespace == Tools && p.tools.record(d.Key.ID) == nil && old == nil {
		return fmt.Errorf("%s: %w", d.Key, awaken.ErrNotFound)
	}
	before := len(p.secrets)
	sealed, err := p.seal(d.Key, d.Spec, old)
	if err != nil {
		return err
	}
	rec, err := p.become(d.Key, old, sealed)
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
	p.write(d.Key, rec, old)
	was, is := effective(d.Key, old), effective(d.Key, rec)
	p.log(verb(old), d.Key, was, is)
	if err := p.publish(d.Key, rec); err != nil {
		return err
	}
	return a.differ(d.Key, was, is)
}

// prune removes what people wrote and is not given.
func (a *applying) prune(ctx context.Context, given map[Key]bool) error {
	for _, ns := range slices.Backward(Namespaces) {
		for s, err := range a.records.stored(ctx, ns) {
			if key := (Key{ns, s.ID}); err == nil && !given[key] {
				err = a.pruneOne(key, &s.Record)
			}
			if err != nil {
				return err
			}
		}
	}
	return nil
}

func (a *applying) pruneOne(key Key, old *Record) error {
	p := a.p
	before := effective(key, old)
	switch {
	case old.Meta.Source.Kind == User || key.Namespace == Tools:
		p.remove(key, old)
		return a.differ(key, before, nil)
	case len(old.Meta.UserOverrides) > 0 && !old.Meta.Hidden:
		rec := &Record{Spec: old.Spec, Meta: Meta{Source: old.Meta.Source}}
		p.write(key, rec, old)
		p.log("update", key, before, rec.Spec)
		if err := p.publish(key, rec); err != nil {
			return err
		}
		return a.differ(key, before, rec.Spec)
	}
	return nil
}

// differ adds a difference, as clients see it.
func (a *applying) differ(key Key, before, after json.RawMessage) error {
	d := Difference{key, before, after}
	for _, side := range []*json.RawMessage{&d.Before, &d.After} {
		if *side == nil {
			continue
		}
		var err error
		if *side, err = redact(key.Namespace, *side); err != nil {
			return err
		}
	}
	a.done = append(a.done, d)
	return nil
}
