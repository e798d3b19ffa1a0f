package awaken

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"sync"

	"github.com/awaken-go/awaken/llm"
	"github.com/awaken-go/awaken/state"
)

// scratch is the memory a run needs between two commits, lent to it for its time.
type scratch struct {
	entries []Entry
	held    []heldEntry
	open    []coalescing
	added   []*llm.Message
	changed []*CallState
	batch   state.Batch
}

var scratches = sync.Pool{New: func() any { return new(scratch) }}

// borrow gives a run its scratch.
func (j *journal) borrow() {
	s := scratches.Get().(*scratch)
	j.scratch, j.conv.added, j.ledger.changed, j.ledger.batch = s, s.added, s.changed, s.batch
	j.out.entries, j.out.held, j.out.open = s.entries, s.held, s.open
}

// giveBack returns it, unless the run made it large or was cut off in the middle.
func (j *journal) giveBack() {
	s := j.scratch
	j.scratch = nil
	if s == nil || len(j.out.entries)+len(j.out.held)+len(j.out.open)+len(j.conv.added)+len(j.ledger.changed) > 0 || cap(j.out.entries) > maxPendingEntries || cap(j.out.held) > maxPendingEntries {
		return
	}
	j.ledger.batch.Reset()
	*s = scratch{j.out.entries, j.out.held, j.out.open, j.conv.added, j.ledger.changed, j.ledger.batch}
	scratches.Put(s)
}

type commitOptions struct {
	begins bool // a tool is about to begin
	rest   bool // the run parks or ends
}

// commit makes everything since the last commit durable, publishes the events that
// were held for it, and does the effects it asked for. If it fails nothing is
// published, and what was to be committed stays for the next try. If a commit is in
// flight it waits for that one first, and fails if that one does.
func (j *journal) commit(ctx context.Context, o commitOptions) error {
	j.takeBack()
	if err := j.waitInFlight(); err != nil {
		return err
	}
	if cause := context.Cause(j.ctx); errors.Is(cause, ErrFenced) {
		return cause // whoever gave up the thread for us may be right or wrong, we do not write
	}
	j.active.posted.Store(false) // the commit tells
	p, err := j.pack(o)
	if err != nil {
		return err
	}
	err = j.write(ctx, &p.Commit)
	if j.unread = p.Unread; err != nil {
		j.unpack(p)
		if errors.Is(err, ErrUnread) {
			return err
		}
		return fmt.Errorf("commit thread %s: %w", j.thread, storeError{err})
	}
	j.out.committed(ctx, p.seq)
	p.free()
	atPublished.Hit()
	if len(j.hooks.effects) > 0 {
		j.hooks.runEffects(ctx)
	}
	if j.sender.unsent > 0 {
		j.sender.sendAll(ctx)
	}
	j.heedSink()
	return nil
}

// write gives a commit its number and makes it. One at a time is made: by the run, or
// beside it.
func (j *journal) write(ctx context.Context, c *Commit) error {
	c.Number = j.commits + 1
	atCommit.Hit()
	err := j.rt.cfg.Store.Commit(ctx, c)
	if err != nil && !refused(err) {
		err = j.commitAgain(ctx, c)
	}
	if err == nil {
		j.commits++
		atCommitted.Hit()
	}
	return err
}

// storeError is an error of the store. Its text is for whoever runs the process, and not
// for whoever reads the run.
type storeError struct{ error }

func (e storeError) Unwrap() error { return e.error }

// commitError is the error of a commit that failed beside its run, and cancelled it.
type commitError struct{ error }

func (e commitError) Unwrap() error { return e.error }

// isCommitError reports whether a run was cancelled because a commit failed beside it.
func isCommitError(cause error) bool {
	_, ok := cause.(commitError)
	return ok
}

// refused reports whether an error of Commit says that nothing was committed.
// After any other the outcome is not known.
func refused(err error) bool {
	for _, e := range [...]error{ErrFenced, ErrGeneration, ErrConflict, ErrUnread, ErrInvalid, ErrNotFound} {
		if errors.Is(err, e) {
			return true
		}
	}
	return false
}

// commitAgain repeats a commit whose outcome is not known: a store that has it says
// so. If that does not help either its number is given up, so that no store mistakes
// what is committed next for the same.
func (j *journal) commitAgain(ctx context.Context, c *Commit) error {
	ctx, cancel := j.last(ctx)
	defer cancel()
	err := j.rt.cfg.Store.Commit(ctx, c)
	if err != nil && !refused(err) {
		j.commits++
	}
	return err
}

// heedSink cancels the run when its sink has failed.
func (j *journal) heedSink() {
	if err := j.out.failed(); err != nil && j.ctx.Err() == nil {
		j.active.cancel(fmt.Errorf("%w: %w", ErrCancelled, err))
	}
}

// add appends a message to the conversation; the next commit stores it.
func (cv *conversation) add(m *llm.Message) {
	cv.added = append(cv.added, m)
	cv.msgs = cv.msgs.Append(m)
}

// takeInbox takes in what others have posted: messages join the conversation,
// decisions are applied to suspended calls.
func (in *inbox) take(ctx context.Context) error {
	if err := in.journal.waitInFlight(); err != nil { // the store may not know yet what was read
		return err
	}
	in.active.posted.Store(false)
	items, err := in.rt.cfg.Store.Unread(ctx, in.info.ThreadID)
	if err != nil {
		return fmt.Errorf("inbox of thread %s: %w", in.info.ThreadID, storeError{err})
	}
	in.journal.unread = false
	in.takeItems(items, NextStep)
	return nil
}

// takeUnread takes in and commits what made the store refuse to let the run rest.
func (in *inbox) takeUnread(ctx context.Context) error {
	n := len(in.journal.read)
	items, err := in.rt.cfg.Store.Unread(ctx, in.info.ThreadID)
	if err != nil {
		return fmt.Errorf("inbox of thread %s: %w", in.info.ThreadID, storeError{err})
	}
	in.takeItems(items, OnNaturalEnd)
	if len(in.journal.read) == n {
		return fmt.Errorf("inbox of thread %s: %w, but there are none", in.info.ThreadID, ErrUnread)
	}
	return in.journal.commit(ctx, commitOptions{})
}

// takeItems takes in what may be taken in at a boundary.
func (in *inbox) takeItems(items []InboxItem, at Boundary) {
	for _, it := range items {
		if slices.Contains(in.journal.read, it.ID) || it.Boundary == OnNaturalEnd && at != OnNaturalEnd {
			continue
		}
		in.journal.read = append(in.journal.read, it.ID)
		if it.RunID != "" && it.RunID != in.info.RunID {
			continue
		}
		if it.Decision != nil {
			if err := in.decider.decide(*it.Decision, it.ID); err != nil {
				in.rt.cfg.Logger.Warn("decision refused", "run", in.info.RunID, "target", it.Decision.Target, "error", err)
			}
		}
		if it.Report != nil {
			in.children.reported(it.Report)
		}
		if it.Supersede {
			in.guards.drop("superseded")
		}
		for _, m := range it.Messages {
			in.guards.addInput(m)
			in.told++
		}
		if it.Compaction != nil {
			if err := in.compactor.accept(it.Compaction); err != nil {
				in.rt.cfg.Logger.Error("summary could not be taken in", "run", in.info.RunID, "error", err)
			}
		}
		in.withdraw = in.withdraw || it.Supersede && in.ledger.open()
	}
}

// adopt gives a message that comes from outside an id.
func (cv *conversation) adopt(m *llm.Message) *llm.Message {
	if m.ID != "" {
		return m
	}
	c := *m
	c.ID = cv.rt.cfg.NewID()
	return &c
}

// visible returns the messages that API consumers may see.
func visible(msgs llm.Messages) []*llm.Message {
	out := make([]*llm.Message, 0, msgs.Len())
	for _, m := range msgs.All() {
		if !m.IsInternal() {
			out = append(out, m)
		}
	}
	return out
}
