package configtest

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"net/url"
	"sync"
	"time"

	"github.com/awaken-go/awaken/config"
)

// Consent is an authorization of a server in memory.
type Consent struct {
	Server, Grant string // Grant is that of the server's document
	Tenant, User  string // whose it is; "" if it is one for all
}

// consents are the authorizations of servers in memory.
type consents struct {
	held  sync.Mutex
	begun map[string]Consent   // by state
	given map[Consent][]string // scopes
	count int
}

// Begun returns the authorization that has begun with a state, if it has not ended.
func (f *consents) Begun(state string) (Consent, bool) {
	f.held.Lock()
	defer f.held.Unlock()
	c, ok := f.begun[state]
	return c, ok
}

// Refuse ends an authorization that has begun. It reports false if there is none.
func (f *consents) Refuse(state string) bool {
	f.held.Lock()
	defer f.held.Unlock()
	_, ok := f.begun[state]
	delete(f.begun, state)
	return ok
}

// Give completes an authorization that has begun. It reports false if there is none.
func (f *consents) Give(state string, scopes ...string) bool {
	f.held.Lock()
	defer f.held.Unlock()
	c, ok := f.begun[state]
	if !ok {
		return false
	}
	delete(f.begun, state)
	if f.given == nil {
		f.given = map[Consent][]string{}
	}
	f.given[c] = scopes
	return true
}

var _ config.MCPAuthorizer = (*mcpConnection)(nil)

// AuthorizationGrant implements [config.MCPAuthorizer].
func (c *mcpConnection) AuthorizationGrant() string {
	if c.spec.Auth == nil {
		return ""
	}
	return cmp.Or(c.spec.Auth.Grant, "user")
}

// consent returns the authorization that a user has or can give.
func (c *mcpConnection) consent(tenant, user string) Consent {
	if c.AuthorizationGrant() != "user" {
		tenant, user = "", ""
	}
	return Consent{c.spec.ID, c.AuthorizationGrant(), tenant, user}
}

// Authorization implements [config.MCPAuthorizer].
func (c *mcpConnection) Authorization(_ context.Context, tenant, user string) (*config.MCPAuthorization, error) {
	if _, err := c.server(); err != nil {
		return nil, err
	}
	c.f.held.Lock()
	defer c.f.held.Unlock()
	out := &config.MCPAuthorization{Server: c.spec.ID, Grant: c.AuthorizationGrant()}
	if out.Scopes, out.Authorized = c.f.given[c.consent(tenant, user)]; out.Authorized {
		out.Issuer = c.spec.URL
	} else {
		out.Reason = "there is no authorization"
	}
	return out, nil
}

// Authorize implements [config.MCPAuthorizer].
func (c *mcpConnection) Authorize(_ context.Context, tenant, user string) (*config.MCPAuthorizationRequest, error) {
	if _, err := c.server(); err != nil {
		return nil, err
	}
	if c.AuthorizationGrant() == "client_credentials" {
		return nil, errors.New("no person can authorize it")
	}
	c.f.held.Lock()
	defer c.f.held.Unlock()
	c.f.count++
	state := fmt.Sprintf("state-%d", c.f.count)
	if c.f.begun == nil {
		c.f.begun = map[string]Consent{}
	}
	c.f.begun[state] = c.consent(tenant, user)
	return &config.MCPAuthorizationRequest{URL: c.spec.URL + "/authorize?" + url.Values{"state": {state}}.Encode(), ExpiresAt: time.Now().Add(time.Hour).UnixMilli()}, nil
}

// Revoke implements [config.MCPAuthorizer].
func (c *mcpConnection) Revoke(_ context.Context, tenant, user string) error {
	if _, err := c.server(); err != nil {
		return err
	}
	c.f.held.Lock()
	defer c.f.held.Unlock()
	delete(c.f.given, c.consent(tenant, user))
	return nil
}
