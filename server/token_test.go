package server_test

import (
	"crypto/ecdsa"
	"crypto/elliptic"
	"crypto/rand"
	"encoding/json"
	"fmt"
	"io"
	"net/http"
	"net/http/httptest"
	"strings"
	"sync/atomic"
	"testing"
	"time"

	"github.com/go-jose/go-jose/v4"
	josejwt "github.com/go-jose/go-jose/v4/jwt"

	"github.com/awaken-go/awaken/server"
	"github.com/awaken-go/awaken/server/access"
	"github.com/awaken-go/awaken/server/jwt"
	"github.com/awaken-go/awaken/server/servertest"
	"github.com/awaken-go/awaken/store/memory"
)

// issuer is an identity provider with one key.
type issuer struct {
	*httptest.Server
	key  *ecdsa.PrivateKey
	down atomic.Bool
}

func newIssuer(t *testing.T) *issuer {
	t.Helper()
	key, err := ecdsa.GenerateKey(elliptic.P256(), rand.Reader)
	if err != nil {
		t.Fatal(err)
	}
	is := &issuer{key: key}
	is.Server = httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, _ *http.Request) {
		if is.down.Load() {
			http.Error(w, "down", http.StatusInternalServerError)
			return
		}
		_ = json.NewEncoder(w).Encode(jose.JSONWebKeySet{Keys: []jose.JSONWebKey{{Key: key.Public(), KeyID: "k", Algorithm: string(jose.ES256), Use: "sig"}}})
	}))
	t.Cleanup(is.Close)
	return is
}

// token returns a token of a user that expires after a time.
func (is *issuer) token(t *testing.T, user, org string, life time.Duration) string {
	t.Helper()
	signer, err := jose.NewSigner(jose.SigningKey{Algorithm: jose.ES256, Key: jose.JSONWebKey{Key: is.key, KeyID: "k"}}, nil)
	if err != nil {
		t.Fatal(err)
	}
	token, err := josejwt.Signed(signer).Claims(map[string]any{"iss": is.URL, "aud": "awaken", "sub": user, "org": org, "exp": time.Now().Add(life).Unix()}).Serialize()
	if err != nil {
		t.Fatal(err)
	}
	return token
}

// verifier returns a verifier of the issuer's tokens.
func (is *issuer) verifier(t *testing.T) *jwt.Verifier {
	t.Helper()
	v, err := jwt.New(jwt.Config{Issuer: is.URL, Audiences: []string{"awaken"}, KeysURL: is.URL, TenantClaim: "org", Leeway: time.Millisecond, Client: is.Client()})
	if err != nil {
		t.Fatal(err)
	}
	return v
}

// A token names the user, and without a key also the tenant; a key decides what may be done.
func TestToken_NamesTheUser(t *testing.T) {
	t.Parallel()
	is := newIssuer(t)
	g := newRig(t, func(c *servertest.Config) { c.Users.Tokens = is.verifier(t) })
	for id, key := range map[string]server.Key{"run": {Kind: server.RunKey, Tenant: "acme"}, "read": {Kind: server.ReadKey, Tenant: "acme"}, "alice": {Kind: server.RunKey, Tenant: "acme", User: "alice"},
		"operator": {Kind: server.RunKey, Tenant: "acme", Operator: true}, "globex": {Kind: server.RunKey, Tenant: "globex"}} {
		key.ID = id
		if err := g.keys.Fix("the-key-of-"+id, key); err != nil {
			t.Fatal(err)
		}
	}
	alice, bob := is.token(t, "alice", "acme", time.Hour), is.token(t, "bob", "acme", time.Hour)
	bearer := func(secret string) []string { return []string{"Authorization", "Bearer " + secret} }
	with := func(key, token string) []string {
		return append(bearer("the-key-of-"+key), "X-Awaken-User-Token", token)
	}
	made := g.want(201, "POST", "/v1/threads", `{}`, bearer(alice)...)
	path := "/v1/threads/" + made["id"].(string)
	if made["user_id"] != "alice" {
		t.Errorf("the thread is %v", made)
	}
	for _, tt := range []struct {
		name    string
		method  string
		path    string
		headers []string
		want    string // status and part of the body
	}{
		{"the owner's token", "GET", path, bearer(alice), "200"},
		{"the owner's token without a key on an open server", "GET", path, []string{"X-Awaken-User-Token", alice}, "200"},
		{"another user's token", "GET", path, bearer(bob), "404"},
		{"the owner's token of another tenant", "GET", path, bearer(is.token(t, "alice", "globex", time.Hour)), "404"},
		{"a key with the owner's token", "GET", path, with("run", alice), "200"},
		{"a key with another user's token", "GET", path, with("run", bob), "404"},
		{"a key without a token", "GET", path, bearer("the-key-of-run"), "404"},
		{"an operator's key with another user's token", "GET", path, with("operator", bob), "200"},
		{"a read key with the owner's token", "POST", path + "/cancel", with("read", alice), "403 kind run"},
		{"a user's key with another user's token", "GET", path, with("alice", bob), "403 the key belongs to user"},
		{"a key of another tenant", "GET", path, with("globex", alice), "403 the key belongs to tenant"},
		{"two tokens", "GET", path, append(bearer(alice), "X-Awaken-User-Token", bob), "400 several tokens"},
		{"a route for admins", "GET", "/v1/keys", bearer(alice), "403 only the token of a user"},
		{"an expired token", "GET", path, bearer(is.token(t, "alice", "acme", -time.Minute)), "401 has expired"},
		{"an altered token", "GET", path, bearer(alice[:len(alice)-8] + "AAAAAAAA"), "401 no key of the issuer"},
		{"a token without a key of the issuer", "GET", path, bearer(newIssuer(t).token(t, "alice", "acme", time.Hour)), "401"},
		{"a user that is no id", "GET", path, bearer(is.token(t, "a\nb", "acme", time.Hour)), "401 its user"},
		{"a reserved tenant", "GET", path, bearer(is.token(t, "alice", "awaken.admin", time.Hour)), "401 reserved"},
		{"no token", "GET", path, nil, "404"},
	} {
		status, text := g.ask(tt.method, tt.path, "", tt.headers...)
		code, part, _ := strings.Cut(tt.want, " ")
		if fmt.Sprint(status) != code || !strings.Contains(text, part) {
			t.Errorf("%s: %d %s, want %s", tt.name, status, text, tt.want)
		}
	}
	plain := newRig(t)
	if status, text := plain.ask("GET", "/v1/threads", "", bearer(alice)...); status != 401 {
		t.Errorf("a server without an issuer: %d %s", status, text)
	}
}

// A token that cannot be verified is not refused for good.
func TestToken_IsUnavailableWithoutTheIssuer(t *testing.T) {
	t.Parallel()
	is := newIssuer(t)
	is.down.Store(true)
	g := newRig(t, func(c *servertest.Config) { c.Users.Tokens = is.verifier(t) })
	resp := g.do("GET", "/v1/threads", "", "Authorization", "Bearer "+is.token(t, "alice", "", time.Hour))
	defer resp.Body.Close()
	if resp.StatusCode != 503 || resp.Header.Get("Retry-After") == "" {
		t.Errorf("%d, headers %v", resp.StatusCode, resp.Header)
	}
}

// A stream ends when the token with which it was opened expires.
func TestToken_EndsTheStreamWhenItExpires(t *testing.T) {
	t.Parallel()
	is := newIssuer(t)
	g := newRig(t, func(c *servertest.Config) { c.Users.Tokens = is.verifier(t) })
	token := is.token(t, "alice", "acme", 2*time.Second)
	id := g.want(201, "POST", "/v1/threads", `{}`, "Authorization", "Bearer "+token)["id"].(string)
	resp := g.do("GET", "/v1/threads/"+id+"/events/stream", "", "Authorization", "Bearer "+token)
	defer resp.Body.Close()
	start := time.Now()
	frames := readFrames(t, resp.Body, nil)
	if took := time.Since(start); len(frames) != 1 || !strings.Contains(frames[0].data, "the token has expired") || took > 5*time.Second {
		t.Errorf("after %v: %+v", took, frames)
	}
}

// A client that speaks a protocol learns in its words why its stream ended.
func TestToken_AStreamOfAProtocolSaysThatItExpired(t *testing.T) {
	t.Parallel()
	is := newIssuer(t)
	g := &rig{t: t, db: memory.NewDB(), keys: access.NewKeys(memory.NewProfile()), idle: true}
	if err := g.keys.Fix(adminKey, server.Key{ID: "admin", Kind: server.AdminKey}); err != nil {
		t.Fatal(err)
	}
	g.start(func(c *servertest.Config) { c.Users.Tokens, c.Routes = is.verifier(t), aisdkRoutes() })
	resp := g.do("POST", "/v1/ai-sdk/chat", `{"id":"chat","messages":[{"id":"u","role":"user","parts":[{"type":"text","text":"hello"}]}]}`,
		"Authorization", "Bearer "+is.token(t, "alice", "acme", 2*time.Second))
	defer resp.Body.Close()
	text, err := io.ReadAll(resp.Body)
	if err != nil || !strings.Contains(string(text), "the token has expired") || !strings.HasSuffix(string(text), "data: [DONE]\n\n") {
		t.Errorf("%d %s, %v", resp.StatusCode, text, err)
	}
}

// The audit log names the user of a change, whatever the client calls itself.
func TestToken_AuditNamesTheUser(t *testing.T) {
	t.Parallel()
	is := newIssuer(t)
	g := newRig(t, func(c *servertest.Config) { c.Users.Tokens = is.verifier(t) })
	admin := []string{"Authorization", "Bearer " + adminKey}
	token := is.token(t, "carol", "x", time.Hour)
	if status, text := g.ask("POST", "/v1/keys", `{"kind":"run"}`, append(admin, "X-Awaken-User-Token", token)...); status != 403 {
		t.Errorf("a token of another tenant: %d %s", status, text)
	}
	h := newRig(t, func(c *servertest.Config) { c.Users.Header = "X-User" })
	h.want(201, "POST", "/v1/keys", `{"kind":"run"}`, append(admin, "X-User", "carol", "X-Awaken-Actor", "mallory")...)
	if _, text := h.ask("GET", "/v1/audit-log?resource=keys", "", admin...); !strings.Contains(text, `admin/carol`) || strings.Contains(text, "mallory") {
		t.Errorf("the audit log is %s", text)
	}
}
