package server

import (
	"cmp"
	"context"
	"log/slog"
	"net/http"
	"net/url"
	"regexp"
	"runtime/debug"
	"strings"
	"time"

	"github.com/awaken-go/awaken/internal/tracecontext"
	"github.com/awaken-go/awaken/plugin/observe"
	"github.com/awaken-go/awaken/protocol"
)

// requestID matches the request ids of clients that are used.
var requestID = regexp.MustCompile(`^[A-Za-z0-9._:/+=-]{1,128}$`)

// observe gives each request an id, the client's if it has one, logs and counts it, and recovers from panics.
func (s *Server) observe(next http.Handler) http.Handler {
	return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		rec := s.received(w, r)
		defer s.answered(rec, r)
		next.ServeHTTP(rec, r)
	})
}

// received begins the response to a request. It is not inlined: see serve.
//
//go:noinline
func (s *Server) received(w http.ResponseWriter, r *http.Request) *recorder {
	rec := &recorder{ResponseWriter: w, began: time.Now(), id: r.Header.Get("X-Request-Id")}
	if !requestID.MatchString(rec.id) {
		rec.id = s.cfg.NewID()
	}
	w.Header().Set("X-Request-Id", rec.id)
	w.Header().Set("X-Content-Type-Options", "nosniff")
	_ = http.NewResponseController(w).SetWriteDeadline(time.Time{}) // lift the deadline of the connection's previous request
	s.cfg.Metrics.http.inFlight.Inc()
	return rec
}

// answered is deferred: it ends a request, and recovers from its panic.
func (s *Server) answered(rec *recorder, r *http.Request) {
	s.cfg.Metrics.http.inFlight.Dec()
	if v := recover(); v != nil && v != http.ErrAbortHandler { //nolint:errorlint // compared as in the standard library
		s.cfg.Logger.Error("request panicked", "method", r.Method, "path", r.URL.Path, "request", rec.id, "panic", v, "stack", string(debug.Stack()))
		if rec.status == 0 {
			writeFailure(rec, Fail(http.StatusInternalServerError, "internal", "internal error"))
		}
	} else if v != nil {
		defer panic(v) // aborts the connection
	}
	route := r.Pattern
	if _, path, ok := strings.Cut(route, " "); ok {
		route = path
	}
	took := time.Since(rec.began)
	s.cfg.Metrics.http.request(r.Method, route, rec.status, took)
	if s.cfg.Logger.Enabled(r.Context(), slog.LevelDebug) {
		at := tracecontext.FromHeader(r.Header.Values)
		if rec.span != nil { // the server may have begun the trace
			at = tracecontext.Of(rec.span)
		}
		s.cfg.Logger.LogAttrs(r.Context(), slog.LevelDebug, "request", slog.String("method", r.Method), slog.String("route", route),
			slog.Int("status", rec.status), slog.Duration("took", took), slog.String("request", rec.id), slog.String("trace", at.TraceID()))
	}
}

// spanOf returns the name of the spans of a route's requests, or "" if they have none: probes and scrapers get none, nor does any request
// if the server makes no spans.
func (s *Server) spanOf(route *protocol.Route) string {
	if !s.cfg.Observer.Traces() || route.Path == "/metrics" || strings.HasPrefix(route.Path, "/health") {
		return ""
	}
	return route.Method + " " + route.Path
}

// span is the span of a request.
type span struct {
	rec      *recorder
	end      func(about *observe.Request, status int) // nil if none is recorded
	returned bool                                     // the handler did not panic
}

// begin finds out where a request is in its trace, and begins a span by that name, unless name is empty.
func (c *call) begin(observer *observe.Plugin, name string) {
	req := &c.req
	req.ctx = tracecontext.With(req.r.Context(), tracecontext.FromHeader(req.r.Header.Values))
	if name == "" {
		return
	}
	if req.r.Method != req.route.Method { // HEAD
		name = req.r.Method + " " + req.route.Path
	}
	if req.ctx, c.span.end = observer.Serve(req.ctx, name); c.span.end == nil {
		return
	}
	rec, ok := req.w.(*recorder)
	if !ok {
		rec = &recorder{ResponseWriter: req.w}
	}
	rec.span = req.ctx
	req.w, c.span.rec = rec, rec
}

// end ends the span of the call.
func (c *call) end() {
	if c.span.end == nil {
		return
	}
	r, status := c.req.r, 0
	if c.span.returned {
		status = cmp.Or(c.span.rec.status, http.StatusOK)
	}
	about := &observe.Request{Method: r.Method, Scheme: "http", Host: (&url.URL{Host: r.Host}).Hostname(), Path: r.URL.Path,
		Route: c.req.route.Path, Protocol: strings.TrimPrefix(r.Proto, "HTTP/"), UserAgent: r.UserAgent()}
	if r.TLS != nil {
		about.Scheme = "https"
	}
	c.span.end(about, status)
}

// recorder records the status of a response.
type recorder struct {
	http.ResponseWriter
	status int
	began  time.Time
	id     string          // of the request
	span   context.Context // has the span of the request; nil if there is none
}

func (r *recorder) WriteHeader(status int) {
	r.status = cmp.Or(r.status, status)
	r.ResponseWriter.WriteHeader(status)
}

func (r *recorder) Write(data []byte) (int, error) {
	r.status = cmp.Or(r.status, http.StatusOK)
	return r.ResponseWriter.Write(data)
}

// Unwrap returns the underlying writer to http.ResponseController.
func (r *recorder) Unwrap() http.ResponseWriter { return r.ResponseWriter }
