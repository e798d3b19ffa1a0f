package engine

import (
	"context"
	"errors"
	"slices"
	"sync"
	"time"

	"github.com/awaken-go/awaken"
	"github.com/awaken-go/awaken/internal/rope"
)

// recorder numbers a run's events, passes them to the sink, and collects them for the next commit.
//
// An event that claims something durable is deferred until the commit that makes it true.
// Everything after a deferred event is deferred with it, so that the order is kept. Deltas are not
// deferred, and are coalesced for the commit.
//
// It belongs to the run's goroutine, except for the deferred events and the sink: a commit in
// flight publishes the events deferred for it. Until the first commit in flight there is no other
// goroutine, and nothing is locked: a lock for each delta costs more than the delta.
type recorder struct {
	runID string
	now   func() time.Time

	epoch uint64
	seq   uint64
	time  int64 // Unix ms; deltas refresh it only now and then

	entries []awaken.Entry // since the last commit, in order of seq; coalesced ones are open
	size    int            // bytes of text in them
	said    string         // the step's answer, which is likely to be what was coalesced
	open    []coalescing

	keep     bool       // the store wants entries
	shared   bool       // set before the first commit in flight; from then on mu is needed
	mu       sync.Mutex // guards the fields below
	crashed  bool       // the sink panicked, or ended its goroutine
	sink     awaken.Sink
	deferred []deferredEntry
	err      error // of the sink; nothing is emitted after it

	deltas *deltaSlabs // of the run's scratch
}

// deltaSlabs allocate the events that there are many of.
type deltaSlabs struct {
	text   slab[awaken.TextDelta]
	reason slab[awaken.ReasoningDelta]
	args   slab[awaken.ToolCallDelta]
}

// deferredEntry is an entry that is not published yet, because it, or one before it, waits for a
// commit.
type deferredEntry struct {
	awaken.Entry
	claims bool // it waits for a commit itself
}

// coalescing is a series of deltas that becomes one entry.
type coalescing struct {
	kind  byte // t, r, a, s
	id    string
	buf   *coalesced // from buffers
	entry int        // index in entries
}

// coalesced collects deltas.
type coalesced struct {
	text   rope.Rope
	chunks []awaken.Chunk // empty if there is one delta
}

// buffers holds buffers for deltas that are being coalesced. Large ones are not kept.
var buffers = sync.Pool{New: func() any { return &coalesced{text: rope.New(make([]byte, 0, 1024))} }}

// slab allocates values from blocks of growing size, so that a stream of any length costs a
// handful of allocations.
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

// trim leaves what another run may use, if that is little: a run that waits for its model keeps it.
func (s *slab[T]) trim() {
	if s.size = min(s.size, 16); len(s.free) > 64 {
		s.free = nil
	}
}

// emit publishes an event that claims nothing durable. It returns the sink's error, for callers
// that must stop at once.
func (o *recorder) emit(ctx context.Context, ev awaken.Event) error {
	o.time = o.now().UnixMilli()
	return o.publish(ctx, ev)
}

// publish numbers an event, adds it to the next commit and sends it.
func (o *recorder) publish(ctx context.Context, ev awaken.Event) error {
	e := o.number(ev)
	if o.keep {
		o.record(&e)
	}
	return o.send(ctx, &e)
}

// deferEvent keeps an event back until the commit that contains it is made.
func (o *recorder) deferEvent(ev awaken.Event) {
	o.time = o.now().UnixMilli()
	e := o.number(ev)
	if o.keep {
		o.entries = append(o.entries, e)
	}
	o.lock()
	o.deferred = append(o.deferred, deferredEntry{e, true})
	o.unlock()
}

// lock locks what a commit in flight uses too.
func (o *recorder) lock() {
	if o.shared {
		o.mu.Lock()
	}
}

func (o *recorder) unlock() {
	if o.shared {
		o.mu.Unlock()
	}
}

// emitUnlogged sends an event that is not part of the log.
func (o *recorder) emitUnlogged(ctx context.Context, ev awaken.Event) {
	o.lock()
	defer o.unlock()
	if o.err == nil {
		o.call(ctx, &awaken.Entry{RunID: o.runID, Time: o.now().UnixMilli(), Event: ev})
	}
}

// number makes the entry of an event, with the next number.
func (o *recorder) number(ev awaken.Event) awaken.Entry {
	o.seq++
	return awaken.Entry{Cursor: awaken.Cursor{Epoch: o.epoch, Seq: o.seq}, RunID: o.runID, Time: o.time, Event: ev}
}

// send passes an entry to the sink, unless an earlier one is deferred. It returns the sink's
// error.
func (o *recorder) send(ctx context.Context, e *awaken.Entry) error {
	if o.shared {
		o.mu.Lock()
		defer o.mu.Unlock() // the sink may panic
	}
	if len(o.deferred) > 0 {
		o.deferred = append(o.deferred, deferredEntry{*e, false})
	} else if o.err == nil {
		o.call(ctx, e)
	}
	return o.err
}

// call passes an entry to the sink. It requires the lock.
func (o *recorder) call(ctx context.Context, e *awaken.Entry) {
	o.crashed, o.err = true, errSinkCrashed // unless Emit returns
	o.err = o.sink.Emit(ctx, *e)
	o.crashed = false
}

var errSinkCrashed = errors.New("the sink panicked or ended its goroutine")

// failed returns the sink's error.
func (o *recorder) failed() error {
	o.lock()
	defer o.unlock()
	return o.err
}

// isCrashed reports whether the sink panicked, or ended its goroutine.
func (o *recorder) isCrashed() bool {
	o.lock()
	defer o.unlock()
	return o.crashed
}

// record adds an event to the next commit.
func (o *recorder) record(e *awaken.Entry) {
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
		o.close() // what follows belongs to another attempt
		o.entries = append(o.entries, *e)
	default:
		o.entries = append(o.entries, *e)
	}
}

// full reports whether a commit should be made before more is added.
func (o *recorder) full() bool { return o.size > maxPendingBytes || len(o.entries) > maxPendingEntries }

const (
	maxPendingBytes   = 1 << 20
	maxPendingEntries = 1024
)

// coalesce adds a delta to the open entry of its kind and id, or opens one.
func (o *recorder) coalesce(e *awaken.Entry, kind byte, id, text string) {
	o.size += len(text)
	for i := range o.open {
		c := &o.open[i]
		if c.kind != kind || c.id != id {
			continue
		}
		if len(c.buf.chunks) == 0 {
			c.buf.chunks = append(c.buf.chunks, awaken.Chunk{Offset: 0, Len: uint32(c.buf.text.Len())})
		}
		c.buf.text.Append(text)
		c.buf.chunks = append(c.buf.chunks, awaken.Chunk{Offset: uint32(e.Seq - o.entries[c.entry].Seq), Len: uint32(len(text))})
		return
	}
	buf := buffers.Get().(*coalesced)
	buf.text, buf.chunks = rope.New(buf.text.Buffer()), buf.chunks[:0]
	buf.text.Append(text)
	o.open = append(o.open, coalescing{kind: kind, id: id, buf: buf, entry: len(o.entries)})
	o.entries = append(o.entries, *e)
}

// close completes the text of the open coalesced entries.
func (o *recorder) close() {
	for i := range o.open {
		c := &o.open[i]
		e := &o.entries[c.entry]
		if len(c.buf.chunks) > 0 { // otherwise its event is its only delta
			e.Chunks = slices.Clone(c.buf.chunks)
			text := o.said
			if !c.buf.text.Is(text) {
				text = c.buf.text.String()
			}
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
		if cap(c.buf.text.Buffer()) <= 16<<10 && cap(c.buf.chunks) <= 2<<10 {
			buffers.Put(c.buf)
		}
	}
	clear(o.open)
	o.open = o.open[:0]
}

// withdraw drops the text of the open coalesced entries, because a reset is about to withdraw them. Of each, the
// log keeps one delta without text; the numbers of the others are not used again.
func (o *recorder) withdraw() {
	for i := range o.open {
		c := &o.open[i]
		o.size -= c.buf.text.Len()
		c.buf.text, c.buf.chunks = rope.Rope{}, nil
		switch e := &o.entries[c.entry]; first := e.Event.(type) {
		case *awaken.TextDelta:
			e.Event = &awaken.TextDelta{}
		case *awaken.ReasoningDelta:
			e.Event = &awaken.ReasoningDelta{}
		case *awaken.ToolCallDelta:
			e.Event = &awaken.ToolCallDelta{ID: first.ID}
		}
	}
}

// take moves the entries since the last commit into p, in exchange for p's empty list.
func (o *recorder) take(p *commitBatch) {
	o.close()
	o.entries, p.Entries = p.Entries, o.entries
	o.size, p.size, p.seq = 0, o.size, o.seq
}

// putBack moves the entries of p back, before newer ones.
func (o *recorder) putBack(p *commitBatch) {
	o.close()
	o.entries, p.Entries = append(p.Entries, o.entries...), o.entries
	o.size += p.size
}

// mark is a position to return to with undo.
type mark struct {
	seq           uint64
	entries, held int
}

// mark returns the current position. Nothing may be in flight.
func (o *recorder) mark() mark { return mark{o.seq, len(o.entries), len(o.deferred)} }

// undo removes the events deferred since m. Nothing may have been emitted since.
func (o *recorder) undo(m mark) {
	o.seq = m.seq
	n := min(m.entries, len(o.entries))
	clear(o.entries[n:])
	clear(o.deferred[m.held:])
	o.entries, o.deferred = o.entries[:n], o.deferred[:m.held]
}

// forget removes all deferred events, because no commit will contain them.
func (o *recorder) forget() {
	if len(o.deferred) > 0 {
		o.seq = o.deferred[0].Seq - 1
	}
	clear(o.deferred)
	o.deferred = o.deferred[:0]
}

// committed publishes the events deferred for a commit with everything up to seq, and those that
// only waited for them.
func (o *recorder) committed(ctx context.Context, seq uint64) {
	o.lock()
	defer o.unlock()
	n := 0
	for ; n < len(o.deferred) && (o.deferred[n].Seq <= seq || !o.deferred[n].claims); n++ {
		if o.err == nil {
			o.call(ctx, &o.deferred[n].Entry)
		}
	}
	o.deferred = slices.Delete(o.deferred, 0, n)
}

// The frequent deltas. They refresh the time only now and then, because reading the clock costs
// more than everything else they do.

func (o *recorder) textDelta(ctx context.Context, s string) error {
	ev := o.deltas.text.next()
	ev.Delta = s
	return o.delta(ctx, ev, 't', "", s)
}

func (o *recorder) reasoningDelta(ctx context.Context, s string) error {
	ev := o.deltas.reason.next()
	ev.Delta = s
	return o.delta(ctx, ev, 'r', "", s)
}

func (o *recorder) argsDelta(ctx context.Context, id, s string) error {
	ev := o.deltas.args.next()
	ev.ID, ev.ArgsDelta = id, s
	return o.delta(ctx, ev, 'a', id, s)
}

// delta publishes a delta, which record would coalesce with that kind, id and text.
func (o *recorder) delta(ctx context.Context, ev awaken.Event, kind byte, id, text string) error {
	if o.seq%32 == 0 {
		o.time = o.now().UnixMilli()
	}
	e := o.number(ev)
	if o.keep {
		o.coalesce(&e, kind, id, text)
	}
	return o.send(ctx, &e)
}
