package config

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"iter"
	"slices"

	"github.com/awaken-go/awaken"
)

// Drafts manages the records whose document is not live.
type Drafts struct {
	records   *records
	current   *current
	code      code
	audit     *AuditLog
	publisher *publisher
	rollout   *Rollout
}

// List returns the records whose document is not live.
func (d *Drafts) List(ctx context.Context) ([]*View, error) {
	var out []*View
	for v, err := range d.After(ctx, Key{}) {
		if err != nil {
			return nil, err
		}
		out = append(out, v)
	}
	return out, nil
}

// After iterates over the drafts after a key, by namespace, in the order of Namespaces, and id. The zero Key comes before
// all. It ends at the first error.
func (d *Drafts) After(ctx context.Context, after Key) iter.Seq2[*View, error] {
	return func(yield func(*View, error) bool) {
		now := d.current.now()
		for _, ns := range Namespaces[max(slices.Index(Namespaces, after.Namespace), 0):] {
			for s, err := range d.records.storedAfter(ctx, ns, after.ID) {
				var v *View
				if err == nil && !s.Meta.Hidden {
					v, err = newView(Key{ns, s.ID}, &s.Record, now)
				}
				if (err != nil || v != nil && !v.Live) && !yield(v, err) || err != nil {
					return
				}
			}
			after.ID = ""
		}
	}
}

// Discard discards a draft: the record becomes the live document again or, if nothing is live, is deleted. Secrets that only the draft had
// are deleted, too. awaken.ErrNotFound means that there is no draft.
func (d *Drafts) Discard(ctx context.Context, key Key, c Condition, by Actor) error {
	if _, err := key.Namespace.kind(); err != nil {
		return err
	}
	_, err := d.publisher.write(ctx, intent{by: by, resource: key.String()}, func(ctx context.Context, p *plan) error {
		old, err := p.expect(ctx, key, c)
		if err != nil {
			return err
		}
		live := p.now.doc(key)
		if old == nil || old.Meta.Hidden || hashOf(effective(key, old)) == live.hash() {
			return fmt.Errorf("draft of %s: %w", key, awaken.ErrNotFound)
		}
		p.log("discard", key, effective(key, old), live.text())
		if live == nil {
			p.erase(key, old)
			p.forget(key, nil)
			return nil
		}
		base := old
		if old.Meta.Replaced != nil {
			base = old.Meta.Replaced.record()
		}
		rec, err := p.become(key, base, live.raw)
		if err != nil {
			return err
		}
		if rec == nil { // what the draft replaced is what is live
			rec = &Record{Spec: base.Spec, Meta: Meta{Source: base.Meta.Source, UserOverrides: base.Meta.UserOverrides}}
		}
		p.write(key, rec, old)
		p.forget(key, rec)
		return nil
	})
	return err
}

// Publish makes drafts live; no keys means all of them. With a canary, they are live only
// for its share of the new threads.
func (d *Drafts) Publish(ctx context.Context, keys []Key, canary *Canary, note string, by Actor) (*Publication, error) {
	resource := "drafts"
	if len(keys) == 1 {
		resource = keys[0].String()
	}
	for _, key := range keys {
		if _, err := key.Namespace.kind(); err != nil {
			return nil, err
		}
	}
	if canary != nil {
		if err := canary.validate(); err != nil {
			return nil, err
		}
	}
	p, err := d.publisher.write(ctx, intent{by: by, kind: "publish", note: note, resource: resource}, func(ctx context.Context, p *plan) error {
		if err := d.stage(ctx, p, keys, canary == nil); err != nil {
			return err
		}
		if len(p.docs) == 0 {
			return fmt.Errorf("%w: nothing to publish: every document is live already", awaken.ErrInvalid)
		}
		if canary != nil {
			return d.rollout.begin(ctx, p, *canary)
		}
		return nil
	})
	if err != nil {
		return nil, err
	}
	return p.made, nil
}

// stage adds drafts to a plan; no keys means all of them. With forget, it deletes the secrets that they do not refer to any more.
func (d *Drafts) stage(ctx context.Context, p *plan, keys []Key, forget bool) error {
	if len(keys) == 0 {
		all, err := d.List(ctx)
		if err != nil {
			return err
		}
		for _, v := range all {
			keys = append(keys, v.Key)
		}
	}
	for _, key := range keys {
		rec, err := p.record(ctx, key)
		if err != nil {
			return err
		}
		if rec == nil {
			return fmt.Errorf("%s: %w", key, awaken.ErrNotFound)
		}
		before := p.doc(key).text()
		if err := p.live(key, rec); err != nil {
			return err
		}
		doc, changed := p.docs[key]
		if !changed {
			continue
		}
		p.log("publish", key, before, doc.text())
		if forget {
			p.forget(key, rec)
		}
	}
	return nil
}

// Preview publishes the live version with all drafts, without making it live: only runs that name the publication use it. An
// evaluation of the drafts has it, which makes no effects itself, so the agents are not confined.
func (d *Drafts) Preview(ctx context.Context, by Actor) (*Publication, error) {
	p, err := d.publisher.write(ctx, intent{by: by, kind: previewKind, note: "drafts"}, func(ctx context.Context, p *plan) error {
		if err := d.stage(ctx, p, nil, false); err != nil {
			return err
		}
		if len(p.docs) == 0 {
			return fmt.Errorf("%w: there is no draft", awaken.ErrInvalid)
		}
		p.aside, p.events = true, nil
		return nil
	})
	if err != nil {
		return nil, err
	}
	return p.made, nil
}

// ErrNotRestorable means that an audit event has no document of the record to restore.
var ErrNotRestorable = errors.New("event cannot be restored")

// Restore writes the document of an audit event as a draft. Secrets keep their current
// values; the view reports references to secrets that are gone. awaken.ErrNotFound means
// that there is no such event.
func (d *Drafts) Restore(ctx context.Context, key Key, eventID string, c Condition, by Actor) (*View, error) {
	if _, err := key.Namespace.kind(); err != nil {
		return nil, err
	}
	if d.code[key] && key.Namespace != Tools {
		return nil, fmt.Errorf("%s: %w: it is defined in code", key, ErrReadOnly)
	}
	target, err := d.restorable(ctx, key, eventID)
	if err != nil {
		return nil, err
	}
	return d.publisher.change(ctx, intent{by: by}, key, c, func(_ context.Context, p *plan, old *Record) (*Record, error) {
		rec, err := p.become(key, old, target)
		if err != nil || rec == nil {
			return old, err // the record has this document already
		}
		if rec.Meta.Source.Kind == User {
			rec.Meta.Replaced = p.replaced(key, old)
		}
		p.write(key, rec, old)
		p.log("restore", key, effective(key, old), target).RestoredFrom = eventID
		return rec, nil
	})
}

// restorable returns the document of an event, sealed and validated.
func (d *Drafts) restorable(ctx context.Context, key Key, eventID string) (json.RawMessage, error) {
	events, err := d.audit.List(ctx, AuditQuery{ID: eventID, Limit: 1})
	if err != nil {
		return nil, err
	}
	if eventID == "" || len(events) == 0 {
		return nil, fmt.Errorf("audit event %q: %w", eventID, awaken.ErrNotFound)
	}
	e := events[0]
	if e.Resource != key.String() {
		return nil, fmt.Errorf("%w: its resource is %s, want %s", ErrNotRestorable, e.Resource, key)
	}
	doc := e.After
	switch {
	case e.Action == "delete":
		doc = e.Before
	case !slices.Contains([]string{"create", "update", "publish", "restore", "rollback", "promote"}, e.Action):
		return nil, fmt.Errorf("%w: its action is %s, want one that writes or deletes a document", ErrNotRestorable, e.Action)
	}
	if len(doc) == 0 {
		return nil, fmt.Errorf("%w: the event removed the document", ErrNotRestorable)
	}
	// Passing the document as its own predecessor proves that its references are its own.
	sealed, err := seal(key, doc, doc)
	if err != nil {
		return nil, fmt.Errorf("%w: %w", ErrNotRestorable, err)
	}
	return sealed.Doc, nil
}
