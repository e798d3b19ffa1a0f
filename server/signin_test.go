package server_test

import (
	"crypto/tls"
	"encoding/json"
	"fmt"
	"io"
	"net/http"
	"net/http/httptest"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/awaken-go/awaken/server"
	"github.com/awaken-go/awaken/server/access"
	"github.com/awaken-go/awaken/server/servertest"
)

// signIn signs in with a key and returns the cookie.
func (g *rig) signIn(key ...string) *http.Cookie {
	g.t.Helper()
	resp := g.do("POST", "/v1/session", "", key...)
	resp.Body.Close()
	if len(resp.Cookies()) != 1 || resp.StatusCode != 200 {
		g.t.Fatalf("sign in: %s with cookies %v, want one", resp.Status, resp.Cookies())
	}
	return resp.Cookies()[0]
}

// asPage returns the headers of a request that a page of the server makes.
func (g *rig) asPage(c *http.Cookie) []string {
	return []string{"Cookie", c.Name + "=" + c.Value, "Origin", g.http.URL, "Sec-Fetch-Site", "same-origin"}
}

// GET /v1/session says to every kind of caller what it may do. The routes agree: TestUsers_EveryRouteForEveryCaller.
func TestSession_SaysWhatTheCallerMayDo(t *testing.T) {
	t.Parallel()
	open, closed := newRig(t), newRig(t, func(c *servertest.Config) { c.Open = new(false) })
	hidden := newRig(t, func(c *servertest.Config) { c.HideConfig = true })
	make := func(g *rig, body string) []string {
		return []string{"Authorization", "Bearer " + g.want(201, "POST", "/v1/keys", body, admin...)["secret"].(string)}
	}
	for name, tt := range map[string]struct {
		g       *rig
		headers []string
		may     string
		key     string // kind, tenant and user; "" if there is none
	}{
		"no key on an open server":     {open, nil, "read run", ""},
		"no key through a proxy":       {open, []string{"X-Forwarded-For", "192.0.2.1"}, "", ""},
		"no key on a closed server":    {closed, nil, "", ""},
		"read":                         {closed, make(closed, `{"kind":"read"}`), "read", "read  "},
		"run of a user":                {closed, make(closed, `{"kind":"run","tenant":"acme","user":"ada"}`), "read run", "run acme ada"},
		"admin of a tenant":            {closed, make(closed, `{"kind":"admin","tenant":"acme"}`), "read run admin", "admin acme "},
		"admin":                        {open, admin, "read run admin config", "admin  "},
		"admin of a hidden config":     {hidden, admin, "read run admin", "admin  "},
		"ended session, open server":   {open, []string{"Cookie", cookieOf(open) + "=0123456789abcdef0123456789abcdef.x"}, "read run", ""},
		"ended session, closed server": {closed, []string{"Cookie", cookieOf(closed) + "=0123456789abcdef0123456789abcdef.x"}, "", ""},
	} {
		var out struct {
			Open bool
			Key  *struct{ ID, Kind, Tenant, User, Label string }
			May  struct{ Read, Run, Admin, Config bool }

			Features map[string]bool
			Version  string
			NowMS    int64 `json:"now_ms"`
		}
		status, text := tt.g.ask("GET", "/v1/session", "", tt.headers...)
		if err := json.Unmarshal([]byte(text), &out); err != nil || status != 200 {
			t.Fatalf("%s: %d %s", name, status, text)
		}
		var may []string
		for _, m := range []struct {
			name string
			ok   bool
		}{{"read", out.May.Read}, {"run", out.May.Run}, {"admin", out.May.Admin}, {"config", out.May.Config}} {
			if m.ok {
				may = append(may, m.name)
			}
		}
		key := ""
		if k := out.Key; k != nil {
			key = k.Kind + " " + k.Tenant + " " + k.User
		}
		if got := strings.Join(may, " "); got != tt.may || key != tt.key || out.Open != (tt.g != closed) {
			t.Errorf("%s: may %q with key %q, want %q with %q: %s", name, got, key, tt.may, tt.key, text)
		}
		config := tt.g != hidden
		want := map[string]bool{"config": config, "audit": config, "budgets": true, "evals": true, "schedules": true, "webhooks": true, "triggers": true, "traces": true, "assistant": config}
		if diff := cmp.Diff(want, out.Features); diff != "" {
			t.Errorf("%s: features (-want +got):\n%s", name, diff)
		}
		if out.Version == "" || time.Since(time.UnixMilli(out.NowMS)).Abs() > time.Hour {
			t.Errorf("%s: %s", name, text)
		}
	}
	open.want(401, "GET", "/v1/session", "", "Authorization", "Bearer wrong")
	open.want(403, "GET", "/v1/session", "", "Origin", "https://evil.example")
}

// cookieOf returns the name of a server's cookie.
func cookieOf(g *rig) string {
	return "awaken_session_" + g.http.URL[strings.LastIndex(g.http.URL, ":")+1:]
}

// A page signs in with a key and uses the server with the cookie alone, until it signs out.
func TestSession_TheCookieStandsForTheKey(t *testing.T) {
	t.Parallel()
	g := newRig(t, func(c *servertest.Config) { c.Open = new(false) })
	made := g.want(201, "POST", "/v1/keys", `{"kind":"run","label":"ada's"}`, admin...)
	key := []string{"Authorization", "Bearer " + made["secret"].(string)}
	c := g.signIn(key...)
	if !c.HttpOnly || c.SameSite != http.SameSiteStrictMode || c.Secure || c.Path != "/" || c.Domain != "" || c.MaxAge < 3000 || c.MaxAge > 3600 {
		t.Errorf("the cookie is %s", c.Raw)
	}
	if strings.Contains(c.Value, made["secret"].(string)) || strings.Contains(c.Value, made["id"].(string)) {
		t.Errorf("the cookie %s shows the key", c.Value)
	}
	page := g.asPage(c)
	out := g.want(200, "GET", "/v1/session", "", page...)
	if k := out["key"].(map[string]any); k["id"] != made["id"] || k["label"] != "ada's" {
		t.Errorf("the session is %v", out)
	}
	terms := out["session"].(map[string]any)
	if left := time.Until(time.UnixMilli(int64(terms["expires_ms"].(float64)))); left > time.Hour || left < 50*time.Minute {
		t.Errorf("the session lasts for %s, want an hour", left)
	}
	_, run := g.done(page...)
	g.want(200, "GET", "/v1/runs/"+run, "", "Cookie", c.Name+"="+c.Value)
	g.want(403, "GET", "/v1/keys", "", page...) // as the key itself
	renewed := g.do("POST", "/v1/session", "", page...)
	renewed.Body.Close()
	if list := renewed.Cookies(); renewed.StatusCode != 200 || len(list) != 1 || list[0].Value != c.Value {
		t.Errorf("renewal: %s with %v, want the same cookie", renewed.Status, list)
	}
	resp := g.do("DELETE", "/v1/session", "", page...)
	resp.Body.Close()
	if list := resp.Cookies(); resp.StatusCode != 204 || len(list) != 1 || list[0].Name != c.Name || list[0].MaxAge >= 0 {
		t.Errorf("sign out: %s with %v, want the cookie gone", resp.Status, list)
	}
	after := g.do("GET", "/v1/runs", "", page...)
	after.Body.Close()
	if list := after.Cookies(); after.StatusCode != 401 || len(list) != 1 || list[0].MaxAge >= 0 {
		t.Errorf("after signing out: %s with %v, want 401 and the cookie gone", after.Status, list)
	}
	g.want(204, "DELETE", "/v1/session", "", page...) // once more changes nothing
	g.want(200, "GET", "/v1/runs", "", key...)        // the key is as it was
	g.want(401, "POST", "/v1/session", "", page...)   // and cannot be had from an ended session
}

// What a key may not do, its session may not either, and a key that is revoked takes its sessions with it.
func TestSession_IsRevokedWithItsKey(t *testing.T) {
	t.Parallel()
	g := newRig(t, func(c *servertest.Config) { c.Open = new(false) })
	made := g.want(201, "POST", "/v1/keys", `{"kind":"read"}`, admin...)
	page := g.asPage(g.signIn("Authorization", "Bearer "+made["secret"].(string)))
	g.want(403, "POST", "/v1/runs", runBody("default", "", "hello"), page...)
	thread, _ := g.done(admin...)
	stream := g.do("GET", "/v1/threads/"+thread+"/events/stream", "", page...)
	defer stream.Body.Close()
	if stream.StatusCode != 200 {
		t.Fatal(stream.Status)
	}
	g.want(204, "DELETE", "/v1/keys/"+made["id"].(string), "", admin...)
	g.want(401, "GET", "/v1/threads", "", page...)
	if text, _ := io.ReadAll(stream.Body); !strings.Contains(string(text), "unauthorized") { // it ends
		t.Errorf("the stream ended with %s", text)
	}
}

// A page of another origin cannot use a session, whatever the browser sends along: not to change, and
// not to read. CORS never allows cookies.
func TestSession_OnlyPagesOfTheServerUseIt(t *testing.T) {
	t.Parallel()
	g := newRig(t, func(c *servertest.Config) { c.Origins = []string{"https://app.example"} })
	c := g.signIn(admin...)
	cookie := []string{"Cookie", c.Name + "=" + c.Value + "; __Host-" + c.Name + "=" + c.Value} // over TLS, the second counts
	const change, key = "/v1/keys", `{"kind":"read"}`
	for name, headers := range map[string][]string{
		"no origin":            nil,
		"opaque origin":        {"Origin", "null"},
		"another port":         {"Origin", "http://127.0.0.1:1"},
		"another name":         {"Origin", strings.Replace(g.http.URL, "127.0.0.1", "localhost", 1)},
		"a page with CORS":     {"Origin", "https://app.example"},
		"plain text over TLS":  {"Origin", g.http.URL, "X-Forwarded-Proto", "https"},
		"a page of the domain": {"Origin", g.http.URL, "Sec-Fetch-Site", "same-site"},
		"origin with a path":   {"Origin", g.http.URL + "/x"},
	} {
		if status, text := g.ask("POST", change, key, append(headers, cookie...)...); status != 403 || !strings.Contains(text, "forbidden_origin") {
			t.Errorf("%s: a change is answered with %d %s, want 403", name, status, text)
		}
		if status, text := g.ask("GET", "/v1/keys", "", append(headers, cookie...)...); headers != nil && (status != 403 || !strings.Contains(text, "forbidden_origin")) {
			t.Errorf("%s: a read is answered with %d %s, want 403", name, status, text)
		}
		if status, _ := g.ask("DELETE", "/v1/session", "", append(headers, cookie...)...); status != 403 {
			t.Errorf("%s: signing out is answered with %d, want 403", name, status)
		}
	}
	for _, origin := range []string{"http://127.0.0.1:1", "https://app.example"} { // with a key of its own
		if status, text := g.ask("POST", "/v1/session", "", append([]string{"Origin", origin}, admin...)...); status != 403 || !strings.Contains(text, "forbidden_origin") {
			t.Errorf("a page of %s signs the browser in: %d %s, want 403", origin, status, text)
		}
		g.want(200, "GET", "/v1/keys", "", append([]string{"Origin", origin}, admin...)...) // but may use it
	}
	g.want(201, "POST", change, key, g.asPage(c)...)
	g.want(200, "GET", "/v1/keys", "", append([]string{"Sec-Fetch-Site", "none", "Sec-Fetch-Mode", "navigate"}, cookie...)...) // its address was typed in
	resp := g.do("OPTIONS", change, "", "Origin", "https://app.example", "Access-Control-Request-Method", "POST")
	resp.Body.Close()
	if v := resp.Header.Get("Access-Control-Allow-Credentials"); v != "" {
		t.Errorf("CORS allows cookies: %q", v)
	}
}

// Over TLS, to the server or to a proxy, the cookie is sent over TLS only and cannot come from another
// host of the domain.
func TestSession_CookiesOverTLSAreSecure(t *testing.T) {
	t.Parallel()
	g := newRig(t)
	ask := func(method, host string, change func(r *http.Request)) *http.Response {
		r := httptest.NewRequestWithContext(t.Context(), method, "http://"+host+"/v1/session", nil)
		r.Header.Set("Authorization", "Bearer "+adminKey)
		change(r)
		w := httptest.NewRecorder()
		g.srv.Handler().ServeHTTP(w, r)
		return w.Result()
	}
	for name, change := range map[string]func(r *http.Request){
		"TLS":               func(r *http.Request) { r.TLS = &tls.ConnectionState{} },
		"X-Forwarded-Proto": func(r *http.Request) { r.Header.Set("X-Forwarded-Proto", "https, http") },
		"Forwarded": func(r *http.Request) {
			r.Header.Set("Forwarded", `for=192.0.2.1;proto="https", for=10.0.0.1;proto=http`)
		},
		"the browser's origin": func(r *http.Request) { r.Header.Set("Origin", "https://localhost") },
	} {
		list := ask("POST", "localhost", change).Cookies()
		if len(list) != 1 || !list[0].Secure || list[0].Name != "__Host-awaken_session" || list[0].Path != "/" || list[0].Domain != "" {
			t.Fatalf("%s: cookies are %v", name, list)
		}
		key := func(cookie string) any {
			var out struct{ Key any }
			resp := ask("GET", "localhost", func(r *http.Request) {
				change(r)
				r.Header.Del("Authorization")
				r.Header.Set("Cookie", cookie)
			})
			if err := json.NewDecoder(resp.Body).Decode(&out); err != nil {
				t.Fatal(err)
			}
			return out.Key
		}
		if key(list[0].Name+"="+list[0].Value) == nil {
			t.Errorf("%s: the cookie does not work", name)
		}
		if name != "the browser's origin" && key("awaken_session="+list[0].Value) != nil {
			t.Errorf("%s: a cookie works that another host of the domain may have set", name)
		}
	}
	if list := ask("POST", "localhost:3000", func(*http.Request) {}).Cookies(); list[0].Secure || list[0].Name != "awaken_session_3000" {
		t.Errorf("without TLS: cookies are %v", list)
	}
}

// Guessing the secret of a session is guessing a key.
func TestSession_WrongCookiesMakeAnAddressWait(t *testing.T) {
	t.Parallel()
	g := newRig(t, func(c *servertest.Config) { c.Open, c.Limits.WrongKeys = new(false), 5 })
	used := g.signIn(admin...)
	g.want(200, "GET", "/v1/threads", "", g.asPage(used)...)
	for i := range 5 {
		g.want(401, "GET", "/v1/threads", "", "Cookie", fmt.Sprintf("%s=0123456789abcdef0123456789abcdef.%d", used.Name, i))
	}
	g.want(429, "GET", "/v1/threads", "", "Cookie", used.Name+"=0123456789abcdef0123456789abcdef.x")
	g.want(429, "POST", "/v1/session", "", "Authorization", "Bearer a-wrong-key")
	g.want(429, "GET", "/v1/session", "", "Authorization", "Bearer a-wrong-key")
	g.want(200, "GET", "/v1/threads", "", g.asPage(used)...) // others of the same proxy go on
	g.want(200, "POST", "/v1/session", "", admin...)
}

// A server whose program gave it no store for keys says so.
func TestSession_NeedsAStore(t *testing.T) {
	t.Parallel()
	g := newRig(t)
	keys := access.NewKeys(nil)
	if err := keys.Fix(adminKey, server.Key{ID: "admin", Kind: server.AdminKey}); err != nil {
		t.Fatal(err)
	}
	bare := &rig{t: t, db: g.db, keys: keys}
	bare.start()
	bare.says(503, "no store", "POST", "/v1/session", "", admin...)
	bare.want(200, "GET", "/v1/session", "", admin...)
	bare.want(401, "GET", "/v1/threads", "", "Cookie", cookieOf(bare)+"=x")
}
