package config

import (
	"context"
	"encoding/json"
	"fmt"
	"maps"

	"github.com/awaken-go/awaken"
)

// publications is the part of a [Store] that a catalogue reads.
type publications interface {
	Publication(ctx context.Context, number int64) (*Publication, error)
	Documents(ctx context.Context, hashes ...string) (map[string]json.RawMessage, error)
}

// catalogue reconstructs the documents of versions, and compiles versions beside the live
// one.
type catalogue struct {
	store    publications
	compiler *compiler
}

// entries returns every document of a version.
func (c *catalogue) entries(ctx context.Context, number int64) (map[Key]Entry, error) {
	entries, _, _, err := c.history(ctx, number, 0)
	if err != nil {
		return nil, err
	}
	maps.DeleteFunc(entries, func(_ Key, e Entry) bool { return e.Hash == "" })
	return entries, nil
}

// history walks from a version back along Base until it reaches the version until or one
// with a manifest. It returns the latest entry of each document on the way, and how many
// entries there were. If whole is set, it did not reach until, and the entries are all
// documents.
func (c *catalogue) history(ctx context.Context, number, until int64) (entries map[Key]Entry, count int, whole bool, err error) {
	entries = map[Key]Entry{}
	add := func(older []Entry) {
		for _, e := range older {
			if _, newer := entries[e.Key]; !newer {
				entries[e.Key] = e
			}
		}
	}
	for n := number; n != until; {
		if n == 0 {
			return entries, count, true, nil
		}
		pub, err := c.store.Publication(ctx, n)
		if err != nil {
			return nil, 0, false, fmt.Errorf("version %d: %w", n, err)
		}
		if pub.Manifest != nil {
			add(pub.Manifest)
			return entries, count, true, nil
		}
		add(pub.Entries)
		count += len(pub.Entries)
		n = pub.Base
	}
	return entries, count, false, nil
}

// difference returns how the documents of a version differ from those of a state, and how
// many entries separate the version from its last manifest.
func (c *catalogue) difference(ctx context.Context, s *state, number int64) (map[Key]*document, int, error) {
	entries, count, whole, err := c.history(ctx, number, s.head.Live)
	if err != nil {
		return nil, 0, err
	}
	if !whole {
		docs, err := c.documents(ctx, s, entries)
		return docs, s.since() + count, err
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

// documents returns the documents of entries, nil for deleted ones. It does not read
// documents that the state has.
func (c *catalogue) documents(ctx context.Context, s *state, entries map[Key]Entry) (map[Key]*document, error) {
	out := make(map[Key]*document, len(entries))
	var hashes []string
	for key, e := range entries {
		switch old := s.doc(key); {
		case e.Hash == "":
			out[key] = nil
		case old.hash() == e.Hash:
			out[key] = newDocument(key, old.raw, e.Revision)
		default:
			hashes = append(hashes, e.Hash)
		}
	}
	raws, err := c.store.Documents(ctx, hashes...)
	if err != nil {
		return nil, err
	}
	for key, e := range entries {
		if _, done := out[key]; done {
			continue
		}
		raw, ok := raws[e.Hash]
		if !ok {
			return nil, fmt.Errorf("document %s of %s: %w", e.Hash, key, awaken.ErrNotFound)
		}
		out[key] = newDocument(key, raw, e.Revision)
	}
	return out, nil
}

// public returns why a version cannot be made live, or nil. A preview belongs to the caller
// that made it.
func (c *catalogue) public(ctx context.Context, head Head, number int64) error {
	if number < 1 || number > head.Last && number < FirstPreview {
		return fmt.Errorf("version %d: %w", number, awaken.ErrNotFound)
	}
	pub, err := c.store.Publication(ctx, number)
	if err != nil {
		return fmt.Errorf("version %d: %w", number, err)
	}
	if number >= FirstPreview || pub.Kind == previewKind {
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
