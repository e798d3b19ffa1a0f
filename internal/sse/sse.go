// Package sse writes streams of server-sent events.
package sse

import (
	"bytes"
	"net/http"
	"sync"
	"time"
)

// Writer writes frames to one client. It buffers frames until Flush, which waits for the client to
// read them. If the client does not, Flush returns an error. The client has the timeout for every 64
// KiB, so that a large frame does not look like a stalled client, and up to a quarter of it more, so that
// not every flush moves the connection's deadline.
type Writer struct {
	w         http.ResponseWriter
	control   *http.ResponseController
	shared    bool // see Start
	timeout   time.Duration
	maxFrames int // buffered before they are flushed; 0 or less means no limit
	full      int // bytes buffered before they are flushed
	frames    int // in buf
	buf       []byte
	pooled    *[]byte   // where buf is from, or nil
	last      time.Time // of the last flush
	deadline  time.Time // of the connection; zero if there is none
}

// How much is buffered before it is flushed. The buffer that net/http has for a connection holds 4 KiB. The first flush fits
// into it with the response's headers, so that the client gets them and its first frames in one write. Later ones take what is
// there: net/http fills its own buffer and writes the rest at once, which is fewer writes than one for every 4 KiB.
const (
	maxFirst = 3400
	maxLater = 15 << 10
)

// maxPiece is how much the client has a timeout for.
const maxPiece = 64 << 10

// Start begins the response to a request as a stream. Shared says that the connection has other streams, as
// one of HTTP/2 does: there a deadline ends the stream when it passes, even if nothing is being written, so none
// is left between flushes. Timeout is how long the client may at least take to read
// what is flushed. The writer flushes once it has buffered almost 4 KiB, later 15, or maxFrames frames; 0 or less means
// no limit of frames. An entry's frames that are added together are not split.
func Start(w http.ResponseWriter, shared bool, timeout time.Duration, maxFrames int) *Writer {
	h := w.Header()
	h.Set("Content-Type", "text/event-stream")
	h.Set("Cache-Control", "no-cache, no-transform")
	h.Set("X-Accel-Buffering", "no")
	w.WriteHeader(http.StatusOK)
	return &Writer{w: w, control: http.NewResponseController(w), shared: shared, timeout: timeout, maxFrames: maxFrames, full: maxFirst, last: time.Now()}
}

// buffers has free buffers. An idle writer holds none.
var buffers = sync.Pool{New: func() any { b := make([]byte, 0, 8<<10); return &b }}

// Buffer returns the buffer to append the next frames to, for Take.
func (s *Writer) Buffer() []byte {
	if s.buf == nil {
		s.pooled = buffers.Get().(*[]byte)
		s.buf = *s.pooled
	}
	return s.buf
}

var frameEnd = []byte("\n\n")

// Take takes back the buffer with frames appended to it, and flushes it if it is full.
func (s *Writer) Take(buf []byte) error {
	s.frames += bytes.Count(buf[len(s.buf):], frameEnd)
	s.buf = buf
	if len(s.buf) >= s.full || s.maxFrames > 0 && s.frames >= s.maxFrames {
		return s.Flush()
	}
	return nil
}

// Frame adds a frame. Id and event may be empty; data must not contain a line break.
func (s *Writer) Frame(id, event string, data []byte) error {
	return s.Take(AppendFrame(s.Buffer(), id, event, data))
}

// AppendFrame appends a frame to buf.
func AppendFrame(buf []byte, id, event string, data []byte) []byte {
	if id != "" {
		buf = append(append(append(buf, "id: "...), id...), '\n')
	}
	if event != "" {
		buf = append(append(append(buf, "event: "...), event...), '\n')
	}
	return append(append(append(buf, "data: "...), data...), '\n', '\n')
}

// Pending reports whether frames are buffered.
func (s *Writer) Pending() bool { return len(s.buf) > 0 }

// Flush sends the buffered frames.
func (s *Writer) Flush() error {
	if err := s.End(); err != nil {
		return err
	}
	s.full = maxLater
	if err := s.control.Flush(); err != nil || !s.shared {
		return err
	}
	s.deadline = time.Time{}
	return s.control.SetWriteDeadline(s.deadline)
}

// End is the last call: the buffered frames are sent when the handler returns, in one write with the end
// of the response.
func (s *Writer) End() error {
	now := time.Now()
	s.last = now
	if err := s.extend(now); err != nil {
		return err
	}
	if len(s.buf) == 0 {
		return nil
	}
	for rest := s.buf; len(rest) > 0; {
		piece := rest[:min(len(rest), maxPiece)]
		if _, err := s.w.Write(piece); err != nil {
			return err
		}
		if rest = rest[len(piece):]; len(rest) > 0 { // the client is reading
			if err := s.extend(time.Now()); err != nil {
				return err
			}
		}
	}
	if cap(s.buf) <= maxPiece {
		*s.pooled = s.buf[:0]
		buffers.Put(s.pooled)
	}
	s.buf, s.pooled, s.frames = nil, nil, 0
	return nil
}

// extend makes sure that the client has the timeout from now on.
func (s *Writer) extend(now time.Time) error {
	if s.deadline.Sub(now) >= s.timeout {
		return nil
	}
	s.deadline = now.Add(s.timeout + s.timeout/4)
	return s.control.SetWriteDeadline(s.deadline)
}

// Idle returns the time since the last flush.
func (s *Writer) Idle() time.Duration { return time.Since(s.last) }

// Comment sends a line, which clients ignore and a person who looks at the stream sees.
func (s *Writer) Comment(line string) error {
	s.buf = append(append(append(s.Buffer(), ": "...), line...), '\n', '\n')
	return s.Flush()
}
