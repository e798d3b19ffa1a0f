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
	large  chan struct{} // has a place for each large body that may be decoded at a time

	serving context.Context // until the server stops, which no unfinished body delays
}

const (
	firstRead   = 4 << 10 // bytes that are taken for a body before any has arrived
	valueMemory = 512     // bytes that a decoded JSON value may take beside its text
	largeBody   = 1 << 20 // bytes, with those of the values, from which on a body waits to be decoded
)

func newBodies(serving context.Context, l *Limits) *bodies {
	return &bodies{bytes: l.Body, depth: l.Depth, values: l.Values, rate: l.BodyRate, grace: l.BodyGrace, time: 2 * l.RequestTime,
		serving: serving, memory: newShares("bytes of request bodies in flight", l.BodyMemory), large: make(chan struct{}, max(1, goruntime.GOMAXPROCS(0)/2))}
}

// read reads the body of a request that takes one. It is done before the request counts as one, so
// that a client that sends slowly keeps no other out. The memory is the request's until release.
func (b *bodies) read(req *request) error {
	if req.route.Body == nil || req.r.Body == nil || req.r.Body == http.NoBody {
		return nil
	}
	if b.bytes > 0 && req.r.ContentLength > b.bytes {
		return &http.MaxBytesError{Limit: b.bytes}
	}
	from := req.r.Body
	if b.bytes > 0 {
		from = http.MaxBytesReader(req.w, from, b.bytes)
	}
	size := int64(firstRead)
	if n := req.r.ContentLength; n >= 0 && n < 16*firstRead {
		size = n + 1 // the end is read too
	}
	control, start := http.NewResponseController(req.w), time.Now()
	var data []byte
	late := false
	for {
		if int64(len(data)) == int64(cap(data)) {
			if err := req.hold(b.memory, size); err != nil {
				return err
			}
			data = append(make([]byte, 0, int64(cap(data))+size), data...)
			size = int64(cap(data)) // twice as much the next time
		}
		_ = control.SetReadDeadline(b.deadline(start, len(data))) // the writer of a test may not support it
		if b.serving.Err() != nil {
			req.w.Header().Set("Connection", "close")
			return &protocol.Failure{Status: http.StatusServiceUnavailable, Code: "stopping", Message: "the server is stopping", RetryAfter: time.Second}
		}
		n, err := from.Read(data[len(data):cap(data)])
		data = data[:len(data)+n]
		switch {
		case err == io.EOF:
			req.body = data
			return b.weigh(req)
		case err == nil && !late: // the rest may take a while
			late = true
			defer context.AfterFunc(b.serving, func() { _ = control.SetReadDeadline(time.Now()) })()
		case err == nil || b.serving.Err() != nil:
		case errors.Is(err, os.ErrDeadlineExceeded):
			req.w.Header().Set("Connection", "close")
			return fail(http.StatusRequestTimeout, "timeout", "the body arrives too slowly: %d bytes in %s, want at least %d bytes per second", len(data), time.Since(start).Round(time.Millisecond), max(b.rate, 0))
		default:
			if _, ok := errors.AsType[*http.MaxBytesError](err); ok {
				return err
			}
			return protocol.BadRequest("cannot read the body")
		}
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

// weigh takes the memory of the values in a body.
func (b *bodies) weigh(req *request) error {
	n := countValues(req.body)
	if b.values > 0 && n > b.values {
		return fail(http.StatusRequestEntityTooLarge, "too_large", "the body has %d JSON values, want at most %d", n, b.values)
	}
	return req.hold(b.memory, int64(n)*valueMemory)
}

// countValues counts the values in a JSON text. In any other text it counts something.
func countValues(data []byte) int {
	n := 1
	for i := 0; i < len(data); i++ {
		switch data[i] {
		case ',', '[', '{':
			n++
		case '"':
			for i++; i < len(data) && data[i] != '"'; i++ {
				if data[i] == '\\' {
					i++
				}
			}
		}
	}
	return n
}

// decode decodes the body of a request into v. Large ones wait for each other.
func (b *bodies) decode(req *request, v any) error {
	if req.held >= largeBody {
		select {
		case b.large <- struct{}{}:
			defer func() { <-b.large }()
		case <-req.ctx.Done():
			return req.ctx.Err()
		}
	}
	if len(bytes.TrimSpace(req.body)) == 0 {
		req.body = []byte("{}")
	}
	if err := strict.UnmarshalBody(req.body, b.depth, v); err != nil {
		if _, ok := errors.AsType[*strict.Malformed](err); ok {
			return fail(http.StatusBadRequest, "invalid_json", "the body is %v", err)
		}
		return protocol.InvalidBody("%v", err)
	}
	if hasNUL(req.body) { // PostgreSQL cannot store it as text
		return protocol.BadRequest("the body holds the character U+0000; remove it")
	}
	return nil
}

// hold takes memory for the request until release.
func (req *request) hold(memory *shares, n int64) error {
	if err := memory.take(req.caller, n); err != nil {
		return err
	}
	req.held += n
	return nil
}

// release gives back the memory of the request's body.
func (req *request) release() {
	req.bodies.memory.give(req.caller, req.held)
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
