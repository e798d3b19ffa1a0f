package file

import (
	"context"
	"errors"
	"fmt"
	"slices"

	"github.com/awaken-go/awaken"
	"github.com/awaken-go/awaken/eventlog/changelog"
	"github.com/awaken-go/awaken/state"
	"github.com/awaken-go/awaken/store/internal/threads"
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
	changes *changelog.Memory
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
		case t == nil: // just deleted, or its creation failed: retry
		case made:
			defer t.writing.Unlock()
			return t.Checkpoint(&threads.Body{}, nil), nil
		default:
			defer t.writing.Unlock()
			return cm.acquire(t)
		}
	}
}

// takeOrMake returns a thread with writing held. Made reports that the thread is new,
// which makes the caller its owner. Nil without an error means that the caller must retry.
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
			return nil, false, fmt.Errorf("create thread %s: %w", id, err)
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
	var cp *awaken.Checkpoint
	err := cm.bodies.withLocked(t, func(b *body) error {
		cp = t.Checkpoint(&b.Body, b.runs[t.LatestRunID])
		return nil
	})
	if err != nil {
		return nil, err
	}
	cp.Fence++
	cp.Thread.End.Epoch = cp.Fence
	return cp, cm.writer.append(t, &record{summary: summary{Op: opAcquire, Fence: cp.Fence}})
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
	err := t.Check(c, false) // claim checks whether the run is done
	switch {
	case errors.Is(err, threads.ErrRepeated):
		c.Unread = len(t.unread) > 0
		return nil
	case err != nil:
		return err
	case c.RequireEmptyInbox && slices.ContainsFunc(t.unread, func(id string) bool { return !slices.Contains(c.Read, id) }):
		return awaken.ErrUnread
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
	if t.Metadata.CreatedAt == 0 {
		r.User = run.UserID
	}
	for _, ch := range c.State {
		r.State = append(r.State, change{ch.Key, ch.Scope == state.Thread, ch.Value})
	}
	before := cm.table.statusOf(run.RunID)
	undo, err := cm.table.claim(t, r)
	if err != nil {
		return err
	}
	if err := cm.writer.append(t, r); err != nil {
		undo()
		return err
	}
	if cm.changes.Wanted() {
		cm.logged(t, before, c)
	}
	c.Unread = len(t.unread) > 0
	return nil
}

// logged adds what a commit changed to the log of changes. Requires t.writing.
func (cm *committer) logged(t *thread, before awaken.RunStatus, c *awaken.Commit) {
	if tickets := changelog.TicketsOf(c.Calls); len(tickets) > 0 {
		cm.changes.Add("", changelog.Change{Kind: changelog.Tickets, ThreadID: t.ID, RunID: c.Run.RunID, Tickets: tickets, UserID: t.UserID})
	}
	if c.Run.Status != before {
		run := c.Run
		cm.changes.Add("", changelog.Change{Kind: changelog.Run, ThreadID: t.ID, RunID: run.RunID, Status: string(run.Status), Run: &run, UserID: t.UserID})
	}
}

// Interrupt raises the thread's generation and returns the unfinished calls.
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
			open = threads.Unfinished(r.Calls)
		}
		return nil
	})
	if err != nil {
		return nil, err
	}
	return open, cm.writer.append(t, &record{summary: summary{Op: opInterrupt, Generation: t.Generation + 1}})
}
