package mcp

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"io"
	"mime"
	"net/http"
	"net/http/httptrace"
	"net/url"
	"sync/atomic"

	sdk "github.com/modelcontextprotocol/go-sdk/mcp"

	"github.com/awaken-go/awaken"
	"github.com/awaken-go/awaken/internal/httpguard"
)

// guarded returns a client for addresses that documents name: it reaches public addresses only.
func guarded() *http.Client {
	return httpguard.New(httpguard.Options{MaxBytes: -1, Timeout: -1, Headers: -1, Redirects: -1})
}

// transport makes the transport of a session. For a program, it starts the program.
func (s *session) transport() (sdk.Transport, error) {
	server := &s.conn.server
	if server.Command != "" {
		p, err := start(server, s.conn.log)
		if err != nil {
			return nil, err
		}
		s.proc = p
		in := &input{File: p.stdin, limit: server.Timeout}
		context.AfterFunc(s.ctx, in.end)
		// The session owns the pipes: the transport only closes the program's input.
		return &sdk.IOTransport{Reader: io.NopCloser(newObjects(p.stdout, server.MaxMessage)), Writer: in, MaxLineLength: -1}, nil
	}
	client := *s.conn.opts.Client
	home, err := url.Parse(server.URL)
	if err != nil {
		return nil, err
	}
	client.Transport = &edge{
		next:    s.conn.auth.wrap(&sender{transportOf(&client)}),
		home:    home,
		headers: server.Headers,
		limit:   server.MaxMessage,
		mark:    s.mark,
	}
	if server.SSE {
		return &sdk.SSEClientTransport{Endpoint: server.URL, HTTPClient: &client, MaxEventSize: server.MaxMessage}, nil
	}
	return &sdk.StreamableClientTransport{Endpoint: server.URL, HTTPClient: &client, MaxEventSize: server.MaxMessage, MaxRetries: 2}, nil
}

func transportOf(c *http.Client) http.RoundTripper {
	if c.Transport != nil {
		return c.Transport
	}
	return http.DefaultTransport
}

// lasting connects a transport for as long as a session lasts, not only as long as opening it may
// take.
type lasting struct {
	sdk.Transport
	s *session
}

func (l lasting) Connect(context.Context) (sdk.Connection, error) {
	c, err := l.Transport.Connect(l.s.ctx)
	if err != nil {
		return nil, err
	}
	l.s.mu.Lock()
	defer l.s.mu.Unlock()
	l.s.wire = c
	return c, nil
}

// unanswered is the error of a request that may have reached the server, and has no answer of it. The SDK reports it as it
// reports a request that was never sent.
type unanswered struct{ error }

func (u *unanswered) Unwrap() error { return u.error }

// sender sends requests, and says which of those that failed the server may have got: it is known that it did not if there
// was no connection. A gateway that got no answer cannot tell either.
type sender struct{ next http.RoundTripper }

func (s *sender) RoundTrip(r *http.Request) (*http.Response, error) {
	var sent atomic.Bool
	trace := &httptrace.ClientTrace{
		GetConn: func(string) { sent.Store(false) }, // also when a request is repeated, because its connection had been closed before
		GotConn: func(httptrace.GotConnInfo) { sent.Store(true) },
	}
	resp, err := s.next.RoundTrip(r.WithContext(httptrace.WithClientTrace(r.Context(), trace)))
	switch {
	case err != nil && sent.Load():
		return nil, &unanswered{err}
	case err == nil && r.Method == http.MethodPost && (resp.StatusCode == http.StatusBadGateway || resp.StatusCode == http.StatusGatewayTimeout):
		_ = resp.Body.Close()
		return nil, &unanswered{errors.New(resp.Status)}
	}
	return resp, err
}

// edge adds the headers of a server to requests, sends none to another server, and limits the messages in
// responses.
type edge struct {
	next    http.RoundTripper
	home    *url.URL
	headers map[string]awaken.Secret
	limit   int
	mark    string // of questions; see marked
}

func (e *edge) RoundTrip(r *http.Request) (*http.Response, error) {
	if r.URL.Scheme != e.home.Scheme || r.URL.Host != e.home.Host {
		return nil, fmt.Errorf("the server names %s://%s, want an address at %s://%s", r.URL.Scheme, r.URL.Host, e.home.Scheme, e.home.Host)
	}
	if len(e.headers) > 0 {
		r = r.Clone(r.Context())
		for name, v := range e.headers {
			r.Header.Set(name, v.Expose())
		}
	}
	resp, err := e.next.RoundTrip(r)
	if err != nil {
		return nil, err
	}
	kind, _, _ := mime.ParseMediaType(resp.Header.Get("Content-Type"))
	stream := kind == "text/event-stream"
	resp.Body = &messages{ReadCloser: resp.Body, limit: e.limit, stream: stream}
	if token := tokenOf(r.Context()); stream && token != "" {
		resp.Body = newMarked(resp.Body, e.mark, token)
	}
	return resp, nil
}

// messages fails a response that contains a message that is too long. The events of a stream count
// one by one.
type messages struct {
	io.ReadCloser
	limit  int
	stream bool
	size   int  // of the message so far
	blank  bool // the last byte ended a line
}

func (m *messages) Read(p []byte) (int, error) {
	n, err := m.ReadCloser.Read(p)
	m.size += n
	if m.stream {
		if i := m.lastEnd(p[:n]); i >= 0 {
			m.size = n - i
		}
	}
	if m.size > m.limit {
		return 0, fmt.Errorf("%w: it exceeds %d bytes", errTooLong, m.limit)
	}
	return n, err
}

// lastEnd returns the index behind the last empty line, which ends an event, or -1.
func (m *messages) lastEnd(p []byte) int {
	end := -1
	for i := 0; i < len(p); {
		j := bytes.IndexByte(p[i:], '\n')
		if j < 0 {
			m.blank = false
			return end
		}
		line := bytes.TrimRight(p[i:i+j], "\r")
		if len(line) == 0 && (m.blank || i > 0) {
			end = i + j + 1
		}
		m.blank, i = true, i+j+1
	}
	return end
}
