package provider

import (
	"bytes"
	"cmp"
	"context"
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

	"github.com/awaken-go/awaken/llm"
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
	// Error is how it ended, if not well: one of brokenOff. Without a status, there was no answer.
	Error string `json:"error,omitempty"`
}

// brokenOff are the ways in which an exchange ends that does not end well, and what a
// replay makes of them.
var brokenOff = map[string]error{
	"refused":   errors.New("connection refused (recorded)"),
	"reset":     errors.New("connection reset (recorded)"),
	"timeout":   recordedTimeout{},
	"cancelled": errors.New("the request was cancelled when it was recorded, and nothing more is known"),
}

// recordedTimeout is a silence that is not waited for again.
type recordedTimeout struct{}

func (recordedTimeout) Error() string   { return "no answer in time (recorded)" }
func (recordedTimeout) Timeout() bool   { return true }
func (recordedTimeout) Temporary() bool { return true }

// howBroken says how the exchange of a request failed.
func howBroken(ctx context.Context, err error, begun bool) string {
	switch cause := context.Cause(ctx); {
	case cause == errSilent, cause == errNoAnswer, cause == nil && isTimeout(err):
		return "timeout"
	case cause != nil:
		return "cancelled"
	case begun:
		return "reset"
	}
	return "refused"
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

// removed stands for a secret.
const removed = "REMOVED"

// Recorder is an http.RoundTripper that writes what passes through it to a cassette: put it
// into the HTTPClient of a [Config]. It keeps the chunks as they came, and how an answer
// broke off. Secrets are not written: no headers of requests, no keys in URLs, and what
// those headers and URLs show, like each of Secrets, is replaced wherever else it stands.
// It is safe for concurrent use.
type Recorder struct {
	Base    http.RoundTripper // nil is http.DefaultTransport
	File    string            // it is written by Close
	Secrets []string          // more than the keys that are sent

	mu        sync.Mutex
	exchanges []*exchange // as they were, with secrets
	sent      []string    // keys that were sent
}

// RoundTrip makes the request and takes notes.
func (r *Recorder) RoundTrip(req *http.Request) (*http.Response, error) {
	x := &exchange{Method: req.Method, Path: publicPath(req.URL)}
	data, err := readBody(req)
	if err != nil {
		return nil, err
	}
	if data != nil {
		x.Body = string(data)
		req = req.Clone(req.Context())
		req.Body = io.NopCloser(bytes.NewReader(data))
	}
	r.mu.Lock()
	r.exchanges = append(r.exchanges, x)
	for _, key := range credentials(req) {
		if !slices.Contains(r.sent, key) {
			r.sent = append(r.sent, key)
		}
	}
	r.mu.Unlock()
	resp, err := cmp.Or(r.Base, http.DefaultTransport).RoundTrip(req)
	r.mu.Lock()
	defer r.mu.Unlock()
	if err != nil {
		x.Error = howBroken(req.Context(), err, false)
		return nil, err
	}
	x.Status = resp.StatusCode
	x.Header = map[string]string{}
	for _, name := range kept {
		if v := resp.Header.Get(name); v != "" {
			x.Header[name] = v
		}
	}
	resp.Body = &recordedBody{ReadCloser: resp.Body, r: r, x: x, ctx: req.Context()}
	return resp, nil
}

// readBody reads and closes the body of a request; nil if it has none.
func readBody(req *http.Request) ([]byte, error) {
	if req.Body == nil {
		return nil, nil
	}
	defer req.Body.Close()
	return io.ReadAll(req.Body)
}

// secretName reports whether a header or a parameter of that name holds a secret.
func secretName(name string) bool {
	name = strings.ToLower(name)
	return name == "cookie" || containsAny(name, "auth", "key", "token", "secret")
}

// credentials are the keys that a request shows, if they are long enough to be keys.
func credentials(req *http.Request) (keys []string) {
	add := func(value string) {
		if scheme, rest, ok := strings.Cut(value, " "); ok && (strings.EqualFold(scheme, "Bearer") || strings.EqualFold(scheme, "Basic")) {
			value = rest
		}
		if len(value) >= 8 {
			keys = append(keys, value)
		}
	}
	for _, shown := range []map[string][]string{req.Header, req.URL.Query()} {
		for name, values := range shown {
			if secretName(name) {
				for _, v := range values {
					add(v)
				}
			}
		}
	}
	return keys
}

// publicPath is the path and query of u without what may be a key.
func publicPath(u *url.URL) string {
	q := u.Query()
	for name := range q {
		if secretName(name) {
			q.Set(name, removed)
		}
	}
	path := u.EscapedPath()
	if len(q) > 0 {
		path += "?" + q.Encode()
	}
	return path
}

type recordedBody struct {
	io.ReadCloser
	r   *Recorder
	x   *exchange
	ctx context.Context
}

func (b *recordedBody) Read(p []byte) (int, error) {
	n, err := b.ReadCloser.Read(p)
	b.r.mu.Lock()
	defer b.r.mu.Unlock()
	if n > 0 {
		b.x.Chunks = append(b.x.Chunks, slices.Clone(p[:n]))
	}
	if err != nil && err != io.EOF {
		b.x.Error = howBroken(b.ctx, err, true)
	}
	return n, err
}

// Close writes the file. What is recorded later is in the file of the next Close.
func (r *Recorder) Close() error {
	r.mu.Lock()
	defer r.mu.Unlock()
	var pairs []string
	secrets := slices.DeleteFunc(slices.Concat(r.Secrets, r.sent), func(s string) bool { return s == "" })
	slices.SortFunc(secrets, func(a, b string) int { return len(b) - len(a) }) // one may be part of another
	for _, s := range secrets {
		pairs = append(pairs, s, removed)
	}
	clean := strings.NewReplacer(pairs...)
	var buf bytes.Buffer
	enc := json.NewEncoder(&buf)
	enc.SetEscapeHTML(false)
	for _, x := range r.exchanges {
		own := *x
		own.Path, own.Body, own.Chunks = clean.Replace(x.Path), clean.Replace(x.Body), cleanChunks(x.Chunks, secrets)
		own.Header = map[string]string{}
		for k, v := range x.Header {
			own.Header[k] = clean.Replace(v)
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

// cleanChunks replaces secrets, which may lie across chunks. The chunk in which a secret
// begins gets what stands for it; all other bytes stay in the chunk they came in.
func cleanChunks(chunks []chunk, secrets []string) []chunk {
	whole := slices.Concat(chunks...)
	var out []chunk
	skip := 0 // bytes of a secret that began before
	for at, c := 0, 0; c < len(chunks); c++ {
		own := chunk{}
		for range chunks[c] {
			if skip == 0 {
				for _, s := range secrets {
					if bytes.HasPrefix(whole[at:], []byte(s)) {
						own, skip = append(own, removed...), len(s)
						break
					}
				}
			}
			if skip > 0 {
				skip--
			} else {
				own = append(own, whole[at])
			}
			at++
		}
		if len(own) > 0 {
			out = append(out, own)
		}
	}
	return out
}

// Replay is an http.RoundTripper that answers with what a [Recorder] wrote: chunk by chunk,
// and broken off where it broke off. It needs neither a network nor a key. A request gets the
// first answer to the same method, path and body that has not been given yet; one that was
// not recorded is an error of kind InvalidRequest. A silence is not waited for: it is an error
// at once. It is safe for concurrent use.
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
		if _, known := brokenOff[x.Error]; !known && (x.Error != "" || x.Status == 0) {
			return nil, fmt.Errorf("read cassette %s: exchange %d: error is %q and status is %d, want a status, or one of refused, reset, timeout and cancelled", file, n, x.Error, x.Status)
		}
		r.left = append(r.left, x)
	}
}

// Left is how many exchanges have not been asked for yet.
func (r *Replay) Left() int {
	r.mu.Lock()
	defer r.mu.Unlock()
	return len(r.left)
}

// RoundTrip answers from the cassette.
func (r *Replay) RoundTrip(req *http.Request) (*http.Response, error) {
	data, err := readBody(req)
	if err != nil {
		return nil, err
	}
	x, err := r.take(req.Method, publicPath(req.URL), string(data))
	if err != nil {
		return nil, err
	}
	if x.Status == 0 {
		return nil, brokenOff[x.Error]
	}
	h := http.Header{}
	for k, v := range x.Header {
		h.Set(k, v)
	}
	return &http.Response{Status: http.StatusText(x.Status), StatusCode: x.Status, Header: h, ContentLength: -1, Request: req,
		Proto: "HTTP/1.1", ProtoMajor: 1, ProtoMinor: 1, Body: &replayedBody{req: req, chunks: slices.Clone(x.Chunks), broken: brokenOff[x.Error]}}, nil
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
	return nil, &llm.Error{Kind: llm.InvalidRequest, Message: fmt.Sprintf("cassette %s has no answer to %s %s with this body (%d exchanges are left): %s",
		r.file, method, path, len(r.left), clip(body))}
}

// sameBody compares what is JSON as JSON, but for what is different in every run. A secret
// that was removed fits anything.
func sameBody(recorded, body string) bool {
	if recorded == body {
		return true
	}
	recorded, body = lasting(recorded), lasting(body)
	parts := strings.Split(recorded, removed)
	if len(parts) == 1 {
		return recorded == body
	}
	for i, p := range parts {
		at := strings.Index(body, p)
		if at < 0 || i == 0 && at != 0 || i == len(parts)-1 && !strings.HasSuffix(body, p) {
			return false
		}
		body = body[at+len(p):]
	}
	return true
}

// lasting is a body with its fields in order, at every depth, and without the key of the
// prompt cache, which is the thread's.
func lasting(body string) string {
	d := json.NewDecoder(strings.NewReader(body))
	d.UseNumber()
	var fields map[string]any
	if d.Decode(&fields) != nil {
		return body
	}
	delete(fields, "prompt_cache_key")
	data, err := json.Marshal(fields)
	if err != nil {
		return body
	}
	return string(data)
}

type replayedBody struct {
	req    *http.Request
	chunks []chunk
	broken error
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
	if b.broken != nil {
		return 0, b.broken
	}
	return 0, io.EOF
}

func (b *replayedBody) Close() error { return nil }
