package server

import (
	"bytes"
	"context"
	"errors"
	"io"
	"net/http"
	"os"
	goruntime "runtime"
	"time"

	"github.com/awaken-go/awaken/internal/strict"
	"github.com/awaken-go/awaken/protocol"
)

// bodies reads and decodes the bodies of requests, in bounded memory and time.
type bodies struct {
	bytes  int64         // of a body; 0 or less means no limit
	depth  int           // of the JSON in it; 0 or less means no limit
	values int           // in it; 0 or less means no limit
	rate   int           // bytes per second that a client must send after grace; 0 or less means no limit
	grace  time.Duration // until the rate counts
	time   time.Duration // for all of it; 0 or less means no limit
	memory *shares       // of all bodies that are being read or are in use
	large  *turns        // to decode a large body

	serving context.Context // until the server stops, which no unfinished body delays
}

const (
	firstRead   = 4 << 10 // bytes that are taken for a body before any has arrived
	valueMemory = 512     // bytes that a decoded JSON value may take beside its text
	largeBody   = 1 << 20 // bytes, with those of the values, from which on a body waits to be decoded
)

func newBodies(serving context.Context, l *Limits) *bodies {
	return &bodies{bytes: l.Body, depth: l.Depth, values: l.Values, rate: l.BodyRate, grace: l.BodyGrace, time: 2 * l.RequestTime,
		serving: serving, memory: newShares("bytes of request bodies in flight", l.BodyMemory), large: newTurns(serving, max(1, goruntime.GOMAXPROCS(0)/2))}
}

// read reads the body of a request that takes one. It is done before the request counts as one, so
// that a client that sends slowly keeps no other out. The memory is the request's until release.
func (b *bodies) read(req *Request) error {
	if req.route.Body == nil || req.r.Body == nil || req.r.Body == http.NoBody {
		return nil
	}
	return b.fetch(req, b.bytes)
}

// fetch reads the body of a request, which has at most so many bytes; 0 or less means no limit.
func (b *bodies) fetch(req *Request, most int64) error {
	if most > 0 && req.r.ContentLength > most {
		return &http.MaxBytesError{Limit: most}
	}
	from := req.r.Body
	if most > 0 {
		from = http.MaxBytesReader(req.w, from, most)
	}
	control, start := http.NewResponseController(req.w), time.Now()
	var data []byte
	var values counter
	late := false
	for {
		if len(data) == cap(data) {
			more := room(cap(data), req.r.ContentLength)
			if err := req.hold(b.memory, int64(more)); err != nil {
				return err
			}
			data = append(make([]byte, 0, cap(data)+more), data...)
		}
		_ = control.SetReadDeadline(b.deadline(start, len(data))) // the writer of a test may not support it
		if b.serving.Err() != nil {
			req.LeaveBody()
			return ErrStopping
		}
		n, err := from.Read(data[len(data):cap(data)])
		values.count(data[len(data) : len(data)+n])
		data = data[:len(data)+n]
		if b.values > 0 && values.n >= b.values {
			req.LeaveBody()
			return Fail(http.StatusRequestEntityTooLarge, "too_large", "the body has too many JSON values, want at most %d", b.values)
		}
		switch {
		case err == io.EOF:
			req.body = data
			return req.hold(b.memory, int64(values.n+1)*valueMemory)
		case err == nil && !late: // the rest may take a while
			late = true
			defer context.AfterFunc(b.serving, func() { _ = control.SetReadDeadline(time.Now()) })()
		case err == nil || b.serving.Err() != nil:
		case errors.Is(err, os.ErrDeadlineExceeded):
			req.LeaveBody()
			return Fail(http.StatusRequestTimeout, "timeout", "the body arrives too slowly: %d bytes in %s, want at least %d bytes per second", len(data), time.Since(start).Round(time.Millisecond), max(b.rate, 0))
		default:
			if _, ok := errors.AsType[*http.MaxBytesError](err); ok {
				return err
			}
			return protocol.BadRequest("cannot read the body")
		}
	}
}

// LeaveBody says that the rest of a body is not read. With HTTP/1.1 the connection then cannot be used
// again; with HTTP/2 only the request ends.
func (req *Request) LeaveBody() {
	if req.r.ProtoMajor < 2 {
		req.w.Header().Set("Connection", "close")
	}
}

// deadline returns when the next bytes of a body must have arrived.
func (b *bodies) deadline(start time.Time, have int) time.Time {
	var at time.Time
	if b.time > 0 {
		at = start.Add(b.time)
	}
	if b.rate > 0 {
		if slow := start.Add(b.grace + time.Duration(have)*time.Second/time.Duration(b.rate)); at.IsZero() || slow.Before(at) {
			at = slow
		}
	}
	return at
}

// room returns how many bytes to add to the have ones for a body with a length, or -1. A body that
// has sent a sixteenth gets what the rest takes, so that little is copied and what was announced alone
// takes little; one without a length, as much again.
func room(have int, length int64) int {
	switch rest := length + 1 - int64(have); { // the end is read too
	case rest > 0 && rest <= 15*int64(max(have, firstRead)):
		return int(rest)
	case have == 0:
		return firstRead
	case rest > 0:
		return 15 * have
	}
	return have
}

// counter counts the values of a JSON text, but for the first, as it arrives. In any other text it
// counts something.
type counter struct {
	n      int
	text   bool // within a string
	escape bool // after a backslash there
}

func (c *counter) count(data []byte) {
	for _, b := range data {
		switch {
		case c.escape:
			c.escape = false
		case c.text && b == '\\':
			c.escape = true
		case b == '"':
			c.text = !c.text
		case !c.text && (b == ',' || b == '[' || b == '{'):
			c.n++
		}
	}
}

// decode decodes the body of a request into v. Large ones wait for each other.
func (b *bodies) decode(req *Request, v any) error {
	if req.held >= largeBody {
		return req.heavy(b.large, func() error { return b.decodeNow(req, v) })
	}
	return b.decodeNow(req, v)
}

func (b *bodies) decodeNow(req *Request, v any) error {
	if len(bytes.TrimSpace(req.body)) == 0 {
		req.body = []byte("{}")
	}
	if err := strict.UnmarshalBody(req.body, b.depth, v); err != nil {
		if _, ok := errors.AsType[*strict.Malformed](err); ok {
			return Fail(http.StatusBadRequest, "invalid_json", "the body is %v", err)
		}
		return protocol.InvalidBody("%v", err)
	}
	if hasNUL(req.body) { // PostgreSQL cannot store it as text
		return protocol.BadRequest("the body holds the character U+0000; remove it")
	}
	return nil
}

// hold takes memory for the request until release.
func (req *Request) hold(memory *shares, n int64) error {
	if err := memory.take(req.Caller, n); err != nil {
		return err
	}
	req.held += n
	return nil
}

// ErrStopping refuses a request that has come too late.
var ErrStopping = &protocol.Failure{Status: http.StatusServiceUnavailable, Code: "stopping", Message: "the server is stopping", RetryAfter: time.Second}

// Release gives back the memory of the request's body, and its turn.
func (req *Request) Release() {
	if req.turn != nil {
		req.turn.give()
		req.turn = nil
	}
	req.bodies.memory.give(req.Caller, req.held)
	req.body, req.held = nil, 0
}

// hasNUL reports whether a valid JSON text has a string with the character U+0000, which must be
// escaped there.
func hasNUL(data []byte) bool {
	for {
		i := bytes.Index(data, []byte(`\u0000`))
		if i < 0 {
			return false
		}
		before := len(data[:i]) - len(bytes.TrimRight(data[:i], `\`))
		if before%2 == 0 { // otherwise the backslash itself is escaped
			return true
		}
		data = data[i+1:]
	}
}

// ReadBody reads the body of a request whose route says Raw, which has at most so many bytes; 0 or less means no limit. Its
// memory is the request's until Release.
func (req *Request) ReadBody(most int64) ([]byte, error) {
	err := req.bodies.fetch(req, most)
	return req.body, err
}
