package config

import (
	"encoding/json"
	"maps"
	"slices"

	"github.com/awaken-go/awaken"
	"github.com/awaken-go/awaken/registry"
)

// document is a document of a version, in memory: sealed as it is stored, and decoded
// with its secrets put in when it is compiled. It never changes.
type document struct {
	Entry
	raw   json.RawMessage // sealed and canonical; its hash is the entry's
	needs []Key
	// secrets are the references of the secrets in it.
	secrets []string
	servers map[string]string // where they are sent, by reference
}

func newDocument(key Key, raw json.RawMessage, revision int64) *document {
	d := &document{Entry: Entry{Key: key, Hash: hashOf(raw), Revision: revision}, raw: raw}
	k, tree := kinds[key.Namespace], map[string]any(nil)
	if tree, _ = parse(raw); k == nil || tree == nil {
		return d
	}
	d.secrets = references(tree)
	if k.to != nil {
		d.servers = k.servers(tree)
	}
	if k.needs != nil {
		d.needs = k.needs(tree)
	}
	return d
}

// text is the sealed document; nil if there is none.
func (d *document) text() json.RawMessage {
	if d == nil {
		return nil
	}
	return d.raw
}

// hash is the hash of the document; "" if there is none.
func (d *document) hash() string {
	if d == nil {
		return ""
	}
	return d.Hash
}

// compiled is a version that can run. It never changes.
type compiled struct {
	number int64
	since  int // entries since the last publication with a manifest
	docs   map[Key]*document
	// lost are documents of the version that could not be compiled here. They are part of
	// what is published, and not of what runs.
	lost      map[Key]*document
	reg       *registry.Registry
	providers map[string]*provider
	servers   map[string]*server
	tools     map[string][]string // of each server
	skills    map[string]*SkillSpec
	// problems are what is wrong with it in spite of which it runs: what was wrong before
	// it was made, and what is not the fault of a document.
	problems []awaken.Diagnostic
	later    []func() // to be done when it is used
}

// begin does what has to be done before a version is used for the first time.
func (v *compiled) begin() {
	for _, f := range v.later {
		f()
	}
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

func (v *compiled) manifest() []Entry {
	all := v.all()
	out := make([]Entry, 0, len(all))
	for _, doc := range all {
		out = append(out, doc.Entry)
	}
	sortEntries(out)
	return out
}

// diagnose returns the servers that do not answer.
func (v *compiled) diagnose() (out []awaken.Diagnostic) {
	for _, id := range slices.Sorted(maps.Keys(v.servers)) {
		s := v.servers[id]
		if s.err != nil {
			continue // it is among the problems
		}
		if st := s.conn.Status(); !st.Connected {
			out = append(out, warning(s.doc.Key, "mcp_unavailable", "it is not connected: %s", st.LastError))
		}
	}
	return out
}
