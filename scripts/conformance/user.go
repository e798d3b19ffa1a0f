package main

import (
	"context"
	"crypto/rand"
	"encoding/json"
	"errors"
	"fmt"
	"net/http"
	"net/url"
	"os"
	"strings"

	"github.com/awaken-go/awaken"
	"github.com/awaken-go/awaken/llm/llmtest"
	"github.com/awaken-go/awaken/plugin/mcp"
	"github.com/awaken-go/awaken/plugin/mcp/oauth"
	"github.com/awaken-go/awaken/state/profile"
	"github.com/awaken-go/awaken/store/memory"
)

// user is the person that the agent works for, with a browser. The user authorizes what is asked for.
type user struct {
	broker  *oauth.Broker
	browser *http.Client
}

// Where a browser would come back to. The user delivers the response without a request to it.
const (
	redirect = "http://localhost:3000/callback"
	metadata = "https://conformance-test.local/client-metadata.json" // which the suite expects
)

func newUser(local *http.Client) (*user, error) {
	key := make([]byte, 32)
	_, _ = rand.Read(key) // never fails
	sealer, err := oauth.NewSealer(key)
	if err != nil {
		return nil, err
	}
	values := memory.NewProfile()
	broker, err := oauth.New(oauth.Config{Values: func(string) profile.Store { return values }, Sealer: sealer, RedirectURL: redirect, ClientURL: metadata, Client: local})
	if err != nil {
		return nil, err
	}
	browser := *local
	browser.CheckRedirect = func(*http.Request, []*http.Request) error { return http.ErrUseLastResponse }
	return &user{broker: broker, browser: &browser}, nil
}

// guarded returns how the server of a scenario is authorized, or nil if it needs no authorization.
func guarded(scenario string) (*oauth.Client, error) {
	if !strings.HasPrefix(scenario, "auth/") {
		return nil, nil
	}
	var given struct {
		ID     string        `json:"client_id"`
		Secret awaken.Secret `json:"client_secret"`
	}
	if v := os.Getenv("MCP_CONFORMANCE_CONTEXT"); v != "" {
		if err := json.Unmarshal([]byte(v), &given); err != nil {
			return nil, fmt.Errorf("MCP_CONFORMANCE_CONTEXT: %w", err)
		}
	}
	c := &oauth.Client{ID: given.ID, Secret: given.Secret}
	if strings.HasPrefix(scenario, "auth/client-credentials") {
		c.Grant = oauth.ClientCredentials
	}
	return c, nil
}

// authorize lets the agent ask the user to authorize the server. The agent knows the tools of the server afterwards.
func (u *user) authorize(ctx context.Context, p *mcp.Plugin) error {
	c := p.Connection("suite")
	entrance := c.Tools()[0].Spec().ID
	if err := u.run(ctx, p, []llmtest.Turn{llmtest.Use(entrance, `{}`), llmtest.Say("done")}); err != nil {
		return err
	}
	if tools := c.Tools(); len(tools) > 0 && tools[0].Spec().ID == entrance {
		return errors.New("the server is not authorized")
	}
	return nil
}

// decide answers a ticket: by authorizing, or with the default of the question.
func (u *user) decide(ctx context.Context, t *awaken.WaitingTicket) (awaken.Decision, error) {
	if t.Suspension.Action != mcp.AuthorizationAction {
		return t.Answer(json.RawMessage(`{}`)), nil
	}
	var asked struct {
		URL string `json:"url"`
	}
	if err := json.Unmarshal(t.Suspension.Parameters, &asked); err != nil {
		return awaken.Decision{}, err
	}
	response, err := u.open(ctx, asked.URL)
	if err != nil {
		return awaken.Decision{}, err
	}
	c, err := u.broker.Complete(ctx, response, nil)
	switch {
	case c == nil:
		return awaken.Decision{}, err
	case err != nil: // the suite wants the client to stop
		return awaken.Decision{Target: t.Suspension.ID, Action: awaken.ActionCancel, Reason: err.Error()}, nil
	case c.Denied != "":
		return awaken.Decision{Target: t.Suspension.ID, Action: awaken.ActionCancel, Reason: c.Denied}, nil
	}
	return awaken.Decision{Target: t.Suspension.ID, Action: awaken.ActionResume}, nil
}

// open opens the address of an authorization server, which sends the browser back at once, and returns the response.
func (u *user) open(ctx context.Context, address string) (url.Values, error) {
	req, err := http.NewRequestWithContext(ctx, http.MethodGet, address, nil)
	if err != nil {
		return nil, err
	}
	resp, err := u.browser.Do(req)
	if err != nil {
		return nil, err
	}
	defer resp.Body.Close()
	to, err := resp.Location()
	if err != nil {
		return nil, fmt.Errorf("the authorization server answers with status %d, want a redirect: %w", resp.StatusCode, err)
	}
	if !strings.HasPrefix(to.String(), redirect) {
		return nil, errors.New("the authorization server sends the browser to " + to.Redacted())
	}
	return to.Query(), nil
}
