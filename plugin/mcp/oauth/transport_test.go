package oauth_test

import (
	"errors"
	"io"
	"net/http"
	"net/http/httptest"
	"slices"
	"strings"
	"sync"
	"testing"

	"github.com/awaken-go/awaken/plugin/mcp/oauth"
	"github.com/awaken-go/awaken/plugin/mcp/oauth/oauthtest"
)

func TestTransport_SendsARefusedRequestOnceMore(t *testing.T) {
	g := newRig(t, oauthtest.Options{})
	b, s := g.process(), g.server()
	g.authorize(b, s, alice(), "alice@idp")
	old := g.token(b, s, alice())
	var mu sync.Mutex
	var bodies []string
	h := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		body, _ := io.ReadAll(r.Body)
		mu.Lock()
		bodies = append(bodies, string(body))
		mu.Unlock()
		switch token := strings.TrimPrefix(r.Header.Get("Authorization"), "Bearer "); {
		case token == old || r.URL.Path == "/never":
			w.WriteHeader(http.StatusUnauthorized)
		case r.URL.Path == "/more":
			w.Header().Set("WWW-Authenticate", `Bearer error="insufficient_scope", scope="mcp.write mcp.admin"`)
			w.WriteHeader(http.StatusForbidden)
		case r.URL.Path == "/unknown":
			w.WriteHeader(http.StatusBadRequest)
		case r.URL.Path == "/forbidden":
			w.WriteHeader(http.StatusForbidden)
		}
	}))
	t.Cleanup(h.Close)
	transport := &oauth.Transport{Broker: b, Server: s, Owner: alice(), Base: http.DefaultTransport}
	client := &http.Client{Transport: transport}
	post := func(path string) (*http.Response, error) {
		resp, err := client.Post(h.URL+path, "application/json", strings.NewReader("hello"))
		if err == nil {
			resp.Body.Close()
		}
		return resp, err
	}
	if resp, err := post("/"); err != nil || resp.StatusCode != 200 || !slices.Equal(bodies, []string{"hello", "hello"}) || transport.Needed() != nil {
		t.Fatalf("%v, %v, %q", resp, err, bodies)
	}
	if resp, err := post("/forbidden"); err != nil || resp.StatusCode != http.StatusForbidden {
		t.Errorf("%v, %v", resp, err)
	}
	_, err := post("/more")
	if e, ok := errors.AsType[*oauth.Needed](err); !ok || !slices.Equal(e.Scopes, []string{"mcp.write", "mcp.admin"}) || transport.Needed() == nil {
		t.Errorf("error is %v, want that more scopes are needed", err)
	}
	if resp, err := post("/unknown"); err != nil || resp.StatusCode != http.StatusBadRequest || transport.Needed() == nil {
		t.Errorf("%v, %v: after it, %v is needed", resp, err, transport.Needed())
	}
	if _, err := post("/"); err != nil || transport.Needed() != nil {
		t.Errorf("%v: after it, %v is needed", err, transport.Needed())
	}
	bodies = nil
	if err := g.process().Revoke(t.Context(), s, alice()); err != nil {
		t.Fatal(err)
	}
	_, err = post("/")
	g.needs(err, "was revoked")
	if len(bodies) != 0 {
		t.Error("the token was sent after another process had revoked the authorization")
	}
	g.authorize(b, s, alice(), "alice@idp")
	_, err = post("/never")
	g.needs(err, "does not accept")
	if len(bodies) != 2 {
		t.Errorf("the request was sent %d times, want twice", len(bodies))
	}
}
