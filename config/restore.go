package config

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"slices"

	"github.com/awaken-go/awaken"
)

// ErrNotRestorable means that an audit event holds no document of the record that it was to
// be restored for.
var ErrNotRestorable = errors.New("this event is not restorable")

// Restore writes what an audit event holds as a draft. Secrets stay what they are: where
// the event refers to one that is gone, the view says so. awaken.ErrNotFound means that
// there is no such event.
func (d *Drafts) Restore(ctx context.Context, key Key, eventID string, c Condition, by Actor) (*View, error) {
	if !key.Namespace.Known() {
		return nil, fmt.Errorf("namespace %q: %w", key.Namespace, awaken.ErrNotFound)
	}
	if d.code[key] && key.Namespace != Tools {
		return nil, fmt.Errorf("%s: %w: it is part of the program", key, ErrReadOnly)
	}
	target, err := d.restorable(ctx, key, eventID)
	if err != nil {
		return nil, err
	}
	var rec *Record
	p, err := d.publisher.write(ctx, intent{by: by, resource: key.String()}, func(ctx context.Context, p *plan) error {
		old, err := p.expect(ctx, key, c)
		if err != nil {
			return err
		}
		if rec, err = p.become(key, old, target); err != nil {
			return err
		}
		if rec == nil {
			rec = old // it is that already
			return nil
		}
		p.write(key, rec, old)
		p.log("restore", key, raw(key, old), target).RestoredFrom = eventID
		return nil
	})
	if err != nil {
		return nil, err
	}
	return newView(key, rec, p.next)
}

// restorable returns the document that an event holds, sealed and checked.
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
		return nil, fmt.Errorf("%w: it is about %s, not %s", ErrNotRestorable, e.Resource, key)
	}
	doc := e.After
	switch {
	case e.Action == "delete":
		doc = e.Before
	case !slices.Contains([]string{"create", "update", "publish", "restore", "rollback", "promote"}, e.Action):
		return nil, fmt.Errorf("%w: its action is %s, want one that wrote or removed a document", ErrNotRestorable, e.Action)
	}
	if len(doc) == 0 {
		return nil, fmt.Errorf("%w: it removed the document", ErrNotRestorable)
	}
	// The document is its own proof that the secrets that it refers to are its own.
	sealed, err := Seal(key, doc, doc)
	if err != nil {
		return nil, fmt.Errorf("%w: %w", ErrNotRestorable, err)
	}
	return sealed.Doc, nil
}
