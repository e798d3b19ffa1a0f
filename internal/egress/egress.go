// Package egress compares the hosts that calls send data to with the hosts that rules allow.
//
// A host has one spelling: lower-case, without a trailing dot, an address in its canonical form, and with its port unless
// that is the default of its scheme. A name with other characters than letters, digits, hyphens, underscores and dots has none,
// so that no list allows it: names in other scripts are written in Punycode.
package egress

import (
	"context"
	"fmt"
	"net"
	"net/netip"
	"net/url"
	"slices"
	"strconv"
	"strings"
)

// Host returns the spelling of a URL's host, such as go.dev or 10.0.0.1:8080, or "" if it has none.
func Host(u *url.URL) string {
	name, port := spelled(u.Hostname()), u.Port()
	switch {
	case name == "" || u.Opaque != "":
		return ""
	case port == "" || u.Scheme == "http" && port == "80" || u.Scheme == "https" && port == "443":
		return name
	}
	n, err := strconv.ParseUint(port, 10, 16)
	if err != nil {
		return ""
	}
	return net.JoinHostPort(name, strconv.FormatUint(n, 10))
}

// Of returns the spelling of the host of a URL in a text, or "" if there is none.
func Of(address string) string {
	u, err := url.Parse(address)
	if err != nil || u.Scheme != "http" && u.Scheme != "https" {
		return ""
	}
	return Host(u)
}

// spelled returns the spelling of a name or an address, or "" if it has none.
func spelled(name string) string {
	if a, err := netip.ParseAddr(name); err == nil {
		if a.Zone() != "" {
			return ""
		}
		return a.Unmap().String()
	}
	name = strings.TrimSuffix(strings.ToLower(name), ".")
	special := func(r rune) bool {
		return (r < 'a' || r > 'z') && (r < '0' || r > '9') && r != '-' && r != '_' && r != '.'
	}
	if strings.ContainsFunc(name, special) || strings.HasPrefix(name, ".") || strings.HasSuffix(name, ".") || strings.Contains(name, "..") {
		return ""
	}
	return name
}

// Check reports why a text cannot be an entry of a list.
func Check(entry string) error {
	name, port, bad := entry, "", false
	if h, p, err := net.SplitHostPort(entry); err == nil {
		n, err := strconv.ParseUint(p, 10, 16)
		name, port, bad = h, p, err != nil || strconv.FormatUint(n, 10) != p
	}
	rest, below := strings.CutPrefix(name, "*.")
	_, notAddress := netip.ParseAddr(rest)
	want := rest
	if port != "" {
		want = net.JoinHostPort(rest, port)
	}
	s := spelled(rest)
	bad = bad || s == "" || s != strings.ToLower(rest) || below && notAddress == nil
	if bad || strings.TrimPrefix(entry, "*.") != want {
		return fmt.Errorf("%q, want a host such as go.dev, *.go.dev, 10.0.0.1 or go.dev:8443, in lower-case letters and Punycode", entry)
	}
	if strings.ToLower(entry) != entry {
		return fmt.Errorf("%q, want a host in lower-case letters", entry)
	}
	return nil
}

// Allows reports whether a list has a host, by its spelling. The entry *.go.dev has the names below go.dev. An entry without a port
// has the default ports only.
func Allows(list []string, host string) bool {
	if host == "" {
		return false
	}
	return slices.ContainsFunc(list, func(entry string) bool {
		if below, ok := strings.CutPrefix(entry, "*"); ok {
			return strings.HasSuffix(host, below) && len(host) > len(below)
		}
		return host == entry
	})
}

// limit is the hosts that requests of a context may go to.
type limit struct {
	hosts []string
	outer *limit // also applies; nil means that there is none
}

type limitKey struct{}

// With returns a context whose requests may go to the listed hosts only, and only to those that ctx allows.
func With(ctx context.Context, hosts []string) context.Context {
	outer, _ := ctx.Value(limitKey{}).(*limit)
	return context.WithValue(ctx, limitKey{}, &limit{hosts, outer})
}

// Free returns a context without bounds, for runs that a call starts: their calls are judged by themselves.
func Free(ctx context.Context) context.Context {
	if ctx.Value(limitKey{}) == nil {
		return ctx
	}
	return context.WithValue(ctx, limitKey{}, (*limit)(nil))
}

// Permit reports why a request of ctx may not go to a URL.
func Permit(ctx context.Context, u *url.URL) error {
	l, _ := ctx.Value(limitKey{}).(*limit)
	for host := Host(u); l != nil; l = l.outer {
		if !Allows(l.hosts, host) {
			return fmt.Errorf("host %q is not one that this call may reach after untrusted content: %q", u.Host, l.hosts)
		}
	}
	return nil
}
