package server

import (
	"cmp"
	"crypto/subtle"
	"net/http"
	"regexp"
	"slices"
	"strings"
	"time"

	"github.com/rs/cors"

	"github.com/awaken-go/awaken"
	"github.com/awaken-go/awaken/protocol"
	"github.com/awaken-go/awaken/server/access/permit"
)

// Caller identifies the client of a request.
type Caller struct {
	Key      *Key      // nil if the request has none
	User     string    // the user that the request is for, "" if unknown
	users    bool      // users are on, see [Users]
	Confined bool      // may only use what belongs to user
	expires  time.Time // when its token does; zero if it has none
	Acting   string    // the tenant that an admin of the server acts for; "" if none

	may  permit.Set // what it may do
	bare bool       // a user's token stands for the key
}

// KeyID returns the id of the caller's key, or "-" if it has none.
func (c Caller) KeyID() string {
	if c.Key == nil {
		return "-"
	}
	return c.Key.ID
}

// TenantName returns the tenant of the caller's key, or the one that it acts for, or "".
func (c Caller) TenantName() string {
	if c.Acting != "" {
		return c.Acting
	}
	if c.Key == nil {
		return ""
	}
	return c.Key.Tenant
}

// May reports whether the caller has a permission.
func (c Caller) May(p permit.Permission) bool { return c.may.Has(p) }

// Permissions returns what the caller may do.
func (c Caller) Permissions() permit.Set { return c.may }

// check decides whether the caller may use a route. It is the only place that does.
func (c Caller) check(need permit.Permission) error {
	switch {
	case c.May(need):
		return nil
	case c.Key == nil:
		return Unauthorized("authentication required")
	case c.Key.Kind.Permissions().Has(need):
		return Forbidden("this route concerns the whole server, but the key belongs to tenant %s; use an admin key without a tenant", c.Key.Tenant)
	case c.bare:
		return Forbidden("this route needs a key of kind %s, but the request has only the token of a user", kindWith(need))
	}
	return Forbidden("this route needs a key of kind %s, but this key is of kind %s", kindWith(need), c.Key.Kind)
}

// auth authenticates and authorizes requests.
type auth struct {
	keys    Keys // nil if no client has a key
	open    bool // clients without a key may run agents
	hosts   []string
	origins []string
	users   Users
	guesses *guesses
}

// identify authenticates the caller of a route that is not public, and checks that it has the permission that the route needs.
func (a *auth) identify(r *http.Request, need permit.Permission) (Caller, error) {
	token, alone, err := a.claims(r)
	if err != nil {
		return Caller{}, err
	}
	var key *Key
	if alone {
		key, err = keyOf(token)
	} else {
		key, err = a.authenticate(r, need)
	}
	if err != nil {
		return Caller{}, err
	}
	c := Caller{Key: key, users: a.users.on(), may: key.Permissions(), bare: alone}
	if err := c.check(need); err != nil {
		return Caller{}, err
	}
	c.User, err = a.user(r, key, token)
	c.Confined = (c.users || c.User != "") && !c.May(permit.ActForUsers)
	if token != nil {
		c.expires = token.Expires
	}
	if err == nil {
		c.Acting, err = actingFor(r, &c)
	}
	return c, err
}

// authenticate returns the key of a request. It is nil if the server is open to callers without one, and they may do what is
// needed.
func (a *auth) authenticate(r *http.Request, need permit.Permission) (*Key, error) {
	c, err := CredentialOf(r)
	if c.Session && a.keys == nil {
		c = Credential{} // the cookie is another server's
	}
	switch {
	case err != nil:
		return nil, err
	case c.Secret == "" && a.open && (*Key)(nil).Permissions().Has(need):
		return nil, a.checkForwarded(r)
	case c.Secret == "":
		return nil, Unauthorized("authentication required")
	case a.keys == nil:
		return nil, Unauthorized("authentication is not configured")
	case c.Session:
		if err := CheckPage(r); err != nil {
			return nil, err
		}
	}
	if !a.keys.Recalls(c) { // other clients of the same proxy must not lock out one with a key
		if err := a.guesses.check(r); err != nil {
			return nil, err
		}
	}
	key, err := a.keys.Find(r.Context(), c)
	if err != nil {
		return nil, err
	}
	if key == nil {
		a.guesses.wrong(r)
		if c.Session {
			return nil, ErrSession
		}
		return nil, Unauthorized("invalid bearer token")
	}
	return key, nil
}

// match checks the secret of a route that has one of its own. A key of the server does as well. Anything else counts as a wrong
// key.
func (a *auth) match(r *http.Request, key *Key, want awaken.Secret) error {
	given, err := secretOf(r)
	switch {
	case err != nil:
		return err
	case key != nil: // of a route that needs one
		return nil
	case given == "":
		return Unauthorized("authentication required")
	}
	if err := a.guesses.check(r); err != nil {
		return err
	}
	if subtle.ConstantTimeCompare([]byte(given), []byte(want.Expose())) == 1 {
		return nil
	}
	if _, err = a.identify(r, permit.ReadAgents); err != nil && a.keys == nil {
		a.guesses.wrong(r)
	}
	return err
}

// forwarding are headers that proxies add.
var forwarding = []string{"X-Forwarded-For", "Forwarded", "X-Real-Ip", "X-Forwarded-Host", "Via"}

// checkForwarded refuses a request without a key that a proxy forwards: on loopback, every client is
// trusted because it runs on this machine, and the clients of a proxy do not. A proxy that names the
// user in the header that the operator chose is trusted.
func (a *auth) checkForwarded(r *http.Request) error {
	if a.users.Header != "" && r.Header.Get(a.users.Header) != "" {
		return nil
	}
	for _, name := range forwarding {
		if r.Header.Get(name) != "" {
			return Fail(http.StatusForbidden, "forbidden_proxy", "a proxy forwards this request (header %s) without a key: send one in the Authorization header and set server.require_key, or let the proxy name the user and set server.user_header", name)
		}
	}
	return nil
}

// secretOf returns the secret that a request carries, or "" if it has no Authorization header.
func secretOf(r *http.Request) (string, error) {
	headers := r.Header.Values("Authorization")
	if len(headers) == 0 {
		return "", nil
	}
	if len(headers) > 1 {
		return "", Unauthorized("multiple Authorization headers are not allowed")
	}
	scheme, secret, ok := strings.Cut(headers[0], " ")
	switch {
	case !ok || secret == "":
		return "", Unauthorized("invalid Authorization header")
	case !strings.EqualFold(scheme, "Bearer"):
		return "", Unauthorized("Authorization header must use Bearer authentication")
	}
	return secret, nil
}

func Unauthorized(message string) *protocol.Failure {
	return Fail(http.StatusUnauthorized, "unauthorized", "%s", message)
}

// protect adds CORS and checks Host and Origin before anything else reads the request.
func (a *auth) protect(next http.Handler) http.Handler {
	c := cors.New(cors.Options{
		AllowOriginFunc: a.allowOrigin,
		AllowedMethods:  []string{"GET", "POST", "PUT", "PATCH", "DELETE"},
		AllowedHeaders:  []string{"*"}, // but for the one below
		ExposedHeaders:  []string{"X-Run-Id", "X-Thread-Id", "X-Request-Id", "X-Vercel-Ai-Ui-Message-Stream", "X-Trace-Total-Events", "X-Trace-Next-Offset", "MCP-Session-Id", "ETag", "Retry-After", "Location"},
		MaxAge:          600,
	})
	next = c.Handler(next)
	return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		if a.safe(w, r) {
			next.ServeHTTP(w, r)
		}
	})
}

// safe makes the checks of protect, and answers a request that does not pass.
func (a *auth) safe(w http.ResponseWriter, r *http.Request) bool {
	err := cmp.Or(a.checkHost(r), a.checkOrigin(r))
	if err == nil {
		err = a.checkPreflight(r)
	}
	if err != nil {
		writeFailure(w, FailureOf(err))
	}
	return err == nil
}

// checkPreflight refuses to let a page send the header that names the user: only the proxy in
// front may.
func (a *auth) checkPreflight(r *http.Request) error {
	if a.users.Header == "" || r.Method != http.MethodOptions {
		return nil
	}
	for _, list := range r.Header.Values("Access-Control-Request-Headers") {
		for name := range strings.SplitSeq(list, ",") {
			if strings.EqualFold(strings.TrimSpace(name), a.users.Header) {
				return Fail(http.StatusForbidden, "forbidden_header", "pages in a browser may not send the header %s", a.users.Header)
			}
		}
	}
	return nil
}

// checkHost refuses requests for a host name that is not the server's. Otherwise a web page could
// reach a server on this machine through a name that resolves to it (DNS rebinding).
func (a *auth) checkHost(r *http.Request) error {
	if !a.open {
		return nil // every request needs a key, which pages of others do not have
	}
	host := hostOf(r.Host)
	if isLocalHost(host) || slices.Contains(a.hosts, host) || slices.Contains(a.hosts, r.Host) {
		return nil
	}
	return Fail(http.StatusForbidden, "forbidden_host", "host is %q, which is not a name of this server: the operator can add it to the allowed hosts", r.Host)
}

var hostport = regexp.MustCompile(`^(?:\[([0-9a-fA-F:.]+)\]|([^\[\]:@/?#\\\s]+))(?::[0-9]+)?$`)

// hostOf returns the name or address in a Host header, in lower case, or "" if a browser would not
// send such a header.
func hostOf(host string) string {
	m := hostport.FindStringSubmatch(host)
	if m == nil {
		return ""
	}
	return strings.ToLower(m[1] + m[2])
}

// originHost returns the host of an Origin header, with its port if it has one, or "" if the header
// is anything but a scheme and a host.
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

// allowOrigin reports whether pages of an origin may use the server.
func (a *auth) allowOrigin(origin string) bool {
	if slices.Contains(a.origins, origin) {
		return true
	}
	return a.open && isLocalHost(hostOf(originHost(origin)))
}

// checkOrigin refuses requests that a page of another site makes a browser send.
func (a *auth) checkOrigin(r *http.Request) error {
	origin := r.Header.Get("Origin")
	if origin == "" {
		// Following a link is fine. Other requests from another site's page are not.
		harmless := (r.Method == http.MethodGet || r.Method == http.MethodHead) && r.Header.Get("Sec-Fetch-Mode") == "navigate"
		if r.Header.Get("Sec-Fetch-Site") == "cross-site" && !harmless {
			return Fail(http.StatusForbidden, "forbidden_origin", "cross-site requests are not allowed")
		}
		return nil
	}
	if len(r.Header.Values("Origin")) > 1 {
		return Fail(http.StatusForbidden, "forbidden_origin", "multiple Origin headers are not allowed")
	}
	if a.allowOrigin(origin) {
		return nil
	}
	if host := originHost(origin); host != "" && strings.EqualFold(host, r.Host) {
		return nil // the server's own page
	}
	return Fail(http.StatusForbidden, "forbidden_origin", "origin %q is not allowed", origin)
}

// IsSecure reports whether a request came to the server, or to a proxy in front of it, over TLS. The
// headers of a proxy are believed of every client: they only make the server more careful.
func IsSecure(r *http.Request) bool {
	if r.TLS != nil {
		return true
	}
	proto, _, _ := strings.Cut(r.Header.Get("X-Forwarded-Proto"), ",")
	if proto == "" {
		first, _, _ := strings.Cut(r.Header.Get("Forwarded"), ",")
		for part := range strings.SplitSeq(first, ";") {
			if name, value, ok := strings.Cut(strings.TrimSpace(part), "="); ok && strings.EqualFold(name, "proto") {
				proto = strings.Trim(value, `"`)
			}
		}
	}
	return strings.EqualFold(strings.TrimSpace(proto), "https")
}
