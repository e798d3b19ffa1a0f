package config

import (
	"context"
	"encoding/json"
	"fmt"
	"slices"

	"github.com/awaken-go/awaken"
)

// Difference is a document that changed, as clients see it. Before or After is nil if the
// document did not or does not exist.
type Difference struct {
	Key           Key
	Before, After json.RawMessage
}

// Applied is the result of [Manager.Apply].
type Applied struct {
	Differences []Difference
	// Warnings are about the given documents, changed or not: a rule that names no tool, a model without a price.
	Warnings []awaken.Diagnostic
}

// Apply writes many documents in one publication, and only those that differ. With prune,
// it also deletes the user documents that are not among them and clears the overrides of
// builtin ones. It returns what it did or, if dry, what it would do. A builtin document
// stays builtin if overrides can express the difference.
func (m *Manager) Apply(ctx context.Context, docs []Document, prune, dry bool, by Actor) (*Applied, error) {
	given := map[Key]bool{}
	for _, d := range docs {
		if d.Key.Namespace != Tools {
			if err := m.code.writable(d.Key); err != nil {
				return nil, err
			}
		}
		if given[d.Key] {
			return nil, fmt.Errorf("%w: %s is given twice", awaken.ErrInvalid, d.Key)
		}
		given[d.Key] = true
	}
	var a *applying
	p, err := m.publisher.write(ctx, intent{by: by, kind: "publish", note: "apply", resource: "apply", dry: dry}, func(ctx context.Context, p *plan) error {
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
	out := &Applied{Differences: a.done}
	for _, d := range p.next.live.reg.Diagnostics() {
		if d.Severity == awaken.Warning && given[keyOf(d)] {
			out.Warnings = append(out.Warnings, d)
		}
	}
	return out, nil
}

// applying is one call of Apply.
type applying struct {
	p       *plan
	records *records
	done    []Difference
}

// set makes a document the record's and live.
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
			return p.live(d.Key, old) // the record may have been a draft
		}
		rec = &Record{Spec: old.Spec, Meta: Meta{Source: old.Meta.Source, UserOverrides: old.Meta.UserOverrides}}
	}
	if d.Key.Namespace == Tools && len(rec.Meta.UserOverrides) == 0 && old == nil {
		return nil // the tool is as it is in code
	}
	p.write(d.Key, rec, old)
	was, is := effective(d.Key, old), effective(d.Key, rec)
	p.log(verb(old), d.Key, was, is)
	if err := p.publish(d.Key, rec); err != nil {
		return err
	}
	return a.differ(d.Key, was, is)
}

// prune removes the user documents and overrides that are not among the given ones.
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
