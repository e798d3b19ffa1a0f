package control

import (
	"cmp"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"net/http"
	"net/http/httptrace"
	"sync/atomic"
	"time"

	"github.com/awaken-go/awaken"
	"github.com/awaken-go/awaken/config"
	"github.com/awaken-go/awaken/llm"
	"github.com/awaken-go/awaken/protocol"
	"github.com/awaken-go/awaken/registry"
	"github.com/awaken-go/awaken/server"
	"github.com/awaken-go/awaken/server/access/permit"
)

// connections has the handlers of connections to providers, MCP servers and A2A servers.
type connections struct {
	control  *config.Manager
	registry func() *registry.Registry
}

func (h *connections) routes() []protocol.Route {
	return []protocol.Route{
		{Method: "POST", Path: "/v1/providers/{id}/test", Needs: permit.TryConfig, Handle: server.Handle(h.testProvider),
			Summary: "Test a provider: ask one of its models for a few tokens, with its key",
			Query:   []protocol.Param{server.Param("model", "string", "the model to ask: the id of a model of the provider, or the provider's own name for one; default a configured model")}, Replies: map[int]any{200: providerTest{}}},
		{Method: "GET", Path: "/v1/mcp-servers/{id}/status", Needs: permit.ReadConfig, Handle: server.Handle(h.mcpStatus),
			Summary: "Get the connection status of an MCP server", Replies: map[int]any{200: config.MCPStatus{}}},
		{Method: "GET", Path: "/v1/mcp-servers/{id}/inventory", Needs: permit.ReadConfig, Handle: server.Handle(h.mcpInventory),
			Summary: "Get the tools, prompts and resources of an MCP server", Replies: map[int]any{200: mcpInventory{}}, Failures: []int{502}},
		{Method: "POST", Path: "/v1/mcp-servers/{id}/restart", Needs: permit.ManageConnections, Handle: server.Handle(h.restartMCP),
			Summary: "Reconnect to an MCP server", Replies: map[int]any{202: nil}, Failures: []int{502}},
		{Method: "POST", Path: "/v1/mcp-servers/{id}/approve", Needs: permit.ManageConnections, Handle: server.HandleBody(h.approveMCP),
			Summary: "Approve changed tools of an MCP server", Body: mcpApproval{}, Replies: map[int]any{200: mcpApproved{}}, Failures: []int{409, 502}},
		{Method: "GET", Path: "/v1/a2a-servers/{id}/status", Needs: permit.ReadConfig, Handle: server.Handle(h.a2aStatus),
			Summary: "Get the status of an A2A server", Replies: map[int]any{200: config.A2AStatus{}}},
	}
}

// mcp returns the connection that the path names.
func (h *connections) mcp(req *server.Request) (config.MCPConnection, error) {
	conn, err := h.control.Connections().MCP(req.Path("id"))
	if err != nil && !errors.Is(err, awaken.ErrNotFound) && !errors.Is(err, config.ErrNoConnector) {
		return nil, upstream("not connected", err)
	}
	return conn, err
}

// upstream returns the failure of a request that another server caused.
func upstream(what string, err error) *protocol.Failure {
	return server.Fail(http.StatusBadGateway, "upstream", "%s: %s", what, server.Plain(err.Error()))
}

func (h *connections) mcpStatus(req *server.Request) error {
	conn, err := h.mcp(req)
	if f, ok := errors.AsType[*protocol.Failure](err); ok && f.Status == http.StatusBadGateway {
		return req.Reply(200, config.MCPStatus{LastError: f.Message, Tools: []config.MCPTool{}})
	}
	if err != nil {
		return err
	}
	return req.Reply(200, conn.Status())
}

type mcpInventory struct {
	config.MCPStatus
	config.MCPInventory
}

func (h *connections) mcpInventory(req *server.Request) error {
	conn, err := h.mcp(req)
	if err != nil {
		return err
	}
	more, err := conn.Inventory(req.Context())
	if err != nil {
		return upstream("cannot list prompts and resources of the MCP server", err)
	}
	return req.Reply(200, mcpInventory{conn.Status(), *more})
}

func (h *connections) restartMCP(req *server.Request) error {
	conn, err := h.mcp(req)
	if err != nil {
		return err
	}
	if err := h.control.Audit().Add(req.Context(), "restart", config.Key{Namespace: config.MCPServers, ID: req.Path("id")}.String(), server.ActorOf(req), nil); err != nil {
		return err
	}
	if err := conn.Restart(req.Context()); err != nil {
		return upstream("cannot reconnect to the MCP server", err)
	}
	return req.Reply(202, nil)
}

// mcpApproval approves tools of an MCP server.
type mcpApproval struct {
	// Tools maps the server's names of tools to their digests in the status that the admin has seen.
	Tools map[string]string `json:"tools"`
}

// mcpApproved names the tools that were approved.
type mcpApproved struct {
	Tools []string `json:"tools"`
}

func (h *connections) approveMCP(req *server.Request, body *mcpApproval) error {
	conn, err := h.mcp(req)
	if err != nil {
		return err
	}
	after, err := json.Marshal(body)
	if err != nil {
		return err
	}
	if err := h.control.Audit().Add(req.Context(), "approve", config.Key{Namespace: config.MCPServers, ID: req.Path("id")}.String(), server.ActorOf(req), after); err != nil {
		return err
	}
	names, err := conn.Approve(req.Context(), body.Tools)
	switch {
	case errors.Is(err, awaken.ErrInvalid), errors.Is(err, awaken.ErrConflict):
		return err
	case err != nil:
		return upstream("cannot approve tools of the MCP server", err)
	}
	return req.Reply(200, mcpApproved{Tools: append([]string{}, names...)})
}

func (h *connections) a2aStatus(req *server.Request) error {
	return req.OK(h.control.Connections().A2A(req.Context(), req.Path("id")))
}

// providerTest is the result of a provider's test.
type providerTest struct {
	OK            bool   `json:"ok"`
	Model         string `json:"model,omitempty"` // the provider's name of the model that was asked
	LatencyMS     int64  `json:"latency_ms"`
	NetworkTested bool   `json:"network_tested"`
	Error         string `json:"error,omitempty"`
}

// testTime limits the test of a provider.
const testTime = 20 * time.Second

// testProvider asks a model of a provider for a few tokens. A list of models proves nothing: it may be public, and may name others.
func (h *connections) testProvider(req *server.Request) error {
	id := req.Path("id")
	out, known := providerTest{}, false
	var asked atomic.Bool
	err := h.control.Connections().TryProvider(id, func(m llm.Model) (err error) {
		known = true
		ctx, cancel := context.WithTimeout(req.Context(), testTime)
		defer cancel()
		ctx = httptrace.WithClientTrace(ctx, &httptrace.ClientTrace{GetConn: func(string) { asked.Store(true) }})
		start := time.Now()
		out.Model, err = h.ask(ctx, id, req.Value("model"), m)
		out.LatencyMS = time.Since(start).Milliseconds()
		return err
	})
	if !known && errors.Is(err, awaken.ErrNotFound) {
		return err
	}
	out.NetworkTested = asked.Load()
	if out.OK = err == nil; err != nil {
		out.Error = server.Plain(err.Error())
	}
	return req.Reply(200, out)
}

// anyModel is the name that a server without a model list is asked for if no configured model
// uses it. Servers with one model answer to any name.
const anyModel = "default"

// listedTries is how many listed models are asked if no configured model uses the provider: some may not be for chats.
const listedTries = 3

// ask asks a model of a provider, and returns its name: the wanted one, otherwise a configured one, otherwise one that the provider lists.
func (h *connections) ask(ctx context.Context, id, want string, m llm.Model) (string, error) {
	first := ""
	for _, spec := range h.registry().Models() {
		if spec.ProviderID == id && spec.ID == want {
			return spec.UpstreamModel, few(ctx, m, spec.UpstreamModel)
		}
		if spec.ProviderID == id && first == "" {
			first = spec.UpstreamModel
		}
	}
	if want = cmp.Or(want, first); want != "" {
		return want, few(ctx, m, want)
	}
	var listed []llm.ModelInfo
	if l, ok := m.(llm.Lister); ok {
		var err error
		listed, err = l.ListModels(ctx)
		e, refused := errors.AsType[*llm.Error](err)
		if err != nil && (!refused || e.Status != http.StatusNotFound && e.Status != http.StatusMethodNotAllowed) {
			return "", err
		}
	}
	missing := func(err error) bool {
		kind := llm.KindOf(err)
		return kind == llm.ModelNotFound || kind == llm.InvalidRequest
	}
	var err error
	for i := range listed[:min(len(listed), listedTries)] {
		if err = few(ctx, m, listed[i].ID); !missing(err) {
			return listed[i].ID, err
		}
	}
	if len(listed) > 0 {
		return listed[0].ID, fmt.Errorf("no listed model answers a chat: %w; add a model that uses this provider, and test again", err)
	}
	if err = few(ctx, m, anyModel); missing(err) {
		err = fmt.Errorf("the server answers, but lists no models and has no model %q: add a model that uses this provider, and test again", anyModel)
	}
	return anyModel, err
}

// few asks a model for a few tokens.
func few(ctx context.Context, m llm.Model, name string) error {
	req := &llm.Request{Model: name, Messages: llm.NewMessages(llm.UserText("Say OK."))}
	req.MaxTokens = new(16)
	_, err := llm.Generate(ctx, m, req)
	return err
}
