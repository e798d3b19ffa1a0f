package server_test

import (
	"fmt"
	"net/http"
	"strings"
	"testing"

	"github.com/awaken-go/awaken/server"
	"github.com/awaken-go/awaken/server/console"
	"github.com/awaken-go/awaken/server/servertest"
)

// withConsole returns a change of a server's configuration: the console, at a base path.
func withConsole(t *testing.T, base string) func(*servertest.Config) {
	t.Helper()
	c, err := console.New(base)
	if err != nil {
		t.Fatal(err)
	}
	return func(cfg *servertest.Config) { cfg.Console, cfg.BasePath = c, base }
}

// kindOf returns the status and media type of a GET of a browser.
func (g *rig) kindOf(path string) (int, string) {
	g.t.Helper()
	r, err := http.NewRequest("GET", g.http.URL+path, nil)
	if err != nil {
		g.t.Fatal(err)
	}
	r.Header.Set("Accept", "text/html,*/*;q=0.8")
	res, err := http.DefaultTransport.RoundTrip(r)
	if err != nil {
		g.t.Fatal(err)
	}
	_ = res.Body.Close()
	kind, _, _ := strings.Cut(res.Header.Get("Content-Type"), ";")
	return res.StatusCode, kind
}

func TestConsole_IsPublicAndTheAPIStaysJSON(t *testing.T) {
	g := newRig(t, withConsole(t, ""), func(cfg *servertest.Config) { cfg.Open = new(false) })
	for path, want := range map[string]string{"/": "200 text/html", "/runs/x": "200 text/html", "/v1/threads": "401 application/json", "/v1/none": "404 application/json",
		"/v2/x": "404 application/json", "/assets/none.js": "404 application/json", "/v1/approvals/a/b": "405 application/json", "/health": "200 application/json"} {
		if status, kind := g.kindOf(path); fmt.Sprint(status, " ", kind) != want {
			t.Errorf("GET %s: %d %s, want %s", path, status, kind, want)
		}
	}
	if status, _ := g.ask("GET", "/", ""); status != 404 {
		t.Errorf("GET / of a program: %d, want 404", status)
	}
	if status, _ := newRig(t).kindOf("/"); status != 404 {
		t.Errorf("GET / without a console: %d, want 404", status)
	}
}

func TestBasePath_IsServedWithAndWithoutIt(t *testing.T) {
	g := newRig(t, withConsole(t, "/awaken"))
	for path, want := range map[string]int{"/awaken": 308, "/awaken/": 200, "/awaken/runs/x": 200, "/awaken/health": 200, "/health": 200, "/awaken/v1/none": 404, "/awakened/health": 404, "/awaken/v1/threads": 200, "/v1/threads": 200} {
		if status, _ := g.kindOf(path); status != want {
			t.Errorf("GET %s: %d, want %d", path, status, want)
		}
	}
}

func TestBasePath_IsAPathThatHidesNoRoute(t *testing.T) {
	box := newRig(t).box
	for _, base := range []string{"awaken", "/", "/a/", "/a//b", "/a/../b", "/a?b", "/v1", "/v1/x", "/assets", "/a b", `/"x`, "/{a}", "//host"} {
		cfg := server.Config{Mailbox: box, BasePath: base}
		if _, err := server.New(cfg); err == nil || !strings.Contains(err.Error(), "base path") {
			t.Errorf("base path %q: %v, want an error that names it", base, err)
		}
	}
}
