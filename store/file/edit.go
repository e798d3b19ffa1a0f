package file

import (
	"context"
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

// Fork makes a thread that begins as another was after record seq of its log. Nothing
// is copied: the new journal says where to read.
func (ed *editor) Fork(_ context.Context, threadID string, seq int, newID string) (*awaken.Thread, error) {
	if err := ed.gate.enter(); err != nil {
		return nil, err
	}
	defer ed.gate.leave()
	if err := checkID("thread", newID); err != nil {
		return nil, err
	}
	ed.remover.mu.Lock()
	defer ed.remover.mu.Unlock()
	f, first, err := ed.fork(threadID, seq, newID)
	if err != nil {
		return nil, err
	}
	defer f.writing.Unlock()
	if err := ed.writer.create(f, first); err != nil {
		return nil, fmt.Errorf("fork thread %s: %w", threadID, err)
	}
	return f.Export(), nil
}

// fork returns the new thread, being made, with writing held. Requires ed.remover.mu.
func (ed *editor) fork(threadID string, seq int, newID string) (*thread, *record, error) {
	ed.table.mu.Lock()
	defer ed.table.mu.Unlock()
	t, err := ed.table.find(threadID)
	if err == nil {
		err = threads.CheckFork(&t.Thread, seq, newID, ed.table.threads[newID] != nil)
	}
	if err != nil {
		return nil, nil, err
	}
	ed.table.clock++
	md := t.Export().Metadata
	first := &record{summary: summary{Op: opFork, Clock: ed.table.clock, Fence: ed.table.floor, Parent: threadID, Count: seq, Metadata: &md}}
	if seq > 0 {
		first.Base = &base{threadID, t.journal.nonce, seq}
	}
	f := newThread(newID)
	f.writing.Lock()
	ed.table.threads[newID] = f
	return f, first, nil
}

// CreateThread makes a thread.
func (ed *editor) CreateThread(_ context.Context, t *awaken.Thread) error {
	if err := ed.gate.enter(); err != nil {
		return err
	}
	defer ed.gate.leave()
	if err := checkID("thread", t.ID); err != nil {
		return err
	}
	ed.remover.mu.Lock()
	defer ed.remover.mu.Unlock()
	n, first, err := ed.prepare(t)
	if err != nil {
		return err
	}
	defer n.writing.Unlock()
	if err := ed.writer.create(n, first); err != nil {
		return fmt.Errorf("create thread %s: %w", t.ID, err)
	}
	return nil
}

// prepare returns a new thread, being made, with writing held. Requires ed.remover.mu.
func (ed *editor) prepare(t *awaken.Thread) (*thread, *record, error) {
	ed.table.mu.Lock()
	defer ed.table.mu.Unlock()
	if ed.table.threads[t.ID] != nil {
		return nil, nil, fmt.Errorf("create thread %s: %w: it exists already", t.ID, awaken.ErrConflict)
	}
	if err := ed.table.checkParent(t.ID, t.ParentThreadID); err != nil {
		return nil, nil, err
	}
	ed.table.clock++
	now := ed.now().UnixMilli()
	md := &awaken.ThreadMetadata{CreatedAt: now, UpdatedAt: now, Title: t.Metadata.Title, Custom: maps.Clone(t.Metadata.Custom)}
	first := &record{summary: summary{Op: opFork, Clock: ed.table.clock, Fence: ed.table.floor, Parent: t.ParentThreadID, Resource: t.ResourceID, Metadata: md}}
	n := newThread(t.ID)
	n.writing.Lock()
	ed.table.threads[t.ID] = n
	return n, first, nil
}

// UpdateThread changes what people attached to a thread.
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
	c := t.Export()
	ed.table.mu.Unlock()
	if err := fn(c); err != nil {
		return nil, err
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
	if err := ed.writer.append(t, &record{summary: summary{Op: opMetadata, Clock: clock, Time: ed.now().UnixMilli(), Parent: c.ParentThreadID, Resource: c.ResourceID, Metadata: md}}); err != nil {
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

// Prune removes threads that nothing happened on for a while.
func (ed *editor) Prune(_ context.Context, before time.Time) (int, error) {
	if err := ed.gate.enter(); err != nil {
		return 0, err
	}
	defer ed.gate.leave()
	ed.remover.mu.Lock()
	defer ed.remover.mu.Unlock()
	old := func(t *thread) bool {
		idle := t.life == alive && t.OpenRunID == "" && len(t.unread) == 0 && t.Metadata.UpdatedAt > 0 // a new thread's owner may yet commit
		return idle && t.Metadata.UpdatedAt < before.UnixMilli()
	}
	var all []*thread
	ed.table.mu.Lock()
	for _, t := range ed.table.threads {
		if old(t) {
			all = append(all, t)
		}
	}
	ed.table.mu.Unlock()
	if err := ed.remover.raiseFloor(all...); err != nil { // once for all of them
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
