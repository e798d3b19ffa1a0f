package engine

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"slices"
	"sync"
	"time"

	"github.com/awaken-go/awaken"
	"github.com/awaken-go/awaken/blob"
	"github.com/awaken-go/awaken/internal/ownership"
	"github.com/awaken-go/awaken/llm"
	"github.com/awaken-go/awaken/state"
)

// journal collects the next commit, and makes commits.
type journal struct {
	*core

	count     int              // messages in the log, including those in flight
	found     int              // messages in the log when the run was opened
	unsaved   []state.Change   // changes of failed commits; the state store considers them saved
	read      []string         // inbox items read since the last commit
	unread    bool             // after the last commit, the inbox was not empty
	pipelined bool             // commit finished steps in flight
	commits   uint64           // number of commits made; owned by the goroutine that makes one
	inFlight  *inFlightCommits // nil before the first
	scratch   *scratch
}

type commitOptions struct {
	begins            bool // a tool call is about to begin
	requireEmptyInbox bool // refuse the commit if the inbox is not empty: the run parks or ends
}

// commit makes everything since the last commit durable, publishes the events deferred for it, and
// runs the effects it asks for. If it fails, nothing is published and everything stays for the
// next try. It first waits for a commit in flight, and fails if that one does.
func (j *journal) commit(ctx context.Context, o commitOptions) error {
	j.takeBack()
	if err := j.waitInFlight(); err != nil {
		return err
	}
	if cause := context.Cause(j.ctx); errors.Is(cause, awaken.ErrFenced) {
		return cause // another worker may own the thread: write nothing
	}
	j.active.posted.Store(false) // the commit reports unread items
	p, err := j.collect(o)
	if err != nil {
		return err
	}
	err = j.write(ctx, &p.Commit)
	if j.unread = p.Unread; err != nil {
		j.putBack(p)
		if errors.Is(err, awaken.ErrUnread) {
			return err
		}
		return fmt.Errorf("commit thread %s: %w", j.thread, storeError{err})
	}
	j.publish(ctx, p)
	if len(j.hooks.effects) > 0 {
		j.hooks.runEffects(ctx)
	}
	if j.sender.unsent > 0 {
		j.sender.sendAll(ctx)
	}
	j.cancelIfSinkFailed()
	return nil
}

// publish publishes the events deferred for a commit that has been made.
func (j *journal) publish(ctx context.Context, p *commitBatch) {
	j.out.committed(ctx, p.seq)
	p.free()
	atPublished.Hit()
}

// write numbers a commit and makes it. Only one commit is made at a time, by the run or in flight.
func (j *journal) write(ctx context.Context, c *awaken.Commit) error {
	c.Number = j.commits + 1
	atCommit.Hit()
	err := j.store(ctx, c)
	if err != nil && !refused(err) {
		err = j.commitAgain(ctx, c)
	}
	if err == nil {
		j.commits++
		atCommitted.Hit()
	}
	return err
}

// committer makes the commits of runs that it owns.
type committer interface {
	Commit(ctx context.Context, c *awaken.Commit) error
}

// store makes a commit, through the owner of the run if it has one.
func (j *journal) store(ctx context.Context, c *awaken.Commit) error {
	if o, ok := ownership.Of[committer](j.ctx); ok {
		return o.Commit(ctx, c)
	}
	return j.rt.cfg.Store.Commit(ctx, c)
}

// commitAgain repeats a commit whose outcome is unknown: a store that has it says so. If the
// outcome stays unknown the number is not used again, so that no store mistakes the next commit
// for this one.
func (j *journal) commitAgain(ctx context.Context, c *awaken.Commit) error {
	ctx, cancel := j.graceContext(ctx)
	defer cancel()
	err := j.waitOut(ctx, func() error { return j.store(ctx, c) })
	if err != nil && !refused(err) {
		j.commits++
	}
	return err
}

// refused reports whether an error of Commit means that nothing was committed. After any other
// error the outcome is unknown.
func refused(err error) bool { return isAny(err, refusals...) }

var refusals = []error{awaken.ErrFenced, awaken.ErrGeneration, awaken.ErrConflict, awaken.ErrUnread, awaken.ErrInvalid, awaken.ErrNotFound}

// isAny reports whether err is one of targets.
func isAny(err error, targets ...error) bool {
	return slices.ContainsFunc(targets, func(target error) bool { return errors.Is(err, target) })
}

// storeError is an error of the store. Its text is for operators, and not shown to clients.
type storeError struct{ error }

func (e storeError) Unwrap() error { return e.error }

// cancelIfSinkFailed cancels the run if its sink has failed.
func (j *journal) cancelIfSinkFailed() {
	if err := j.out.failed(); err != nil && j.ctx.Err() == nil {
		j.active.cancel(fmt.Errorf("%w: %w", awaken.ErrCancelled, err))
	}
}

// collect moves everything since the last commit from the run into a batch.
func (j *journal) collect(o commitOptions) (*commitBatch, error) {
	j.takeMarks()
	changes, err := j.st.Changes()
	if err != nil {
		return nil, err
	}
	now := j.rt.cfg.Now()
	j.rec.UpdatedAt = now.UnixMilli()
	if first := j.count + 1; len(j.conv.added) > 0 && first > j.rec.Input.ToSeq {
		j.rec.Output = llm.Interval{FromSeq: cmp.Or(j.rec.Output.FromSeq, first), ToSeq: j.count + len(j.conv.added)}
	}
	outline(j.rec, j.conv.added)
	p := batches.Get().(*commitBatch)
	p.ThreadID, p.Fence, p.Generation = j.info.ThreadID, j.fence, j.generation
	p.Begins, p.RequireEmptyInbox, p.Time, p.Expect = o.begins, o.requireEmptyInbox, now.UnixMilli(), j.count
	p.Run, p.ParentThreadID = *j.rec, j.info.ParentThreadID
	p.Messages, j.conv.added = j.conv.added, p.Messages
	p.Calls, j.ledger.changed = j.ledger.changed, p.Calls
	p.State, j.unsaved = overlaid(j.unsaved, changes), nil
	p.Read, j.read = j.read, nil
	j.out.take(p)
	j.count += len(p.Messages)
	j.st.Saved()
	for c := range j.ledger.every {
		if c.listed {
			c.listed, c.shared = false, true
		}
	}
	return p, nil
}

// putBack returns a batch that could not be committed to the run, before everything newer.
func (j *journal) putBack(p *commitBatch) {
	j.count = p.Expect
	j.conv.added, p.Messages = append(p.Messages, j.conv.added...), j.conv.added
	j.ledger.changed, p.Calls = append(p.Calls, j.ledger.changed...), j.ledger.changed
	j.unsaved = overlaid(p.State, j.unsaved)
	j.read = append(p.Read, j.read...)
	j.out.putBack(p)
	p.free()
}

// overlaid returns changes with later ones replacing those of the same key.
func overlaid(changes, later []state.Change) []state.Change {
	if len(changes) == 0 {
		return later
	}
	for _, ch := range later {
		if i := slices.IndexFunc(changes, func(o state.Change) bool { return o.Key == ch.Key && o.Scope == ch.Scope }); i >= 0 {
			changes[i] = ch
		} else {
			changes = append(changes, ch)
		}
	}
	return changes
}

// flushTries is how often a run that is about to park or end tries to empty its outbox.
const flushTries = 5

// flush commits and sends the outbox, with the record as it was before the run parks or ends: if
// the process dies here, the next owner sends it again. Items that cannot be sent are left to the
// thread's next run.
func (j *journal) flush(ctx context.Context, before *runStatus) error {
	for try := 0; j.sender.unsent > 0 && try < flushTries; try++ {
		if try > 0 {
			select {
			case <-time.After(50 * time.Millisecond << try):
			case <-ctx.Done():
				return context.Cause(ctx)
			}
		}
		after := statusOf(j.rec)
		before.restore(j.rec)
		err := j.commit(ctx, commitOptions{})
		after.restore(j.rec)
		if err != nil {
			return err
		}
	}
	return nil
}

// mark returns a position for recorder.undo, once nothing is in flight. A commit must follow at
// once.
func (j *journal) mark() (mark, error) {
	j.takeBack()
	err := j.waitInFlight()
	return j.out.mark(), err
}

// inboxWaits reports whether the inbox was not empty after the last commit.
func (j *journal) inboxWaits() bool {
	if f := j.inFlight; f != nil {
		f.mu.Lock()
		j.unread, f.unread = j.unread || f.unread, false
		f.mu.Unlock()
	}
	return j.unread
}

// scratch is memory that a run borrows until it is over. Only the run's goroutine knows it, so that
// nothing that outlives the run can see the next one's.
type scratch struct {
	rec     awaken.Run
	stream  stream
	entries []awaken.Entry
	held    []deferredEntry
	open    []coalescing
	added   []*llm.Message
	changed []*awaken.CallState
	batch   state.Batch
	over    end // the natural end of the run
	deltas  deltaSlabs
	files   *blob.Attacher // of the stored files that the model was shown; nil if it was shown none
}

var scratches = sync.Pool{New: func() any { return new(scratch) }}

// use lets the run use s.
func (j *journal) use(s *scratch) {
	j.scratch, j.conv.added, j.ledger.changed, j.ledger.batch = s, s.added, s.changed, s.batch
	j.out.entries, j.out.deferred, j.out.open, j.out.deltas = s.entries, s.held, s.open, &s.deltas
}

// giveBack returns the scratch to the pool, unless it is large or still in use.
func (j *journal) giveBack() {
	s := j.scratch
	j.scratch = nil
	if s == nil || len(j.out.entries)+len(j.out.deferred)+len(j.out.open)+len(j.conv.added)+len(j.ledger.changed) > 0 || cap(j.out.entries) > maxPendingEntries || cap(j.out.deferred) > maxPendingEntries {
		return
	}
	j.ledger.batch.Reset()
	calls, deltas := s.stream.open[:0], s.deltas
	clear(calls[:cap(calls)])
	deltas.text.trim()
	deltas.reason.trim()
	deltas.args.trim()
	*s = scratch{} // in place, because a composite literal would be built on the stack first
	s.stream.open, s.deltas = calls, deltas
	s.entries, s.held, s.open, s.added, s.changed, s.batch = j.out.entries, j.out.deferred, j.out.open, j.conv.added, j.ledger.changed, j.ledger.batch
	scratches.Put(s)
}

// commitBatch is one commit. The run's goroutine collects it. Then it is independent of the run:
// it owns its lists, and their contents no longer change.
type commitBatch struct {
	awaken.Commit
	seq  uint64 // of its last event
	size int    // bytes of text in its events
}

var batches = sync.Pool{New: func() any { return new(commitBatch) }}

// free returns the batch to the pool, unless it has become large.
func (p *commitBatch) free() {
	if cap(p.Entries) > maxPendingEntries {
		return
	}
	clear(p.Messages)
	clear(p.Calls)
	clear(p.Entries)
	messages, calls, entries := p.Messages[:0], p.Calls[:0], p.Entries[:0]
	*p = commitBatch{} // in place, because a composite literal would be built on the stack first
	p.Messages, p.Calls, p.Entries = messages, calls, entries
	batches.Put(p)
}

// full reports whether the batch should not grow any more.
func (p *commitBatch) full() bool {
	return p.size > maxPendingBytes || len(p.Entries) > maxPendingEntries
}

// add appends a later batch.
func (p *commitBatch) add(q *commitBatch) {
	p.Messages = append(p.Messages, q.Messages...)
	p.Calls = append(p.Calls, q.Calls...) // each belongs to another step
	p.Entries = append(p.Entries, q.Entries...)
	p.Read = append(p.Read, q.Read...)
	p.State = overlaid(p.State, q.State)
	p.Run, p.Time, p.seq, p.size = q.Run, q.Time, q.seq, p.size+q.size
	q.free()
}
