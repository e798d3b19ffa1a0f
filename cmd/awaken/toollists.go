package main

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"slices"
	"time"

	"github.com/awaken-go/awaken"
	"github.com/awaken-go/awaken/config"
	"github.com/awaken-go/awaken/registry"
	"github.com/awaken-go/awaken/state/profile"
)

// toolLists records which tools MCP servers had, and since when: they are in no document, and replays must not ask the servers.
type toolLists struct{ store profile.Store }

const (
	// listsNamespace has an entry for each server.
	listsNamespace = "mcp.tools"
	// maxLists limits the lists of a server. The oldest go first.
	maxLists = 16
)

// toolList is the tools that a server had since a time.
type toolList struct {
	Since int64          `json:"since"` // Unix ms
	Tools []recordedTool `json:"tools"`
}

// specs returns the specifications of the tools.
func (l *toolList) specs() []awaken.ToolSpec {
	out := make([]awaken.ToolSpec, len(l.Tools))
	for i, t := range l.Tools {
		s := t.Spec
		s.Server, s.OwnName, s.Aliases, s.Timeout, s.MaxResultBytes = t.Server, t.OwnName, t.Aliases, t.Timeout, t.MaxResultBytes
		out[i] = s
	}
	return out
}

// recordedTool is the specification of a tool, with the fields that are not part of its JSON.
type recordedTool struct {
	Spec           awaken.ToolSpec `json:"spec"`
	Server         string          `json:"server,omitempty"`
	OwnName        string          `json:"own_name,omitempty"`
	Aliases        []string        `json:"aliases,omitempty"`
	Timeout        time.Duration   `json:"timeout,omitempty"`
	MaxResultBytes int             `json:"max_result_bytes,omitempty"`
}

// load returns the lists of a server, the oldest first, and the entry that holds them.
func (l *toolLists) load(ctx context.Context, server string) (entry json.RawMessage, lists []toolList, err error) {
	e, err := l.store.Get(ctx, listsNamespace, server)
	if err != nil || e == nil {
		return nil, nil, err
	}
	var text string // a text, because stores do not keep the order of keys
	if err := json.Unmarshal(e.Value, &text); err != nil {
		return nil, nil, err
	}
	return e.Value, lists, json.Unmarshal([]byte(text), &lists)
}

// record notes that a server has these tools from now on, unless it had the same before.
func (l *toolLists) record(ctx context.Context, server string, tools []awaken.Tool, now time.Time) error {
	list := toolList{Since: now.UnixMilli(), Tools: make([]recordedTool, len(tools))}
	for i, t := range tools {
		s := t.Spec()
		list.Tools[i] = recordedTool{s, s.Server, s.OwnName, s.Aliases, s.Timeout, s.MaxResultBytes}
	}
	same := func(o *toolList) bool {
		a, errA := json.Marshal(o.Tools)
		b, errB := json.Marshal(list.Tools)
		return errA == nil && errB == nil && bytes.Equal(a, b)
	}
	for {
		old, lists, err := l.load(ctx, server)
		if err != nil || len(lists) > 0 && same(&lists[len(lists)-1]) {
			return err
		}
		lists = append(lists[max(0, len(lists)-maxLists+1):], list)
		text, err := json.Marshal(lists)
		if err != nil {
			return err
		}
		value, err := json.Marshal(string(text))
		if err != nil {
			return err
		}
		if ok, err := l.store.CompareAndSet(ctx, listsNamespace, server, old, value); ok || err != nil {
			return err
		}
	}
}

// recordedServers is a connector to recorded lists of MCP servers: those with the digests that a run has recorded or, if it has recorded
// none, those that were current at a time. It makes no connections.
type recordedServers struct {
	lists   *toolLists
	at      int64             // Unix ms
	digests map[string]string // by server; nil if only the time is known
}

// has reports whether a list is the one of a server.
func (r *recordedServers) has(server string, l *toolList) bool {
	if r.digests == nil {
		return l.Since <= r.at
	}
	return r.digests[server] == registry.ListDigest(l.specs())
}

// Connect implements [config.MCPConnector].
func (r *recordedServers) Connect(ctx context.Context, spec *config.MCPServerSpec, _ func()) (config.MCPConnection, error) {
	_, lists, err := r.lists.load(ctx, spec.ID)
	if err != nil {
		return nil, err
	}
	c := &recordedConnection{connected: r.digests == nil}
	if r.digests != nil && r.digests[spec.ID] == "" {
		return c, nil
	}
	for _, l := range slices.Backward(lists) {
		if !r.has(spec.ID, &l) {
			continue
		}
		for _, s := range l.specs() {
			c.tools = append(c.tools, absentTool{s})
		}
		c.connected = true
		return c, nil
	}
	if r.digests != nil {
		return nil, fmt.Errorf("the list %s of its tools is not recorded; the latest %d lists are", r.digests[spec.ID], maxLists)
	}
	return c, nil
}

// recordedConnection is a [config.MCPConnection] to a server that is not there.
type recordedConnection struct {
	tools     []awaken.Tool
	connected bool // it was
}

var errRecorded = errors.New("the server is recorded, and not connected")

func (c *recordedConnection) Start()               { /* there is nothing to open */ }
func (c *recordedConnection) Tools() []awaken.Tool { return c.tools }
func (c *recordedConnection) Status() config.MCPStatus {
	return config.MCPStatus{Connected: c.connected, LastError: errRecorded.Error()}
}
func (c *recordedConnection) Restart(context.Context) error { return errRecorded }
func (c *recordedConnection) Close() error                  { return nil }
func (c *recordedConnection) Inventory(context.Context) (*config.MCPInventory, error) {
	return nil, errRecorded
}

func (c *recordedConnection) Approve(context.Context, map[string]string) ([]string, error) {
	return nil, errRecorded
}

// absentTool is a tool of a server that is not there.
type absentTool struct{ spec awaken.ToolSpec }

// Spec implements [awaken.Tool].
func (t absentTool) Spec() awaken.ToolSpec { return t.spec }

// Call implements [awaken.Tool].
func (t absentTool) Call(context.Context, *awaken.ToolCall) (*awaken.ToolResult, error) {
	return nil, errRecorded
}
