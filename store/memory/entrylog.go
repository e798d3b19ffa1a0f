package memory

import (
	"github.com/awaken-go/awaken"
	"github.com/awaken-go/awaken/store/internal/threads"
	"github.com/awaken-go/awaken/trace/timeline"
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

// entry is an awaken.Entry in half the space. The last entry of a commit is also the record of the
// commit. A commit without entries, or one that was made long after its last event, has an entry
// without event instead.
type entry struct {
	*origin
	seq   uint64
	stamp stamp
	event awaken.Event // a coalesced event if the entry has chunks
}

// stamp is a time in Unix ms, until the year 2109, above the bits that say that the entry is the last
// of a commit: how many ms later that was made, what kinds it has, and whether there is one.
type stamp int64

const (
	delayBits = 13
	kindBits  = 7
	timeShift = delayBits + kindBits + 1
)

func newStamp(time int64) stamp { return stamp(time << timeShift) }

// time returns the time of the event.
func (s stamp) time() int64 { return int64(s >> timeShift) }

// commit returns the time and the kinds of the commit, if there is one.
func (s stamp) commit() (time int64, kinds timeline.Kinds, ok bool) {
	delay := s >> (kindBits + 1) & (1<<delayBits - 1)
	return s.time() + int64(delay), timeline.Kinds(s >> 1 & (1<<kindBits - 1)), s&1 != 0
}

// committed returns the stamp with a commit. It reports false if the time of the commit does not fit.
func (s stamp) committed(time int64, kinds timeline.Kinds) (stamp, bool) {
	delay := time - s.time()
	return s | stamp(delay)<<(kindBits+1) | stamp(kinds)<<1 | 1, delay >= 0 && delay < 1<<delayBits
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
	out := awaken.Entry{Cursor: awaken.Cursor{Epoch: e.epoch, Seq: e.seq}, RunID: e.runID, Time: e.stamp.time(), Event: e.event}
	if c, ok := e.event.(*coalesced); ok {
		out.Event, out.Chunks = c.Event, c.chunks
	}
	return out
}

// maxBlock is the highest number of entries in a block, unless one commit has more.
const maxBlock = 128

// commit adds the entries of a commit, and its record, to a log whose highest number is last. It
// returns the highest number after it.
func (l *entryLog) commit(c *awaken.Commit, last uint64) uint64 {
	last = max(last, l.append(c.Entries))
	kinds := timeline.CallKinds(c.Calls) | timeline.EventKinds(c.Entries)
	if len(c.Entries) > 0 {
		b := &l.blocks[len(l.blocks)-1]
		e := &b.entries[len(b.entries)-1]
		if with, ok := e.stamp.committed(c.Time, kinds); ok {
			e.stamp = with
			return last
		}
	}
	b, of := l.room(1), l.last()
	if of.runID != c.Run.RunID || of.epoch != c.Fence {
		of = l.begin(c.Run.RunID, c.Fence)
	}
	with, _ := newStamp(c.Time).committed(c.Time, kinds)
	b.entries = append(b.entries, entry{origin: of, seq: last, stamp: with})
	b.last = max(b.last, last)
	return last
}

// append adds entries and returns the highest number of their events.
func (l *entryLog) append(entries []awaken.Entry) (last uint64) {
	for len(entries) > 0 {
		b, of := l.room(len(entries)), l.last()
		n := min(len(entries), cap(b.entries)-len(b.entries))
		for i := range entries[:n] {
			e := &entries[i]
			if of.runID != e.RunID || of.epoch != e.Epoch {
				of = l.begin(e.RunID, e.Epoch)
			}
			event := e.Event
			if len(e.Chunks) > 0 {
				event = &coalesced{e.Event, e.Chunks}
			}
			b.entries = append(b.entries, entry{of, e.Seq, newStamp(e.Time), event})
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

// begin returns an origin that differs from that of the entry before it.
func (l *entryLog) begin(runID string, epoch uint64) *origin {
	of := &l.origin
	if len(l.blocks[0].entries) > 0 {
		of = new(origin)
	}
	*of = origin{runID, epoch}
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
			if e := b.entries[j].export(); e.Event != nil && threads.SelectsEntry(q, &e) {
				if out = append(out, e); q.Limit > 0 && len(out) == q.Limit {
					return out
				}
			}
		}
	}
	return out
}

// commits returns the commits of a run that q selects.
func (l *entryLog) commits(runID string, q timeline.Query) (out []timeline.Commit) {
	numbers := timeline.Numbering{Query: q}
	var first, last uint64 // events since the last commit
	for i := range l.blocks {
		for j := range l.blocks[i].entries {
			e := &l.blocks[i].entries[j]
			if e.event != nil {
				if first == 0 {
					first = e.seq
				}
				x := e.export()
				last = max(last, x.Last())
			}
			time, kinds, ok := e.stamp.commit()
			if !ok {
				continue
			}
			if e.runID == runID {
				if place, selected := numbers.Next(e.epoch); selected {
					out = append(out, timeline.Commit{Place: place, Time: time, First: first, Last: max(last, e.seq), Kinds: kinds})
				}
				if numbers.Full() {
					return out
				}
			}
			first = 0
		}
	}
	return out
}
