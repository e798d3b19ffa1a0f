package server

import (
	"slices"
	"sync"
	"sync/atomic"

	"github.com/awaken-go/awaken"
	"github.com/awaken-go/awaken/mailbox"
	"github.com/awaken-go/awaken/protocol"
)

// encodings holds what streams share: the frames of an event are made once for each format, and all
// streams that show the event send the same bytes.
type encodings struct {
	most int // entries whose frames are kept for streams that are behind others

	mu   sync.Mutex
	open map[encodingKey]*encoding
}

func newEncodings(most int) *encodings {
	return &encodings{most: most, open: map[encodingKey]*encoding{}}
}

// encodingKey is everything but the entries that frames depend on. What a stream's client may see is
// not part of it: that is decided before its stream asks for frames.
type encodingKey struct {
	tenant   *mailbox.Tenant
	threadID string
	format   string // the encoder and its options
	// Of encoders that keep state, which entries they were given: those of a run, or of the thread
	// after a cursor.
	runID string
	from  awaken.Cursor
}

// join adds a stream to those that share an encoding.
func (all *encodings) join(key encodingKey) *encoding {
	all.mu.Lock()
	defer all.mu.Unlock()
	x := all.open[key]
	if x == nil {
		x = &encoding{key: key, most: all.most}
		all.open[key] = x
	}
	if x.streams++; x.streams > 1 {
		x.several.Store(true)
	}
	return x
}

// leave removes a stream. The last one drops the encoding.
func (all *encodings) leave(x *encoding) {
	all.mu.Lock()
	defer all.mu.Unlock()
	if x.streams--; x.streams == 0 {
		delete(all.open, x.key)
	}
}

// encoding is the latest frames of a thread in one format. Until a second stream joins the first, it is
// empty: the first encodes into its own buffer.
type encoding struct {
	key     encodingKey
	most    int         // entries to keep
	streams int         // guarded by encodings.mu
	several atomic.Bool // there was more than one stream

	mu   sync.Mutex
	enc  protocol.Encoder // the shared one, or nil if no stream has lent its own yet
	at   awaken.Cursor    // of the last entry that enc was given; zero before the first
	over bool             // enc can encode no more: it failed, or was given a reset
	out  protocol.Frames
	list []encoded // in the order of the log
	size int       // bytes in list
	slab []byte    // has room for the next frames
}

// encoded is the frames of one entry.
type encoded struct {
	after  awaken.Cursor // of the entry before, which the encoder was given; zero if there is none
	at     awaken.Cursor
	frames []byte
}

// Bounds of what is kept for streams that are behind others. A stream that is further behind encodes for
// itself.
const (
	maxEncoded      = 2048
	maxEncodedBytes = 1 << 20
	slabSize        = 8 << 10
)

// frames appends the frames of an entry, which depend on no other entry.
func (x *encoding) frames(buf []byte, e *awaken.Entry, encode Framing) ([]byte, error) {
	if _, reset := e.Event.(*awaken.StreamReset); reset || !x.several.Load() {
		return encode(buf, e) // a reset has the cursor of the entry to fall back to
	}
	x.mu.Lock()
	defer x.mu.Unlock()
	i, found := slices.BinarySearchFunc(x.list, e.Cursor, func(of encoded, c awaken.Cursor) int { return compareCursors(of.at, c) })
	switch {
	case found:
	case i < len(x.list) && e.Epoch > x.list[len(x.list)-1].at.Epoch: // a new owner, and entries that were lost
		x.trim(len(x.list))
		i = 0
		fallthrough
	case i == len(x.list):
		frames, err := encode(x.room(), e)
		if err != nil {
			return nil, err
		}
		i = x.keep(encoded{at: e.Cursor, frames: frames})
	default: // before those that are kept
		return encode(buf, e)
	}
	return append(buf, x.list[i].frames...), nil
}

// lend gives the encoder of a stream, which was given the entries up to at, to all streams. It reports
// whether there is a shared one now that the stream can use instead of its own.
func (x *encoding) lend(enc protocol.Encoder, at awaken.Cursor) bool {
	x.mu.Lock()
	defer x.mu.Unlock()
	if x.enc == nil {
		x.enc, x.at = enc, at
		return true
	}
	_, kept := x.find(at)
	return kept || x.at == at && !x.over
}

// next appends the frames of an entry that follows the one at after. If they are not known any more, ok
// is false.
func (x *encoding) next(buf []byte, after awaken.Cursor, e *awaken.Entry) (_ []byte, ok bool, err error) {
	x.mu.Lock()
	defer x.mu.Unlock()
	i, kept := x.find(after)
	if !kept {
		if x.at != after || x.over {
			return nil, false, nil
		}
		x.out.Into(x.room())
		x.out.Entry(e.Cursor, 0)
		if err := x.enc.Encode(&x.out, e); err != nil {
			x.over = true
			return nil, true, err
		}
		x.at = e.Cursor
		i = x.keep(encoded{after, e.Cursor, x.out.Bytes()})
		x.out.Into(nil)
	}
	if x.list[i].at != e.Cursor { // another owner's
		return nil, false, nil
	}
	return append(buf, x.list[i].frames...), true, nil
}

// reset appends the frames of a stream_reset that follows the entry at after. The shared encoder is not
// used for other entries after that.
func (x *encoding) reset(buf []byte, after awaken.Cursor, e *awaken.Entry) (_ []byte, ok bool, err error) {
	x.mu.Lock()
	defer x.mu.Unlock()
	i, kept := x.find(after)
	if !kept && (x.at != after || x.over) {
		return nil, false, nil
	}
	if !kept {
		x.over = true
		x.out.Into(x.room())
		x.out.Unnamed()
		if err := x.enc.Encode(&x.out, e); err != nil {
			return nil, true, err
		}
		i = x.keep(encoded{after, e.Cursor, x.out.Bytes()})
		x.out.Into(nil)
	}
	if x.list[i].at != e.Cursor {
		return nil, false, nil
	}
	return append(buf, x.list[i].frames...), true, nil
}

// end adds the last frames of a response.
func (x *encoding) end(f *protocol.Frames, failure *protocol.Failure) {
	x.mu.Lock()
	defer x.mu.Unlock()
	x.enc.End(f, failure)
}

// find returns the place of the entry that follows the one at after. Requires x.mu.
func (x *encoding) find(after awaken.Cursor) (int, bool) {
	i, _ := slices.BinarySearchFunc(x.list, after, func(of encoded, c awaken.Cursor) int { return compareCursors(of.after, c) })
	return i, i < len(x.list) && x.list[i].after == after
}

// room returns an empty buffer for frames to keep. Requires x.mu.
func (x *encoding) room() []byte {
	if cap(x.slab)-len(x.slab) < slabSize/8 {
		x.slab = make([]byte, 0, slabSize)
	}
	return x.slab[len(x.slab):]
}

// keep adds frames, which were appended to room, and returns their place. Requires x.mu.
func (x *encoding) keep(of encoded) int {
	n := len(of.frames)
	of.frames = of.frames[:n:n]
	x.slab = x.slab[:min(len(x.slab)+n, cap(x.slab))]
	x.list, x.size = append(x.list, of), x.size+n
	for len(x.list) > x.most || x.size > maxEncodedBytes && len(x.list) > 1 {
		x.trim((len(x.list) + 1) / 2)
	}
	return len(x.list) - 1
}

// trim drops the n oldest frames. Requires x.mu.
func (x *encoding) trim(n int) {
	for _, of := range x.list[:n] {
		x.size -= len(of.frames)
	}
	x.list = slices.Delete(x.list, 0, n)
}

func compareCursors(a, b awaken.Cursor) int {
	switch {
	case a == b:
		return 0
	case a.Before(b):
		return -1
	}
	return 1
}
