package mcp_test

import (
	"net/http"
	"net/http/httptest"
	"strings"
	"testing"

	"github.com/awaken-go/awaken/mailbox"
	"github.com/awaken-go/awaken/protocol/mcp"
	"github.com/awaken-go/awaken/protocol/protocoltest"
	"github.com/awaken-go/awaken/server"
	"github.com/awaken-go/awaken/server/access"
	"github.com/awaken-go/awaken/store/memory"
)

// Where clients need a key, a client without one learns where to get it.
func TestMetadata(t *testing.T) {
	g := protocoltest.Idle(t, nil)
	box, err := mailbox.New(mailbox.Config{Queue: g.DB}, g.Runtime().With)
	if err != nil {
		t.Fatal(err)
	}
	srv, err := server.New(server.Config{Mailbox: box, Keys: access.NewKeys(memory.NewProfile()), Open: new(false), ManualMailbox: true,
		Routes: routes(t, mcp.Config{RequireKey: true, Issuer: "https://login.example", URL: "https://agents.example/"})})
	if err != nil {
		t.Fatal(err)
	}
	ts := httptest.NewServer(srv.Handler())
	t.Cleanup(func() { srv.Stop(); ts.Close() })
	resp := g.Send(http.MethodPost, ts.URL+"/v1/mcp", `{"jsonrpc":"2.0","id":1,"method":"tools/list"}`)
	got := protocoltest.ReadAll(resp)
	resp.Body.Close()
	const where = "/.well-known/oauth-protected-resource/v1/mcp"
	if resp.StatusCode != 401 || resp.Header.Get("WWW-Authenticate") != `Bearer realm="awaken", resource_metadata="https://agents.example`+where+`"` || at(parse(t, got)[0], "error", "code") != -32600.0 {
		t.Errorf("%s %v %s", resp.Status, resp.Header, got)
	}
	for _, path := range []string{where, strings.TrimSuffix(where, "/v1/mcp")} {
		status, body := g.Ask(http.MethodGet, ts.URL+path, "")
		if status != 200 || !strings.Contains(body, `"resource":"https://agents.example/v1/mcp","authorization_servers":["https://login.example"]`) {
			t.Errorf("%d %s", status, body)
		}
	}
}
