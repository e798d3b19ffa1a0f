package config

import (
	"context"
	"fmt"
	"maps"
	"slices"
)

// Versions are the publications of a store.
type Versions struct {
	store interface {
		publications
		Head(ctx context.Context) (Head, error)
		Publications(ctx context.Context, before int64, limit int) ([]*Publication, error)
	}
	code      code
	catalogue *catalogue
	publisher *publisher
	previews  previews
}

// Head returns what is live.
func (v *Versions) Head(ctx context.Context) (Head, error) { return v.store.Head(ctx) }

// List lists publications, newest first. Get returns one with its manifest.
func (v *Versions) List(ctx context.Context, before int64, limit int) ([]*Publication, error) {
	return v.store.Publications(ctx, before, limit)
}

func (v *Versions) Get(ctx context.Context, number int64) (*Publication, error) {
	pub, err := v.store.Publication(ctx, number)
	if err != nil {
		return nil, fmt.Errorf("version %d: %w", number, err)
	}
	entries, err := v.catalogue.entries(ctx, number)
	if err != nil {
		return nil, err
	}
	pub.Manifest = slices.AppendSeq(make([]Entry, 0, len(entries)), maps.Values(entries))
	sortEntries(pub.Manifest)
	return pub, nil
}

// Documents returns the documents of a version as clients see them, by key.
func (v *Versions) Documents(ctx context.Context, number int64) ([]Document, error) {
	pub, err := v.Get(ctx, number)
	if err != nil {
		return nil, err
	}
	entries := map[Key]Entry{}
	for _, e := range pub.Manifest {
		entries[e.Key] = e
	}
	docs, err := v.catalogue.documents(ctx, &state{live: &compiled{}}, entries)
	if err != nil {
		return nil, err
	}
	out := make([]Document, 0, len(docs))
	for _, e := range pub.Manifest {
		spec, err := redact(e.Namespace, docs[e.Key].raw)
		if err != nil {
			return nil, err
		}
		out = append(out, Document{e.Key, spec})
	}
	return out, nil
}

// Rollback publishes the documents of an older version as a new one, and makes them what
// people edit. What is live already is not published again. Secrets are those of now; what
// refers to one that is gone is reported.
func (v *Versions) Rollback(ctx context.Context, number int64, by Actor) (*Publication, error) {
	note := fmt.Sprintf("rollback to version %d", number)
	p, err := v.publisher.write(ctx, intent{by: by, kind: "rollback", note: note, resource: fmt.Sprintf("versions/%d", number), lenient: true}, func(ctx context.Context, p *plan) error {
		if err := v.catalogue.public(ctx, p.now.head, number); err != nil {
			return err
		}
		changes, _, err := v.catalogue.difference(ctx, p.now, number)
		if err != nil {
			return err
		}
		return p.adopt(ctx, changes, "rollback", true)
	})
	if err != nil {
		return nil, err
	}
	if p.made == nil {
		return v.store.Publication(ctx, p.now.head.Live)
	}
	return p.made, nil
}
