package main

import (
	"context"
	"crypto/rand"
	"encoding/json"

	"github.com/awaken-go/awaken"
	"github.com/awaken-go/awaken/cmd/awaken/internal/settings"
	"github.com/awaken-go/awaken/protocol"
	"github.com/awaken-go/awaken/protocol/mcp"
)

// openMCP returns the routes of MCP.
func openMCP(ctx context.Context, s *settings.Settings, b *backend) ([]protocol.Route, error) {
	key, err := mcpKey(ctx, b)
	if err != nil {
		return nil, failed(err)
	}
	v := &s.Server.MCP
	routes, err := mcp.Routes(mcp.Config{Agents: v.Agents, Tools: v.Tools, ToolAgent: v.ToolAgent, Levels: b.keys, Version: moduleVersion(), Key: key})
	if err != nil {
		return nil, configError("server.mcp_tools: %w", err)
	}
	return routes, nil
}

// mcpKey returns the key that signs the ids of sessions. It is in the database, so all servers that share that have the
// same; the first makes it.
func mcpKey(ctx context.Context, b *backend) (awaken.Secret, error) {
	const namespace, name = "mcp", "signing_key"
	made, err := json.Marshal(rand.Text() + rand.Text())
	if err != nil {
		return awaken.Secret{}, err
	}
	if _, err := b.keys.CompareAndSet(ctx, namespace, name, nil, made); err != nil {
		return awaken.Secret{}, err
	}
	e, err := b.keys.Get(ctx, namespace, name)
	if err != nil {
		return awaken.Secret{}, err
	}
	var text string
	if err := json.Unmarshal(e.Value, &text); err != nil {
		return awaken.Secret{}, err
	}
	return awaken.NewSecret(text), nil
}
