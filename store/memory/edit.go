package memory

import (
	"context"
	"encoding/json"
	"fmt"
	"maps"
	"slices"
	"time"

	"github.com/awaken-go/awaken"
	"github.com/awaken-go/awaken/store/internal/threads"
)

// editor implements [awaken.ThreadEditor].
type editor struct {
	*records
	dispatches *dispatches
	blobs      *blobs
	bodies     *bodies
	now        func() time.Time
}

// Fork creates a thread that begins with the first seq records of another.
func (s *editor) Fork(_ context.Context, threadID string, seq int, newID string, notes map[string]json.RawMessage) (*awaken.Thread, error) {
	if err := threads.CheckNotes(notes); err != nil {
		return nil, err
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	t, err := s.thread(threadID)
	if err != nil {
		return nil, err
	}
	if err := threads.CheckFork(&t.Thread, seq, newID, s.threads[newID] != nil); err != nil {
		return nil, err
	}
	f := s.add(awaken.Thread{ID: newID, UserID: t.UserID, ParentThreadID: threadID, MessageCount: seq, Metadata: t.Metadata})
	f.Notes = maps.Clone(notes)
	f.Created = slices.Clone(t.Created[:seq])
	f.View.Append(t.View.Log()[:seq]...)
	s.blobs.inherit(threadID, newID)
	return f.Export(), nil
}

// DeleteThread removes a thread. It returns an ErrConflict if the thread, or a descendant
// that is to be removed too, has queued or claimed dispatches.
func (s *editor) DeleteThread(_ context.Context, id string, children awaken.ChildStrategy) error {
	s.mu.Lock()
	defer s.mu.Unlock()
	if _, err := s.thread(id); err != nil {
		return err
	}
	if busy := s.busy(id, children == awaken.CascadeChildren); busy != "" {
		return fmt.Errorf("delete thread %s: %w: thread %s has queued or claimed dispatches", id, awaken.ErrConflict, busy)
	}
	var kids []*thread
	for _, t := range s.threads {
		if t.ParentThreadID == id {
			kids = append(kids, t)
		}
	}
	if err := threads.CheckDelete(children, len(kids)); err != nil {
		return fmt.Errorf("delete thread %s: %w", id, err)
	}
	if children == awaken.DetachChildren {
		for _, k := range kids {
			k.ParentThreadID = ""
		}
	}
	s.remove(id, children == awaken.CascadeChildren)
	return nil
}

// busy returns the thread, or one of its descendants, that has live dispatches, or "".
func (s *editor) busy(id string, descendants bool) string {
	if len(s.threads[id].live) > 0 {
		return id
	}
	if descendants {
		for kid, t := range s.threads {
			if t.ParentThreadID == id {
				if busy := s.busy(kid, true); busy != "" {
					return busy
				}
			}
		}
	}
	return ""
}

// remove removes a thread, and its descendants if asked to.
func (s *editor) remove(id string, descendants bool) {
	t := s.threads[id]
	s.floor = max(s.floor, t.Fence+1)
	for _, d := range t.over {
		s.dispatches.forget(d)
	}
	delete(s.threads, id)
	s.decided.Remove(id)
	s.blobs.release(id)
	delete(s.bodies.byThread, id)
	for r := range t.all {
		delete(s.runs, r.RunID)
	}
	if !descendants {
		return
	}
	for kid, t := range s.threads {
		if t.ParentThreadID == id {
			s.remove(kid, true)
		}
	}
}

// CreateThread creates a thread.
func (s *editor) CreateThread(_ context.Context, t *awaken.Thread) error {
	s.mu.Lock()
	defer s.mu.Unlock()
	if t.ID == "" || s.threads[t.ID] != nil {
		return fmt.Errorf("create thread %q: %w: it already exists", t.ID, awaken.ErrConflict)
	}
	if err := s.checkParent(t.ID, t.ParentThreadID); err != nil {
		return err
	}
	now := s.now().UnixMilli()
	s.add(awaken.Thread{ID: t.ID, UserID: t.UserID, ResourceID: t.ResourceID, ParentThreadID: t.ParentThreadID,
		Metadata: awaken.ThreadMetadata{CreatedAt: now, UpdatedAt: now, Title: t.Metadata.Title, Custom: t.Metadata.Custom}})
	return nil
}

// add adds a thread that was forked or created.
func (s *editor) add(t awaken.Thread) *thread {
	s.clock++
	t.Metadata.Custom = maps.Clone(t.Metadata.Custom)
	out := &thread{Head: threads.Head{Thread: t, Touched: s.clock, Fence: s.floor}, begun: true}
	s.threads[t.ID] = out
	return out
}

// checkParent checks that parent exists and is not below the thread.
func (s *editor) checkParent(id, parent string) error {
	return threads.CheckParent(id, parent, func(id string) (string, bool, error) {
		t := s.threads[id]
		if t == nil {
			return "", false, nil
		}
		return t.ParentThreadID, true, nil
	})
}

// UpdateThread changes the user, resource, parent, title, custom metadata and notes of a thread.
func (s *editor) UpdateThread(_ context.Context, id string, fn func(t *awaken.Thread) error) (*awaken.Thread, error) {
	s.mu.Lock()
	defer s.mu.Unlock()
	t, err := s.thread(id)
	if err != nil {
		return nil, err
	}
	was, c := t.Export(), t.Export()
	if err := fn(c); err != nil {
		return nil, err
	}
	if err := threads.CheckNotes(c.Notes); err != nil {
		return nil, err
	}
	if c.ParentThreadID != t.ParentThreadID {
		if err := s.checkParent(id, c.ParentThreadID); err != nil {
			return nil, err
		}
	}
	t.Notes = maps.Clone(c.Notes)
	if threads.OnlyNotes(was, c) {
		return t.Export(), nil
	}
	s.clock++
	t.Touched = s.clock
	t.UserID, t.ResourceID, t.ParentThreadID = c.UserID, c.ResourceID, c.ParentThreadID
	t.Metadata.Title, t.Metadata.Custom = c.Metadata.Title, maps.Clone(c.Metadata.Custom)
	t.Metadata.UpdatedAt = max(t.Metadata.UpdatedAt, s.now().UnixMilli())
	return t.Export(), nil
}

// Prune removes idle threads without pins that were last updated before a time.
func (s *editor) Prune(_ context.Context, before time.Time) (int, error) {
	s.mu.Lock()
	defer s.mu.Unlock()
	n := 0
	for id, t := range s.threads {
		idle := t.OpenRunID == "" && len(t.Inbox) == 0 && len(t.live) == 0 && t.Metadata.UpdatedAt > 0 // the owner of a new thread may still commit
		if idle && t.Metadata.UpdatedAt < before.UnixMilli() && len(threads.Pins(t.Notes)) == 0 {
			s.remove(id, false)
			n++
		}
	}
	return n, nil
}
