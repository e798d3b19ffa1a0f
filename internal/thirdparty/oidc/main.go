// Oidc is an authorization server for tests, on go-oidc: it requires PKCE, rotates refresh tokens, revokes tokens and registers clients.
// Its one argument is [options] as JSON.
//
// Beside the endpoints of the protocols it serves what only the test that started it may use:
//
//	POST /test/introspect   token=…   what the server knows about a token, see [known]
//	POST /test/revoke       token=…   revokes it, as its user can
package main

import (
	"context"
	"crypto/ecdsa"
	"crypto/elliptic"
	"crypto/rand"
	"encoding/json"
	"errors"
	"fmt"
	"net/http"
	"os"
	"strings"
	"sync"

	"github.com/luikyv/go-oidc/pkg/goidc"
	"github.com/luikyv/go-oidc/pkg/provider"

	"github.com/awaken-go/awaken/internal/thirdparty/internal/serve"
)

// options configures the server.
type options struct {
	Issuer   string   `json:"issuer"`   // the address that clients use
	Resource string   `json:"resource"` // that tokens are for
	Lifetime int      `json:"lifetime"` // of access tokens, in seconds
	Scopes   []string `json:"scopes"`   // beside openid and offline_access
	Clients  []client `json:"clients"`  // that are registered beforehand
}

// client is registered beforehand. One with a secret may act for itself.
type client struct {
	ID       string `json:"id"`
	Secret   string `json:"secret"`
	Redirect string `json:"redirect"`
}

// known is what is known about a token.
type known struct {
	Active    bool     `json:"active"`
	User      string   `json:"user"` // or the client that acts for itself
	Scopes    []string `json:"scopes"`
	Audiences []string `json:"audiences"`
	Expires   int      `json:"expires"` // Unix seconds
}

func main() {
	if err := run(os.Args[1:]); err != nil {
		fmt.Fprintln(os.Stderr, "oidc:", err)
		os.Exit(1)
	}
}

func run(args []string) error {
	if len(args) != 1 {
		return errors.New("usage: oidc OPTIONS")
	}
	var o options
	if err := json.Unmarshal([]byte(args[0]), &o); err != nil {
		return err
	}
	op, err := newProvider(o)
	if err != nil {
		return err
	}
	mux := http.NewServeMux()
	mux.Handle("/", op.Handler())
	mux.HandleFunc("POST /test/introspect", func(w http.ResponseWriter, r *http.Request) {
		_ = json.NewEncoder(w).Encode(introspect(r.Context(), op, r.FormValue("token")))
	})
	mux.HandleFunc("POST /test/revoke", func(w http.ResponseWriter, r *http.Request) {
		if err := op.RevokeToken(r.Context(), r.FormValue("token")); err != nil {
			http.Error(w, err.Error(), http.StatusInternalServerError)
		}
	})
	var mu sync.Mutex // requests share what the provider keeps
	return serve.HTTP(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		mu.Lock()
		defer mu.Unlock()
		mux.ServeHTTP(w, r)
	}))
}

func newProvider(o options) (*provider.Provider, error) {
	key, err := ecdsa.GenerateKey(elliptic.P256(), rand.Reader)
	if err != nil {
		return nil, err
	}
	keys := goidc.JSONWebKeySet{Keys: []goidc.JSONWebKey{{KeyID: "k", Key: key, Algorithm: string(goidc.SigAlgES256), Use: "sig"}}}
	scopes := []goidc.Scope{goidc.ScopeOpenID, goidc.ScopeOfflineAccess}
	for _, name := range o.Scopes {
		scopes = append(scopes, goidc.NewScope(name))
	}
	all := strings.Join(append([]string{"openid", "offline_access"}, o.Scopes...), " ")
	var clients []*goidc.Client
	for _, c := range o.Clients {
		clients = append(clients, c.registration(all))
	}
	return provider.New(provider.Config{Issuer: o.Issuer, IDTokenAlgs: []goidc.SignatureAlgorithm{goidc.SigAlgES256},
		JWKS: func(context.Context) (goidc.JSONWebKeySet, error) { return keys, nil }},
		provider.WithScopes(scopes...), provider.WithNoneAuthn(), provider.WithSecretBasicAuthn(), provider.WithSecretPostAuthn(),
		provider.WithAuthCodeGrant(provider.AuthCodeGrantConfig{ResponseTypes: []goidc.ResponseType{goidc.ResponseTypeCode}},
			provider.WithPKCE([]goidc.CodeChallengeMethod{goidc.CodeChallengeMethodSHA256}, provider.WithPKCERequired()),
			provider.WithIssuerResponseParameter(), provider.WithAuthPolicies(policy())),
		provider.WithRefreshTokenGrant(nil, provider.WithRefreshTokenRotation(),
			provider.WithRefreshTokenShouldIssue(func(context.Context, *goidc.Client, *goidc.Grant) bool { return true })),
		provider.WithClientCredentialsGrant(),
		provider.WithTokenOptions(func(context.Context, *goidc.Grant, *goidc.Client) goidc.TokenOptions {
			return goidc.NewOpaqueTokenOptions(o.Lifetime)
		}, provider.WithOpaqueTokens(nil)),
		provider.WithTokenRevocation(func(context.Context, *goidc.Client) bool { return true }),
		provider.WithTokenIntrospection(func(context.Context, *goidc.Client, goidc.TokenInfo) bool { return true }),
		provider.WithResourceIndicators([]goidc.ResourceIndicator{o.Resource}, provider.WithResourceIndicatorsRequired()),
		provider.WithDCR(nil, provider.WithDCRClientHandler(func(_ context.Context, _ string, m *goidc.ClientMeta) error {
			m.ScopeIDs = all
			return nil
		})),
		provider.WithLocalhostRedirectURIs(), provider.WithJTIConsumer(func(context.Context, string) error { return nil }),
		provider.WithStaticClients(clients...))
}

// policy signs users in: the parameter user of an authorization request names the user, and that of a request which
// the user refuses is "".
func policy() goidc.AuthnPolicy {
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

// introspect returns what the server knows about a token. Nothing is known about one that is not valid.
func introspect(ctx context.Context, op *provider.Provider, token string) known {
	info, grant, err := op.Introspect(ctx, token)
	if err != nil || !info.IsActive {
		return known{}
	}
	k := known{Active: true, User: info.Subject, Scopes: strings.Fields(info.Scopes), Expires: info.ExpiresAt}
	for _, a := range info.ResourceAudiences {
		k.Audiences = append(k.Audiences, string(a))
	}
	if grant != nil && grant.Subject != "" {
		k.User = grant.Subject
	}
	return k
}

// registration returns the client as the provider keeps it.
func (c client) registration(scopes string) *goidc.Client {
	r := &goidc.Client{ID: c.ID, ClientMeta: goidc.ClientMeta{ScopeIDs: scopes, TokenAuthnMethod: goidc.AuthnMethodNone,
		GrantTypes:    []goidc.GrantType{goidc.GrantAuthorizationCode, goidc.GrantRefreshToken},
		ResponseTypes: []goidc.ResponseType{goidc.ResponseTypeCode}, RedirectURIs: []string{c.Redirect}}}
	if c.Secret != "" {
		r.Secret, r.TokenAuthnMethod = c.Secret, goidc.AuthnMethodSecretBasic
		r.GrantTypes = append(r.GrantTypes, goidc.GrantClientCredentials)
	}
	return r
}
