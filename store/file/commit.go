package file

import (
	"context"
	"fmt"
	"maps"
	"slices"

	"github.com/awaken-go/awaken"
	"github.com/awaken-go/awaken/state"
)

// committer implements [awaken.Committer].
type committer struct {
	gate    *gate
	table   *table
	bodies  *bodies
	writer  *writer
	remover *remover
	copier  *copier
	index   *indexFile
}

// Acquire makes the caller the owner of a thread.
func (cm *committer) Acquire(_ context.Context, threadID string) (*awaken.Checkpoint, error) {
	if err := cm.gate.enter(); err != nil {
		return nil, err
	}
	defer cm.gate.leave()
	if err := checkID("thread", threadID); err != nil {
		return nil, err
	}
	for {
		t, made, err := cm.takeOrMake(threadID)
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
			return cm.acquire(t)
		}
	}
}

// takeOrMake returns a thread with writing held. Made says that it is new and was
// acquired with that. No thread and no error means to try again.
func (cm *committer) takeOrMake(id string) (t *thread, made bool, err error) {
	cm.table.mu.Lock()
	t = cm.table.threads[id]
	if t == nil {
		t = newThread(id)
		t.writing.Lock()
		cm.table.threads[id] = t
		fence := cm.table.floor + 1
		cm.table.mu.Unlock()
		err := cm.writer.create(t, &record{summary: summary{Op: opCreate, Fence: fence}})
		if err != nil {
			t.writing.Unlock()
			return nil, false, fmt.Errorf("make thread %s: %w", id, err)
		}
		return t, true, nil
	}
	cm.table.mu.Unlock()
	t.writing.Lock()
	if t.life == alive {
		return t, false, nil
	}
	t.writing.Unlock()
	return nil, false, cm.remover.settle(t)
}

// acquire gives a thread a new owner. Requires t.writing.
func (cm *committer) acquire(t *thread) (*awaken.Checkpoint, error) {
	cp := &awaken.Checkpoint{}
	err := cm.bodies.withLocked(t, func(b *body) error {
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
	return cp, cm.writer.append(t, &record{summary: summary{Op: opAcquire, Fence: cp.Fence}})
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
func (cm *committer) Commit(_ context.Context, c *awaken.Commit) error {
	if err := cm.gate.enter(); err != nil {
		return err
	}
	defer cm.gate.leave()
	t, err := cm.table.take(c.ThreadID)
	if err != nil {
		return err
	}
	err = cm.commit(t, c)
	t.writing.Unlock()
	if err != nil {
		return err
	}
	if c.Run.Status == awaken.RunDone || c.Run.Status == awaken.RunWaiting {
		cm.copier.update(t)
	}
	cm.index.saveSometimes()
	return nil
}

// commit requires t.writing.
func (cm *committer) commit(t *thread, c *awaken.Commit) error {
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
	undo, err := cm.table.claim(t, r)
	if err != nil {
		return err
	}
	if err := cm.writer.append(t, r); err != nil {
		undo()
		return err
	}
	c.Unread = len(t.unread) > 0
	return nil
}

// Interrupt raises the thread's generation.
func (cm *committer) Interrupt(_ context.Context, threadID string) ([]*awaken.CallState, error) {
	if err := cm.gate.enter(); err != nil {
		return nil, err
	}
	defer cm.gate.leave()
	t, err := cm.table.take(threadID)
	if err != nil {
		return nil, err
	}
	defer t.writing.Unlock()
	var open []*awaken.CallState
	err = cm.bodies.withLocked(t, func(b *body) error {
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
	return open, cm.writer.append(t, &record{summary: summary{Op: opInterrupt, Generation: t.generation + 1}})
}
