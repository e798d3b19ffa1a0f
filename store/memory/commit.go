package memory

import (
	"context"
	"encoding/json"
	"errors"
	"maps"
	"slices"

	"github.com/awaken-go/awaken"
	"github.com/awaken-go/awaken/state"
	"github.com/awaken-go/awaken/store/internal/threads"
)

// committer implements [awaken.Committer] and [awaken.Inbox].
type committer struct{ *records }

// Acquire makes the caller the owner of a thread.
func (s *committer) Acquire(_ context.Context, threadID string) (*awaken.Checkpoint, error) {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.acquire(threadID), nil
}

// acquire is Acquire under the lock.
func (s *committer) acquire(threadID string) *awaken.Checkpoint {
	return s.make(threadID).acquire()
}

// acquire raises the fence and returns what the new owner needs.
func (t *thread) acquire() *awaken.Checkpoint {
	t.Fence++
	t.Committed = 0
	var latest *threads.Run
	if t.run != nil {
		latest = &t.run.Run
	}
	return t.Checkpoint(&t.Body, latest)
}

// Commit applies c, all or nothing.
func (s *committer) Commit(_ context.Context, c *awaken.Commit) error {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.commit(c)
}

// commit is Commit under the lock.
func (s *committer) commit(c *awaken.Commit) error {
	t, err := s.thread(c.ThreadID)
	if err != nil {
		return err
	}
	if err := s.check(t, c); errors.Is(err, threads.ErrRepeated) {
		c.Unread = len(t.Inbox) > 0
		return nil
	} else if err != nil {
		return err
	}
	s.clock++
	if r := s.runs[c.Run.RunID]; r == nil || !t.Stays(c.Run.RunID, r.Status, c.Run.Status) {
		t.Touched = s.clock
	}
	t.Committed = c.Number
	if !t.begun {
		t.begun, t.ParentThreadID = true, c.ParentThreadID
	}
	if t.Metadata.CreatedAt == 0 {
		t.Metadata.CreatedAt, t.UserID = c.Time, c.Run.UserID
	}
	t.Metadata.UpdatedAt = c.Time
	if t.Created == nil {
		t.Created = make([]int64, 0, 4)
	}
	t.Seq = t.entries.commit(c, t.Seq)
	t.Append(c.Messages, c.Time)
	t.MessageCount += len(c.Messages)
	t.Read(c.Read)
	s.asked(c)
	s.saveRun(t, c)
	c.Unread = len(t.Inbox) > 0
	return nil
}

// check returns why c must be refused, or nil.
func (s *committer) check(t *thread, c *awaken.Commit) error {
	if err := t.Check(c, s.isDone(c.Run.RunID)); err != nil {
		return err
	}
	if c.RequireEmptyInbox && slices.ContainsFunc(t.Inbox, func(it awaken.InboxItem) bool { return !slices.Contains(c.Read, it.ID) }) {
		return awaken.ErrUnread
	}
	return nil
}

// isDone reports whether a run is stored as done.
func (s *committer) isDone(runID string) bool {
	r := s.runs[runID]
	return r != nil && r.Status == awaken.RunDone
}

func (s *committer) saveRun(t *thread, c *awaken.Commit) {
	r, before := s.runs[c.Run.RunID], awaken.RunStatus("")
	if r == nil {
		r = s.add(&c.Run)
	} else {
		before = r.Status
	}
	if s.ended != nil && c.Run.Status == awaken.RunDone && r.Status != awaken.RunDone {
		s.ended(c.Run.RunID)
	}
	r.Run.Run = c.Run
	s.runChanged(before, &c.Run)
	t.run = r
	t.SetRun(r.RunID, r.Status)
	r.Enter(c.Calls)
	for i := range c.State {
		t.set(r, &c.State[i])
	}
}

// set saves a change of the state of the thread or of its run r.
func (t *thread) set(r *runRecord, ch *state.Change) {
	m := &r.State
	if ch.Scope == state.Thread {
		m = &t.State
	}
	threads.Set(m, ch.Key, ch.Value)
}

// Interrupt raises the thread's generation and returns the unfinished calls.
func (s *committer) Interrupt(_ context.Context, threadID string) ([]*awaken.CallState, error) {
	return ofThread(s.records, threadID, func(t *thread) []*awaken.CallState {
		t.Generation++
		if t.run == nil {
			return nil
		}
		return threads.Unfinished(t.run.Calls)
	})
}

// Post adds items to a thread's inbox. It ignores items that were posted before.
func (s *committer) Post(_ context.Context, threadID string, items ...awaken.InboxItem) error {
	s.mu.Lock()
	defer s.mu.Unlock()
	t, err := s.thread(threadID)
	if err != nil {
		return err
	}
	if err := s.decided.Check(items); err != nil {
		return err
	}
	s.decide(items)
	t.Post(items)
	return nil
}

// ThreadState returns the saved state of a thread.
func (s *committer) ThreadState(_ context.Context, threadID string) (map[string]json.RawMessage, error) {
	return ofThread(s.records, threadID, func(t *thread) map[string]json.RawMessage { return maps.Clone(t.State) })
}

// Unread returns the items that no commit has read.
func (s *committer) Unread(_ context.Context, threadID string) ([]awaken.InboxItem, error) {
	return ofThread(s.records, threadID, func(t *thread) []awaken.InboxItem { return slices.Clone(t.Inbox) })
}
