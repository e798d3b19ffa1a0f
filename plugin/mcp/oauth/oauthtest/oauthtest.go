// Package oauthtest has an authorization server and an MCP server that it protects, for tests.
//
// The authorization server is github.com/luikyv/go-oidc in a process of its own: it requires PKCE, rotates refresh tokens,
// revokes tokens and registers clients. The MCP server accepts tokens that it has issued for it.
//
//	srv := oauthtest.New(t, oauthtest.Options{})
//	…
//	response := srv.Approve(request.URL, "alice@idp")
package oauthtest

import (
	"cmp"
	"context"
	"encoding/json"
	"fmt"
	"io"
	"net/http"
	"net/http/httptest"
	"net/http/httputil"
	"net/url"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/modelcontextprotocol/go-sdk/auth"
	sdk "github.com/modelcontextprotocol/go-sdk/mcp"
	"github.com/modelcontextprotocol/go-sdk/oauthex"

	"github.com/awaken-go/awaken/internal/testenv"
)

// Options configures a Server.
type Options struct {
	// Lifetime of access tokens, in seconds. 0 means 600.
	Lifetime int
	// Clients that are registered beforehand, beside the bot.
	Clients []Client
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

// Client is a client of the authorization server. One with a secret may act for itself.
type Client struct {
	ID       string `json:"id"`
	Secret   string `json:"secret"`
	Redirect string `json:"redirect"`
}

// Server is an authorization server and an MCP server. All methods may be called concurrently.
type Server struct {
	Issuer string
	URL    string // of the MCP server

	t testing.TB

	issuing sync.Mutex   // held while op answers, and until its answer is recorded
	op      http.Handler // passes requests on to the authorization server
	process string       // its URL

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

	settings := map[string]any{"issuer": s.Issuer, "resource": s.URL, "lifetime": cmp.Or(o.Lifetime, 600), "scopes": Scopes,
		"clients": append([]Client{{BotID, BotSecret, "http://127.0.0.1/unused"}}, o.Clients...)}
	text, err := json.Marshal(settings)
	if err != nil {
		t.Fatal(err)
	}
	s.process = testenv.Run(t, "oidc", string(text)).Address
	target, err := url.Parse(s.process)
	if err != nil {
		t.Fatal(err)
	}
	s.op = httputil.NewSingleHostReverseProxy(target)
	idp.Handle("/", s.record(s.op))
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
		k, err := s.introspect(ctx, token)
		s.issuing.Unlock()
		if err != nil || !k.Active || !slices.Contains(k.Audiences, s.URL) {
			return nil, fmt.Errorf("%w: it is not active here (%v)", auth.ErrInvalidToken, err)
		}
		s.mu.Lock()
		defer s.mu.Unlock()
		s.calls = append(s.calls, k.User)
		return &auth.TokenInfo{UserID: k.User, Scopes: k.Scopes, Expiration: time.Unix(k.Expires, 0)}, nil
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

// metadata serves the metadata of the authorization server.
func (s *Server) metadata(w http.ResponseWriter, r *http.Request, change func(map[string]any)) {
	rec := httptest.NewRecorder()
	r = r.Clone(r.Context())
	r.URL.Path = "/.well-known/openid-configuration"
	s.issuing.Lock()
	s.op.ServeHTTP(rec, r)
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
	k, err := s.introspect(context.Background(), token)
	if err != nil {
		s.t.Error(err)
	}
	return k.User
}

// known is what the authorization server knows about a token, nothing if it is not valid.
type known struct {
	Active            bool
	User              string
	Scopes, Audiences []string
	Expires           int64 // Unix seconds
}

// introspect returns what the authorization server knows about a token. It requires s.issuing.
func (s *Server) introspect(ctx context.Context, token string) (k known, err error) {
	data, err := s.ask(ctx, "introspect", token)
	if err != nil {
		return known{}, err
	}
	return k, json.Unmarshal(data, &k)
}

// ask has the authorization server do something with a token that only its test may ask for. It requires s.issuing.
func (s *Server) ask(ctx context.Context, what, token string) ([]byte, error) {
	req, err := http.NewRequestWithContext(ctx, http.MethodPost, s.process+"/test/"+what, strings.NewReader(url.Values{"token": {token}}.Encode()))
	if err != nil {
		return nil, err
	}
	req.Header.Set("Content-Type", "application/x-www-form-urlencoded")
	resp, err := http.DefaultClient.Do(req)
	if err != nil {
		return nil, err
	}
	defer resp.Body.Close()
	data, err := io.ReadAll(resp.Body)
	if err == nil && resp.StatusCode != http.StatusOK {
		err = fmt.Errorf("%s: %s: %s", what, resp.Status, data)
	}
	return data, err
}

// Revoke ends everything that a user has granted, as the user can at the authorization server. No client gets a token
// by another one of the user's in between.
func (s *Server) Revoke(user string) {
	s.t.Helper()
	s.issuing.Lock()
	defer s.issuing.Unlock()
	n := 0
	for _, secret := range s.Secrets() {
		k, err := s.introspect(context.Background(), secret)
		if err != nil {
			s.t.Fatal(err)
		}
		if k.User != user {
			continue
		}
		if _, err := s.ask(context.Background(), "revoke", secret); err != nil {
			s.t.Fatal(err)
		}
		n++
	}
	if n == 0 {
		s.t.Fatalf("user %s has granted nothing", user)
	}
}
