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
}

type entryBlock struct {
	entries []awaken.Entry // never moved
	last    uint64         // the highest number of an event
	epoch   uint64         // of the last entry, which is the highest
}

// Blocks have this many entries: the first ones few, because most threads are short.
const minBlock, maxBlock = 8, 128

// append adds entries and returns the highest number of their events.
func (l *entryLog) append(entries []awaken.Entry) (last uint64) {
	for len(entries) > 0 {
		b := l.room()
		n := min(len(entries), cap(b.entries)-len(b.entries))
		b.entries = append(b.entries, entries[:n]...)
		for i := range entries[:n] { // coalesced deltas may reach beyond the last entry
			b.last = max(b.last, entries[i].Last())
		}
		b.epoch = entries[n-1].Epoch
		last, entries = max(last, b.last), entries[n:]
	}
	return last
}

// room returns the last block, which has room.
func (l *entryLog) room() *entryBlock {
	n, size := len(l.blocks), minBlock
	if n > 0 {
		if b := &l.blocks[n-1]; len(b.entries) < cap(b.entries) {
			return b
		}
		size = min(2*cap(l.blocks[n-1].entries), maxBlock)
	}
	if n == 0 {
		l.blocks = l.first[:0]
	}
	l.blocks = append(l.blocks, entryBlock{entries: make([]awaken.Entry, 0, size)})
	return &l.blocks[n]
}

// find returns the entries that q selects.
func (l *entryLog) find(q *awaken.EntryQuery) (out []awaken.Entry) {
	for i := range l.blocks {
		b := &l.blocks[i]
		if b.last <= q.After || b.epoch <= q.Epoch {
			continue
		}
		for j := range b.entries {
			if threads.SelectsEntry(q, &b.entries[j]) {
				if out = append(out, b.entries[j]); q.Limit > 0 && len(out) == q.Limit {
					return out
				}
			}
		}
	}
	return out
}
