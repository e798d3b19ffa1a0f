// Package httpguard makes the HTTP client for calls to addresses that users configure: webhooks, model
// providers, MCP servers.
//
// Such an address is often text that a user wrote. The client reaches public addresses only. It
// checks what a name resolves to when it connects, and connects to the address that it checked, so
// that a second lookup cannot give another address (DNS rebinding). Redirects are checked in the same
// way. Addresses that are not public can be allowed. A request of a tool call that may reach only some hosts is redirected to
// no other.
//
// A request that is made for a trace names it (W3C Trace Context).
package httpguard

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"io"
	"net"
	"net/http"
	"net/netip"
	"net/url"
	"slices"
	"strings"
	"time"

	"github.com/awaken-go/awaken/internal/egress"
	"github.com/awaken-go/awaken/internal/tracecontext"
)

var (
	// ErrAddress is returned for an address that the client may not reach.
	ErrAddress = errors.New("address is not allowed")
	// ErrRedirect is returned for one redirect too many, for one from https to http, and for one to a host that the call may not reach.
	ErrRedirect = errors.New("redirect is not allowed")
	// ErrTooLarge is returned for a response that exceeds the limit.
	ErrTooLarge = errors.New("response is too large")
)

// Options configures a client. The zero Options suit short calls to the public internet.
type Options struct {
	// Hosts restricts the host names: "example.com" allows that name, "*.example.com" every name
	// below it. Empty allows all.
	Hosts []string
	// Allow lists addresses that the client may reach although they are not public.
	Allow []netip.Prefix
	// RequireTLS lets http, without TLS, reach the addresses of Allow only. Everything else needs https.
	RequireTLS bool

	// Bound says that requests are what tool calls were judged by: one of a call that may reach only some hosts goes to
	// no other. Redirects never do; see package egress.
	Bound bool

	Redirects int           // maximum; default 5, negative none
	MaxBytes  int64         // of a response's body; default 32 MiB, negative means no limit
	Timeout   time.Duration // from the start of a request to the end of its response; default 1 minute, negative means none
	Connect   time.Duration // for the connection, and for TLS; default 10 seconds
	Headers   time.Duration // until the response begins; default 1 minute, negative means none

	// Proxy returns the proxy of a request, which may be at any address. Nil uses none, whatever the
	// environment says. The address that a proxy is asked for is checked too, but the proxy
	// resolves the name itself.
	Proxy func(*http.Request) (*url.URL, error)

	Resolver Resolver // nil means net.DefaultResolver
	// Dial connects to a checked address. Nil uses a net.Dialer.
	Dial func(ctx context.Context, network, address string) (net.Conn, error)
}

// Resolver looks up the addresses of a host name.
type Resolver interface {
	LookupNetIP(ctx context.Context, network, host string) ([]netip.Addr, error)
}

// New returns a client. It is safe for concurrent use.
func New(o Options) *http.Client {
	g := newGuard(o)
	client := &http.Client{Transport: g, CheckRedirect: g.redirect}
	if g.opts.Timeout > 0 {
		client.Timeout = g.opts.Timeout
	}
	return client
}

type guard struct {
	opts  Options
	base  *http.Transport
	plain *http.Transport // of http, without TLS; base unless RequireTLS is set
}

func newGuard(o Options) *guard {
	o.Timeout = cmp.Or(o.Timeout, time.Minute)
	o.Connect = cmp.Or(o.Connect, 10*time.Second)
	o.Headers = cmp.Or(o.Headers, time.Minute)
	o.Redirects = cmp.Or(o.Redirects, 5)
	o.MaxBytes = cmp.Or(o.MaxBytes, 32<<20)
	if o.Resolver == nil {
		o.Resolver = net.DefaultResolver
	}
	if o.Dial == nil {
		o.Dial = (&net.Dialer{Timeout: o.Connect, KeepAlive: 30 * time.Second}).DialContext
	}
	o.Hosts, o.Allow = slices.Clone(o.Hosts), slices.Clone(o.Allow)
	g := &guard{opts: o}
	g.base = &http.Transport{
		DialContext: func(ctx context.Context, network, address string) (net.Conn, error) {
			return g.dial(ctx, network, address, g.reachable)
		},
		TLSHandshakeTimeout:    o.Connect,
		ResponseHeaderTimeout:  max(o.Headers, 0),
		MaxResponseHeaderBytes: 1 << 20,
		IdleConnTimeout:        90 * time.Second,
		MaxIdleConnsPerHost:    16,
		ForceAttemptHTTP2:      true,
	}
	if o.Proxy != nil {
		g.base.Proxy = o.Proxy
		g.base.DialContext = g.dialProxy
	}
	g.plain = g.base
	if o.RequireTLS {
		// Its own transport, because a connection says nothing of the scheme that it is dialled for.
		g.plain = g.base.Clone()
		if o.Proxy == nil {
			g.plain.DialContext = func(ctx context.Context, network, address string) (net.Conn, error) {
				return g.dial(ctx, network, address, g.allowed)
			}
		}
	}
	return g
}

// RoundTrip checks a request and limits its response.
func (g *guard) RoundTrip(r *http.Request) (*http.Response, error) {
	if r.URL.Scheme != "http" && r.URL.Scheme != "https" {
		return nil, fmt.Errorf("%w: scheme is %q, want http or https", ErrAddress, r.URL.Scheme)
	}
	if r.URL.User != nil {
		return nil, fmt.Errorf("%w: the URL contains credentials", ErrAddress)
	}
	if !g.allowsHost(r.URL.Hostname()) {
		return nil, fmt.Errorf("%w: host %q is not allowed", ErrAddress, r.URL.Hostname())
	}
	if g.opts.Bound {
		if err := egress.Permit(r.Context(), r.URL); err != nil {
			return nil, fmt.Errorf("%w: %w", ErrAddress, err)
		}
	}
	base, may := g.base, g.reachable
	if r.URL.Scheme == "http" && g.opts.RequireTLS {
		base, may = g.plain, g.allowed
	}
	if g.opts.Proxy != nil {
		if _, err := g.resolve(r.Context(), r.URL.Hostname(), may); err != nil {
			return nil, err
		}
	}
	if at := tracecontext.Of(r.Context()); at.Parent != "" && r.Header.Get("Traceparent") == "" {
		r = r.Clone(r.Context())
		at.Inject(r.Header.Set)
	}
	resp, err := base.RoundTrip(r)
	if err != nil {
		return nil, err
	}
	if limit := g.opts.MaxBytes; limit > 0 {
		if resp.ContentLength > limit {
			_ = resp.Body.Close()
			return nil, fmt.Errorf("%w: %d bytes, want at most %d", ErrTooLarge, resp.ContentLength, limit)
		}
		resp.Body = &limited{resp.Body, limit}
	}
	return resp, nil
}

// CloseIdleConnections implements [http.Client.CloseIdleConnections].
func (g *guard) CloseIdleConnections() {
	g.base.CloseIdleConnections()
	g.plain.CloseIdleConnections()
}

func (g *guard) redirect(r *http.Request, via []*http.Request) error {
	if len(via) > g.opts.Redirects {
		return fmt.Errorf("%w: more than %d in a row", ErrRedirect, len(via)-1)
	}
	if r.URL.Scheme == "http" && via[len(via)-1].URL.Scheme == "https" {
		return fmt.Errorf("%w: from https to http", ErrRedirect)
	}
	if err := egress.Permit(r.Context(), r.URL); err != nil {
		return fmt.Errorf("%w: %w", ErrRedirect, err)
	}
	return nil
}

func (g *guard) allowsHost(host string) bool {
	if len(g.opts.Hosts) == 0 {
		return true
	}
	host = strings.TrimSuffix(strings.ToLower(host), ".")
	return slices.ContainsFunc(g.opts.Hosts, func(allowed string) bool {
		if below, ok := strings.CutPrefix(allowed, "*"); ok {
			return strings.HasSuffix(host, strings.ToLower(below)) && len(host) > len(below)
		}
		return host == strings.ToLower(allowed)
	})
}

// allowed returns why an address is not one of Allow, or "".
func (g *guard) allowed(a netip.Addr) string {
	if slices.ContainsFunc(g.opts.Allow, func(p netip.Prefix) bool { return p.Contains(a) }) {
		return ""
	}
	return "which may be reached by https only"
}

// reachable returns why an address is neither public nor one of Allow, or "".
func (g *guard) reachable(a netip.Addr) string {
	if Public(a) || g.allowed(a) == "" {
		return ""
	}
	return "which is not public"
}

// dial connects to one of a host's addresses, all of which must be allowed: may returns "" for one that is, else why not.
func (g *guard) dial(ctx context.Context, network, address string, may func(netip.Addr) string) (net.Conn, error) {
	host, port, err := net.SplitHostPort(address)
	if err != nil {
		return nil, err
	}
	addrs, err := g.resolve(ctx, host, may)
	if err != nil {
		return nil, err
	}
	var errs []error
	for _, a := range addrs {
		conn, err := g.opts.Dial(ctx, network, net.JoinHostPort(a.String(), port))
		if err == nil {
			return conn, nil
		}
		errs = append(errs, err)
	}
	return nil, errors.Join(errs...)
}

// dialProxy connects to the proxy. The request's own address has been checked.
func (g *guard) dialProxy(ctx context.Context, network, address string) (net.Conn, error) {
	return g.opts.Dial(ctx, network, address)
}

// resolve returns the addresses of a host. If one is not allowed, it fails: a name that mixes them is
// suspicious.
func (g *guard) resolve(ctx context.Context, host string, may func(netip.Addr) string) ([]netip.Addr, error) {
	addrs := []netip.Addr{}
	if a, err := netip.ParseAddr(host); err == nil {
		addrs = append(addrs, a)
	} else if addrs, err = g.opts.Resolver.LookupNetIP(ctx, "ip", host); err != nil {
		return nil, err
	}
	if len(addrs) == 0 {
		return nil, fmt.Errorf("%w: %s has no address", ErrAddress, host)
	}
	for i, a := range addrs {
		addrs[i] = a.Unmap()
		if why := may(addrs[i]); why != "" {
			return nil, fmt.Errorf("%w: %s resolves to %s, %s", ErrAddress, host, a, why)
		}
	}
	return addrs, nil
}

// limited fails a body that exceeds its limit.
type limited struct {
	io.ReadCloser
	left int64
}

func (l *limited) Read(p []byte) (int, error) {
	if int64(len(p)) > l.left+1 {
		p = p[:l.left+1]
	}
	n, err := l.ReadCloser.Read(p)
	if int64(n) > l.left {
		n, err = int(l.left), ErrTooLarge
	}
	l.left -= int64(n)
	return n, err
}
