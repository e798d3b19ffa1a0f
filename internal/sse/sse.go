// Package sse writes streams of server-sent events.
package sse

import (
	"net/http"
	"time"
)

// Writer writes frames to one client. Frames are collected until Flush; a client that
// does not take what is flushed in time is cut off by the error that Flush returns.
type Writer struct {
	w       http.ResponseWriter
	control *http.ResponseController
	timeout time.Duration
	max     int // bytes collected before they are flushed
	buf     []byte
	last    time.Time // of the last flush
}

// Start answers a request with a stream. Timeout is how long a client may take for what
// is flushed.
func Start(w http.ResponseWriter, timeout time.Duration) *Writer {
	h := w.Header()
	h.Set("Content-Type", "text/event-stream")
	h.Set("Cache-Control", "no-cache, no-transform")
	h.Set("X-Accel-Buffering", "no")
	w.WriteHeader(http.StatusOK)
	return &Writer{w: w, control: http.NewResponseController(w), timeout: timeout, max: 16 << 10, last: time.Now()}
}

// Buffer returns where the next frame is to be appended, for Take. It saves a copy.
func (s *Writer) Buffer() []byte { return s.buf }

// Take takes back what Buffer gave, with frames appended to it.
func (s *Writer) Take(buf []byte) error {
	s.buf = buf
	if len(s.buf) >= s.max {
		return s.Flush()
	}
	return nil
}

// Frame adds a frame. Id and event may be empty; data must not hold a line break.
func (s *Writer) Frame(id, event string, data []byte) error {
	return s.Take(AppendFrame(s.buf, id, event, data))
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
		if _, err := s.w.Write(s.buf); err != nil {
			return err
		}
		if s.buf = s.buf[:0]; cap(s.buf) > 4*s.max {
			s.buf = nil
		}
	}
	return s.control.Flush()
}

// Idle is how long ago something was flushed.
func (s *Writer) Idle() time.Duration { return time.Since(s.last) }

// Heartbeat sends a comment, which readers ignore.
func (s *Writer) Heartbeat() error {
	s.buf = append(s.buf, ": heartbeat\n\n"...)
	return s.Flush()
}
