package file

import (
	"context"
	"encoding/json"
	"fmt"
	"maps"
	"time"

	"github.com/awaken-go/awaken"
	"github.com/awaken-go/awaken/store/internal/threads"
)

// editor implements [awaken.ThreadEditor].
type editor struct {
	gate    *gate
	table   *table
	writer  *writer
	remover *remover
	now     func() time.Time
}

// Fork creates a thread that begins with the first seq records of another. It copies
// nothing: the new journal names the thread to read them from.
func (ed *editor) Fork(_ context.Context, threadID string, seq int, newID string, notes map[string]json.RawMessage) (*awaken.Thread, error) {
	if err := threads.CheckNotes(notes); err != nil {
		return nil, err
	}
	if err := ed.inherit(threadID, newID); err != nil {
		return nil, err
	}
	return ed.create("fork thread "+threadID, newID, func() (*summary, error) {
		t, err := ed.table.find(threadID)
		if err == nil {
			err = threads.CheckFork(&t.Thread, seq, newID, ed.table.threads[newID] != nil)
		}
		if err != nil {
			return nil, err
		}
		first := &summary{Parent: threadID, User: t.UserID, Count: seq, Metadata: &t.Export().Metadata, Notes: maps.Clone(notes)}
		if seq > 0 {
			first.Base = &base{threadID, t.journal.nonce, seq}
		}
		return first, nil
	})
}

// inherit makes a fork that is about to be created hold the files of its original.
func (ed *editor) inherit(from, to string) error {
	if err := ed.gate.enter(); err != nil {
		return err
	}
	defer ed.gate.leave()
	return ed.remover.files.inherit(from, to)
}

// CreateThread creates a thread.
func (ed *editor) CreateThread(_ context.Context, t *awaken.Thread) error {
	_, err := ed.create("create thread "+t.ID, t.ID, func() (*summary, error) {
		if ed.table.threads[t.ID] != nil {
			return nil, fmt.Errorf("create thread %s: %w: it already exists", t.ID, awaken.ErrConflict)
		}
		now := ed.now().UnixMilli()
		md := &awaken.ThreadMetadata{CreatedAt: now, UpdatedAt: now, Title: t.Metadata.Title, Custom: maps.Clone(t.Metadata.Custom)}
		return &summary{Parent: t.ParentThreadID, User: t.UserID, Resource: t.ResourceID, Metadata: md}, ed.table.checkParent(t.ID, t.ParentThreadID)
	})
	return err
}

// create creates a thread. It calls first with table.mu held; first returns the first
// record, or why the thread cannot be created. An error of the write begins with what.
func (ed *editor) create(what, id string, first func() (*summary, error)) (*awaken.Thread, error) {
	if err := ed.gate.enter(); err != nil {
		return nil, err
	}
	defer ed.gate.leave()
	if err := checkID("thread", id); err != nil {
		return nil, err
	}
	ed.remover.mu.Lock()
	defer ed.remover.mu.Unlock()
	ed.table.mu.Lock()
	sum, err := first()
	if err != nil {
		ed.table.mu.Unlock()
		return nil, err
	}
	ed.table.clock++
	sum.Op, sum.Clock, sum.Fence = opFork, ed.table.clock, ed.table.floor
	t := newThread(id)
	t.writing.Lock()
	defer t.writing.Unlock()
	ed.table.threads[id] = t
	ed.table.mu.Unlock()
	if err := ed.writer.create(t, &record{summary: *sum}); err != nil {
		return nil, fmt.Errorf("%s: %w", what, err)
	}
	return t.Export(), nil
}

// note changes nothing but the notes of a thread.
func (ed *editor) note(t *thread, c *awaken.Thread) (*awaken.Thread, error) {
	if err := ed.writer.append(t, &record{summary: summary{Op: opNotes, Notes: maps.Clone(c.Notes)}}); err != nil {
		return nil, err
	}
	ed.table.mu.Lock()
	defer ed.table.mu.Unlock()
	return t.Export(), nil
}

// UpdateThread changes the user, resource, parent, title, custom metadata and notes of a thread.
func (ed *editor) UpdateThread(_ context.Context, id string, fn func(t *awaken.Thread) error) (*awaken.Thread, error) {
	if err := ed.gate.enter(); err != nil {
		return nil, err
	}
	defer ed.gate.leave()
	ed.remover.mu.Lock()
	defer ed.remover.mu.Unlock()
	t, err := ed.table.take(id)
	if err != nil {
		return nil, err
	}
	defer t.writing.Unlock()
	ed.table.mu.Lock()
	was, c := t.Export(), t.Export()
	ed.table.mu.Unlock()
	if err := fn(c); err != nil {
		return nil, err
	}
	if err := threads.CheckNotes(c.Notes); err != nil {
		return nil, err
	}
	if threads.OnlyNotes(was, c) {
		return ed.note(t, c)
	}
	ed.table.mu.Lock()
	if c.ParentThreadID != t.ParentThreadID {
		err = ed.table.checkParent(id, c.ParentThreadID)
	}
	ed.table.clock++
	clock := ed.table.clock
	ed.table.mu.Unlock()
	if err != nil {
		return nil, err
	}
	md := &awaken.ThreadMetadata{Title: c.Metadata.Title, Custom: maps.Clone(c.Metadata.Custom)}
	if err := ed.writer.append(t, &record{summary: summary{Op: opMetadata, Clock: clock, Time: ed.now().UnixMilli(), Parent: c.ParentThreadID, User: c.UserID, Resource: c.ResourceID, Metadata: md, Notes: maps.Clone(c.Notes)}}); err != nil {
		return nil, err
	}
	ed.table.mu.Lock()
	defer ed.table.mu.Unlock()
	return t.Export(), nil
}

// DeleteThread removes a thread.
func (ed *editor) DeleteThread(_ context.Context, id string, children awaken.ChildStrategy) error {
	if err := ed.gate.enter(); err != nil {
		return err
	}
	defer ed.gate.leave()
	ed.remover.mu.Lock()
	defer ed.remover.mu.Unlock()
	t, err := ed.table.take(id)
	if err != nil {
		return err
	}
	if err := ed.remover.doom(t, children); err != nil {
		t.writing.Unlock()
		return fmt.Errorf("delete thread %s: %w", id, err)
	}
	t.writing.Unlock()
	if err := ed.remover.bury(t, children); err != nil {
		return fmt.Errorf("delete thread %s: %w", id, err)
	}
	return nil
}

// Prune removes idle threads without pins that were last updated before a time.
func (ed *editor) Prune(_ context.Context, before time.Time) (int, error) {
	if err := ed.gate.enter(); err != nil {
		return 0, err
	}
	defer ed.gate.leave()
	ed.remover.mu.Lock()
	defer ed.remover.mu.Unlock()
	old := func(t *thread) bool {
		idle := t.life == alive && t.OpenRunID == "" && len(t.unread) == 0 && t.Metadata.UpdatedAt > 0 // the owner of a new thread may still commit
		return idle && t.Metadata.UpdatedAt < before.UnixMilli() && len(threads.Pins(t.Notes)) == 0
	}
	var all []*thread
	ed.table.mu.Lock()
	for _, t := range ed.table.threads {
		if old(t) {
			all = append(all, t)
		}
	}
	ed.table.mu.Unlock()
	if err := ed.remover.raiseFloor(all...); err != nil { // one write for all of them
		return 0, err
	}
	n := 0
	for _, t := range all {
		t.writing.Lock()
		if !old(t) {
			t.writing.Unlock()
			continue
		}
		err := ed.remover.doom(t, keepChildren)
		t.writing.Unlock()
		if err == nil {
			err = ed.remover.bury(t, keepChildren)
		}
		if err != nil {
			return n, fmt.Errorf("prune thread %s: %w", t.ID, err)
		}
		n++
	}
	return n, nil
}
