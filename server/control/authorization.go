package control

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"html"
	"io"
	"log/slog"
	"net/http"
	"net/url"
	"time"

	"github.com/awaken-go/awaken"
	"github.com/awaken-go/awaken/config"
	"github.com/awaken-go/awaken/mailbox"
	"github.com/awaken-go/awaken/protocol"
	"github.com/awaken-go/awaken/server"
	"github.com/awaken-go/awaken/server/access/permit"
)

// Authorizer completes the authorizations of MCP servers that users or administrators have begun.
type Authorizer interface {
	// Complete takes the parameters of an authorization server's response. It calls allow before it acts, and
	// fails as that does. A result beside an error has calls to resume, which will ask again.
	Complete(ctx context.Context, response url.Values, allow func(*Authorized) error) (*Authorized, error)
	// Settle says that the calls of an authorization, [Authorized.ID], were resumed.
	Settle(ctx context.Context, id string) error
	// Sweep calls resume with authorizations that have ended and were not settled, because the process that ended them was lost, and
	// settles them unless resume fails.
	Sweep(ctx context.Context, resume func(ctx context.Context, done *Authorized) error) error
	// ClientDocument returns the client ID metadata document, or nil if there is none.
	ClientDocument() json.RawMessage
}

// Authorized is the end of an authorization.
type Authorized struct {
	ID           string // for Settle
	Server       string
	Shared       bool // it is one for all, which an administrator gives
	Tenant, User string
	Denied       string // why the authorization server refuses; "" if it does not
	Calls        []AuthorizedCall
}

// AuthorizedCall is a suspended call that waits for the authorization.
type AuthorizedCall struct{ RunID, TicketID string }

// authorizations has the handlers with which users authorize MCP servers. Each acts for the caller's own user.
type authorizations struct {
	control    *config.Manager
	authorizer Authorizer
	kernel     *server.Kernel
	mailbox    *mailbox.Mailbox
	log        server.DecisionLog
	logger     *slog.Logger
}

// callbackParams are those of an authorization server's response.
var callbackParams = []protocol.Param{server.Param("state", "string", "of the authorization request"), server.Param("code", "string", "to get tokens with"), server.Param("iss", "string", "the authorization server"),
	server.Param("error", "string", "why the authorization server refuses"), server.Param("error_description", "string", "the same, for people"), server.Param("again", "boolean", "the page has loaded itself again, so that the browser sends its cookie")}

func (h *authorizations) routes() []protocol.Route {
	return []protocol.Route{
		{Method: "GET", Path: "/v1/mcp-servers/{id}/authorization", Needs: permit.ReadConnections, Scope: protocol.ByCaller, Handle: server.Handle(h.get),
			Summary: "Get whether the caller's user has authorized an MCP server", Replies: map[int]any{200: config.MCPAuthorization{}}, Failures: []int{400, 502}},
		{Method: "POST", Path: "/v1/mcp-servers/{id}/authorization", Needs: permit.AuthorizeConnections, Scope: protocol.ByCaller, Handle: server.Handle(h.begin),
			Summary: "Begin to authorize an MCP server for the caller's user", Replies: map[int]any{200: config.MCPAuthorizationRequest{}}, Failures: []int{400, 502}},
		{Method: "DELETE", Path: "/v1/mcp-servers/{id}/authorization", Needs: permit.AuthorizeConnections, Scope: protocol.ByCaller, Handle: server.Handle(h.revoke),
			Summary: "End the authorization of an MCP server by the caller's user", Replies: map[int]any{204: nil}, Failures: []int{400, 502}},
		{Method: "GET", Path: "/v1/mcp-oauth/callback", Needs: permit.Public, Handle: server.Handle(h.callback), Query: callbackParams,
			Summary: "Complete an authorization, in the browser of the user who began it", Replies: map[int]any{200: server.HTML(""), 400: server.HTML(""), 403: server.HTML("")}, Failures: []int{500, 503}},
		{Method: "POST", Path: "/v1/mcp-oauth/callback", Needs: permit.AuthorizeConnections, Scope: protocol.ByCaller, Handle: server.HandleBody(h.deliver),
			Summary: "Complete an authorization, by the application of the user who began it", Body: authorizationResponse{}, Replies: map[int]any{200: authorizedBody{}}, Failures: []int{502}},
		{Method: "GET", Path: "/v1/mcp-oauth/client.json", Needs: permit.Public, Handle: server.Handle(h.document),
			Summary: "Get the client ID metadata document, for authorization servers", Replies: map[int]any{200: clientDocument{}}, Failures: []int{404}},
	}
}

// connection returns the connection that the path names, if people authorize its server. Change says that the caller
// wants to change the authorization.
func (h *authorizations) connection(req *server.Request, change bool) (config.MCPAuthorizer, error) {
	id := req.Path("id")
	conn, err := h.control.Connections().MCP(id)
	if err != nil && !errors.Is(err, awaken.ErrNotFound) && !errors.Is(err, config.ErrNoConnector) {
		return nil, upstream("not connected", err)
	}
	if err != nil {
		return nil, err
	}
	a, ok := conn.(config.MCPAuthorizer)
	if !ok || a.AuthorizationGrant() == "" {
		return nil, protocol.BadRequest("MCP server %q needs no authorization: its document has no auth", id)
	}
	if change && a.AuthorizationGrant() != "user" && !req.May(permit.ManageConnections) {
		return nil, server.Forbidden("MCP server %q has one authorization for all: use an admin key without a tenant", id)
	}
	return a, nil
}

func (h *authorizations) get(req *server.Request) error {
	a, err := h.connection(req, false)
	if err != nil {
		return err
	}
	return req.OK(a.Authorization(req.Context(), req.TenantName(), req.User))
}

func (h *authorizations) begin(req *server.Request) error {
	a, err := h.connection(req, true)
	if err != nil {
		return err
	}
	out, err := a.Authorize(req.Context(), req.TenantName(), req.User)
	if err != nil {
		return upstream("cannot begin the authorization", err)
	}
	return req.Reply(http.StatusOK, out)
}

func (h *authorizations) revoke(req *server.Request) error {
	a, err := h.connection(req, true)
	if err != nil {
		return err
	}
	if err := h.audit(req, "revoke", req.Path("id"), req.TenantName(), req.User); err != nil {
		return err
	}
	if err := a.Revoke(req.Context(), req.TenantName(), req.User); err != nil {
		return upstream("cannot revoke the authorization", err)
	}
	return req.Reply(http.StatusNoContent, nil)
}

func (h *authorizations) audit(req *server.Request, action, id, tenant, user string) error {
	after, _ := json.Marshal(map[string]string{"tenant": tenant, "user": user}) // cannot fail
	return h.control.Audit().Add(context.WithoutCancel(req.Context()), action, config.Key{Namespace: config.MCPServers, ID: id}.String()+"/authorization", server.ActorOf(req), after)
}

// errOwner is the error of a response that the client of another user delivers.
var errOwner = server.Forbidden("the authorization was begun by another user")

// complete completes an authorization for the caller, if it is the one who began it.
func (h *authorizations) complete(req *server.Request, response url.Values) (*Authorized, error) {
	done, err := h.authorizer.Complete(req.Context(), response, func(a *Authorized) error {
		if a.Shared && req.May(permit.ManageConnections) || !a.Shared && a.Tenant == req.TenantName() && a.User == req.User {
			return nil
		}
		return errOwner
	})
	if done == nil {
		return nil, err
	}
	ctx := context.WithoutCancel(req.Context())
	if err == nil && done.Denied == "" {
		if aerr := h.audit(req, "authorize", done.Server, done.Tenant, done.User); aerr != nil {
			h.logger.Error("cannot add an authorization to the audit log", "mcp_server", done.Server, "error", aerr)
		}
	}
	d := awaken.Decision{Action: awaken.ActionResume, Actor: server.Author(req)}
	if err == nil && done.Denied != "" {
		d.Action, d.Reason = awaken.ActionCancel, "the user did not authorize MCP server "+done.Server+": "+done.Denied
	}
	rerr := h.resume(ctx, done, d, func(made []*awaken.Decided) { h.log.Add(req, made) })
	if rerr == nil {
		rerr = h.authorizer.Settle(ctx, done.ID)
	}
	if rerr != nil { // a sweep tries again
		h.logger.Error("cannot resume the calls that waited for an authorization", "mcp_server", done.Server, "error", rerr)
	}
	if done.Shared && err == nil {
		if conn, cerr := h.control.Connections().MCP(done.Server); cerr == nil {
			rctx, cancel := context.WithTimeout(ctx, 10*time.Second)
			defer cancel()
			_ = conn.Restart(rctx) // its status tells; other processes connect soon
		}
	}
	return done, err
}

// resume decides for the calls that wait for an authorization. It fails if one of them may still wait.
func (h *authorizations) resume(ctx context.Context, done *Authorized, d awaken.Decision, made func([]*awaken.Decided)) error {
	var errs []error
	for _, c := range done.Calls {
		d.Target = c.TicketID
		r, err := h.mailbox.Tenant(done.Tenant).Decide(ctx, c.RunID, d)
		switch {
		case err != nil && server.FailureOf(err).Status >= 500:
			errs = append(errs, fmt.Errorf("run %s: %w", c.RunID, err))
		case err != nil: // it was decided in another way, or has ended
			h.logger.Debug("a call does not wait for an authorization any more", "run", c.RunID, "ticket", c.TicketID, "error", err)
		default:
			made(r.Decided)
		}
	}
	return errors.Join(errs...)
}

// settleEvery is how often the calls are looked for whose authorization has ended without them.
const settleEvery = time.Minute

// work resumes the calls of authorizations that a process which was lost has ended, until ctx is done.
func (h *authorizations) work(ctx context.Context) {
	tick := time.NewTicker(settleEvery)
	defer tick.Stop()
	for {
		err := h.authorizer.Sweep(ctx, func(ctx context.Context, done *Authorized) error {
			d := awaken.Decision{Action: awaken.ActionResume}
			if done.User != "" {
				d.Actor = &awaken.Actor{User: done.User}
			}
			return h.resume(ctx, done, d, func([]*awaken.Decided) {})
		})
		if err != nil && ctx.Err() == nil {
			h.logger.Error("cannot resume what waited for authorizations", "error", err)
		}
		select {
		case <-tick.C:
		case <-ctx.Done():
			return
		}
	}
}

// authorizationResponse is the response of an authorization server.
type authorizationResponse struct {
	State            string `json:"state"`
	Code             string `json:"code,omitempty"`
	Issuer           string `json:"iss,omitempty"`
	Error            string `json:"error,omitempty"`
	ErrorDescription string `json:"error_description,omitempty"`
}

// authorizedBody is the result of an authorization.
type authorizedBody struct {
	Server     string `json:"server"`
	Authorized bool   `json:"authorized"`
	Reason     string `json:"reason,omitempty"` // why not
}

func (h *authorizations) deliver(req *server.Request, body *authorizationResponse) error {
	q := url.Values{}
	for name, v := range map[string]string{"state": body.State, "code": body.Code, "iss": body.Issuer, "error": body.Error, "error_description": body.ErrorDescription} {
		if v != "" {
			q.Set(name, v)
		}
	}
	done, err := h.complete(req, q)
	switch {
	case errors.Is(err, errOwner):
		return err
	case err != nil && done == nil:
		return protocol.BadRequest("%s", server.Plain(err.Error()))
	case err != nil:
		return upstream("the authorization failed", err)
	}
	return req.Reply(http.StatusOK, authorizedBody{Server: done.Server, Authorized: done.Denied == "", Reason: done.Denied})
}

// callback answers the browser that an authorization server sends here. The cookie with which a user is signed in is not
// sent with a request that another site has caused, so the page loads itself once more.
func (h *authorizations) callback(req *server.Request) error {
	c, err := h.kernel.Identify(req.HTTP(), permit.AuthorizeConnections)
	if err != nil && server.FailureOf(err).Status >= 500 {
		return err
	}
	known := err == nil
	if known {
		req.Caller = c
	}
	q := req.HTTP().URL.Query()
	again := q.Has("again")
	q.Del("again")
	var done *Authorized
	if err = errOwner; known {
		done, err = h.complete(req, q)
	}
	switch {
	case errors.Is(err, errOwner) && !again && q.Get("state") != "":
		q.Set("again", "true")
		return h.page(req, http.StatusOK, `<meta http-equiv="refresh" content="0;url=callback?`+html.EscapeString(q.Encode())+`">`, "One moment …")
	case errors.Is(err, errOwner):
		return h.page(req, http.StatusForbidden, "", "Sign in to this server as the user who began this authorization, in this browser, and load this page again. An application can deliver the parameters of this address with POST /v1/mcp-oauth/callback instead.")
	case err != nil:
		h.logger.Warn("an authorization of an MCP server failed", "error", err)
		return h.page(req, http.StatusBadRequest, "", "The authorization failed: "+server.Plain(err.Error())+". Begin it again.")
	case done.Denied != "":
		return h.page(req, http.StatusOK, "", "The server was not authorized: "+server.Plain(done.Denied)+". You can close this page.")
	}
	return h.page(req, http.StatusOK, "", fmt.Sprintf("MCP server %q is authorized. You can close this page.", done.Server))
}

// page replies with a page of one sentence. It loads nothing, and no other site learns its address.
func (h *authorizations) page(req *server.Request, status int, head, sentence string) error {
	header := req.Writer().Header()
	header.Set("Content-Type", "text/html; charset=utf-8")
	header.Set("Cache-Control", "no-store")
	header.Set("Referrer-Policy", "no-referrer")
	header.Set("Content-Security-Policy", "default-src 'none'; frame-ancestors 'none'")
	req.Writer().WriteHeader(status)
	_, _ = io.WriteString(req.Writer(), "<!doctype html><html lang=\"en\"><head><meta charset=\"utf-8\"><title>Authorization</title>"+head+"</head><body><p>"+html.EscapeString(sentence)+"</p></body></html>\n")
	return nil
}

// clientDocument is a client ID metadata document.
type clientDocument struct {
	ClientID                string   `json:"client_id"`
	ClientName              string   `json:"client_name,omitempty"`
	RedirectURIs            []string `json:"redirect_uris"`
	TokenEndpointAuthMethod string   `json:"token_endpoint_auth_method"`
	ApplicationType         string   `json:"application_type"`
	GrantTypes              []string `json:"grant_types"`
	ResponseTypes           []string `json:"response_types"`
}

func (h *authorizations) document(req *server.Request) error {
	doc := h.authorizer.ClientDocument()
	if doc == nil {
		return protocol.NotFound("document", "client.json")
	}
	req.Writer().Header().Set("Cache-Control", "public, max-age=3600")
	return req.Reply(http.StatusOK, doc)
}
