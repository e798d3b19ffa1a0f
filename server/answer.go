package server

import (
	"fmt"
	"net/http"
	"strings"

	"github.com/awaken-go/awaken/protocol"
	"github.com/awaken-go/awaken/server/access/permit"
)

// serve returns the handler of a route. Streams wait for their runs below it, and the frames below a goroutine that waits decide how
// much memory it takes. So this one leaves to functions of their own what would make it large, as the other layers of the server do.
func (s *Server) serve(route *protocol.Route) http.Handler {
	ids, name := route.IDs(), s.spanOf(route)
	return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		c := s.called(w, r, route, name)
		defer c.end()
		if err := s.answer(c, ids); err != nil {
			s.refuse(&c.req, err)
		}
		c.span.returned = true
	})
}

// called returns the call that a request is, in a span by that name.
func (s *Server) called(w http.ResponseWriter, r *http.Request, route *protocol.Route, name string) *call {
	c := &call{auth: s.auth, streams: s.streams, previews: s.previews, req: Request{w: w, r: r, route: route, bodies: s.limiter.bodies, admission: s.limiter.admission, trusts: s.cfg.TrustClients}}
	c.begin(s.cfg.Observer, name)
	return c
}

// refuse answers a request with an error.
func (s *Server) refuse(req *Request, err error) {
	w, r, route, f := req.w, req.r, req.route, FailureOf(err)
	if f.Code == "exists" && (r.Header.Get("If-None-Match") != "" || r.Header.Get("If-Match") != "") {
		f.Status = http.StatusPreconditionFailed // the client made existence a condition
	}
	if f.Status >= 500 && r.Context().Err() == nil {
		s.cfg.Logger.Error("request failed", "method", r.Method, "route", route.Path, "request", w.Header().Get("X-Request-Id"), "error", err)
	}
	if f == ErrSession {
		DropCookie(w, r)
	}
	if route.Challenge != nil && f.Status == http.StatusUnauthorized {
		w.Header().Set("WWW-Authenticate", bearer+", "+route.Challenge(r))
	}
	if route.Errors != nil {
		own := *f
		body := route.Errors(&own)
		writeFailureAs(w, &own, body)
		return
	}
	writeProblems(w, f, err)
}

// answer makes every check that precedes the route's handler, then calls it.
func (s *Server) answer(c *call, ids []string) error {
	defer c.finish()
	if err := s.check(c, ids); err != nil {
		return err
	}
	return c.req.route.Handle(c)
}

// check makes every check that precedes the route's handler.
func (s *Server) check(c *call, ids []string) (err error) {
	req := &c.req
	if req.route.Needs != permit.Public {
		if req.Caller, err = s.auth.identify(req.r, req.route.Needs); err != nil {
			return err
		}
	}
	for _, part := range ids {
		if id := req.Path(part); !protocol.ValidID(id) {
			return protocol.NotFound(strings.TrimSuffix(part, "_id"), fmt.Sprintf("%q", id))
		}
	}
	name := req.TenantName()
	switch {
	case req.route.Own:
		name = ownTenant
	case req.route.Preview:
		name = PreviewTenant
	}
	req.tenant = s.cfg.Mailbox.Tenant(name)
	if err := s.visits.record(req); err != nil {
		return err
	}
	if req.Query, err = queryOf(req.r, req.route); err != nil {
		return err
	}
	if req.route.Needs != permit.Public {
		if c.release, err = s.limiter.admit(req); err != nil {
			return err
		}
	}
	c.unbound = s.limiter.bound(req)
	if req.Confined {
		return req.checkScope(ids)
	}
	return nil
}

// ownTenant holds the threads of the server's own agents. No key can belong to it, so callers
// that may only run agents can neither see nor approve what these agents do.
const ownTenant = "awaken.admin"

// PreviewTenant holds the threads of previews: they are in no list, feed, approval, budget or figure of clients. No key can belong to it.
const PreviewTenant = "awaken.preview"

// unknown answers requests that match no route: with the console, or in the form of the protocol that the path belongs to.
func (s *Server) unknown(w http.ResponseWriter, r *http.Request) {
	if s.cfg.Console != nil && s.cfg.Console.Serve(w, r) {
		return
	}
	write := writeFailure
	if form := s.formAt(r.URL.Path); form != nil {
		write = func(w http.ResponseWriter, f *protocol.Failure) { writeFailureAs(w, f, form(f)) }
	}
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
		write(w, Fail(http.StatusMethodNotAllowed, "method_not_allowed", "method %s is not allowed here; allowed: %s", r.Method, strings.Join(allowed, ", ")))
		return
	}
	write(w, Fail(http.StatusNotFound, "not_found", "no route for %s", r.URL.Path))
}

// formAt returns the form of errors at a path that matches no route: that of the route that shares the most
// leading segments with it, and at least two. Nil means the server's own.
func (s *Server) formAt(path string) (form func(f *protocol.Failure) any) {
	want, most := strings.Split(path, "/"), 5
	for i := range s.routes {
		have := strings.Split(s.routes[i].Path, "/")
		n := 0
		for n < min(len(want), len(have)) && want[n] == have[n] {
			n++
		}
		shared := 2 * n // the empty text before the first slash is one of them
		if len(have) == len(want) {
			shared++
		}
		if shared > most {
			most, form = shared, s.routes[i].Errors
		}
	}
	return form
}
