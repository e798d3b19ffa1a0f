package config

import (
	"maps"
	"slices"

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

// since is how many entries head.Live is from the last manifest.
func (s *state) since() int {
	if s.behind != nil {
		return s.sinceHead
	}
	return s.live.since
}

// users returns what is live and needs a document, sorted.
func (s *state) users(key Key) []Key {
	var out []Key
	for k, doc := range s.docs() {
		if slices.Contains(doc.needs, key) {
			out = append(out, k)
		}
	}
	slices.SortFunc(out, compareKeys)
	return out
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
