package config

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"maps"
	"slices"
	"strings"
	"time"

	"github.com/awaken-go/awaken"
)

// intent says what a write is for.
type intent struct {
	by       Actor
	kind     string // of the publication
	note     string
	resource string // what the audit log calls it if it is refused; "" keeps it out of the log
	// lenient lets providers be live that cannot be made: an old version may need secrets
	// that are gone.
	lenient bool
	dry     bool // checks and compiles, and stores nothing
}

// plan is a write in the making: what it changes, against the state that it was made for.
type plan struct {
	intent
	store recordReader
	vault *Vault // nil encrypts nothing
	audit *AuditLog
	tools *toolbox
	at    time.Time
	now   *state

	records []RecordChange
	secrets []SecretChange
	docs    map[Key]*document // those that are live after it; nil is one that is gone
	events  []*AuditEvent
	// head returns what is live after it, given what was published, if that is not just the
	// new publication.
	head func(*Publication) *Head
	// aside publishes without making it live, moved makes a version live that was published.
	aside  bool
	moved  int64
	canary *compiled // that the plan begins

	made *Publication // what came of it
	next *state
}

// documents returns the documents that a plan publishes, by hash.
func (p *plan) documents() map[string]json.RawMessage {
	out := make(map[string]json.RawMessage, len(p.docs))
	for _, doc := range p.docs {
		if doc != nil {
			out[doc.Hash] = doc.raw
		}
	}
	return out
}

// doc returns the document that is live, or will be.
func (p *plan) doc(key Key) *document {
	if doc, ok := p.docs[key]; ok {
		return doc
	}
	return p.now.doc(key)
}

// record returns a record as it is in the store; nil if there is none.
func (p *plan) record(ctx context.Context, key Key) (*Record, error) {
	rec, err := p.store.Record(ctx, key)
	if errors.Is(err, awaken.ErrNotFound) {
		return nil, nil
	}
	return rec, err
}

// expect returns a record that is as a write expects it; nil if there is none.
func (p *plan) expect(ctx context.Context, key Key, c Condition) (*Record, error) {
	rec, err := p.record(ctx, key)
	switch {
	case err != nil:
		return nil, err
	case c.Absent && rec != nil:
		return nil, fmt.Errorf("%s: %w", key, ErrExists)
	case c.Present && rec == nil:
		return nil, fmt.Errorf("%s: %w: expected any, there is none", key, ErrStale)
	case c.Revision != 0 && rec == nil:
		return nil, fmt.Errorf("%s: %w: expected %d, there is none", key, ErrStale, c.Revision)
	case c.Revision != 0 && rec.Meta.Revision != c.Revision:
		return nil, fmt.Errorf("%s: %w: expected %d, found %d", key, ErrStale, c.Revision, rec.Meta.Revision)
	}
	return rec, nil
}

// write puts a record over what was there, which may be nil.
func (p *plan) write(key Key, rec, old *Record) {
	at := p.at.UnixMilli()
	rec.Meta.Revision, rec.Meta.CreatedAt, rec.Meta.UpdatedAt = 1, at, at
	c := RecordChange{Key: key, Record: rec}
	if old != nil {
		rec.Meta.Revision, rec.Meta.CreatedAt = old.Meta.Revision+1, old.Meta.CreatedAt
		c.Expect = old.Meta.Revision
	}
	p.records = append(p.records, c)
}

// erase removes a record.
func (p *plan) erase(key Key, old *Record) {
	p.records = append(p.records, RecordChange{Key: key, Expect: old.Meta.Revision})
}

// hide keeps a record, and its document out of what is published.
func (p *plan) hide(key Key, old *Record) {
	next := *old
	next.Meta.Hidden = true
	p.write(key, &next, old)
}

// publish makes a record's document live, and forgets the secrets that nothing refers to any
// more.
func (p *plan) publish(key Key, rec *Record) error {
	if err := p.live(key, rec); err != nil {
		return err
	}
	p.forget(key, rec)
	return nil
}

// live makes a record's document live, or takes it away if it is hidden.
func (p *plan) live(key Key, rec *Record) error {
	doc, err := rec.document(key)
	if err != nil {
		return err
	}
	if rec.Meta.Hidden {
		p.gone(key)
		return nil
	}
	if old := p.doc(key); old != nil && old.Hash == doc.Hash && !p.touches(doc) {
		return nil
	}
	p.docs[key] = doc
	return nil
}

// touches reports whether a secret of the document is changed.
func (p *plan) touches(doc *document) bool {
	return slices.ContainsFunc(p.secrets, func(c SecretChange) bool { return slices.Contains(doc.secrets, c.Ref) })
}

// gone takes a document away.
func (p *plan) gone(key Key) {
	if p.doc(key) != nil {
		p.docs[key] = nil
	} else {
		delete(p.docs, key)
	}
}

// event adds an event.
func (p *plan) event(action, resource string) *AuditEvent {
	e := p.audit.event(p.by, action, resource)
	p.events = append(p.events, e)
	return e
}

// log adds an event about a document. Before and after are sealed.
func (p *plan) log(action string, key Key, before, after json.RawMessage) *AuditEvent {
	e := p.event(action, key.String())
	e.Time, e.Before, e.After = p.at.Truncate(time.Microsecond), before, after
	return e
}

// seal takes the secrets out of a document that replaces a record's, and adds those that
// are new to the plan.
func (p *plan) seal(key Key, spec json.RawMessage, old *Record) (json.RawMessage, error) {
	sealed, err := seal(key, spec, effective(key, old))
	if err != nil {
		return nil, err
	}
	return sealed.Doc, p.keep(key, sealed)
}

// keep adds secrets to the plan, those that have another value than now.
func (p *plan) keep(key Key, sealed *sealed) error {
	servers := newDocument(key, sealed.Doc, 0).servers
	for _, ref := range slices.Sorted(maps.Keys(sealed.Secrets)) {
		value, old := sealed.Secrets[ref], p.now.secrets.sealed[ref]
		if now, err := p.now.secrets.value(ref); err == nil && now == value && old.Server == servers[ref] {
			continue
		}
		if p.vault == nil {
			return fmt.Errorf("%w: %s holds a secret, and this server has no key to encrypt it with: set secrets.key_file or secrets.key", awaken.ErrInvalid, key)
		}
		s := p.vault.Encrypt(ref, value)
		s.Revision, s.UpdatedAt, s.Server = max(old.Revision, p.at.UnixMilli())+1, p.at.UnixMilli(), servers[ref]
		p.secrets = append(p.secrets, SecretChange{Ref: ref, Secret: &s})
	}
	return nil
}

// forget removes the secrets of a record that neither it, which may be nil, nor what is
// live, nor the canary refers to.
func (p *plan) forget(key Key, rec *Record) {
	var needed []string
	if rec != nil {
		needed = append(secretsOf(rec.Spec), secretsOf(rec.Meta.UserOverrides)...)
	}
	if doc := p.doc(key); doc != nil {
		needed = append(needed, doc.secrets...)
	}
	if c := p.now.canary; c != nil && c.docs[key] != nil {
		needed = append(needed, c.docs[key].secrets...)
	}
	prefix := key.String() + "#"
	for ref := range p.now.secrets.sealed {
		if strings.HasPrefix(ref, prefix) && !slices.Contains(needed, ref) && !slices.ContainsFunc(p.secrets, func(c SecretChange) bool { return c.Ref == ref }) {
			p.secrets = append(p.secrets, SecretChange{Ref: ref})
		}
	}
}

// put replaces a record, which may be nil, by one that people own.
func (p *plan) put(key Key, spec json.RawMessage, old *Record, draft bool) (*Record, error) {
	sealed, err := p.seal(key, spec, old)
	if err != nil {
		return nil, err
	}
	rec := &Record{Spec: sealed, Meta: Meta{Source: Source{Kind: User}}}
	if old != nil {
		rec.Meta.Hidden = old.Meta.Hidden && draft
	}
	p.write(key, rec, old)
	p.log(verb(old), key, effective(key, old), effective(key, rec))
	if !draft {
		return rec, p.publish(key, rec)
	}
	if live := p.doc(key); live != nil && p.touches(live) {
		return nil, fmt.Errorf("%w: %s: a draft cannot change a secret that is in use, because secrets have no versions: write it without draft", awaken.ErrInvalid, key)
	}
	return rec, nil
}

// verb is what the audit log calls a write over what was there.
func verb(old *Record) string {
	if old == nil {
		return "create"
	}
	return "update"
}

// remove takes a record away, which may be nil, and its document and secrets.
func (p *plan) remove(key Key, old *Record) {
	if old != nil {
		p.erase(key, old)
	}
	p.log("delete", key, effective(key, old), nil)
	p.gone(key)
	p.forget(key, nil)
}

// adopt makes documents live, and the records follow. A record with a draft that is not
// live is replaced only if drafts go too.
func (p *plan) adopt(ctx context.Context, changes map[Key]*document, action string, drafts bool) error {
	for _, key := range sortedKeys(changes) {
		doc := changes[key]
		rec, err := p.record(ctx, key)
		if err != nil {
			return err
		}
		before := effective(key, rec)
		isDraft := rec != nil && !rec.Meta.Hidden && hashOf(before) != p.now.doc(key).hash()
		p.docs[key] = doc
		p.log(action, key, before, doc.text())
		if isDraft && !drafts {
			continue
		}
		switch {
		case doc != nil:
			next, err := p.become(key, rec, doc.raw)
			if err != nil {
				return err
			}
			if next != nil {
				p.write(key, next, rec)
				own := *doc
				own.Revision = next.Meta.Revision
				p.docs[key] = &own
			}
		case rec == nil:
		case rec.Meta.Source.Kind == Builtin && key.Namespace != Tools:
			p.hide(key, rec)
		default:
			p.erase(key, rec)
		}
	}
	return nil
}

// become returns a record whose effective document is the target, which is sealed, in place
// of one that may be nil. A builtin record stays one if overrides can express the
// difference; otherwise people own it. It returns nil if the record is that already.
func (p *plan) become(key Key, old *Record, target json.RawMessage) (*Record, error) {
	base := p.tools.base(key, old)
	if old != nil && !old.Meta.Hidden && bytes.Equal(effective(key, old), target) {
		return nil, nil
	}
	if base != nil && base.Meta.Source.Kind == Builtin && key.Namespace.overridable() {
		patch, err := express(base.Spec, target)
		if err != nil {
			return nil, err
		}
		rec := &Record{Spec: base.Spec, Meta: Meta{Source: base.Meta.Source, UserOverrides: patch}}
		if rec.validate(key) == nil && bytes.Equal(effective(key, rec), target) {
			return rec, nil
		}
	}
	kind := User
	if key.Namespace == Tools {
		kind = Builtin
	}
	return &Record{Spec: target, Meta: Meta{Source: Source{Kind: kind}}}, nil
}
