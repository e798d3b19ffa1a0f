package oauth_test

import (
	"bytes"
	"encoding/json"
	"errors"
	"log/slog"
	"net/http"
	"net/netip"
	"net/url"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/awaken-go/awaken/internal/httpguard"
	"github.com/awaken-go/awaken/plugin/mcp/oauth"
	"github.com/awaken-go/awaken/plugin/mcp/oauth/oauthtest"
	"github.com/awaken-go/awaken/state/profile"
	"github.com/awaken-go/awaken/store/memory"
)

// rig is an authorization server, and the processes that use it.
type rig struct {
	*oauthtest.Server
	t      *testing.T
	sealer oauth.Sealer
	log    buffer

	mu     sync.Mutex
	stores map[string]profile.Store // by tenant
	ahead  time.Duration            // of the brokers' clock
}

const redirect = "http://localhost:3000/callback"

func newRig(t *testing.T, o oauthtest.Options) *rig {
	t.Helper()
	sealer, err := oauth.NewSealer(bytes.Repeat([]byte{7}, 32))
	if err != nil {
		t.Fatal(err)
	}
	return &rig{Server: oauthtest.New(t, o), t: t, sealer: sealer, stores: map[string]profile.Store{}}
}

func (g *rig) values(tenant string) profile.Store {
	g.mu.Lock()
	defer g.mu.Unlock()
	if g.stores[tenant] == nil {
		g.stores[tenant] = memory.NewProfile()
	}
	return g.stores[tenant]
}

// process returns a broker as another process has one.
func (g *rig) process(change ...func(*oauth.Config)) *oauth.Broker {
	g.t.Helper()
	cfg := oauth.Config{Values: g.values, Shared: g.values("system"), Sealer: g.sealer, RedirectURL: redirect,
		Client: httpguard.New(httpguard.Options{Allow: []netip.Prefix{netip.MustParsePrefix("127.0.0.0/8")}, Redirects: -1}),
		Logger: slog.New(slog.NewTextHandler(&g.log, &slog.HandlerOptions{Level: slog.LevelDebug})),
		Now: func() time.Time {
			g.mu.Lock()
			defer g.mu.Unlock()
			return time.Now().Add(g.ahead)
		}}
	for _, f := range change {
		f(&cfg)
	}
	b, err := oauth.New(cfg)
	if err != nil {
		g.t.Fatal(err)
	}
	return b
}

// advance moves the clock of the brokers.
func (g *rig) advance(d time.Duration) {
	g.mu.Lock()
	defer g.mu.Unlock()
	g.ahead += d
}

func (g *rig) server(change ...func(*oauth.Server)) *oauth.Server {
	s := &oauth.Server{ID: "issues", URL: g.URL}
	for _, f := range change {
		f(s)
	}
	return s
}

// begin begins an authorization.
func (g *rig) begin(b *oauth.Broker, s *oauth.Server, o oauth.Owner, w *oauth.Waiter) string {
	g.t.Helper()
	req, err := b.Begin(g.t.Context(), s, o, nil, w)
	if err != nil {
		g.t.Fatal(err)
	}
	return req.URL
}

// authorize lets a user of the authorization server authorize the server for an owner.
func (g *rig) authorize(b *oauth.Broker, s *oauth.Server, o oauth.Owner, user string) {
	g.t.Helper()
	if c, err := b.Complete(g.t.Context(), g.Approve(g.begin(b, s, o, nil), user), nil); err != nil || c.Denied != "" {
		g.t.Fatalf("%+v, %v", c, err)
	}
}

// token returns the access token of an owner.
func (g *rig) token(b *oauth.Broker, s *oauth.Server, o oauth.Owner) string {
	g.t.Helper()
	token, err := b.Token(g.t.Context(), s, o)
	if err != nil {
		g.t.Fatal(err)
	}
	return token.Access.Expose()
}

// needs fails unless the error is that the owner has to authorize the server, for a reason.
func (g *rig) needs(err error, reason string) {
	g.t.Helper()
	if e, ok := errors.AsType[*oauth.Needed](err); !ok || !strings.Contains(e.Reason, reason) {
		g.t.Fatalf("error is %v, want that an authorization is needed because %q", err, reason)
	}
}

// stored returns everything that the profiles hold.
func (g *rig) stored(namespaces ...string) string {
	g.t.Helper()
	var sb strings.Builder
	g.mu.Lock()
	defer g.mu.Unlock()
	for _, s := range g.stores {
		for _, ns := range namespaces {
			entries, err := s.List(g.t.Context(), ns)
			if err != nil {
				g.t.Fatal(err)
			}
			data, err := json.Marshal(entries)
			if err != nil {
				g.t.Fatal(err)
			}
			sb.Write(data)
		}
	}
	return sb.String()
}

// buffer is a log.
type buffer struct {
	mu sync.Mutex
	bytes.Buffer
}

func (b *buffer) Write(p []byte) (int, error) {
	b.mu.Lock()
	defer b.mu.Unlock()
	return b.Buffer.Write(p)
}

func (b *buffer) String() string {
	b.mu.Lock()
	defer b.mu.Unlock()
	return b.Buffer.String()
}

func alice() oauth.Owner { return oauth.Owner{User: "alice"} }
func bob() oauth.Owner   { return oauth.Owner{User: "bob"} }

func query(t *testing.T, address string) url.Values {
	t.Helper()
	u, err := url.Parse(address)
	if err != nil {
		t.Fatal(err)
	}
	return u.Query()
}

// only returns a client that reaches these servers alone, as one does for which all other addresses of the machine
// are private.
func only(addresses ...string) *http.Client {
	return &http.Client{Transport: transport(func(r *http.Request) (*http.Response, error) {
		for _, a := range addresses {
			if strings.Contains(a, r.URL.Host) {
				return http.DefaultTransport.RoundTrip(r)
			}
		}
		return nil, httpguard.ErrAddress
	})}
}

type transport func(*http.Request) (*http.Response, error)

func (f transport) RoundTrip(r *http.Request) (*http.Response, error) { return f(r) }
