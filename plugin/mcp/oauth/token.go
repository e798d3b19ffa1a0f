package oauth

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"math"
	"net/http"
	"net/url"
	"strings"
	"time"

	"github.com/awaken-go/awaken"
)

// Token is an access token.
type Token struct {
	Access awaken.Secret
	Grant  string // identifies the authorization: a new one has another
	// Expires is when the token has to be refreshed; zero if unknown.
	Expires time.Time
}

// issued is the answer of a token endpoint.
type issued struct {
	access, refresh string
	lasts           time.Duration // 0 means that the server did not say
	scopes          []string      // nil means those that were asked for
}

// refusal is the error of a token endpoint that says why (RFC 6749).
type refusal struct{ code, text string }

func (e *refusal) Error() string {
	if e.text == "" {
		return "the authorization server refuses: " + short(e.code)
	}
	return fmt.Sprintf("the authorization server refuses: %s (%s)", short(e.code), short(e.text))
}

// endpoint is the token endpoint of an authorization server, for one client and one resource.
type endpoint struct {
	Token    string `json:"token"`
	Revoke   string `json:"revoke,omitempty"`
	Resource string `json:"resource"`
	registration
}

// ask asks a token endpoint for a token.
func (b *Broker) ask(ctx context.Context, e *endpoint, form url.Values) (*issued, error) {
	form.Set("resource", e.Resource)
	resp, err := b.post(ctx, e, e.Token, form)
	if err != nil {
		return nil, err
	}
	defer resp.Body.Close()
	data, err := io.ReadAll(io.LimitReader(resp.Body, maxTokens))
	if err != nil {
		return nil, plainError(err)
	}
	return parseIssued(resp.StatusCode, data)
}

// post sends a form to an endpoint, as the client.
func (b *Broker) post(ctx context.Context, e *endpoint, to string, form url.Values) (*http.Response, error) {
	if e.Method != methodBasic {
		form.Set("client_id", e.ID)
		if e.Secret != "" {
			form.Set("client_secret", e.Secret)
		}
	}
	req, err := http.NewRequestWithContext(ctx, http.MethodPost, to, strings.NewReader(form.Encode()))
	if err != nil {
		return nil, err
	}
	req.Header.Set("Content-Type", "application/x-www-form-urlencoded")
	req.Header.Set("Accept", "application/json")
	if e.Method == methodBasic {
		req.SetBasicAuth(url.QueryEscape(e.ID), url.QueryEscape(e.Secret))
	}
	resp, err := b.cfg.Client.Do(req)
	if err != nil {
		return nil, fmt.Errorf("cannot reach the authorization server: %w", plainError(err))
	}
	return resp, nil
}

// errAnswer is the error of an answer that is not one of a token endpoint. It does not quote the answer, which may
// hold tokens.
var errAnswer = errors.New("the response of the authorization server is not a token")

// maxTokens limits the answer of a token endpoint, in bytes. It is stored.
const maxTokens = 64 << 10

// maxLasts is the longest accepted lifetime of a token.
const maxLasts = 10 * 365 * 24 * time.Hour

// parseIssued decodes the answer of a token endpoint.
func parseIssued(status int, data []byte) (*issued, error) {
	var v struct {
		Access    string      `json:"access_token"`
		Type      string      `json:"token_type"`
		Refresh   string      `json:"refresh_token"`
		Expires   json.Number `json:"expires_in"`
		Scope     *string     `json:"scope"`
		Error     string      `json:"error"`
		ErrorText string      `json:"error_description"`
	}
	err := json.Unmarshal(data, &v)
	switch {
	case err == nil && v.Error != "":
		return nil, &refusal{v.Error, v.ErrorText}
	case status != http.StatusOK:
		return nil, fmt.Errorf("the authorization server answers with status %d", status)
	case err != nil || v.Access == "":
		return nil, errAnswer
	case !strings.EqualFold(v.Type, "bearer"):
		return nil, fmt.Errorf("the authorization server issues a token of type %s, want Bearer", short(v.Type))
	case strings.ContainsFunc(v.Access, func(r rune) bool { return r <= ' ' || r > '~' }):
		return nil, fmt.Errorf("%w: it has characters that no token has", errAnswer)
	}
	out := &issued{access: v.Access, refresh: v.Refresh}
	if secs, err := v.Expires.Float64(); err == nil && secs > 0 && !math.IsInf(secs, 0) {
		out.lasts = time.Duration(min(secs, maxLasts.Seconds()) * float64(time.Second))
	}
	if v.Scope != nil {
		out.scopes = strings.Fields(*v.Scope)
	}
	return out, nil
}
