// Package eventlog reads and follows the event log of a thread.
//
// The store has everything a run has committed; newer events exist only in the process that runs
// it. A [Log] combines the two: runs send their events through [Log.Sink], and any number of
// readers follow a thread from any cursor with [Log.Tail]. A reader that was cut off resumes with
// the cursor of the last entry it saw, even in the middle of a streamed answer and in another
// process:
//
//	log := eventlog.New(store, nil)
//	go rt.Run(ctx, req, log.Sink(nil))
//	for e, err := range log.Tail(ctx, threadID, after, eventlog.Follow{}) {
//		…
//		after = e.Cursor
//	}
//
// Readers pull. A slow reader delays no other and costs only its cursor; live entries it missed it
// reads from the store once they are committed. If a process dies before it commits a step,
// readers that saw part of the step get a stream_reset with the cursor to fall back to, and then
// what the next owner did instead.
package eventlog

import (
	"cmp"
	"sync"
	"time"

	"github.com/awaken-go/awaken"
)

// Options configures a Log. Zero fields have their defaults.
type Options struct {
	Buffer int           // latest entries kept in memory for the readers of a thread; default 1024
	Page   int           // entries read from the store at a time; default 256
	Poll   time.Duration // how often the store is polled for runs of other processes; default 1 second
}

// Log follows the logs of threads. It is safe for concurrent use.
type Log struct {
	store awaken.EventLog
	opts  Options
	reads chan struct{} // has a place for each reader that may read the store at a time

	mu   sync.Mutex
	live map[string]*live // by thread id
}

// live is the end of a thread's log, as far as this process has seen it. It exists while the
// thread has a writer or a reader.
type live struct {
	entries  []awaken.Entry // the latest, without gaps
	version  int            // incremented when entries change other than by appending
	running  int            // activations that write
	watchers int
	polling  bool          // one of the watchers polls the store for all
	waiting  bool          // a watcher has read everything
	gone     bool          // the thread was deleted; its readers end
	changed  chan struct{} // closed when there is something new
}

// maxReads is how many readers of a Log may read the store at a time.
const maxReads = 8

// New returns a Log over the committed entries of store. opts may be nil.
func New(store awaken.EventLog, opts *Options) *Log {
	var o Options
	if opts != nil {
		o = *opts
	}
	o.Buffer = max(2, cmp.Or(max(0, o.Buffer), 1024))
	o.Page = cmp.Or(max(0, o.Page), 256)
	o.Poll = cmp.Or(max(0, o.Poll), time.Second)
	return &Log{store: store, opts: o, reads: make(chan struct{}, maxReads), live: map[string]*live{}}
}

// open counts an activation that writes to a thread.
func (l *Log) open(threadID string) {
	l.mu.Lock()
	defer l.mu.Unlock()
	l.get(threadID).running++
}

// get returns the live part of a thread, and creates it if necessary. Requires l.mu.
func (l *Log) get(threadID string) *live {
	v := l.live[threadID]
	if v == nil {
		v = &live{changed: make(chan struct{})}
		l.live[threadID] = v
	}
	return v
}

// drop deletes a live part without writers and readers. Requires l.mu.
func (l *Log) drop(threadID string, v *live) {
	if v.running == 0 && v.watchers == 0 {
		delete(l.live, threadID)
		giveBack(&v.entries)
	}
}

// entrySlices holds unused lists of entries.
var entrySlices = sync.Pool{New: func() any { s := make([]awaken.Entry, 0, maxBatch); return &s }}

// giveBack returns a list to the pool.
func giveBack(s *[]awaken.Entry) {
	if cap(*s) == maxBatch { // others are not from the pool, or have grown
		list := (*s)[:cap(*s)]
		clear(list)
		list = list[:0]
		entrySlices.Put(&list)
	}
	*s = nil
}

// notify wakes the watchers. Requires l.mu.
func (v *live) notify() {
	if v.waiting {
		close(v.changed)
		v.changed, v.waiting = make(chan struct{}), false
	}
}

// append adds an entry to a thread and wakes its watchers.
func (l *Log) append(threadID string, e awaken.Entry) {
	l.mu.Lock()
	defer l.mu.Unlock()
	v := l.get(threadID)
	v.add(e, l.opts.Buffer)
	v.notify()
}

// add appends an entry. It replaces uncommitted entries of a previous owner.
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

// done ends an activation. Unless it has finished, its uncommitted entries are dropped.
func (l *Log) done(threadID string, finished bool) {
	l.mu.Lock()
	defer l.mu.Unlock()
	v := l.get(threadID)
	v.running--
	if !finished {
		v.entries = nil
		v.version++
	}
	v.notify()
	l.drop(threadID, v)
}
