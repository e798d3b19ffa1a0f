package protocol

import (
	"fmt"
	"math"
	"strconv"
	"strings"

	"github.com/awaken-go/awaken"
)

// Encoder turns the entries of a run's log, from its first on, into frames. It is a
// function of the entries: it must not look at clocks, stores or chance.
type Encoder interface {
	// Encode adds the frames that an entry becomes: none, one or several.
	//
	// A stream_reset with a cursor is said to a client who has seen entries that were
	// lost. Its frames should leave the client with nothing half open. The encoder is not
	// used any more after that: a new one is given the entries up to the cursor, and then
	// the stream_reset too, with frames that nobody sees.
	Encode(f *Frames, e *awaken.Entry) error
	// End adds what a response ends with. If failure is not nil, the server could not go
	// on, and the client should be told.
	End(f *Frames, failure *Failure)
}

// Position is a place between two frames of a stream: what a client has.
type Position struct {
	awaken.Cursor     // of the last entry it has frames of
	Frames        int // how many it has of them
}

// AfterAll is the position after all frames of the entry at a cursor.
func AfterAll(c awaken.Cursor) Position { return Position{c, math.MaxInt32} }

// String is the position's opaque text, the id of the last frame before it.
func (p Position) String() string { return string(p.append(nil)) }

func (p Position) append(buf []byte) []byte {
	buf = append(strconv.AppendUint(buf, p.Epoch, 10), '-')
	buf = append(strconv.AppendUint(buf, p.Seq, 10), '.')
	return strconv.AppendInt(buf, int64(p.Frames), 10)
}

// ParsePosition reads what String wrote, or a cursor, which is after all its frames.
func ParsePosition(s string) (Position, error) {
	text, n, ok := strings.Cut(s, ".")
	at, err := awaken.ParseCursor(text)
	if err != nil {
		return Position{}, fmt.Errorf("%w: position is %q, want epoch-seq.frame", awaken.ErrInvalid, s)
	}
	if !ok {
		return AfterAll(at), nil
	}
	frames, err := strconv.ParseUint(n, 10, 31)
	p := Position{at, int(frames)}
	if err != nil || p.String() != s {
		return Position{}, fmt.Errorf("%w: position is %q, want epoch-seq.frame", awaken.ErrInvalid, s)
	}
	return p, nil
}

// Frames collects the frames of entries, as server-sent events. The zero Frames has none.
type Frames struct {
	buf    []byte
	at     Position // of the frame that was added last
	named  bool     // frames have ids
	have   int      // frames of this entry that the client has
	opened int      // where the frame begins that is being added
}

// Into makes f append to buf, until Bytes takes it back.
func (f *Frames) Into(buf []byte) { f.buf = buf }

// Bytes returns all that was collected.
func (f *Frames) Bytes() []byte { return f.buf }

// Entry says that the frames of an entry come next, and how many of them to leave out,
// because the client has them.
func (f *Frames) Entry(c awaken.Cursor, have int) {
	f.at, f.named, f.have = Position{Cursor: c}, true, have
}

// Added is how many frames were added since Entry or Unnamed was called, those that were
// left out not counted.
func (f *Frames) Added() int { return max(0, f.at.Frames-f.have) }

// Unnamed says that frames without an id come next.
func (f *Frames) Unnamed() { f.at, f.named, f.have = Position{}, false, 0 }

// Open begins a frame: its data, in one line, is to be appended to what Open returns,
// and handed to Close.
func (f *Frames) Open() []byte {
	f.opened = len(f.buf)
	f.at.Frames++
	buf := f.buf
	if f.named {
		buf = append(f.at.append(append(buf, "id: "...)), '\n')
	}
	return append(buf, "data: "...)
}

// Close ends the frame that Open began.
func (f *Frames) Close(buf []byte) {
	if f.named && f.at.Frames <= f.have {
		f.buf = buf[:f.opened]
		return
	}
	f.buf = append(buf, '\n', '\n')
}

// Data adds a frame with that data, which must be one line.
func (f *Frames) Data(data []byte) { f.Close(append(f.Open(), data...)) }
