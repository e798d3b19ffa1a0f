package remote

import (
	"context"
	"errors"
	"fmt"
	"net/http"
	"strings"

	"golang.org/x/oauth2"
	"golang.org/x/oauth2/clientcredentials"

	"github.com/awaken-go/awaken"
)

// authorizer adds credentials to requests.
type authorizer interface {
	authorize(ctx context.Context, h http.Header) error
	// renew drops what the server has refused. It reports whether another attempt may succeed.
	renew(ctx context.Context) bool
}

// newAuthorizer checks credentials. The client gets tokens of OAuth2.
func newAuthorizer(a *awaken.RemoteAuth, client *http.Client) (authorizer, error) {
	if a == nil {
		return fixed{}, nil
	}
	if err := a.Validate(); err != nil {
		return nil, fmt.Errorf("auth: %w", err)
	}
	switch a.Type {
	case "bearer":
		return fixed{"Authorization", "Bearer " + a.Token.Expose()}, nil
	case "api_key":
		name := a.Header
		if name == "" {
			name = "X-API-Key"
		}
		if err := checkHeader(name, a.Token.Expose()); err != nil {
			return nil, fmt.Errorf("auth.header: %w", err)
		}
		return fixed{name, a.Token.Expose()}, nil
	}
	if _, err := readURL("auth.token_url", a.TokenURL); err != nil {
		return nil, err
	}
	return &credentials{client: client, turn: make(chan struct{}, 1), cfg: clientcredentials.Config{ClientID: a.ClientID, ClientSecret: a.ClientSecret.Expose(), TokenURL: a.TokenURL, Scopes: a.Scopes}}, nil
}

// fixed is a header that does not change. The zero fixed adds none.
type fixed struct{ name, value string }

func (f fixed) authorize(_ context.Context, h http.Header) error {
	if strings.ContainsAny(f.value, "\r\n\x00") {
		return errors.New("auth.token has a line break or a NUL byte")
	}
	if f.name != "" {
		h.Set(f.name, f.value)
	}
	return nil
}

func (fixed) renew(context.Context) bool { return false }

// credentials are OAuth2 client credentials. A token is used until it expires or is refused.
type credentials struct {
	cfg    clientcredentials.Config
	client *http.Client

	turn  chan struct{} // cap 1; has one while the token is used or got
	token *oauth2.Token
}

// take waits for the turn of a caller, who gives it back.
func (c *credentials) take(ctx context.Context) error {
	select {
	case c.turn <- struct{}{}:
		return nil
	case <-ctx.Done():
		return context.Cause(ctx)
	}
}

func (c *credentials) authorize(ctx context.Context, h http.Header) error {
	if err := c.take(ctx); err != nil {
		return err
	}
	defer func() { <-c.turn }()
	if !c.token.Valid() {
		ctx, cancel := context.WithTimeout(ctx, unaryTime)
		defer cancel()
		token, err := c.cfg.Token(context.WithValue(ctx, oauth2.HTTPClient, c.client))
		if err != nil {
			if re, ok := errors.AsType[*oauth2.RetrieveError](err); ok { // its text has the body
				return fmt.Errorf("%s refuses the client credentials: %s %.200q", c.cfg.TokenURL, re.Response.Status, re.ErrorCode)
			}
			return fmt.Errorf("get a token: %w", err)
		}
		c.token = token
	}
	h.Set("Authorization", c.token.Type()+" "+c.token.AccessToken)
	return nil
}

func (c *credentials) renew(ctx context.Context) bool {
	if c.take(ctx) != nil {
		return false
	}
	defer func() { <-c.turn }()
	had := c.token != nil
	c.token = nil
	return had
}
