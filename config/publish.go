package config

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"maps"
	"math/rand/v2"
	"slices"
	"strings"
	"time"

	"github.com/awaken-go/awaken"
)

// plan is a write in the making: what it changes, against the state that it was made for.
type plan struct {
	m        *Manager
	by       Actor
	at       time.Time
	now      *state
	kind     string // of the publication
	note     string
	resource string // what the audit log calls it if it is refused

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
	// lenient lets providers be live that cannot be made: an old version may need secrets
	// that are gone.
	lenient bool
	dry     bool

	made *Publication // what came of it
	next *state
}

// write makes a plan and carries it out. If something else was published meanwhile, it
// plans anew: fn has to look at everything again. A write that is refused is in the audit
// log.
func (m *Manager) write(ctx context.Context, p plan, fn func(context.Context, *plan) error) (*plan, error) {
	if err := m.lock(ctx); err != nil {
		return nil, err
	}
	defer m.unlock()
	if !p.dry {
		defer m.turn(ctx)()
	}
	for try, begun := 1, time.Now(); ; try++ {
		if err := m.follow(ctx); err != nil {
			return nil, err
		}
		next := p
		next.m, next.at, next.now, next.docs = m, m.o.Now(), m.now(), map[Key]*document{}
		err := fn(ctx, &next)
		if err == nil {
			atPlanned.Hit()
			err = m.carryOut(ctx, &next)
		}
		switch {
		case err == nil:
			return &next, nil
		case !errors.Is(err, ErrConflict) || next.dry:
			return nil, m.refuse(ctx, &next, err)
		case time.Since(begun) > m.o.Patience:
			return nil, fmt.Errorf("%w: gave up after %d attempts in %s", err, try, m.o.Patience)
		}
		// Whoever was faster may be in the middle of more.
		if err := sleep(ctx, rand.N(time.Duration(min(try, 16))*time.Millisecond)); err != nil {
			return nil, err
		}
	}
}

// turnTime is how long a write waits for its turn. Then it goes on without: whoever has it
// may be stuck, and the store finds out who is late.
const turnTime = 5 * time.Second

// turn waits for the turn of this process among others, and returns what ends it.
func (m *Manager) turn(ctx context.Context) (done func()) {
	t, ok := m.o.Store.(Turner)
	if !ok {
		return func() {}
	}
	wait, cancel := context.WithTimeout(ctx, turnTime)
	defer cancel()
	done, err := t.Turn(wait)
	if err != nil {
		m.o.Logger.Debug("a change of the configuration does not wait for others", "error", err)
		return func() {}
	}
	return done
}

func sleep(ctx context.Context, d time.Duration) error {
	t := time.NewTimer(d)
	defer t.Stop()
	select {
	case <-ctx.Done():
		return context.Cause(ctx)
	case <-t.C:
		return nil
	}
}

// refuse says in the audit log that a write was refused, and returns why. What the client
// could not know, that a record is another or is not there, is no mistake of the write.
func (m *Manager) refuse(ctx context.Context, p *plan, err error) error {
	if p.dry || p.resource == "" || ctx.Err() != nil || errors.Is(err, ErrStale) || errors.Is(err, ErrExists) || errors.Is(err, awaken.ErrNotFound) {
		return err
	}
	e := m.event(p.by, "apply_failed", p.resource)
	e.Error = err.Error()
	atRefused.Hit()
	if auditErr := m.o.Store.Apply(ctx, &Change{Audit: []*AuditEvent{e}}); auditErr != nil {
		m.o.Logger.Error("a refused change is not in the audit log", "resource", p.resource, "error", auditErr)
	}
	return err
}

// carryOut compiles what a plan makes live, makes it durable and swaps.
func (m *Manager) carryOut(ctx context.Context, p *plan) error {
	change := &Change{Records: p.records, Secrets: p.secrets, Audit: p.events}
	next := *p.now
	next.secrets = p.now.secrets.with(p.secrets)
	p.next = &next
	if len(p.docs) > 0 {
		pub, v, err := m.candidate(ctx, p, next.secrets)
		if err != nil {
			return err
		}
		m.servers.hold(v)
		defer m.servers.drop(v)
		for _, e := range p.events {
			e.Version = pub.Number
		}
		if p.moved == 0 {
			p.made, change.Publish, change.Documents = pub, pub, p.documents()
		}
		switch {
		case !p.aside:
			next.live, next.behind, next.troubles = v, nil, nil
			change.SetHead = &Head{Live: pub.Number, Canary: p.now.head.Canary}
		case p.head != nil:
			p.canary = v
		}
	}
	if p.canary != nil {
		next.canary = p.canary
	}
	if p.head != nil {
		change.SetHead = p.head(p.made)
	}
	if change.SetHead == nil && len(p.secrets) > 0 {
		change.SetHead = &Head{Live: p.now.head.Live, Canary: p.now.head.Canary} // others have to look
	}
	if change.Publish != nil || change.SetHead != nil {
		change.Head = &p.now.head
	}
	if p.dry || change.Head == nil && len(change.Records) == 0 {
		return nil
	}
	atCompiled.Hit()
	if err := m.apply(ctx, change); err != nil {
		return err
	}
	atApplied.Hit()
	var err error
	if next.head, err = change.Next(p.now.head); err != nil {
		return err // the store would have said so
	}
	m.settle(ctx, &next, p.now)
	atSwapped.Hit()
	return nil
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

// apply makes a change durable. If the connection breaks nobody knows whether it is, so it
// is made again: the store does not make it twice.
func (m *Manager) apply(ctx context.Context, c *Change) error {
	err := m.o.Store.Apply(ctx, c)
	if err == nil || errors.Is(err, ErrConflict) || errors.Is(err, awaken.ErrInvalid) || len(c.Audit) == 0 {
		return err
	}
	again, cancel := context.WithTimeout(context.WithoutCancel(ctx), 5*time.Second)
	defer cancel()
	if m.o.Store.Apply(again, c) == nil {
		return nil
	}
	return err
}

// candidate compiles the version that a plan makes.
func (m *Manager) candidate(ctx context.Context, p *plan, sec *secrets) (*Publication, *compiled, error) {
	now := p.now
	pub := &Publication{Number: now.head.Last + 1, Base: now.head.Live, Kind: p.kind, Note: p.note, Actor: p.by.String(), At: p.at.UnixMilli()}
	for _, key := range sortedKeys(p.docs) {
		e := Entry{Key: key}
		if doc := p.docs[key]; doc != nil {
			e = doc.Entry
		}
		pub.Entries = append(pub.Entries, e)
	}
	if p.moved != 0 {
		pub.Number = p.moved
	}
	c := candidate{base: now.live, number: pub.Number, since: now.since() + len(pub.Entries), changes: overlay(now.behind, p.docs), secrets: sec}
	v, err := m.compile(ctx, c)
	if err != nil && len(now.behind) > 0 && !brings(err, p.docs, now.troubles) {
		// What cannot be compiled was so before.
		c.tolerant = true
		v, err = m.compile(ctx, c)
	}
	if err != nil {
		if _, ok := errors.AsType[*awaken.ConfigError](err); ok {
			err = fmt.Errorf("%w: %w", awaken.ErrInvalid, err)
		}
		return nil, nil, err
	}
	if !p.lenient {
		var bad []awaken.Diagnostic
		problems := v.problems
		if c.tolerant { // nobody has looked at the agents yet
			problems = slices.Concat(problems, v.reg.Diagnostics())
		}
		for _, d := range problems {
			if p.docs[Key{Namespace(d.Namespace), d.ID}] != nil && d.Severity == awaken.SeverityError {
				bad = append(bad, d)
			}
		}
		if len(bad) > 0 {
			m.servers.close(slices.Collect(maps.Values(v.servers)))
			return nil, nil, refuse(bad)
		}
	}
	if p.moved == 0 && !p.aside && v.since >= max(64, len(v.docs)/8) {
		v.since = 0
		pub.Manifest = v.manifest()
	}
	return pub, v, nil
}

// brings reports whether a write brings a problem that was not there before.
func brings(err error, docs map[Key]*document, before []awaken.Diagnostic) bool {
	broken, ok := errors.AsType[*awaken.ConfigError](err)
	return !ok || slices.ContainsFunc(broken.Problems, func(d awaken.Diagnostic) bool {
		_, mine := docs[Key{Namespace(d.Namespace), d.ID}]
		return mine || !slices.Contains(before, d)
	})
}

func (v *compiled) manifest() []Entry {
	all := v.all()
	out := make([]Entry, 0, len(all))
	for _, doc := range all {
		out = append(out, doc.Entry)
	}
	slices.SortFunc(out, func(a, b Entry) int { return compareKeys(a.Key, b.Key) })
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
	rec, err := p.m.o.Store.Record(ctx, key)
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

// store writes a record over what was there, which may be nil.
func (p *plan) store(key Key, rec, old *Record) {
	at := p.at.UnixMilli()
	rec.Meta.Revision, rec.Meta.CreatedAt, rec.Meta.UpdatedAt = 1, at, at
	c := RecordChange{Key: key, Record: rec}
	if old != nil {
		rec.Meta.Revision, rec.Meta.CreatedAt = old.Meta.Revision+1, old.Meta.CreatedAt
		c.Expect = old.Meta.Revision
	}
	p.records = append(p.records, c)
}

// live makes a record's document live, or takes it away if it is hidden.
func (p *plan) live(key Key, rec *Record) error {
	doc, err := effective(key, rec)
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

// log adds an event. Before and after are sealed documents.
func (p *plan) log(action string, key Key, before, after json.RawMessage) *AuditEvent {
	e := p.m.event(p.by, action, key.String())
	e.Time, e.Before, e.After = p.at.Truncate(time.Microsecond), before, after
	p.events = append(p.events, e)
	return e
}

// effective returns the document that a record stands for.
func effective(key Key, rec *Record) (*document, error) {
	raw, err := rec.Effective(key)
	if err != nil {
		return nil, err
	}
	return newDocument(key, raw, rec.Meta.Revision), nil
}

// raw returns the effective document of a record, sealed; nil if there is none.
func raw(key Key, rec *Record) json.RawMessage {
	if rec == nil {
		return nil
	}
	doc, err := effective(key, rec)
	if err != nil {
		return rec.Spec
	}
	return doc.raw
}

// seal takes the secrets out of a document that replaces a record's, and adds those that
// are new to the plan.
func (p *plan) seal(key Key, spec json.RawMessage, old *Record) (json.RawMessage, error) {
	sealed, err := Seal(key, spec, raw(key, old))
	if err != nil {
		return nil, err
	}
	return sealed.Doc, p.keep(key, sealed)
}

// keep adds secrets to the plan, those that have another value than now.
func (p *plan) keep(key Key, sealed *Sealed) error {
	servers := serversOf(key.Namespace, sealed.Doc)
	for _, ref := range slices.Sorted(maps.Keys(sealed.Secrets)) {
		value, old := sealed.Secrets[ref], p.now.secrets.sealed[ref]
		if now, err := p.now.secrets.value(ref); err == nil && now == value && old.Server == servers[ref] {
			continue
		}
		if p.m.o.Vault == nil {
			return fmt.Errorf("%w: %s holds a secret, and this server has no key to encrypt it with: set secrets.key_file or secrets.key", awaken.ErrInvalid, key)
		}
		s := p.m.o.Vault.Encrypt(ref, value)
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
		needed = append(SecretsOf(rec.Spec), SecretsOf(rec.Meta.UserOverrides)...)
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
