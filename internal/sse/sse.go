// Package sse writes streams of server-sent events.
package sse

import (
	"bytes"
	"net/http"
	"sync"
	"time"
)

// Writer writes frames to one client. Frames are collected until Flush, which waits for the
// client to take them; a client that does not is cut off by the error that Flush returns. It has
// the timeout for every 64 KiB, so that a large frame does not count as a stalled client.
type Writer struct {
	w         http.ResponseWriter
	control   *http.ResponseController
	timeout   time.Duration
	maxFrames int // collected before they are flushed, if that is limited
	frames    int // in buf
	buf       []byte
	last      time.Time // of the last flush
}

// maxBytes is how much is collected before it is flushed.
const maxBytes = 16 << 10

// Start answers a request with a stream. Timeout is how long a client may take for what is
// flushed. Once maxFrames are collected they are flushed; 0 or less sets no limit beside that of
// bytes.
func Start(w http.ResponseWriter, timeout time.Duration, maxFrames int) *Writer {
	h := w.Header()
	h.Set("Content-Type", "text/event-stream")
	h.Set("Cache-Control", "no-cache, no-transform")
	h.Set("X-Accel-Buffering", "no")
	w.WriteHeader(http.StatusOK)
	return &Writer{w: w, control: http.NewResponseController(w), timeout: timeout, maxFrames: maxFrames, last: time.Now()}
}

// buffers are those that no writer collects frames in. One that waits has none.
var buffers = sync.Pool{New: func() any { b := make([]byte, 0, 8<<10); return &b }}

// Buffer returns where the next frame is to be appended, for Take. It saves a copy.
func (s *Writer) Buffer() []byte {
	if s.buf == nil {
		s.buf = *buffers.Get().(*[]byte)
	}
	return s.buf
}

var frameEnd = []byte("\n\n")

// Take takes back what Buffer gave, with frames appended to it.
func (s *Writer) Take(buf []byte) error {
	s.frames += bytes.Count(buf[len(s.buf):], frameEnd)
	s.buf = buf
	if len(s.buf) >= maxBytes || s.maxFrames > 0 && s.frames >= s.maxFrames {
		return s.Flush()
	}
	return nil
}

// Frame adds a frame. Id and event may be empty; data must not hold a line break.
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

// Pending reports whether there is something to flush.
func (s *Writer) Pending() bool { return len(s.buf) > 0 }

// Flush sends what was collected.
func (s *Writer) Flush() error {
	now := time.Now()
	s.last = now
	if err := s.control.SetWriteDeadline(now.Add(s.timeout)); err != nil {
		return err
	}
	if len(s.buf) > 0 {
		for rest := s.buf; len(rest) > 0; {
			piece := rest[:min(len(rest), 4*maxBytes)]
			if _, err := s.w.Write(piece); err != nil {
				return err
			}
			if rest = rest[len(piece):]; len(rest) > 0 { // it is taking what it is given
				if err := s.control.SetWriteDeadline(time.Now().Add(s.timeout)); err != nil {
					return err
				}
			}
		}
		if buf := s.buf[:0]; cap(buf) <= 4*maxBytes {
			buffers.Put(&buf)
		}
		s.buf, s.frames = nil, 0
	}
	return s.control.Flush()
}

// Idle is how long ago something was flushed.
func (s *Writer) Idle() time.Duration { return time.Since(s.last) }

// Heartbeat sends a comment, which readers ignore.
func (s *Writer) Heartbeat() error {
	s.buf = append(s.Buffer(), ": heartbeat\n\n"...)
	return s.Flush()
}
