package memory

import (
	"github.com/awaken-go/awaken"
	"github.com/awaken-go/awaken/store/internal/threads"
)

// entryLog is the event log of a thread. It grows by blocks, so that appending copies nothing, and
// a reader skips the blocks before its cursor.
type entryLog struct {
	blocks []entryBlock
	first  [2]entryBlock // where blocks begins
	start  [1]entry      // the first block: the first commit of a thread has one entry
	origin origin        // of the first entries
}

type entryBlock struct {
	entries []entry // never moved
	last    uint64  // the highest number of an event
}

// entry is an awaken.Entry in half the space.
type entry struct {
	*origin
	seq   uint64
	time  int64
	event awaken.Event // a coalesced event if the entry has chunks
}

// origin is what consecutive entries of a run have in common.
type origin struct {
	runID string
	epoch uint64
}

// coalesced is an event with the deltas that it consists of.
type coalesced struct {
	awaken.Event
	chunks []awaken.Chunk
}

// export returns the entry as it was appended.
func (e *entry) export() awaken.Entry {
	out := awaken.Entry{Cursor: awaken.Cursor{Epoch: e.epoch, Seq: e.seq}, RunID: e.runID, Time: e.time, Event: e.event}
	if c, ok := e.event.(*coalesced); ok {
		out.Event, out.Chunks = c.Event, c.chunks
	}
	return out
}

// maxBlock is the highest number of entries in a block, unless one commit has more.
const maxBlock = 128

// append adds entries and returns the highest number of their events.
func (l *entryLog) append(entries []awaken.Entry) (last uint64) {
	for len(entries) > 0 {
		b, of := l.room(len(entries)), l.last()
		n := min(len(entries), cap(b.entries)-len(b.entries))
		for i := range entries[:n] {
			e := &entries[i]
			if of.runID != e.RunID || of.epoch != e.Epoch {
				of = l.begin(e)
			}
			event := e.Event
			if len(e.Chunks) > 0 {
				event = &coalesced{e.Event, e.Chunks}
			}
			b.entries = append(b.entries, entry{of, e.Seq, e.Time, event})
			b.last = max(b.last, e.Last()) // coalesced deltas may reach beyond the last entry
		}
		last, entries = max(last, b.last), entries[n:]
	}
	return last
}

// room returns the last block, which has room. A new block has room for n entries at least: most
// threads are short, and need no more than their commits have.
func (l *entryLog) room(n int) *entryBlock {
	if l.blocks == nil {
		l.first[0].entries = l.start[:0]
		l.blocks = l.first[:1]
	}
	k := len(l.blocks)
	size := cap(l.blocks[k-1].entries)
	if b := &l.blocks[k-1]; len(b.entries) < size {
		return b
	}
	l.blocks = append(l.blocks, entryBlock{entries: make([]entry, 0, max(n, min(size+size/4, maxBlock)))})
	return &l.blocks[k]
}

// last returns the origin of the last entry.
func (l *entryLog) last() *origin {
	for i := len(l.blocks) - 1; i >= 0; i-- {
		if n := len(l.blocks[i].entries); n > 0 {
			return l.blocks[i].entries[n-1].origin
		}
	}
	return &l.origin
}

// begin returns the origin of e, which differs from that of the entry before it.
func (l *entryLog) begin(e *awaken.Entry) *origin {
	of := &l.origin
	if len(l.blocks[0].entries) > 0 {
		of = new(origin)
	}
	*of = origin{e.RunID, e.Epoch}
	return of
}

// find returns the entries that q selects.
func (l *entryLog) find(q *awaken.EntryQuery) (out []awaken.Entry) {
	for i := range l.blocks {
		b := &l.blocks[i]
		if n := len(b.entries); b.last <= q.After || n == 0 || b.entries[n-1].epoch <= q.Epoch { // the last has the highest epoch
			continue
		}
		for j := range b.entries {
			if e := b.entries[j].export(); threads.SelectsEntry(q, &e) {
				if out = append(out, e); q.Limit > 0 && len(out) == q.Limit {
					return out
				}
			}
		}
	}
	return out
}
