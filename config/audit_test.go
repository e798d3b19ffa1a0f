package config

import (
	"context"
	"errors"
	"slices"
	"testing"
	"time"
)

// desk is a store that keeps every change. The connection breaks as often as breaks says,
// before or after the change is applied.
type desk struct {
	applied []*Change
	breaks  int
	err     error
}

func (d *desk) Apply(_ context.Context, c *Change) error {
	d.applied = append(d.applied, c)
	if d.breaks > 0 {
		d.breaks--
		return d.err
	}
	return nil
}

func (d *desk) Audit(context.Context, AuditQuery) ([]*AuditEvent, error) { return nil, nil }

func newAuditLog(d *desk) *AuditLog {
	return &AuditLog{store: d, clock: func() time.Time { return time.Unix(5, 1_234_567).UTC() }, newID: func() string { return "e1" }}
}

func TestAuditLog_EventRecordsActorAndTime(t *testing.T) {
	d := &desk{}
	if err := newAuditLog(d).Add(t.Context(), "restart", "mcp-servers/files", Actor{ID: "k", Label: "ada", IP: "10.0.0.1", RequestID: "r"}, nil); err != nil {
		t.Fatal(err)
	}
	want := AuditEvent{ID: "e1", Time: time.Unix(5, 1_234_000).UTC(), Actor: "k/ada", Action: "restart", Resource: "mcp-servers/files", IP: "10.0.0.1", RequestID: "r"}
	got := d.applied[0].Audit[0]
	if got.ID != want.ID || !got.Time.Equal(want.Time) || got.Actor != want.Actor || got.Action != want.Action || got.Resource != want.Resource || got.IP != want.IP || got.RequestID != want.RequestID {
		t.Errorf("the event is %+v, want %+v", *got, want)
	}
}

func TestMakeDurable_RetriesTheSameChange(t *testing.T) {
	broken := errors.New("connection reset")
	events := []*AuditEvent{{ID: "e1"}}
	for _, c := range []struct {
		name   string
		change *Change
		err    error
		breaks int
		tries  int
		ok     bool
	}{
		{"nothing breaks", &Change{Audit: events}, nil, 0, 1, true},
		{"it breaks once", &Change{Audit: events}, broken, 1, 2, true},
		{"it breaks twice", &Change{Audit: events}, broken, 2, 2, false},
		{"a conflict is an answer", &Change{Audit: events}, ErrConflict, 1, 1, false},
		{"without an event the store cannot know it", &Change{}, broken, 1, 1, false},
	} {
		t.Run(c.name, func(t *testing.T) {
			d := &desk{breaks: c.breaks, err: c.err}
			ctx, cancel := context.WithCancel(t.Context())
			cancel() // the client is gone, and the change may be made
			err := makeDurable(ctx, d, c.change)
			if (err == nil) != c.ok || !c.ok && !errors.Is(err, c.err) {
				t.Errorf("the error is %v", err)
			}
			if len(d.applied) != c.tries || slices.ContainsFunc(d.applied, func(a *Change) bool { return a != c.change }) {
				t.Errorf("%d tries, want %d with the same change", len(d.applied), c.tries)
			}
		})
	}
}
