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
	// AtEnd says that the cursor was the end of what is stored when the thread was last looked at.
	// The reader then does not read the store before something happens: this process publishes an
	// entry, or Options.Poll has passed. See [Log.Watch].
	AtEnd bool
}

// Watch keeps what this process publishes on a thread from now on, until release is called, for a
// reader that begins meanwhile.
func (l *Log) Watch(threadID string) (release func()) {
	l.mu.Lock()
	defer l.mu.Unlock()
	l.get(threadID).watchers++
	return func() {
		l.mu.Lock()
		defer l.mu.Unlock()
		v := l.get(threadID)
		v.watchers--
		l.drop(threadID, v)
	}
}

// Tail yields the entries of a thread after a cursor, one for each delta, and waits for more until
// ctx is done. The zero cursor is the beginning, even of a thread that does not exist yet. If the
// thread is deleted, a reader that has read part of it gets ErrNotFound. If entries before the
// cursor were lost, the reader gets a stream_reset first.
func (l *Log) Tail(ctx context.Context, threadID string, after awaken.Cursor, f Follow) iter.Seq2[awaken.Entry, error] {
	return func(yield func(awaken.Entry, error) bool) {
		t := tail{log: l, ctx: ctx, thread: threadID, at: after, sure: f.AtEnd, follow: f, yield: yield}
		l.mu.Lock()
		l.get(threadID).watchers++
		l.mu.Unlock()
		defer t.leave()
		if err := t.run(); err != nil && !errors.Is(err, errOver) {
			yield(awaken.Entry{}, err)
		}
	}
}

// errOver ends a tail without an error.
var errOver = errors.New("over")

// tail is one reader.
type tail struct {
	log    *Log
	ctx    context.Context
	thread string
	at     awaken.Cursor // of the last entry yielded, or to start from
	follow Follow
	yield  func(awaken.Entry, error) bool
	batch  []awaken.Entry
	polls  bool // polls the store for all watchers of the thread
	ask    bool // read the store, whatever is in memory
	behind bool // the next entry is in neither memory nor the store yet
	gave   bool // an entry was yielded
	gone   bool // the thread was deleted
	sure   bool // the cursor is where the stored log ended
	empty  bool // nothing is in memory
}

// leave ends the reader.
func (t *tail) leave() {
	giveBack(&t.batch)
	l := t.log
	l.mu.Lock()
	defer l.mu.Unlock()
	v := l.get(t.thread)
	v.watchers--
	t.stopPolling(v)
	l.drop(t.thread, v)
}

// stopPolling leaves polling to another watcher. Requires t.log.mu.
func (t *tail) stopPolling(v *live) {
	if t.polls {
		t.polls, v.polling = false, false
		v.waiting = true
		v.notify()
	}
}

// run yields entries: from memory, as long as they directly follow the cursor, and otherwise from
// the store.
func (t *tail) run() error {
	read := -1 // version of the live part when the store was last read to its end
	for {
		live, current, version, changed := t.look(read)
		if t.gone {
			return fmt.Errorf("thread %s was deleted: %w", t.thread, awaken.ErrNotFound)
		}
		if live {
			read = -1
			for _, e := range t.batch {
				if err := t.deliver(e); err != nil {
					return err
				}
			}
			continue
		}
		if read != version && (!current || t.ask) && (t.ask || !t.sure || !t.empty) {
			t.ask, t.sure = false, false
			if err := t.readCommitted(); err != nil {
				return err
			}
			if t.follow.Committed {
				return errOver
			}
			read = version
			continue
		}
		if t.follow.Pause > 0 && !t.yield(awaken.Entry{}, nil) {
			return errOver
		}
		if err := t.wait(changed); err != nil {
			return err
		}
		read = -1
	}
}

// maxBatch is how many entries a reader takes from memory at a time.
const maxBatch = 128

// look finds the entries after the cursor in memory. current means that there is nothing more
// anywhere. read is the version at which the store was found to agree with the cursor.
func (t *tail) look(read int) (found, current bool, version int, changed <-chan struct{}) {
	t.log.mu.Lock()
	defer t.log.mu.Unlock()
	v := t.log.get(t.thread)
	waiting := v.waiting
	v.waiting = true // reset below if there is an entry
	t.batch = t.batch[:0]
	t.behind, t.gone, t.empty = false, v.gone && t.at != (awaken.Cursor{}), len(v.entries) == 0
	if t.follow.Committed || len(v.entries) == 0 {
		return false, false, v.version, v.changed
	}
	i := int(t.at.Seq + 1 - v.entries[0].Seq) // entries have no gaps
	if t.at.Seq+1 < v.entries[0].Seq || i > len(v.entries) {
		t.behind = t.at.Seq+1 < v.entries[0].Seq && v.running > 0
		return false, false, v.version, v.changed
	}
	// An owner that came after the end was known begins there, or later.
	next := t.sure && i < len(v.entries) && v.entries[i].Epoch > t.at.Epoch
	same := next || i == 0 && read == v.version || t.at == (awaken.Cursor{}) || i > 0 && v.entries[i-1].Epoch == t.at.Epoch || i < len(v.entries) && v.entries[i].Epoch == t.at.Epoch
	if !same {
		return false, false, v.version, v.changed
	}
	if found := v.entries[i:min(i+maxBatch, len(v.entries))]; len(found) > 0 {
		if t.batch == nil {
			t.batch = *entrySlices.Get().(*[]awaken.Entry)
		}
		t.batch, v.waiting = append(t.batch, found...), waiting
	}
	return len(t.batch) > 0, v.running > 0, v.version, v.changed
}

// wait returns when there may be something new. One of the watchers polls the store for all, to
// find what other processes have committed.
func (t *tail) wait(changed <-chan struct{}) error {
	giveBack(&t.batch) // not needed while waiting
	t.log.mu.Lock()
	v := t.log.get(t.thread)
	if !t.polls && !v.polling {
		t.polls, v.polling = true, true
	}
	every := t.log.opts.Poll
	if v.running > 0 {
		every *= 5 // this process runs the thread, but another one may have taken over
	}
	t.log.mu.Unlock()
	var tick <-chan time.Time
	switch {
	case t.behind: // the next commit brings it; not every change is a commit
		tick, changed = time.After(t.log.opts.Poll/20), nil
	case t.polls:
		tick = time.After(every)
	}
	var pause <-chan time.Time
	if t.follow.Pause > 0 {
		every := t.follow.Pause
		if t.follow.First > 0 && !t.gave {
			every = t.follow.First
		}
		pause = time.After(every)
	}
	select {
	case <-changed:
	case <-tick:
		t.ask = true
	case <-pause:
	case <-t.ctx.Done():
		return errOver
	}
	return nil
}

// share passes entries found in the store to all watchers, and leaves polling to the next that
// waits: this one may be slow to consume them.
func (t *tail) share(found []awaken.Entry) {
	t.log.mu.Lock()
	defer t.log.mu.Unlock()
	v := t.log.get(t.thread)
	for _, e := range found {
		n := len(v.entries)
		known := n > 0 && v.entries[n-1].Epoch >= e.Epoch && (v.running > 0 || v.entries[n-1].Seq >= e.Seq)
		if e.Seq > t.at.Seq && !known {
			v.add(e, t.log.opts.Buffer)
		}
	}
	if len(found) > 0 {
		t.stopPolling(v)
	}
}

// entries reads the store. Not many readers of a log do so at a time, so that the readers of other logs
// need not wait for all of them.
func (t *tail) entries(q awaken.EntryQuery) ([]awaken.Entry, error) {
	select {
	case t.log.reads <- struct{}{}:
		defer func() { <-t.log.reads }()
		return t.log.store.Entries(t.ctx, t.thread, q)
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
		if t.polls {
			t.share(parts)
		}
		for _, e := range parts {
			if err := t.deliver(e); err != nil {
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
	t.log.mu.Lock()
	defer t.log.mu.Unlock()
	v := t.log.get(t.thread)
	v.gone = true
	v.notify()
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
func (t *tail) deliver(e awaken.Entry) error {
	if e.Seq <= t.at.Seq {
		return nil
	}
	t.at, t.sure = e.Cursor, false
	if t.follow.RunID != "" && e.RunID != t.follow.RunID {
		return nil
	}
	t.gave = true
	if !t.yield(e, nil) {
		return errOver
	}
	if fin, ok := e.Event.(*awaken.RunFinish); ok && t.follow.RunID != "" && fin.Termination.Type != awaken.Suspended {
		return errOver
	}
	return nil
}
