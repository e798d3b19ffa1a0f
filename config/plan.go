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
	resource string // the audit log's name for the write if it is refused; "" does not log it
	// lenient accepts providers that cannot be opened: an old version may need secrets that
	// are gone.
	lenient bool
	dry     bool // validate and compile, but store nothing
	ungated bool // publish whatever the agents' gates say
	// confined makes every agent of a preview ask before it makes an effect.
	confined bool
}

// plan is a write in preparation: its changes, and the state that they are based on.
type plan struct {
	intent
	store recordReader
	vault *Vault // nil means that secrets are refused
	audit *AuditLog
	tools *toolbox
	at    time.Time
	now   *state

	records []RecordChange
	secrets []SecretChange
	docs    map[Key]*document // documents that go live; nil deletes
	events  []*AuditEvent
	// head returns the new head, given the new publication (or nil). If head is nil, the
	// new publication goes live.
	head func(*Publication) *Head
	// aside publishes without going live; moved makes an existing version live.
	aside  bool
	moved  int64
	canary *compiled // compiled canary that the plan begins

	made   *Publication // set when the plan is carried out
	next   *state
	passed []GateVerdict // of gates that let the plan through, with evidence
}

// documents returns the documents that the plan publishes, by hash.
func (p *plan) documents() map[string]json.RawMessage {
	out := make(map[string]json.RawMessage, len(p.docs))
	for _, doc := range p.docs {
		if doc != nil {
			out[doc.Hash] = doc.raw
		}
	}
	return out
}

// doc returns a document as it is live or, if the plan changes it, will be.
func (p *plan) doc(key Key) *document {
	if doc, ok := p.docs[key]; ok {
		return doc
	}
	return p.now.doc(key)
}

// record returns a stored record, or nil if there is none.
func (p *plan) record(ctx context.Context, key Key) (*Record, error) {
	rec, err := p.store.Record(ctx, key)
	if errors.Is(err, awaken.ErrNotFound) {
		return nil, nil
	}
	return rec, err
}

// expect returns the record that a write changes, nil if there is none, if it meets the
// condition.
func (p *plan) expect(ctx context.Context, key Key, c Condition) (*Record, error) {
	rec, err := p.record(ctx, key)
	switch {
	case err != nil:
		return nil, err
	case c.Absent && rec != nil:
		return nil, fmt.Errorf("%s: %w", key, ErrExists)
	case c.Present && rec == nil:
		return nil, fmt.Errorf("%s: %w: expected an existing record, found none", key, ErrStale)
	case c.Revision != 0 && rec == nil:
		return nil, fmt.Errorf("%s: %w: expected %d, found none", key, ErrStale, c.Revision)
	case c.Revision != 0 && rec.Meta.Revision != c.Revision:
		return nil, fmt.Errorf("%s: %w: expected %d, found %d", key, ErrStale, c.Revision, rec.Meta.Revision)
	}
	return rec, nil
}

// write replaces a record. old may be nil.
func (p *plan) write(key Key, rec, old *Record) {
	at := p.at.UnixMilli()
	rec.Meta.Revision, rec.Meta.CreatedAt, rec.Meta.UpdatedAt, rec.Meta.UpdatedBy = 1, at, at, p.by.String()
	c := RecordChange{Key: key, Record: rec}
	if old != nil {
		rec.Meta.Revision, rec.Meta.CreatedAt = old.Meta.Revision+1, old.Meta.CreatedAt
		c.Expect = old.Meta.Revision
	}
	p.records = append(p.records, c)
}

// erase deletes a record.
func (p *plan) erase(key Key, old *Record) {
	p.records = append(p.records, RecordChange{Key: key, Expect: old.Meta.Revision})
}

// hide keeps a record but takes its document out of publications.
func (p *plan) hide(key Key, old *Record) {
	next := *old
	next.Meta.Hidden = true
	p.write(key, &next, old)
}

// publish makes a record's document live and deletes the secrets that nothing refers to any
// more.
func (p *plan) publish(key Key, rec *Record) error {
	if err := p.live(key, rec); err != nil {
		return err
	}
	p.forget(key, rec)
	return nil
}

// live makes a record's document live, or removes it from the live ones if it is hidden.
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

// touches reports whether the plan changes a secret of the document.
func (p *plan) touches(doc *document) bool {
	return slices.ContainsFunc(p.secrets, func(c SecretChange) bool { return slices.Contains(doc.secrets, c.Ref) })
}

// gone removes a document from the live ones.
func (p *plan) gone(key Key) {
	if p.doc(key) != nil {
		p.docs[key] = nil
	} else {
		delete(p.docs, key)
	}
}

// event adds an audit event.
func (p *plan) event(action, resource string) *AuditEvent {
	e := p.audit.event(p.by, action, resource)
	p.events = append(p.events, e)
	return e
}

// log adds an audit event about a document. before and after are sealed.
func (p *plan) log(action string, key Key, before, after json.RawMessage) *AuditEvent {
	e := p.event(action, key.String())
	e.Time, e.Before, e.After = p.at.Truncate(time.Microsecond), before, after
	return e
}

// seal seals a document that replaces a record's, and adds its new secrets to the plan.
func (p *plan) seal(key Key, spec json.RawMessage, old *Record) (json.RawMessage, error) {
	sealed, err := seal(key, spec, effective(key, old))
	if err != nil {
		return nil, err
	}
	return sealed.Doc, p.keep(key, sealed)
}

// keep adds those secrets to the plan whose value changed, or what they are bound to.
func (p *plan) keep(key Key, sealed *sealed) error {
	doc := newDocument(key, sealed.Doc, 0)
	for _, ref := range slices.Sorted(maps.Keys(sealed.Secrets)) {
		value, old, bound := sealed.Secrets[ref], p.now.secrets.sealed[ref], doc.bound[ref]
		if now, err := p.now.secrets.value(ref); err == nil && now == value && p.isBound(key, ref, old, bound) {
			continue
		}
		if tree, err := parse(sealed.Doc); err == nil && kinds[key.Namespace].unbound != nil {
			if why := kinds[key.Namespace].unbound(tree); why != "" {
				return invalid(key, errors.New(why))
			}
		}
		if p.vault == nil {
			return fmt.Errorf("%w: %s contains a secret, but this server has no key to encrypt it: set secrets.key_file or secrets.key", awaken.ErrInvalid, key)
		}
		s := p.vault.Encrypt(ref, value)
		s.Revision, s.UpdatedAt, s.Server = max(old.Revision, p.at.UnixMilli())+1, p.at.UnixMilli(), bound.server
		s.Bound = bound.text()
		p.secrets = append(p.secrets, SecretChange{Ref: ref, Secret: &s})
	}
	return nil
}

// forget deletes the secrets of a document that neither the record (which may be nil) nor
// the live version nor the canary refers to.
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

// put replaces a record, which may be nil, by a user's document.
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
	rec.Meta.Replaced = p.replaced(key, old)
	if live := p.doc(key); live != nil && p.touches(live) {
		return nil, fmt.Errorf("%w: %s: a draft cannot change a secret that is in use, because secrets have no versions: write it without draft", awaken.ErrInvalid, key)
	}
	return rec, nil
}

// replaced returns the builtin record that a draft in place of old, which may be nil, has to remember; nil if there is none.
func (p *plan) replaced(key Key, old *Record) *Replaced {
	switch {
	case old == nil || old.Meta.Hidden:
		return nil
	case old.Meta.Source.Kind == Builtin:
		return &Replaced{old.Meta.Source, string(old.Spec), string(old.Meta.UserOverrides)}
	case hashOf(effective(key, old)) != p.doc(key).hash(): // a draft itself
		return old.Meta.Replaced
	}
	return nil
}

// verb returns the audit log's name for a write.
func verb(old *Record) string {
	if old == nil {
		return "create"
	}
	return "update"
}

// remove deletes a record (which may be nil), its document and its secrets.
func (p *plan) remove(key Key, old *Record) {
	if old != nil {
		p.erase(key, old)
	}
	p.log("delete", key, effective(key, old), nil)
	p.gone(key)
	p.forget(key, nil)
}

// adopt makes documents live and updates their records. A record with an unpublished draft
// is replaced only if drafts is set.
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

// become returns a record, in place of old (which may be nil), whose effective document is
// target (sealed). A builtin record stays builtin if overrides can express the difference;
// otherwise it becomes a user's. become returns nil if nothing changes.
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
