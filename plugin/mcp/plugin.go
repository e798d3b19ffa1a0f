package mcp

import (
	"context"
	"errors"
	"fmt"
	"sync/atomic"

	"github.com/awaken-go/awaken"
)

// PluginID is the name of the plugin.
const PluginID = "mcp"

// Config configures the plugin.
type Config struct {
	Servers []Server
	Options // Changed is called besides what the plugin does
}

// Plugin provides the tools of servers to the agents that list it. It owns the connections.
type Plugin struct {
	conns    []*Connection // in the order of the configuration
	revision atomic.Uint64 // of the tools
}

var _ awaken.Plugin = (*Plugin)(nil)

// New returns the plugin and begins to connect to its servers. The error lists all problems in cfg; an unreachable server is not an error.
// Close the plugin after the last run.
func New(cfg Config) (*Plugin, error) {
	p := &Plugin{}
	o := cfg.Options
	o.Changed = func() {
		p.revision.Add(1)
		if cfg.Changed != nil {
			cfg.Changed()
		}
	}
	var errs []error
	seen := map[string]bool{}
	for _, s := range cfg.Servers {
		if seen[s.ID] {
			errs = append(errs, fmt.Errorf("MCP server %q is given twice", s.ID))
		}
		seen[s.ID] = true
		c, err := Connect(s, o)
		if err != nil {
			errs = append(errs, err)
			continue
		}
		p.conns = append(p.conns, c)
	}
	if err := errors.Join(errs...); err != nil {
		return nil, err
	}
	for _, c := range p.conns {
		c.Start()
	}
	return p, nil
}

// Name implements [awaken.Plugin].
func (p *Plugin) Name() string { return PluginID }

// Register implements [awaken.Plugin]. It adds the current tools of the servers.
func (p *Plugin) Register(r *awaken.Registrar) error {
	r.Key(Keys()...)
	seen := map[string]bool{}
	for _, c := range p.conns {
		if !c.Known() {
			r.Away(c.server.ID)
		}
		for _, t := range c.Tools() {
			if id := t.Spec().ID; !seen[id] { // the first server counts
				seen[id] = true
				r.Tool(t)
			}
		}
	}
	return nil
}

// Revision returns a number that increases when the tools change. Agents then register the plugin again before their next step.
func (p *Plugin) Revision() uint64 { return p.revision.Load() }

// Connection returns the connection to a server, or nil.
func (p *Plugin) Connection(serverID string) *Connection {
	for _, c := range p.conns {
		if c.server.ID == serverID {
			return c
		}
	}
	return nil
}

// Ready waits until the plugin has tried to connect to every server. The error names the servers that are down; their tools appear when
// they are up.
func (p *Plugin) Ready(ctx context.Context) error {
	var errs []error
	for _, c := range p.conns {
		errs = append(errs, c.Ready(ctx))
	}
	return errors.Join(errs...)
}

// Close closes the connections.
func (p *Plugin) Close() error {
	for _, c := range p.conns {
		c.cancel() // all at once
	}
	for _, c := range p.conns {
		_ = c.Close() // it has no errors
	}
	return nil
}
