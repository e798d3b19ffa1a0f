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

// A cassette is a file of exchanges with a provider: one JSON object per line, in the order in
// which they started.

// exchange is one request and its response.
type exchange struct {
	Method string            `json:"method"`
	Path   string            `json:"path"` // with the query, without the host
	Body   string            `json:"body,omitempty"`
	Status int               `json:"status,omitempty"`
	Header map[string]string `json:"header,omitempty"`
	Chunks []chunk           `json:"chunks,omitempty"` // as read
	// Error is how the exchange failed: a key of brokenOff. Without a status there was no response.
	Error string `json:"error,omitempty"`
}

// brokenOff maps each way in which an exchange fails to the error that a player returns.
var brokenOff = map[string]error{
	"refused":   errors.New("connection refused (recorded)"),
	"reset":     errors.New("connection reset (recorded)"),
	"timeout":   recordedTimeout{},
	"cancelled": errors.New("the request was cancelled when it was recorded; the rest is unknown"),
}

// recordedTimeout is a timeout that a player reports at once.
type recordedTimeout struct{}

func (recordedTimeout) Error() string   { return "no response in time (recorded)" }
func (recordedTimeout) Timeout() bool   { return true }
func (recordedTimeout) Temporary() bool { return true }

// howBroken returns the key of brokenOff for a failed exchange.
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

// chunk is the result of one read. In JSON it is a string, or {"base64": …} if it is not UTF-8.
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

// kept lists the response headers that adapters use. Headers of requests are not recorded.
var kept = []string{"Content-Type", "Retry-After", "Retry-After-Ms", "Request-Id", "X-Request-Id"}

// removed replaces a secret.
const removed = "REMOVED"

// Recorder is an http.RoundTripper that records its traffic in a cassette: use it as the
// transport of [Config.HTTPClient]. It keeps the chunks of each response and how a response was
// cut off. It writes no secrets: no request headers and no keys in URLs, and it replaces their
// values, and each of Secrets, wherever else they occur. A Recorder is safe for concurrent use.
type Recorder struct {
	Base    http.RoundTripper // nil means http.DefaultTransport
	File    string            // written by Close
	Secrets []string          // to remove, besides the keys that are sent

	mu        sync.Mutex
	exchanges []*exchange // unredacted
	sent      []string    // the keys that were sent
}

// RoundTrip sends the request and records the exchange.
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

// readBody reads and closes the body of a request. It returns nil if there is none.
func readBody(req *http.Request) ([]byte, error) {
	if req.Body == nil {
		return nil, nil
	}
	defer req.Body.Close()
	return io.ReadAll(req.Body)
}

// secretName reports whether a header or query parameter of that name holds a secret.
func secretName(name string) bool {
	name = strings.ToLower(name)
	return name == "cookie" || containsAny(name, "auth", "key", "token", "secret")
}

// credentials returns the values in headers and query that may be keys: at least 8 bytes long.
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

// publicPath returns the path and query of u with secrets removed.
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

// Close writes the file. The Recorder stays usable; a later Close writes everything again.
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

// cleanChunks replaces secrets, which may span chunks. The replacement goes into the chunk in
// which the secret starts; all other bytes stay in their chunk.
func cleanChunks(chunks []chunk, secrets []string) []chunk {
	whole := slices.Concat(chunks...)
	var out []chunk
	skip := 0 // bytes left of a secret that started earlier
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

// Player is an http.RoundTripper that returns the responses that a [Recorder] recorded, chunk by
// chunk, and cut off where they were. It needs neither a network nor a key. A request gets the
// first unused response to the same method, path and body; a request without one is an error of
// kind InvalidRequest. A recorded timeout fails at once. A Player is safe for concurrent use.
type Player struct {
	file string

	mu   sync.Mutex
	left []*exchange
}

// OpenPlayer reads a cassette.
func OpenPlayer(file string) (*Player, error) {
	f, err := os.Open(file)
	if err != nil {
		return nil, fmt.Errorf("read cassette: %w", err)
	}
	defer f.Close()
	r := &Player{file: file}
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

// Left returns how many exchanges have not been used yet.
func (r *Player) Left() int {
	r.mu.Lock()
	defer r.mu.Unlock()
	return len(r.left)
}

// RoundTrip returns the recorded response.
func (r *Player) RoundTrip(req *http.Request) (*http.Response, error) {
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
		Proto: "HTTP/1.1", ProtoMajor: 1, ProtoMinor: 1, Body: &playedBody{req: req, chunks: slices.Clone(x.Chunks), broken: brokenOff[x.Error]}}, nil
}

// take removes and returns the matching exchange.
func (r *Player) take(method, path, body string) (*exchange, error) {
	r.mu.Lock()
	defer r.mu.Unlock()
	for i, x := range r.left {
		if x.Method == method && x.Path == path && sameBody(x.Body, body) {
			r.left = slices.Delete(r.left, i, i+1)
			return x, nil
		}
	}
	return nil, &llm.Error{Kind: llm.InvalidRequest, Message: fmt.Sprintf("cassette %s has no recorded response to %s %s with this body (%d exchanges left): %s",
		r.file, method, path, len(r.left), clip(body))}
}

// sameBody compares JSON bodies as JSON, without what differs in every run. A removed secret
// matches anything.
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

// lasting returns a body with its fields sorted at every depth, and without the prompt cache
// key, which depends on the thread.
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

type playedBody struct {
	req    *http.Request
	chunks []chunk
	broken error
}

func (b *playedBody) Read(p []byte) (int, error) {
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

func (b *playedBody) Close() error { return nil }
