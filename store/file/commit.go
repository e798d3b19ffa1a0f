package file

import (
	"context"
	"errors"
	"fmt"
	"maps"
	"slices"

	"github.com/awaken-go/awaken"
	"github.com/awaken-go/awaken/state"
)

// Acquire makes the caller the owner of a thread.
func (s *Store) Acquire(_ context.Context, threadID string) (*awaken.Checkpoint, error) {
	if err := s.enter(); err != nil {
		return nil, err
	}
	defer s.life.RUnlock()
	if err := checkID("thread", threadID); err != nil {
		return nil, err
	}
	for {
		t, made, err := s.takeOrMake(threadID)
		if err != nil {
			return nil, err
		}
		switch {
		case t == nil: // it was just deleted, or could not be made: look again
		case made:
			defer t.writing.Unlock()
			return &awaken.Checkpoint{Fence: t.fence, Thread: *t.export()}, nil
		default:
			defer t.writing.Unlock()
			return s.acquire(t)
		}
	}
}

// takeOrMake returns a thread with writing held. Made says that it is new and was
// acquired with that. No thread and no error means to try again.
func (s *Store) takeOrMake(id string) (t *thread, made bool, err error) {
	s.mu.Lock()
	t = s.threads[id]
	if t == nil {
		t = newThread(id)
		t.writing.Lock()
		s.threads[id] = t
		fence := s.floor + 1
		s.mu.Unlock()
		err := s.create(t, &record{summary: summary{Op: opCreate, Fence: fence}})
		if err != nil {
			t.writing.Unlock()
			return nil, false, fmt.Errorf("make thread %s: %w", id, err)
		}
		return t, true, nil
	}
	s.mu.Unlock()
	t.writing.Lock()
	if t.life == alive {
		return t, false, nil
	}
	t.writing.Unlock()
	return nil, false, s.settle(t)
}

// create makes the journal of a thread that is being made. If it fails there is no
// such thread. Requires t.writing.
func (s *Store) create(t *thread, first *record) (err error) {
	defer func() {
		s.mu.Lock()
		defer s.mu.Unlock()
		t.life = alive
		if err != nil {
			t.life = gone
			delete(s.threads, t.ID)
			s.cache.drop(t)
		}
	}()
	if err := s.files.create(t); err != nil {
		return err
	}
	defer s.files.put(t)
	if first.Base == nil { // it begins with nothing, so there is nothing to read
		s.mu.Lock()
		s.cache.add(t, &body{})
		s.mu.Unlock()
	}
	first.Thread, first.Nonce = t.ID, t.nonce
	err = s.append(t, first)
	if err == nil {
		err = s.syncDir(s.journals, ".")
	}
	if err != nil {
		return errors.Join(err, s.files.remove(t))
	}
	return nil
}

// acquire gives a thread a new owner. Requires t.writing.
func (s *Store) acquire(t *thread) (*awaken.Checkpoint, error) {
	cp := &awaken.Checkpoint{}
	err := s.withBodyLocked(t, func(b *body) error {
		*cp = awaken.Checkpoint{Fence: t.fence + 1, Generation: t.generation, Thread: *t.export(), View: b.view.Messages(),
			Seq: t.seq, ThreadState: maps.Clone(b.state), Inbox: slices.Clone(b.inbox)}
		if r := b.runs[t.LatestRunID]; r != nil {
			run := r.Run
			cp.Run = &run
			cp.RunState = maps.Clone(r.state)
			cp.Calls = lastStep(r.calls)
		}
		return nil
	})
	if err != nil {
		return nil, err
	}
	return cp, s.append(t, &record{summary: summary{Op: opAcquire, Fence: cp.Fence}})
}

// lastStep returns the calls of the last step that had any.
func lastStep(calls []*awaken.CallState) []*awaken.CallState {
	i := len(calls)
	for i > 0 && calls[i-1].Step == calls[len(calls)-1].Step {
		i--
	}
	return slices.Clone(calls[i:])
}

// Commit makes c durable, all or nothing.
func (s *Store) Commit(_ context.Context, c *awaken.Commit) error {
	if err := s.enter(); err != nil {
		return err
	}
	defer s.life.RUnlock()
	t, err := s.take(c.ThreadID)
	if err != nil {
		return err
	}
	err = s.commit(t, c)
	t.writing.Unlock()
	if err != nil {
		return err
	}
	if c.Run.Status == awaken.RunDone || c.Run.Status == awaken.RunWaiting {
		s.project(t)
	}
	s.saveIndexSometimes()
	return nil
}

// commit requires t.writing.
func (s *Store) commit(t *thread, c *awaken.Commit) error {
	switch {
	case c.Fence != t.fence:
		return awaken.ErrFenced
	case c.Number == t.committed && c.Number != 0:
		c.Unread = len(t.unread) > 0
		return nil // said again because the answer was lost
	case c.Begins && c.Generation != t.generation:
		return awaken.ErrGeneration
	case c.Expect != t.MessageCount:
		return &awaken.ConflictError{ThreadID: c.ThreadID, Expected: c.Expect, Have: t.MessageCount}
	case len(c.Entries) > 0 && c.Entries[0].Seq <= t.seq:
		return fmt.Errorf("%w: event %d of thread %s is stored already", awaken.ErrConflict, c.Entries[0].Seq, c.ThreadID)
	case c.Rest && slices.ContainsFunc(t.unread, func(id string) bool { return !slices.Contains(c.Read, id) }):
		return awaken.ErrUnread
	}
	if err := c.Run.Validate(); err != nil {
		return fmt.Errorf("%w: %w", awaken.ErrInvalid, err)
	}
	if err := checkID("run", c.Run.RunID); err != nil {
		return err
	}
	run := c.Run
	r := &record{
		summary: summary{Op: opCommit, Fence: c.Fence, Number: c.Number, Time: c.Time, Parent: c.ParentThreadID,
			Count: c.Expect + len(c.Messages), RunID: run.RunID, Status: run.Status, Read: c.Read},
		contents: contents{Messages: c.Messages, Run: &run, Calls: c.Calls},
		entries:  slices.Clone(c.Entries),
	}
	for _, ch := range c.State {
		r.State = append(r.State, change{ch.Key, ch.Scope == state.Thread, ch.Value})
	}
	undo, err := s.claim(t, r)
	if err != nil {
		return err
	}
	if err := s.append(t, r); err != nil {
		undo()
		return err
	}
	c.Unread = len(t.unread) > 0
	return nil
}

// claim gives a commit its time and makes sure that its run is of this thread, whatever
// others commit until it is written.
func (s *Store) claim(t *thread, r *record) (undo func(), err error) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.clock++
	r.Clock = s.clock
	switch ref := s.runs[r.RunID]; {
	case ref == nil:
		s.runs[r.RunID] = &runRef{id: r.RunID, thread: t}
		return func() {
			s.mu.Lock()
			defer s.mu.Unlock()
			delete(s.runs, r.RunID)
		}, nil
	case ref.thread != t:
		return nil, fmt.Errorf("%w: run %s is of thread %s", awaken.ErrConflict, r.RunID, ref.thread.ID)
	case ref.status == awaken.RunDone && r.Status != awaken.RunDone:
		return nil, awaken.ErrFenced
	}
	return func() {}, nil
}

// Interrupt raises the thread's generation.
func (s *Store) Interrupt(_ context.Context, threadID string) ([]*awaken.CallState, error) {
	if err := s.enter(); err != nil {
		return nil, err
	}
	defer s.life.RUnlock()
	t, err := s.take(threadID)
	if err != nil {
		return nil, err
	}
	defer t.writing.Unlock()
	var open []*awaken.CallState
	err = s.withBodyLocked(t, func(b *body) error {
		if r := b.runs[t.LatestRunID]; r != nil {
			for _, c := range r.calls {
				if c.Status == awaken.CallRunning {
					open = append(open, c)
				}
			}
		}
		return nil
	})
	if err != nil {
		return nil, err
	}
	return open, s.append(t, &record{summary: summary{Op: opInterrupt, Generation: t.generation + 1}})
}

// Post adds items to a thread's inbox.
func (s *Store) Post(_ context.Context, threadID string, items ...awaken.InboxItem) error {
	if err := s.enter(); err != nil {
		return err
	}
	defer s.life.RUnlock()
	for _, it := range items {
		if err := checkID("inbox item", it.ID); err != nil {
			return err
		}
	}
	t, err := s.take(threadID)
	if err != nil {
		return err
	}
	defer t.writing.Unlock()
	r := &record{summary: summary{Op: opPost}}
	err = s.withBodyLocked(t, func(b *body) error {
		for _, it := range items {
			if !b.posted[it.ID] && !slices.Contains(r.Posted, it.ID) {
				r.Posted, r.Items = append(r.Posted, it.ID), append(r.Items, it)
			}
		}
		return nil
	})
	if err != nil || len(r.Items) == 0 {
		return err
	}
	return s.append(t, r)
}

// Unread returns the items that no commit has read.
func (s *Store) Unread(_ context.Context, threadID string) ([]awaken.InboxItem, error) {
	if err := s.enter(); err != nil {
		return nil, err
	}
	defer s.life.RUnlock()
	s.mu.Lock()
	t, err := s.find(threadID)
	empty := err == nil && len(t.unread) == 0
	s.mu.Unlock()
	if err != nil || empty { // asked in every step, so answer without the body
		return nil, err
	}
	var out []awaken.InboxItem
	err = s.look(threadID, func(_ *thread, b *body) error {
		out = slices.Clone(b.inbox)
		return nil
	})
	return out, err
}
