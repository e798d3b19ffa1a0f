package oauth

import (
	"context"
	"fmt"
	"io"
	"net/url"
	"time"
)

// Status is the status of an authorization, without secrets.
type Status struct {
	Authorized bool
	Reason     string // why there is none
	Issuer     string
	Scopes     []string
	Since      time.Time
	Expires    time.Time // of the access token; zero if it is not known
	Refreshes  bool      // the authorization server gave a refresh token
}

// Status returns the status of an owner's authorization.
func (b *Broker) Status(ctx context.Context, s *Server, o Owner) (Status, error) {
	if s.grant() == ClientCredentials {
		return Status{Authorized: true}, nil
	}
	var g grant
	_, found, err := b.read(ctx, b.place(grantsKind, s, o), &g)
	if err != nil {
		return Status{}, err
	}
	if !found {
		return Status{Reason: "there is no authorization"}, nil
	}
	if why := g.fits(s); why != "" {
		return Status{Reason: why}, nil
	}
	st := Status{Authorized: true, Issuer: g.Issuer, Scopes: g.Scopes, Since: time.UnixMilli(g.Since), Refreshes: g.Refresh != ""}
	if g.Expires > 0 {
		st.Expires = time.UnixMilli(g.Expires)
	}
	return st, nil
}

// Revoke revokes an owner's authorization: immediately in the broker, and at the authorization server if it supports that (RFC 7009). The
// error reports that the authorization server could not be reached. Revoking a missing authorization is not an error.
func (b *Broker) Revoke(ctx context.Context, s *Server, o Owner) error {
	p := b.place(grantsKind, s, o)
	for {
		var g grant
		raw, found, err := b.read(ctx, p, &g)
		if err != nil || !found && raw == nil {
			return err
		}
		if found && g.Access == "" {
			return nil
		}
		over := grant{ID: g.ID, URL: g.URL, Issuer: g.Issuer, Since: g.Since, Over: "the authorization was revoked"}
		_, ok, err := b.write(ctx, p, raw, &over)
		if err != nil {
			return err
		}
		if !ok {
			continue // refreshed meanwhile
		}
		b.cfg.Logger.Info("an authorization was revoked", "mcp_server", s.ID)
		if err := b.revokeAt(ctx, &g); err != nil {
			return fmt.Errorf("the authorization of MCP server %q is deleted here, but the authorization server did not revoke it: %w", s.ID, err)
		}
		return nil
	}
}

// revokeAt tells the authorization server that the tokens of a grant are not needed any more, if it wants to know.
func (b *Broker) revokeAt(ctx context.Context, g *grant) error {
	if g.At.Revoke == "" {
		return nil
	}
	ctx, cancel := context.WithTimeout(context.WithoutCancel(ctx), 10*time.Second)
	defer cancel()
	token, hint := g.Refresh, "refresh_token"
	if token == "" {
		token, hint = g.Access, "access_token"
	}
	resp, err := b.post(ctx, &g.At, g.At.Revoke, url.Values{"token": {token}, "token_type_hint": {hint}})
	if err != nil {
		return err
	}
	defer resp.Body.Close()
	_, _ = io.CopyN(io.Discard, resp.Body, 4<<10) // so that the connection can be used again
	if resp.StatusCode != 200 {
		return fmt.Errorf("it answers with status %d", resp.StatusCode)
	}
	return nil
}
