package oauth

import (
	"context"
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"
	"errors"
	"fmt"
	"net/url"
	"slices"
	"strings"

	"github.com/modelcontextprotocol/go-sdk/oauthex"
)

// registration is what an authorization server knows the program by.
type registration struct {
	ID      string `json:"id"`
	Secret  string `json:"secret,omitempty"`
	Method  string `json:"method,omitempty"`  // of proving it at the token endpoint
	Expires int64  `json:"expires,omitempty"` // of the secret, Unix s; 0 means never
}

// Methods of client authentication at the token endpoint.
const (
	methodNone  = "none"
	methodPost  = "client_secret_post"
	methodBasic = "client_secret_basic"
)

// method returns how a client with a secret proves itself to an authorization server.
func method(a *authority, secret string) string {
	offered := a.TokenEndpointAuthMethodsSupported
	switch {
	case secret == "":
		return methodNone
	case slices.Contains(offered, methodPost) && !slices.Contains(offered, methodBasic):
		return methodPost
	}
	return methodBasic // what RFC 8414 assumes if the server does not say
}

// register returns what the authorization server knows the program by: the configured client, the client ID
// metadata document, or a client that it registers and keeps.
func (b *Broker) register(ctx context.Context, s *Server, a *authority) (*registration, error) {
	switch {
	case s.Client.ID != "":
		secret := s.Secret.Expose()
		return &registration{ID: s.Client.ID, Secret: secret, Method: method(a, secret)}, nil
	case b.cfg.ClientURL != "" && a.ClientIDMetadataDocumentSupported:
		return &registration{ID: b.cfg.ClientURL, Method: methodNone}, nil
	case a.RegistrationEndpoint == "":
		return nil, fmt.Errorf("the authorization server %s registers no clients: register one there with the redirect URI %s, and configure its client ID", short(a.Issuer), b.cfg.RedirectURL)
	}
	p := b.registered(a.Issuer)
	for {
		var r registration
		old, found, err := b.read(ctx, p, &r)
		if err != nil {
			return nil, err
		}
		if found && (r.Expires == 0 || b.cfg.Now().Unix() < r.Expires-60) {
			return &r, nil
		}
		made, err := oauthex.RegisterClient(ctx, a.RegistrationEndpoint, b.metadata(), b.cfg.Client)
		if err != nil {
			return nil, fmt.Errorf("cannot register a client at the authorization server %s: %w", short(a.Issuer), registrationError(err))
		}
		if n := len(made.ClientID) + len(made.ClientSecret); n > maxAddress {
			return nil, fmt.Errorf("the authorization server %s registers a client whose ID and secret have %d bytes, want at most %d", short(a.Issuer), n, maxAddress)
		}
		r = registration{ID: made.ClientID, Secret: made.ClientSecret, Method: made.TokenEndpointAuthMethod}
		if !made.ClientSecretExpiresAt.IsZero() {
			r.Expires = made.ClientSecretExpiresAt.Unix()
		}
		if r.Method == "" || r.Method == methodNone && r.Secret != "" {
			r.Method = method(a, r.Secret)
		}
		if _, ok, err := b.write(ctx, p, old, &r); ok || err != nil {
			return &r, err
		} // another process has registered one; it is used, and this one is left
	}
}

// registered returns the place of the client that an authorization server has registered.
func (b *Broker) registered(issuer string) place {
	sum := sha256.Sum256([]byte(issuer + "\x00" + b.cfg.RedirectURL))
	p := place{values: b.cfg.Shared, namespace: "mcp.clients", key: hex.EncodeToString(sum[:16])}
	p.name = p.namespace + "\x00" + p.key
	return p
}

// unregister lets the next authorization register another client, if the error says that the authorization server does
// not know this one any more.
func (b *Broker) unregister(ctx context.Context, issuer string, e *endpoint, err error) {
	if refused, ok := errors.AsType[*refusal](err); !ok || refused.code != "invalid_client" {
		return
	}
	p := b.registered(issuer)
	var r registration
	old, found, err := b.read(ctx, p, &r)
	if err == nil && found && r.ID == e.ID {
		r.Expires = 1
		_, _, err = b.write(ctx, p, old, &r)
	}
	if err != nil {
		b.cfg.Logger.Warn("cannot delete a client that its authorization server does not know", "error", err)
	}
}

// registrationError returns an error without what the server sent, which may hold a secret.
func registrationError(err error) error {
	if e, ok := errors.AsType[*oauthex.ClientRegistrationError](err); ok {
		return fmt.Errorf("%s (%s)", short(e.ErrorCode), short(e.ErrorDescription))
	}
	if e, ok := errors.AsType[*url.Error](err); ok {
		return plainError(e)
	}
	text, _, _ := strings.Cut(err.Error(), "(")
	text, _, _ = strings.Cut(text, ": {")
	return limited(errors.New(strings.TrimSpace(text)))
}

// metadata describes the program to authorization servers.
func (b *Broker) metadata() *oauthex.ClientRegistrationMetadata {
	m := &oauthex.ClientRegistrationMetadata{RedirectURIs: []string{b.cfg.RedirectURL}, TokenEndpointAuthMethod: methodNone, ApplicationType: "web",
		GrantTypes: []string{"authorization_code", "refresh_token"}, ResponseTypes: []string{"code"}, ClientName: b.cfg.ClientName}
	if u, err := url.Parse(b.cfg.RedirectURL); err == nil && loopback(u.Hostname()) {
		m.ApplicationType = "native"
	}
	return m
}

// ClientDocument returns the client ID metadata document, which the program serves at [Config.ClientURL], or nil if that is "".
func (b *Broker) ClientDocument() json.RawMessage {
	if b.cfg.ClientURL == "" {
		return nil
	}
	data, err := json.Marshal(struct {
		ClientID string `json:"client_id"`
		*oauthex.ClientRegistrationMetadata
	}{b.cfg.ClientURL, b.metadata()})
	if err != nil {
		return nil // the metadata have a JSON form
	}
	return data
}
