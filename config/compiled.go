package config

import (
	"encoding/json"
	"maps"
	"slices"
	"strings"
	"time"

	"github.com/awaken-go/awaken"
	"github.com/awaken-go/awaken/llm"
	"github.com/awaken-go/awaken/registry"
)

// document is an immutable document of a version. It is kept sealed, and is decoded with
// its secrets when it is compiled.
type document struct {
	Entry
	raw   json.RawMessage // sealed and canonical; Hash is its hash
	needs []Key
	// secrets lists the references of its secrets.
	secrets []string
	bound   map[string]binding // what each secret is bound to, by reference
	gate    json.RawMessage    // of an agent: what must be known before it is published; nil if nothing
	// evaluated says that an agent has sections that say only how it is evaluated.
	evaluated bool
}

func newDocument(key Key, raw json.RawMessage, revision int64) *document {
	d := &document{Entry: Entry{Key: key, Hash: hashOf(raw), Revision: revision}, raw: raw}
	k, tree := kinds[key.Namespace], map[string]any(nil)
	if tree, _ = parse(raw); k == nil || tree == nil {
		return d
	}
	d.secrets = references(tree)
	if len(d.secrets) > 0 {
		d.bound = k.bindings(tree)
	}
	if k.needs != nil {
		d.needs = k.needs(tree)
	}
	if sections, ok := tree["sections"].(map[string]any); ok && key.Namespace == Agents {
		if gate := sections[registry.EvalGateSection.Name()]; gate != nil {
			d.gate = encode(gate)
		}
		for _, name := range registry.EvaluationSections {
			d.evaluated = d.evaluated || sections[name] != nil
		}
	}
	return d
}

// text returns the sealed document, or nil if there is none.
func (d *document) text() json.RawMessage {
	if d == nil {
		return nil
	}
	return d.raw
}

// hash returns the document's hash, or "" if there is no document.
func (d *document) hash() string {
	if d == nil {
		return ""
	}
	return d.Hash
}

// compiled is an immutable version that can run.
type compiled struct {
	number int64
	since  int // entries since the last manifest
	docs   map[Key]*document
	// lost holds the documents of the version that do not compile in this process. They are
	// published but do not run.
	lost      map[Key]*document
	reg       *registry.Registry
	providers map[string]*provider
	servers   map[string]*server
	tools     map[string][]string // tool ids by server
	skills    map[string]*SkillSpec
	// problems are those that do not keep the version from running: inherited ones, and
	// ones that are not the fault of a document.
	problems   []awaken.Diagnostic
	onFirstUse []func() // runs when the version is first used
}

// begin prepares the version for its first use.
func (v *compiled) begin() {
	for _, f := range v.onFirstUse {
		f()
	}
}

// all returns the documents of the version, including those that do not compile here.
func (v *compiled) all() map[Key]*document { return merged(v.docs, v.lost) }

// merged returns docs with changes applied. It returns docs itself if there are none.
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

// diagnose reports MCP servers that are not connected, models that are held back because they
// fail in this process, and parameters that a model's provider has rejected.
func (v *compiled) diagnose() (out []awaken.Diagnostic) {
	for _, id := range slices.Sorted(maps.Keys(v.servers)) {
		s := v.servers[id]
		if s.err != nil {
			continue // reported in problems
		}
		if st := s.conn.Status(); !st.Connected {
			out = append(out, warning(s.doc.Key, "mcp_unavailable", "not connected: %s", st.LastError))
		}
	}
	for _, h := range v.reg.Health() {
		key, retry := Key{Models, h.ModelID}, time.UnixMilli(h.RetryAt).UTC().Format(time.RFC3339)
		switch h.State {
		case llm.BreakerQuarantined:
			out = append(out, warning(key, "model_quarantined", "provider %q rejects its key or the model (%s): pools leave it out; a request probes it from %s", h.ProviderID, h.LastError, retry))
		case llm.BreakerOpen, llm.BreakerHalfOpen:
			out = append(out, warning(key, "model_circuit_open", "requests are held back after %d consecutive failures, the last one of kind %s; a request probes it from %s", h.Failures, h.LastError, retry))
		}
		if rejected := v.reg.Knowledge(h.ModelID).Learned.Refused(); len(rejected) > 0 {
			out = append(out, warning(key, "model_parameter_rejected", "provider %q rejected %s: requests to the model omit it; set capabilities to say so in advance", h.ProviderID, strings.Join(rejected, ", ")))
		}
	}
	return out
}
