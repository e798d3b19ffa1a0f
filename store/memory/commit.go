package memory

import (
	"cmp"
	"context"
	"encoding/json"
	"fmt"
	"maps"
	"slices"

	"github.com/awaken-go/awaken"
	"github.com/awaken-go/awaken/state"
)

// committer implements [awaken.Committer] and [awaken.Inbox].
type committer struct{ *records }

// Acquire makes the caller the owner of a thread.
func (s *committer) Acquire(_ context.Context, threadID string) (*awaken.Checkpoint, error) {
	s.mu.Lock()
	defer s.mu.Unlock()
	t := s.make(threadID)
	t.fence++
	t.committed = 0
	cp := &awaken.Checkpoint{Fence: t.fence, Generation: t.generation, Thread: t.Thread, View: t.view.Messages(),
		Seq: t.seq, ThreadState: maps.Clone(t.state), Inbox: slices.Clone(t.inbox)}
	cp.Thread.Metadata.Custom = maps.Clone(t.Metadata.Custom)
	cp.Thread.End = awaken.Cursor{Epoch: t.fence, Seq: t.seq}
	if r := t.run; r != nil {
		run := r.Run
		cp.Run = &run
		cp.RunState = maps.Clone(r.state)
		cp.Calls = lastStep(r.calls)
	}
	return cp, nil
}

// lastStep returns the calls of the last step that had any.
func lastStep(calls []*awaken.CallState) []*awaken.CallState {
	i := len(calls)
	for i > 0 && calls[i-1].Step == calls[len(calls)-1].Step {
		i--
	}
	return slices.Clone(calls[i:])
}

// Commit makes c visible, all or nothing.
func (s *committer) Commit(_ context.Context, c *awaken.Commit) error {
	s.mu.Lock()
	defer s.mu.Unlock()
	t, err := s.thread(c.ThreadID)
	if err != nil {
		return err
	}
	switch {
	case c.Fence != t.fence:
		return awaken.ErrFenced
	case c.Number == t.committed && c.Number != 0:
		c.Unread = len(t.inbox) > 0
		return nil // said again because the answer was lost
	case c.Run.Status != awaken.RunDone && s.isDone(c.Run.RunID):
		return awaken.ErrFenced
	case c.Begins && c.Generation != t.generation:
		return awaken.ErrGeneration
	case c.Expect != t.MessageCount:
		return &awaken.ConflictError{ThreadID: c.ThreadID, Expected: c.Expect, Have: t.MessageCount}
	case len(c.Entries) > 0 && c.Entries[0].Seq <= t.seq:
		return fmt.Errorf("%w: event %d of thread %s is stored already", awaken.ErrConflict, c.Entries[0].Seq, c.ThreadID)
	case c.Rest && slices.ContainsFunc(t.inbox, func(it awaken.InboxItem) bool { return !slices.Contains(c.Read, it.ID) }):
		return awaken.ErrUnread
	}
	if err := c.Run.Validate(); err != nil {
		return fmt.Errorf("%w: %w", awaken.ErrInvalid, err)
	}
	s.clock++
	t.committed, t.touched = c.Number, s.clock
	if !t.begun {
		t.begun, t.ParentThreadID = true, c.ParentThreadID
	}
	if t.Metadata.CreatedAt == 0 {
		t.Metadata.CreatedAt = c.Time
	}
	t.Metadata.UpdatedAt = c.Time
	t.view.Append(c.Messages...)
	if t.entries == nil {
		t.entries = make([]awaken.Entry, 0, 8)
	}
	if t.created == nil {
		t.created = make([]int64, 0, 4)
	}
	t.entries = append(t.entries, c.Entries...)
	for i := range c.Entries { // the deltas of one may reach further than the last
		t.seq = max(t.seq, c.Entries[i].Last())
	}
	for range c.Messages {
		t.created = append(t.created, c.Time)
	}
	t.MessageCount += len(c.Messages)
	if len(c.Read) > 0 {
		t.inbox = slices.DeleteFunc(t.inbox, func(it awaken.InboxItem) bool { return slices.Contains(c.Read, it.ID) })
	}
	s.saveRun(t, c)
	c.Unread = len(t.inbox) > 0
	return nil
}

// isDone reports whether a run is over.
func (s *committer) isDone(runID string) bool {
	r := s.runs[runID]
	return r != nil && r.Status == awaken.RunDone
}

func (s *committer) saveRun(t *thread, c *awaken.Commit) {
	r := s.runs[c.Run.RunID]
	if r == nil {
		r = &runRecord{born: s.clock}
		s.runs[c.Run.RunID] = r
	}
	r.Run = c.Run
	t.run, t.LatestRunID, t.OpenRunID = r, r.RunID, ""
	if r.Status != awaken.RunDone {
		t.OpenRunID = r.RunID
	}
	for _, call := range c.Calls {
		i := slices.IndexFunc(r.calls, func(old *awaken.CallState) bool { return old.Step == call.Step && old.Index == call.Index })
		if i >= 0 {
			r.calls[i] = call
			continue
		}
		at, _ := slices.BinarySearchFunc(r.calls, call, func(a, b *awaken.CallState) int {
			return cmp.Or(cmp.Compare(a.Step, b.Step), cmp.Compare(a.Index, b.Index))
		})
		r.calls = slices.Insert(r.calls, at, call)
	}
	for _, ch := range c.State {
		m := &r.state
		if ch.Scope == state.Thread {
			m = &t.state
		}
		if ch.Value == nil {
			delete(*m, ch.Key)
			continue
		}
		if *m == nil {
			*m = map[string]json.RawMessage{}
		}
		(*m)[ch.Key] = ch.Value
	}
}

// Interrupt raises the thread's generation.
func (s *committer) Interrupt(_ context.Context, threadID string) ([]*awaken.CallState, error) {
	s.mu.Lock()
	defer s.mu.Unlock()
	t, err := s.thread(threadID)
	if err != nil {
		return nil, err
	}
	t.generation++
	var open []*awaken.CallState
	if t.run != nil {
		for _, c := range t.run.calls {
			if c.Status == awaken.CallRunning {
				open = append(open, c)
			}
		}
	}
	return open, nil
}

// Post adds items to a thread's inbox.
func (s *committer) Post(_ context.Context, threadID string, items ...awaken.InboxItem) error {
	s.mu.Lock()
	defer s.mu.Unlock()
	t, err := s.thread(threadID)
	if err != nil {
		return err
	}
	t.post(items)
	return nil
}

// Unread returns the items that no commit has read.
func (s *committer) Unread(_ context.Context, threadID string) ([]awaken.InboxItem, error) {
	s.mu.Lock()
	defer s.mu.Unlock()
	t, err := s.thread(threadID)
	if err != nil {
		return nil, err
	}
	return slices.Clone(t.inbox), nil
}
