package server_test

import (
	"fmt"
	"net/http"
	"net/http/httptest"
	"strconv"
	"strings"
	"testing"

	"github.com/awaken-go/awaken/server"
	"github.com/awaken-go/awaken/server/access"
	"github.com/awaken-go/awaken/server/servertest"
)

// A client that guesses keys must wait. Other addresses and keys in use are not affected.
func TestAuth_WrongKeysMakeAnAddressWait(t *testing.T) {
	t.Parallel()
	g := newRig(t, func(c *servertest.Config) { c.Open, c.Limits.WrongKeys = new(false), 5 })
	used := g.want(201, "POST", "/v1/keys", `{"kind":"run"}`, admin...)["secret"].(string)
	ask := func(from, secret string) *httptest.ResponseRecorder {
		r := httptest.NewRequestWithContext(t.Context(), "GET", "http://localhost/v1/threads", nil)
		r.RemoteAddr = from
		r.Header.Set("Authorization", "Bearer "+secret)
		w := httptest.NewRecorder()
		g.srv.Handler().ServeHTTP(w, r)
		return w
	}
	const from, network = "192.0.2.1:5", "[2001:db8::%d]:5"
	if got := ask(from, used).Code; got != 200 {
		t.Fatalf("status is %d, want 200", got)
	}
	for i := range 5 {
		for _, from := range []string{from, fmt.Sprintf(network, i)} {
			if got := ask(from, fmt.Sprint("wrong-", i)).Code; got != http.StatusUnauthorized {
				t.Fatalf("wrong key %d: status is %d, want 401", i, got)
			}
		}
	}
	for _, from := range []string{from, fmt.Sprintf(network, 99)} { // one IPv6 network is one client
		w := ask(from, "another")
		if wait, err := strconv.Atoi(w.Header().Get("Retry-After")); w.Code != http.StatusTooManyRequests || err != nil || wait < 1 {
			t.Errorf("%s: status is %d, Retry-After %q, want 429 and some seconds: %s", from, w.Code, w.Header().Get("Retry-After"), w.Body)
		}
	}
	if got := ask(from, used).Code; got != 200 {
		t.Errorf("a key in use: status is %d, want 200", got)
	}
	if got := ask("192.0.2.2:5", "wrong").Code; got != http.StatusUnauthorized {
		t.Errorf("another address: status is %d, want 401", got)
	}
}

// A proxy on the same machine must not open a server without keys to its clients.
func TestAuth_KeylessRequestsThroughAProxyAreRefused(t *testing.T) {
	t.Parallel()
	g := newRig(t, func(c *servertest.Config) { c.Users.Header = "X-User" })
	for _, header := range []string{"X-Forwarded-For", "Forwarded", "X-Real-IP", "X-Forwarded-Host", "Via"} {
		status, text := g.ask("GET", "/v1/threads", "", header, "203.0.113.9")
		if status != http.StatusForbidden || !strings.Contains(text, "server.require_key") || !strings.Contains(text, "forbidden_proxy") {
			t.Errorf("%s: status is %d, want 403 with what to set: %s", header, status, text)
		}
		g.want(200, "GET", "/v1/threads", "", append([]string{header, "203.0.113.9"}, admin...)...)
		g.want(200, "GET", "/v1/threads", "", header, "203.0.113.9", "X-User", "alice")
		g.want(200, "GET", "/health", "", header, "203.0.113.9")
	}
}

func TestNew_RefusesAnEasyKeyOnAPublicAddress(t *testing.T) {
	t.Parallel()
	box := newRig(t).box
	for secret, ok := range map[string]bool{
		"12345678":                         false,
		"choose-a-long-one":                false,
		"passwordpassword":                 false,
		"1234567890123456":                 false,
		"aaaaaaaaaaaaaaaaaaaaaaaaaa":       false,
		"abcabcabcabcabcabcabc":            false,
		"my-secret-admin-token":            false,
		"short-Xq9!":                       false,
		"9f2c7be04d61a83e5570c1b9d2e64f8a": true,
		"Rk3vQz8LmT1xWp5c":                 true,
		"correct horse battery staple":     true,
	} {
		keys := access.NewKeys(nil)
		if err := keys.Fix(secret, server.Key{ID: "configured", Kind: server.AdminKey}); err != nil {
			t.Fatal(err)
		}
		_, err := server.New(server.Config{Mailbox: box, Address: "0.0.0.0:0", Keys: keys})
		if (err == nil) != ok || err != nil && (!strings.Contains(err.Error(), "openssl rand") || strings.Contains(err.Error(), secret)) {
			t.Errorf("%s: error is %v, accepted should be %v", secret, err, ok)
		}
		if _, err := server.New(server.Config{Mailbox: box, Address: "127.0.0.1:0", Keys: keys}); err != nil {
			t.Errorf("%s on loopback: %v", secret, err)
		}
	}
}
