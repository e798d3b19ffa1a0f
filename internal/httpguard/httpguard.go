// Package httpguard makes the HTTP client for every call that leaves this machine on
// behalf of somebody else: webhooks, model providers, MCP servers.
//
// Where such a call goes is often a text that a user wrote. The client reaches public
// addresses only: what a name resolves to is checked when the connection is made, and the
// connection is made to the address that was checked, so a name cannot change its mind in
// between. Redirects go the same way. Addresses that are not public can be allowed.
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
)

var (
	// ErrAddress is a request for an address that may not be reached.
	ErrAddress = errors.New("address is not allowed")
	// ErrRedirect is a redirect too many, or one from https to http.
	ErrRedirect = errors.New("redirect is not allowed")
	// ErrTooLarge is a response with more bytes than the limit.
	ErrTooLarge = errors.New("response is too large")
)

// Options are what a client may do. The zero Options are for calls to the public
// internet that answer once.
type Options struct {
	// Hosts are the names that may be asked for, if there are any: "example.com" is that
	// name, "*.example.com" every name below it. Empty means all.
	Hosts []string
	// Allow are addresses that may be reached although they are not public.
	Allow []netip.Prefix

	Redirects int           // followed at most; default 5, negative none
	MaxBytes  int64         // of a response's body; default 32 MiB, negative no limit
	Timeout   time.Duration // from the start of a request to the end of its response; default 1 minute, negative none
	Connect   time.Duration // to connect, and for TLS; default 10 seconds
	Headers   time.Duration // until the response begins; default 1 minute, negative none

	// Proxy is asked for a proxy, which may be anywhere. Nil means none, whatever the
	// environment says. What a request asks a proxy for is checked too, but it is the proxy that
	// resolves the name in the end.
	Proxy func(*http.Request) (*url.URL, error)

	Resolver Resolver // nil is net.DefaultResolver
	// Dial connects to an address that was checked. Nil is net.Dialer.
	Dial func(ctx context.Context, network, address string) (net.Conn, error)
}

// Resolver finds the addresses of a name.
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
	opts Options
	base *http.Transport
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
		DialContext:            g.dial,
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
	return g
}

// RoundTrip checks a request, and bounds its response.
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
	if g.opts.Proxy != nil {
		if _, err := g.resolve(r.Context(), r.URL.Hostname()); err != nil {
			return nil, err
		}
	}
	resp, err := g.base.RoundTrip(r)
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

// CloseIdleConnections is for [http.Client.CloseIdleConnections].
func (g *guard) CloseIdleConnections() { g.base.CloseIdleConnections() }

func (g *guard) redirect(r *http.Request, via []*http.Request) error {
	if len(via) > g.opts.Redirects {
		return fmt.Errorf("%w: more than %d in a row", ErrRedirect, len(via)-1)
	}
	if r.URL.Scheme == "http" && via[len(via)-1].URL.Scheme == "https" {
		return fmt.Errorf("%w: from https to http", ErrRedirect)
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

// dial connects to one of the addresses of a host, all of which have to be allowed.
func (g *guard) dial(ctx context.Context, network, address string) (net.Conn, error) {
	host, port, err := net.SplitHostPort(address)
	if err != nil {
		return nil, err
	}
	addrs, err := g.resolve(ctx, host)
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

// dialProxy connects to the proxy. Where a request goes from there was checked before.
func (g *guard) dialProxy(ctx context.Context, network, address string) (net.Conn, error) {
	return g.opts.Dial(ctx, network, address)
}

// resolve returns the addresses of a host. One that is not allowed spoils all: who mixes
// them has something in mind.
func (g *guard) resolve(ctx context.Context, host string) ([]netip.Addr, error) {
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
		if !Public(a) && !slices.ContainsFunc(g.opts.Allow, func(p netip.Prefix) bool { return p.Contains(addrs[i]) }) {
			return nil, fmt.Errorf("%w: %s resolves to %s, which is not public", ErrAddress, host, a)
		}
	}
	return addrs, nil
}

// limited ends a body with an error when it gets too long.
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
