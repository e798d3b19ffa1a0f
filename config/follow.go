package config

import (
	"context"
	"errors"
	"fmt"
	"maps"

	"github.com/awaken-go/awaken"
)

// state is what a manager has of the store at one time. It never changes.
type state struct {
	head    Head
	secrets *secrets
	live    *compiled
	canary  *compiled // nil if there is none, or if it cannot be compiled here
	// canaryTroubles says why it cannot.
	canaryTroubles []awaken.Diagnostic
	// behind is how the documents of head.Live differ from those of live, which is the
	// last version that could be compiled here; nil if they are the same. Troubles says
	// what is wrong.
	behind    map[Key]*document
	sinceHead int
	troubles  []awaken.Diagnostic
}

// doc returns a document of head.Live.
func (s *state) doc(key Key) *document {
	if doc, ok := s.behind[key]; ok {
		return doc
	}
	if doc, ok := s.live.lost[key]; ok {
		return doc
	}
	return s.live.docs[key]
}

// docs returns all documents of head.Live.
func (s *state) docs() map[Key]*document {
	return merged(s.live.all(), s.behind)
}

// all returns the documents of a version, those included that do not run here.
func (v *compiled) all() map[Key]*document { return merged(v.docs, v.lost) }

// merged returns documents with changes. If there are none, that is docs.
func merged(docs, changes map[Key]*document) map[Key]*document {
	if len(changes) == 0 {
		return docs
	}
	out := maps.Clone(docs)
	for key, doc := range changes {
		if doc == nil {
			delete(out, key)
		} else {
			out[key] = doc
		}
	}
	return out
}

// since is how many entries head.Live is from the last manifest.
func (s *state) since() int {
	if s.behind != nil {
		return s.sinceHead
	}
	return s.live.since
}

// follow takes in what other processes have changed. What they published and cannot be
// compiled here is reported, and what was live before stays. The caller holds the lock.
func (m *Manager) follow(ctx context.Context) error {
	now := m.now()
	head, err := m.o.Store.Head(ctx)
	if err != nil {
		return err
	}
	if head.Revision == now.head.Revision && head.Last == now.head.Last {
		return nil
	}
	next := *now
	next.head = head
	if head.Revision != now.head.Revision {
		if next.secrets, err = m.loadSecrets(ctx); err != nil {
			return err
		}
	}
	if head.Live != now.head.Live {
		changes, since, err := m.difference(ctx, now, head.Live)
		if err != nil {
			return fmt.Errorf("version %d: %w", head.Live, err)
		}
		if err := m.take(ctx, &next, changes, since); err != nil {
			return err
		}
	}
	m.settle(ctx, &next, now)
	atFollowed.Hit()
	return nil
}

// take compiles the live version of a state from how it differs from the one before.
func (m *Manager) take(ctx context.Context, s *state, changes map[Key]*document, since int) error {
	all := overlay(s.behind, changes)
	v, err := m.compile(ctx, candidate{base: s.live, number: s.head.Live, since: since, changes: all, secrets: s.secrets})
	broken, ok := errors.AsType[*awaken.ConfigError](err)
	switch {
	case err == nil:
		s.live, s.behind, s.troubles = v, nil, nil
	case ok:
		s.behind, s.sinceHead = all, since
		s.troubles = append([]awaken.Diagnostic{{Code: "version_unavailable", Severity: awaken.SeverityError, Namespace: "versions", ID: fmt.Sprint(s.head.Live),
			Message: fmt.Sprintf("cannot be compiled here; version %d goes on", s.live.number)}}, broken.Problems...)
		m.o.Logger.Error("a version cannot be compiled here", "version", s.head.Live, "goes_on", s.live.number, "error", err)
	default:
		return err
	}
	return nil
}

// overlay returns changes after changes.
func overlay(first, second map[Key]*document) map[Key]*document {
	if len(first) == 0 {
		return second
	}
	out := maps.Clone(first)
	maps.Copy(out, second)
	return out
}

// settle makes a state what there is, and closes what only the old one needed. It is not
// called off: what is durable has to become what runs here, with its canary.
func (m *Manager) settle(ctx context.Context, next, old *state) {
	ctx = context.WithoutCancel(ctx)
	if next.secrets != old.secrets {
		m.pins.clear(&m.servers)
	}
	m.compileCanary(ctx, next, old)
	m.swap(ctx, next)
}

func (m *Manager) swap(ctx context.Context, next *state) {
	old := m.now()
	hold := func(s *state, f func(*compiled)) {
		if s == nil {
			return
		}
		f(s.live)
		if s.canary != nil {
			f(s.canary)
		}
	}
	hold(next, m.servers.hold)
	if old == nil || next.live != old.live {
		next.live.begin()
	}
	if c := next.canary; c != nil && (old == nil || c != old.canary) {
		c.begin()
	}
	m.state.Store(next)
	if old != nil && next.secrets != old.secrets {
		m.renew(ctx, next.secrets)
	}
	hold(old, m.servers.drop)
}

// difference returns how the documents of a version differ from those of a state, and how
// many entries the version is from its last manifest. It goes back from the version to the
// one of the state, or if it is not made from that to a manifest.
func (m *Manager) difference(ctx context.Context, s *state, number int64) (map[Key]*document, int, error) {
	var chain []*Publication
	for n := number; n != s.head.Live; {
		if n == 0 {
			return m.compare(ctx, s, chain, nil)
		}
		pub, err := m.o.Store.Publication(ctx, n)
		if err != nil {
			return nil, 0, fmt.Errorf("publication %d: %w", n, err)
		}
		chain = append(chain, pub)
		if pub.Manifest != nil {
			return m.compare(ctx, s, chain[:len(chain)-1], pub.Manifest)
		}
		n = pub.Base
	}
	entries, count := flatten(chain)
	docs, err := m.documents(ctx, s, entries)
	return docs, s.since() + count, err
}

// compare returns how a manifest, with what a chain of publications changed, newest first,
// differs from the documents of a state.
func (m *Manager) compare(ctx context.Context, s *state, chain []*Publication, manifest []Entry) (map[Key]*document, int, error) {
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
	docs, err := m.documents(ctx, s, entries)
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
func (m *Manager) documents(ctx context.Context, s *state, entries map[Key]Entry) (map[Key]*document, error) {
	out := make(map[Key]*document, len(entries))
	var hashes []string
	for key, e := range entries {
		if old := s.doc(key); e.Hash == "" {
			out[key] = nil
		} else if old == nil || old.Hash != e.Hash {
			hashes = append(hashes, e.Hash)
		}
	}
	raws, err := m.o.Store.Documents(ctx, hashes...)
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
