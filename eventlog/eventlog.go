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

	// Relay brings the live entries of other processes, and sends them those of this one; nil
	// leaves the readers of other processes what is committed. Tenant tells the logs of a relay
	// apart.
	Relay  *Relay
	Tenant string
}

// Log follows the logs of threads. It is safe for concurrent use.
type Log struct {
	store awaken.EventLog
	opts  Options
	reads chan struct{} // has a place for each reader that may read the store at a time

	mu   sync.Mutex
	live map[string]*live // by thread id
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
	l := &Log{store: store, opts: o, reads: make(chan struct{}, maxReads), live: map[string]*live{}}
	if o.Relay != nil {
		o.Relay.join(o.Tenant, l)
	}
	return l
}

// acquire returns the live part of a thread, which it creates if necessary. The caller releases it.
func (l *Log) acquire(threadID string) *live {
	l.mu.Lock()
	defer l.mu.Unlock()
	v := l.live[threadID]
	if v == nil {
		v = &live{log: l, thread: threadID, limit: l.opts.Buffer}
		l.live[threadID] = v
	}
	v.users++
	return v
}

// find is acquire if the live part exists, and returns nil otherwise.
func (l *Log) find(threadID string) *live {
	l.mu.Lock()
	defer l.mu.Unlock()
	v := l.live[threadID]
	if v != nil {
		v.users++
	}
	return v
}

// release ends a use of a live part. The last one drops it.
func (l *Log) release(v *live) {
	l.mu.Lock()
	v.users--
	last := v.users == 0
	if last {
		delete(l.live, v.thread)
	}
	l.mu.Unlock()
	if last { // the relay may still ask for its position
		v.mu.Lock()
		v.forget()
		v.mu.Unlock()
	}
}
