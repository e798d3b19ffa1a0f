// Package eventlog reads and follows the log of events of a thread.
//
// Everything a run has committed is in its store; what it has said since is only in
// the process that runs it. A [Log] puts the two together: runs send their events
// through [Log.Sink], and any number of readers follow a thread from any cursor with
// [Log.Tail]. A reader that was cut off resumes with the cursor of the last entry it
// saw, also in the middle of a streamed answer, also in another process:
//
//	log := eventlog.New(store, nil)
//	go rt.Run(ctx, req, log.Sink(nil))
//	for e, err := range log.Tail(ctx, threadID, after, eventlog.Follow{}) {
//		…
//		after = e.Cursor
//	}
//
// Readers pull. A slow one holds up nobody and costs its cursor; what it missed of
// the live part it reads from the store once it is committed. If the process that
// ran a step dies before the step is committed, readers who had seen parts of it get
// a stream_reset that names the cursor to fall back to, and then what really
// happened.
package eventlog

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"iter"
	"slices"
	"sort"
	"sync"
	"time"

	"github.com/awaken-go/awaken"
)

// Options bound what a Log holds. Zero fields have their defaults.
type Options struct {
	Buffer int           // latest entries of a thread that are kept for its readers; default 1024
	Page   int           // entries read from the store at a time; default 256
	Poll   time.Duration // how often the store is asked about runs of other processes; default 1 second
}

// Log follows the logs of threads. It is safe for concurrent use.
type Log struct {
	store awaken.EventLog
	opts  Options

	mu   sync.Mutex
	live map[string]*live // thread ID -> what this process knows of it
}

// live is the end of a thread's log, as far as this process has seen it happen. It is
// there while somebody writes or reads.
type live struct {
	entries  []awaken.Entry // the latest, without a gap
	version  int            // grows when entries are more than added to
	running  int            // activations that write
	watchers int
	polling  bool          // one of the watchers asks the store for all
	waiting  bool          // one of the watchers has all there is
	gone     bool          // the thread was removed, and those who have read of it are done
	changed  chan struct{} // closed when there is something new
}

// New returns a Log over what store has committed. Opts may be nil.
func New(store awaken.EventLog, opts *Options) *Log {
	l := &Log{store: store, live: map[string]*live{}}
	if opts != nil {
		l.opts = *opts
	}
	if l.opts.Buffer <= 0 {
		l.opts.Buffer = 1024
	}
	l.opts.Buffer = max(l.opts.Buffer, 2)
	if l.opts.Page <= 0 {
		l.opts.Page = 256
	}
	if l.opts.Poll <= 0 {
		l.opts.Poll = time.Second
	}
	return l
}

// Sink is where one run sends its events.
type Sink struct {
	log    *Log
	next   awaken.Sink
	thread string
}

// Sink returns a sink for one run: readers see its events as they happen. Next gets
// every event too, if it is not nil. The sink never blocks on readers. If the run ends
// without a run_finish, because another owner took its thread, Close says so.
func (l *Log) Sink(next awaken.Sink) *Sink { return &Sink{log: l, next: next} }

// Emit takes in an event. The first of an activation is its run_start, which names
// the thread.
func (s *Sink) Emit(ctx context.Context, e awaken.Entry) error {
	if start, ok := e.Event.(*awaken.RunStart); ok {
		if s.thread == "" {
			s.log.open(start.ThreadID)
		}
		s.thread = start.ThreadID
	}
	if s.thread != "" && e.Cursor == (awaken.Cursor{}) {
		s.Close() // its end is not stored, and somebody else may yet go on
	}
	if s.thread != "" {
		s.log.append(s.thread, e)
		if _, over := e.Event.(*awaken.RunFinish); over {
			s.log.done(s.thread, true)
			s.thread = ""
		}
	}
	if s.next == nil {
		return nil
	}
	err := s.next.Emit(ctx, e)
	if err != nil { // nothing more will come
		s.Close()
	}
	return err
}

// Close takes back what the run has not committed, if it has not finished. Readers
// find what there is in the store.
func (s *Sink) Close() {
	if s.thread != "" {
		s.log.done(s.thread, false)
		s.thread = ""
	}
}

func (l *Log) open(threadID string) {
	l.mu.Lock()
	defer l.mu.Unlock()
	l.get(threadID).running++
}

// get returns the live part of a thread. Requires l.mu.
func (l *Log) get(threadID string) *live {
	v := l.live[threadID]
	if v == nil {
		v = &live{changed: make(chan struct{})}
		l.live[threadID] = v
	}
	return v
}

// drop forgets a live part that nobody needs. Requires l.mu.
func (l *Log) drop(threadID string, v *live) {
	if v.running == 0 && v.watchers == 0 {
		delete(l.live, threadID)
		giveBack(&v.entries)
	}
}

// entrySlices are lists of entries that nobody uses.
var entrySlices = sync.Pool{New: func() any { s := make([]awaken.Entry, 0, maxBatch); return &s }}

func giveBack(s *[]awaken.Entry) {
	if cap(*s) == maxBatch { // others were never lent, or have grown
		list := (*s)[:cap(*s)]
		clear(list)
		list = list[:0]
		entrySlices.Put(&list)
	}
	*s = nil
}

// tell wakes the watchers. Requires l.mu.
func (v *live) tell() {
	if v.waiting {
		close(v.changed)
		v.changed, v.waiting = make(chan struct{}), false
	}
}

func (l *Log) append(threadID string, e awaken.Entry) {
	l.mu.Lock()
	defer l.mu.Unlock()
	v := l.get(threadID)
	v.add(e, l.opts.Buffer)
	v.tell()
}

// add adds an entry. It takes the place of what another owner said and lost.
func (v *live) add(e awaken.Entry, limit int) {
	n := len(v.entries)
	for n > 0 && v.entries[n-1].Seq >= e.Seq {
		n--
	}
	if n > 0 && v.entries[n-1].Seq+1 != e.Seq {
		n = 0
	}
	if n < len(v.entries) || n > 0 && v.entries[n-1].Epoch != e.Epoch || n == 0 {
		v.version++
	}
	if n == limit {
		n = copy(v.entries, v.entries[limit/2:])
	}
	if v.entries == nil {
		v.entries = *entrySlices.Get().(*[]awaken.Entry)
	}
	clear(v.entries[n:])
	v.entries, v.gone = append(v.entries[:n], e), false
}

func (l *Log) done(threadID string, finished bool) {
	l.mu.Lock()
	defer l.mu.Unlock()
	v := l.get(threadID)
	v.running--
	if !finished {
		v.entries = nil
		v.version++
	}
	v.tell()
	l.drop(threadID, v)
}

// Follow says what a reader wants.
type Follow struct {
	// RunID selects the events of one run. The sequence then ends with the run: at
	// the run_finish that is not suspended.
	RunID string
	// Committed ends the sequence when everything that was committed has been read,
	// instead of waiting for more.
	Committed bool
	// Pause, if set, yields an entry without an event whenever the reader has all there
	// is, and again after every Pause in which nothing comes. It is when to flush, and
	// to see whether somebody still listens.
	Pause time.Duration
	// First, if set, is the Pause until the first entry comes.
	First time.Duration
}

// Tail yields the entries of a thread after a cursor, each delta on its own, and
// waits for more until ctx is done. The zero cursor is the beginning, also of a thread
// that is not there yet; whoever has read of a thread that is removed gets ErrNotFound.
// A cursor that saw something which was lost gets a stream_reset first.
func (l *Log) Tail(ctx context.Context, threadID string, after awaken.Cursor, f Follow) iter.Seq2[awaken.Entry, error] {
	return func(yield func(awaken.Entry, error) bool) {
		t := tail{log: l, ctx: ctx, thread: threadID, at: after, follow: f, yield: yield}
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
	at     awaken.Cursor // of the last entry yielded, or to go on from
	follow Follow
	yield  func(awaken.Entry, error) bool
	batch  []awaken.Entry
	polls  bool // for all who watch the thread
	ask    bool // the store has to be asked, whatever is known here
	behind bool // what comes next is neither here nor in the store yet
	gave   bool // something was yielded
	gone   bool // the thread was removed
}

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

// stopPolling leaves it to somebody else to ask the store. Requires t.log.mu.
func (t *tail) stopPolling(v *live) {
	if t.polls {
		t.polls, v.polling = false, false
		v.waiting = true
		v.tell()
	}
}

// run reads what there is: from memory, as long as that follows on what the reader has,
// and otherwise from the store.
func (t *tail) run() error {
	read := -1 // the version of what is in memory when the store was last read up to its end
	for {
		live, current, version, changed := t.look(read)
		if t.gone {
			return fmt.Errorf("thread %s was removed: %w", t.thread, awaken.ErrNotFound)
		}
		if live {
			read = -1
			for _, e := range t.batch {
				if err := t.give(e); err != nil {
					return err
				}
			}
			continue
		}
		if read != version && (!current || t.ask) {
			t.ask = false
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

// maxBatch is how many entries a reader takes at a time. One that stalls holds no more.
const maxBatch = 128

// look finds what follows on the cursor in memory. Current means that there is nothing
// more anywhere: the last that happened is what the reader has. Read is the version that
// was there when the store was found not to contradict the cursor.
func (t *tail) look(read int) (found, current bool, version int, changed <-chan struct{}) {
	t.log.mu.Lock()
	defer t.log.mu.Unlock()
	v := t.log.get(t.thread)
	if t.batch == nil && !t.follow.Committed {
		t.batch = *entrySlices.Get().(*[]awaken.Entry)
	}
	waiting := v.waiting
	v.waiting = true // unless there is something
	t.batch = t.batch[:0]
	t.behind, t.gone = false, v.gone && t.at != (awaken.Cursor{})
	if t.follow.Committed || len(v.entries) == 0 {
		return false, false, v.version, v.changed
	}
	i := int(t.at.Seq + 1 - v.entries[0].Seq) // entries have no gaps
	if t.at.Seq+1 < v.entries[0].Seq || i > len(v.entries) {
		t.behind = t.at.Seq+1 < v.entries[0].Seq && v.running > 0
		return false, false, v.version, v.changed
	}
	same := i == 0 && read == v.version || t.at == (awaken.Cursor{}) || i > 0 && v.entries[i-1].Epoch == t.at.Epoch || i < len(v.entries) && v.entries[i].Epoch == t.at.Epoch
	if !same {
		return false, false, v.version, v.changed
	}
	if t.batch = append(t.batch, v.entries[i:min(i+maxBatch, len(v.entries))]...); len(t.batch) > 0 {
		v.waiting = waiting
	}
	return len(t.batch) > 0, v.running > 0, v.version, v.changed
}

// wait returns when there may be something new. What other processes do is found out by
// asking the store, which one of the watchers does for all.
func (t *tail) wait(changed <-chan struct{}) error {
	giveBack(&t.batch) // who waits needs none
	t.log.mu.Lock()
	v := t.log.get(t.thread)
	if !t.polls && !v.polling {
		t.polls, v.polling = true, true
	}
	every := t.log.opts.Poll
	if v.running > 0 {
		every *= 5 // what happens here is known; but another process may have taken over
	}
	t.log.mu.Unlock()
	var tick <-chan time.Time
	switch {
	case t.behind: // a commit will bring it, and not every change is one
		timer := time.NewTimer(t.log.opts.Poll / 20)
		defer timer.Stop()
		tick, changed = timer.C, nil
	case t.polls:
		timer := time.NewTimer(every)
		defer timer.Stop()
		tick = timer.C
	}
	var pause <-chan time.Time
	if t.follow.Pause > 0 {
		every := t.follow.Pause
		if t.follow.First > 0 && !t.gave {
			every = t.follow.First
		}
		timer := time.NewTimer(every)
		defer timer.Stop()
		pause = timer.C
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

// share shows what one has found in the store to all who watch, and leaves the next
// look to whoever waits next: the one who has found it may be slow to take it.
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

// readCommitted yields what the store holds behind the cursor. Coalesced entries
// overlap, so the deltas of a page are put in order first; and of a full page only
// those that no later entry can come before are taken.
func (t *tail) readCommitted() error {
	if err := t.checkLost(); err != nil {
		return err
	}
	limit := t.log.opts.Page
	for {
		page, err := t.log.store.Entries(t.ctx, t.thread, awaken.EntryQuery{After: t.at.Seq, Limit: limit})
		if errors.Is(err, awaken.ErrNotFound) {
			t.missing()
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
			// Another owner has come, perhaps since the last look.
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
			if err := t.give(e); err != nil {
				return err
			}
		}
		if !full {
			return nil
		}
		if t.at == before { // nothing but streams that began before the cursor
			limit *= 2
		}
	}
}

// missing deals with a thread that is not there: it may come yet, but if the reader has
// had something of it, it was removed.
func (t *tail) missing() {
	if t.at == (awaken.Cursor{}) {
		return
	}
	t.log.mu.Lock()
	defer t.log.mu.Unlock()
	v := t.log.get(t.thread)
	v.gone = true
	v.tell()
}

// checkLost looks whether the cursor is behind what the owner of its epoch could
// commit before another took over. If so it goes back to where the other began.
func (t *tail) checkLost() error {
	if t.at == (awaken.Cursor{}) {
		return nil
	}
	later, err := t.log.store.Entries(t.ctx, t.thread, awaken.EntryQuery{Epoch: t.at.Epoch, Limit: 1})
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
	// Go on in the new epoch, so that the reset is not said again.
	t.at.Epoch = first.Epoch
	return nil
}

// give yields one entry, unless the reader has it or does not want it.
func (t *tail) give(e awaken.Entry) error {
	if e.Seq <= t.at.Seq {
		return nil
	}
	t.at = e.Cursor
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
