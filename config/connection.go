package config

import (
	"context"
	"encoding/json"
	"fmt"

	"github.com/awaken-go/awaken"
	"github.com/awaken-go/awaken/llm"
)

// Connections reaches the MCP servers, A2A servers and providers of the live documents.
type Connections struct {
	current *current
	a2a     A2AConnector // nil means no connector
}

// MCP returns the connection to a live MCP server. It returns awaken.ErrNotFound if there
// is no such document, and ErrNoConnector if the program has no connector.
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

// A2A returns the status of a live A2A server, with the same errors as [Connections.MCP].
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

// TryProvider calls fn with the model client of a live provider and removes the provider's
// secrets from the error that fn returns.
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
	// Connect returns a connection that is not open yet, and waits for nothing. A server that
	// does not answer is not an error: the connection reports it and keeps trying as the
	// spec's restart policy says. The connection calls changed when the server's tools change.
	Connect(ctx context.Context, spec *MCPServerSpec, changed func()) (MCPConnection, error)
}

// MCPConnection is a connection to an MCP server, whether the server is up or not.
type MCPConnection interface {
	// Start begins to open the connection, in the background. It is called when a version that
	// has the server is used for the first time, and again for later versions.
	Start()
	// Tools returns the server's tools, none before the server was connected.
	Tools() []awaken.Tool
	// Status returns the state of the connection.
	Status() MCPStatus
	// Inventory asks the server for its prompts and resources.
	Inventory(ctx context.Context) (*MCPInventory, error)
	// Restart closes the connection and connects again.
	Restart(ctx context.Context) error
	// Approve approves tools by the digests of what was looked at (MCPTool.Digest), and returns
	// their names. It returns awaken.ErrConflict, and approves none, if one has changed since,
	// and awaken.ErrInvalid if the server has no such tool.
	Approve(ctx context.Context, digests map[string]string) ([]string, error)
	// Close closes the connection. It does not wait for the server.
	Close() error
}

// MCPAuthorizer is an MCPConnection to a server that may have to be authorized.
type MCPAuthorizer interface {
	// AuthorizationGrant returns the kind of authorization that the server is used with: "user", "server" or "client_credentials", or "" if
	// it needs none.
	AuthorizationGrant() string
	// Authorization returns the status of the authorization of a tenant's user.
	Authorization(ctx context.Context, tenant, user string) (*MCPAuthorization, error)
	// Authorize begins an authorization and returns the URL for the user to open.
	Authorize(ctx context.Context, tenant, user string) (*MCPAuthorizationRequest, error)
	// Revoke revokes an authorization, also at the authorization server if it supports that.
	Revoke(ctx context.Context, tenant, user string) error
}

// MCPAuthorization is the status of an authorization, without secrets. Times are Unix milliseconds; 0 means unknown.
type MCPAuthorization struct {
	Server     string   `json:"server"`
	Grant      string   `json:"grant"` // user, server or client_credentials
	Authorized bool     `json:"authorized"`
	Reason     string   `json:"reason,omitempty"` // why it is not authorized
	Issuer     string   `json:"issuer,omitempty"`
	Scopes     []string `json:"scopes,omitempty"`
	Since      int64    `json:"since,omitempty"`
	ExpiresAt  int64    `json:"expires_at,omitempty"` // of the access token
	Refreshes  bool     `json:"refreshes,omitempty"`  // the access token is refreshed when it expires
}

// MCPAuthorizationRequest is an authorization that has begun.
type MCPAuthorizationRequest struct {
	URL       string `json:"authorization_url"`
	ExpiresAt int64  `json:"expires_at"` // Unix ms
}

// MCPStatus is the state of a connection. Times are Unix seconds; 0 means never.
type MCPStatus struct {
	Connected               bool      `json:"connected"`
	Authorization           string    `json:"authorization,omitempty"` // whose it is used with: user, server or client_credentials; "" if it needs none
	LastError               string    `json:"last_error,omitempty"`
	Tools                   []MCPTool `json:"tools"`
	ConsecutiveFailures     int       `json:"consecutive_failures"`
	LastAttemptAt           int64     `json:"last_attempt_at"`
	NextAttemptAt           int64     `json:"next_attempt_at,omitempty"` // 0 if none is due
	LastSuccessAt           int64     `json:"last_success_at"`
	Reconnecting            bool      `json:"reconnecting"`
	PermanentlyFailed       bool      `json:"permanently_failed"`
	SessionGeneration       int       `json:"session_generation"`
	TransportReconnectCount int       `json:"transport_reconnect_count"`
	LastInitAt              int64     `json:"last_init_at"`
	Problems                []string  `json:"problems,omitempty"` // of the document, such as names of tools that the server does not have
}

// MCPTool is a tool of an MCP server, by the server's name for it. Rules may name it by Name and by ID.
type MCPTool struct {
	Name        string `json:"name"`
	ID          string `json:"id,omitempty"` // by which models call it; "" if it cannot have one
	Title       string `json:"title,omitempty"`
	Description string `json:"description"`
	Digest      string `json:"digest,omitempty"`  // of its title, description, schema and hints; approvals name it
	Held        string `json:"held,omitempty"`    // why agents do not have it
	Changed     bool   `json:"changed,omitempty"` // it differs from what was approved, and waits for approval
	Added       bool   `json:"added,omitempty"`   // it was not there when the server's tools were approved, and waits for approval
	Effect      string `json:"effect,omitempty"`  // that counts: effectful, idempotent or read_only
	Hint        string `json:"hint,omitempty"`    // that the server promises; it counts if the document has trust_hints
}

// MCPInventory lists the prompts and resources of an MCP server.
type MCPInventory struct {
	Prompts   []json.RawMessage `json:"prompts"`
	Resources []json.RawMessage `json:"resources"`
}

// A2AConnector queries A2A servers.
type A2AConnector interface {
	// Status fetches the server's agent card.
	Status(ctx context.Context, spec *A2AServerSpec) A2AStatus
}

// A2AStatus is the state of an A2A server.
type A2AStatus struct {
	Connected bool            `json:"connected"`
	LastError *string         `json:"last_error"`
	CardURL   string          `json:"card_url"`
	Card      json.RawMessage `json:"card"`
}
