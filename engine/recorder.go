package engine

import (
	"context"
	"slices"
	"sync"
	"time"

	"github.com/awaken-go/awaken"
)

// recorder numbers a run's events, hands them to the sink, and collects what the
// next commit has to hold.
//
// Events that claim something durable are held until the commit that makes it
// true; whatever comes after a held event is held with it, so that the order is
// kept. Deltas are not held, and are coalesced for the commit.
//
// It belongs to the run's goroutine, but for what is held and the sink: a commit that
// is made beside the run publishes what was held for it.
type recorder struct {
	runID string
	now   func() time.Time
	keep  bool // entries are wanted by the store

	epoch uint64
	seq   uint64
	time  int64 // unix ms, refreshed by every event but only now and then by deltas

	entries []awaken.Entry // since the last commit, in order of seq; coalesced ones still open
	size    int            // bytes of text in them
	open    []coalescing

	mu       sync.Mutex // guards what follows
	sink     awaken.Sink
	deferred []deferredEntry
	err      error // the sink's; nothing is emitted after it

	text   slab[awaken.TextDelta]
	reason slab[awaken.ReasoningDelta]
	args   slab[awaken.ToolCallDelta]
}

// heldEntry is an entry that is not published yet: because it waits for a commit, or
// for what does.
type deferredEntry struct {
	awaken.Entry
	claims bool // it waits for a commit
}

// coalescing is a run of deltas that becomes one entry.
type coalescing struct {
	kind  byte // t, r, a, s
	id    string
	buf   *[]byte // from buffers
	entry int     // index in entries
}

// buffers are for text on its way into a commit. None is kept that grew large.
var buffers = sync.Pool{New: func() any { b := make([]byte, 0, 1024); return &b }}

// slab hands out values from blocks that grow, so that a stream of chunks costs a
// handful of allocations however long it is.
type slab[T any] struct {
	free []T
	size int
}

func (s *slab[T]) next() *T {
	if len(s.free) == 0 {
		s.size = max(16, min(4*s.size, 1024))
		s.free = make([]T, s.size)
	}
	v := &s.free[0]
	s.free = s.free[1:]
	return v
}

// emit sends an event that claims nothing durable. It returns the sink's error, for those
// who have to stop at once.
func (o *recorder) emit(ctx context.Context, ev awaken.Event) error {
	o.time = o.now().UnixMilli()
	return o.publish(ctx, ev)
}

// publish numbers an event, takes it into the next commit and sends it.
func (o *recorder) publish(ctx context.Context, ev awaken.Event) error {
	e := o.number(ev)
	if o.keep {
		o.record(e)
	}
	return o.send(ctx, e)
}

// hold keeps an event back until the commit that has it is made.
func (o *recorder) deferEvent(ev awaken.Event) {
	o.time = o.now().UnixMilli()
	e := o.number(ev)
	if o.keep {
		o.entries = append(o.entries, e)
	}
	o.mu.Lock()
	o.deferred = append(o.deferred, deferredEntry{e, true})
	o.mu.Unlock()
}

// tell sends an event that is no part of the log, and has no place in it.
func (o *recorder) emitUnlogged(ctx context.Context, ev awaken.Event) {
	o.mu.Lock()
	defer o.mu.Unlock()
	if o.err == nil {
		o.err = o.sink.Emit(ctx, awaken.Entry{RunID: o.runID, Time: o.now().UnixMilli(), Event: ev})
	}
}

func (o *recorder) number(ev awaken.Event) awaken.Entry {
	o.seq++
	return awaken.Entry{Cursor: awaken.Cursor{Epoch: o.epoch, Seq: o.seq}, RunID: o.runID, Time: o.time, Event: ev}
}

// send hands an entry to the sink, unless it has to wait. It returns the sink's error.
func (o *recorder) send(ctx context.Context, e awaken.Entry) error {
	o.mu.Lock()
	defer o.mu.Unlock() // the sink may panic
	if len(o.deferred) > 0 {
		o.deferred = append(o.deferred, deferredEntry{e, false})
	} else if o.err == nil {
		o.err = o.sink.Emit(ctx, e)
	}
	return o.err
}

// failed is the sink's error.
func (o *recorder) failed() error {
	o.mu.Lock()
	defer o.mu.Unlock()
	return o.err
}

// record takes an event into the next commit.
func (o *recorder) record(e awaken.Entry) {
	switch ev := e.Event.(type) {
	case *awaken.TextDelta:
		o.coalesce(e, 't', "", ev.Delta)
	case *awaken.ReasoningDelta:
		o.coalesce(e, 'r', "", ev.Delta)
	case *awaken.ToolCallDelta:
		o.coalesce(e, 'a', ev.ID, ev.ArgsDelta)
	case *awaken.ToolCallStreamDelta:
		o.coalesce(e, 's', ev.ID, ev.Delta)
	case *awaken.StreamReset:
		o.close() // what comes after belongs to another attempt
		o.entries = append(o.entries, e)
	default:
		o.entries = append(o.entries, e)
	}
}

// full reports whether so much waits for a commit that it should not be more.
func (o *recorder) full() bool { return o.size > maxPendingBytes || len(o.entries) > maxPendingEntries }

const (
	maxPendingBytes   = 1 << 20
	maxPendingEntries = 1024
)

func (o *recorder) coalesce(e awaken.Entry, kind byte, id, text string) {
	o.size += len(text)
	for i := range o.open {
		c := &o.open[i]
		if c.kind != kind || c.id != id {
			continue
		}
		at := &o.entries[c.entry]
		if at.Chunks == nil {
			at.Chunks = append(make([]awaken.Chunk, 0, 64), awaken.Chunk{Offset: 0, Len: uint32(len(*c.buf))})
		}
		*c.buf = append(*c.buf, text...)
		at.Chunks = append(at.Chunks, awaken.Chunk{Offset: uint32(e.Seq - at.Seq), Len: uint32(len(text))})
		return
	}
	buf := buffers.Get().(*[]byte)
	*buf = append((*buf)[:0], text...)
	o.open = append(o.open, coalescing{kind: kind, id: id, buf: buf, entry: len(o.entries)})
	o.entries = append(o.entries, e)
}

// close gives every open coalesced entry its text.
func (o *recorder) close() {
	for i := range o.open {
		c := &o.open[i]
		e := &o.entries[c.entry]
		if e.Chunks != nil { // otherwise its event is the only delta
			text := string(*c.buf)
			switch first := e.Event.(type) {
			case *awaken.TextDelta:
				e.Event = &awaken.TextDelta{Delta: text}
			case *awaken.ReasoningDelta:
				e.Event = &awaken.ReasoningDelta{Delta: text}
			case *awaken.ToolCallDelta:
				e.Event = &awaken.ToolCallDelta{ID: first.ID, ArgsDelta: text}
			case *awaken.ToolCallStreamDelta:
				e.Event = &awaken.ToolCallStreamDelta{ID: first.ID, Name: first.Name, Delta: text}
			}
		}
		if cap(*c.buf) <= 16<<10 {
			buffers.Put(c.buf)
		}
	}
	clear(o.open)
	o.open = o.open[:0]
}

// take moves the entries since the last commit into p, which gives its own list for
// them: everything up to the highest number.
func (o *recorder) take(p *commitBatch) {
	o.close()
	o.entries, p.Entries = p.Entries, o.entries
	o.size, p.size, p.seq = 0, o.size, o.seq
}

// untake takes them back.
func (o *recorder) putBack(p *commitBatch) {
	o.close()
	o.entries, p.Entries = append(p.Entries, o.entries...), o.entries
	o.size += p.size
}

// mark is a place to go back to with undo.
type mark struct {
	seq           uint64
	entries, held int
}

// mark returns the present place. Nothing may be in flight.
func (o *recorder) mark() mark { return mark{o.seq, len(o.entries), len(o.deferred)} }

// undo takes back what was held since m. Nothing may have been emitted since.
func (o *recorder) undo(m mark) {
	o.seq = m.seq
	n := min(m.entries, len(o.entries))
	clear(o.entries[n:])
	clear(o.deferred[m.held:])
	o.entries, o.deferred = o.entries[:n], o.deferred[:m.held]
}

// forget takes back everything that was held, because no commit will ever hold it.
func (o *recorder) forget() {
	if len(o.deferred) > 0 {
		o.seq = o.deferred[0].Seq - 1
	}
	clear(o.deferred)
	o.deferred = o.deferred[:0]
}

// committed publishes what was held for a commit that has everything up to seq, and
// what was only waiting for that.
func (o *recorder) committed(ctx context.Context, seq uint64) {
	o.mu.Lock()
	defer o.mu.Unlock()
	n := 0
	for ; n < len(o.deferred) && (o.deferred[n].Seq <= seq || !o.deferred[n].claims); n++ {
		if o.err == nil {
			o.err = o.sink.Emit(ctx, o.deferred[n].Entry)
		}
	}
	o.deferred = slices.Delete(o.deferred, 0, n)
}

// The hot deltas. They refresh the time only now and then: reading the clock costs
// more than everything else they do.

func (o *recorder) textDelta(ctx context.Context, s string) error {
	ev := o.text.next()
	ev.Delta = s
	return o.delta(ctx, ev)
}

func (o *recorder) reasoningDelta(ctx context.Context, s string) error {
	ev := o.reason.next()
	ev.Delta = s
	return o.delta(ctx, ev)
}

func (o *recorder) argsDelta(ctx context.Context, id, s string) error {
	ev := o.args.next()
	ev.ID, ev.ArgsDelta = id, s
	return o.delta(ctx, ev)
}

func (o *recorder) delta(ctx context.Context, ev awaken.Event) error {
	if o.seq%32 == 0 {
		o.time = o.now().UnixMilli()
	}
	return o.publish(ctx, ev)
}
