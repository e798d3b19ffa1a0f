package awaken

import (
	"fmt"
	"strconv"
	"strings"
)

// Cursor is a place in a thread's log: the epoch of the owner who wrote the entry
// and a number that grows by one with every event. The zero Cursor is before the
// first entry.
type Cursor struct {
	Epoch uint64
	Seq   uint64
}

// String is the cursor's opaque text.
func (c Cursor) String() string { return fmt.Sprintf("%d-%d", c.Epoch, c.Seq) }

// ParseCursor reads what String wrote.
func ParseCursor(s string) (Cursor, error) {
	e, q, ok := strings.Cut(s, "-")
	epoch, err1 := strconv.ParseUint(e, 10, 64)
	seq, err2 := strconv.ParseUint(q, 10, 64)
	if !ok || err1 != nil || err2 != nil || s != (Cursor{epoch, seq}).String() {
		return Cursor{}, fmt.Errorf("%w: cursor is %q, want epoch-seq", ErrInvalid, s)
	}
	return Cursor{epoch, seq}, nil
}

// Before reports whether c comes before d.
func (c Cursor) Before(d Cursor) bool {
	return c.Seq < d.Seq || c.Seq == d.Seq && c.Epoch < d.Epoch
}

// Entry is one event at its place in a thread's log.
//
// A sink gets an entry for every event. In a commit, the deltas of one message or
// call are one entry that carries their concatenation and, if there was more than
// one, where it was cut, so that a reader can resume inside it.
type Entry struct {
	Cursor
	RunID  string
	Time   int64 // unix ms
	Event  Event
	Chunks []Chunk // of two or more coalesced deltas, in order
}

// Chunk is one delta of a coalesced entry.
type Chunk struct {
	Offset uint32 // its sequence number, counted from the entry's
	Len    uint32 // bytes
}

// Last is the highest sequence number the entry covers.
func (e *Entry) Last() uint64 {
	if n := len(e.Chunks); n > 0 {
		return e.Seq + uint64(e.Chunks[n-1].Offset)
	}
	return e.Seq
}
