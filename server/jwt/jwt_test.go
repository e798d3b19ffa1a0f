package jwt

import (
	"context"
	"crypto/ecdsa"
	"crypto/ed25519"
	"crypto/elliptic"
	"crypto/rand"
	"crypto/rsa"
	"encoding/json"
	"errors"
	"net/http"
	"net/http/httptest"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"github.com/go-jose/go-jose/v4"
	"github.com/go-jose/go-jose/v4/jwt"
)

// issuer is an identity provider: discovery, a key set that can be changed, and tokens.
type issuer struct {
	*httptest.Server
	now time.Time

	mu      sync.Mutex
	keys    []jose.JSONWebKey
	extra   string // more entries of the key set, as JSON
	down    bool
	fetches atomic.Int32
}

func newIssuer(t *testing.T, keys ...jose.JSONWebKey) *issuer {
	is := &issuer{now: time.Date(2026, 11, 15, 12, 0, 0, 0, time.UTC), keys: keys}
	mux := http.NewServeMux()
	mux.HandleFunc("/.well-known/openid-configuration", func(w http.ResponseWriter, _ *http.Request) {
		json.NewEncoder(w).Encode(map[string]string{"issuer": is.URL, "jwks_uri": is.URL + "/keys"})
	})
	mux.HandleFunc("/keys", func(w http.ResponseWriter, _ *http.Request) {
		is.fetches.Add(1)
		is.mu.Lock()
		defer is.mu.Unlock()
		if is.down {
			http.Error(w, "down", http.StatusServiceUnavailable)
			return
		}
		var list []json.RawMessage
		for _, k := range is.keys {
			pub := k.Public()
			data, _ := json.Marshal(pub)
			list = append(list, data)
		}
		if is.extra != "" {
			list = append(list, json.RawMessage(is.extra))
		}
		json.NewEncoder(w).Encode(map[string]any{"keys": list})
	})
	is.Server = httptest.NewServer(mux)
	t.Cleanup(is.Close)
	return is
}

func (is *issuer) verifier(t *testing.T, change func(*Config)) *Verifier {
	t.Helper()
	cfg := Config{Issuer: is.URL, Audiences: []string{"awaken"}, Client: is.Client(), Now: func() time.Time { return is.now }}
	if change != nil {
		change(&cfg)
	}
	v, err := New(cfg)
	if err != nil {
		t.Fatal(err)
	}
	return v
}

// sign makes a token with the usual claims, over which claims are laid; nil removes one.
func (is *issuer) sign(t *testing.T, key jose.JSONWebKey, claims map[string]any) string {
	t.Helper()
	all := map[string]any{"iss": is.URL, "aud": "awaken", "sub": "ada", "exp": is.now.Add(time.Hour).Unix(), "iat": is.now.Unix()}
	for k, v := range claims {
		if v == nil {
			delete(all, k)
		} else {
			all[k] = v
		}
	}
	signer, err := jose.NewSigner(jose.SigningKey{Algorithm: jose.SignatureAlgorithm(key.Algorithm), Key: key}, nil)
	if err != nil {
		t.Fatal(err)
	}
	token, err := jwt.Signed(signer).Claims(all).Serialize()
	if err != nil {
		t.Fatal(err)
	}
	return token
}

func ecKey(t *testing.T, id string) jose.JSONWebKey {
	t.Helper()
	k, err := ecdsa.GenerateKey(elliptic.P256(), rand.Reader)
	if err != nil {
		t.Fatal(err)
	}
	return jose.JSONWebKey{Key: k, KeyID: id, Algorithm: string(jose.ES256), Use: "sig"}
}

func TestVerify_AcceptsEveryKindOfKey(t *testing.T) {
	rsaKey, err := rsa.GenerateKey(rand.Reader, 2048)
	if err != nil {
		t.Fatal(err)
	}
	_, edKey, err := ed25519.GenerateKey(rand.Reader)
	if err != nil {
		t.Fatal(err)
	}
	keys := []jose.JSONWebKey{ecKey(t, "ec"), {Key: rsaKey, KeyID: "rsa", Algorithm: string(jose.RS256)}, {Key: edKey, KeyID: "ed", Algorithm: string(jose.EdDSA)}}
	is := newIssuer(t, keys...)
	is.extra = `{"kty":"future","kid":"x"}` // must not disturb the others
	v := is.verifier(t, func(c *Config) { c.TenantClaim = "org" })
	for _, key := range keys {
		c, err := v.Verify(t.Context(), is.sign(t, key, map[string]any{"org": "acme"}))
		if err != nil {
			t.Fatalf("%s: %v", key.KeyID, err)
		}
		if c.User != "ada" || c.Tenant != "acme" || !c.Expires.Equal(is.now.Add(time.Hour)) {
			t.Errorf("%s: claims are %+v", key.KeyID, c)
		}
	}
	if n := is.fetches.Load(); n != 1 {
		t.Errorf("the key set was fetched %d times, want once", n)
	}
}

func TestVerify_Refuses(t *testing.T) {
	key, stranger := ecKey(t, "k1"), ecKey(t, "k1")
	is := newIssuer(t, key)
	v := is.verifier(t, func(c *Config) { c.TenantClaim = "org" })
	ok := map[string]any{"org": "acme"}
	with := func(k string, val any) map[string]any { return map[string]any{"org": "acme", k: val} }
	hmac := func() string {
		signer, err := jose.NewSigner(jose.SigningKey{Algorithm: jose.HS256, Key: []byte(strings.Repeat("k", 32))}, nil)
		if err != nil {
			t.Fatal(err)
		}
		token, err := jwt.Signed(signer).Claims(map[string]any{"iss": is.URL, "aud": "awaken", "sub": "eve", "org": "acme", "exp": is.now.Add(time.Hour).Unix()}).Serialize()
		if err != nil {
			t.Fatal(err)
		}
		return token
	}
	good := is.sign(t, key, ok)
	parts := strings.Split(good, ".")
	for _, tt := range []struct{ name, token, want string }{
		{"another's signature", is.sign(t, stranger, ok), "no key of the issuer"},
		{"a symmetric signature", hmac(), "accepted algorithm"},
		{"no signature", parts[0] + "." + parts[1] + ".", "no key of the issuer"},
		{"algorithm none", "eyJhbGciOiJub25lIn0." + parts[1] + ".", "accepted algorithm"},
		{"an expired token", is.sign(t, key, with("exp", is.now.Add(-2*time.Minute).Unix())), "expired"},
		{"no expiry", is.sign(t, key, with("exp", nil)), "no expiry"},
		{"a token of tomorrow", is.sign(t, key, with("nbf", is.now.Add(2*time.Minute).Unix())), "not valid yet"},
		{"another audience", is.sign(t, key, with("aud", "billing")), "another audience"},
		{"no audience", is.sign(t, key, with("aud", nil)), "another audience"},
		{"another issuer", is.sign(t, key, with("iss", "https://evil.example")), "another issuer"},
		{"no user", is.sign(t, key, with("sub", nil)), `claim "sub" is missing`},
		{"an empty user", is.sign(t, key, with("sub", "")), `claim "sub" is not a text`},
		{"a user that is a number", is.sign(t, key, with("sub", 7)), "wrong types"},
		{"a tenant that is a number", is.sign(t, key, with("org", 7)), `claim "org" is not a text`},
		{"no tenant", is.sign(t, key, with("org", nil)), `claim "org" is missing`},
		{"not a token", "hello", "not a signed JWT"},
		{"nothing", "", "not a signed JWT"},
		{"a very long token", strings.Repeat("x", maxToken+1), "more than"},
	} {
		c, err := v.Verify(t.Context(), tt.token)
		if !errors.Is(err, ErrToken) || !strings.Contains(err.Error(), tt.want) || c != nil {
			t.Errorf("%s: %+v, %v; want ErrToken with %q", tt.name, c, err, tt.want)
		}
	}
	if _, err := v.Verify(t.Context(), good); err != nil {
		t.Errorf("the good token is refused: %v", err)
	}
}

func TestVerify_FollowsRotatedKeys(t *testing.T) {
	first, second := ecKey(t, "k1"), ecKey(t, "k2")
	is := newIssuer(t, first)
	v := is.verifier(t, nil)
	if _, err := v.Verify(t.Context(), is.sign(t, first, nil)); err != nil {
		t.Fatal(err)
	}
	is.mu.Lock()
	is.keys = []jose.JSONWebKey{second}
	is.mu.Unlock()

	is.now = is.now.Add(retryAfter)
	if _, err := v.Verify(t.Context(), is.sign(t, second, nil)); err != nil {
		t.Fatalf("a token of the new key: %v", err)
	}
	if _, err := v.Verify(t.Context(), is.sign(t, first, nil)); !errors.Is(err, ErrToken) {
		t.Errorf("a token of the key that was withdrawn: %v, want ErrToken", err)
	}
}

func TestVerify_FetchesKeysOnceForManyTokens(t *testing.T) {
	key := ecKey(t, "k1")
	is := newIssuer(t, key)
	v := is.verifier(t, nil)
	token := is.sign(t, key, nil)
	var wg sync.WaitGroup
	for range 50 {
		wg.Go(func() {
			if _, err := v.Verify(t.Context(), token); err != nil {
				t.Error(err)
			}
		})
	}
	wg.Wait()
	for i := range 100 { // names of keys are the client's to choose
		stranger := ecKey(t, "made-up")
		if _, err := v.Verify(t.Context(), is.sign(t, stranger, nil)); !errors.Is(err, ErrToken) {
			t.Fatalf("token %d: %v, want ErrToken", i, err)
		}
	}
	if n := is.fetches.Load(); n != 1 {
		t.Errorf("the key set was fetched %d times, want once", n)
	}
}

func TestVerify_OutlivesAnIssuerThatIsDown(t *testing.T) {
	key := ecKey(t, "k1")
	is := newIssuer(t, key)
	is.down = true
	v := is.verifier(t, nil)
	token := is.sign(t, key, map[string]any{"exp": is.now.Add(48 * time.Hour).Unix()})
	if _, err := v.Verify(t.Context(), token); !errors.Is(err, ErrUnavailable) {
		t.Fatalf("without keys: %v, want ErrUnavailable", err)
	}
	set := func(down bool) {
		is.mu.Lock()
		is.down = down
		is.mu.Unlock()
	}
	set(false)
	is.now = is.now.Add(retryAfter)
	if _, err := v.Verify(t.Context(), token); err != nil {
		t.Fatal(err)
	}
	set(true)
	is.now = is.now.Add(usableFor - time.Second)
	if _, err := v.Verify(t.Context(), token); err != nil {
		t.Errorf("with keys of yesterday: %v", err)
	}
	is.now = is.now.Add(retryAfter)
	if _, err := v.Verify(t.Context(), token); !errors.Is(err, ErrUnavailable) {
		t.Errorf("with keys that are too old: %v, want ErrUnavailable", err)
	}
}

func TestVerify_AClientThatLeavesDoesNotFailOthers(t *testing.T) {
	key := ecKey(t, "k1")
	is := newIssuer(t, key)
	v := is.verifier(t, nil)
	ctx, cancel := context.WithCancel(t.Context())
	cancel()
	if _, err := v.Verify(ctx, is.sign(t, key, nil)); err != nil {
		t.Errorf("the fetch was given up with its first client: %v", err)
	}
}

func TestNew_ChecksItsConfig(t *testing.T) {
	base := Config{Issuer: "https://id.example", Audiences: []string{"a"}, Client: http.DefaultClient}
	for _, tt := range []struct {
		change func(*Config)
		want   string
	}{
		{func(c *Config) { c.Issuer = "" }, "issuer"},
		{func(c *Config) { c.Audiences = nil }, "audiences"},
		{func(c *Config) { c.Client = nil }, "client"},
		{func(c *Config) { c.Issuer = "http://id.example" }, "https"},
		{func(c *Config) { c.Issuer = "id" }, "https"},
		{func(c *Config) { c.KeysURL = "ftp://id.example/keys" }, "https"},
		{func(c *Config) { c.KeysURL = "https://u:p@id.example/keys" }, "https"},
	} {
		cfg := base
		tt.change(&cfg)
		if _, err := New(cfg); err == nil || !strings.Contains(err.Error(), tt.want) {
			t.Errorf("%+v: %v, want an error about %s", cfg, err, tt.want)
		}
	}
	base.Issuer, base.KeysURL = "my-issuer", "https://id.example/keys"
	if _, err := New(base); err != nil {
		t.Errorf("an issuer that is a name, with a KeysURL: %v", err)
	}
}

func FuzzVerify(f *testing.F) {
	f.Add("eyJhbGciOiJFUzI1NiIsImtpZCI6ImsxIn0.e30.AAAA")
	f.Add("..")
	f.Fuzz(func(t *testing.T, token string) {
		v := &Verifier{cfg: Config{Issuer: "i", Audiences: []string{"a"}, UserClaim: "sub", Now: time.Now}}
		k, err := ecdsa.GenerateKey(elliptic.P256(), rand.Reader)
		if err != nil {
			t.Fatal(err)
		}
		v.keys = &keySet{now: time.Now, keys: []jose.JSONWebKey{{Key: &k.PublicKey, KeyID: "k1"}}, fetched: time.Now(), tried: time.Now()}
		if c, err := v.Verify(t.Context(), token); err == nil || c != nil {
			t.Errorf("%q is accepted", token)
		}
	})
}
