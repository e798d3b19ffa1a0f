package server_test

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"net/url"
	"testing"

	"github.com/awaken-go/awaken/config"
	"github.com/awaken-go/awaken/config/configtest"
	"github.com/awaken-go/awaken/server"
	"github.com/awaken-go/awaken/server/control"
	"github.com/awaken-go/awaken/server/servertest"
)

// authorizer is a [server.Authorizer] of servers in memory. A code is the scope that it is good for; "wrong" is no code.
type authorizer struct{ servers *configtest.MCP }

func (a authorizer) Complete(_ context.Context, response url.Values, allow func(*control.Authorized) error) (*control.Authorized, error) {
	state := response.Get("state")
	c, ok := a.servers.Begun(state)
	if !ok {
		return nil, errors.New("the state is of no authorization that has begun")
	}
	done := &control.Authorized{Server: c.Server, Shared: c.Grant != "user", Tenant: c.Tenant, User: c.User}
	if err := allow(done); err != nil {
		return nil, err
	}
	switch code := response.Get("code"); {
	case response.Get("error") != "":
		a.servers.Refuse(state)
		done.Denied = response.Get("error")
	case code == "", code == "wrong":
		a.servers.Refuse(state)
		return done, fmt.Errorf("the code is %q", code)
	case !a.servers.Give(state, code):
		return nil, errors.New("the authorization was completed before")
	}
	return done, nil
}

func (authorizer) Settle(context.Context, string) error { return nil }

func (authorizer) Sweep(context.Context, func(context.Context, *control.Authorized) error) error {
	return nil
}

func (authorizer) ClientDocument() json.RawMessage {
	return json.RawMessage(`{"client_id":"https://awaken.example/v1/mcp-oauth/client.json","client_name":"Awaken","redirect_uris":["https://awaken.example/v1/mcp-oauth/callback"],
		"token_endpoint_auth_method":"none","application_type":"web","grant_types":["authorization_code","refresh_token"],"response_types":["code"]}`)
}

// undocumented is an authorizer without a client ID metadata document.
type undocumented struct{ authorizer }

func (undocumented) ClientDocument() json.RawMessage { return nil }

// begin begins an authorization as a client does, and returns its state.
func (g *rig) begin(id string, headers ...string) string {
	g.t.Helper()
	return stateOf(g.t, g.want(200, "POST", "/v1/mcp-servers/"+id+"/authorization", "", headers...)["authorization_url"].(string))
}

func stateOf(t testing.TB, address string) string {
	t.Helper()
	u, err := url.Parse(address)
	if err != nil {
		t.Fatal(err)
	}
	return u.Query().Get("state")
}

// authorization is what belongs to a user at an MCP server: an authorization, and another one that has begun.
type authorization struct {
	servers      *configtest.MCP
	conn         config.MCPAuthorizer
	tenant, user string
	state        string
}

// authorize makes an authorization of a user, with a scope.
func (g *rig) authorize(tenant, user, scope string) *authorization {
	g.t.Helper()
	conn, err := g.control.Connections().MCP("issues")
	if err != nil {
		g.t.Fatal(err)
	}
	a := &authorization{servers: g.mcp, conn: conn.(config.MCPAuthorizer), tenant: tenant, user: user}
	for range 2 {
		req, err := a.conn.Authorize(g.t.Context(), tenant, user)
		if err != nil {
			g.t.Fatal(err)
		}
		if a.state != "" {
			g.mcp.Give(a.state, scope)
		}
		a.state = stateOf(g.t, req.URL)
	}
	return a
}

// now is everything that a request of another user must not change.
func (a *authorization) now(t testing.TB) any {
	t.Helper()
	st, err := a.conn.Authorization(t.Context(), a.tenant, a.user)
	if err != nil {
		t.Fatal(err)
	}
	_, begun := a.servers.Begun(a.state)
	return map[string]any{"authorization": st, "begun": begun}
}

// One authorization for all is of admins that belong to no tenant: others read whether it is there.
func TestAuthorization_OneForAll(t *testing.T) {
	t.Parallel()
	g := newRig(t, func(c *servertest.Config) { c.Users.Header = "X-User" })
	const path = "/v1/mcp-servers/shared/authorization"
	for _, c := range callersOf("acme") {
		if err := g.keys.Fix(c.secret(), c.key); err != nil {
			t.Fatal(err)
		}
		governs := c.key.Kind == server.AdminKey && c.key.Tenant == ""
		state := g.begin("shared", admin...)
		body := fmt.Sprintf(`{"state":%q,"code":"all"}`, state)
		for _, q := range []struct {
			method, path, body string
			status             int
		}{{"POST", path, "", 200}, {"POST", "/v1/mcp-oauth/callback", body, 200}, {"DELETE", path, "", 204}} {
			if !governs {
				q.status = 403
			}
			if status, text := g.ask(q.method, q.path, q.body, c.headers()...); status != q.status {
				t.Errorf("%s %s by %s: %d %s, want %d", q.method, q.path, c.name, status, text, q.status)
			}
		}
		if _, begun := g.mcp.Begun(state); begun == governs {
			t.Errorf("after the requests of %s, the authorization has begun: %v", c.name, begun)
		}
		g.want(200, "POST", "/v1/mcp-oauth/callback", fmt.Sprintf(`{"state":%q,"code":"all"}`, g.begin("shared", admin...)), admin...)
		if st := g.want(200, "GET", path, "", c.headers()...); st["authorized"] != true {
			t.Errorf("%s reads %v", c.name, st)
		}
	}
}
