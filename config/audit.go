package config

import (
	"cmp"
	"context"
	"time"
)

// Actor is who does something.
type Actor struct {
	ID        string // of the key
	Label     string // of the key, or what the client says of itself
	IP        string
	RequestID string
}

// String is how the audit log calls the actor: the id of its key, and a label.
func (a Actor) String() string {
	name := cmp.Or(a.ID, "anonymous")
	if a.Label != "" {
		name += "/" + a.Label
	}
	return name
}

// Condition is what a write expects of the record that it changes. The zero Condition
// expects nothing.
type Condition struct {
	Revision int64 // that it has; 0 does not care
	Absent   bool  // that it is not there
	Present  bool  // that it is there
}

// applier is the part of a [Store] that makes changes durable.
type applier interface {
	Apply(ctx context.Context, c *Change) error
}

// AuditLog is what was done, and by whom.
type AuditLog struct {
	store interface {
		applier
		Audit(ctx context.Context, q AuditQuery) ([]*AuditEvent, error)
	}
	clock func() time.Time
	newID func() string
}

// event returns an event that happens now.
func (l *AuditLog) event(by Actor, action, resource string) *AuditEvent {
	return &AuditEvent{ID: l.newID(), Time: l.clock().Truncate(time.Microsecond), Actor: by.String(), Action: action, Resource: resource, IP: by.IP, RequestID: by.RequestID}
}

// List lists what was done, newest first.
func (l *AuditLog) List(ctx context.Context, q AuditQuery) ([]*AuditEvent, error) {
	return l.store.Audit(ctx, q)
}

// Add adds something that the manager did not do itself, such as the restart of a server.
func (l *AuditLog) Add(ctx context.Context, action, resource string, by Actor) error {
	return makeDurable(ctx, l.store, &Change{Audit: []*AuditEvent{l.event(by, action, resource)}})
}
