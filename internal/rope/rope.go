// Package rope assembles long texts from pieces, without copying them as they grow.
package rope

import "strings"

// Rope is a text that grows at its end. The zero value is empty. A short text is one buffer; what follows is kept in pieces: small ones are
// collected, and others are shared with the caller.
type Rope struct {
	buf  []byte   // the end of the text
	done []string // what is before it
	size int      // of done
}

const (
	blockSize  = 64 << 10 // of the buffer
	smallPiece = 32       // shorter ones are copied: sharing them takes more memory
)

// New returns an empty rope that uses buf, whose content is lost.
func New(buf []byte) Rope { return Rope{buf: buf[:0]} }

// Append appends a piece.
func (r *Rope) Append(s string) {
	full := len(r.buf)+len(s) > blockSize
	if full {
		r.flush()
	}
	if len(s) >= smallPiece && (full || r.size > 0) {
		r.flush()
		r.done, r.size = append(r.done, s), r.size+len(s)
		return
	}
	r.buf = append(r.buf, s...)
}

// flush makes the buffer a piece.
func (r *Rope) flush() {
	if len(r.buf) > 0 {
		r.done, r.size = append(r.done, string(r.buf)), r.size+len(r.buf)
		r.buf = r.buf[:0]
	}
}

// Len returns the length of the text in bytes.
func (r *Rope) Len() int { return r.size + len(r.buf) }

// Buffer returns the memory of the rope's buffer, for another rope. The rope must not be used any more.
func (r *Rope) Buffer() []byte { return r.buf[:0] }

// Is reports whether the text is s.
func (r *Rope) Is(s string) bool {
	if r.Len() != len(s) {
		return false
	}
	for _, p := range r.done {
		if s[:len(p)] != p {
			return false
		}
		s = s[len(p):]
	}
	return s == string(r.buf)
}

// String returns the text.
func (r *Rope) String() string {
	if len(r.done) == 0 {
		return string(r.buf)
	}
	var b strings.Builder
	b.Grow(r.Len())
	for _, p := range r.done {
		b.WriteString(p)
	}
	b.Write(r.buf)
	return b.String()
}
