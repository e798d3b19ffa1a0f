package main

import (
	"context"
	"encoding/json"
	"errors"
	"log/slog"
	"net/netip"
	"net/url"
	"strings"
	"time"

	"github.com/awaken-go/awaken"
	"github.com/awaken-go/awaken/cmd/awaken/internal/settings"
	"github.com/awaken-go/awaken/config"
	"github.com/awaken-go/awaken/internal/httpguard"
	"github.com/awaken-go/awaken/plugin/mcp/oauth"
	"github.com/awaken-go/awaken/server"
	plane "github.com/awaken-go/awaken/server/control"
	"github.com/awaken-go/awaken/state/profile"
)

// newBroker returns what keeps the authorizations of MCP servers, or nil if browsers cannot be sent back to the server,
// because its address is not known.
func newBroker(s *settings.Settings, b *backend, allow []netip.Prefix, log *slog.Logger) (*oauth.Broker, error) {
	base := strings.TrimSuffix(s.Server.PublicURL, "/")
	if local, err := server.IsLocal(s.Server.Address); base == "" && err == nil && local {
		if base = "http://" + s.Server.Address; s.Server.CertFile != "" {
			base = "https://" + s.Server.Address
		}
	}
	if base == "" {
		return nil, nil
	}
	vault, err := openVault(s)
	if err != nil {
		return nil, err
	}
	values := func(tenant string) profile.Store {
		if tenant == server.PreviewTenant { // operators try agents with the authorizations of their own tenant
			tenant = ""
		}
		return b.profile(tenant)
	}
	cfg := oauth.Config{Values: values, Shared: b.profile(systemTenant), Sealer: vaultSealer{vault}, RedirectURL: base + "/v1/mcp-oauth/callback", Logger: log,
		Client: httpguard.New(httpguard.Options{Allow: allow, MaxBytes: 1 << 20, Timeout: 20 * time.Second, Redirects: -1})}
	if u, err := url.Parse(base); err == nil && u.Scheme == "https" && s.Server.PublicURL != "" {
		cfg.ClientURL = base + "/v1/mcp-oauth/client.json"
	}
	broker, err := oauth.New(cfg)
	if err != nil {
		return nil, configError("server.public_url: %w", err)
	}
	return broker, nil
}

// vaultSealer encrypts with the key of secrets.
type vaultSealer struct{ vault *config.Vault }

var errNoVault = errors.New("this server has no secrets key, with which authorizations and the secrets of webhooks, " +
	"push notifications and triggers are encrypted: set secrets.key_file or secrets.key")

// Seal implements [oauth.Sealer] and [deliver.Sealer].
func (s vaultSealer) Seal(name string, plain []byte) ([]byte, error) {
	if s.vault == nil {
		return nil, errNoVault
	}
	return json.Marshal(s.vault.Encrypt(name, awaken.NewSecret(string(plain))))
}

// Open implements [oauth.Sealer] and [deliver.Sealer].
func (s vaultSealer) Open(name string, sealed []byte) ([]byte, error) {
	if s.vault == nil {
		return nil, errNoVault
	}
	var v config.SealedSecret
	if err := json.Unmarshal(sealed, &v); err != nil {
		return nil, err
	}
	plain, err := s.vault.Decrypt(name, v)
	return []byte(plain.Expose()), err
}

var _ config.MCPAuthorizer = (*mcpConnection)(nil)

// AuthorizationGrant implements [config.MCPAuthorizer].
func (c *mcpConnection) AuthorizationGrant() string {
	return string(c.Connection.Status().Authorization)
}

// Authorization implements [config.MCPAuthorizer].
func (c *mcpConnection) Authorization(ctx context.Context, tenant, user string) (*config.MCPAuthorization, error) {
	st, err := c.servers.broker.Status(ctx, c.oauth, oauth.Owner{Tenant: tenant, User: user})
	if err != nil {
		return nil, err
	}
	out := &config.MCPAuthorization{Server: c.oauth.ID, Grant: c.AuthorizationGrant(), Authorized: st.Authorized, Reason: st.Reason, Issuer: st.Issuer, Scopes: st.Scopes, Refreshes: st.Refreshes}
	if !st.Since.IsZero() {
		out.Since = st.Since.UnixMilli()
	}
	if !st.Expires.IsZero() {
		out.ExpiresAt = st.Expires.UnixMilli()
	}
	return out, nil
}

// Authorize implements [config.MCPAuthorizer].
func (c *mcpConnection) Authorize(ctx context.Context, tenant, user string) (*config.MCPAuthorizationRequest, error) {
	req, err := c.servers.broker.Begin(ctx, c.oauth, oauth.Owner{Tenant: tenant, User: user}, nil, nil)
	if err != nil {
		return nil, err
	}
	return &config.MCPAuthorizationRequest{URL: req.URL, ExpiresAt: req.Expires.UnixMilli()}, nil
}

// Revoke implements [config.MCPAuthorizer].
func (c *mcpConnection) Revoke(ctx context.Context, tenant, user string) error {
	return c.servers.broker.Revoke(ctx, c.oauth, oauth.Owner{Tenant: tenant, User: user})
}

// authorizer completes authorizations for the server.
type authorizer struct{ *oauth.Broker }

// Complete implements [plane.Authorizer].
func (a authorizer) Complete(ctx context.Context, response url.Values, allow func(*plane.Authorized) error) (*plane.Authorized, error) {
	done, err := a.Broker.Complete(ctx, response, func(c *oauth.Completed) error { return allow(authorized(c)) })
	if done == nil {
		return nil, err
	}
	return authorized(done), err
}

// Sweep implements [plane.Authorizer].
func (a authorizer) Sweep(ctx context.Context, resume func(ctx context.Context, done *plane.Authorized) error) error {
	return a.Broker.Sweep(ctx, func(ctx context.Context, c *oauth.Completed) error { return resume(ctx, authorized(c)) })
}

func authorized(c *oauth.Completed) *plane.Authorized {
	out := &plane.Authorized{ID: c.ID, Server: c.Server, Shared: c.Grant != oauth.PerUser, Tenant: c.Owner.Tenant, User: c.Owner.User, Denied: c.Denied}
	for _, w := range c.Waiters {
		out.Calls = append(out.Calls, plane.AuthorizedCall{RunID: w.RunID, TicketID: w.Target})
	}
	return out
}
