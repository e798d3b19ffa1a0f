package awaken

import (
	"encoding/json"
	"fmt"
	"strconv"
	"strings"

	"github.com/awaken-go/awaken/internal/appendjson"
	"github.com/awaken-go/awaken/internal/strict"
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

type entryWire struct {
	Epoch  uint64          `json:"epoch"`
	Seq    uint64          `json:"seq"`
	RunID  string          `json:"run_id,omitempty"`
	Time   int64           `json:"time"`
	Event  json.RawMessage `json:"event"`
	Chunks [][2]uint32     `json:"chunks,omitempty"`
}

// MarshalJSON writes the entry as stores keep it.
func (e Entry) MarshalJSON() ([]byte, error) {
	out, err := e.AppendJSON(make([]byte, 0, 256))
	if err != nil {
		return nil, err
	}
	return out, nil
}

// AppendJSON appends what MarshalJSON returns. After an error, buf is as it was.
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

// appendChunks appends the field "chunks" of an entry, after a comma, if there are any.
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

// UnmarshalJSON reads what MarshalJSON wrote.
func (e *Entry) UnmarshalJSON(data []byte) error {
	var w entryWire
	if err := strict.Unmarshal(data, &w); err != nil {
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

// checkChunks makes sure that the chunks are cuts of the entry's text.
func (e *Entry) checkChunks() error {
	if len(e.Chunks) == 0 {
		return nil
	}
	text, ok := deltaText(e.Event)
	if !ok {
		return fmt.Errorf("entry %s: a %s event has no chunks", e.Cursor, e.Event.Type())
	}
	sum, last := uint64(0), -1
	for _, c := range e.Chunks {
		if int(c.Offset) <= last {
			return fmt.Errorf("entry %s: chunk offsets do not grow at %d", e.Cursor, c.Offset)
		}
		last = int(c.Offset)
		sum += uint64(c.Len)
	}
	if sum != uint64(len(text)) || e.Chunks[0].Offset != 0 {
		return fmt.Errorf("entry %s: chunks of %d bytes do not cut a text of %d", e.Cursor, sum, len(text))
	}
	return nil
}

// deltaText is the text of an event that can be coalesced.
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

// Split returns the entry as the sink saw it: one entry for each delta. Other
// entries are returned as they are.
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
