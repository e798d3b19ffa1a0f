package oauth_test

import (
	"context"
	"encoding/json"
	"errors"
	"net/http"
	"net/http/httptest"
	"net/url"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/modelcontextprotocol/go-sdk/oauthex"

	"github.com/awaken-go/awaken"
	"github.com/awaken-go/awaken/internal/httpguard"
	"github.com/awaken-go/awaken/plugin/mcp/oauth"
	"github.com/awaken-go/awaken/plugin/mcp/oauth/oauthtest"
)

func TestBegin_AsksWithPKCEResourceAndState(t *testing.T) {
	g := newRig(t, oauthtest.Options{})
	b := g.process()
	q := query(t, g.begin(b, g.server(), alice(), nil))
	for name, want := range map[string]string{"response_type": "code", "code_challenge_method": "S256", "resource": g.URL, "redirect_uri": redirect, "scope": "mcp.read offline_access"} {
		if q.Get(name) != want {
			t.Errorf("%s is %q, want %q", name, q.Get(name), want)
		}
	}
	if len(q.Get("code_challenge")) != 43 || len(q.Get("state")) < 40 || strings.Contains(q.Get("state"), "alice") {
		t.Errorf("challenge %q, state %q", q.Get("code_challenge"), q.Get("state"))
	}
	again := query(t, g.begin(g.process(), g.server(), bob(), nil))
	if again.Get("client_id") != q.Get("client_id") {
		t.Errorf("another process has registered another client: %q, %q", q.Get("client_id"), again.Get("client_id"))
	}
}

func TestToken_BelongsToOneUserOfOneTenant(t *testing.T) {
	g := newRig(t, oauthtest.Options{})
	b, s := g.process(), g.server()
	owners := map[oauth.Owner]string{alice(): "alice@idp", bob(): "bob@idp", {Tenant: "acme", User: "alice"}: "alice@acme", {}: "shared@idp"}
	for o, user := range owners {
		g.authorize(b, s, o, user)
	}
	for o, user := range owners {
		if got := g.User(g.token(g.process(), s, o)); got != user {
			t.Errorf("the token of %+v is of %q, want %q", o, got, user)
		}
	}
	for _, o := range []oauth.Owner{{User: "carol"}, {Tenant: "acme", User: "bob"}, {Tenant: "acme"}, {Tenant: "other", User: "alice"}} {
		_, err := b.Token(t.Context(), s, o)
		g.needs(err, "there is no authorization")
	}
}

func TestToken_IsRefreshedWhenItIsDue(t *testing.T) {
	g := newRig(t, oauthtest.Options{})
	b, s := g.process(), g.server()
	g.authorize(b, s, alice(), "alice@idp")
	first := g.token(b, s, alice())
	g.advance(9 * time.Minute)
	if again := g.token(b, s, alice()); again != first {
		t.Error("the token was refreshed before it was due")
	}
	for range 3 { // the refresh token is another each time
		g.advance(10 * time.Minute)
		next := g.token(b, s, alice())
		if next == first || g.User(next) != "alice@idp" {
			t.Fatalf("the token is of %q, and new: %v", g.User(next), next != first)
		}
		first = next
	}
	if n, refusals := g.Tokens("refresh_token"); n != 3 || refusals != 0 {
		t.Errorf("%d refreshes, %d of them refused, want 3", n, refusals)
	}
	for _, f := range g.Requests() {
		if f.Get("resource") != g.URL {
			t.Errorf("a request for a token has the resource %q, want %q", f.Get("resource"), g.URL)
		}
	}
}

func TestToken_IsRefreshedOnceByManyProcesses(t *testing.T) {
	g := newRig(t, oauthtest.Options{})
	s := g.server()
	processes := []*oauth.Broker{g.process(), g.process()}
	g.authorize(processes[0], s, alice(), "alice@idp")
	before := g.token(processes[0], s, alice())
	for round := range 3 {
		g.advance(10 * time.Minute)
		tokens := make([]string, 20)
		var wg sync.WaitGroup
		for i := range tokens {
			wg.Go(func() {
				token, err := processes[i%2].Token(t.Context(), s, alice())
				if err != nil {
					t.Error(err)
				}
				tokens[i] = token.Access.Expose()
			})
		}
		wg.Wait()
		slices.Sort(tokens)
		if all := slices.Compact(tokens); len(all) != 1 || all[0] == before {
			t.Fatalf("the processes have %d tokens, want one that is new", len(all))
		}
		before = tokens[0]
		if n, refusals := g.Tokens("refresh_token"); n != round+1 || refusals != 0 {
			t.Fatalf("%d refreshes after %d rounds, %d of them refused", n, round+1, refusals)
		}
	}
}

func TestRenew_UsesTheTokenOfAnotherProcess(t *testing.T) {
	g := newRig(t, oauthtest.Options{})
	b, s := g.process(), g.server()
	g.authorize(b, s, alice(), "alice@idp")
	old, err := b.Token(t.Context(), s, alice())
	if err != nil {
		t.Fatal(err)
	}
	for range 5 {
		next, err := g.process().Renew(t.Context(), s, alice(), old)
		if err != nil || next.Access == old.Access || next.Grant != old.Grant {
			t.Fatalf("%+v, %v", next, err)
		}
	}
	if n, refusals := g.Tokens("refresh_token"); n != 1 || refusals != 0 {
		t.Errorf("%d refreshes, %d refusals, want one", n, refusals)
	}
}

func TestRenew_AsksAgainIfTheUserHasRevoked(t *testing.T) {
	g := newRig(t, oauthtest.Options{})
	b, s := g.process(), g.server()
	g.authorize(b, s, alice(), "alice@idp")
	g.authorize(b, s, bob(), "bob@idp")
	token, err := b.Token(t.Context(), s, alice())
	if err != nil {
		t.Fatal(err)
	}
	g.Revoke("alice@idp")
	_, err = b.Renew(t.Context(), s, alice(), token)
	g.needs(err, "expired or was revoked")
	_, err = b.Token(t.Context(), s, alice())
	g.needs(err, "expired or was revoked")
	if g.User(g.token(b, s, bob())) != "bob@idp" {
		t.Error("bob lost the authorization, too")
	}
	g.authorize(b, s, alice(), "alice@idp")
	if g.User(g.token(b, s, alice())) != "alice@idp" {
		t.Error("alice cannot authorize again")
	}
}

func TestRevoke_EndsTheAuthorizationHereAndThere(t *testing.T) {
	g := newRig(t, oauthtest.Options{})
	b, s := g.process(), g.server()
	g.authorize(b, s, alice(), "alice@idp")
	g.authorize(b, s, bob(), "bob@idp")
	token := g.token(b, s, alice())
	if err := b.Revoke(t.Context(), s, alice()); err != nil {
		t.Fatal(err)
	}
	if user := g.User(token); user != "" {
		t.Errorf("the authorization server still knows the token, as that of %q", user)
	}
	_, err := g.process().Token(t.Context(), s, alice())
	g.needs(err, "was revoked")
	if list := g.Revocations(); len(list) != 1 || list[0].Get("token_type_hint") != "refresh_token" {
		t.Errorf("requests for revocation: %d", len(list))
	}
	st, err := b.Status(t.Context(), s, alice())
	if err != nil || st.Authorized || st.Reason == "" {
		t.Errorf("status is %+v, %v", st, err)
	}
	if g.User(g.token(b, s, bob())) != "bob@idp" {
		t.Error("bob lost the authorization, too")
	}
	if err := b.Revoke(t.Context(), s, alice()); err != nil || len(g.Revocations()) != 1 {
		t.Errorf("a second time: %v", err)
	}
}

func TestComplete_ByAnotherProcessAfterARestart(t *testing.T) {
	g := newRig(t, oauthtest.Options{})
	s := g.server()
	w := &oauth.Waiter{RunID: "r", ThreadID: "t", Target: "mcp_c_1"}
	address := g.begin(g.process(), s, alice(), w)
	other := &oauth.Waiter{RunID: "r2", ThreadID: "t2", Target: "mcp_c_1"}
	second := g.begin(g.process(), s, alice(), other)
	g.begin(g.process(), s, bob(), &oauth.Waiter{RunID: "r3"})
	c, err := g.process().Complete(t.Context(), g.Approve(address, "alice@idp"), nil)
	if err != nil || c.Owner.User != "alice" || c.Server != "issues" || !slices.Equal(c.Waiters, []oauth.Waiter{*w, *other}) {
		t.Fatalf("%+v, %v", c, err)
	}
	if g.User(g.token(g.process(), s, alice())) != "alice@idp" {
		t.Error("the token is not alice's")
	}
	// The other call may not have been suspended yet, so that it could not be resumed: its address works.
	if c, err := g.process().Complete(t.Context(), g.Approve(second, "alice@idp"), nil); err != nil || !slices.Equal(c.Waiters, []oauth.Waiter{*other}) {
		t.Errorf("%+v, %v", c, err)
	}
}

func TestComplete_RefusesWhatWasNotAskedFor(t *testing.T) {
	g := newRig(t, oauthtest.Options{})
	b, s := g.process(), g.server()
	ctx := t.Context()

	t.Run("a replay", func(t *testing.T) {
		response := g.Approve(g.begin(b, s, alice(), nil), "alice@idp")
		if _, err := b.Complete(ctx, response, nil); err != nil {
			t.Fatal(err)
		}
		if c, err := g.process().Complete(ctx, response, nil); c != nil || !errors.Is(err, oauth.ErrState) {
			t.Errorf("%+v, %v", c, err)
		}
	})
	t.Run("a replay at the same moment", func(t *testing.T) {
		response := g.Approve(g.begin(b, s, alice(), nil), "alice@idp")
		before, _ := g.Tokens("authorization_code")
		var wg sync.WaitGroup
		for range 10 {
			wg.Go(func() { _, _ = g.process().Complete(ctx, response, nil) })
		}
		wg.Wait()
		if n, _ := g.Tokens("authorization_code"); n != before+1 {
			t.Errorf("the code was used %d times, want once", n-before)
		}
	})
	t.Run("a foreign state", func(t *testing.T) {
		for _, state := range []string{"", "x", strings.Repeat("A", 200), strings.Repeat("A", 20<<10)} {
			if c, err := b.Complete(ctx, url.Values{"state": {state}, "code": {"c"}}, nil); c != nil || !errors.Is(err, oauth.ErrState) {
				t.Errorf("%q: %+v, %v", state, c, err)
			}
		}
	})
	t.Run("another user", func(t *testing.T) {
		g.begin(b, s, bob(), nil)
		response := g.Approve(g.begin(b, s, bob(), nil), "victim@idp")
		refuse := errors.New("not bob")
		if c, err := b.Complete(ctx, response, func(c *oauth.Completed) error { return refuse }); c != nil || !errors.Is(err, refuse) {
			t.Errorf("%+v, %v", c, err)
		}
		_, err := b.Token(ctx, s, bob())
		g.needs(err, "there is no authorization")
		if _, err := b.Complete(ctx, response, func(c *oauth.Completed) error { return nil }); err != nil {
			t.Errorf("bob cannot complete it after another user tried: %v", err)
		}
	})
	t.Run("another issuer", func(t *testing.T) {
		for _, iss := range []string{"https://evil.example", ""} {
			response := g.Approve(g.begin(b, s, oauth.Owner{User: "carol"}, nil), "carol@idp")
			if iss == "" {
				response.Del("iss")
			} else {
				response.Set("iss", iss)
			}
			if c, err := b.Complete(ctx, response, nil); c == nil || err == nil || !strings.Contains(err.Error(), "issuer") {
				t.Errorf("%q: %+v, %v", iss, c, err)
			}
			_, err := b.Token(ctx, s, oauth.Owner{User: "carol"})
			g.needs(err, "there is no authorization")
		}
	})
	t.Run("a late response", func(t *testing.T) {
		response := g.Approve(g.begin(b, s, alice(), nil), "alice@idp")
		g.advance(25 * time.Hour)
		if _, err := b.Complete(ctx, response, nil); !errors.Is(err, oauth.ErrState) {
			t.Errorf("error is %v", err)
		}
	})
}

func TestComplete_TellsThatTheUserRefused(t *testing.T) {
	g := newRig(t, oauthtest.Options{})
	b, s := g.process(), g.server()
	w := oauth.Waiter{RunID: "r"}
	c, err := b.Complete(t.Context(), g.Deny(g.begin(b, s, alice(), &w)), nil)
	if err != nil || !strings.Contains(c.Denied, "access_denied") || !slices.Equal(c.Waiters, []oauth.Waiter{w}) {
		t.Fatalf("%+v, %v", c, err)
	}
	_, err = b.Token(t.Context(), s, alice())
	g.needs(err, "there is no authorization")
}

func TestToken_IsNotUsedForAnotherServer(t *testing.T) {
	g := newRig(t, oauthtest.Options{})
	b, s := g.process(), g.server()
	g.authorize(b, s, alice(), "alice@idp")
	for want, change := range map[string]func(*oauth.Server){
		"address of the server": func(s *oauth.Server) { s.URL = "https://evil.example/mcp" },
		"client ID":             func(s *oauth.Server) { s.Client.ID = "other" },
		"authorization server":  func(s *oauth.Server) { s.Issuer = "https://evil.example" },
		"mcp.write":             func(s *oauth.Server) { s.Scopes = []string{"mcp.read", "mcp.write"} },
	} {
		_, err := b.Token(t.Context(), g.server(change), alice())
		g.needs(err, want)
	}
	_, err := b.Token(t.Context(), &oauth.Server{ID: "other", URL: g.URL}, alice())
	g.needs(err, "there is no authorization")
}

func TestBegin_StepsUp(t *testing.T) {
	g := newRig(t, oauthtest.Options{})
	b, s := g.process(), g.server()
	g.authorize(b, s, alice(), "alice@idp")
	req, err := b.Begin(t.Context(), s, alice(), []string{"mcp.write"}, nil)
	if err != nil {
		t.Fatal(err)
	}
	if scope := query(t, req.URL).Get("scope"); scope != "mcp.read offline_access mcp.write" {
		t.Errorf("scope is %q, want what was granted and more", scope)
	}
}

func TestShared_IsOneAuthorizationForAll(t *testing.T) {
	g := newRig(t, oauthtest.Options{})
	b, s := g.process(), g.server(func(s *oauth.Server) { s.Grant = oauth.Shared })
	g.authorize(b, s, oauth.Owner{Tenant: "acme", User: "admin"}, "bot@idp")
	for _, o := range []oauth.Owner{{}, alice(), {Tenant: "other", User: "x"}} {
		if user := g.User(g.token(g.process(), s, o)); user != "bot@idp" {
			t.Errorf("%+v: user is %q", o, user)
		}
	}
}

func TestClientCredentials_NeedNoPerson(t *testing.T) {
	g := newRig(t, oauthtest.Options{})
	b, s := g.process(), g.server(func(s *oauth.Server) {
		s.Grant, s.Client.ID, s.Secret = oauth.ClientCredentials, oauthtest.BotID, awaken.NewSecret(oauthtest.BotSecret)
	})
	first := g.token(b, s, alice())
	if first != g.token(b, s, bob()) || g.User(first) != oauthtest.BotID {
		t.Errorf("the token is of %q, want one of the client for all", g.User(first))
	}
	g.advance(time.Hour)
	if next := g.token(b, s, alice()); next == first || g.User(next) != oauthtest.BotID {
		t.Errorf("the token is of %q, and new: %v", g.User(next), next != first)
	}
	s.Secret = awaken.NewSecret("wrong")
	if _, err := b.Token(t.Context(), s, alice()); err == nil || !strings.Contains(err.Error(), "invalid_client") {
		t.Errorf("error is %v", err)
	}
	if _, err := b.Begin(t.Context(), s, alice(), nil, nil); err == nil || !strings.Contains(err.Error(), "no person") {
		t.Errorf("error is %v", err)
	}
}

func TestRegister_UsesWhatIsConfigured(t *testing.T) {
	g := newRig(t, oauthtest.Options{Metadata: func(m map[string]any) { m["client_id_metadata_document_supported"] = true }})
	const document = "https://agents.example/v1/mcp-oauth/client.json"
	b := g.process(func(c *oauth.Config) { c.ClientURL = document })
	if id := query(t, g.begin(b, g.server(), alice(), nil)).Get("client_id"); id != document {
		t.Errorf("client_id is %q, want the address of the client's document", id)
	}
	if id := query(t, g.begin(b, g.server(func(s *oauth.Server) { s.Client.ID = "mine" }), alice(), nil)).Get("client_id"); id != "mine" {
		t.Errorf("client_id is %q, want the configured one", id)
	}
	if doc := string(b.ClientDocument()); !strings.Contains(doc, `"client_id":"`+document+`"`) || !strings.Contains(doc, redirect) {
		t.Errorf("document is %s", doc)
	}
	g = newRig(t, oauthtest.Options{Metadata: func(m map[string]any) { delete(m, "registration_endpoint") }})
	if _, err := g.process().Begin(t.Context(), g.server(), alice(), nil, nil); err == nil || !strings.Contains(err.Error(), "registers no clients") || !strings.Contains(err.Error(), redirect) {
		t.Errorf("error is %v", err)
	}
}

func TestDiscover_RefusesMetadata(t *testing.T) {
	long := strings.Repeat("x", 100_000)
	for _, c := range []struct {
		name string
		o    oauthtest.Options
		want string
	}{
		{"without PKCE", oauthtest.Options{Metadata: func(m map[string]any) { delete(m, "code_challenge_methods_supported") }}, "PKCE"},
		{"with plain PKCE only", oauthtest.Options{Metadata: func(m map[string]any) { m["code_challenge_methods_supported"] = []string{"plain"} }}, "S256"},
		{"of another issuer", oauthtest.Options{Metadata: func(m map[string]any) { m["issuer"] = "https://evil.example" }}, "issuer"},
		{"with a script as address", oauthtest.Options{Metadata: func(m map[string]any) { m["authorization_endpoint"] = "javascript:alert(1)" }}, "authorization_endpoint"},
		{"with a plain token endpoint", oauthtest.Options{Metadata: func(m map[string]any) { m["token_endpoint"] = "http://idp.example/token" }}, "token_endpoint"},
		{"with a plain revocation endpoint", oauthtest.Options{Metadata: func(m map[string]any) { m["revocation_endpoint"] = "http://idp.example/revoke" }}, "revocation_endpoint"},
		{"with a long token endpoint", oauthtest.Options{Metadata: func(m map[string]any) { m["token_endpoint"] = "https://idp.example/" + long }}, "token_endpoint"},
		{"with a long issuer", oauthtest.Options{Metadata: func(m map[string]any) { m["issuer"] = "https://idp.example/" + long }}, "issuer"},
		{"with many scopes", oauthtest.Options{Scopes: strings.SplitAfter(long, "xxxx")}, "scopes"},
		{"of another resource", oauthtest.Options{Resource: func(m *oauthex.ProtectedResourceMetadata) { m.Resource = "https://evil.example/mcp" }}, "who authorizes it"},
		{"without an authorization server", oauthtest.Options{Resource: func(m *oauthex.ProtectedResourceMetadata) { m.AuthorizationServers = nil }}, "no authorization server"},
	} {
		t.Run(c.name, func(t *testing.T) {
			g := newRig(t, c.o)
			if _, err := g.process().Begin(t.Context(), g.server(), alice(), nil, nil); err == nil || !strings.Contains(err.Error(), c.want) {
				t.Errorf("error is %.1000s, want one with %q", err, c.want)
			} else if len(err.Error()) > 4<<10 {
				t.Errorf("the error has %d bytes", len(err.Error()))
			}
		})
	}
	g := newRig(t, oauthtest.Options{})
	_, err := g.process().Begin(t.Context(), g.server(func(s *oauth.Server) { s.Issuer = "https://other.example" }), alice(), nil, nil)
	if err == nil || !strings.Contains(err.Error(), "https://other.example") {
		t.Errorf("error is %v", err)
	}
}

// A server may refuse only what clients send: requests with POST, or those with GET of the older transport.
func TestDiscover_AsksAsClientsDo(t *testing.T) {
	g := newRig(t, oauthtest.Options{})
	for _, method := range []string{http.MethodPost, http.MethodGet} {
		t.Run(method, func(t *testing.T) {
			var h *httptest.Server
			h = httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
				switch {
				case r.URL.Path == "/hidden/metadata":
					w.Header().Set("Content-Type", "application/json")
					_ = json.NewEncoder(w).Encode(map[string]any{"resource": h.URL + "/mcp", "authorization_servers": []string{g.Issuer}})
				case r.URL.Path == "/mcp" && r.Method == method:
					w.Header().Set("WWW-Authenticate", `Bearer resource_metadata="`+h.URL+`/hidden/metadata", scope="mcp.write"`)
					w.WriteHeader(http.StatusUnauthorized)
				default:
					w.WriteHeader(http.StatusNotFound)
				}
			}))
			t.Cleanup(h.Close)
			req, err := g.process().Begin(t.Context(), g.server(func(s *oauth.Server) { s.URL = h.URL + "/mcp" }), alice(), nil, nil)
			if err != nil {
				t.Fatal(err)
			}
			if scope := query(t, req.URL).Get("scope"); scope != "mcp.write offline_access" {
				t.Errorf("scope is %q, want what the server asks for", scope)
			}
		})
	}
}

func TestDiscover_DoesNotReachPrivateAddresses(t *testing.T) {
	var reached bool
	private := httptest.NewServer(http.HandlerFunc(func(http.ResponseWriter, *http.Request) { reached = true }))
	t.Cleanup(private.Close)
	for name, o := range map[string]oauthtest.Options{
		"the metadata of the server":  {Resource: func(m *oauthex.ProtectedResourceMetadata) { m.AuthorizationServers = []string{private.URL} }},
		"the registration endpoint":   {Metadata: func(m map[string]any) { m["registration_endpoint"] = private.URL + "/register" }},
		"the address of the metadata": {},
	} {
		t.Run(name, func(t *testing.T) {
			g := newRig(t, o)
			var b *oauth.Broker
			if name == "the address of the metadata" { // nothing private is allowed at all
				b = g.process(func(c *oauth.Config) { c.Client = nil })
			} else {
				b = g.process(func(c *oauth.Config) { c.Client = only(g.URL, g.Issuer) })
			}
			if _, err := b.Begin(t.Context(), g.server(), alice(), nil, nil); err == nil || !errors.Is(err, httpguard.ErrAddress) && !strings.Contains(err.Error(), "not allowed") {
				t.Errorf("error is %v, want that the address is not allowed", err)
			}
			if reached {
				t.Error("the private address was reached")
			}
		})
	}
}

func TestSecrets_AreNeitherStoredInPlainTextNorLogged(t *testing.T) {
	g := newRig(t, oauthtest.Options{})
	b, s := g.process(), g.server()
	g.authorize(b, s, alice(), "alice@idp")
	g.advance(10 * time.Minute)
	g.token(b, s, alice())
	pending := g.begin(b, s, bob(), nil)
	if err := b.Revoke(t.Context(), s, oauth.Owner{User: "carol"}); err != nil {
		t.Fatal(err)
	}
	stored, logged := g.stored("mcp.grants/issues", "mcp.flows/issues", "mcp.clients"), g.log.String()
	if !strings.Contains(stored, "user::alice") || !strings.Contains(stored, "user::bob") || logged == "" {
		t.Fatalf("nothing is stored or logged: %s", stored)
	}
	secrets := append(g.Secrets(), query(t, pending).Get("state"))
	if len(secrets) < 6 {
		t.Fatalf("only %d secrets are known", len(secrets))
	}
	for _, secret := range secrets {
		if strings.Contains(stored, secret) || strings.Contains(logged, secret) {
			t.Error("a secret is stored in plain text, or logged")
		}
	}
}

func TestToken_AsksAgainIfTheKeyIsLost(t *testing.T) {
	g := newRig(t, oauthtest.Options{})
	s := g.server()
	g.authorize(g.process(), s, alice(), "alice@idp")
	sealer, err := oauth.NewSealer(make([]byte, 32))
	if err != nil {
		t.Fatal(err)
	}
	b := g.process(func(c *oauth.Config) { c.Sealer = sealer })
	_, err = b.Token(context.Background(), s, alice())
	g.needs(err, "there is no authorization")
	g.authorize(b, s, alice(), "alice@idp")
	if g.User(g.token(b, s, alice())) != "alice@idp" {
		t.Error("alice cannot authorize again")
	}
}
