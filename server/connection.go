package server

import (
	"context"
	"errors"
	"net/http"
	"time"

	"github.com/awaken-go/awaken"
	"github.com/awaken-go/awaken/config"
	"github.com/awaken-go/awaken/llm"
	"github.com/awaken-go/awaken/protocol"
)

// mcp is the connection that a path names.
func (c *call) mcp() (config.MCPConnection, error) {
	conn, err := c.srv.cfg.Control.Connections().MCP(c.path("id"))
	if err != nil && !errors.Is(err, awaken.ErrNotFound) && !errors.Is(err, config.ErrNoConnector) {
		return nil, upstream("there is no connection", err)
	}
	if err != nil {
		return nil, c.refused(err)
	}
	return conn, nil
}

// upstream says that another server is to blame.
func upstream(what string, err error) *protocol.Failure {
	return fail(http.StatusBadGateway, "upstream", plain(what+": "+err.Error()))
}

func (c *call) mcpStatus() error {
	conn, err := c.mcp()
	if f, ok := errors.AsType[*protocol.Failure](err); ok && f.Status == http.StatusBadGateway {
		return c.Reply(200, config.MCPStatus{LastError: f.Message, Tools: []config.MCPTool{}})
	}
	if err != nil {
		return err
	}
	return c.Reply(200, conn.Status())
}

type mcpInventory struct {
	config.MCPStatus
	config.MCPInventory
}

func (c *call) mcpInventory() error {
	conn, err := c.mcp()
	if err != nil {
		return err
	}
	more, err := conn.Inventory(c.ctx)
	if err != nil {
		return upstream("the MCP server does not say what it has", err)
	}
	return c.Reply(200, mcpInventory{conn.Status(), *more})
}

func (c *call) restartMCP() error {
	conn, err := c.mcp()
	if err != nil {
		return err
	}
	if err := c.srv.cfg.Control.Audit().Add(c.ctx, "restart", c.document(config.MCPServers, "id").String(), c.actor()); err != nil {
		return err
	}
	if err := conn.Restart(c.ctx); err != nil {
		return upstream("the MCP server could not be restarted", err)
	}
	return c.Reply(202, nil)
}

func (c *call) a2aStatus() error {
	out, err := c.srv.cfg.Control.Connections().A2A(c.ctx, c.path("id"))
	if err != nil {
		return c.refused(err)
	}
	return c.Reply(200, out)
}

// providerTest is what came of asking a provider.
type providerTest struct {
	OK            bool   `json:"ok"`
	LatencyMS     int64  `json:"latency_ms"`
	NetworkTested bool   `json:"network_tested"`
	Error         string `json:"error,omitempty"`
}

// testTime is how long a provider may take to answer a test.
const testTime = 20 * time.Second

// testProvider asks a provider which models it has, or, if it does not say, for a few tokens
// of a model that is configured.
func (c *call) testProvider() error {
	id := c.path("id")
	out, known := providerTest{}, false
	err := c.srv.cfg.Control.Connections().TryProvider(id, func(m llm.Model) (err error) {
		known = true
		ctx, cancel := context.WithTimeout(c.ctx, testTime)
		defer cancel()
		start := time.Now()
		out.NetworkTested, err = c.askProvider(ctx, id, m)
		out.LatencyMS = time.Since(start).Milliseconds()
		return err
	})
	if !known && errors.Is(err, awaken.ErrNotFound) {
		return err
	}
	if out.OK = err == nil; err != nil {
		out.Error = plain(err.Error())
	}
	return c.Reply(200, out)
}

func (c *call) askProvider(ctx context.Context, id string, m llm.Model) (network bool, err error) {
	if l, ok := m.(llm.Lister); ok {
		var list []llm.ModelInfo
		if list, err = l.ListModels(ctx); err == nil && len(list) > 0 {
			return true, nil
		}
		network = err != nil // nothing to list: perhaps nobody was asked, as with Vertex AI
	}
	for _, spec := range runtimeOf(c.tenant).Registry().Models() {
		if spec.ProviderID == id {
			req := &llm.Request{Model: spec.UpstreamModel, Messages: llm.NewMessages(llm.UserText("Say OK."))}
			req.MaxTokens = new(16)
			_, err = llm.Generate(ctx, m, req)
			return true, err
		}
	}
	return network, err
}
