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
	"github.com/awaken-go/awaken/llm"
	"github.com/awaken-go/awaken/state"
)

// journal is what the next commit holds, and makes commits.
type journal struct {
	*core

	count     int            // messages in the log, once what was handed over is committed
	found     int            // messages in the log when the run was taken up
	unsaved   []state.Change // of commits that failed: the state takes them to be saved
	read      []string       // items of the inbox
	unread    bool           // after the last commit, the inbox holds something
	commits   uint64         // how many were made; belongs to the goroutine that makes one
	pipelined bool           // steps that only read are committed beside the run
	inFlight  inFlightCommits
	scratch   *scratch
}

type commitOptions struct {
	begins            bool // a tool is about to begin
	requireEmptyInbox bool // the run parks or ends
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
	if cause := context.Cause(j.ctx); errors.Is(cause, awaken.ErrFenced) {
		return cause // whoever gave up the thread for us may be right or wrong, we do not write
	}
	j.active.posted.Store(false) // the commit tells
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

// publish sends the events that were held for a commit that has been made.
func (j *journal) publish(ctx context.Context, p *commitBatch) {
	j.out.committed(ctx, p.seq)
	p.free()
	atPublished.Hit()
}

// write gives a commit its number and makes it. One at a time is made: by the run, or
// beside it.
func (j *journal) write(ctx context.Context, c *awaken.Commit) error {
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

// commitAgain repeats a commit whose outcome is not known: a store that has it says
// so. If that does not help either its number is given up, so that no store mistakes
// what is committed next for the same.
func (j *journal) commitAgain(ctx context.Context, c *awaken.Commit) error {
	ctx, cancel := j.graceContext(ctx)
	defer cancel()
	err := j.rt.cfg.Store.Commit(ctx, c)
	if err != nil && !refused(err) {
		j.commits++
	}
	return err
}

// refused reports whether an error of Commit says that nothing was committed.
// After any other the outcome is not known.
func refused(err error) bool {
	return isAny(err, awaken.ErrFenced, awaken.ErrGeneration, awaken.ErrConflict, awaken.ErrUnread, awaken.ErrInvalid, awaken.ErrNotFound)
}

// isAny reports whether err is one of targets.
func isAny(err error, targets ...error) bool {
	return slices.ContainsFunc(targets, func(target error) bool { return errors.Is(err, target) })
}

// storeError is an error of the store. Its text is for whoever runs the process, and not
// for whoever reads the run.
type storeError struct{ error }

func (e storeError) Unwrap() error { return e.error }

// heedSink cancels the run when its sink has failed.
func (j *journal) cancelIfSinkFailed() {
	if err := j.out.failed(); err != nil && j.ctx.Err() == nil {
		j.active.cancel(fmt.Errorf("%w: %w", awaken.ErrCancelled, err))
	}
}

// pack takes everything since the last commit out of the run.
func (j *journal) collect(o commitOptions) (*commitBatch, error) {
	changes, err := j.st.Changes()
	if err != nil {
		return nil, err
	}
	now := j.rt.cfg.Now()
	j.rec.UpdatedAt = now.Unix()
	if first := j.count + 1; len(j.conv.added) > 0 && first > j.rec.Input.ToSeq {
		j.rec.Output = llm.Interval{FromSeq: cmp.Or(j.rec.Output.FromSeq, first), ToSeq: j.count + len(j.conv.added)}
	}
	p := batches.Get().(*commitBatch)
	p.ThreadID, p.Fence, p.Generation = j.info.ThreadID, j.fence, j.generation
	p.Begins, p.Rest, p.Time, p.Expect = o.begins, o.requireEmptyInbox, now.UnixMilli(), j.count
	p.Run, p.ParentThreadID = j.rec, j.info.ParentThreadID
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

// unpack puts what could not be committed back, in front of what came after it.
func (j *journal) putBack(p *commitBatch) {
	j.count = p.Expect
	j.conv.added, p.Messages = append(p.Messages, j.conv.added...), j.conv.added
	j.ledger.changed, p.Calls = append(p.Calls, j.ledger.changed...), j.ledger.changed
	j.unsaved = overlaid(p.State, j.unsaved)
	j.read = append(p.Read, j.read...)
	j.out.putBack(p)
	p.free()
}

// overlaid returns changes with later ones laid over them.
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

// flushTries is how often a run that is about to rest tries to send what it has to.
const flushTries = 5

// flush commits and sends what the outbox holds, with the record as it was before the run
// was about to rest or end: if it is cut off here, whoever goes on with it sends it again.
// What cannot be sent is left for the thread's next run.
func (j *journal) flush(ctx context.Context, before awaken.Run) error {
	for try := 0; j.sender.unsent > 0 && try < flushTries; try++ {
		if try > 0 {
			select {
			case <-time.After(50 * time.Millisecond << try):
			case <-ctx.Done():
				return context.Cause(ctx)
			}
		}
		rec := j.rec
		restoreStatus(&j.rec, &before)
		err := j.commit(ctx, commitOptions{})
		restoreStatus(&j.rec, &rec)
		if err != nil {
			return err
		}
	}
	return nil
}

// mark returns a place to go back to, once nothing is in flight. A commit must follow at
// once.
func (j *journal) mark() (mark, error) {
	j.takeBack()
	err := j.waitInFlight()
	return j.out.mark(), err
}

// inboxWaits reports whether the inbox holds something, as far as the commits that have
// been made tell.
func (j *journal) inboxWaits() bool {
	if f := &j.inFlight; f.used {
		f.mu.Lock()
		j.unread, f.unread = j.unread || f.unread, false
		f.mu.Unlock()
	}
	return j.unread
}

// scratch is the memory a run needs between two commits, lent to it for its time.
type scratch struct {
	entries []awaken.Entry
	held    []deferredEntry
	open    []coalescing
	added   []*llm.Message
	changed []*awaken.CallState
	batch   state.Batch
}

var scratches = sync.Pool{New: func() any { return new(scratch) }}

// borrow gives a run its scratch.
func (j *journal) borrow() {
	s := scratches.Get().(*scratch)
	j.scratch, j.conv.added, j.ledger.changed, j.ledger.batch = s, s.added, s.changed, s.batch
	j.out.entries, j.out.deferred, j.out.open = s.entries, s.held, s.open
}

// giveBack returns it, unless the run made it large or was cut off in the middle.
func (j *journal) giveBack() {
	s := j.scratch
	j.scratch = nil
	if s == nil || len(j.out.entries)+len(j.out.deferred)+len(j.out.open)+len(j.conv.added)+len(j.ledger.changed) > 0 || cap(j.out.entries) > maxPendingEntries || cap(j.out.deferred) > maxPendingEntries {
		return
	}
	j.ledger.batch.Reset()
	*s = scratch{j.out.entries, j.out.deferred, j.out.open, j.conv.added, j.ledger.changed, j.ledger.batch}
	scratches.Put(s)
}

// parcel is what a commit holds. The run's goroutine packs it, and it can then travel
// without the run: its lists are its own, and what is in them does not change any more.
type commitBatch struct {
	awaken.Commit
	seq  uint64 // of the last event in it
	size int    // bytes of text in its events
}

var batches = sync.Pool{New: func() any { return new(commitBatch) }}

// free gives a parcel back, unless it has become large.
func (p *commitBatch) free() {
	if cap(p.Entries) > maxPendingEntries {
		return
	}
	clear(p.Messages)
	clear(p.Calls)
	clear(p.Entries)
	*p = commitBatch{Commit: awaken.Commit{Messages: p.Messages[:0], Calls: p.Calls[:0], Entries: p.Entries[:0]}}
	batches.Put(p)
}

// full reports whether so much is in it that it should not be more.
func (p *commitBatch) full() bool {
	return p.size > maxPendingBytes || len(p.Entries) > maxPendingEntries
}

// add adds what came after.
func (p *commitBatch) add(q *commitBatch) {
	p.Messages = append(p.Messages, q.Messages...)
	p.Calls = append(p.Calls, q.Calls...) // each is of another step
	p.Entries = append(p.Entries, q.Entries...)
	p.Read = append(p.Read, q.Read...)
	p.State = overlaid(p.State, q.State)
	p.Run, p.Time, p.seq, p.size = q.Run, q.Time, q.seq, p.size+q.size
	q.free()
}
