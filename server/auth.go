package server

import (
	"fmt"
	"net/http"
	"regexp"
	"slices"
	"strings"
	"sync"
	"time"

	"golang.org/x/time/rate"

	"github.com/awaken-go/awaken/protocol"
)

// authenticate finds out who asks, and whether they may use what not everyone may.
func (s *Server) authenticate(r *http.Request, need protocol.Access) (*Key, error) {
	headers := r.Header.Values("Authorization")
	if len(headers) == 0 {
		if need != protocol.Admins && *s.cfg.Open {
			return nil, nil
		}
		return nil, unauthorized("authentication required")
	}
	if len(headers) > 1 {
		return nil, unauthorized("multiple Authorization headers are not allowed")
	}
	scheme, secret, ok := strings.Cut(headers[0], " ")
	switch {
	case !ok || secret == "":
		return nil, unauthorized("invalid Authorization header")
	case !strings.EqualFold(scheme, "Bearer"):
		return nil, unauthorized("Authorization header must use Bearer authentication")
	case s.cfg.Keys == nil:
		return nil, unauthorized("authentication is not configured")
	}
	key, err := s.cfg.Keys.find(r.Context(), secret)
	if err != nil {
		return nil, err
	}
	if key == nil {
		return nil, unauthorized("invalid bearer token")
	}
	if !key.Kind.allows(need) {
		return nil, fail(http.StatusForbidden, "forbidden", fmt.Sprintf("this needs a key of kind %s, and this one is of kind %s", need, key.Kind))
	}
	return key, nil
}

func unauthorized(message string) *protocol.Failure {
	return fail(http.StatusUnauthorized, "unauthorized", message)
}

// checkHost refuses requests under a name that is not the server's. A page in a browser
// could otherwise reach a server on this machine by a name that resolves to it.
func (s *Server) checkHost(r *http.Request) error {
	if !*s.cfg.Open {
		return nil // whoever has a key may call it what they like
	}
	host := hostOf(r.Host)
	if isLocalHost(host) || slices.Contains(s.cfg.Hosts, host) || slices.Contains(s.cfg.Hosts, r.Host) {
		return nil
	}
	return fail(http.StatusForbidden, "forbidden_host", fmt.Sprintf("host %q is not known here", r.Host))
}

var hostport = regexp.MustCompile(`^(?:\[([0-9a-fA-F:.]+)\]|([^\[\]:@/?#\\\s]+))(?::[0-9]+)?$`)

// hostOf returns the name or the address in a Host header, in lower case, or "" if it
// is not what a browser would send.
func hostOf(host string) string {
	m := hostport.FindStringSubmatch(host)
	if m == nil {
		return ""
	}
	return strings.ToLower(m[1] + m[2])
}

// originHost returns the host, and the port if there is one, of an Origin header: a
// scheme and a host, and nothing else. Anything else is "".
func originHost(origin string) string {
	host, ok := strings.CutPrefix(origin, "http://")
	if !ok {
		host, ok = strings.CutPrefix(origin, "https://")
	}
	if !ok || hostOf(host) == "" {
		return ""
	}
	return host
}

// allowOrigin reports whether a page may use the server.
func (s *Server) allowOrigin(origin string) bool {
	if slices.Contains(s.cfg.Origins, origin) {
		return true
	}
	return *s.cfg.Open && isLocalHost(hostOf(originHost(origin)))
}

// checkOrigin refuses requests that a page of somebody else makes a browser send.
func (s *Server) checkOrigin(r *http.Request) error {
	origin := r.Header.Get("Origin")
	if origin == "" {
		// Following a link is fine; everything else that a page of another site does is not.
		harmless := (r.Method == http.MethodGet || r.Method == http.MethodHead) && r.Header.Get("Sec-Fetch-Mode") == "navigate"
		if r.Header.Get("Sec-Fetch-Site") == "cross-site" && !harmless {
			return fail(http.StatusForbidden, "forbidden_origin", "requests from pages of other sites are not allowed")
		}
		return nil
	}
	if len(r.Header.Values("Origin")) > 1 {
		return fail(http.StatusForbidden, "forbidden_origin", "multiple Origin headers are not allowed")
	}
	if s.allowOrigin(origin) {
		return nil
	}
	if host := originHost(origin); host != "" && strings.EqualFold(host, r.Host) {
		return nil // a page of this server
	}
	return fail(http.StatusForbidden, "forbidden_origin", fmt.Sprintf("pages of %q may not use this server", origin))
}

// rates limit how often a key is used.
type rates struct {
	perSecond float64
	burst     int

	mu   sync.Mutex
	keys map[string]*rate.Limiter
}

// take counts a request, or says how long to wait.
func (l *rates) take(id string) (time.Duration, bool) {
	if l.perSecond <= 0 {
		return 0, true
	}
	l.mu.Lock()
	lim := l.keys[id]
	if lim == nil {
		if len(l.keys) >= 100_000 {
			clear(l.keys)
		}
		lim = rate.NewLimiter(rate.Limit(l.perSecond), l.burst)
		l.keys[id] = lim
	}
	l.mu.Unlock()
	r := lim.Reserve()
	if wait := r.Delay(); wait > 0 {
		r.Cancel()
		return wait, false
	}
	return 0, true
}
