package gemini

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"net/http"
	"net/netip"
	"net/url"
	"strings"
	"sync"
	"time"

	"golang.org/x/oauth2"
	"golang.org/x/oauth2/google"

	"github.com/awaken-go/awaken/llm"
)

// account provides the access tokens of a service account. It caches one and renews it in the
// background shortly before it expires, once for all requests. It is safe for concurrent use.
type account struct {
	project string
	fetch   func() (*oauth2.Token, error)

	mu     sync.Mutex
	kept   *oauth2.Token // nil before the first
	latest *renewal      // the last attempt, in progress or failed; nil after a success
}

// renewal is an attempt to fetch a token.
type renewal struct {
	done  chan struct{} // closed when token and err are set
	token *oauth2.Token
	err   error
}

const (
	renewEarly   = 225 * time.Second // how long before it expires a token is renewed
	renewTimeout = 30 * time.Second
)

// newAccount parses the JSON of a service account.
func newAccount(data []byte, scopes []string) (*account, error) {
	var file struct {
		Type     string `json:"type"`
		Project  string `json:"project_id"`
		Email    string `json:"client_email"`
		Key      string `json:"private_key"`
		TokenURI string `json:"token_uri"`
		Universe string `json:"universe_domain"`
	}
	if err := json.Unmarshal(data, &file); err != nil {
		return nil, errors.New("gemini: service account: not valid JSON") // the content is secret
	}
	switch {
	case file.TokenURI != "" && !trusted(file.TokenURI):
		return nil, fmt.Errorf("gemini: service account: token_uri is %q, want a URL of googleapis.com", file.TokenURI)
	case file.Type != "service_account":
		return nil, fmt.Errorf("gemini: service account: type is %q, want service_account", file.Type)
	case file.Email == "" || file.Key == "":
		return nil, errors.New("gemini: service account: client_email or private_key is missing")
	}
	if len(scopes) == 0 {
		scopes = []string{"https://www.googleapis.com/auth/cloud-platform"}
	}
	a := &account{project: file.Project}
	if file.Universe != "" && file.Universe != "googleapis.com" { // other universes accept the signed assertion as a token
		source, err := google.JWTAccessTokenSourceWithScope(data, scopes...)
		if err != nil {
			return nil, fmt.Errorf("gemini: service account: %w", err)
		}
		a.fetch = source.Token
		return a, nil
	}
	config, err := google.JWTConfigFromJSON(data, scopes...)
	if err != nil {
		return nil, fmt.Errorf("gemini: service account: %w", err)
	}
	ctx := context.WithValue(context.Background(), oauth2.HTTPClient, &http.Client{Timeout: renewTimeout})
	a.fetch = func() (*oauth2.Token, error) { return config.TokenSource(ctx).Token() }
	return a, nil
}

// trusted reports whether signed assertions may be sent to uri: to Google, or to this machine.
func trusted(uri string) bool {
	u, err := url.Parse(uri)
	if err != nil {
		return false
	}
	if addr, err := netip.ParseAddr(u.Hostname()); err == nil && addr.IsLoopback() {
		return true
	}
	return u.Scheme == "https" && strings.HasSuffix("."+u.Hostname(), ".googleapis.com")
}

// token returns an access token. It waits only if there is no valid one, and until ctx ends at
// most. A failed renewal is retried after the token has expired.
func (a *account) token(ctx context.Context) (string, error) {
	a.mu.Lock()
	kept, left := a.kept, time.Duration(0)
	if kept != nil {
		if left = time.Until(kept.Expiry); kept.Expiry.IsZero() {
			left = 2 * renewEarly // never expires
		}
	}
	if left < renewEarly && (a.latest == nil || left <= 0 && a.latest.err != nil) {
		a.renew()
	}
	latest := a.latest
	a.mu.Unlock()
	if left > 0 {
		return kept.AccessToken, nil
	}
	select {
	case <-latest.done:
	case <-ctx.Done():
		return "", &llm.Error{Kind: llm.Cancelled, Provider: Name, Message: "no access token", Err: context.Cause(ctx)}
	}
	if latest.err != nil {
		return "", tokenFailure(latest.err)
	}
	return latest.token.AccessToken, nil
}

// renew starts fetching a token. Requires a.mu.
func (a *account) renew() {
	r := &renewal{done: make(chan struct{})}
	a.latest = r
	go func() {
		token, err := a.fetch()
		if err == nil && token.AccessToken == "" {
			err = errors.New("the answer has no access token")
		}
		a.mu.Lock()
		defer a.mu.Unlock()
		if r.token, r.err = token, err; err == nil {
			a.kept, a.latest = token, nil
		}
		close(r.done)
	}()
}

// tokenFailure converts a failed renewal into an error. Google will keep rejecting an account that
// it rejected.
func tokenFailure(err error) error {
	e := &llm.Error{Kind: llm.Provider, Provider: Name, Message: "no access token", Err: err}
	if re, ok := errors.AsType[*oauth2.RetrieveError](err); ok && re.Response.StatusCode < 500 && re.Response.StatusCode != http.StatusTooManyRequests {
		e.Kind, e.Status = llm.Unauthorized, re.Response.StatusCode
	}
	return e
}
