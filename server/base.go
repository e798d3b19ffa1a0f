package server

import (
	"fmt"
	"net/http"
	"net/url"
	"path"
	"strings"
)

// checkBase refuses a base path that is not a clean, absolute path, or that hides routes.
func checkBase(base string) error {
	if base == "" {
		return nil
	}
	first, _, _ := strings.Cut(strings.TrimPrefix(base, "/"), "/")
	switch u, err := url.Parse(base); {
	case err != nil || u.Path != base || base[0] != '/' || base == "/" || path.Clean(base) != base || strings.ContainsAny(base, "\"'<>{}\\ "):
		return fmt.Errorf("the base path is %q, want a path such as /awaken, without a slash at its end", base)
	case first == "v1" || first == "assets":
		return fmt.Errorf("the base path is %q, but /%s is a path of the server's own; want another one", base, first)
	}
	return nil
}

// atBase serves requests below a base path as if they were at the root. Others are served as they are, for proxies that
// remove the base path.
func atBase(base string, next http.Handler) http.Handler {
	if base == "" {
		return next
	}
	stripped := http.StripPrefix(base, next)
	return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		switch {
		case r.URL.Path == base:
			http.Redirect(w, r, base+"/", http.StatusPermanentRedirect)
		case strings.HasPrefix(r.URL.Path, base+"/"):
			stripped.ServeHTTP(w, r)
		default:
			next.ServeHTTP(w, r)
		}
	})
}
