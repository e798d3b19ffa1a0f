package oauth_test

import (
	"errors"
	"io"
	"net/http"
	"strings"
	"sync/atomic"
	"testing"
	"time"

	"github.com/awaken-go/awaken"
	"github.com/awaken-go/awaken/plugin/mcp/oauth"
	"github.com/awaken-go/awaken/plugin/mcp/oauth/oauthtest"
)

// refreshing returns a client that lets answer make the answers to refreshes.
func refreshing(answer func() (*http.Response, error)) *http.Client {
	return &http.Client{Transport: transport(func(r *http.Request) (*http.Response, error) {
		if r.URL.Path != "/token" {
			return http.DefaultTransport.RoundTrip(r)
		}
		body, err := io.ReadAll(r.Body)
		if err != nil {
			return nil, err
		}
		r = r.Clone(r.Context())
		r.Body = io.NopCloser(strings.NewReader(string(body)))
		if strings.Contains(string(body), "grant_type=refresh_token") {
			return answer()
		}
		return http.DefaultTransport.RoundTrip(r)
	})}
}

func TestToken_CallsDoNotQueueForAServerThatDoesNotAnswer(t *testing.T) {
	g := newRig(t, oauthtest.Options{})
	s := g.server()
	var asked atomic.Int32
	arrived, give := make(chan struct{}, 10), make(chan struct{})
	silent := func(c *oauth.Config) {
		c.Client = refreshing(func() (*http.Response, error) {
			asked.Add(1)
			arrived <- struct{}{}
			<-give
			return nil, errors.New("no answer")
		})
	}
	first := g.process(silent)
	g.authorize(first, s, alice(), "alice@idp")
	old := g.token(first, s, alice())

	type result struct {
		token string
		err   error
	}
	begin := func(b *oauth.Broker) chan result {
		out := make(chan result, 1)
		go func() {
			token, err := b.Token(t.Context(), s, alice())
			out <- result{token.Access.Expose(), err}
		}()
		return out
	}
	g.advance(9*time.Minute + 40*time.Second) // due, and good for 20 seconds
	one := begin(first)
	<-arrived
	if token := g.token(g.process(silent), s, alice()); token != old {
		t.Error("another call does not use the token that is still good")
	}
	give <- struct{}{}
	if r := <-one; r.err != nil || r.token != old {
		t.Errorf("error is %v, want the token that is still good", r.err)
	}
	if token := g.token(first, s, alice()); token != old || asked.Load() != 1 {
		t.Errorf("the server was asked %d times within a moment, want once", asked.Load())
	}

	g.advance(time.Minute) // the token is good no more
	one = begin(first)
	<-arrived
	waits := make(chan struct{}, 1000)
	two := begin(g.process(silent, func(c *oauth.Config) {
		now := c.Now
		c.Now = func() time.Time {
			select {
			case waits <- struct{}{}:
			default:
			}
			return now()
		}
	}))
	<-waits // it has read that the first call refreshes the token
	give <- struct{}{}
	for _, r := range []result{<-one, <-two} {
		if r.err == nil || !strings.Contains(r.err.Error(), "refresh the authorization") {
			t.Errorf("error is %v, want that the refresh failed", r.err)
		}
	}
	if asked.Load() != 2 {
		t.Errorf("the server was asked %d times, want twice", asked.Load())
	}
}

func TestToken_SurvivesAWrongClientSecret(t *testing.T) {
	const right = "the-secret-of-mine-0123456789abcd"
	g := newRig(t, oauthtest.Options{Clients: []oauthtest.Client{{ID: "mine", Secret: right, Redirect: redirect}}})
	b, s := g.process(), g.server(func(s *oauth.Server) { s.Client.ID, s.Secret = "mine", awaken.NewSecret(right) })
	g.authorize(b, s, alice(), "alice@idp")
	g.advance(10 * time.Minute)
	s.Secret = awaken.NewSecret("wrong")
	if _, err := b.Token(t.Context(), s, alice()); err == nil || !strings.Contains(err.Error(), "invalid_client") {
		t.Errorf("error is %v", err)
	}
	s.Secret = awaken.NewSecret(right)
	if user := g.User(g.token(b, s, alice())); user != "alice@idp" {
		t.Errorf("the token is of %q after the secret was corrected", user)
	}
}

func TestRegister_AgainIfTheServerHasForgottenTheClient(t *testing.T) {
	g := newRig(t, oauthtest.Options{})
	b, s := g.process(func(c *oauth.Config) {
		c.Client = refreshing(func() (*http.Response, error) {
			return &http.Response{StatusCode: http.StatusUnauthorized, Body: io.NopCloser(strings.NewReader(`{"error":"invalid_client"}`))}, nil
		})
	}), g.server()
	client := func() string { return query(t, g.begin(b, s, alice(), nil)).Get("client_id") }
	before := client()
	g.authorize(b, s, alice(), "alice@idp")
	g.advance(10 * time.Minute)
	_, err := b.Token(t.Context(), s, alice())
	g.needs(err, "invalid_client")
	if after := client(); after == before {
		t.Error("the next authorization is by the client that the server does not know")
	}
	g.authorize(b, s, alice(), "alice@idp")
	if user := g.User(g.token(b, s, alice())); user != "alice@idp" {
		t.Errorf("the token is of %q", user)
	}
}
