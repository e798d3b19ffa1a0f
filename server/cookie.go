package server

import (
	"net/http"
	"strings"
	"time"
)

// A session's cookie is for pages of the server itself. It is HttpOnly, so no script can read it, and
// SameSite=Strict, so browsers do not send it with requests of other sites; of origins on the same
// site, such as another port of the same machine, [CheckPage] refuses requests. Over TLS it is Secure
// and has the prefix __Host-, which no other host of the domain can set.

const (
	cookieName   = "awaken_session"
	securePrefix = "__Host-"
)

// cookieFor returns the name of the cookie of a session. Browsers share cookies between the ports of a
// host, so the port is a part of the name: several servers on one machine do not sign each other out.
func cookieFor(r *http.Request) string {
	name := cookieName
	if host := hostOf(r.Host); host != "" {
		if _, port, ok := strings.Cut(r.Host[strings.LastIndex(r.Host, "]")+1:], ":"); ok {
			name += "_" + port
		}
	}
	return name
}

// CredentialOf returns what a request proves its key with: the secret of its Authorization header or,
// if it has none, the one of a session's cookie.
func CredentialOf(r *http.Request) (Credential, error) {
	secret, err := secretOf(r)
	if secret != "" || err != nil {
		return Credential{Secret: secret}, err
	}
	if value := SessionOf(r); value != "" {
		return Credential{Secret: value, Session: true}, nil
	}
	return Credential{}, nil
}

// SessionOf returns the secret of a request's session, or "". Over TLS, a cookie that another host of
// the domain may have set does not count.
func SessionOf(r *http.Request) string {
	if len(r.Header["Cookie"]) == 0 {
		return "" // as most requests, at no cost
	}
	name := cookieFor(r)
	if c, err := r.Cookie(securePrefix + name); err == nil && c.Value != "" {
		return c.Value
	}
	if IsSecure(r) {
		return ""
	}
	if c, err := r.Cookie(name); err == nil {
		return c.Value
	}
	return ""
}

// SetCookie gives a browser the cookie of a session, for as long as the session lasts.
func SetCookie(w http.ResponseWriter, r *http.Request, value string, lasts time.Duration) {
	c := &http.Cookie{Name: cookieFor(r), Value: value, Path: "/", MaxAge: max(1, int(lasts.Seconds())), HttpOnly: true, SameSite: http.SameSiteStrictMode}
	if IsSecure(r) || strings.HasPrefix(r.Header.Get("Origin"), "https://") { // a browser's origin is as good as a proxy's word
		c.Name, c.Secure = securePrefix+c.Name, true
	}
	http.SetCookie(w, c)
}

// DropCookie makes a browser forget its session.
func DropCookie(w http.ResponseWriter, r *http.Request) {
	name := cookieFor(r)
	for _, c := range []*http.Cookie{{Name: name}, {Name: securePrefix + name, Secure: true}} {
		if _, err := r.Cookie(c.Name); err == nil {
			c.Path, c.MaxAge, c.HttpOnly, c.SameSite = "/", -1, true, http.SameSiteStrictMode
			http.SetCookie(w, c)
		}
	}
}

// CheckPage refuses a request with a session that a page of another origin made the browser send. What
// changes something must name its origin, as browsers do.
func CheckPage(r *http.Request) error {
	origin, site := r.Header.Get("Origin"), r.Header.Get("Sec-Fetch-Site")
	reads := r.Method == http.MethodGet || r.Method == http.MethodHead
	switch {
	case origin == "" && !reads:
		return Fail(http.StatusForbidden, "forbidden_origin", "a request with the cookie of a session must have the header Origin; programs use a key in the Authorization header instead")
	case origin != "" && !isOwnOrigin(origin, r), site != "" && site != "same-origin" && site != "none":
		return Fail(http.StatusForbidden, "forbidden_origin", "the cookie of a session is for pages of this server only, but the origin is %q", origin)
	}
	return nil
}

// isOwnOrigin reports whether an origin is the server's own, by the Host of the request.
func isOwnOrigin(origin string, r *http.Request) bool {
	host := originHost(origin)
	return host != "" && strings.EqualFold(host, r.Host) && (!IsSecure(r) || strings.HasPrefix(origin, "https://"))
}
