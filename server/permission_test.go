package server_test

import (
	"cmp"
	"flag"
	"fmt"
	"net/http"
	"net/http/httptest"
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"testing"

	gocmp "github.com/google/go-cmp/cmp"

	"github.com/awaken-go/awaken/protocol"
	"github.com/awaken-go/awaken/protocol/a2a"
	"github.com/awaken-go/awaken/protocol/agui"
	"github.com/awaken-go/awaken/protocol/aisdk"
	"github.com/awaken-go/awaken/protocol/mcp"
	"github.com/awaken-go/awaken/protocol/openai"
	"github.com/awaken-go/awaken/server"
	"github.com/awaken-go/awaken/server/access/permit"
	"github.com/awaken-go/awaken/server/servertest"
)

var update = flag.Bool("update", false, "write testdata/permissions.txt")

// allRoutes gives a server the routes of all protocols.
func allRoutes(t testing.TB) func(*servertest.Config) {
	return func(c *servertest.Config) {
		a2aRoutes, err := a2a.Routes(a2a.Config{})
		if err != nil {
			t.Fatal(err)
		}
		mcpRoutes, err := mcp.Routes(mcp.Config{RequireKey: true})
		if err != nil {
			t.Fatal(err)
		}
		c.Routes = slices.Concat(aisdk.Routes(), agui.Routes(), openai.Routes(), a2aRoutes, mcpRoutes)
	}
}

// testdata/permissions.txt says what the permissions are, and what every kind of key may do on every route, for readers of a
// change. The server acts by it: this test asks every route with every kind of key.
func TestPermissions_OfEveryKindOfKey(t *testing.T) {
	t.Parallel()
	callers := []struct {
		name string
		key  *server.Key
	}{
		{"no key", nil},
		{"read", &server.Key{ID: "read", Kind: server.ReadKey}},
		{"run", &server.Key{ID: "run", Kind: server.RunKey}},
		{"tenant's admin", &server.Key{ID: "tenant", Kind: server.AdminKey, Tenant: "acme"}},
		{"admin", &server.Key{ID: "root", Kind: server.AdminKey}},
	}
	g := newRig(t, allRoutes(t))
	closed := newRig(t, allRoutes(t), func(c *servertest.Config) { c.Open = new(false) })
	for _, c := range callers[1:] {
		if err := g.keys.Fix("the-secret-key-to-"+c.key.ID, *c.key); err != nil {
			t.Fatal(err)
		}
	}
	var text strings.Builder
	names := map[string]bool{"": true}
	for _, p := range permit.All() {
		if names[p.String()] || p.Doc() == "" {
			t.Errorf("permission %d has the name %q and the text %q, want some of its own", p, p, p.Doc())
		}
		names[p.String()] = true
		fmt.Fprintf(&text, "%-22smay %s\n", p, p.Doc())
	}
	fmt.Fprintf(&text, "\n%-22s", "permission")
	for _, c := range callers {
		fmt.Fprintf(&text, "%-*s  ", len(c.name), c.name)
	}
	text.WriteString("route\n")
	routes, others := g.srv.Table(), closed.srv.Table()
	for _, list := range [][]protocol.Route{routes, others} {
		for i := range list { // what comes before the handler decides
			list[i].Handle = func(c protocol.Call) error { return c.Reply(http.StatusNoContent, nil) }
		}
	}
	named := permit.Set(0)
	sorted := slices.SortedFunc(slices.Values(routes), func(a, b protocol.Route) int {
		return cmp.Or(cmp.Compare(a.Needs, b.Needs), cmp.Compare(a.Path, b.Path), cmp.Compare(a.Method, b.Method))
	})
	for _, r := range sorted {
		named |= permit.Of(r.Needs)
		fmt.Fprintf(&text, "%-22s", r.Needs)
		for _, c := range callers {
			word := "-"
			if g.lets(&r, c.key) {
				word = "yes"
			}
			fmt.Fprintf(&text, "%-*s  ", len(c.name), word)
			if may := c.key.Permissions().Has(r.Needs); may != (word == "yes") {
				t.Errorf("%s %s by %s: %s, want %v by the table", r.Method, r.Path, c.name, word, may)
			}
		}
		if closed.lets(&r, nil) != (r.Needs == permit.Public) {
			t.Errorf("%s %s without a key, on a server that needs one: want that only for public routes", r.Method, r.Path)
		}
		fmt.Fprintf(&text, "%s %s\n", r.Method, r.Path)
	}
	for _, p := range permit.All() {
		if named.Has(p) == permit.Wide.Has(p) {
			t.Errorf("%s: a route needs it: %v, want %v", p, named.Has(p), !permit.Wide.Has(p))
		}
	}
	golden := filepath.Join("testdata", "permissions.txt")
	if *update {
		if err := os.WriteFile(golden, []byte(text.String()), 0o644); err != nil {
			t.Fatal(err)
		}
	}
	want, err := os.ReadFile(golden)
	if err != nil {
		t.Fatal(err)
	}
	if diff := gocmp.Diff(string(want), text.String()); diff != "" {
		t.Errorf("%s is not what the server does; if it should, run this test with -update (-want +got):\n%s", golden, diff)
	}
}

var wildcard = regexp.MustCompile(`\{[a-z_]+(\.\.\.)?\}`)

// lets reports whether the server lets a caller use a route. Handlers must reply with status 204.
func (g *rig) lets(r *protocol.Route, key *server.Key) bool {
	g.t.Helper()
	req := httptest.NewRequest(r.Method, wildcard.ReplaceAllString(r.Path, "x"), strings.NewReader("{}"))
	req.Host = "127.0.0.1"
	if key != nil {
		req.Header.Set("Authorization", "Bearer the-secret-key-to-"+key.ID)
	}
	w := httptest.NewRecorder()
	g.srv.Handler().ServeHTTP(w, req)
	switch w.Code {
	case http.StatusNoContent:
		return true
	case http.StatusUnauthorized:
		if key == nil {
			return false
		}
	case http.StatusForbidden:
		if key != nil {
			return false
		}
	}
	g.t.Errorf("%s %s: %d %s", r.Method, r.Path, w.Code, w.Body)
	return false
}

// A route without a permission, or with one that does not fit what it is about, is an error when the server is made.
func TestPermissions_EveryRouteNamesOne(t *testing.T) {
	t.Parallel()
	g := newRig(t)
	for want, r := range map[string]protocol.Route{
		"route GET /x needs the permission none, want one that a route can need":                  {},
		"route GET /x needs the permission users.all, want one that a route can need":             {Needs: permit.ActForUsers},
		"route GET /x needs the permission runs.start, want one that concerns the whole server":   {Needs: permit.StartRuns, Own: true},
		"route GET /x needs the permission threads.read, want one that concerns the whole server": {Needs: permit.ReadThreads, Control: true},
	} {
		r.Method, r.Path, r.Handle = "GET", "/x", func(protocol.Call) error { return nil }
		cfg := server.Config{Mailbox: g.box, Control: g.control, Keys: g.keys, Routes: []protocol.Route{r}}
		if _, err := server.New(cfg); err == nil || err.Error() != "server: "+want {
			t.Errorf("%v, want %s", err, want)
		}
	}
}
