package oauth

import (
	"context"
	"errors"
	"fmt"
	"io"
	"net/http"
	"net/netip"
	"net/url"
	"slices"
	"strings"

	"github.com/modelcontextprotocol/go-sdk/auth"
	"github.com/modelcontextprotocol/go-sdk/oauthex"
)

// maxAnswer limits the answers of servers, in bytes.
const maxAnswer = 1 << 20

// authority is what is known of the authorization server of an MCP server.
type authority struct {
	*oauthex.AuthServerMeta
	resource string   // that tokens are for
	scopes   []string // that the MCP server needs
}

// discover finds out who authorizes a server: it asks the server, reads the metadata that the server or its
// address names (RFC 9728), and those of the authorization server (RFC 8414, OpenID Connect Discovery).
func (b *Broker) discover(ctx context.Context, s *Server) (*authority, error) {
	named, err := b.challenge(ctx, s)
	if err != nil {
		return nil, err
	}
	resource, err := b.resource(ctx, s, named.metadata)
	if err != nil {
		return nil, err
	}
	issuer, err := issuers{b}.choose(ctx, s, resource.AuthorizationServers)
	if err != nil {
		return nil, err
	}
	if err := checkAddress(issuer); err != nil {
		return nil, fmt.Errorf("the authorization server: %w", err)
	}
	meta, err := auth.GetAuthServerMetadata(ctx, issuer, b.cfg.Client)
	switch {
	case err != nil:
		return nil, fmt.Errorf("metadata of the authorization server %s: %w", short(issuer), limited(err))
	case meta == nil:
		return nil, fmt.Errorf("the authorization server %s has no metadata", short(issuer))
	case !slices.Contains(meta.CodeChallengeMethodsSupported, "S256"):
		return nil, fmt.Errorf("the authorization server %s does not support PKCE with S256", short(issuer))
	case meta.TokenEndpoint == "":
		return nil, fmt.Errorf("the metadata of the authorization server %s have no token_endpoint", short(issuer))
	}
	for _, e := range []struct{ name, address string }{{"authorization_endpoint", meta.AuthorizationEndpoint}, {"token_endpoint", meta.TokenEndpoint}, {"revocation_endpoint", meta.RevocationEndpoint}} {
		if err := checkAddress(e.address); err != nil {
			return nil, fmt.Errorf("%s of the authorization server %s: %w", e.name, short(issuer), err)
		}
	}
	a := &authority{AuthServerMeta: meta, resource: resource.Resource, scopes: named.scopes}
	if len(a.scopes) == 0 {
		a.scopes = resource.ScopesSupported
	}
	if n := len(strings.Join(a.scopes, " ")); n > maxScopeBytes {
		return nil, fmt.Errorf("the scopes of the server have %d bytes, want at most %d", n, maxScopeBytes)
	}
	return a, nil
}

// demand is what a server says in WWW-Authenticate.
type demand struct {
	metadata string   // address of its metadata
	scopes   []string // that a request needs
	reason   string   // error code
}

// Limits of a server's demands, which are stored with each pending authorization and shown to users.
const (
	maxScopes     = 100 // in a challenge
	maxScopeBytes = 8 << 10
	maxAddress    = 2 << 10 // bytes
)

// parseDemand reads the challenges of a response. Headers that cannot be understood demand nothing.
func parseDemand(headers []string) (d demand) {
	for _, h := range headers {
		if len(h) > 16<<10 {
			continue
		}
		challenges, err := oauthex.ParseWWWAuthenticate([]string{h})
		if err != nil {
			continue
		}
		for _, c := range challenges {
			if c.Scheme != "bearer" && c.Params["resource_metadata"] == "" {
				continue
			}
			if d.metadata == "" {
				d.metadata = c.Params["resource_metadata"]
			}
			if c.Scheme != "bearer" {
				continue
			}
			if d.reason == "" {
				d.reason = c.Params["error"]
			}
			for _, scope := range strings.Fields(c.Params["scope"]) {
				if len(d.scopes) < maxScopes {
					d.scopes = union(d.scopes, []string{scope})
				}
			}
		}
	}
	return d
}

// challenge asks a server without a token. It sends what a client of the newest revision sends first, which changes
// nothing, and then the GET of the older transport: a server may know only one of them.
func (b *Broker) challenge(ctx context.Context, s *Server) (demand, error) {
	const discover = `{"jsonrpc":"2.0","id":1,"method":"server/discover","params":{"_meta":{"io.modelcontextprotocol/protocolVersion":"2026-07-28","io.modelcontextprotocol/clientCapabilities":{}}}}`
	var failed error
	answered := false
	for _, body := range []string{discover, ""} {
		d, ok, err := b.refused(ctx, s, body)
		switch {
		case ok:
			return d, nil
		case err != nil && failed == nil:
			failed = err
		case err == nil:
			answered = true // perhaps it refuses only some requests; its metadata say more
		}
	}
	if answered {
		return demand{}, nil
	}
	return demand{}, fmt.Errorf("cannot ask the server who authorizes it: %w", plainError(failed))
}

// refused sends a request without a token: a GET if the body is "". It returns what the server demands, and whether it
// refuses the request.
func (b *Broker) refused(ctx context.Context, s *Server, body string) (d demand, ok bool, err error) {
	method := http.MethodGet
	if body != "" {
		method = http.MethodPost
	}
	req, err := http.NewRequestWithContext(ctx, method, s.URL, strings.NewReader(body))
	if err != nil {
		return d, false, err
	}
	req.Header.Set("Accept", "application/json, text/event-stream")
	if body != "" {
		req.Header.Set("Content-Type", "application/json")
		req.Header.Set("MCP-Protocol-Version", "2026-07-28")
		req.Header.Set("Mcp-Method", "server/discover")
	}
	resp, err := b.cfg.Client.Do(req)
	if err != nil {
		return d, false, err
	}
	defer resp.Body.Close()
	if resp.StatusCode != http.StatusUnauthorized {
		return d, false, nil
	}
	_, _ = io.CopyN(io.Discard, resp.Body, 4<<10) // so that the connection can be used again
	return parseDemand(resp.Header.Values("WWW-Authenticate")), true, nil
}

// resource returns the metadata of a server: from the address that it names, or else from the usual ones.
func (b *Broker) resource(ctx context.Context, s *Server, named string) (*oauthex.ProtectedResourceMetadata, error) {
	u, err := url.Parse(s.URL)
	if err != nil {
		return nil, err
	}
	root := url.URL{Scheme: u.Scheme, Host: u.Host}
	type candidate struct{ at, of string }
	var all []candidate
	if named != "" {
		all = append(all, candidate{named, s.URL}, candidate{named, root.String()})
	}
	all = append(all, candidate{root.String() + "/.well-known/oauth-protected-resource/" + strings.TrimLeft(u.EscapedPath(), "/"), s.URL},
		candidate{root.String() + "/.well-known/oauth-protected-resource", root.String()})
	var errs []error
	for _, c := range all {
		m, err := oauthex.GetProtectedResourceMetadata(ctx, c.at, c.of, b.cfg.Client)
		switch {
		case err != nil:
			errs = append(errs, limited(plainError(err)))
		case len(m.AuthorizationServers) == 0:
			return nil, errors.New("the metadata of the server name no authorization server")
		default:
			return m, nil
		}
	}
	return nil, fmt.Errorf("the server does not say who authorizes it: %w", errs[0])
}

// sameIssuer reports whether two issuers are the same, with or without a / at the end.
func sameIssuer(a, b string) bool { return strings.TrimSuffix(a, "/") == strings.TrimSuffix(b, "/") }

// checkAddress refuses the address of an endpoint that is neither HTTPS nor on this machine. "" passes.
func checkAddress(address string) error {
	if address == "" {
		return nil
	}
	u, err := url.Parse(address)
	if err != nil || u.Host == "" || u.User != nil || len(address) > maxAddress {
		return fmt.Errorf("%s is not an address", short(address))
	}
	if u.Scheme == "https" || u.Scheme == "http" && loopback(u.Hostname()) {
		return nil
	}
	return fmt.Errorf("%s does not begin with https://", short(address))
}

// loopback reports whether a host is this machine.
func loopback(host string) bool {
	a, err := netip.ParseAddr(host)
	return host == "localhost" || err == nil && a.IsLoopback()
}

// plainError returns an error without the query of its address, which may hold codes.
func plainError(err error) error {
	if e, ok := errors.AsType[*url.Error](err); ok {
		if u, perr := url.Parse(e.URL); perr == nil {
			u.RawQuery, u.User = "", nil
			return fmt.Errorf("%s %s: %w", e.Op, short(u.String()), e.Err)
		}
	}
	return err
}

// limited returns an error without the rest of a long text, which another server has chosen.
func limited(err error) error {
	if text := err.Error(); len(text) > 1000 {
		return errors.New(strings.ToValidUTF8(text[:1000], "") + "…")
	}
	return err
}

// short quotes a text of another server, at most 200 bytes of it.
func short(text string) string {
	if len(text) > 200 {
		text = text[:200] + "…"
	}
	return fmt.Sprintf("%q", text)
}

func quoted(list []string) string {
	out := make([]string, 0, len(list))
	for i, v := range list {
		if i == 5 {
			out = append(out, "…")
			break
		}
		out = append(out, short(v))
	}
	return strings.Join(out, ", ")
}
