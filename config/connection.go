package config

import (
	"context"
	"encoding/json"
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

// MCPConnector connects to MCP servers.
type MCPConnector interface {
	// Connect returns a connection. A server that does not answer is not an error: the
	// connection says so, and goes on trying by the restart policy of the spec. Changed is
	// called when its tools are others than before.
	Connect(ctx context.Context, spec *MCPServerSpec, changed func()) (MCPConnection, error)
}

// MCPConnection is a connection to an MCP server, whether it is up or not.
type MCPConnection interface {
	Tools() []awaken.Tool
	Status() MCPStatus
	Inventory(ctx context.Context) (*MCPInventory, error)
	Restart(ctx context.Context) error
	Close() error
}

// MCPStatus is how a connection is. Times are unix seconds; 0 means never.
type MCPStatus struct {
	Connected               bool      `json:"connected"`
	LastError               string    `json:"last_error,omitempty"`
	Tools                   []MCPTool `json:"tools"`
	ConsecutiveFailures     int       `json:"consecutive_failures"`
	LastAttemptAt           int64     `json:"last_attempt_at"`
	LastSuccessAt           int64     `json:"last_success_at"`
	Reconnecting            bool      `json:"reconnecting"`
	PermanentlyFailed       bool      `json:"permanently_failed"`
	SessionGeneration       int       `json:"session_generation"`
	TransportReconnectCount int       `json:"transport_reconnect_count"`
	LastInitAt              int64     `json:"last_init_at"`
}

// MCPTool is a tool of a server, by its own name.
type MCPTool struct {
	Name        string `json:"name"`
	Description string `json:"description"`
}

// MCPInventory is what else a server has.
type MCPInventory struct {
	Prompts   []json.RawMessage `json:"prompts"`
	Resources []json.RawMessage `json:"resources"`
}

// A2AConnector looks at A2A servers.
type A2AConnector interface {
	Status(ctx context.Context, spec *A2AServerSpec) A2AStatus
}

// A2AStatus is how a server is.
type A2AStatus struct {
	Connected bool            `json:"connected"`
	LastError *string         `json:"last_error"`
	CardURL   string          `json:"card_url"`
	Card      json.RawMessage `json:"card"`
}
