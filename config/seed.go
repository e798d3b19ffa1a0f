package config

import (
	"bytes"
	"context"
	"encoding/json"
	"fmt"
	"log/slog"
	"maps"
	"slices"
)

// Document is a document and its name.
type Document struct {
	Key  Key
	Spec json.RawMessage
}

// seedActor is who seeds.
var seedActor = Actor{ID: "system:seed"}

// Seed writes builtin documents: those that are missing are made, those of another binary
// version or content replaced with their overrides kept, those that are not builtin any
// more removed, or hidden if they have overrides, unless something that is live needs them.
// What people wrote stays. It is one publication, and none if nothing is different.
func (m *Manager) Seed(ctx context.Context, binaryVersion string, docs []Document) error {
	for _, d := range docs {
		if err := m.code.writable(d.Key); err != nil {
			return err
		}
	}
	_, err := m.publisher.write(ctx, intent{by: seedActor, kind: "seed", note: "binary version " + binaryVersion, resource: "seed"}, func(ctx context.Context, p *plan) error {
		s := &seeding{p: p, records: m.records, log: m.o.Logger, version: binaryVersion, seeds: map[Key]bool{}, done: map[Key]string{}}
		for _, d := range docs {
			s.seeds[d.Key] = true
			if err := s.plant(ctx, d); err != nil {
				return fmt.Errorf("seed %s: %w", d.Key, err)
			}
		}
		if err := s.weed(ctx); err != nil {
			return err
		}
		if len(s.done) == 0 {
			return nil
		}
		p.event("seed_apply", "seed").After = encode(s.report())
		return nil
	})
	return err
}

// seeding is what Seed does.
type seeding struct {
	p       *plan
	records *records
	log     *slog.Logger
	version string
	seeds   map[Key]bool
	done    map[Key]string // what was done
}

// plant writes a builtin document, unless people own it.
func (s *seeding) plant(ctx context.Context, d Document) error {
	p := s.p
	old, err := p.record(ctx, d.Key)
	if err != nil {
		return err
	}
	var stored json.RawMessage
	if old != nil {
		if old.Meta.Source.Kind == User {
			return nil
		}
		stored = old.Spec
	}
	sealed, err := seal(d.Key, d.Spec, stored)
	if err != nil {
		return err
	}
	source := Source{Kind: Builtin, BinaryVersion: s.version}
	if old != nil && old.Meta.Source == source && bytes.Equal(old.Spec, sealed.Doc) {
		return nil
	}
	if err := p.keep(d.Key, sealed); err != nil {
		return err
	}
	rec := &Record{Spec: sealed.Doc, Meta: Meta{Source: source}}
	if old != nil {
		rec.Meta.UserOverrides = old.Meta.UserOverrides
	}
	p.write(d.Key, rec, old)
	s.done[d.Key] = verb(old) + "d"
	return p.publish(d.Key, rec)
}

// weed removes builtin documents that are not seeded any more. Those that something else
// needs stay.
func (s *seeding) weed(ctx context.Context) error {
	p := s.p
	orphans := map[Key]*Record{}
	for _, ns := range Namespaces {
		if ns == Tools {
			continue // their records are overrides
		}
		for r, err := range s.records.stored(ctx, ns) {
			if err != nil {
				return err
			}
			if key := (Key{ns, r.ID}); r.Meta.Source.Kind == Builtin && !s.seeds[key] && !r.Meta.Hidden {
				orphans[key] = &r.Record
			}
		}
	}
	docs := merged(p.now.docs(), p.docs)
	for again := true; again; {
		again = false
		for key, doc := range docs {
			if orphans[key] != nil {
				continue
			}
			for _, need := range doc.needs {
				if orphans[need] != nil {
					delete(orphans, need)
					s.log.Warn("a builtin document that is not part of the program any more stays, because another needs it", "document", need.String(), "needed_by", key.String())
					again = true
				}
			}
		}
	}
	for key, rec := range orphans {
		p.gone(key)
		if len(rec.Meta.UserOverrides) > 0 {
			p.hide(key, rec)
			s.done[key] = "hidden"
			continue
		}
		p.erase(key, rec)
		p.forget(key, nil)
		s.done[key] = "removed"
	}
	return nil
}

// report is what the audit log says: how many, and some of them.
func (s *seeding) report() map[string]any {
	counts, sample := map[string]int{"created": 0, "updated": 0, "removed": 0, "hidden": 0}, []string{}
	for i, key := range slices.SortedFunc(maps.Keys(s.done), compareKeys) {
		counts[s.done[key]]++
		if i < 20 {
			sample = append(sample, s.done[key]+" "+key.String())
		}
	}
	return map[string]any{"binary_version": s.version, "counts": counts, "sample": sample}
}
