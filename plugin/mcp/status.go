package mcp

import (
	"cmp"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"maps"
	"slices"
	"time"

	sdk "github.com/modelcontextprotocol/go-sdk/mcp"

	"github.com/awaken-go/awaken"
	"github.com/awaken-go/awaken/plugin/mcp/oauth"
)

// Status is the state of a connection.
type Status struct {
	Connected    bool
	Reconnecting bool
	// Authorization says whose authorization the server is used with. "" means that it needs none.
	Authorization oauth.Grant
	Failed        bool   // it is not tried again before a restart
	Error         string // why it is not connected
	Failures      int    // in a row
	Sessions      int    // that were opened
	Attempted     time.Time
	Next          time.Time // when the next attempt is made; zero if none is due
	Succeeded     time.Time // the last time that the server answered
	Initialized   time.Time
	Tools         []ToolStatus // all that the server lists
	// Strays are the names in Server.Effects that the server lists no tool for. It is empty before it has listed any.
	Strays []string
}

// ToolStatus is a tool as the server lists it.
type ToolStatus struct {
	Name        string
	Title       string
	Description string
	Digest      string // of its title, description, schema and hints; approvals name it
	ID          string // of the tool of agents
	Held        string // why agents cannot use it; "" if they can
	Changed     bool   // held because it differs from the approved tool
	Added       bool   // held because it was added after the server's tools were approved

	Effect awaken.EffectClass // that applies
	Hint   awaken.EffectClass // promised by the server
}

// Status returns the state of the connection.
func (c *Connection) Status() Status {
	c.mu.Lock()
	defer c.mu.Unlock()
	h := &c.health
	st := Status{Connected: c.session != nil || c.state == up && c.hub(), Reconnecting: c.state == waiting || c.state == opening && h.sessions+h.failures > 0, Failed: c.state == failed,
		Failures: h.failures, Sessions: h.sessions, Attempted: h.attempted, Succeeded: h.succeeded, Initialized: h.initialized}
	if c.auth != nil {
		st.Authorization = cmp.Or(c.auth.server.Grant, oauth.PerUser)
	}
	if h.err != nil {
		st.Error = h.err.Error()
	}
	if c.state == waiting {
		st.Next = h.next
	}
	for _, name := range slices.Sorted(maps.Keys(c.listed)) {
		l := c.listed[name]
		st.Tools = append(st.Tools, ToolStatus{
			Name:        name,
			Title:       title(l.tool),
			Description: l.tool.Description,
			Digest:      l.digest,
			ID:          l.id,
			Held:        l.held,
			Changed:     l.changed,
			Added:       l.added,
			Effect:      c.server.effectOf(l),
			Hint:        hint(l.tool),
		})
	}
	st.Strays = c.strays()
	return st
}

// strays returns the names in Server.Effects that mean no tool. The caller holds c.mu.
func (c *Connection) strays() (out []string) {
	if len(c.listed) == 0 {
		return nil
	}
	for _, name := range slices.Sorted(maps.Keys(c.server.Effects)) {
		known := false
		for _, l := range c.listed {
			known = known || c.server.names(l).Named(name)
		}
		if !known {
			out = append(out, name)
		}
	}
	return out
}

// Inventory lists a server's resources and prompts.
type Inventory struct {
	Prompts   []json.RawMessage
	Resources []json.RawMessage
}

// maxItems limits the prompts and resources of an inventory.
const maxItems = 1000

// Inventory asks the server for its prompts and resources.
func (c *Connection) Inventory(ctx context.Context) (*Inventory, error) {
	s, err := c.acquire(ctx)
	if err != nil {
		return nil, err
	}
	ctx, cancel := context.WithTimeout(ctx, c.server.OpenTimeout)
	defer cancel()
	out := &Inventory{}
	caps := cmp.Or(s.InitializeResult().Capabilities, &sdk.ServerCapabilities{})
	if caps.Prompts != nil {
		for p, err := range s.Prompts(ctx, nil) {
			if out.Prompts, err = c.add(out.Prompts, "prompt", p, err); err != nil {
				return nil, fmt.Errorf("prompts: %w", err)
			}
		}
	}
	if caps.Resources != nil {
		for r, err := range s.Resources(ctx, nil) {
			if out.Resources, err = c.add(out.Resources, "resource", r, err); err != nil {
				return nil, fmt.Errorf("resources: %w", err)
			}
		}
	}
	return out, nil
}

// add adds an item to an inventory.
func (c *Connection) add(to []json.RawMessage, kind string, item any, err error) ([]json.RawMessage, error) {
	if err != nil {
		return nil, errors.New(c.server.hide(err.Error()))
	}
	if len(to) == maxItems {
		return nil, fmt.Errorf("there are more than %d", maxItems)
	}
	data, err := json.Marshal(map[string]any{"server_name": c.server.ID, "transport_type": c.server.transport(), kind: item})
	return append(to, data), err
}
