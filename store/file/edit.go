package file

import (
	"context"
	"errors"
	"fmt"
	"maps"
	"slices"
	"time"

	"github.com/awaken-go/awaken"
	"github.com/awaken-go/awaken/llm"
)

// keepChildren is how Prune deletes: children are left as they are.
const keepChildren awaken.ChildStrategy = "keep"

// Fork makes a thread that begins as another was after record seq of its log. Nothing
// is copied: the new journal says where to read.
func (s *Store) Fork(_ context.Context, threadID string, seq int, newID string) (*awaken.Thread, error) {
	if err := s.enter(); err != nil {
		return nil, err
	}
	defer s.life.RUnlock()
	if err := checkID("thread", newID); err != nil {
		return nil, err
	}
	s.edit.Lock()
	defer s.edit.Unlock()
	f, first, err := s.fork(threadID, seq, newID)
	if err != nil {
		return nil, err
	}
	defer f.writing.Unlock()
	if err := s.create(f, first); err != nil {
		return nil, fmt.Errorf("fork thread %s: %w", threadID, err)
	}
	return f.export(), nil
}

// fork returns the new thread, being made, with writing held. Requires s.edit.
func (s *Store) fork(threadID string, seq int, newID string) (*thread, *record, error) {
	s.mu.Lock()
	defer s.mu.Unlock()
	t, err := s.find(threadID)
	switch {
	case err != nil:
		return nil, nil, err
	case newID == "" || s.threads[newID] != nil:
		return nil, nil, fmt.Errorf("fork thread %s: %w: thread %q exists already", threadID, awaken.ErrConflict, newID)
	case seq < 0 || seq > t.MessageCount:
		return nil, nil, fmt.Errorf("fork thread %s: %w: record %d, have %d", threadID, awaken.ErrInvalid, seq, t.MessageCount)
	}
	s.clock++
	md := t.export().Metadata
	first := &record{summary: summary{Op: opFork, Clock: s.clock, Fence: s.floor, Parent: threadID, Count: seq, Metadata: &md}}
	if seq > 0 {
		first.Base = &base{threadID, t.nonce, seq}
	}
	f := newThread(newID)
	f.writing.Lock()
	s.threads[newID] = f
	return f, first, nil
}

// CreateThread makes a thread.
func (s *Store) CreateThread(_ context.Context, t *awaken.Thread) error {
	if err := s.enter(); err != nil {
		return err
	}
	defer s.life.RUnlock()
	if err := checkID("thread", t.ID); err != nil {
		return err
	}
	s.edit.Lock()
	defer s.edit.Unlock()
	n, first, err := s.prepare(t)
	if err != nil {
		return err
	}
	defer n.writing.Unlock()
	if err := s.create(n, first); err != nil {
		return fmt.Errorf("create thread %s: %w", t.ID, err)
	}
	return nil
}

// prepare returns a new thread, being made, with writing held. Requires s.edit.
func (s *Store) prepare(t *awaken.Thread) (*thread, *record, error) {
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.threads[t.ID] != nil {
		return nil, nil, fmt.Errorf("create thread %s: %w: it exists already", t.ID, awaken.ErrConflict)
	}
	if err := s.checkParent(t.ID, t.ParentThreadID); err != nil {
		return nil, nil, err
	}
	s.clock++
	now := s.opts.Now().UnixMilli()
	md := &awaken.ThreadMetadata{CreatedAt: now, UpdatedAt: now, Title: t.Metadata.Title, Custom: maps.Clone(t.Metadata.Custom)}
	first := &record{summary: summary{Op: opFork, Clock: s.clock, Fence: s.floor, Parent: t.ParentThreadID, Resource: t.ResourceID, Metadata: md}}
	n := newThread(t.ID)
	n.writing.Lock()
	s.threads[t.ID] = n
	return n, first, nil
}

// checkParent checks that a thread can have that parent. Requires s.mu.
func (s *Store) checkParent(id, parent string) error {
	if parent == "" {
		return nil
	}
	if _, err := s.find(parent); err != nil {
		return fmt.Errorf("thread %s: %w: there is no parent %s", id, awaken.ErrInvalid, parent)
	}
	for above := parent; above != ""; {
		if above == id {
			return fmt.Errorf("thread %s: %w: it cannot be above itself", id, awaken.ErrInvalid)
		}
		t := s.threads[above]
		if t == nil {
			return nil
		}
		above = t.ParentThreadID
	}
	return nil
}

// UpdateThread changes what people attached to a thread.
func (s *Store) UpdateThread(_ context.Context, id string, fn func(t *awaken.Thread) error) (*awaken.Thread, error) {
	if err := s.enter(); err != nil {
		return nil, err
	}
	defer s.life.RUnlock()
	s.edit.Lock()
	defer s.edit.Unlock()
	t, err := s.take(id)
	if err != nil {
		return nil, err
	}
	defer t.writing.Unlock()
	s.mu.Lock()
	c := t.export()
	s.mu.Unlock()
	if err := fn(c); err != nil {
		return nil, err
	}
	s.mu.Lock()
	if c.ParentThreadID != t.ParentThreadID {
		err = s.checkParent(id, c.ParentThreadID)
	}
	s.clock++
	clock := s.clock
	s.mu.Unlock()
	if err != nil {
		return nil, err
	}
	md := &awaken.ThreadMetadata{Title: c.Metadata.Title, Custom: maps.Clone(c.Metadata.Custom)}
	if err := s.append(t, &record{summary: summary{Op: opMetadata, Clock: clock, Time: s.opts.Now().UnixMilli(), Parent: c.ParentThreadID, Resource: c.ResourceID, Metadata: md}}); err != nil {
		return nil, err
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	return t.export(), nil
}

// DeleteThread removes a thread.
func (s *Store) DeleteThread(_ context.Context, id string, children awaken.ChildStrategy) error {
	if err := s.enter(); err != nil {
		return err
	}
	defer s.life.RUnlock()
	s.edit.Lock()
	defer s.edit.Unlock()
	t, err := s.take(id)
	if err != nil {
		return err
	}
	if err := s.doom(t, children); err != nil {
		t.writing.Unlock()
		return fmt.Errorf("delete thread %s: %w", id, err)
	}
	t.writing.Unlock()
	if err := s.bury(t, children); err != nil {
		return fmt.Errorf("delete thread %s: %w", id, err)
	}
	return nil
}

// Prune removes threads that nothing happened on for a while.
func (s *Store) Prune(_ context.Context, before time.Time) (int, error) {
	if err := s.enter(); err != nil {
		return 0, err
	}
	defer s.life.RUnlock()
	s.edit.Lock()
	defer s.edit.Unlock()
	old := func(t *thread) bool {
		idle := t.life == alive && t.OpenRunID == "" && len(t.unread) == 0 && t.Metadata.UpdatedAt > 0 // a new thread's owner may yet commit
		return idle && t.Metadata.UpdatedAt < before.UnixMilli()
	}
	var all []*thread
	s.mu.Lock()
	for _, t := range s.threads {
		if old(t) {
			all = append(all, t)
		}
	}
	s.mu.Unlock()
	if err := s.raiseFloor(all...); err != nil { // once for all of them
		return 0, err
	}
	n := 0
	for _, t := range all {
		t.writing.Lock()
		if !old(t) {
			t.writing.Unlock()
			continue
		}
		err := s.doom(t, keepChildren)
		t.writing.Unlock()
		if err == nil {
			err = s.bury(t, keepChildren)
		}
		if err != nil {
			return n, fmt.Errorf("prune thread %s: %w", t.ID, err)
		}
		n++
	}
	return n, nil
}

// doom decides that a thread is deleted: from now on it is not there. That is written
// down first, so that it is finished even if the process dies. Requires s.edit and
// t.writing.
func (s *Store) doom(t *thread, children awaken.ChildStrategy) error {
	s.mu.Lock()
	kids, forks := s.related(t)
	switch children {
	case awaken.RejectChildren:
		if len(kids) > 0 {
			s.mu.Unlock()
			return fmt.Errorf("%w: it has %d children", awaken.ErrConflict, len(kids))
		}
	case awaken.DetachChildren, awaken.CascadeChildren:
	case keepChildren:
		kids = nil
	default:
		s.mu.Unlock()
		return fmt.Errorf("%w: child strategy is %q, want reject, cascade or nothing", awaken.ErrInvalid, children)
	}
	t.life = gone
	s.mu.Unlock()
	err := s.append(t, &record{summary: summary{Op: opDelete, Children: &children}})
	if len(kids)+len(forks) == 0 {
		return nil // a full disk must not keep anybody from deleting; removing one journal needs no plan
	}
	if err != nil {
		s.mu.Lock()
		t.life = alive
		s.mu.Unlock()
	}
	return err
}

// related returns the children of a thread, and the forks that read from its journal.
// Requires s.mu.
func (s *Store) related(t *thread) (kids, forks []*thread) {
	for _, o := range s.threads {
		if o.ParentThreadID == t.ID && o != t && o.life == alive {
			kids = append(kids, o)
		}
		if o.base != nil && o.base.Thread == t.ID && o.base.Nonce == t.nonce {
			forks = append(forks, o)
		}
	}
	return kids, forks
}

// bury does what the deletion of a thread means for others, and then removes it. It can
// be repeated. Requires s.edit.
func (s *Store) bury(t *thread, children awaken.ChildStrategy) error {
	s.mu.Lock()
	kids, _ := s.related(t)
	s.mu.Unlock()
	switch children {
	case awaken.DetachChildren:
		for _, k := range kids {
			if err := s.detach(k); err != nil {
				return err
			}
		}
	case awaken.CascadeChildren:
		// The deepest go first: what is left is a tree at any time, and its root, which
		// is doomed, is left to the end.
		all := s.descendants(t)
		if err := s.raiseFloor(all...); err != nil {
			return err
		}
		for _, d := range slices.Backward(all) {
			d.writing.Lock()
			s.mu.Lock()
			d.life = gone
			s.mu.Unlock()
			d.writing.Unlock()
			if err := s.erase(d); err != nil {
				return err
			}
		}
	}
	return s.erase(t)
}

// detach takes a thread's parent away.
func (s *Store) detach(t *thread) error {
	t.writing.Lock()
	defer t.writing.Unlock()
	if t.life != alive {
		return nil
	}
	return s.append(t, &record{summary: summary{Op: opDetach}})
}

// descendants returns all that descend from a thread, parents before children.
func (s *Store) descendants(t *thread) []*thread {
	s.mu.Lock()
	defer s.mu.Unlock()
	kids := map[string][]*thread{}
	for _, o := range s.threads {
		kids[o.ParentThreadID] = append(kids[o.ParentThreadID], o)
	}
	seen := map[*thread]bool{t: true}
	var out []*thread
	for next := []*thread{t}; len(next) > 0; next = next[1:] {
		for _, k := range kids[next[0].ID] {
			if !seen[k] {
				seen[k] = true
				out, next = append(out, k), append(next, k)
			}
		}
	}
	return out
}

// erase removes a thread that is gone. Its journal goes last: until then everything
// can be repeated. Requires s.edit.
func (s *Store) erase(t *thread) error {
	s.mu.Lock()
	_, forks := s.related(t)
	s.mu.Unlock()
	for _, f := range forks {
		if err := s.keepBase(f); err != nil {
			return err
		}
	}
	if err := s.raiseFloor(t); err != nil {
		return err
	}
	t.copying.Lock()
	defer t.copying.Unlock()
	if err := s.removeCopies(t); err != nil {
		return err
	}
	t.writing.Lock()
	defer t.writing.Unlock()
	atRemove.Hit()
	if err := s.files.remove(t); err != nil {
		return err
	}
	s.mu.Lock()
	delete(s.threads, t.ID)
	for _, r := range t.runs {
		delete(s.runs, r.id)
	}
	s.cache.drop(t)
	s.mu.Unlock()
	return s.syncDir(s.journals, ".")
}

// keepBase copies what a fork shares with another thread into its own journal.
func (s *Store) keepBase(f *thread) error {
	f.writing.Lock()
	defer f.writing.Unlock()
	if f.base == nil {
		return nil
	}
	r := &record{summary: summary{Op: opBase}}
	err := s.readBase(f, func(msgs []*llm.Message, created []int64, _ int64) { r.Messages, r.Created = msgs, created })
	if err != nil {
		return err
	}
	return s.append(f, r)
}

// settle waits until a thread that is gone is removed, or tries once more to remove it.
func (s *Store) settle(t *thread) error {
	s.edit.Lock()
	defer s.edit.Unlock()
	s.mu.Lock()
	left := s.threads[t.ID] == t && t.life == gone
	children := keepChildren
	if t.doomed != nil {
		children = *t.doomed
	}
	s.mu.Unlock()
	if !left {
		return nil
	}
	if err := s.bury(t, children); err != nil {
		return errors.Join(fmt.Errorf("thread %s was deleted, but is still in the way", t.ID), err)
	}
	return nil
}
