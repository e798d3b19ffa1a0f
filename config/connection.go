package config

import (
	"context"
	"fmt"

	"github.com/awaken-go/awaken"
	"github.com/awaken-go/awaken/llm"
)

// Connections are what this process reaches in the name of the live documents: MCP servers,
// A2A servers and providers.
type Connections struct {
	current *current
	a2a     A2AConnector // nil looks at none
}

// MCP returns the connection of a live MCP server; A2A the status of a live A2A server.
// awaken.ErrNotFound means that there is no such document, ErrNoConnector that this
// program connects to none.
func (c *Connections) MCP(id string) (MCPConnection, error) {
	s := c.current.now().live.servers[id]
	switch {
	case s == nil:
		return nil, fmt.Errorf("MCP server %q: %w", id, awaken.ErrNotFound)
	case s.err != nil:
		return nil, fmt.Errorf("MCP server %q: %w", id, s.err)
	}
	return s.conn, nil
}

func (c *Connections) A2A(ctx context.Context, id string) (A2AStatus, error) {
	now := c.current.now()
	doc := now.live.docs[Key{A2AServers, id}]
	switch {
	case doc == nil:
		return A2AStatus{}, fmt.Errorf("A2A server %q: %w", id, awaken.ErrNotFound)
	case c.a2a == nil:
		return A2AStatus{}, fmt.Errorf("A2A server %q: %w", id, ErrNoConnector)
	}
	spec, err := now.secrets.decode(doc)
	if err != nil {
		return A2AStatus{}, err
	}
	return c.a2a.Status(ctx, spec.(*A2AServerSpec)), nil
}

// TryProvider calls a function with the models of a live provider, and takes the provider's
// secrets out of the error that it returns.
func (c *Connections) TryProvider(id string, fn func(llm.Model) error) error {
	now := c.current.now()
	p := now.live.providers[id]
	if p == nil {
		return fmt.Errorf("provider %q: %w", id, awaken.ErrNotFound)
	}
	a := p.now.Load()
	if a.err != nil {
		return fmt.Errorf("provider %q: %w", id, a.err)
	}
	return now.secrets.scrub(p.doc, fn(a.model))
}
