package file

import (
	"context"
	"encoding/json"
	"maps"
	"slices"

	"github.com/awaken-go/awaken"
	"github.com/awaken-go/awaken/eventlog/changelog"
)

// inbox implements [awaken.Inbox].
type inbox struct {
	gate   *gate
	table  *table
	bodies *bodies
	writer *writer

	changes *changelog.Memory
}

// Post adds items to a thread's inbox. It ignores items that were posted before.
func (in *inbox) Post(_ context.Context, threadID string, items ...awaken.InboxItem) error {
	if err := in.gate.enter(); err != nil {
		return err
	}
	defer in.gate.leave()
	for _, it := range items {
		if err := checkID("inbox item", it.ID); err != nil {
			return err
		}
	}
	t, err := in.table.take(threadID)
	if err != nil {
		return err
	}
	defer t.writing.Unlock()
	r := &record{summary: summary{Op: opPost}}
	err = in.bodies.withLocked(t, func(b *body) error {
		for _, it := range items {
			if !b.Posted[it.ID] && !slices.Contains(r.Posted, it.ID) {
				r.Posted, r.Items = append(r.Posted, it.ID), append(r.Items, it)
			}
		}
		return nil
	})
	if err != nil {
		return err
	}
	added, undo, err := in.table.decide(items) // also those that were posted before
	if err != nil || len(r.Items) == 0 {
		return err
	}
	for i := range r.Items {
		if d := r.Items[i].Decided; d != nil {
			r.Decided = append(r.Decided, d)
		}
	}
	if err := in.writer.append(t, r); err != nil {
		undo()
		return err
	}
	for _, d := range added {
		in.changes.Add("", changelog.Change{Kind: changelog.Decision, ThreadID: d.ThreadID, RunID: d.RunID, ID: d.TicketID, Decided: d, UserID: t.UserID})
	}
	return nil
}

// ThreadState returns the saved state of a thread.
func (in *inbox) ThreadState(_ context.Context, threadID string) (out map[string]json.RawMessage, err error) {
	if err := in.gate.enter(); err != nil {
		return nil, err
	}
	defer in.gate.leave()
	err = in.bodies.look(threadID, func(_ *thread, b *body) error {
		out = maps.Clone(b.State)
		return nil
	})
	return out, err
}

// Unread returns the items that no commit has read.
func (in *inbox) Unread(_ context.Context, threadID string) ([]awaken.InboxItem, error) {
	if err := in.gate.enter(); err != nil {
		return nil, err
	}
	defer in.gate.leave()
	in.table.mu.Lock()
	t, err := in.table.find(threadID)
	empty := err == nil && len(t.unread) == 0
	in.table.mu.Unlock()
	if err != nil || empty { // every step asks, so answer without the body
		return nil, err
	}
	var out []awaken.InboxItem
	err = in.bodies.look(threadID, func(_ *thread, b *body) error {
		out = slices.Clone(b.Inbox)
		return nil
	})
	return out, err
}
