package control

import (
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
			Summary: "Test the connection to a provider", Replies: map[int]any{200: providerTest{}}},
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
	LatencyMS     int64  `json:"latency_ms"`
	NetworkTested bool   `json:"network_tested"`
	Error         string `json:"error,omitempty"`
}

// testTime limits the test of a provider.
const testTime = 20 * time.Second

// testProvider asks a provider for its models or, if it does not list any, for a few tokens of a
// configured model.
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
		err = h.ask(ctx, id, m)
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

func (h *connections) ask(ctx context.Context, id string, m llm.Model) error {
	var unlisted error
	if l, ok := m.(llm.Lister); ok {
		list, err := l.ListModels(ctx)
		if err == nil && len(list) > 0 {
			return nil
		}
		unlisted = err // an empty list may come without a request, as with Vertex AI
	}
	for _, spec := range h.registry().Models() {
		if spec.ProviderID == id {
			return few(ctx, m, spec.UpstreamModel)
		}
	}
	if e, ok := errors.AsType[*llm.Error](unlisted); !ok || e.Status != http.StatusNotFound && e.Status != http.StatusMethodNotAllowed {
		return unlisted
	}
	err := few(ctx, m, anyModel)
	if kind := llm.KindOf(err); kind == llm.ModelNotFound || kind == llm.InvalidRequest {
		return fmt.Errorf("the server answers, but lists no models and has no model %q: add a model that uses this provider, and test again", anyModel)
	}
	return err
}

// few asks a model for a few tokens.
func few(ctx context.Context, m llm.Model, name string) error {
	req := &llm.Request{Model: name, Messages: llm.NewMessages(llm.UserText("Say OK."))}
	req.MaxTokens = new(16)
	_, err := llm.Generate(ctx, m, req)
	return err
}
