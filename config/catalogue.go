package config

import (
	"context"
	"encoding/json"
	"fmt"

	"github.com/awaken-go/awaken"
)

// publications is the part of a [Store] that a catalogue reads.
type publications interface {
	Publication(ctx context.Context, number int64) (*Publication, error)
	Documents(ctx context.Context, hashes ...string) (map[string]json.RawMessage, error)
}

// catalogue knows what each version consists of, and makes versions that can run beside the
// live one.
type catalogue struct {
	store    publications
	compiler *compiler
}

// entries returns every document of a version.
func (c *catalogue) entries(ctx context.Context, number int64) (map[Key]Entry, error) {
	var chain []*Publication
	var manifest []Entry
	for n := number; n != 0; {
		pub, err := c.store.Publication(ctx, n)
		if err != nil {
			return nil, fmt.Errorf("version %d: %w", n, err)
		}
		if pub.Manifest != nil {
			manifest = pub.Manifest
			break
		}
		chain = append(chain, pub)
		n = pub.Base
	}
	out, _ := flatten(chain)
	for _, e := range manifest {
		if _, newer := out[e.Key]; !newer {
			out[e.Key] = e
		}
	}
	for key, e := range out {
		if e.Hash == "" {
			delete(out, key)
		}
	}
	return out, nil
}

// difference returns how the documents of a version differ from those of a state, and how
// many entries the version is from its last manifest. It goes back from the version to the
// one of the state, or if it is not made from that to a manifest.
func (c *catalogue) difference(ctx context.Context, s *state, number int64) (map[Key]*document, int, error) {
	var chain []*Publication
	for n := number; n != s.head.Live; {
		if n == 0 {
			return c.compare(ctx, s, chain, nil)
		}
		pub, err := c.store.Publication(ctx, n)
		if err != nil {
			return nil, 0, fmt.Errorf("publication %d: %w", n, err)
		}
		chain = append(chain, pub)
		if pub.Manifest != nil {
			return c.compare(ctx, s, chain[:len(chain)-1], pub.Manifest)
		}
		n = pub.Base
	}
	entries, count := flatten(chain)
	docs, err := c.documents(ctx, s, entries)
	return docs, s.since() + count, err
}

// compare returns how a manifest, with what a chain of publications changed, newest first,
// differs from the documents of a state.
func (c *catalogue) compare(ctx context.Context, s *state, chain []*Publication, manifest []Entry) (map[Key]*document, int, error) {
	entries, count := flatten(chain)
	for _, e := range manifest {
		if _, ok := entries[e.Key]; !ok {
			entries[e.Key] = e
		}
	}
	for key, doc := range s.docs() {
		if e, ok := entries[key]; !ok {
			entries[key] = Entry{Key: key}
		} else if e.Hash == doc.Hash {
			delete(entries, key)
		}
	}
	docs, err := c.documents(ctx, s, entries)
	return docs, count, err
}

// flatten returns what a chain of publications, newest first, changed, and in how many
// entries.
func flatten(chain []*Publication) (map[Key]Entry, int) {
	entries, count := map[Key]Entry{}, 0
	for _, pub := range chain {
		count += len(pub.Entries)
		for _, e := range pub.Entries {
			if _, newer := entries[e.Key]; !newer {
				entries[e.Key] = e
			}
		}
	}
	return entries, count
}

// documents returns the documents of entries; nil for those that are gone. Those that a
// state has are not read again.
func (c *catalogue) documents(ctx context.Context, s *state, entries map[Key]Entry) (map[Key]*document, error) {
	out := make(map[Key]*document, len(entries))
	var hashes []string
	for key, e := range entries {
		if old := s.doc(key); e.Hash == "" {
			out[key] = nil
		} else if old == nil || old.Hash != e.Hash {
			hashes = append(hashes, e.Hash)
		}
	}
	raws, err := c.store.Documents(ctx, hashes...)
	if err != nil {
		return nil, err
	}
	for key, e := range entries {
		if e.Hash == "" {
			continue
		}
		text, ok := raws[e.Hash]
		if old := s.doc(key); old != nil && old.Hash == e.Hash {
			text, ok = old.raw, true
		}
		if !ok {
			return nil, fmt.Errorf("document %s of %s: %w", e.Hash, key, awaken.ErrNotFound)
		}
		out[key] = newDocument(key, text, e.Revision)
	}
	return out, nil
}

// public returns why a version cannot be made live, or nil: a preview is for whoever made it.
func (c *catalogue) public(ctx context.Context, head Head, number int64) error {
	if number < 1 || number > head.Last {
		return fmt.Errorf("version %d: %w", number, awaken.ErrNotFound)
	}
	pub, err := c.store.Publication(ctx, number)
	if err != nil {
		return fmt.Errorf("version %d: %w", number, err)
	}
	if pub.Kind == "preview" {
		return fmt.Errorf("%w: version %d is a preview: save and publish its agent instead", awaken.ErrInvalid, number)
	}
	return nil
}

// variant compiles another version beside the live one of a state. The caller holds the
// lock.
func (c *catalogue) variant(ctx context.Context, s *state, number int64, sec *secrets) (*compiled, error) {
	changes, since, err := c.difference(ctx, s, number)
	if err != nil {
		return nil, err
	}
	return c.variantOf(ctx, s, number, changes, since, sec)
}

func (c *catalogue) variantOf(ctx context.Context, s *state, number int64, changes map[Key]*document, since int, sec *secrets) (*compiled, error) {
	v, err := c.compiler.compile(ctx, candidate{base: s.live, number: number, since: since, changes: overlay(s.behind, changes), secrets: sec, lazy: true})
	if err != nil {
		return nil, fmt.Errorf("version %d: %w", number, err)
	}
	return v, nil
}
