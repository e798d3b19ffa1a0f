package mcp

import (
	"cmp"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"maps"
	"net/http"
	"slices"
	"strings"
	"sync"
	"time"

	sdk "github.com/modelcontextprotocol/go-sdk/mcp"

	"github.com/awaken-go/awaken"
	"github.com/awaken-go/awaken/internal/ownership"
	"github.com/awaken-go/awaken/plugin/mcp/oauth"
	"github.com/awaken-go/awaken/state/profile"
)

// authorization is how a connection to a server that has to be authorized gets tokens. A server that each user authorizes
// has a connection for each of them, its account, beside the one that the tools belong to, which has no session.
type authorization struct {
	broker    *oauth.Broker
	server    oauth.Server
	transport *oauth.Transport // of the connection's requests; nil if users authorize the server
	home      *Connection      // whose account this is; nil if it is none

	mu   sync.Mutex
	all  map[string]*Connection // accounts, by grant
	used map[string]time.Time   // when they were used last

	closing sync.WaitGroup // for accounts that were removed
}

const (
	// accountIdle is how long the connection of a user stays open without calls.
	accountIdle = 10 * time.Minute
	// maxAccounts limits the users that are connected to a server at the same time.
	maxAccounts = 500
	// recallEvery is how often the list that other processes have taken in is read, and idle connections are closed.
	recallEvery = time.Minute
)

// newAuthorization returns how the connection c gets tokens, or nil if it needs none.
func newAuthorization(c *Connection) *authorization {
	if c.server.OAuth == nil {
		return nil
	}
	a := &authorization{broker: c.opts.OAuth, server: oauth.Server{ID: c.server.ID, URL: c.server.URL, Client: *c.server.OAuth}}
	if a.perUser() {
		a.all, a.used = map[string]*Connection{}, map[string]time.Time{}
	} else {
		a.transport = &oauth.Transport{Broker: a.broker, Server: &a.server, Base: transportOf(c.opts.Client)}
	}
	return a
}

// perUser reports whether each user authorizes the server.
func (a *authorization) perUser() bool {
	return a != nil && cmp.Or(a.server.Grant, oauth.PerUser) == oauth.PerUser
}

// hub reports whether the connection is the one that the tools of users belong to.
func (c *Connection) hub() bool { return c.auth.perUser() && c.auth.home == nil }

// wrap returns the transport that adds tokens to requests, or base if the server needs none.
func (a *authorization) wrap(base http.RoundTripper) http.RoundTripper {
	if a == nil || a.transport == nil {
		return base
	}
	return a.transport
}

// needed returns why the last request was not authorized, or nil.
func (a *authorization) needed() *oauth.Needed {
	if a == nil || a.transport == nil {
		return nil
	}
	return a.transport.Needed()
}

// owner returns who has to authorize the server for a call.
func owner(ctx context.Context, call *awaken.ToolCall) oauth.Owner {
	o := oauth.Owner{Values: profile.Unmarked(call.Profile)}
	if call.Run != nil {
		o.User = call.Run.UserID
	}
	if of, ok := ownership.Of[interface{ For() (string, bool) }](ctx); ok {
		o.Tenant, _ = of.For()
	}
	return o
}

// acquireFor returns the session for a call: that of its user, if each authorizes the server. It returns [*oauth.Needed]
// if the server is not authorized.
func (c *Connection) acquireFor(ctx context.Context, call *awaken.ToolCall) (*session, error) {
	if !c.hub() {
		return c.acquire(ctx)
	}
	o := owner(ctx, call)
	token, err := c.auth.broker.Token(ctx, &c.auth.server, o)
	if err != nil {
		return nil, err
	}
	account, err := c.account(token.Grant, o)
	if err != nil {
		return nil, err
	}
	return account.acquire(ctx)
}

// account returns the connection with an authorization, and opens it if there is none.
func (c *Connection) account(grant string, o oauth.Owner) (*Connection, error) {
	a := c.auth
	a.mu.Lock()
	defer a.mu.Unlock()
	if c.ctx.Err() != nil || over(c) {
		return nil, c.downError(errClosed, "its configuration has changed")
	}
	if own := a.all[grant]; own != nil && !over(own) {
		a.used[grant] = time.Now()
		return own, nil
	}
	a.remove(grant)
	if len(a.all) >= maxAccounts && !a.evict() {
		return nil, fmt.Errorf("MCP server %q has calls of %d users, which is the limit, so the call was not made", c.server.ID, maxAccounts)
	}
	opts := c.opts
	opts.Changed = func() {}
	own := newConnection(c.server, opts)
	own.auth = &authorization{broker: a.broker, server: a.server, home: c,
		transport: &oauth.Transport{Broker: a.broker, Server: &a.server, Owner: o, Base: transportOf(c.opts.Client)}}
	a.all[grant], a.used[grant] = own, time.Now()
	own.Start()
	return own, nil
}

// over reports whether a connection is not tried again.
func over(c *Connection) bool {
	c.mu.Lock()
	defer c.mu.Unlock()
	return c.state == failed || c.state == closed
}

// remove closes an account in the background. It requires a.mu.
func (a *authorization) remove(grant string) {
	if own := a.all[grant]; own != nil {
		own.cancel()
		a.closing.Go(func() { <-own.done })
	}
	delete(a.all, grant)
	delete(a.used, grant)
}

// busy reports whether a connection has calls in flight.
func busy(c *Connection) bool {
	c.mu.Lock()
	s := c.session
	c.mu.Unlock()
	return s != nil && s.busy()
}

// evict removes the account that was idle for the longest time. It reports false if none is idle. It requires a.mu.
func (a *authorization) evict() bool {
	grants := slices.SortedFunc(maps.Keys(a.all), func(x, y string) int { return a.used[x].Compare(a.used[y]) })
	for _, grant := range grants {
		if !busy(a.all[grant]) {
			a.remove(grant)
			return true
		}
	}
	return false
}

// tidy removes the accounts that were idle for long, all of them if all is set.
func (a *authorization) tidy(now time.Time, all bool) {
	a.mu.Lock()
	defer a.mu.Unlock()
	for grant, own := range a.all {
		if all || now.Sub(a.used[grant]) > accountIdle && !busy(own) {
			a.remove(grant)
		}
	}
}

// anyBusy reports whether an account has calls in flight.
func (a *authorization) anyBusy() bool {
	a.mu.Lock()
	defer a.mu.Unlock()
	for _, own := range a.all {
		if busy(own) {
			return true
		}
	}
	return false
}

// errPerUser is the error of what needs a session, at a connection that has none of its own.
var errPerUser = errors.New("each user has an own connection to the server")

// serveUsers is what the goroutine of a connection does if users authorize the server: it keeps the list of tools that
// their connections take in, and closes those that are idle.
func (c *Connection) serveUsers() {
	defer close(c.done)
	defer func() {
		c.auth.tidy(time.Now(), true)
		c.auth.closing.Wait()
	}()
	for failures := 0; ; {
		ctx, cancel := context.WithTimeout(c.ctx, c.server.OpenTimeout)
		err := c.recall(ctx)
		cancel()
		if c.ctx.Err() != nil {
			return
		}
		if err != nil {
			failures++
			c.fail(err, failures, recallEvery, true)
		} else {
			failures = 0
			c.mu.Lock()
			c.health.err, c.health.failures = nil, 0
			c.move(up)
			c.mu.Unlock()
		}
		c.auth.tidy(time.Now(), false)
		if asked := c.attempts.pause(c.ctx, recallEvery, true); asked != nil {
			c.auth.tidy(time.Now(), true)
			asked <- c.forget(c.ctx)
		}
	}
}

// listsNamespace has the lists of the servers that users authorize: a process that starts has no user to ask them for.
const listsNamespace = "mcp.lists"

// userList is what users' connections have listed.
type userList struct {
	Caps  *sdk.ServerCapabilities `json:"capabilities"`
	Tools []*sdk.Tool             `json:"tools"`
}

// recall takes in the list that is stored.
func (c *Connection) recall(ctx context.Context) error {
	_, list, err := c.stored(ctx)
	if err != nil {
		return err
	}
	return c.become(ctx, list)
}

func (c *Connection) stored(ctx context.Context) (json.RawMessage, *userList, error) {
	list := &userList{}
	e, err := c.auth.broker.Values().Get(ctx, listsNamespace, c.pinName())
	if err != nil || e == nil {
		return nil, list, err
	}
	if err := json.Unmarshal(e.Value, list); err != nil {
		c.log.Warn("cannot decode the stored tool list of an MCP server", "error", err)
		list = &userList{}
	}
	return e.Value, list, nil
}

// become makes a list the connection's.
func (c *Connection) become(ctx context.Context, list *userList) error {
	c.mu.Lock()
	c.caps = list.Caps
	c.mu.Unlock()
	return c.take(ctx, list.Tools)
}

// learn takes in what the connection of a user lists. Users may see different tools: those of all are kept, until a
// restart, and the server refuses a call of one that its user does not have.
func (c *Connection) learn(ctx context.Context, caps *sdk.ServerCapabilities, tools []*sdk.Tool) error {
	for {
		old, list, err := c.stored(ctx)
		if err != nil {
			return err
		}
		all := map[string]*sdk.Tool{}
		for _, t := range slices.Concat(list.Tools, tools) {
			all[t.Name] = t
		}
		next := &userList{Caps: caps}
		for _, name := range slices.Sorted(maps.Keys(all)) {
			next.Tools = append(next.Tools, all[name])
		}
		if len(next.Tools) > maxTools {
			return fmt.Errorf("its users have more than %d tools", maxTools)
		}
		data, err := json.Marshal(next)
		if err != nil {
			return err
		}
		if string(data) != string(old) {
			if ok, err := c.auth.broker.Values().CompareAndSet(ctx, listsNamespace, c.pinName(), old, data); err != nil {
				return err
			} else if !ok {
				continue
			}
		}
		return c.become(ctx, next)
	}
}

// forget drops the list of tools, which the next user's connection takes in anew.
func (c *Connection) forget(ctx context.Context) error {
	if err := c.auth.broker.Values().Delete(ctx, listsNamespace, c.pinName()); err != nil {
		return err
	}
	return c.become(ctx, &userList{})
}

// AuthorizationAction is the action of a ticket that asks a user to authorize a server by opening the URL in its parameters. The call
// continues once the user has done so.
const AuthorizationAction = "mcp:authorization"

// maxRefusals is how often a user is asked in one call for another authorization than the one that the server refuses. A
// server that refuses each would ask for ever.
const maxRefusals = 2

// askAuthorization suspends a call until its user has authorized the server.
func (c *Connection) askAuthorization(ctx context.Context, call *awaken.ToolCall, d *dialogue, answered bool, needed *oauth.Needed) error {
	switch {
	case !c.hub():
		return fmt.Errorf("%w. The call was not made: an administrator has to authorize the server", needed)
	case c.server.Unattended:
		return fmt.Errorf("%w. The call was not made, and no person can authorize the server", needed)
	}
	if needed.Refused {
		d.Refusals++
	}
	if d.Refusals > maxRefusals {
		return fmt.Errorf("%w. The call was not made: the server has refused %d authorizations", needed, d.Refusals)
	}
	if d.Count++; d.Count > maxQuestions {
		return fmt.Errorf("%w. The call was not made: its user was asked %d times", needed, maxQuestions)
	}
	d.Unauthorized, d.Answered = true, answered
	s := awaken.Suspension{ID: d.suspensionID(call.ID), Action: AuthorizationAction}
	w := &oauth.Waiter{Target: s.ID}
	if call.Run != nil {
		w.RunID, w.ThreadID = call.Run.RunID, call.Run.ThreadID
	}
	req, err := c.auth.broker.Begin(ctx, &c.auth.server, owner(ctx, call), needed.Scopes, w)
	if err != nil {
		return fmt.Errorf("%w. The call was not made, because the authorization cannot begin: %w", needed, err)
	}
	s.Message = fmt.Sprintf("MCP server %q needs your authorization: %s", c.server.ID, req.URL)
	s.Parameters, err = json.Marshal(map[string]any{"server": c.server.ID, "tool": call.Tool, "mode": "url", "url": req.URL, "expires_at": req.Expires.UnixMilli(), "reason": needed.Reason})
	if err != nil {
		return err
	}
	return suspend(call, d, s, false)
}

// entrance is the tool of a server that no user has authorized yet: what tools it has is not known.
type entrance struct {
	conn *Connection
	spec awaken.ToolSpec
}

func newEntrance(c *Connection) *entrance {
	return &entrance{c, awaken.ToolSpec{
		ID:      toolID(c.server.ID, "authorize"),
		Name:    "authorize",
		Server:  c.server.ID,
		OwnName: "authorize",
		Description: fmt.Sprintf("Connects to the MCP server %s on behalf of the user, who is asked to authorize it. "+
			"Its tools are available afterwards. Use it when the task needs this server.", c.server.ID),
		Parameters: json.RawMessage(`{"type":"object","properties":{}}`),
		Category:   "mcp",
		Effect:     awaken.ReadOnly,
		Egress:     c.server.egress(),
		Timeout:    c.server.Timeout,
		Metadata:   map[string]any{"mcp.server": c.server.ID, "mcp.transport": c.server.transport()},
	}}
}

// Spec implements [awaken.Tool].
func (e *entrance) Spec() awaken.ToolSpec { return e.spec }

// Call implements [awaken.Tool].
func (e *entrance) Call(ctx context.Context, call *awaken.ToolCall) (*awaken.ToolResult, error) {
	d, _ := resumed(call)
	if _, err := e.conn.acquireFor(ctx, call); err != nil {
		if needed, ok := errors.AsType[*oauth.Needed](err); ok {
			return nil, e.conn.askAuthorization(ctx, call, &d, false, needed)
		}
		return nil, err
	}
	d.end(call)
	var ids []string
	for _, t := range e.conn.Tools() {
		ids = append(ids, t.Spec().ID)
	}
	data, err := json.Marshal("The server is connected. Its tools: " + strings.Join(ids, ", "))
	return &awaken.ToolResult{Data: data}, err
}
