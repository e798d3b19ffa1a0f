package protocol

import (
	"bytes"
	"encoding/json"
	"fmt"
	"math"
	"strconv"
	"strings"

	"github.com/awaken-go/awaken"
)

// Encoder turns the entries of a run's log, starting with the first, into frames. Its output must
// depend on the entries alone: not on clocks, stores or chance.
type Encoder interface {
	// Encode adds the frames of an entry: none, one or several.
	//
	// A stream_reset with a cursor is for a client that has seen entries that were lost. Its
	// frames should leave nothing half open at the client. The encoder is not used after that: a
	// new one gets the entries up to the cursor and then the stream_reset, and its frames for
	// these are discarded.
	Encode(f *Frames, e *awaken.Entry) error
	// End adds the last frames of a response. A failure that is not nil says why the server
	// cannot continue; the client should learn of it. Other streams may use the encoder after that,
	// so End does not change it.
	End(f *Frames, failure *Failure)
}

// NotBegun is the error of a run that was cancelled before it began to answer, for clients that would otherwise show an empty answer.
const NotBegun = "the run was cancelled before it began to answer, by a request or because another message came first; " +
	"its message is in the conversation"

// Position is a place between two frames of a stream. It says what a client has.
type Position struct {
	awaken.Cursor     // of the last entry of which it has frames
	Frames        int // how many of them it has
}

// AfterAll returns the position after all frames of the entry at a cursor.
func AfterAll(c awaken.Cursor) Position { return Position{c, math.MaxInt32} }

// String returns the position as an opaque text: the id of the last frame before it.
func (p Position) String() string { return string(p.append(nil)) }

func (p Position) append(buf []byte) []byte {
	buf = append(strconv.AppendUint(buf, p.Epoch, 10), '-')
	buf = append(strconv.AppendUint(buf, p.Seq, 10), '.')
	return strconv.AppendInt(buf, int64(p.Frames), 10)
}

// ParsePosition parses the result of String, or a cursor, which means after all its frames.
func ParsePosition(s string) (Position, error) {
	text, n, ok := strings.Cut(s, ".")
	at, err := awaken.ParseCursor(text)
	if err != nil {
		return Position{}, fmt.Errorf("%w: position is %q, want epoch-seq.frame, such as 1-42.0", awaken.ErrInvalid, s)
	}
	if !ok {
		return AfterAll(at), nil
	}
	frames, err := strconv.ParseUint(n, 10, 31)
	p := Position{at, int(frames)}
	if err != nil || p.String() != s {
		return Position{}, fmt.Errorf("%w: position is %q, want epoch-seq.frame, such as 1-42.0", awaken.ErrInvalid, s)
	}
	return p, nil
}

// TextOf returns a JSON value as text: a string as it is, and others without the white space between values,
// which a value loses when it is stored.
func TextOf(raw json.RawMessage) string {
	var s string
	if json.Unmarshal(raw, &s) == nil {
		return s
	}
	var b bytes.Buffer
	if json.Compact(&b, raw) != nil {
		return string(raw)
	}
	return b.String()
}

// Frames collects the frames of entries as server-sent events. The zero Frames is empty.
type Frames struct {
	buf    []byte
	at     Position // of the last frame added
	named  bool     // whether frames have ids
	prefix string   // of their ids
	bare   bool     // whether ids are left out
	have   int      // number of the entry's frames that the client has
	opened int      // where the open frame begins
}

// Into makes f append to buf. Bytes returns the result.
func (f *Frames) Into(buf []byte) { f.buf = buf }

// Bytes returns all frames collected.
func (f *Frames) Bytes() []byte { return f.buf }

// Entry announces the frames of an entry. The first have of them are skipped, because the client has
// them.
func (f *Frames) Entry(c awaken.Cursor, have int) {
	f.at, f.named, f.have = Position{Cursor: c}, true, have
}

// Added returns how many frames were added since Entry or Unnamed, without skipped ones.
func (f *Frames) Added() int { return max(0, f.at.Frames-f.have) }

// Prefix makes the ids of frames begin with a text, for a protocol whose clients resume a stream by nothing but an id.
func (f *Frames) Prefix(text string) { f.prefix = text }

// Bare leaves the ids of frames out, for a protocol whose clients cannot resume a stream. Frames that the client has are
// skipped all the same.
func (f *Frames) Bare() { f.bare = true }

// Unnamed announces frames without ids.
func (f *Frames) Unnamed() { f.at, f.named, f.have = Position{}, false, 0 }

// Open begins a frame. Append its data, which must be one line, to what Open returns and pass the
// result to Close.
func (f *Frames) Open() []byte {
	f.opened = len(f.buf)
	f.at.Frames++
	buf := f.buf
	if f.named && !f.bare {
		buf = append(f.at.append(append(append(buf, "id: "...), f.prefix...)), '\n')
	}
	return append(buf, "data: "...)
}

// OpenEvent begins a frame with the name of an event, as Open does.
func (f *Frames) OpenEvent(name string) []byte {
	buf := f.Open()
	buf = append(buf[:len(buf)-len("data: ")], "event: "...)
	return append(append(buf, name...), "\ndata: "...)
}

// Skip counts a frame that the client has, for an encoder that knows by other means than positions.
func (f *Frames) Skip() { f.at.Frames++ }

// Close ends the frame that Open began.
func (f *Frames) Close(buf []byte) {
	if f.named && f.at.Frames <= f.have {
		f.buf = buf[:f.opened]
		return
	}
	f.buf = append(buf, '\n', '\n')
}

// Data adds a frame with data, which must be one line.
func (f *Frames) Data(data []byte) { f.Close(append(f.Open(), data...)) }
