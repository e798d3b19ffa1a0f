package provider

import (
	"bytes"
	"encoding/base64"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"net/http"
	"net/url"
	"os"
	"slices"
	"strings"
	"sync"
	"unicode/utf8"
)

// A cassette is a file of exchanges with a provider, one JSON object on each line, in the
// order in which they began.

// exchange is one request and what came back.
type exchange struct {
	Method string            `json:"method"`
	Path   string            `json:"path"` // with the query, without the host
	Body   string            `json:"body,omitempty"`
	Status int               `json:"status,omitempty"`
	Header map[string]string `json:"header,omitempty"`
	Chunks []chunk           `json:"chunks,omitempty"` // as they were read
	// Error is how it ended, if not well: "refused" before an answer, "reset" after.
	Error string `json:"error,omitempty"`
}

// chunk is what one read gave. In JSON it is a string, or {"base64": …} if it is not UTF-8.
type chunk []byte

func (c chunk) MarshalJSON() ([]byte, error) {
	if utf8.Valid(c) {
		return json.Marshal(string(c))
	}
	return json.Marshal(map[string]string{"base64": base64.StdEncoding.EncodeToString(c)})
}

func (c *chunk) UnmarshalJSON(data []byte) error {
	var s string
	if json.Unmarshal(data, &s) == nil {
		*c = chunk(s)
		return nil
	}
	var w struct {
		Base64 []byte `json:"base64"`
	}
	err := json.Unmarshal(data, &w)
	*c = w.Base64
	return err
}

// kept are the headers of answers that say something to an adapter. No header of a request
// is kept.
var kept = []string{"Content-Type", "Retry-After", "Retry-After-Ms", "Request-Id", "X-Request-Id"}

const removed = "REMOVED"

// Recorder is an http.RoundTripper that writes what passes through it to a cassette: put it
// into the HTTPClient of a [Config]. It keeps the chunks as they came, and how an answer
// broke off. Secrets are not written: no headers of requests, no keys in URLs, and each of
// Secrets is replaced wherever it stands in a body. It is safe for concurrent use.
type Recorder struct {
	Base    http.RoundTripper // nil is http.DefaultTransport
	File    string            // it is written by Close
	Secrets []string

	mu        sync.Mutex
	exchanges []*exchange
}

// RoundTrip makes the request and takes notes.
func (r *Recorder) RoundTrip(req *http.Request) (*http.Response, error) {
	x := &exchange{Method: req.Method, Path: publicPath(req.URL)}
	if req.Body != nil {
		data, err := io.ReadAll(req.Body)
		req.Body.Close()
		if err != nil {
			return nil, err
		}
		x.Body = r.clean(string(data))
		req = req.Clone(req.Context())
		req.Body = io.NopCloser(bytes.NewReader(data))
	}
	r.mu.Lock()
	r.exchanges = append(r.exchanges, x)
	r.mu.Unlock()
	base := r.Base
	if base == nil {
		base = http.DefaultTransport
	}
	resp, err := base.RoundTrip(req)
	r.mu.Lock()
	defer r.mu.Unlock()
	if err != nil {
		x.Error = "refused"
		return nil, err
	}
	x.Status = resp.StatusCode
	for _, name := range kept {
		if v := resp.Header.Get(name); v != "" {
			if x.Header == nil {
				x.Header = map[string]string{}
			}
			x.Header[name] = v
		}
	}
	resp.Body = &recordedBody{ReadCloser: resp.Body, r: r, x: x}
	return resp, nil
}

// publicPath is the path and query of u without what may be a key.
func publicPath(u *url.URL) string {
	q := u.Query()
	for name := range q {
		switch strings.ToLower(name) {
		case "key", "api_key", "api-key", "access_token":
			q.Set(name, removed)
		}
	}
	path := u.EscapedPath()
	if len(q) > 0 {
		path += "?" + q.Encode()
	}
	return path
}

func (r *Recorder) clean(s string) string {
	for _, secret := range r.Secrets {
		if secret != "" {
			s = strings.ReplaceAll(s, secret, removed)
		}
	}
	return s
}

type recordedBody struct {
	io.ReadCloser
	r *Recorder
	x *exchange
}

func (b *recordedBody) Read(p []byte) (int, error) {
	n, err := b.ReadCloser.Read(p)
	b.r.mu.Lock()
	defer b.r.mu.Unlock()
	if n > 0 {
		b.x.Chunks = append(b.x.Chunks, slices.Clone(p[:n]))
	}
	if err != nil && err != io.EOF {
		b.x.Error = "reset"
	}
	return n, err
}

// Close writes the file. What is recorded later is in the file of the next Close.
func (r *Recorder) Close() error {
	r.mu.Lock()
	defer r.mu.Unlock()
	var buf bytes.Buffer
	enc := json.NewEncoder(&buf)
	enc.SetEscapeHTML(false)
	for _, x := range r.exchanges {
		own := *x
		if whole := string(bytes.Join(toBytes(x.Chunks), nil)); r.clean(whole) != whole {
			own.Chunks = []chunk{chunk(r.clean(whole))} // the secret may lie across chunks
		}
		if err := enc.Encode(&own); err != nil {
			return fmt.Errorf("write cassette: %w", err)
		}
	}
	if err := os.WriteFile(r.File, buf.Bytes(), 0o600); err != nil {
		return fmt.Errorf("write cassette: %w", err)
	}
	return nil
}

func toBytes(chunks []chunk) [][]byte {
	out := make([][]byte, len(chunks))
	for i, c := range chunks {
		out[i] = c
	}
	return out
}

// Replay is an http.RoundTripper that answers with what a [Recorder] wrote: chunk by chunk,
// and broken off where it broke off. It needs neither a network nor a key. A request gets the
// first answer to the same method, path and body that has not been given yet; one that was
// not recorded is an error. It is safe for concurrent use.
type Replay struct {
	file string

	mu   sync.Mutex
	left []*exchange
}

// OpenReplay reads a cassette.
func OpenReplay(file string) (*Replay, error) {
	f, err := os.Open(file)
	if err != nil {
		return nil, fmt.Errorf("read cassette: %w", err)
	}
	defer f.Close()
	r := &Replay{file: file}
	dec := json.NewDecoder(f)
	for n := 1; ; n++ {
		x := new(exchange)
		if err := dec.Decode(x); err == io.EOF {
			return r, nil
		} else if err != nil {
			return nil, fmt.Errorf("read cassette %s: exchange %d: %w", file, n, err)
		}
		r.left = append(r.left, x)
	}
}

var (
	errRefused = errors.New("connection refused (recorded)")
	errReset   = errors.New("connection reset (recorded)")
)

// RoundTrip answers from the cassette.
func (r *Replay) RoundTrip(req *http.Request) (*http.Response, error) {
	var data []byte
	if req.Body != nil {
		var err error
		data, err = io.ReadAll(req.Body)
		req.Body.Close()
		if err != nil {
			return nil, err
		}
	}
	x, err := r.take(req.Method, publicPath(req.URL), string(data))
	if err != nil {
		return nil, err
	}
	if x.Error == "refused" {
		return nil, errRefused
	}
	h := http.Header{}
	for k, v := range x.Header {
		h.Set(k, v)
	}
	return &http.Response{Status: http.StatusText(x.Status), StatusCode: x.Status, Header: h, ContentLength: -1, Request: req,
		Proto: "HTTP/1.1", ProtoMajor: 1, ProtoMinor: 1, Body: &replayedBody{req: req, chunks: toBytes(x.Chunks), reset: x.Error == "reset"}}, nil
}

// take removes the exchange that fits.
func (r *Replay) take(method, path, body string) (*exchange, error) {
	r.mu.Lock()
	defer r.mu.Unlock()
	for i, x := range r.left {
		if x.Method == method && x.Path == path && sameBody(x.Body, body) {
			r.left = slices.Delete(r.left, i, i+1)
			return x, nil
		}
	}
	return nil, fmt.Errorf("cassette %s has no answer to %s %s with this body (%d exchanges are left): %s", r.file, method, path, len(r.left), clip(body))
}

// sameBody compares what is JSON as JSON. A secret that was removed fits anything.
func sameBody(recorded, body string) bool {
	if recorded == body {
		return true
	}
	parts := strings.Split(recorded, removed)
	if len(parts) > 1 {
		for i, p := range parts {
			at := strings.Index(body, p)
			if at < 0 || i == 0 && at != 0 {
				return false
			}
			body = body[at+len(p):]
		}
		return true
	}
	var a, b bytes.Buffer
	return json.Compact(&a, []byte(recorded)) == nil && json.Compact(&b, []byte(body)) == nil && bytes.Equal(a.Bytes(), b.Bytes())
}

type replayedBody struct {
	req    *http.Request
	chunks [][]byte
	reset  bool
}

func (b *replayedBody) Read(p []byte) (int, error) {
	if err := b.req.Context().Err(); err != nil {
		return 0, err
	}
	for len(b.chunks) > 0 {
		n := copy(p, b.chunks[0])
		if b.chunks[0] = b.chunks[0][n:]; len(b.chunks[0]) == 0 {
			b.chunks = b.chunks[1:]
		}
		if n > 0 {
			return n, nil
		}
	}
	if b.reset {
		return 0, errReset
	}
	return 0, io.EOF
}

func (b *replayedBody) Close() error { return nil }
