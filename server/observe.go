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
		start := time.Now()
		id := r.Header.Get("X-Request-Id")
		if !requestID.MatchString(id) {
			id = s.cfg.NewID()
		}
		w.Header().Set("X-Request-Id", id)
		w.Header().Set("X-Content-Type-Options", "nosniff")
		rec := &recorder{ResponseWriter: w}
		_ = http.NewResponseController(w).SetWriteDeadline(time.Time{}) // lift the deadline of the connection's previous request
		s.cfg.Metrics.http.inFlight.Inc()
		defer func() {
			s.cfg.Metrics.http.inFlight.Dec()
			if v := recover(); v != nil && v != http.ErrAbortHandler { //nolint:errorlint // compared as in the standard library
				s.cfg.Logger.Error("request panicked", "method", r.Method, "path", r.URL.Path, "request", id, "panic", v, "stack", string(debug.Stack()))
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
			took := time.Since(start)
			s.cfg.Metrics.http.request(r.Method, route, rec.status, took)
			if s.cfg.Logger.Enabled(r.Context(), slog.LevelDebug) {
				at := tracecontext.FromHeader(r.Header.Values)
				if rec.span != nil { // the server may have begun the trace
					at = tracecontext.Of(rec.span)
				}
				s.cfg.Logger.LogAttrs(r.Context(), slog.LevelDebug, "request", slog.String("method", r.Method), slog.String("route", route),
					slog.Int("status", rec.status), slog.Duration("took", took), slog.String("request", id), slog.String("trace", at.TraceID()))
			}
		}()
		next.ServeHTTP(rec, r)
	})
}

// traced returns a handler that tells next where the request is in its trace: in a span of its own, if the server makes spans. Probes and scrapers get none.
func (s *Server) traced(route *protocol.Route, next func(ctx context.Context, w http.ResponseWriter, r *http.Request)) http.Handler {
	name := route.Method + " " + route.Path
	spans := s.cfg.Observer.Traces() && route.Path != "/metrics" && !strings.HasPrefix(route.Path, "/health")
	return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		ctx := tracecontext.With(r.Context(), tracecontext.FromHeader(r.Header.Values))
		var end func(about *observe.Request, status int)
		if spans {
			name := name
			if r.Method != route.Method { // HEAD
				name = r.Method + " " + route.Path
			}
			ctx, end = s.cfg.Observer.Serve(ctx, name)
		}
		if end == nil {
			next(ctx, w, r)
			return
		}
		rec, ok := w.(*recorder)
		if !ok {
			rec = &recorder{ResponseWriter: w}
		}
		rec.span = ctx
		status := 0
		defer func() {
			about := &observe.Request{Method: r.Method, Scheme: "http", Host: (&url.URL{Host: r.Host}).Hostname(), Path: r.URL.Path, Route: route.Path, Protocol: strings.TrimPrefix(r.Proto, "HTTP/"), UserAgent: r.UserAgent()}
			if r.TLS != nil {
				about.Scheme = "https"
			}
			end(about, status)
		}()
		next(ctx, rec, r)
		status = cmp.Or(rec.status, http.StatusOK)
	})
}

// recorder records the status of a response.
type recorder struct {
	http.ResponseWriter
	status int
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
