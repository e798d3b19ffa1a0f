package server

import (
	"context"
	"crypto/tls"
	"errors"
	"fmt"
	"log/slog"
	"net"
	"net/http"
	"net/http/pprof"
	"sync"
	"time"

	"github.com/awaken-go/awaken/limit"
	"github.com/awaken-go/awaken/protocol"
	"github.com/awaken-go/awaken/server/access/permit"
)

// Server answers HTTP requests. It is safe for concurrent use.
type Server struct {
	cfg      Config
	routes   []protocol.Route
	mux      *http.ServeMux
	handler  http.Handler
	auth     *auth
	limiter  *limiter
	streams  *Streams
	previews *previews
	visits   *visits
	cert     *certificate // nil without TLS
	kernel   *Kernel

	serving context.Context // until Stop
	stop    context.CancelFunc
}

// New validates cfg and returns a server.
func New(cfg Config) (*Server, error) {
	cfg, err := cfg.withDefaults()
	if err != nil {
		return nil, err
	}
	if _, ok := cfg.Mailbox.Queue().Handle("").(ThreadStore); !ok {
		return nil, errors.New("server: the mailbox's store cannot edit threads")
	}
	if _, ok := cfg.Mailbox.Tenant("").Runtime.(Runtime); !ok {
		return nil, errors.New("server: the mailbox's runtime lacks a method: Registry, Budget or SettleLost")
	}
	s := &Server{cfg: cfg, mux: http.NewServeMux(),
		auth: &auth{keys: cfg.Keys, open: *cfg.Open, hosts: cfg.Hosts, origins: cfg.Origins, users: cfg.Users, guesses: newGuesses(cfg.Limits.WrongKeys)}}
	if cfg.CertFile != "" {
		if s.cert, err = openCertificate(cfg.CertFile, cfg.KeyFile, cfg.Logger); err != nil {
			return nil, fmt.Errorf("server: %w", err)
		}
	}
	s.serving, s.stop = context.WithCancel(context.Background())
	s.limiter = newLimiter(s.serving, cfg.Limits)
	if cfg.KeyRates != nil {
		s.limiter.rates.quota = limit.NewQuota(cfg.KeyRates, s.limiter.KeyRate, s.limiter.KeyBurst)
	}
	s.limiter.admission.files, s.limiter.admission.unpriced = cfg.Files.Total, cfg.AllowUnpriced
	s.streams = &Streams{serving: s.serving, write: cfg.Limits.StreamWrite, wait: cfg.Limits.WaitTime, maxFrames: cfg.Limits.StreamFrames, heartbeat: cfg.Limits.Heartbeat, collect: max(0, cfg.Limits.StreamCollect), encodings: newEncodings(maxEncoded), keys: cfg.Keys, metrics: &cfg.Metrics.http, logger: cfg.Logger}
	s.visits = &visits{control: cfg.Control}
	s.previews = &previews{control: cfg.Control, assistant: cfg.assistant()}
	s.kernel = &Kernel{Mailbox: cfg.Mailbox, ManualMailbox: cfg.ManualMailbox, Keys: cfg.Keys, Control: cfg.Control, Streams: s.streams, Serving: s.serving, Logger: cfg.Logger, NewID: cfg.NewID,
		TrustClients: cfg.TrustClients, BasePath: cfg.BasePath, Files: cfg.Files, HideConfig: cfg.HideConfig, Version: cfg.Version, Open: *cfg.Open, NoAudit: cfg.NoAudit, has: cfg.has, auth: s.auth, limiter: s.limiter}
	table, err := s.table(&cfg)
	if err != nil {
		return nil, fmt.Errorf("server: %w", err)
	}
	s.routes = append(table, describe(sync.OnceValues(func() ([]byte, error) { return document(cfg.Version, s.routes, cfg.parts()) })))
	for i := range s.routes {
		r := &s.routes[i]
		s.mux.Handle(r.Method+" "+r.Path, s.serve(r))
	}
	for pattern, h := range cfg.Handlers {
		s.mux.Handle(pattern, h)
	}
	s.mux.HandleFunc("/", s.unknown)
	s.handler = atBase(cfg.BasePath, s.observe(s.auth.protect(s.mux)))
	return s, nil
}

// Handler returns the HTTP handler of the server. Mount it at the root, or behind a prefix with
// http.StripPrefix.
func (s *Server) Handler() http.Handler { return s.handler }

// Listen opens the server's address, for callers that need to know the port, and its debug address, if it has one.
func (s *Server) Listen() (net.Listener, error) {
	l, err := net.Listen("tcp", s.cfg.Address)
	if err != nil {
		return nil, fmt.Errorf("listen on %s: %w", s.cfg.Address, err)
	}
	if s.cfg.DebugAddress == "" {
		return l, nil
	}
	debug, err := s.listenDebug()
	if err != nil {
		return nil, errors.Join(err, l.Close())
	}
	return &listener{l, debug}, nil
}

// listener is the open address of a server that has a debug address, too.
type listener struct {
	net.Listener
	debug net.Listener
}

// Close closes both addresses.
func (l *listener) Close() error { return errors.Join(l.Listener.Close(), l.debug.Close()) }

// Run listens, works on the mailbox and answers requests until ctx is done. It then stops accepting
// requests, lets runs finish their step, returns them to the queue, ends the streams, which have
// delivered all of that, and returns: with an error if a run does not stop within Limits.ShutdownTime
// and 4 seconds.
func (s *Server) Run(ctx context.Context) error {
	l, err := s.Listen()
	if err != nil {
		return err
	}
	return s.Serve(ctx, l)
}

// Serve is Run on an open listener, which it closes.
func (s *Server) Serve(ctx context.Context, l net.Listener) error {
	limits := s.cfg.Limits
	srv := s.connections(ctx)
	ctx, cancel := context.WithCancel(ctx)
	defer cancel()
	var working sync.WaitGroup
	failed := make(chan error, 2)
	if !s.cfg.ManualMailbox {
		working.Go(func() {
			if err := s.cfg.Mailbox.Work(ctx); err != nil {
				failed <- err
			}
		})
	}
	for _, w := range s.cfg.Wings {
		if w, ok := w.(Worker); ok {
			working.Go(func() { w.Work(ctx) })
		}
	}
	if s.cfg.DebugAddress != "" {
		both, ok := l.(*listener)
		if !ok { // the caller has opened it
			debug, err := s.listenDebug()
			if err != nil {
				return errors.Join(err, l.Close())
			}
			both = &listener{l, debug}
		}
		l = both.Listener // the debug address stays open until the last run has stopped
		defer s.serveDebug(both.debug)()
	}
	go func() {
		if s.cert != nil {
			failed <- srv.ServeTLS(l, "", "")
			return
		}
		failed <- srv.Serve(l)
	}()
	select {
	case err := <-failed:
		cancel()
		_ = srv.Close()
		working.Wait()
		return err
	case <-ctx.Done():
	}
	s.cfg.Logger.Info("stopping")
	last, done := context.WithTimeout(context.WithoutCancel(ctx), max(limits.ShutdownTime, 0)+stopGrace)
	defer done()
	closed := make(chan error, 1)
	go func() { closed <- srv.Shutdown(last) }() // closes the listener now, and returns when the streams have ended
	stopped := make(chan struct{})
	go func() { working.Wait(); close(stopped) }()
	var err error
	select {
	case <-stopped:
	case <-last.Done():
		err = fmt.Errorf("%d runs did not stop in time; they continue when their lease has expired", s.cfg.Mailbox.Active())
	}
	s.Stop()
	if <-closed != nil {
		err = errors.Join(err, srv.Close())
	}
	return err
}

// connections returns what serves the connections of clients, with HTTP/1.1 and HTTP/2. Without TLS, a client
// has to know that the server speaks HTTP/2: a proxy in front of it does.
//
// Requests are limited alike whatever their protocol. Streams of HTTP/2 share a connection, so beyond that the
// streams of one are limited, a connection that takes no bytes is closed, and one that is silent is asked
// whether it is there.
func (s *Server) connections(ctx context.Context) *http.Server {
	l, protocols := s.cfg.Limits, new(http.Protocols)
	protocols.SetHTTP1(true)
	protocols.SetHTTP2(!s.cfg.NoHTTP2)
	protocols.SetUnencryptedHTTP2(!s.cfg.NoHTTP2)
	srv := &http.Server{Handler: s.handler, ReadHeaderTimeout: l.HeaderTime, IdleTimeout: l.IdleTime, MaxHeaderBytes: l.HeaderBytes, Protocols: protocols,
		HTTP2: &http.HTTP2Config{MaxConcurrentStreams: l.HTTP2Streams, MaxReceiveBufferPerStream: 256 << 10, MaxReceiveBufferPerConnection: 1 << 20,
			WriteByteTimeout: max(0, l.StreamWrite), SendPingTimeout: max(0, 2*l.Heartbeat), PingTimeout: max(0, l.StreamWrite)},
		ErrorLog: slog.NewLogLogger(s.cfg.Logger.Handler(), slog.LevelDebug), BaseContext: func(net.Listener) context.Context { return context.WithoutCancel(ctx) }}
	if s.cert != nil {
		srv.TLSConfig = &tls.Config{MinVersion: tls.VersionTLS12, GetCertificate: s.cert.get}
	}
	return srv
}

// stopGrace is how long Serve waits for runs that were told to stop at once. A run that does not,
// because a tool or a model ignores its context, must not keep the process alive.
const stopGrace = 4 * time.Second

// Stop ends the streams, so that clients reconnect to another server. Serve calls it when ctx is
// done.
func (s *Server) Stop() { s.stop() }

func (s *Server) listenDebug() (net.Listener, error) {
	l, err := net.Listen("tcp", s.cfg.DebugAddress)
	if err != nil {
		return nil, fmt.Errorf("listen on debug address %s: %w", s.cfg.DebugAddress, err)
	}
	s.cfg.Logger.Info("serving profiles", "address", l.Addr().String()) // the port may be chosen by the system
	return l, nil
}

// serveDebug serves profiles to admins on this machine, and metrics to all clients on it.
func (s *Server) serveDebug(l net.Listener) (stop func()) {
	mux := http.NewServeMux()
	mux.HandleFunc("/debug/pprof/", pprof.Index)
	mux.HandleFunc("/debug/pprof/cmdline", pprof.Cmdline)
	mux.HandleFunc("/debug/pprof/profile", pprof.Profile)
	mux.HandleFunc("/debug/pprof/symbol", pprof.Symbol)
	mux.HandleFunc("/debug/pprof/trace", pprof.Trace)
	srv := &http.Server{ReadHeaderTimeout: s.cfg.Limits.HeaderTime, Handler: http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		if !isLocalHost(hostOf(r.Host)) {
			writeFailure(w, Fail(http.StatusForbidden, "forbidden_host", "profiles and metrics are served to this machine only"))
			return
		}
		if r.URL.Path == "/metrics" {
			s.cfg.Metrics.serve(w, r, true)
			return
		}
		if _, err := s.auth.identify(r, permit.ReadServer); err != nil { // a profile shows what all tenants do
			writeFailure(w, FailureOf(err))
			return
		}
		mux.ServeHTTP(w, r)
	})}
	go func() { _ = srv.Serve(l) }()
	return func() { _ = srv.Close() }
}
