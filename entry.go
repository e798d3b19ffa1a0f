package awaken

import (
	"encoding/json"
	"fmt"
	"strconv"
	"strings"

	"github.com/awaken-go/awaken/internal/appendjson"
	"github.com/awaken-go/awaken/internal/strict"
)

// Cursor is a position in a thread's log of events: the epoch of the owner that wrote the
// entry, and a sequence number that grows by one with every event. The zero Cursor is before
// the first entry.
type Cursor struct {
	Epoch uint64
	Seq   uint64
}

// String returns the cursor as text. Clients treat it as opaque.
func (c Cursor) String() string { return fmt.Sprintf("%d-%d", c.Epoch, c.Seq) }

// ParseCursor parses the result of [Cursor.String]. Its errors are ErrInvalid.
func ParseCursor(s string) (Cursor, error) {
	e, q, ok := strings.Cut(s, "-")
	epoch, err1 := strconv.ParseUint(e, 10, 63) // as stores count
	seq, err2 := strconv.ParseUint(q, 10, 63)
	if !ok || err1 != nil || err2 != nil || s != (Cursor{epoch, seq}).String() {
		return Cursor{}, fmt.Errorf("%w: cursor is %q, want epoch-seq, such as 1-42", ErrInvalid, s)
	}
	return Cursor{epoch, seq}, nil
}

// Before reports whether c is before d in the log.
func (c Cursor) Before(d Cursor) bool {
	return c.Seq < d.Seq || c.Seq == d.Seq && c.Epoch < d.Epoch
}

// Entry is an event at its position in a thread's log.
//
// A sink receives one entry per event. A commit coalesces the deltas of one message or call
// into one entry with their concatenation; Chunks says where the deltas end, so that a
// reader can resume inside the entry.
type Entry struct {
	Cursor
	RunID  string
	Time   int64 // Unix ms
	Event  Event
	Chunks []Chunk // the coalesced deltas, in order; nil if the entry holds one event
}

// Chunk is one delta of a coalesced entry.
type Chunk struct {
	Offset uint32 // of its sequence number from the entry's
	Len    uint32 // in bytes
}

// Last returns the highest sequence number that the entry covers.
func (e *Entry) Last() uint64 {
	if n := len(e.Chunks); n > 0 {
		return e.Seq + uint64(e.Chunks[n-1].Offset)
	}
	return e.Seq
}

type entryWire struct {
	Epoch  uint64          `json:"epoch"`
	Seq    uint64          `json:"seq"`
	RunID  string          `json:"run_id,omitempty"`
	Time   int64           `json:"time"`
	Event  json.RawMessage `json:"event"`
	Chunks [][2]uint32     `json:"chunks,omitempty"`
}

// MarshalJSON encodes the entry as stores keep it.
func (e Entry) MarshalJSON() ([]byte, error) { return e.AppendJSON(make([]byte, 0, 256)) }

// AppendJSON appends the result of MarshalJSON to buf. After an error it returns buf
// unchanged.
func (e *Entry) AppendJSON(buf []byte) ([]byte, error) {
	out := appendjson.Uint(buf, `{"epoch":`, e.Epoch)
	out = appendjson.Uint(out, `,"seq":`, e.Seq)
	out = appendjson.TextIf(out, `,"run_id":`, e.RunID)
	out = appendjson.Int(out, `,"time":`, e.Time)
	out, err := AppendEvent(append(out, `,"event":`...), e.Event)
	if err != nil {
		return buf, err
	}
	return append(appendChunks(out, e.Chunks), '}'), nil
}

// appendChunks appends a comma and the field "chunks", unless chunks is empty.
func appendChunks(buf []byte, chunks []Chunk) []byte {
	for i, c := range chunks {
		if i == 0 {
			buf = append(buf, `,"chunks":[`...)
		} else {
			buf = append(buf, ',')
		}
		buf = appendjson.Uint(buf, "[", uint64(c.Offset))
		buf = append(appendjson.Uint(buf, ",", uint64(c.Len)), ']')
	}
	if len(chunks) > 0 {
		buf = append(buf, ']')
	}
	return buf
}

// UnmarshalJSON decodes the result of MarshalJSON. Unknown fields are ignored; see [UnmarshalEvent].
func (e *Entry) UnmarshalJSON(data []byte) error {
	var w entryWire
	if err := strict.UnmarshalKnown(data, &w); err != nil {
		return fmt.Errorf("entry: %w", err)
	}
	ev, err := UnmarshalEvent(w.Event)
	if err != nil {
		return fmt.Errorf("entry: %w", err)
	}
	*e = Entry{Cursor: Cursor{w.Epoch, w.Seq}, RunID: w.RunID, Time: w.Time, Event: ev}
	for _, c := range w.Chunks {
		e.Chunks = append(e.Chunks, Chunk{c[0], c[1]})
	}
	return e.checkChunks()
}

// checkChunks reports an error unless the chunks add up to the entry's text.
func (e *Entry) checkChunks() error {
	if len(e.Chunks) == 0 {
		return nil
	}
	text, ok := deltaText(e.Event)
	if !ok {
		return fmt.Errorf("entry %s: chunks are set, but a %s event has none", e.Cursor, e.Event.Type())
	}
	sum, last := uint64(0), -1
	for _, c := range e.Chunks {
		if int(c.Offset) <= last {
			return fmt.Errorf("entry %s: chunk offset is %d, want more than %d", e.Cursor, c.Offset, last)
		}
		last = int(c.Offset)
		sum += uint64(c.Len)
	}
	if sum != uint64(len(text)) || e.Chunks[0].Offset != 0 {
		return fmt.Errorf("entry %s: chunks have %d bytes, want %d, as in the text", e.Cursor, sum, len(text))
	}
	return nil
}

// deltaText returns the text of an event that can be coalesced.
func deltaText(ev Event) (string, bool) {
	switch ev := ev.(type) {
	case *TextDelta:
		return ev.Delta, true
	case *ReasoningDelta:
		return ev.Delta, true
	case *ToolCallDelta:
		return ev.ArgsDelta, true
	case *ToolCallStreamDelta:
		return ev.Delta, true
	}
	return "", false
}

// Split returns the entry as the sink received it: one entry for each coalesced delta.
func (e *Entry) Split() []Entry {
	if len(e.Chunks) == 0 {
		return []Entry{*e}
	}
	out := make([]Entry, 0, len(e.Chunks))
	from := uint32(0)
	for _, c := range e.Chunks {
		part := Entry{Cursor: Cursor{e.Epoch, e.Seq + uint64(c.Offset)}, RunID: e.RunID, Time: e.Time}
		to := from + c.Len
		switch ev := e.Event.(type) {
		case *TextDelta:
			part.Event = &TextDelta{ev.Delta[from:to]}
		case *ReasoningDelta:
			part.Event = &ReasoningDelta{ev.Delta[from:to]}
		case *ToolCallDelta:
			part.Event = &ToolCallDelta{ev.ID, ev.ArgsDelta[from:to]}
		case *ToolCallStreamDelta:
			part.Event = &ToolCallStreamDelta{ev.ID, ev.Name, ev.Delta[from:to]}
		}
		out = append(out, part)
		from = to
	}
	return out
}
