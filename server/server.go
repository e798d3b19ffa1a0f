package server

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"net"
	"net/http"
	"net/http/pprof"
	"runtime/debug"
	"strings"
	"sync"
	"sync/atomic"
	"time"
	"unicode"
	"unicode/utf8"

	"github.com/rs/cors"
	"golang.org/x/time/rate"

	"github.com/awaken-go/awaken/protocol"
)

// Server answers HTTP requests. It is safe for concurrent use.
type Server struct {
	cfg     Config
	routes  []protocol.Route
	mux     *http.ServeMux
	handler http.Handler
	rates   rates
	started time.Time

	document func() ([]byte, error) // of OpenAPI, made once

	requests atomic.Int64    // being answered, streams not counted
	streams  atomic.Int64    // open
	serving  context.Context // until streams have to end
	stop     context.CancelFunc
}

// New checks cfg and returns a server.
func New(cfg Config) (*Server, error) {
	cfg, err := cfg.withDefaults()
	if err != nil {
		return nil, err
	}
	if _, ok := cfg.Mailbox.Queue().Handle("").(threads); !ok {
		return nil, errors.New("server: the mailbox's store cannot edit threads")
	}
	s := &Server{cfg: cfg, mux: http.NewServeMux(), started: time.Now(),
		rates: rates{perSecond: cfg.Limits.KeyRate, burst: cfg.Limits.KeyBurst, keys: map[string]*rate.Limiter{}}}
	s.serving, s.stop = context.WithCancel(context.Background())
	s.routes = table(&cfg)
	for i := range s.routes {
		r := &s.routes[i]
		s.mux.Handle(r.Method+" "+r.Path, s.serve(r))
	}
	for pattern, h := range cfg.Handlers {
		s.mux.Handle(pattern, h)
	}
	s.document = sync.OnceValues(func() ([]byte, error) { return document(cfg.Version, s.routes) })
	s.mux.HandleFunc("/", s.unknown)
	s.handler = s.observe(s.protect(s.mux))
	return s, nil
}

// Handler answers requests. It can be mounted at the root of any server; behind a prefix
// with http.StripPrefix.
func (s *Server) Handler() http.Handler { return s.handler }

// protect does what has to be done before a request is looked at.
func (s *Server) protect(next http.Handler) http.Handler {
	c := cors.New(cors.Options{
		AllowOriginFunc: s.allowOrigin,
		AllowedMethods:  []string{"GET", "POST", "PUT", "PATCH", "DELETE"},
		AllowedHeaders:  []string{"Authorization", "Content-Type", "Last-Event-ID", "Idempotency-Key", "If-Match", "If-None-Match", "X-Awaken-Actor", "MCP-Session-Id", "MCP-Protocol-Version", "A2A-Version", "User-Agent"},
		ExposedHeaders:  []string{"X-Run-Id", "X-Thread-Id", "X-Request-Id", "X-Vercel-Ai-Ui-Message-Stream", "X-Trace-Total-Events", "X-Trace-Next-Offset", "MCP-Session-Id", "ETag", "Retry-After", "Location"},
		MaxAge:          600,
	})
	next = c.Handler(next)
	return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		if err := s.checkHost(r); err != nil {
			writeFailure(w, failureOf(err))
			return
		}
		if err := s.checkOrigin(r); err != nil {
			writeFailure(w, failureOf(err))
			return
		}
		next.ServeHTTP(w, r)
	})
}

// serve answers the requests of a route.
func (s *Server) serve(route *protocol.Route) http.Handler {
	ids := route.IDs()
	return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		c := &call{srv: s, w: w, r: r, ctx: r.Context(), route: route, ids: ids}
		if err := c.answer(); err != nil {
			f := failureOf(err)
			if f.Status >= 500 && r.Context().Err() == nil {
				s.cfg.Logger.Error("request failed", "method", r.Method, "route", route.Path, "request", w.Header().Get("X-Request-Id"), "error", err)
			}
			writeFailure(w, f)
		}
	})
}

// answer checks who asks and how much is going on, and lets the route answer.
func (c *call) answer() error {
	s := c.srv
	name, id := "", "-"
	if c.route.Access != protocol.Everyone {
		key, err := s.authenticate(c.r, c.route.Access)
		if err != nil {
			return err
		}
		if c.key = key; key != nil {
			name, id = key.Tenant, key.ID
		}
		if c.user, err = s.user(c.r, key); err != nil {
			return err
		}
		if wait, ok := s.rates.take(id); !ok {
			return &protocol.Failure{Status: http.StatusTooManyRequests, Code: "rate_limited", Message: "too many requests", RetryAfter: wait + time.Second}
		}
		release, err := s.enter(c.route.Stream)
		if err != nil {
			return err
		}
		defer release()
	}
	if c.route.Global {
		if err := c.checkGlobal(); err != nil {
			return err
		}
	}
	for _, v := range c.ids {
		if !validID(c.path(v)) {
			return notFound(strings.TrimSuffix(v, "_id"), fmt.Sprintf("%q", c.path(v)))
		}
	}
	if c.route.Own {
		name = ownTenant
	}
	c.tenant = s.cfg.Mailbox.Tenant(name)
	c.query = c.r.URL.Query()
	for _, p := range c.route.Query {
		if v := c.query.Get(p.Name); !utf8.ValidString(v) || strings.ContainsFunc(v, unicode.IsControl) {
			return badRequest(p.Name + " must be UTF-8 without control characters")
		}
	}
	if limit := s.cfg.Limits.Body; limit > 0 {
		c.r.Body = http.MaxBytesReader(c.w, c.r.Body, limit)
	}
	if limit := s.cfg.Limits.RequestTime; limit > 0 {
		control := http.NewResponseController(c.w)
		// Later than the time is up, for it ends the request as if the client had gone. (A
		// writer of a test may have no deadlines.)
		_ = control.SetReadDeadline(time.Now().Add(2 * limit))
		if !c.route.Stream {
			_ = control.SetWriteDeadline(time.Now().Add(2 * limit)) // to answer, and for the client to read it
			var cancel context.CancelFunc
			c.ctx, cancel = context.WithTimeout(c.ctx, limit)
			defer cancel()
		}
	}
	return c.route.Handle(c)
}

// ownTenant has the threads of the server's own agents. No key can be of that tenant, so
// that what they do can be neither seen nor approved by who only runs agents.
const ownTenant = "awaken.admin"

// enter counts a request or a stream, and refuses what is too much.
func (s *Server) enter(stream bool) (release func(), err error) {
	n, limit, what := &s.requests, int64(s.cfg.Limits.Requests), "requests"
	if stream {
		n, limit, what = &s.streams, int64(s.cfg.Limits.Streams), "streams"
	}
	if n.Add(1) > limit && limit > 0 {
		n.Add(-1)
		return nil, &protocol.Failure{Status: http.StatusServiceUnavailable, Code: "overloaded", Message: "too many " + what + " at the same time", RetryAfter: time.Second}
	}
	return func() { n.Add(-1) }, nil
}

// maxID is how many bytes an id can have.
const maxID = 512

// validID reports whether a text can be an id.
func validID(id string) bool {
	return id != "" && len(id) <= maxID && utf8.ValidString(id) && !strings.ContainsFunc(id, unicode.IsControl)
}

// unknown answers requests that no route is for.
func (s *Server) unknown(w http.ResponseWriter, r *http.Request) {
	var allowed []string
	for _, m := range []string{"GET", "POST", "PUT", "PATCH", "DELETE"} {
		probe := r.Clone(r.Context())
		probe.Method = m
		if _, pattern := s.mux.Handler(probe); pattern != "/" && pattern != "" {
			allowed = append(allowed, m)
		}
	}
	if len(allowed) > 0 {
		w.Header().Set("Allow", strings.Join(allowed, ", "))
		writeFailure(w, fail(http.StatusMethodNotAllowed, "method_not_allowed", fmt.Sprintf("%s is not possible here, only %s", r.Method, strings.Join(allowed, ", "))))
		return
	}
	writeFailure(w, fail(http.StatusNotFound, "not_found", "there is nothing at "+r.URL.Path))
}

// observe names requests, logs and counts them, and survives what goes wrong in them.
func (s *Server) observe(next http.Handler) http.Handler {
	return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		start := time.Now()
		id := s.cfg.NewID()
		w.Header().Set("X-Request-Id", id)
		w.Header().Set("X-Content-Type-Options", "nosniff")
		rec := &recorder{ResponseWriter: w}
		_ = http.NewResponseController(w).SetWriteDeadline(time.Time{}) // the last request on this connection may have left one
		s.cfg.Metrics.inFlight.Inc()
		defer func() {
			s.cfg.Metrics.inFlight.Dec()
			if v := recover(); v != nil && v != http.ErrAbortHandler { //nolint:errorlint // it is compared as the standard library does
				s.cfg.Logger.Error("request panicked", "method", r.Method, "path", r.URL.Path, "request", id, "panic", v, "stack", string(debug.Stack()))
				if rec.status == 0 {
					writeFailure(rec, fail(http.StatusInternalServerError, "internal", "internal error"))
				}
			} else if v != nil {
				defer panic(v) // the connection is to break off
			}
			route := r.Pattern
			if _, path, ok := strings.Cut(route, " "); ok {
				route = path
			}
			took := time.Since(start)
			s.cfg.Metrics.request(r.Method, route, rec.status, took)
			s.cfg.Logger.LogAttrs(r.Context(), slog.LevelDebug, "request", slog.String("method", r.Method), slog.String("route", route),
				slog.Int("status", rec.status), slog.Duration("took", took), slog.String("request", id))
		}()
		next.ServeHTTP(rec, r)
	})
}

// recorder remembers the status of an answer.
type recorder struct {
	http.ResponseWriter
	status int
}

func (r *recorder) WriteHeader(status int) {
	if r.status == 0 {
		r.status = status
	}
	r.ResponseWriter.WriteHeader(status)
}

func (r *recorder) Write(data []byte) (int, error) {
	if r.status == 0 {
		r.status = http.StatusOK
	}
	return r.ResponseWriter.Write(data)
}

// Unwrap lets http.ResponseController reach what is below.
func (r *recorder) Unwrap() http.ResponseWriter { return r.ResponseWriter }

// Listen opens the server's address. It is for callers that need to know the port.
func (s *Server) Listen() (net.Listener, error) {
	l, err := net.Listen("tcp", s.cfg.Address)
	if err != nil {
		return nil, fmt.Errorf("listen on %s: %w", s.cfg.Address, err)
	}
	return l, nil
}

// Run listens, works on the mailbox and answers until ctx is done. It then stops
// accepting, ends the streams, lets the runs go on to the end of their step, gives them
// back to the queue, and returns.
func (s *Server) Run(ctx context.Context) error {
	l, err := s.Listen()
	if err != nil {
		return err
	}
	return s.Serve(ctx, l)
}

// Serve is Run on a listener that is there already. It closes the listener.
func (s *Server) Serve(ctx context.Context, l net.Listener) error {
	limits := s.cfg.Limits
	srv := &http.Server{Handler: s.handler, ReadHeaderTimeout: limits.HeaderTime, IdleTimeout: limits.IdleTime, MaxHeaderBytes: limits.HeaderBytes,
		ErrorLog: slog.NewLogLogger(s.cfg.Logger.Handler(), slog.LevelDebug), BaseContext: func(net.Listener) context.Context { return context.WithoutCancel(ctx) }}
	ctx, cancel := context.WithCancel(ctx)
	defer cancel()
	var working sync.WaitGroup
	if !s.cfg.ManualMailbox {
		working.Go(func() {
			if err := s.cfg.Mailbox.Work(ctx); err != nil {
				s.cfg.Logger.Error("the mailbox stopped working", "error", err)
			}
		})
	}
	if s.cfg.DebugAddress != "" {
		stop, err := s.serveDebug()
		if err != nil {
			return errors.Join(err, l.Close())
		}
		defer stop()
	}
	failed := make(chan error, 1)
	go func() { failed <- srv.Serve(l) }()
	select {
	case err := <-failed:
		cancel()
		working.Wait()
		return err
	case <-ctx.Done():
	}
	s.cfg.Logger.Info("stopping")
	s.Stop()
	stopCtx, done := context.WithTimeout(context.WithoutCancel(ctx), max(limits.ShutdownTime, 0))
	defer done()
	err := srv.Shutdown(stopCtx)
	if err != nil {
		err = srv.Close()
	}
	working.Wait()
	return err
}

// Stop ends the streams, so that clients connect to somebody else. Serve does so itself.
func (s *Server) Stop() { s.stop() }

// serveDebug serves profiles.
func (s *Server) serveDebug() (stop func(), err error) {
	mux := http.NewServeMux()
	mux.HandleFunc("/debug/pprof/", pprof.Index)
	mux.HandleFunc("/debug/pprof/cmdline", pprof.Cmdline)
	mux.HandleFunc("/debug/pprof/profile", pprof.Profile)
	mux.HandleFunc("/debug/pprof/symbol", pprof.Symbol)
	mux.HandleFunc("/debug/pprof/trace", pprof.Trace)
	l, err := net.Listen("tcp", s.cfg.DebugAddress)
	if err != nil {
		return nil, fmt.Errorf("listen on debug address %s: %w", s.cfg.DebugAddress, err)
	}
	srv := &http.Server{ReadHeaderTimeout: s.cfg.Limits.HeaderTime, Handler: http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		if !isLocalHost(hostOf(r.Host)) {
			writeFailure(w, fail(http.StatusForbidden, "forbidden_host", "profiles are for this machine only"))
			return
		}
		if _, err := s.authenticate(r, protocol.Admins); err != nil {
			writeFailure(w, failureOf(err))
			return
		}
		mux.ServeHTTP(w, r)
	})}
	s.cfg.Logger.Info("profiles are served", "address", l.Addr().String()) // the port may have been chosen just now
	go func() { _ = srv.Serve(l) }()
	return func() { _ = srv.Close() }, nil
}
