package config

import (
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
	switch {
	case a.ID == "" && a.Label == "":
		return "anonymous"
	case a.Label == "":
		return a.ID
	case a.ID == "":
		return "anonymous/" + a.Label
	}
	return a.ID + "/" + a.Label
}

// Condition is what a write expects of the record that it changes. The zero Condition
// expects nothing.
type Condition struct {
	Revision int64 // that it has; 0 does not care
	Absent   bool  // that it is not there
	Present  bool  // that it is there
}

// event returns an event that happens now.
func (m *Manager) event(by Actor, action, resource string) *AuditEvent {
	return &AuditEvent{ID: m.o.NewID(), Time: m.o.Now().Truncate(time.Microsecond), Actor: by.String(), Action: action, Resource: resource, IP: by.IP, RequestID: by.RequestID}
}

// Audit lists what was done, newest first. Record adds something that the manager did not
// do itself, such as the restart of a server.
func (m *Manager) Audit(ctx context.Context, q AuditQuery) ([]*AuditEvent, error) {
	return m.o.Store.Audit(ctx, q)
}

func (m *Manager) Record(ctx context.Context, action, resource string, by Actor) error {
	return m.apply(ctx, &Change{Audit: []*AuditEvent{m.event(by, action, resource)}})
}
