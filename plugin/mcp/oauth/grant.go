package oauth

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"net/url"
	"slices"
	"strings"
	"time"

	"github.com/awaken-go/awaken"
	"github.com/awaken-go/awaken/internal/ids"
)

// grant is an authorization, as it is kept.
type grant struct {
	ID     string   `json:"id"`
	URL    string   `json:"url"` // of the MCP server that it is for
	Issuer string   `json:"issuer"`
	At     endpoint `json:"at"`
	Asked  []string `json:"asked,omitempty"`  // scopes that were asked for
	Scopes []string `json:"scopes,omitempty"` // that were granted
	Since  int64    `json:"since"`            // Unix ms

	Access  string `json:"access,omitempty"` // "" if the authorization is over
	Refresh string `json:"refresh,omitempty"`
	Expires int64  `json:"expires,omitempty"` // of Access, Unix ms; 0 means that it is not known
	Due     int64  `json:"due,omitempty"`     // when to refresh, Unix ms
	Turn    int64  `json:"turn,omitempty"`    // until when a process refreshes it, Unix ms
	Over    string `json:"over,omitempty"`    // why the authorization is over
}

const grantsKind = "mcp.grants"

// take makes what a server has issued the grant's.
func (g *grant) take(t *issued, now time.Time) {
	g.Access, g.Expires, g.Due, g.Turn = t.access, 0, 0, 0
	if t.refresh != "" {
		g.Refresh = t.refresh
	}
	if t.lasts > 0 {
		g.Expires = now.Add(t.lasts).UnixMilli()
		g.Due = now.Add(t.lasts - min(30*time.Second, t.lasts/2)).UnixMilli()
	}
	if t.scopes != nil {
		g.Scopes = t.scopes
	}
}

// token returns the access token.
func (g *grant) token() Token {
	t := Token{Access: awaken.NewSecret(g.Access), Grant: g.ID}
	if g.Due > 0 {
		t.Expires = time.UnixMilli(g.Due)
	}
	return t
}

// good reports whether the access token can be used, even if it is due.
func (g *grant) good(now int64, refused string) bool { return g.Access != refused && now < g.Expires }

// fits returns why a grant is of no use for a server, or "".
func (g *grant) fits(s *Server) string {
	switch {
	case g.Access == "":
		if g.Over == "" {
			return "there is no authorization"
		}
		return g.Over
	case g.URL != s.URL:
		return "the address of the server has changed"
	case s.Client.ID != "" && s.Client.ID != g.At.ID:
		return "the client ID has changed"
	case s.Issuer != "" && !sameIssuer(s.Issuer, g.Issuer):
		return "the authorization server has changed"
	}
	for _, scope := range s.Scopes {
		if !slices.Contains(g.Asked, scope) {
			return fmt.Sprintf("the server now needs the scope %q", scope)
		}
	}
	return ""
}

// Token returns an owner's access token for a server, refreshed if necessary. The error is [*Needed] if the owner has to authorize the
// server.
func (b *Broker) Token(ctx context.Context, s *Server, o Owner) (Token, error) {
	return b.token(ctx, s, o, "")
}

// Renew replaces a token that the server refused. It refreshes the token, unless another process already has. The error is [*Needed] if
// that is impossible.
func (b *Broker) Renew(ctx context.Context, s *Server, o Owner, refused Token) (Token, error) {
	return b.token(ctx, s, o, refused.Access.Expose())
}

func (b *Broker) token(ctx context.Context, s *Server, o Owner, refused string) (Token, error) {
	if s.grant() == ClientCredentials {
		return b.ownToken(ctx, s, refused)
	}
	p := b.place(grantsKind, s, o)
	waited := "" // for another process to refresh this token
	for {
		var g grant
		raw, found, err := b.read(ctx, p, &g)
		if err != nil {
			return Token{}, err
		}
		if !found {
			return Token{}, &Needed{Server: s.ID, Reason: "there is no authorization"}
		}
		if why := g.fits(s); why != "" {
			return Token{}, &Needed{Server: s.ID, Reason: why}
		}
		now := b.cfg.Now().UnixMilli()
		if g.Access != refused && (g.Due == 0 || now < g.Due) {
			return g.token(), nil
		}
		if now < g.Turn { // another process refreshes it
			if g.good(now, refused) {
				return g.token(), nil
			}
			waited = g.Access
			if err := wait(ctx, turnPoll); err != nil {
				return Token{}, err
			}
			continue
		}
		if g.Turn == 0 && g.Access == waited { // if all who wait tried in turn, the last would wait for long
			return Token{}, fmt.Errorf("another call could not refresh the authorization of MCP server %q", s.ID)
		}
		next, done, err := b.refresh(ctx, p, s, raw, g, refused)
		if err != nil {
			return Token{}, err
		}
		if done {
			return next.token(), nil
		}
	}
}

const (
	// turnTime is how long a process may take to refresh a token. Another one tries after that: it may be refused,
	// because the first has used the refresh token and was lost before it stored the new one.
	turnTime = 30 * time.Second
	turnPoll = 50 * time.Millisecond
	// retryAfter is when a refresh that has failed is tried again, while the old token is good.
	retryAfter = 5 * time.Second
)

func wait(ctx context.Context, d time.Duration) error {
	select {
	case <-time.After(d):
		return nil
	case <-ctx.Done():
		return context.Cause(ctx)
	}
}

// refresh refreshes a grant, if this process gets the turn. Done is false if it does not.
func (b *Broker) refresh(ctx context.Context, p place, s *Server, raw json.RawMessage, g grant, refused string) (_ *grant, done bool, err error) {
	// What has begun must be stored, even if the caller does not wait for it: the old refresh token is void then.
	ctx, cancel := context.WithTimeout(context.WithoutCancel(ctx), turnTime-5*time.Second)
	defer cancel()
	now := b.cfg.Now()
	if g.Refresh == "" {
		return nil, false, b.end(ctx, p, raw, s, g, "the authorization has expired, and the authorization server gave no refresh token")
	}
	before := g
	g.Turn = now.Add(turnTime).UnixMilli()
	mine, ok, err := b.write(ctx, p, raw, &g)
	if err != nil || !ok {
		return nil, false, err
	}
	at := g.At
	if s.Client.ID == at.ID && !s.Secret.IsZero() {
		at.Secret = s.Secret.Expose() // it may have been replaced
	}
	t, err := b.ask(ctx, &at, url.Values{"grant_type": {"refresh_token"}, "refresh_token": {g.Refresh}})
	if r, ok := errors.AsType[*refusal](err); ok && (r.code == "invalid_grant" || s.Client.ID == "" && (r.code == "invalid_client" || r.code == "unauthorized_client")) {
		b.unregister(ctx, g.Issuer, &at, err)
		return nil, false, b.end(ctx, p, mine, s, g, "the authorization has expired or was revoked: "+r.Error())
	}
	if err != nil {
		after := b.cfg.Now()
		before.Turn = 0
		good := before.good(after.UnixMilli(), refused)
		if good { // calls do not wait for a server that does not answer, one after the other
			before.Due = min(after.Add(retryAfter).UnixMilli(), before.Expires)
		}
		_, _, werr := b.write(ctx, p, mine, &before)
		if good {
			return &before, true, werr
		}
		return nil, false, fmt.Errorf("cannot refresh the authorization of MCP server %q: %w", s.ID, err)
	}
	g.take(t, b.cfg.Now())
	_, ok, err = b.write(ctx, p, mine, &g)
	switch {
	case err != nil:
		return nil, false, fmt.Errorf("cannot store the authorization of MCP server %q: %w", s.ID, err)
	case !ok: // it was revoked or replaced meanwhile
		_ = b.revokeAt(ctx, &g) // at least no process uses it
		return nil, false, nil
	}
	b.cfg.Logger.Debug("refreshed an authorization", "mcp_server", s.ID)
	return &g, true, nil
}

// end ends an authorization that is of no use any more, and returns [*Needed]. If it was replaced meanwhile, it returns nil.
func (b *Broker) end(ctx context.Context, p place, raw json.RawMessage, s *Server, g grant, why string) error {
	over := grant{ID: g.ID, URL: g.URL, Issuer: g.Issuer, Asked: g.Asked, Since: g.Since, Over: why}
	if _, ok, err := b.write(ctx, p, raw, &over); err != nil || !ok {
		return err
	}
	b.cfg.Logger.Info("an authorization has ended", "mcp_server", s.ID, "reason", why)
	return &Needed{Server: s.ID, Reason: why}
}

// ownToken returns a token by the client's own rights. Every process has its own.
func (b *Broker) ownToken(ctx context.Context, s *Server, refused string) (Token, error) {
	name := strings.Join([]string{s.ID, s.URL, s.Client.ID, s.Secret.Expose(), s.Issuer, strings.Join(s.Scopes, " ")}, "\x00")
	b.mu.Lock()
	g := b.own[name]
	b.mu.Unlock()
	if g != nil && g.Access != refused && (g.Due == 0 || b.cfg.Now().UnixMilli() < g.Due) {
		return g.token(), nil
	}
	a, err := b.discover(ctx, s)
	if err != nil {
		return Token{}, fmt.Errorf("MCP server %q: %w", s.ID, err)
	}
	g = &grant{ID: ids.New(), URL: s.URL, Issuer: a.Issuer, Since: b.cfg.Now().UnixMilli()}
	g.At = endpoint{Token: a.TokenEndpoint, Resource: a.resource, registration: registration{ID: s.Client.ID, Secret: s.Secret.Expose(), Method: method(a, s.Secret.Expose())}}
	form := url.Values{"grant_type": {"client_credentials"}}
	if scopes := s.wants(a); len(scopes) > 0 {
		form.Set("scope", strings.Join(scopes, " "))
	}
	t, err := b.ask(ctx, &g.At, form)
	if err != nil {
		return Token{}, fmt.Errorf("MCP server %q: %w", s.ID, err)
	}
	g.take(t, b.cfg.Now())
	b.mu.Lock()
	defer b.mu.Unlock()
	b.own[name] = g
	return g.token(), nil
}

// wants returns the scopes to ask for.
func (s *Server) wants(a *authority) []string {
	if len(s.Scopes) > 0 {
		return s.Scopes
	}
	return a.scopes
}
