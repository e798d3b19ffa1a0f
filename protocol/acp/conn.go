package acp

import (
	"bufio"
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"log/slog"
	"strconv"
	"sync"
	"unicode/utf8"
)

// Conn is a connection that speaks JSON-RPC 2.0, one message a line. Its methods are safe for concurrent
// use.
type Conn struct {
	in      *bufio.Reader
	maxLine int
	log     *slog.Logger

	writing sync.Mutex
	out     io.Writer
	broken  error // of the last write

	mu      sync.Mutex
	next    int64
	waiting map[string]chan<- *message // requests of ours, by id
	closed  bool
}

// message is a request, a notification or a response.
type message struct {
	JSONRPC string          `json:"jsonrpc"`
	ID      json.RawMessage `json:"id,omitempty"`
	Method  string          `json:"method,omitempty"`
	Params  json.RawMessage `json:"params,omitempty"`
	Result  json.RawMessage `json:"result,omitempty"`
	Error   *Failure        `json:"error,omitempty"`
}

// errClosed is the error of requests to a client that is gone.
var errClosed = errors.New("the client has closed the connection")

// DefaultMaxLine is the longest message that is read: the files of a prompt, in base64, fit.
const DefaultMaxLine = 32 << 20

func newConn(in io.Reader, out io.Writer, maxLine int, log *slog.Logger) *Conn {
	return &Conn{in: bufio.NewReaderSize(in, 64<<10), out: out, maxLine: maxLine, log: log, waiting: map[string]chan<- *message{}}
}

// read returns the next request or notification. It answers what is neither, and passes responses to
// those who wait for them. It returns io.EOF when the client has closed the connection.
func (c *Conn) read() (*message, error) {
	for {
		line, err := c.line()
		if err != nil {
			if f, ok := errors.AsType[*Failure](err); ok {
				c.reply(nil, nil, f)
				continue
			}
			return nil, err
		}
		if line = bytes.TrimSpace(line); len(line) == 0 {
			continue
		}
		m, f := parse(line)
		switch {
		case f != nil:
			var id json.RawMessage
			if m != nil {
				id = m.ID
			}
			c.reply(id, nil, f)
		case m.Method == "":
			c.respond(m)
		default:
			return m, nil
		}
	}
}

// line returns the next line. One that is too long is skipped, and the error is a *Failure. What
// follows the last line break is not a message.
func (c *Conn) line() ([]byte, error) {
	var line []byte
	for {
		part, err := c.in.ReadSlice('\n')
		switch {
		case len(line)+len(part) > c.maxLine:
			for errors.Is(err, bufio.ErrBufferFull) {
				_, err = c.in.ReadSlice('\n')
			}
			if err != nil {
				return nil, err
			}
			return nil, invalidRequest("the message is longer than %d bytes", c.maxLine)
		case err == nil && line == nil:
			return part, nil
		case err == nil:
			return append(line, part...), nil
		case !errors.Is(err, bufio.ErrBufferFull):
			return nil, err
		}
		line = append(line, part...)
	}
}

// parse parses a message. With a failure, the message, if it is not nil, has the id to answer.
func parse(line []byte) (*message, *Failure) {
	if !utf8.Valid(line) {
		return nil, &Failure{Code: codeParse, Message: "the message is not UTF-8"}
	}
	if line[0] == '[' {
		return nil, invalidRequest("the message is a list; batches are not part of the protocol")
	}
	var m message
	if err := json.Unmarshal(line, &m); err != nil {
		if _, ok := errors.AsType[*json.SyntaxError](err); ok {
			return nil, &Failure{Code: codeParse, Message: "the message is not JSON: " + err.Error()}
		}
		return &message{ID: idOf(line)}, invalidRequest("the message is not a message of JSON-RPC: %v", err)
	}
	m.ID = bytes.Clone(m.ID) // not a part of the line
	switch {
	case !validID(m.ID):
		return nil, invalidRequest("id is %.80s, want a text of at most %d bytes, a whole number or null", m.ID, maxRequestID)
	case m.JSONRPC != "2.0":
		return &m, invalidRequest("jsonrpc is %.80q, want 2.0", m.JSONRPC)
	case m.Method == "" && m.Error == nil && len(m.Result) == 0:
		return &m, invalidRequest("the message has neither a method nor a result nor an error")
	case len(m.Params) > 0 && m.Params[0] != '{' && !isNull(m.Params):
		return &m, &Failure{Code: codeParams, Message: "params is not an object"}
	}
	return &m, nil
}

// maxRequestID is the length of the longest id of a request.
const maxRequestID = 256

// idOf returns the id of a message that does not fit otherwise, or nil.
func idOf(line []byte) json.RawMessage {
	var only struct {
		ID json.RawMessage `json:"id"`
	}
	if json.Unmarshal(line, &only) != nil || !validID(only.ID) {
		return nil
	}
	return only.ID
}

func validID(id json.RawMessage) bool {
	if len(id) == 0 || string(id) == "null" {
		return true
	}
	if len(id) > maxRequestID {
		return false
	}
	if id[0] == '"' {
		return true
	}
	_, err := strconv.ParseInt(string(id), 10, 64)
	return err == nil
}

// isRequest reports whether the message wants a response.
func (m *message) isRequest() bool { return m.ID != nil }

// respond passes a response to the one who waits for it.
func (c *Conn) respond(m *message) {
	c.mu.Lock()
	to := c.waiting[string(m.ID)]
	delete(c.waiting, string(m.ID))
	c.mu.Unlock()
	if to == nil {
		c.log.Warn("the client answers an unknown request", "id", fmt.Sprintf("%.80s", m.ID))
		return
	}
	to <- m
}

// reply answers a request. A nil id answers a message that has none that could be read.
func (c *Conn) reply(id json.RawMessage, result any, f *Failure) {
	out := struct {
		JSONRPC string          `json:"jsonrpc"`
		ID      json.RawMessage `json:"id"`
		Result  any             `json:"result,omitempty"`
		Error   *Failure        `json:"error,omitempty"`
	}{"2.0", id, result, f}
	c.send(out)
}

// notify sends a notification.
func (c *Conn) notify(method string, params any) {
	c.send(struct {
		JSONRPC string `json:"jsonrpc"`
		Method  string `json:"method"`
		Params  any    `json:"params"`
	}{"2.0", method, params})
}

// send writes a message. It blocks while the client does not read. After an error nothing more is written:
// the client is gone, and its end of the other direction says so too.
func (c *Conn) send(m any) {
	line, err := json.Marshal(m)
	if err != nil {
		c.log.Error("cannot encode a message", "error", err)
		return
	}
	c.writing.Lock()
	defer c.writing.Unlock()
	if c.broken == nil {
		if _, c.broken = c.out.Write(append(line, '\n')); c.broken != nil {
			c.log.Warn("cannot write to the client", "error", c.broken)
		}
	}
}

// call sends a request and decodes the response into result. If ctx is done first, the client is told
// that the request is not needed any more. The error of a client is a *Failure.
func (c *Conn) call(ctx context.Context, method string, params, result any) error {
	answer := make(chan *message, 1)
	c.mu.Lock()
	if c.closed {
		c.mu.Unlock()
		return errClosed
	}
	c.next++
	id := strconv.FormatInt(c.next, 10)
	c.waiting[id] = answer
	c.mu.Unlock()
	c.send(struct {
		JSONRPC string          `json:"jsonrpc"`
		ID      json.RawMessage `json:"id"`
		Method  string          `json:"method"`
		Params  any             `json:"params"`
	}{"2.0", json.RawMessage(id), method, params})
	select {
	case m := <-answer:
		switch {
		case m == nil:
			return errClosed
		case m.Error != nil:
			return m.Error
		case result == nil || isNull(m.Result):
			return nil
		}
		if err := json.Unmarshal(m.Result, result); err != nil {
			return fmt.Errorf("the client's result of %s: %w", method, err)
		}
		return nil
	case <-ctx.Done():
		c.mu.Lock()
		_, open := c.waiting[id]
		delete(c.waiting, id)
		closed := c.closed
		c.mu.Unlock()
		if open && !closed {
			c.notify(methodCancelCall, map[string]json.RawMessage{"requestId": json.RawMessage(id)})
		}
		return context.Cause(ctx)
	}
}

// close makes all calls fail, those in progress too.
func (c *Conn) close() {
	c.mu.Lock()
	defer c.mu.Unlock()
	c.closed = true
	for id, answer := range c.waiting {
		answer <- nil
		delete(c.waiting, id)
	}
}
