package configtest

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"maps"
	"slices"
	"sync"

	"github.com/awaken-go/awaken"
	"github.com/awaken-go/awaken/config"
)

// MCP is a [config.MCPConnector] to servers in memory. A server that was not set up is up
// and has no tools.
type MCP struct {
	Unusable map[string]string // why there is no connection at all, by id

	consents
	mu      sync.Mutex
	servers map[string]*mcpServer // by id
	open    []*mcpConnection
	made    int
	started int
}

type mcpServer struct {
	tools []string
	down  string // why the server does not answer; "" if it does
}

// Server sets the tools of a server, and why it is down ("" means up). Its connections
// notice.
func (f *MCP) Server(id, down string, tools ...string) {
	f.mu.Lock()
	if f.servers == nil {
		f.servers = map[string]*mcpServer{}
	}
	f.servers[id] = &mcpServer{tools: tools, down: down}
	var told []*mcpConnection
	for _, c := range f.open {
		if c.spec.ID == id {
			told = append(told, c)
		}
	}
	f.mu.Unlock()
	for _, c := range told {
		c.changed()
	}
}

// Open returns the specs of the open connections, oldest first, and how many were ever
// made.
func (f *MCP) Open() (specs []config.MCPServerSpec, made int) {
	f.mu.Lock()
	defer f.mu.Unlock()
	for _, c := range f.open {
		specs = append(specs, *c.spec)
	}
	return specs, f.made
}

// Started returns how many connections were ever started.
func (f *MCP) Started() int {
	f.mu.Lock()
	defer f.mu.Unlock()
	return f.started
}

// Connect implements [config.MCPConnector].
func (f *MCP) Connect(_ context.Context, spec *config.MCPServerSpec, changed func()) (config.MCPConnection, error) {
	if why, ok := f.Unusable[spec.ID]; ok {
		return nil, errors.New(why)
	}
	f.mu.Lock()
	defer f.mu.Unlock()
	f.made++
	c := &mcpConnection{f: f, spec: spec, changed: changed, generation: 1}
	f.open = append(f.open, c)
	return c, nil
}

type mcpConnection struct {
	f          *MCP
	spec       *config.MCPServerSpec
	changed    func()
	generation int
	started    bool
}

var errClosed = errors.New("the connection is closed")

// server returns the server, unless it is down or the connection is closed.
func (c *mcpConnection) server() (mcpServer, error) {
	c.f.mu.Lock()
	defer c.f.mu.Unlock()
	s := c.f.servers[c.spec.ID]
	switch {
	case !slices.Contains(c.f.open, c):
		return mcpServer{}, errClosed
	case s == nil:
		return mcpServer{}, nil
	case s.down != "":
		return mcpServer{}, errors.New(s.down)
	}
	return *s, nil
}

func (c *mcpConnection) Start() {
	c.f.mu.Lock()
	defer c.f.mu.Unlock()
	if !c.started {
		c.started = true
		c.f.started++
	}
}

func (c *mcpConnection) Tools() []awaken.Tool {
	s, err := c.server()
	if err != nil {
		return nil
	}
	var out []awaken.Tool
	for _, name := range s.tools {
		out = append(out, &mcpTool{c, name})
	}
	return out
}

func (c *mcpConnection) Status() config.MCPStatus {
	s, err := c.server()
	st := config.MCPStatus{Connected: err == nil, Authorization: c.AuthorizationGrant(), SessionGeneration: c.generation, Tools: []config.MCPTool{}}
	if err != nil {
		st.LastError, st.ConsecutiveFailures = err.Error(), 1
	}
	for _, name := range s.tools {
		st.Tools = append(st.Tools, config.MCPTool{Name: name, Description: "tool " + name, Digest: digest(name)})
	}
	return st
}

func (c *mcpConnection) Inventory(context.Context) (*config.MCPInventory, error) {
	if _, err := c.server(); err != nil {
		return nil, err
	}
	return &config.MCPInventory{Prompts: []json.RawMessage{}, Resources: []json.RawMessage{}}, nil
}

func (c *mcpConnection) Restart(context.Context) error {
	c.f.mu.Lock()
	c.generation++
	c.f.mu.Unlock()
	_, err := c.server()
	return err
}

// Approve approves what is asked for: the tools of a server in memory never change.
func (c *mcpConnection) Approve(_ context.Context, digests map[string]string) ([]string, error) {
	s, err := c.server()
	if err != nil {
		return nil, err
	}
	names := slices.Sorted(maps.Keys(digests))
	for _, name := range names {
		switch {
		case !slices.Contains(s.tools, name):
			return nil, fmt.Errorf("%w: there is no tool %q", awaken.ErrInvalid, name)
		case digests[name] != digest(name):
			return nil, fmt.Errorf("%w: tool %q has changed", awaken.ErrConflict, name)
		}
	}
	return names, nil
}

// digest returns the digest of a tool, which depends on nothing but its name.
func digest(tool string) string { return "digest-" + tool }

func (c *mcpConnection) Close() error {
	c.f.mu.Lock()
	defer c.f.mu.Unlock()
	i := slices.Index(c.f.open, c)
	if i < 0 {
		return errClosed
	}
	c.f.open = slices.Delete(c.f.open, i, i+1)
	return nil
}

// mcpTool answers with its own name.
type mcpTool struct {
	c    *mcpConnection
	name string
}

func (t *mcpTool) Spec() awaken.ToolSpec {
	return awaken.ToolSpec{
		ID:          fmt.Sprintf("mcp__%s__%s", t.c.spec.ID, t.name),
		Name:        t.name,
		Server:      t.c.spec.ID,
		OwnName:     t.name,
		Description: "tool " + t.name,
		Parameters:  json.RawMessage(`{"type":"object"}`),
		Effect:      awaken.ReadOnly,
	}
}

func (t *mcpTool) Call(context.Context, *awaken.ToolCall) (*awaken.ToolResult, error) {
	s, err := t.c.server()
	if err == nil && !slices.Contains(s.tools, t.name) {
		err = fmt.Errorf("there is no tool %q", t.name)
	}
	if err != nil {
		return nil, err
	}
	return awaken.TextResult(t.name), nil
}

// A2A is a [config.A2AConnector] to servers that are up unless they are listed.
type A2A struct {
	Down map[string]string // reasons, by id
}

// Status implements [config.A2AConnector].
func (f A2A) Status(_ context.Context, spec *config.A2AServerSpec) config.A2AStatus {
	st := config.A2AStatus{Connected: true, CardURL: spec.BaseURL + "/.well-known/agent-card.json", Card: json.RawMessage(fmt.Sprintf(`{"name":%q}`, spec.ID))}
	if why, down := f.Down[spec.ID]; down {
		st.Connected, st.LastError, st.Card = false, &why, nil
	}
	return st
}
