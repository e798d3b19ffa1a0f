package mcp

import (
	"bufio"
	"bytes"
	"context"
	"encoding/json"
	"io"

	sdk "github.com/modelcontextprotocol/go-sdk/mcp"
)

// A server with an address answers each call on a stream of its own, which also carries what it asks in that call. The SDK
// does not say which stream a question came on, so the question is marked while it is read: with the token of the call, under
// a name that the server cannot know.

// callToken is the key of the token of a call, in the context of its requests.
type callToken struct{}

// tokenOf returns the token of the call that a request is made for, or "".
func tokenOf(ctx context.Context) string {
	token, _ := ctx.Value(callToken{}).(string)
	return token
}

// marked reads a stream of events and marks the questions in it with the token of their call.
type marked struct {
	body  io.ReadCloser
	lines *bufio.Reader
	mark  string // name of the mark
	token string
	out   []byte // read and not yet returned
	err   error
}

func newMarked(body io.ReadCloser, mark, token string) *marked {
	return &marked{body: body, lines: bufio.NewReader(body), mark: mark, token: token}
}

// Close closes the stream.
func (m *marked) Close() error { return m.body.Close() }

func (m *marked) Read(p []byte) (int, error) {
	for len(m.out) == 0 {
		if m.err != nil {
			return 0, m.err
		}
		var event []byte
		for {
			var line []byte
			line, m.err = m.lines.ReadBytes('\n')
			event = append(event, line...)
			if m.err != nil || len(bytes.TrimRight(line, "\r\n")) == 0 {
				break
			}
		}
		m.out = m.event(event)
	}
	n := copy(p, m.out)
	m.out = m.out[n:]
	return n, nil
}

// questions are the methods by which a server asks in a call.
var questions = []string{"elicitation/create", "sampling/createMessage"}

// event returns an event with its mark, if it is a question.
func (m *marked) event(event []byte) []byte {
	asks := false
	for _, method := range questions {
		asks = asks || bytes.Contains(event, []byte(method))
	}
	if !asks {
		return event
	}
	var rest, data []byte
	for line := range bytes.Lines(event) {
		text := bytes.TrimRight(line, "\r\n")
		if value, ok := bytes.CutPrefix(text, []byte("data:")); ok {
			data = append(append(data, bytes.TrimPrefix(value, []byte(" "))...), '\n')
		} else if len(text) > 0 {
			rest = append(append(rest, text...), '\n')
		}
	}
	var message map[string]json.RawMessage
	var params map[string]json.RawMessage
	meta := map[string]any{}
	if json.Unmarshal(data, &message) != nil || message["id"] == nil || json.Unmarshal(message["params"], &params) != nil || params == nil {
		return event // no question
	}
	if raw := params["_meta"]; raw != nil && json.Unmarshal(raw, &meta) != nil || meta == nil {
		return event
	}
	meta[m.mark] = m.token
	var err error
	if params["_meta"], err = json.Marshal(meta); err != nil {
		return event
	}
	if message["params"], err = json.Marshal(params); err != nil {
		return event
	}
	if data, err = json.Marshal(message); err != nil {
		return event
	}
	return append(append(append(rest, "data: "...), data...), "\n\n"...)
}

// unmark removes the mark from the metadata of a question and returns the token of its call; "" if it has none.
func (s *session) unmark(meta sdk.Meta) string {
	token, _ := meta[s.mark].(string)
	delete(meta, s.mark)
	return token
}
