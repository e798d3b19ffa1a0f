package sqlstore

import (
	linked "container/list"
	"errors"
	"fmt"
	"log/slog"
	"sync"

	"github.com/awaken-go/awaken"
	"github.com/awaken-go/awaken/store/internal/threads"
)

// Logs keeps the decoded logs of the threads that were read last, so that a reader decodes
// only what was appended since. A log only grows, in every process; so what is kept
// stays right until the thread is removed, and the incarnation in the thread's row tells
// whether it was. Messages are shared by all readers. A Logs is safe for concurrent use.
type Logs struct {
	max      int // bytes
	segments segments

	mu    sync.Mutex
	bytes int
	byKey map[logKey]*linked.Element
	order linked.List // of *Log, the last one that was read first
}

// What a Logs keeps.
const (
	logsBytes = 32 << 20 // at most
	logLength = 32       // messages of a log, at least; a shorter one is read faster than found
)

type logKey struct{ tenant, thread string }

// NewLogs returns an empty Logs of a database.
func NewLogs(db DB, logger *slog.Logger) *Logs {
	return &Logs{max: logsBytes, byKey: map[logKey]*linked.Element{}, segments: newSegments(db, logger)}
}

// Close waits until segments are written that are being written. No more are written.
func (c *Logs) Close() { c.segments.close() }

// Log is what is kept of a thread's log: its first records. A nil Log has none.
type Log struct {
	key         logKey
	incarnation int64
	bytes       int // guarded by Logs.mu

	mu      sync.Mutex
	fence   uint64 // the highest that was seen
	view    awaken.View
	created []int64 // of each message
	stored  int     // how many segments of it the database has, as far as is known
}

// Find returns what is kept of a thread's log, or nil.
func (c *Logs) Find(tenant, thread string) *Log {
	c.mu.Lock()
	defer c.mu.Unlock()
	e := c.byKey[logKey{tenant, thread}]
	if e == nil {
		return nil
	}
	c.order.MoveToFront(e)
	return e.Value.(*Log)
}

// Known returns the incarnation of the thread, and the number of messages that need not be read:
// all but the last. A tail that begins with the same message shows that the log is the same, also if
// a database was restored.
func (l *Log) Known() (incarnation int64, n int) {
	if l == nil {
		return 0, 0
	}
	l.mu.Lock()
	defer l.mu.Unlock()
	return l.incarnation, max(len(l.created)-1, 0)
}

// of reports whether l is of the thread in a row. If it is not, but of an earlier thread with
// the same id or of a database that was restored, it is useless. Requires l.mu.
func (l *Log) of(t *Thread) bool {
	return l.incarnation == t.Incarnation && l.fence <= t.Fence
}

// Read returns the view of a thread. It calls read for the messages after some, and again for all of
// them if what is kept turns out to be useless.
func (c *Logs) Read(tenant string, t *Thread, read func(after int, tail *Tail) error) (awaken.View, error) {
	known := c.Find(tenant, t.ID)
	for {
		incarnation, n := known.Known()
		if incarnation != t.Incarnation {
			known, n = nil, 0
		}
		tail := NewTail(t.MessageCount - n)
		if err := read(n, tail); err != nil {
			return awaken.View{}, err
		}
		view, err := c.Join(tenant, t, known, n, tail)
		if known == nil || !errors.Is(err, ErrLog) {
			return view, err
		}
		known = nil
	}
}

// ErrLog is the error for a log that is not as its thread's row, or what is known of it, says.
var ErrLog = errors.New("the log has changed")

// Join returns the view of a thread: of the first n messages in known, which are none if
// known is of another thread, and the tail that was read behind them. It keeps the log. The
// row and the tail must be of the same moment. If they do not belong together, Join returns an
// ErrLog, and known is useless.
func (c *Logs) Join(tenant string, t *Thread, known *Log, n int, tail *Tail) (awaken.View, error) {
	if tail.Damaged() {
		c.segments.note(logKey{tenant, t.ID}, tail)
	}
	if known == nil || known.incarnation != t.Incarnation {
		return c.begin(tenant, t, tail)
	}
	view, grown, err := known.join(t, n, tail)
	if err != nil {
		c.drop(known)
		return view, err
	}
	c.keep(known, grown)
	c.segments.save(known)
	return view, nil
}

// begin returns the view of a log, and keeps it.
func (c *Logs) begin(tenant string, t *Thread, tail *Tail) (view awaken.View, err error) {
	if len(tail.msgs) != t.MessageCount {
		return view, fmt.Errorf("%w: it has %d messages, want %d", ErrLog, len(tail.msgs), t.MessageCount)
	}
	view.Append(tail.msgs...)
	if len(tail.msgs) >= logLength && tail.bytes <= c.max {
		l := &Log{key: logKey{tenant, t.ID}, incarnation: t.Incarnation, fence: t.Fence, view: view, created: tail.created, stored: tail.segments}
		c.keep(l, tail.bytes)
		c.segments.save(l)
	}
	return view, nil
}

// join appends what the tail has beyond the log. It returns the view of the thread, and how
// many bytes the log has grown.
func (l *Log) join(t *Thread, n int, tail *Tail) (view awaken.View, grown int, err error) {
	l.mu.Lock()
	defer l.mu.Unlock()
	have := len(l.created)
	if !l.of(t) || n >= have || n+len(tail.msgs) != t.MessageCount || len(tail.msgs) == 0 ||
		tail.msgs[0].ID != l.view.Log()[n].ID || tail.created[0] != l.created[n] {
		return view, 0, ErrLog
	}
	l.fence = t.Fence
	if have > t.MessageCount { // it has grown since the row was read
		view.Append(l.view.Log()[:t.MessageCount]...)
		return view, 0, nil
	}
	for i := have - n; i < len(tail.msgs); i++ {
		l.created, grown = append(l.created, tail.created[i]), grown+size(tail.msgs[i])
	}
	l.view.Append(tail.msgs[have-n:]...)
	return l.view, grown, nil
}

// keep makes l the last log that was read, with more bytes than before, and lets go of those
// that were not read for longest.
func (c *Logs) keep(l *Log, more int) {
	c.mu.Lock()
	defer c.mu.Unlock()
	if e := c.byKey[l.key]; e == nil || e.Value != l {
		if e != nil {
			c.remove(e)
		}
		more += l.bytes
		l.bytes = 0
		c.byKey[l.key] = c.order.PushFront(l)
	}
	l.bytes += more
	c.bytes += more
	for c.bytes > c.max {
		c.remove(c.order.Back())
	}
}

func (c *Logs) drop(l *Log) {
	c.mu.Lock()
	defer c.mu.Unlock()
	if e := c.byKey[l.key]; e != nil && e.Value == l {
		c.remove(e)
	}
}

// remove removes an element. Requires c.mu.
func (c *Logs) remove(e *linked.Element) {
	l := e.Value.(*Log)
	c.order.Remove(e)
	delete(c.byKey, l.key)
	c.bytes -= l.bytes
}

// records returns the records of a thread's log after from, up to and including to, or false
// if l does not have them.
func (l *Log) records(t *Thread, from, to int) ([]awaken.MessageRecord, bool) {
	if l == nil {
		return nil, false
	}
	l.mu.Lock()
	log, created, usable := l.view.Log(), l.created, l.of(t)
	l.mu.Unlock()
	if !usable || to > len(log) {
		return nil, false
	}
	out := make([]awaken.MessageRecord, 0, to-from)
	for i := from; i < to; i++ {
		out = append(out, threads.Record(t.ID, i+1, created[i], log[i]))
	}
	return out, true
}
