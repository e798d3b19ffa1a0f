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
func (r *run) borrow() {
	s := scratches.Get().(*scratch)
	r.scratch, r.added, r.changed, r.batch = s, s.added, s.changed, s.batch
	r.out.entries, r.out.held, r.out.open = s.entries, s.held, s.open
}

// giveBack returns it, unless the run made it large or was cut off in the middle.
func (r *run) giveBack() {
	s := r.scratch
	r.scratch = nil
	if s == nil || len(r.out.entries)+len(r.out.held)+len(r.out.open)+len(r.added)+len(r.changed) > 0 || cap(r.out.entries) > maxPendingEntries || cap(r.out.held) > maxPendingEntries {
		return
	}
	r.batch.Reset()
	*s = scratch{r.out.entries, r.out.held, r.out.open, r.added, r.changed, r.batch}
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
func (r *run) commit(ctx context.Context, o commitOptions) error {
	r.recall()
	if err := r.land(); err != nil {
		return err
	}
	if cause := context.Cause(r.ctx); errors.Is(cause, ErrFenced) {
		return cause // whoever gave up the thread for us may be right or wrong, we do not write
	}
	r.active.posted.Store(false) // the commit tells
	p, err := r.pack(o)
	if err != nil {
		return err
	}
	err = r.write(ctx, &p.Commit)
	if r.unread = p.Unread; err != nil {
		r.unpack(p)
		if errors.Is(err, ErrUnread) {
			return err
		}
		return fmt.Errorf("commit thread %s: %w", r.thread, storeError{err})
	}
	r.out.committed(ctx, p.seq)
	p.free()
	atPublished.Hit()
	if len(r.effects) > 0 {
		r.runEffects(ctx)
	}
	if r.unsent > 0 {
		r.sendAll(ctx)
	}
	r.heedSink()
	return nil
}

// write gives a commit its number and makes it. One at a time is made: by the run, or
// beside it.
func (r *run) write(ctx context.Context, c *Commit) error {
	c.Number = r.commits + 1
	atCommit.Hit()
	err := r.rt.cfg.Store.Commit(ctx, c)
	if err != nil && !refused(err) {
		err = r.commitAgain(ctx, c)
	}
	if err == nil {
		r.commits++
		atCommitted.Hit()
	}
	return err
}

// storeError is an error of the store. Its text is for whoever runs the process, and not
// for whoever reads the run.
type storeError struct{ error }

func (e storeError) Unwrap() error { return e.error }

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
func (r *run) commitAgain(ctx context.Context, c *Commit) error {
	ctx, cancel := r.last(ctx)
	defer cancel()
	err := r.rt.cfg.Store.Commit(ctx, c)
	if err != nil && !refused(err) {
		r.commits++
	}
	return err
}

// heedSink cancels the run when its sink has failed.
func (r *run) heedSink() {
	if err := r.out.failed(); err != nil && r.ctx.Err() == nil {
		r.active.cancel(fmt.Errorf("%w: %w", ErrCancelled, err))
	}
}

// add appends a message to the conversation; the next commit stores it.
func (r *run) add(m *llm.Message) {
	r.added = append(r.added, m)
	r.msgs = r.msgs.Append(m)
}

// takeInbox takes in what others have posted: messages join the conversation,
// decisions are applied to suspended calls.
func (r *run) takeInbox(ctx context.Context) error {
	if err := r.land(); err != nil { // the store may not know yet what was read
		return err
	}
	r.active.posted.Store(false)
	items, err := r.rt.cfg.Store.Unread(ctx, r.info.ThreadID)
	if err != nil {
		return fmt.Errorf("inbox of thread %s: %w", r.info.ThreadID, storeError{err})
	}
	r.unread = false
	r.takeItems(items, NextStep)
	return nil
}

// takeUnread takes in and commits what made the store refuse to let the run rest.
func (r *run) takeUnread(ctx context.Context) error {
	n := len(r.read)
	items, err := r.rt.cfg.Store.Unread(ctx, r.info.ThreadID)
	if err != nil {
		return fmt.Errorf("inbox of thread %s: %w", r.info.ThreadID, storeError{err})
	}
	r.takeItems(items, OnNaturalEnd)
	if len(r.read) == n {
		return fmt.Errorf("inbox of thread %s: %w, but there are none", r.info.ThreadID, ErrUnread)
	}
	return r.commit(ctx, commitOptions{})
}

// takeItems takes in what may be taken in at a boundary.
func (r *run) takeItems(items []InboxItem, at Boundary) {
	for _, it := range items {
		if slices.Contains(r.read, it.ID) || it.Boundary == OnNaturalEnd && at != OnNaturalEnd {
			continue
		}
		r.read = append(r.read, it.ID)
		if it.RunID != "" && it.RunID != r.info.RunID {
			continue
		}
		if it.Decision != nil {
			if err := r.decide(*it.Decision, it.ID); err != nil {
				r.rt.cfg.Logger.Warn("decision refused", "run", r.info.RunID, "target", it.Decision.Target, "error", err)
			}
		}
		if it.Report != nil {
			r.reported(it.Report)
		}
		if it.Supersede {
			r.dropHeld("superseded")
		}
		for _, m := range it.Messages {
			r.addInput(m)
			r.told++
		}
		if it.Compaction != nil {
			if err := r.applyCompaction(it.Compaction); err != nil {
				r.rt.cfg.Logger.Error("summary could not be taken in", "run", r.info.RunID, "error", err)
			}
		}
		r.withdraw = r.withdraw || it.Supersede && r.openCalls()
	}
}

// adopt gives a message that comes from outside an id.
func (r *run) adopt(m *llm.Message) *llm.Message {
	if m.ID != "" {
		return m
	}
	c := *m
	c.ID = r.rt.cfg.NewID()
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
