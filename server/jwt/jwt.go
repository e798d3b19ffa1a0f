// Package jwt verifies the JSON Web Tokens with which users of an identity provider call a
// server.
//
// A token is accepted if one of the issuer's current keys signed it, if it names the
// issuer and one of the audiences, and if it has not expired. The issuer's keys are fetched
// from its key set (JWKS) and kept: a token that names an unknown key makes the verifier
// fetch the set again, so keys rotate without a restart. Only asymmetric signatures are
// accepted.
package jwt

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"net/http"
	"net/url"
	"time"

	"github.com/go-jose/go-jose/v4"
	"github.com/go-jose/go-jose/v4/jwt"
)

// ErrToken is a token that is not accepted. The error that wraps it says why.
var ErrToken = errors.New("invalid token")

// ErrUnavailable means that a token cannot be verified, because the issuer's keys cannot
// be fetched. The token may be valid.
var ErrUnavailable = errors.New("the issuer's keys are not available")

// Config configures a Verifier.
type Config struct {
	Issuer    string   // value of "iss"; an https URL, unless KeysURL is set
	Audiences []string // accepted values of "aud"; at least one
	// KeysURL is the address of the issuer's key set. Empty means that the issuer's
	// /.well-known/openid-configuration names it.
	KeysURL string

	UserClaim   string // claim that names the user; default "sub"
	TenantClaim string // claim that names the tenant; empty means that tokens name none

	Leeway time.Duration // tolerated difference of clocks; default 1 minute

	Client *http.Client     // fetches the keys; required
	Now    func() time.Time // default time.Now
}

// Claims are the claims of a verified token.
type Claims struct {
	User    string
	Tenant  string
	Expires time.Time
}

// Verifier verifies tokens of one issuer. It is safe for concurrent use.
type Verifier struct {
	cfg  Config
	keys *keySet
}

// Limits on what a client or an issuer sends.
const (
	maxToken = 16 << 10 // bytes of a token
	maxKeys  = 1 << 20  // bytes of a key set, or of a discovery document
)

// algorithms are the signatures that are accepted. A symmetric one would let every holder
// of the key, and with some issuers every client, sign tokens.
var algorithms = []jose.SignatureAlgorithm{jose.RS256, jose.RS384, jose.RS512, jose.PS256, jose.PS384, jose.PS512,
	jose.ES256, jose.ES384, jose.ES512, jose.EdDSA}

// New returns a verifier. It fetches nothing before the first token.
func New(cfg Config) (*Verifier, error) {
	if cfg.UserClaim == "" {
		cfg.UserClaim = "sub"
	}
	if cfg.Leeway == 0 {
		cfg.Leeway = time.Minute
	}
	if cfg.Now == nil {
		cfg.Now = time.Now
	}
	address := cfg.KeysURL
	if address == "" {
		address = cfg.Issuer
	}
	switch u, err := url.Parse(address); {
	case cfg.Issuer == "":
		return nil, errors.New("jwt: issuer is missing")
	case len(cfg.Audiences) == 0:
		return nil, errors.New("jwt: audiences are missing: a token for another service would be accepted")
	case cfg.Client == nil:
		return nil, errors.New("jwt: client is missing")
	case err != nil || u.Host == "" || u.User != nil || (u.Scheme != "https" && !(u.Scheme == "http" && isLoopback(u.Hostname()))):
		return nil, fmt.Errorf("jwt: keys cannot be fetched from %q, want an https URL without a password", address)
	}
	return &Verifier{cfg: cfg, keys: newKeySet(&cfg)}, nil
}

func isLoopback(host string) bool { return host == "localhost" || host == "127.0.0.1" || host == "::1" }

// Verify returns the claims of a token. The error wraps [ErrToken] or [ErrUnavailable].
func (v *Verifier) Verify(ctx context.Context, token string) (*Claims, error) {
	if len(token) > maxToken {
		return nil, fmt.Errorf("%w: it has more than %d bytes", ErrToken, maxToken)
	}
	parsed, err := jwt.ParseSigned(token, algorithms)
	if err != nil {
		return nil, fmt.Errorf("%w: not a signed JWT with an accepted algorithm", ErrToken)
	}
	header := parsed.Headers[0]
	keys, err := v.keys.find(ctx, header.KeyID)
	if err != nil {
		return nil, err
	}
	var payload json.RawMessage
	for i := range keys {
		if alg := keys[i].Algorithm; alg != "" && alg != header.Algorithm {
			continue
		}
		if parsed.Claims(keys[i].Key, &payload) == nil {
			break
		}
	}
	if payload == nil {
		return nil, fmt.Errorf("%w: no key of the issuer verifies its signature", ErrToken)
	}
	var std jwt.Claims
	var all map[string]json.RawMessage
	if err := json.Unmarshal(payload, &all); err != nil {
		return nil, fmt.Errorf("%w: its claims are not a JSON object", ErrToken)
	}
	if err := json.Unmarshal(payload, &std); err != nil {
		return nil, fmt.Errorf("%w: its claims have the wrong types: %w", ErrToken, err)
	}
	if std.Expiry == nil {
		return nil, fmt.Errorf("%w: it has no expiry", ErrToken)
	}
	expected := jwt.Expected{Issuer: v.cfg.Issuer, AnyAudience: v.cfg.Audiences, Time: v.cfg.Now()}
	if err := std.ValidateWithLeeway(expected, v.cfg.Leeway); err != nil {
		return nil, fmt.Errorf("%w: %s", ErrToken, reason(err))
	}
	return v.claims(&std, all)
}

func reason(err error) string {
	switch {
	case errors.Is(err, jwt.ErrExpired):
		return "it has expired"
	case errors.Is(err, jwt.ErrNotValidYet), errors.Is(err, jwt.ErrIssuedInTheFuture):
		return "it is not valid yet"
	case errors.Is(err, jwt.ErrInvalidAudience):
		return "it is for another audience"
	case errors.Is(err, jwt.ErrInvalidIssuer):
		return "it is of another issuer"
	}
	return "its claims are not valid"
}

func (v *Verifier) claims(std *jwt.Claims, all map[string]json.RawMessage) (*Claims, error) {
	c := &Claims{Expires: std.Expiry.Time()}
	if err := text(all, v.cfg.UserClaim, &c.User); err != nil {
		return nil, err
	}
	if v.cfg.TenantClaim != "" {
		if err := text(all, v.cfg.TenantClaim, &c.Tenant); err != nil {
			return nil, err
		}
	}
	return c, nil
}

// text reads a claim that has to be there.
func text(all map[string]json.RawMessage, name string, to *string) error {
	raw, ok := all[name]
	if !ok {
		return fmt.Errorf("%w: claim %q is missing", ErrToken, name)
	}
	if json.Unmarshal(raw, to) != nil || *to == "" {
		return fmt.Errorf("%w: claim %q is not a text", ErrToken, name)
	}
	return nil
}
