// Package oauthtest has an authorization server and an MCP server that it protects, for tests.
//
// The authorization server is github.com/luikyv/go-oidc: it requires PKCE, rotates refresh tokens, revokes
// tokens and registers clients. The MCP server accepts tokens that it has issued for it.
//
//	srv := oauthtest.New(t, oauthtest.Options{})
//	…
//	response := srv.Approve(request.URL, "alice@idp")
package oauthtest

import (
	"context"
	"crypto/ecdsa"
	"crypto/elliptic"
	"crypto/rand"
	"encoding/json"
	"fmt"
	"io"
	"net/http"
	"net/http/httptest"
	"net/url"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/go-jose/go-jose/v4"
	"github.com/luikyv/go-oidc/pkg/goidc"
	"github.com/luikyv/go-oidc/pkg/provider"
	"github.com/modelcontextprotocol/go-sdk/auth"
	sdk "github.com/modelcontextprotocol/go-sdk/mcp"
	"github.com/modelcontextprotocol/go-sdk/oauthex"
)

// Options configures a Server.
type Options struct {
	// Lifetime of access tokens, in seconds. 0 means 600.
	Lifetime int
	// Clients that are registered beforehand, beside the bot.
	Clients []*goidc.Client
	// Scopes that the MCP server requires. Nil requires mcp.read.
	Scopes []string
	// Metadata changes the metadata of the authorization server before they are served.
	Metadata func(m map[string]any)
	// Resource changes the metadata of the MCP server before they are served.
	Resource func(m *oauthex.ProtectedResourceMetadata)
	// Tools adds tools to the MCP server.
	Tools func(s *sdk.Server)
	// Stateless serves MCP without sessions, as the revision 2026-07-28 does.
	Stateless bool
}

// Server is an authorization server and an MCP server. All methods may be called concurrently.
type Server struct {
	Issuer string
	URL    string // of the MCP server

	t testing.TB

	issuing sync.Mutex // held while op answers, which shares what it keeps, and until its answer is recorded
	op      *provider.Provider

	mu       sync.Mutex
	requests []url.Values // to the token endpoint
	refusals int          // of the token endpoint
	revoked  []url.Values // requests to the revocation endpoint
	calls    []string     // users of the requests that the MCP server accepted
	issued   []string     // all tokens and codes
}

// Scopes of the authorization server, beside offline_access.
var Scopes = []string{"mcp.read", "mcp.write"}

// BotID and BotSecret are those of a client that is always registered, and may act for itself.
const (
	BotID     = "bot"
	BotSecret = "the-secret-of-the-bot-0123456789"
)

// New starts the servers. They end with the test.
func New(t testing.TB, o Options) *Server {
	t.Helper()
	s := &Server{t: t}
	idp := http.NewServeMux()
	idpServer := httptest.NewServer(idp)
	t.Cleanup(idpServer.Close)
	s.Issuer = idpServer.URL
	mcp := http.NewServeMux()
	mcpServer := httptest.NewServer(mcp)
	t.Cleanup(mcpServer.Close)
	s.URL = mcpServer.URL + "/mcp"

	key, err := ecdsa.GenerateKey(elliptic.P256(), rand.Reader)
	if err != nil {
		t.Fatal(err)
	}
	clients := append([]*goidc.Client{NewClient(BotID, BotSecret, "http://127.0.0.1/unused")}, o.Clients...)
	keys := goidc.JSONWebKeySet{Keys: []goidc.JSONWebKey{{KeyID: "k", Key: key, Algorithm: string(jose.ES256), Use: "sig"}}}
	lifetime := o.Lifetime
	if lifetime == 0 {
		lifetime = 600
	}
	scopes := []goidc.Scope{goidc.ScopeOpenID, goidc.ScopeOfflineAccess}
	for _, name := range Scopes {
		scopes = append(scopes, goidc.NewScope(name))
	}
	s.op, err = provider.New(provider.Config{Issuer: s.Issuer, IDTokenAlgs: []goidc.SignatureAlgorithm{goidc.SigAlgES256},
		JWKS: func(context.Context) (goidc.JSONWebKeySet, error) { return keys, nil }},
		provider.WithScopes(scopes...), provider.WithNoneAuthn(), provider.WithSecretBasicAuthn(), provider.WithSecretPostAuthn(),
		provider.WithAuthCodeGrant(provider.AuthCodeGrantConfig{ResponseTypes: []goidc.ResponseType{goidc.ResponseTypeCode}},
			provider.WithPKCE([]goidc.CodeChallengeMethod{goidc.CodeChallengeMethodSHA256}, provider.WithPKCERequired()),
			provider.WithIssuerResponseParameter(), provider.WithAuthPolicies(s.policy())),
		provider.WithRefreshTokenGrant(nil, provider.WithRefreshTokenRotation(), provider.WithRefreshTokenShouldIssue(func(context.Context, *goidc.Client, *goidc.Grant) bool { return true })),
		provider.WithClientCredentialsGrant(),
		provider.WithTokenOptions(func(context.Context, *goidc.Grant, *goidc.Client) goidc.TokenOptions {
			return goidc.NewOpaqueTokenOptions(lifetime)
		}, provider.WithOpaqueTokens(nil)),
		provider.WithTokenRevocation(func(context.Context, *goidc.Client) bool { return true }),
		provider.WithTokenIntrospection(func(context.Context, *goidc.Client, goidc.TokenInfo) bool { return true }),
		provider.WithResourceIndicators([]goidc.ResourceIndicator{s.URL}, provider.WithResourceIndicatorsRequired()),
		provider.WithDCR(nil, provider.WithDCRClientHandler(func(_ context.Context, _ string, m *goidc.ClientMeta) error {
			m.ScopeIDs = strings.Join(append([]string{"openid", "offline_access"}, Scopes...), " ")
			return nil
		})),
		provider.WithLocalhostRedirectURIs(), provider.WithJTIConsumer(func(context.Context, string) error { return nil }), provider.WithStaticClients(clients...))
	if err != nil {
		t.Fatal(err)
	}
	idp.Handle("/", s.record(s.op.Handler()))
	for _, path := range []string{"/.well-known/openid-configuration", "/.well-known/oauth-authorization-server"} {
		idp.HandleFunc("GET "+path, func(w http.ResponseWriter, r *http.Request) { s.metadata(w, r, o.Metadata) })
	}
	s.protect(mcp, o)
	return s
}

// protect serves MCP to requests with tokens.
func (s *Server) protect(mux *http.ServeMux, o Options) {
	required := o.Scopes
	if required == nil {
		required = []string{"mcp.read"}
	}
	srv := sdk.NewServer(&sdk.Implementation{Name: "protected", Version: "1"}, nil)
	sdk.AddTool(srv, &sdk.Tool{Name: "whoami", Description: "Says as whom the server knows the caller.", Annotations: &sdk.ToolAnnotations{ReadOnlyHint: true}},
		func(_ context.Context, r *sdk.CallToolRequest, _ struct{}) (*sdk.CallToolResult, any, error) {
			return &sdk.CallToolResult{Content: []sdk.Content{&sdk.TextContent{Text: r.Extra.TokenInfo.UserID}}}, nil, nil
		})
	if o.Tools != nil {
		o.Tools(srv)
	}
	verify := func(ctx context.Context, token string, _ *http.Request) (*auth.TokenInfo, error) {
		s.issuing.Lock()
		info, user, err := s.introspect(ctx, token)
		s.issuing.Unlock()
		if err != nil || !info.IsActive || !slices.Contains(info.ResourceAudiences, s.URL) {
			return nil, fmt.Errorf("%w: it is not active here (%v)", auth.ErrInvalidToken, err)
		}
		s.mu.Lock()
		defer s.mu.Unlock()
		s.calls = append(s.calls, user)
		return &auth.TokenInfo{UserID: user, Scopes: strings.Fields(info.Scopes), Expiration: time.Unix(int64(info.ExpiresAt), 0)}, nil
	}
	meta := &oauthex.ProtectedResourceMetadata{Resource: s.URL, AuthorizationServers: []string{s.Issuer}, ScopesSupported: required}
	if o.Resource != nil {
		o.Resource(meta)
	}
	root := strings.TrimSuffix(s.URL, "/mcp")
	mux.Handle("/.well-known/oauth-protected-resource/mcp", auth.ProtectedResourceMetadataHandler(meta))
	mux.Handle("/mcp", auth.RequireBearerToken(verify, &auth.RequireBearerTokenOptions{ResourceMetadataURL: root + "/.well-known/oauth-protected-resource/mcp", Scopes: required})(
		sdk.NewStreamableHTTPHandler(func(*http.Request) *sdk.Server { return srv }, &sdk.StreamableHTTPOptions{Stateless: o.Stateless})))
}

// policy signs users in: the parameter user of an authorization request names the user, and that of a request which
// the user refuses is "".
func (s *Server) policy() goidc.AuthnPolicy {
	return goidc.NewPolicy("test", func(*http.Request, *goidc.AuthnSession, *goidc.Client) bool { return true },
		func(_ http.ResponseWriter, r *http.Request, as *goidc.AuthnSession, _ *goidc.Client) (goidc.Status, error) {
			user := r.URL.Query().Get("user")
			if user == "" {
				return goidc.StatusFailure, goidc.NewError(goidc.ErrorCodeAccessDenied, "the user refuses")
			}
			as.Subject, as.GrantedScopes, as.GrantedResources = user, as.Scopes, as.Resources
			return goidc.StatusSuccess, nil
		})
}

// metadata serves the metadata of the authorization server.
func (s *Server) metadata(w http.ResponseWriter, r *http.Request, change func(map[string]any)) {
	rec := httptest.NewRecorder()
	r = r.Clone(r.Context())
	r.URL.Path = "/.well-known/openid-configuration"
	s.issuing.Lock()
	s.op.Handler().ServeHTTP(rec, r)
	s.issuing.Unlock()
	var m map[string]any
	if err := json.Unmarshal(rec.Body.Bytes(), &m); err != nil {
		s.t.Errorf("metadata: %v: %s", err, rec.Body)
	}
	if change != nil {
		change(m)
	}
	w.Header().Set("Content-Type", "application/json")
	_ = json.NewEncoder(w).Encode(m)
}

// record counts the requests to the token and revocation endpoints.
func (s *Server) record(next http.Handler) http.Handler {
	return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		s.issuing.Lock()
		defer s.issuing.Unlock()
		if r.Method != http.MethodPost || r.URL.Path != "/token" && !strings.Contains(r.URL.Path, "revo") {
			next.ServeHTTP(w, r)
			return
		}
		body, _ := io.ReadAll(r.Body)
		r.Body = io.NopCloser(strings.NewReader(string(body)))
		form, _ := url.ParseQuery(string(body))
		rec := httptest.NewRecorder()
		next.ServeHTTP(rec, r)
		var out struct{ Access_token, Refresh_token string }
		_ = json.Unmarshal(rec.Body.Bytes(), &out)
		s.mu.Lock()
		if r.URL.Path == "/token" {
			s.requests = append(s.requests, form)
			if rec.Code != 200 {
				s.refusals++
				s.t.Logf("token endpoint: %d %s", rec.Code, rec.Body)
			}
		} else {
			s.revoked = append(s.revoked, form)
		}
		for _, v := range []string{out.Access_token, out.Refresh_token, form.Get("code"), form.Get("code_verifier")} {
			if v != "" {
				s.issued = append(s.issued, v)
			}
		}
		s.mu.Unlock()
		for k, v := range rec.Header() {
			w.Header()[k] = v
		}
		w.WriteHeader(rec.Code)
		_, _ = w.Write(rec.Body.Bytes())
	})
}

// Approve opens an authorization request in the browser of a user who agrees, and returns the parameters of the
// response.
func (s *Server) Approve(address, user string) url.Values {
	s.t.Helper()
	return s.browse(address + "&user=" + url.QueryEscape(user))
}

// Deny opens an authorization request in the browser of a user who refuses.
func (s *Server) Deny(address string) url.Values {
	s.t.Helper()
	return s.browse(address)
}

func (s *Server) browse(address string) url.Values {
	s.t.Helper()
	client := &http.Client{CheckRedirect: func(*http.Request, []*http.Request) error { return http.ErrUseLastResponse }}
	resp, err := client.Get(address)
	if err != nil {
		s.t.Fatal(err)
	}
	defer resp.Body.Close()
	to, err := resp.Location()
	if err != nil {
		body, _ := io.ReadAll(resp.Body)
		s.t.Fatalf("the authorization server does not redirect: %s %s", resp.Status, body)
	}
	return to.Query()
}

// Tokens returns how many requests of a grant type the token endpoint got, and how many requests it refused.
func (s *Server) Tokens(grantType string) (count, refusals int) {
	s.mu.Lock()
	defer s.mu.Unlock()
	for _, f := range s.requests {
		if f.Get("grant_type") == grantType {
			count++
		}
	}
	return count, s.refusals
}

// Requests returns the requests to the token endpoint.
func (s *Server) Requests() []url.Values {
	s.mu.Lock()
	defer s.mu.Unlock()
	return slices.Clone(s.requests)
}

// Revocations returns the requests to the revocation endpoint.
func (s *Server) Revocations() []url.Values {
	s.mu.Lock()
	defer s.mu.Unlock()
	return slices.Clone(s.revoked)
}

// Users returns the users of the requests that the MCP server accepted.
func (s *Server) Users() []string {
	s.mu.Lock()
	defer s.mu.Unlock()
	return slices.Clone(s.calls)
}

// Secrets returns every token, code and verifier that the authorization server issued or got.
func (s *Server) Secrets() []string {
	s.mu.Lock()
	defer s.mu.Unlock()
	return slices.Clone(s.issued)
}

// User returns the user of an access or refresh token, "" if it is not valid.
func (s *Server) User(token string) string {
	s.issuing.Lock()
	defer s.issuing.Unlock()
	_, user, _ := s.introspect(context.Background(), token)
	return user
}

// introspect returns what is known of a token, and its user, "" if it is not valid. It requires s.issuing.
func (s *Server) introspect(ctx context.Context, token string) (goidc.TokenInfo, string, error) {
	info, grant, err := s.op.Introspect(ctx, token)
	switch {
	case err != nil || !info.IsActive:
		return info, "", err
	case grant != nil && grant.Subject != "":
		return info, grant.Subject, nil
	}
	return info, info.Subject, nil
}

// Revoke ends everything that a user has granted, as the user can at the authorization server. No client gets a token
// by another one of the user's in between.
func (s *Server) Revoke(user string) {
	s.t.Helper()
	s.issuing.Lock()
	defer s.issuing.Unlock()
	n := 0
	for _, secret := range s.Secrets() {
		if _, of, _ := s.introspect(context.Background(), secret); of != user {
			continue
		}
		if err := s.op.RevokeToken(context.Background(), secret); err != nil {
			s.t.Fatal(err)
		}
		n++
	}
	if n == 0 {
		s.t.Fatalf("user %s has granted nothing", user)
	}
}

// NewClient returns a client that can be registered beforehand.
func NewClient(id, secret, redirect string) *goidc.Client {
	c := &goidc.Client{ID: id, ClientMeta: goidc.ClientMeta{ScopeIDs: strings.Join(append([]string{"openid", "offline_access"}, Scopes...), " "), TokenAuthnMethod: goidc.AuthnMethodNone,
		GrantTypes:    []goidc.GrantType{goidc.GrantAuthorizationCode, goidc.GrantRefreshToken},
		ResponseTypes: []goidc.ResponseType{goidc.ResponseTypeCode}, RedirectURIs: []string{redirect}}}
	if secret != "" {
		c.Secret, c.TokenAuthnMethod = secret, goidc.AuthnMethodSecretBasic
		c.GrantTypes = append(c.GrantTypes, goidc.GrantClientCredentials)
	}
	return c
}
