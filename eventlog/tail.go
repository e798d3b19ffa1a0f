package eventlog

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"iter"
	"slices"
	"sort"
	"time"

	"github.com/awaken-go/awaken"
	"github.com/awaken-go/awaken/internal/fault"
)

// Follow selects what a reader gets.
type Follow struct {
	// RunID selects the events of one run. The sequence then ends with the run: at its run_finish,
	// unless that is suspended.
	RunID string
	// Committed ends the sequence when everything committed has been read, instead of waiting for
	// more.
	Committed bool
	// Pause, if set, yields an entry without an event whenever the reader has read everything, and
	// again after every Pause without an entry. The reader can use it to flush, and to check that
	// its client is still connected.
	Pause time.Duration
	// First, if set, replaces Pause until the first entry.
	First time.Duration
	// Collect, if set, makes the reader wait that long after it has read everything before it gets
	// more deltas, so that it gets several at once. Other entries do not wait, nor does the first
	// delta after a pause.
	Collect time.Duration
	// AtEnd says that the cursor was the end of what is stored when the thread was last looked at.
	// The reader then does not read the store before something happens: this process publishes an
	// entry, or Options.Poll has passed. See [Log.Watch].
	AtEnd bool
}

// Watch keeps what this process publishes on a thread from now on, until release is called, for a
// reader that begins meanwhile.
func (l *Log) Watch(threadID string) (release func()) {
	v := l.acquire(threadID)
	v.watch(1)
	return func() {
		v.watch(-1)
		l.release(v)
	}
}

// Tail yields the entries of a thread after a cursor, one for each delta, and waits for more until
// ctx is done. The zero cursor is the beginning, even of a thread that does not exist yet. If the
// thread is deleted, a reader that has read part of it gets ErrNotFound. If entries before the
// cursor were lost, the reader gets a stream_reset first. A reader that follows the log waits while
// the store cannot be read; with Follow.Committed, the outage is its error.
//
//go:noinline
func (l *Log) Tail(ctx context.Context, threadID string, after awaken.Cursor, f Follow) iter.Seq2[awaken.Entry, error] {
	return func(yield func(awaken.Entry, error) bool) {
		t := l.newTail(ctx, threadID, after, &f, yield)
		defer t.leave()
		if err := t.run(); err != nil && !errors.Is(err, errOver) {
			t.fail(err)
		}
	}
}

// newTail begins a reader. Neither it nor Tail is inlined: most readers wait most of the time, and the size of the frames below
// them decides how much memory they take.
//
//go:noinline
func (l *Log) newTail(ctx context.Context, threadID string, after awaken.Cursor, f *Follow, yield func(awaken.Entry, error) bool) *tail {
	t := &tail{log: l, ctx: ctx, live: l.acquire(threadID), at: after, sure: f.AtEnd, follow: *f, yield: yield, waiter: waiter{wake: make(chan struct{}, 1)}}
	t.live.watch(1)
	t.unsignal = context.AfterFunc(ctx, t.signal)
	return t
}

// errOver ends a tail without an error.
var errOver = errors.New("over")

// tail is one reader.
type tail struct {
	log    *Log
	ctx    context.Context
	live   *live
	at     awaken.Cursor // of the last entry yielded, or to start from
	follow Follow
	yield  func(awaken.Entry, error) bool
	batch  []awaken.Entry
	pair   [2]awaken.Entry // backs a small batch
	ask    bool            // read the store, whatever is in memory
	behind bool            // the next entry is in neither memory nor the store yet
	gave   bool            // an entry was yielded
	gone   bool            // the thread was deleted
	sure   bool            // the cursor is where the stored log ended
	empty  bool            // nothing is in memory

	unsignal func() bool // ends the signals of ctx
	waiter
}

// leave ends the reader.
func (t *tail) leave() {
	t.unsignal()
	t.emptyBatch()
	t.stopWaiting()
	t.live.watch(-1)
	t.log.release(t.live)
}

// run yields entries: from memory, as long as they directly follow the cursor, and otherwise from
// the store.
func (t *tail) run() error {
	read := -1 // version of the live part when the store was last read to its end
	for {
		live, current, version := t.look(read)
		if t.gone {
			return fmt.Errorf("thread %s was deleted: %w", t.live.thread, awaken.ErrNotFound)
		}
		if live {
			read = -1
			for i := range t.batch {
				if err := t.deliver(&t.batch[i]); err != nil {
					return err
				}
			}
			t.collect = t.follow.Collect > 0
			continue
		}
		if read != version && (!current || t.ask) && (t.ask || !t.sure || !t.empty) {
			t.ask, t.sure, t.since = false, false, time.Time{}
			err := t.readCommitted()
			if fault.OutageOf(err) != nil && !t.follow.Committed {
				if err := t.waitForStore(); err != nil {
					return err
				}
				continue
			}
			if err != nil {
				return err
			}
			if t.follow.Committed {
				return errOver
			}
			read = version
			continue
		}
		if t.follow.Pause > 0 && !t.yieldNothing() {
			return errOver
		}
		if err := t.waitForMore(); err != nil {
			return err
		}
		read = -1
	}
}

// yieldNothing yields no entry. It is not inlined, as newTail is not.
//
//go:noinline
func (t *tail) yieldNothing() bool { return t.yield(awaken.Entry{}, nil) }

// fail yields an error.
//
//go:noinline
func (t *tail) fail(err error) { t.yield(awaken.Entry{}, err) }

// maxBatch is how many entries a reader takes from memory at a time.
const maxBatch = 128

// look finds the entries after the cursor in memory. If there are none, the reader will be woken by the
// next. current means that there is nothing more anywhere. read is the version at which the store was
// found to agree with the cursor.
func (t *tail) look(read int) (found, current bool, version int) {
	v := t.live
	v.mu.Lock()
	defer v.mu.Unlock()
	clear(t.batch)
	t.batch = t.batch[:0]
	t.ask, t.late = t.ask || t.late, false
	t.behind, t.gone, t.empty = false, v.gone && t.at != (awaken.Cursor{}), len(v.entries) == 0
	i := 0
	if !t.empty {
		i = int(t.at.Seq + 1 - v.entries[0].Seq) // entries have no gaps
	}
	switch {
	case t.follow.Committed:
	case t.empty:
		t.enlist()
	case t.at.Seq+1 < v.entries[0].Seq && (v.running > 0 || v.shared.remote):
		t.behind = true
	case t.at.Seq+1 < v.entries[0].Seq || i > len(v.entries) || !t.follows(i, read):
		t.enlist()
	case i == len(v.entries):
		t.enlist()
		return false, v.running > 0 || v.shared.remote, v.version
	default:
		t.passPolling()
		t.take(v.entries[i:min(i+maxBatch, len(v.entries))])
		return true, v.running > 0 || v.shared.remote, v.version
	}
	return false, false, v.version
}

// follows reports whether the live entry at i is the successor of the cursor. Requires t.live.mu.
func (t *tail) follows(i, read int) bool {
	v := t.live
	// Entries of another process may be late: those that were committed later count.
	if t.at == (awaken.Cursor{}) && !v.shared.remote || i == 0 && read == v.version && v.entries[0].Epoch >= t.at.Epoch || i > 0 && v.entries[i-1].Epoch == t.at.Epoch {
		return true
	}
	if i == len(v.entries) {
		return false
	}
	// An owner that came after the end was known begins there, or later.
	return v.entries[i].Epoch == t.at.Epoch || t.sure && v.entries[i].Epoch > t.at.Epoch
}

// take copies entries, which may be replaced once t.live.mu is released.
func (t *tail) take(found []awaken.Entry) {
	if cap(t.batch) < len(found) {
		t.emptyBatch()
		if t.batch = t.pair[:0]; len(found) > len(t.pair) {
			t.batch = *slabs.Get().(*[]awaken.Entry)
		}
	}
	t.batch = append(t.batch, found...)
}

// emptyBatch releases the entries of the last look.
func (t *tail) emptyBatch() {
	giveBack(&t.batch)
	clear(t.pair[:])
}

// share passes entries that the reader found in the store to all readers, if it polls for them. It leaves
// polling to the next that waits: this one may be slow to consume them.
func (t *tail) share(found []awaken.Entry) {
	v := t.live
	v.mu.Lock()
	defer v.mu.Unlock()
	if !t.polls {
		return
	}
	for _, e := range found {
		n := len(v.entries)
		known := n > 0 && v.entries[n-1].Epoch >= e.Epoch && (v.running > 0 || v.entries[n-1].Seq >= e.Seq)
		if e.Seq > t.at.Seq && !known {
			v.add(e)
			v.durable = max(v.durable, e.Seq)
		}
	}
	if len(found) == 0 {
		t.wakeLate()
		return
	}
	t.polls, v.polling = false, false
	v.wake(true)
}

// entries reads the store. Not many readers of a log do so at a time, so that the readers of other logs
// need not wait for all of them.
func (t *tail) entries(q awaken.EntryQuery) ([]awaken.Entry, error) {
	select {
	case t.log.reads <- struct{}{}:
		defer func() { <-t.log.reads }()
		return t.log.store.Entries(t.ctx, t.live.thread, q)
	case <-t.ctx.Done():
		return nil, errOver
	}
}

// readCommitted yields the entries of the store after the cursor. Coalesced entries overlap, so
// the deltas of a page are sorted; of a full page, only those that no later entry can precede are
// used.
func (t *tail) readCommitted() error {
	if err := t.checkLost(); err != nil {
		return err
	}
	limit := t.log.opts.Page
	for {
		page, err := t.entries(awaken.EntryQuery{After: t.at.Seq, Limit: limit})
		if errors.Is(err, awaken.ErrNotFound) {
			t.threadGone()
			return nil
		}
		if err != nil {
			return err
		}
		full := len(page) == limit
		var parts []awaken.Entry
		for i := range page {
			parts = append(parts, page[i].Split()...)
		}
		slices.SortFunc(parts, func(a, b awaken.Entry) int { return cmp.Compare(a.Seq, b.Seq) })
		if full {
			last := page[len(page)-1].Seq
			parts = parts[:sort.Search(len(parts), func(i int) bool { return parts[i].Seq > last })]
		}
		before := t.at
		if n := len(parts); n > 0 && parts[n-1].Epoch > t.at.Epoch {
			// There is a new owner, perhaps since the last look.
			if err := t.checkLost(); err != nil {
				return err
			}
			if t.at.Seq < before.Seq {
				continue
			}
		}
		t.share(parts)
		for i := range parts {
			if err := t.deliver(&parts[i]); err != nil {
				return err
			}
		}
		if !full {
			return nil
		}
		if t.at == before { // only deltas of streams that began before the cursor
			limit *= 2
		}
	}
}

// threadGone handles a thread that does not exist: it may still be created, but if the reader has
// read part of it, it was deleted.
func (t *tail) threadGone() {
	if t.at == (awaken.Cursor{}) {
		return
	}
	t.live.mu.Lock()
	defer t.live.mu.Unlock()
	t.live.gone = true
	t.live.wake(true)
}

// checkLost checks whether the cursor is beyond what the owner of its epoch committed before
// another took over. If so it moves the cursor to where the new owner began, and yields a
// stream_reset.
func (t *tail) checkLost() error {
	if t.at == (awaken.Cursor{}) {
		return nil
	}
	later, err := t.entries(awaken.EntryQuery{Epoch: t.at.Epoch, Limit: 1})
	if errors.Is(err, awaken.ErrNotFound) || err == nil && len(later) == 0 {
		return nil
	}
	if err != nil {
		return err
	}
	first := later[0]
	if first.Seq > t.at.Seq {
		return nil
	}
	t.at = awaken.Cursor{Epoch: t.at.Epoch, Seq: first.Seq - 1}
	reset := awaken.Entry{Cursor: t.at, RunID: first.RunID, Time: first.Time,
		Event: &awaken.StreamReset{Reason: "the step was lost with its owner", Cursor: t.at.String()}}
	if !t.yield(reset, nil) {
		return errOver
	}
	// Continue in the new epoch, so that the reset is not repeated.
	t.at.Epoch = first.Epoch
	return nil
}

// deliver yields one entry, unless the reader has seen it or did not select it.
func (t *tail) deliver(e *awaken.Entry) error {
	if e.Seq <= t.at.Seq {
		return nil
	}
	t.at, t.sure, t.since = e.Cursor, false, time.Time{}
	if t.follow.RunID != "" && e.RunID != t.follow.RunID {
		return nil
	}
	t.gave = true
	if !t.yield(*e, nil) {
		return errOver
	}
	if fin, ok := e.Event.(*awaken.RunFinish); ok && t.follow.RunID != "" && fin.Termination.Type != awaken.Suspended {
		return errOver
	}
	return nil
}
