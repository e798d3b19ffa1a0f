package oauth

import (
	"cmp"
	"context"
	"encoding/base64"
	"encoding/json"
	"errors"
	"fmt"
	"net/url"
	"slices"
	"strings"
	"time"

	"golang.org/x/oauth2"

	"github.com/awaken-go/awaken/internal/ids"
)

// Waiter is a suspended call that waits for an authorization.
type Waiter struct {
	RunID    string `json:"run_id"`
	ThreadID string `json:"thread_id"`
	Target   string `json:"target"` // id of the suspension
}

// flow is an authorization that has begun.
type flow struct {
	ID       string   `json:"id"`
	Expires  int64    `json:"expires"` // Unix ms
	URL      string   `json:"url"`     // of the MCP server
	Issuer   string   `json:"issuer"`
	Named    bool     `json:"named,omitempty"` // the issuer names itself in its response
	At       endpoint `json:"at"`
	Scopes   []string `json:"scopes,omitempty"`
	Verifier string   `json:"verifier"`
	Redirect string   `json:"redirect"`
	Waiter   *Waiter  `json:"waiter,omitempty"`
}

const (
	flowsKind = "mcp.flows"
	// maxFlows is how many authorizations of one owner and server can be open. One more ends the oldest.
	maxFlows = 32
)

// stateRef is what the state of an authorization request refers to.
type stateRef struct {
	Server string `json:"s"`
	Grant  Grant  `json:"g"`
	Tenant string `json:"t,omitempty"`
	User   string `json:"u,omitempty"`
	ID     string `json:"i"`
}

// Request asks a user for an authorization.
type Request struct {
	URL     string // to open in a browser
	Expires time.Time
}

// Begin begins an authorization. [Broker.Complete] will return the waiter, if there is one. Scopes are requested in addition to the default
// ones.
func (b *Broker) Begin(ctx context.Context, s *Server, o Owner, scopes []string, w *Waiter) (*Request, error) {
	if s.grant() == ClientCredentials {
		return nil, fmt.Errorf("MCP server %q is authorized by client credentials: no person can authorize it", s.ID)
	}
	a, err := b.discover(ctx, s)
	if err != nil {
		return nil, fmt.Errorf("MCP server %q: %w", s.ID, err)
	}
	if a.AuthorizationEndpoint == "" {
		return nil, fmt.Errorf("MCP server %q: the metadata of the authorization server %s have no authorization_endpoint", s.ID, short(a.Issuer))
	}
	client, err := b.register(ctx, s, a)
	if err != nil {
		return nil, fmt.Errorf("MCP server %q: %w", s.ID, err)
	}
	f := flow{ID: ids.New(), Expires: b.cfg.Now().Add(b.cfg.Lifetime).UnixMilli(), URL: s.URL, Issuer: a.Issuer, Named: a.AuthorizationResponseIssParameterSupported,
		At:     endpoint{Token: a.TokenEndpoint, Revoke: a.RevocationEndpoint, Resource: a.resource, registration: *client},
		Scopes: union(s.wants(a), scopes), Verifier: oauth2.GenerateVerifier(), Redirect: b.cfg.RedirectURL, Waiter: w}
	if slices.Contains(a.ScopesSupported, "offline_access") {
		f.Scopes = union(f.Scopes, []string{"offline_access"}) // without it, OpenID providers issue no refresh token
	}
	var g grant
	if _, found, err := b.read(ctx, b.place(grantsKind, s, o), &g); err != nil {
		return nil, err
	} else if found && g.URL == s.URL && sameIssuer(g.Issuer, a.Issuer) && len(scopes) > 0 {
		f.Scopes = union(g.Asked, f.Scopes) // a step up keeps what was granted
	}
	if err := b.keep(ctx, b.place(flowsKind, s, o), &f); err != nil {
		return nil, err
	}
	state, err := b.state(s, o, f.ID)
	if err != nil {
		return nil, err
	}
	u, err := url.Parse(a.AuthorizationEndpoint)
	if err != nil {
		return nil, err
	}
	q := u.Query()
	for name, value := range map[string]string{"response_type": "code", "client_id": client.ID, "redirect_uri": f.Redirect, "state": state, "resource": f.At.Resource,
		"code_challenge": oauth2.S256ChallengeFromVerifier(f.Verifier), "code_challenge_method": "S256", "scope": strings.Join(f.Scopes, " ")} {
		if value != "" {
			q.Set(name, value)
		}
	}
	u.RawQuery = q.Encode()
	return &Request{URL: u.String(), Expires: time.UnixMilli(f.Expires)}, nil
}

// keep stores a flow among those of its owner.
func (b *Broker) keep(ctx context.Context, p place, f *flow) error {
	for {
		var all []flow
		old, _, err := b.read(ctx, p, &all)
		if err != nil {
			return err
		}
		all = b.live(all)
		if n := len(all) - maxFlows + 1; n > 0 {
			all = all[n:]
		}
		if _, ok, err := b.write(ctx, p, old, append(all, *f)); ok || err != nil {
			return err
		}
	}
}

// live returns the flows that have not expired.
func (b *Broker) live(all []flow) []flow {
	now := b.cfg.Now().UnixMilli()
	return slices.DeleteFunc(slices.Clone(all), func(f flow) bool { return now >= f.Expires })
}

const stateName = "mcp.state"

// state returns the state that refers to a flow. Only the broker can make or read one.
func (b *Broker) state(s *Server, o Owner, id string) (string, error) {
	data, err := json.Marshal(stateRef{Server: s.ID, Grant: s.grant(), Tenant: o.Tenant, User: o.User, ID: id})
	if err != nil {
		return "", err
	}
	sealed, err := b.cfg.Sealer.Seal(stateName, data)
	return base64.RawURLEncoding.EncodeToString(sealed), err
}

// ErrState reports that the state of a response is unknown, was used before, or has expired.
var ErrState = errors.New("the authorization is not known: it was completed before, has expired, or was begun elsewhere")

// open returns what a state refers to.
func (b *Broker) open(state string) (ref stateRef, s *Server, o Owner, err error) {
	sealed, err := base64.RawURLEncoding.DecodeString(state)
	if err != nil || len(state) > 8<<10 {
		return ref, nil, o, ErrState
	}
	plain, err := b.cfg.Sealer.Open(stateName, sealed)
	if err != nil || json.Unmarshal(plain, &ref) != nil {
		return ref, nil, o, ErrState
	}
	s, o = ref.of()
	return ref, s, o, nil
}

// of returns the server and the owner of what is referred to.
func (r *stateRef) of() (*Server, Owner) {
	return &Server{ID: r.Server, Client: Client{Grant: r.Grant}}, Owner{Tenant: r.Tenant, User: r.User}
}

// Completed is the outcome of an authorization.
type Completed struct {
	ID     string // for [Broker.Settle]
	Server string
	Grant  Grant
	Owner  Owner
	// Denied, if not "", says that the user or the authorization server refused.
	Denied string
	// Waiters are the suspended calls to resume or, if Denied is set, to reject: all calls of the owner that wait for the server, also
	// those with another authorization URL.
	Waiters []Waiter
}

// Complete completes an authorization with the parameters of the authorization server's response. Allow returns an error unless the client
// that delivers the response acts for the owner; nil allows all clients. A response is accepted once. If Complete returns both a Completed
// and an error, the authorization failed, and its waiters should be resumed so that they ask again. After the caller has resumed the
// waiters, it calls [Broker.Settle].
func (b *Broker) Complete(ctx context.Context, q url.Values, allow func(c *Completed) error) (*Completed, error) {
	ref, s, o, err := b.open(q.Get("state"))
	if err != nil {
		return nil, err
	}
	c := &Completed{ID: ref.ID, Server: ref.Server, Grant: ref.Grant, Owner: o}
	if allow != nil {
		if err := allow(c); err != nil {
			return nil, err
		}
	}
	ctx = context.WithoutCancel(ctx) // the code works once
	p := b.place(flowsKind, s, o)
	f, err := b.take(ctx, p, ref)
	if err != nil {
		return nil, err
	}
	if f.Waiter != nil {
		c.Waiters = []Waiter{*f.Waiter}
	}
	if iss := q.Get("iss"); iss != "" && iss != f.Issuer || iss == "" && f.Named {
		return c, fmt.Errorf("the response is of the issuer %s, want %s, which was asked", short(iss), short(f.Issuer))
	}
	if code := q.Get("error"); code != "" {
		c.Denied = (&refusal{code, q.Get("error_description")}).Error()
		return c, nil
	}
	if q.Get("code") == "" {
		return c, errors.New("the response has neither a code nor an error")
	}
	t, err := b.ask(ctx, &f.At, url.Values{"grant_type": {"authorization_code"}, "code": {q.Get("code")}, "redirect_uri": {f.Redirect}, "code_verifier": {f.Verifier}})
	if err != nil {
		b.unregister(ctx, f.Issuer, &f.At, err)
		return c, fmt.Errorf("MCP server %q: %w", s.ID, err)
	}
	g := &grant{ID: ids.New(), URL: f.URL, Issuer: f.Issuer, At: f.At, Asked: f.Scopes, Scopes: f.Scopes, Since: b.cfg.Now().UnixMilli()}
	g.take(t, b.cfg.Now())
	if err := b.replace(ctx, b.place(grantsKind, s, o), g); err != nil {
		return c, err
	}
	b.cfg.Logger.Info("an MCP server was authorized", "mcp_server", s.ID)
	c.Waiters, err = b.others(ctx, p, c.Waiters)
	return c, err
}

// flow returns a flow of an owner.
func (b *Broker) flow(ctx context.Context, p place, id string) (*flow, error) {
	var all []flow
	if _, _, err := b.read(ctx, p, &all); err != nil {
		return nil, err
	}
	for _, f := range b.live(all) {
		if f.ID == id {
			return &f, nil
		}
	}
	return nil, ErrState
}

// consume removes a flow from those of its owner and returns it.
func (b *Broker) consume(ctx context.Context, p place, id string) (*flow, error) {
	for {
		var all []flow
		old, _, err := b.read(ctx, p, &all)
		if err != nil {
			return nil, err
		}
		all = b.live(all)
		i := slices.IndexFunc(all, func(f flow) bool { return f.ID == id })
		if i < 0 {
			return nil, ErrState
		}
		f := all[i]
		if _, ok, err := b.write(ctx, p, old, slices.Delete(all, i, i+1)); ok || err != nil {
			return &f, err
		}
	}
}

// others returns the waiters of an owner beside those given: the owner has authorized the server, so none of them has to.
// Their flows stay open until they expire: a call that is not suspended yet cannot be resumed, and its address must work.
func (b *Broker) others(ctx context.Context, p place, out []Waiter) ([]Waiter, error) {
	var all []flow
	if _, _, err := b.read(ctx, p, &all); err != nil {
		return out, err
	}
	for _, f := range b.live(all) {
		if f.Waiter != nil && !slices.Contains(out, *f.Waiter) {
			out = append(out, *f.Waiter)
		}
	}
	return out, nil
}

// replace stores a grant in place of the one that is there, if any, and revokes that.
func (b *Broker) replace(ctx context.Context, p place, g *grant) error {
	for {
		var before grant
		old, found, err := b.read(ctx, p, &before)
		if err != nil {
			return err
		}
		if _, ok, err := b.write(ctx, p, old, g); err != nil {
			return err
		} else if ok {
			if found && cmp.Or(before.Refresh, before.Access) != "" && before.Refresh != g.Refresh {
				_ = b.revokeAt(ctx, &before) // at least no process uses it
			}
			return nil
		}
	}
}
