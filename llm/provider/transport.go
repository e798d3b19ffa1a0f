package provider

import (
	"context"
	"errors"
	"fmt"
	"io"
	"mime"
	"net"
	"net/http"
	"slices"
	"strings"
	"time"

	"github.com/awaken-go/awaken/internal/httpguard"
	"github.com/awaken-go/awaken/llm"
)

// sameServer returns a redirect policy that applies next, but only to redirects to the same
// server: the credentials of a request are meant for no other.
func sameServer(name string, next func(*http.Request, []*http.Request) error) func(*http.Request, []*http.Request) error {
	return func(r *http.Request, via []*http.Request) error {
		if from := via[0].URL; r.URL.Scheme != from.Scheme || r.URL.Host != from.Host {
			return &llm.Error{Kind: llm.InvalidRequest, Provider: name, Message: fmt.Sprintf("redirect to %s://%s refused: credentials are sent only to the configured server", r.URL.Scheme, r.URL.Host)}
		}
		if next != nil {
			return next(r, via)
		}
		if len(via) >= 10 {
			return errors.New("stopped after 10 redirects")
		}
		return nil
	}
}

var (
	errNoAnswer = errors.New("no response in time")
	errSilent   = errors.New("the stream was silent")
)

// call is shared by a Stream and its HTTP request.
type call struct {
	idle     time.Duration
	sent     *http.Request // nil until it is sent
	reported func(r llm.RateReport)
	limits   *llm.ReplyLimits
}

type callKey struct{}

// transport sends requests as API promises.
type transport struct {
	name          string
	base          http.RoundTripper
	headers       map[string]string
	timeout, idle time.Duration
}

func (t *transport) RoundTrip(r *http.Request) (*http.Response, error) {
	caller := r.Context()
	streamed, _ := caller.Value(callKey{}).(*call)
	ctx, cancel := context.WithCancelCause(caller)
	r = r.Clone(ctx)
	for k, v := range t.headers {
		r.Header.Set(k, v)
		if http.CanonicalHeaderKey(k) == "Host" {
			r.Host = v
		}
	}
	b := &body{t: t, caller: caller, ctx: ctx, cancel: cancel, idle: t.idle, left: maxAnswer + 1}
	if streamed != nil {
		streamed.sent = r
		b.idle, b.left = streamed.idle, streamBytes(streamed.limits)
	}
	timer := time.AfterFunc(t.timeout, func() { cancel(errNoAnswer) })
	resp, err := t.base.RoundTrip(r)
	if !timer.Stop() && err == nil { // the response started too late
		resp.Body.Close()
		err = errNoAnswer
	}
	if err != nil {
		err = b.failed(err, false)
		cancel(nil)
		return nil, err
	}
	if streamed != nil && streamed.reported != nil {
		if rates := readRates(resp.Header, time.Now()); rates != (llm.RateReport{}) {
			streamed.reported(rates)
		}
	}
	b.ReadCloser = resp.Body
	b.timer = time.AfterFunc(b.idle, func() { cancel(errSilent) })
	b.timer.Stop()
	resp.Body = b
	refused := resp.StatusCode >= 400 || resp.StatusCode >= 300 && resp.Header.Get("Location") == "" // a redirect without a target
	if refused || streamed != nil && resp.StatusCode == http.StatusOK && !isStream(resp.Header) {
		defer b.Close()
		data, err := io.ReadAll(io.LimitReader(b, 64<<10))
		data = []byte(t.hide(string(data), r))
		if !refused {
			if err != nil {
				return nil, err
			}
			return nil, notStream(t.name, resp.Header, data)
		}
		return nil, classify(t.name, resp.StatusCode, resp.Header, data)
	}
	return resp, nil
}

// hide removes the credentials of a request and the values of configured headers from text:
// some providers quote the wrong key in an error.
func (t *transport) hide(text string, r *http.Request) string {
	secrets := credentials(r)
	for _, v := range t.headers {
		if len(v) >= 8 {
			secrets = append(secrets, v)
		}
	}
	slices.SortFunc(secrets, func(a, b string) int { return len(b) - len(a) }) // longest first: one may contain another
	for _, s := range secrets {
		text = strings.ReplaceAll(text, s, "***")
	}
	return text
}

// CloseIdleConnections closes the idle connections of the base transport.
func (t *transport) CloseIdleConnections() {
	if c, ok := t.base.(interface{ CloseIdleConnections() }); ok {
		c.CloseIdleConnections()
	}
}

// isStream reports whether a response can be a stream. Servers that send no content type, or
// only say that it is text, are trusted.
func isStream(h http.Header) bool {
	switch kind, _, _ := mime.ParseMediaType(h.Get("Content-Type")); kind {
	case "text/html", "application/json", "application/problem+json", "application/xml", "text/xml":
		return false
	}
	return true
}

// notStream returns the error for a response with status 200 that is not a stream: an error
// body, or the page of a proxy.
func notStream(name string, h http.Header, body []byte) *llm.Error {
	if e := ErrorBody(name, body); e != nil {
		e.RetryAfter = max(e.RetryAfter, retryAfter(h, time.Now()))
		return e
	}
	return &llm.Error{Kind: llm.Provider, Provider: name, Status: http.StatusOK,
		Message: fmt.Sprintf("the response has content type %q, want an event stream: %s", h.Get("Content-Type"), clip(string(body)))}
}

// body is the body of a response, as long as the limits allow it to be when it is decompressed. A Read that takes too long cancels the
// request, so only the provider's silence counts, not the time that the reader takes between reads. Once the caller has
// cancelled, a Read fails at once, whatever has arrived.
type body struct {
	io.ReadCloser
	t           *transport
	caller, ctx context.Context
	cancel      context.CancelCauseFunc
	idle        time.Duration
	timer       *time.Timer
	left        int64 // bytes that may still come
}

func (b *body) Read(p []byte) (int, error) {
	if err := b.ctx.Err(); err != nil {
		return 0, b.failed(err, true)
	}
	b.timer.Reset(b.idle)
	n, err := b.ReadCloser.Read(p)
	b.timer.Stop()
	if b.left -= int64(n); b.left < 0 {
		return 0, tooLarge("the response is longer than the limits of a reply allow (limits.reply_bytes)")
	}
	if err != nil && err != io.EOF {
		err = b.failed(err, true)
	}
	return n, err
}

func (b *body) Close() error {
	b.timer.Stop()
	b.cancel(nil) // before closing, so that the connection is closed instead of drained
	return b.ReadCloser.Close()
}

// failed converts a failure to connect, send or read into an *llm.Error.
func (b *body) failed(err error, begun bool) error {
	if known, ok := errors.AsType[*llm.Error](err); ok { // from a cassette
		return known
	}
	e := &llm.Error{Provider: b.t.name, Err: err}
	switch cause := context.Cause(b.ctx); {
	case b.caller.Err() != nil:
		e.Kind, e.Err = llm.Cancelled, context.Cause(b.caller)
	case cause == errSilent:
		e.Kind, e.Err, e.Message = llm.Timeout, nil, fmt.Sprintf("the stream was silent for %s", b.idle)
	case cause == errNoAnswer:
		e.Kind, e.Err, e.Message = llm.Timeout, nil, fmt.Sprintf("no response for %s", b.t.timeout)
	case errors.Is(err, httpguard.ErrAddress), errors.Is(err, httpguard.ErrRedirect):
		e.Kind = llm.InvalidRequest
	case isTimeout(err):
		e.Kind = llm.Timeout
	case begun:
		e.Kind, e.Message = llm.Interrupted, "the connection was lost"
	default:
		e.Kind, e.Message = llm.Provider, "the provider is unreachable"
	}
	return e
}

func isTimeout(err error) bool {
	ne, ok := errors.AsType[net.Error](err)
	return ok && ne.Timeout()
}
