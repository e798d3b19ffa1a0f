//go:build unix

package doubttest

import (
	"bufio"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"net/http"
	"strings"
)

const (
	mcpSessions = "2025-11-25" // the revision with sessions
	mcpModern   = "2026-07-28"
)

// mcpClient is a client of the Model Context Protocol to which the agent is a tool. It repeats a request after a lost
// connection, and its user answers elicitations.
type mcpClient struct {
	*client
	session string
	request int    // the latest
	params  object // of it
	whole   bool   // its result has arrived
	run     string // that answers it, once the server has said so
	thread  string // of the run
}

// begin begins the session.
func (c *mcpClient) begin(ctx context.Context) error {
	if c.session != "" {
		return nil
	}
	data, err := json.Marshal(object{"jsonrpc": "2.0", "id": 0, "method": "initialize", "params": object{"protocolVersion": mcpSessions,
		"capabilities": object{"elicitation": object{}}, "clientInfo": object{"name": "test", "version": "1"}}})
	if err != nil {
		return err
	}
	resp, err := c.open(ctx, "POST", "/v1/mcp", data, nil)
	if err != nil {
		return err
	}
	c.session = resp.Header.Get("Mcp-Session-Id")
	return resp.Body.Close()
}

// send sends a message of the session.
func (c *mcpClient) send(ctx context.Context, message object) (*http.Response, error) {
	message["jsonrpc"] = "2.0"
	data, err := json.Marshal(message)
	if err != nil {
		return nil, err
	}
	return c.open(ctx, "POST", "/v1/mcp", data, map[string]string{"Mcp-Session-Id": c.session, "MCP-Protocol-Version": mcpSessions,
		"Accept": "application/json, text/event-stream"})
}

// call calls a tool.
func (c *mcpClient) call(ctx context.Context, tool string, arguments object) (string, error) {
	if err := c.begin(ctx); err != nil {
		return "", err
	}
	c.request++
	c.params, c.whole = object{"name": tool, "arguments": arguments, "_meta": object{"progressToken": c.request}}, false
	return c.follow(ctx, nil)
}

// follow sends the latest request, again if it was sent before, and returns what the client hears until the result. An
// elicitation is answered with yes, once; if that is nil, it ends the stream.
func (c *mcpClient) follow(ctx context.Context, yes *bool) (string, error) {
	resp, err := c.send(ctx, object{"id": c.request, "method": "tools/call", "params": c.params})
	if err != nil {
		return "", err
	}
	defer resp.Body.Close()
	c.run, c.thread, c.whole = resp.Header.Get("X-Run-Id"), resp.Header.Get("X-Thread-Id"), false
	var heard strings.Builder
	answered := false
	in := bufio.NewReader(resp.Body)
	for {
		line, err := in.ReadString('\n')
		heard.WriteString(line)
		if err != nil && !errors.Is(err, io.EOF) || err != nil && !c.whole {
			return heard.String(), err
		}
		if err != nil {
			return heard.String(), nil
		}
		var m struct {
			ID     json.RawMessage `json:"id"`
			Method string          `json:"method"`
			Result json.RawMessage `json:"result"`
		}
		if json.Unmarshal([]byte(strings.TrimPrefix(line, "data: ")), &m) != nil {
			continue
		}
		c.whole = c.whole || len(m.Result) > 0
		switch {
		case m.Method != "elicitation/create" || answered:
		case yes == nil:
			return heard.String(), nil
		default:
			answered = true
			said, err := c.send(ctx, object{"id": m.ID, "result": object{"action": "accept", "content": object{"approved": *yes, "reason": "no"}}})
			if err != nil {
				return heard.String(), err
			}
			_ = said.Body.Close() // it is empty
		}
	}
}

func (c *mcpClient) say(ctx context.Context, thread, _, text string) (string, error) {
	before := ""
	if c.params != nil && !c.whole {
		var err error
		if before, err = c.follow(ctx, nil); err != nil {
			return before, err
		}
	}
	text, err := c.call(ctx, "default", object{"message": text, "thread_id": thread})
	return before + text, err
}

func (c *mcpClient) answer(ctx context.Context, _ *ticket, yes bool) (string, error) {
	return c.follow(ctx, &yes)
}

func (c *mcpClient) cancel(ctx context.Context, _, _ string) (string, error) {
	asked, err := c.follow(ctx, nil)
	if err != nil {
		return asked, err
	}
	resp, err := c.send(ctx, object{"method": "notifications/cancelled", "params": object{"requestId": c.request}})
	if err != nil {
		return asked, err
	}
	return asked, resp.Body.Close()
}

// resource reads a resource of MCP, without a session.
func (c *client) resource(ctx context.Context, uri string) (string, error) {
	data, err := json.Marshal(object{"jsonrpc": "2.0", "id": 1, "method": "resources/read", "params": object{"uri": uri,
		"_meta": object{"io.modelcontextprotocol/protocolVersion": mcpModern, "io.modelcontextprotocol/clientCapabilities": object{}}}})
	if err != nil {
		return "", err
	}
	resp, err := c.open(ctx, "POST", "/v1/mcp", data, map[string]string{"MCP-Protocol-Version": mcpModern,
		"Mcp-Method": "resources/read", "Mcp-Name": uri})
	if err != nil {
		return "", err
	}
	defer resp.Body.Close()
	text, err := io.ReadAll(resp.Body)
	if err == nil && strings.Contains(string(text), `"error":{`) {
		err = fmt.Errorf("%s: %s", uri, text)
	}
	return string(text), err
}
