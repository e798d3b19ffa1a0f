package config

import (
	"context"
	"encoding/json"

	"github.com/awaken-go/awaken"
)

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
