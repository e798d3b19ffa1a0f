package config

import (
	"cmp"
	"context"
	"encoding/json"
	"time"

	"github.com/awaken-go/awaken/internal/ids"
)

// Actor identifies who makes a change, for the audit log. The zero Actor is anonymous.
type Actor struct {
	ID        string // of the API key
	Label     string // of the API key, or what the client calls itself
	IP        string
	RequestID string
	// Override is why the gates of agents do not count for the change; "" means that they do. See [Gate].
	Override string
}

// String returns the actor as the audit log shows it: the id of the key and the label.
func (a Actor) String() string {
	name := cmp.Or(a.ID, "anonymous")
	if a.Label != "" {
		name += "/" + a.Label
	}
	return name
}

// Condition is a precondition of a write on the record that it changes. The zero Condition requires nothing.
type Condition struct {
	Revision int64 // the record's current revision, else ErrStale; 0 means any
	Absent   bool  // the record must not exist, else ErrExists
	Present  bool  // the record must exist, else ErrStale
}

// applier is the part of a [Store] that makes changes durable.
type applier interface {
	Apply(ctx context.Context, c *Change) error
}

// AuditLog lists who did what.
type AuditLog struct {
	store interface {
		applier
		Audit(ctx context.Context, q AuditQuery) ([]*AuditEvent, error)
	}
	clock func() time.Time
	newID func() string
}

// NewAuditLog returns the audit log in a store, for programs that do not open a [Manager].
func NewAuditLog(s Store) *AuditLog { return &AuditLog{store: s, clock: time.Now, newID: ids.New} }

// event returns an event with the current time.
func (l *AuditLog) event(by Actor, action, resource string) *AuditEvent {
	return &AuditEvent{ID: l.newID(), Time: l.clock().Truncate(time.Microsecond), Actor: by.String(), Action: action, Resource: resource, IP: by.IP, RequestID: by.RequestID}
}

// List returns the events that q selects, newest first.
func (l *AuditLog) List(ctx context.Context, q AuditQuery) ([]*AuditEvent, error) {
	return l.store.Audit(ctx, q)
}

// Add records an action that the Manager did not take itself, such as the restart of a
// server. After is what the event says about its resource; it may be nil.
func (l *AuditLog) Add(ctx context.Context, action, resource string, by Actor, after json.RawMessage) error {
	e := l.event(by, action, resource)
	e.After = after
	return makeDurable(ctx, l.store, &Change{Audit: []*AuditEvent{e}})
}
