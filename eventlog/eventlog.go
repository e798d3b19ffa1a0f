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
	var o Options
	if opts != nil {
		o = *opts
	}
	o.Buffer = max(2, cmp.Or(max(0, o.Buffer), 1024))
	o.Page = cmp.Or(max(0, o.Page), 256)
	o.Poll = cmp.Or(max(0, o.Poll), time.Second)
	return &Log{store: store, opts: o, live: map[string]*live{}}
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
func (v *live) notify() {
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
	v.notify()
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
	v.notify()
	l.drop(threadID, v)
}
