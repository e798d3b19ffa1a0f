package gemini

import (
	"encoding/json"
	"errors"
	"fmt"
	"net/http"
	"net/netip"
	"net/url"
	"os"
	"strings"
	"time"

	"cloud.google.com/go/auth"
	"cloud.google.com/go/auth/credentials"

	"github.com/awaken-go/awaken/llm"
)

// unused stands for a key where the SDK wants one and the headers have what is needed.
const unused = "unused"

// authorizer shows who sends a request.
type authorizer struct {
	key     string            // of the API, which the SDK sends; or unused
	account *auth.Credentials // of Vertex AI; it keeps its token and renews it once for all
	project string            // of the account
	next    http.RoundTripper
}

func (c *Config) auth() (*authorizer, error) {
	if c.Authorized("Authorization", "X-Goog-Api-Key") {
		return &authorizer{key: unused}, nil
	}
	if !c.Vertex {
		key, err := c.Key(Name, "GEMINI_API_KEY", "GOOGLE_API_KEY")
		return &authorizer{key: key}, err
	}
	key := strings.TrimSpace(c.APIKey)
	if file := first(c.KeyFile, os.Getenv("GOOGLE_APPLICATION_CREDENTIALS")); key == "" && file != "" {
		data, err := os.ReadFile(file)
		if err != nil {
			return nil, fmt.Errorf("gemini: service account: %w", err)
		}
		key = strings.TrimSpace(string(data))
	}
	switch {
	case key == "":
		return nil, errors.New("gemini: there is no service account for Vertex AI: configure its JSON as the key, or a key file, or set GOOGLE_APPLICATION_CREDENTIALS")
	case !strings.HasPrefix(key, "{"):
		return &authorizer{key: key}, nil
	}
	return account([]byte(key), c.Scopes)
}

// account returns an authorizer for a service account.
func account(data []byte, scopes []string) (*authorizer, error) {
	var file struct {
		Project  string `json:"project_id"`
		TokenURI string `json:"token_uri"`
	}
	if err := json.Unmarshal(data, &file); err != nil {
		return nil, errors.New("gemini: the service account is not valid JSON") // nothing of it is shown
	}
	if file.TokenURI != "" && !trusted(file.TokenURI) {
		return nil, fmt.Errorf("gemini: the service account has the token_uri %q, want one of googleapis.com", file.TokenURI)
	}
	if len(scopes) == 0 {
		scopes = []string{"https://www.googleapis.com/auth/cloud-platform"}
	}
	creds, err := credentials.NewCredentialsFromJSON(credentials.ServiceAccount, data, &credentials.DetectOptions{
		Scopes: scopes,
		Client: &http.Client{Timeout: 30 * time.Second},
	})
	if err != nil {
		return nil, fmt.Errorf("gemini: service account: %w", err)
	}
	return &authorizer{key: unused, account: creds, project: file.Project}, nil
}

// trusted reports whether a signed assertion may be sent there: to Google, or to this
// machine.
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

func (a *authorizer) RoundTrip(r *http.Request) (*http.Response, error) {
	if a.key != unused {
		return a.next.RoundTrip(r)
	}
	r = r.Clone(r.Context())
	r.Header.Del("X-Goog-Api-Key")
	if a.account != nil {
		token, err := a.account.Token(r.Context())
		if err != nil {
			return nil, tokenFailure(r, err)
		}
		r.Header.Set("Authorization", "Bearer "+token.Value)
	}
	return a.next.RoundTrip(r)
}

// tokenFailure says what it means that there is no token. An account that is refused will
// be refused again.
func tokenFailure(r *http.Request, err error) error {
	e := &llm.Error{Kind: llm.Provider, Provider: Name, Message: "no access token", Err: err}
	ae, answered := errors.AsType[*auth.Error](err)
	switch {
	case r.Context().Err() != nil:
		e.Kind = llm.Cancelled
	case answered && ae.Response != nil && ae.Response.StatusCode < 500 && ae.Response.StatusCode != http.StatusTooManyRequests:
		e.Kind, e.Status = llm.Unauthorized, ae.Response.StatusCode
	}
	return e
}
