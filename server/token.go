package server

import (
	"errors"
	"net/http"
	"strings"
	"time"

	"github.com/awaken-go/awaken/protocol"
	"github.com/awaken-go/awaken/server/jwt"
)

// TokenHeader carries the token of a user beside the key of a program.
const TokenHeader = "X-Awaken-User-Token"

// claims returns what the token of a request says, or nil if it has none: the bearer token, if that
// is a JWT, or the one beside a key. Alone reports that the request has no key.
func (a *auth) claims(r *http.Request) (c *jwt.Claims, alone bool, err error) {
	if a.users.Tokens == nil {
		return nil, false, nil
	}
	have, err := CredentialOf(r)
	if err != nil {
		return nil, false, err
	}
	beside, bearer := r.Header.Values(TokenHeader), !have.Session && isToken(have.Secret)
	switch {
	case len(beside) > 1 || len(beside) == 1 && bearer:
		return nil, false, protocol.BadRequest("the request has several tokens of users, want one, in the Authorization header or in %s", TokenHeader)
	case len(beside) == 1:
		c, err = a.verify(r, beside[0])
	case bearer:
		c, err = a.verify(r, have.Secret)
	}
	return c, c != nil && (bearer || have.Secret == ""), err
}

// isToken reports whether a secret is a JWT: three parts, of which the first is a JSON object in
// base64. No generated key looks like that.
func isToken(secret string) bool {
	return strings.HasPrefix(secret, "eyJ") && strings.Count(secret, ".") == 2
}

func (a *auth) verify(r *http.Request, token string) (*jwt.Claims, error) {
	c, err := a.users.Tokens.Verify(r.Context(), token)
	switch {
	case errors.Is(err, jwt.ErrToken):
		return nil, Unauthorized(err.Error())
	case errors.Is(err, jwt.ErrUnavailable):
		return nil, &protocol.Failure{Status: http.StatusServiceUnavailable, Code: "unavailable", Message: "tokens cannot be verified: " + jwt.ErrUnavailable.Error(), RetryAfter: 10 * time.Second}
	case err != nil:
		return nil, err
	case !protocol.ValidID(c.User):
		return nil, Unauthorized("invalid token: " + protocol.CheckID("its user", c.User).Error())
	}
	return c, nil
}

// keyOf returns what stands for the key of a token that comes without one: to run agents for its user, in its
// tenant.
func keyOf(c *jwt.Claims) (*Key, error) {
	key := &Key{ID: "token/" + c.Tenant + "/" + c.User, Kind: RunKey, Tenant: c.Tenant, User: c.User, Fixed: true}
	if err := key.Check(); err != nil {
		return nil, Unauthorized("invalid token: " + Plain(err.Error()))
	}
	return key, nil
}
