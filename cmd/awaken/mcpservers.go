package main

import (
	"cmp"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"log/slog"
	"maps"
	"net/http"
	"net/netip"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"sync"
	"time"

	"github.com/awaken-go/awaken"
	"github.com/awaken-go/awaken/cmd/awaken/internal/settings"
	"github.com/awaken-go/awaken/config"
	"github.com/awaken-go/awaken/llm/provider"
	"github.com/awaken-go/awaken/plugin/mcp"
	"github.com/awaken-go/awaken/plugin/mcp/oauth"
	"github.com/awaken-go/awaken/state/profile"
)

// mcpServers connects to the MCP servers of documents.
type mcpServers struct {
	commands []string // that documents may start
	own      []string // the program in the settings, with its arguments
	dir      string   // has the working folders of programs
	refresh  time.Duration
	client   *http.Client
	pins     mcp.Pins
	lists    *toolLists
	broker   *oauth.Broker // nil if the address of the server is not known
	log      *slog.Logger
	closing  sync.WaitGroup
}

// newMCPServers returns a connector that obeys the settings. It keeps what was approved in b.
func newMCPServers(s *settings.Settings, b *backend, allow []netip.Prefix, log *slog.Logger) (*mcpServers, error) {
	broker, err := newBroker(s, b, allow, log)
	if err != nil {
		return nil, err
	}
	return &mcpServers{commands: s.Server.MCP.Commands, own: strings.Fields(s.Agent.MCPCommand), dir: filepath.Join(s.StorageDir, "mcp"), refresh: s.Server.MCP.Refresh, client: provider.Guarded(allow...),
		pins: &storedPins{b.profile(systemTenant)}, lists: &toolLists{b.profile(systemTenant)}, log: log, broker: broker}, nil
}

// close waits for the connections that were closed to end.
func (m *mcpServers) close() { m.closing.Wait() }

// Connect implements [config.MCPConnector].
func (m *mcpServers) Connect(_ context.Context, spec *config.MCPServerSpec, changed func()) (config.MCPConnection, error) {
	s, err := m.server(spec)
	if err != nil {
		return nil, err
	}
	out := &mcpConnection{servers: m}
	note := func() {
		m.recordTools(s.ID, out.Tools()) // before agents have them
		changed()
	}
	if out.Connection, err = mcp.Connect(s, mcp.Options{Client: m.client, Pins: m.pins, OAuth: m.broker, Changed: note, Logger: m.log}); err != nil {
		return nil, err
	}
	if s.OAuth != nil {
		out.oauth = &oauth.Server{ID: s.ID, URL: s.URL, Client: *s.OAuth}
	}
	return out, nil
}

// recordTools records the tools that a server has from now on. Without that its runs cannot be replayed.
func (m *mcpServers) recordTools(server string, tools []awaken.Tool) {
	if m.lists == nil {
		return
	}
	ctx, cancel := context.WithTimeout(context.Background(), 10*time.Second)
	defer cancel()
	if err := m.lists.record(ctx, server, tools, time.Now()); err != nil {
		m.log.Warn("cannot record the tools of an MCP server for replays", "server", server, "error", err)
	}
}

// mcpOptions are the options in the config of an MCP server.
type mcpOptions struct {
	headers      map[string]awaken.Secret
	inheritEnv   []string
	roots        []string
	maxResult    int
	trustChanges bool
	trustHints   bool
	tools        map[string]struct {
		Effect string `json:"effect"`
	}
	inDoubt  awaken.DoubtPolicy
	sampling *struct {
		Agent      string `json:"agent"`
		Ask        *bool  `json:"ask"`
		MaxPerCall int    `json:"max_per_call"`
	}
}

// server returns the server that a document describes.
func (m *mcpServers) server(spec *config.MCPServerSpec) (s mcp.Server, err error) {
	var o mcpOptions
	options := map[string]any{
		"headers":          &o.headers,
		"inherit_env":      &o.inheritEnv,
		"roots":            &o.roots,
		"max_result_bytes": &o.maxResult,
		"trust_changes":    &o.trustChanges,
		"trust_hints":      &o.trustHints,
		"tools":            &o.tools,
		"in_doubt":         &o.inDoubt,
		"sampling":         &o.sampling,
	}
	for _, name := range slices.Sorted(maps.Keys(spec.Config)) {
		if options[name] == nil {
			return s, fmt.Errorf("config: unknown option %q, want %s", name, strings.Join(slices.Sorted(maps.Keys(options)), ", "))
		}
		if err := json.Unmarshal(spec.Config[name], options[name]); err != nil {
			return s, fmt.Errorf("config.%s: %w", name, err)
		}
	}
	s = mcp.Server{
		ID:           spec.ID,
		Timeout:      time.Duration(spec.TimeoutSecs) * time.Second,
		Refresh:      m.refresh,
		Roots:        o.roots,
		MaxResult:    o.maxResult,
		TrustChanges: o.trustChanges,
		TrustHints:   o.trustHints,
		InDoubt:      o.inDoubt,
	}
	if s.Effects, err = o.effects(); err != nil {
		return s, err
	}
	if v := o.sampling; v != nil {
		s.Sampling = &mcp.Sampling{Agent: v.Agent, Ask: v.Ask == nil || *v.Ask, MaxPerCall: v.MaxPerCall}
	}
	if r := spec.RestartPolicy; r != nil {
		s.Restart = mcp.Restart{Never: !r.Enabled, MaxAttempts: -1, Delay: time.Duration(r.DelayMS) * time.Millisecond, Factor: r.BackoffMultiplier, MaxDelay: time.Duration(r.MaxDelayMS) * time.Millisecond}
		if n := r.MaxAttempts; n != nil {
			s.Restart.MaxAttempts, s.Restart.Never = *n, !r.Enabled || *n == 0
		}
	}
	if spec.Transport != "stdio" {
		s.URL, s.SSE, s.Headers = spec.URL, spec.Transport == "sse", o.headers
		if a := spec.Auth; a != nil {
			if m.broker == nil {
				return s, errors.New("auth is set, but authorization servers do not know where to send users back to: set server.public_url")
			}
			s.OAuth = &oauth.Client{Grant: oauth.Grant(a.Grant), ID: a.ClientID, Secret: a.ClientSecret, Scopes: a.Scopes, Issuer: a.Issuer}
		}
		return s, nil
	}
	if !slices.Contains(m.commands, "*") && !slices.Contains(m.commands, spec.Command) && !slices.Equal(m.own, slices.Concat([]string{spec.Command}, spec.Args)) {
		return s, fmt.Errorf("command is %q, which documents may not start: add it to the setting server.mcp_commands (AWAKEN_SERVER_MCP_COMMANDS)", spec.Command)
	}
	s.Command, s.Args, s.Env, s.Inherit, s.Dir = spec.Command, spec.Args, spec.Env, slices.Concat(mcp.DefaultInherit, o.inheritEnv), filepath.Join(m.dir, spec.ID)
	if err := os.MkdirAll(s.Dir, 0o700); err != nil {
		return s, fmt.Errorf("working folder: %w", err)
	}
	return s, nil
}

// effects returns what the document says about the effects of tools.
func (o *mcpOptions) effects() (map[string]awaken.EffectClass, error) {
	if len(o.tools) == 0 {
		return nil, nil
	}
	out := map[string]awaken.EffectClass{}
	for _, name := range slices.Sorted(maps.Keys(o.tools)) {
		switch e := o.tools[name].Effect; e {
		case effectfulWord:
			out[name] = awaken.Effectful
		case string(awaken.Idempotent), string(awaken.ReadOnly):
			out[name] = awaken.EffectClass(e)
		default:
			return nil, fmt.Errorf("config.tools[%q].effect is %q, want effectful, idempotent or read_only", name, e)
		}
	}
	return out, nil
}

// effectfulWord is how documents and views write [awaken.Effectful].
const effectfulWord = "effectful"

// effectWord returns an effect as documents and views write it.
func effectWord(e awaken.EffectClass) string { return cmp.Or(string(e), effectfulWord) }

// mcpConnection is a connection as the control plane sees it.
type mcpConnection struct {
	*mcp.Connection
	servers *mcpServers
	oauth   *oauth.Server // nil if the server needs no authorization
}

// Status implements [config.MCPConnection].
func (c *mcpConnection) Status() config.MCPStatus {
	s := c.Connection.Status()
	out := config.MCPStatus{Connected: s.Connected, Authorization: string(s.Authorization), LastError: s.Error, Tools: []config.MCPTool{}, ConsecutiveFailures: s.Failures, Reconnecting: s.Reconnecting,
		PermanentlyFailed: s.Failed, SessionGeneration: s.Sessions, TransportReconnectCount: max(s.Sessions-1, 0),
		LastAttemptAt: unix(s.Attempted), NextAttemptAt: unix(s.Next), LastSuccessAt: unix(s.Succeeded), LastInitAt: unix(s.Initialized)}
	for _, name := range s.Strays {
		out.Problems = append(out.Problems, fmt.Sprintf("config.tools names %q, want a tool of the server", name))
	}
	for _, t := range s.Tools {
		out.Tools = append(out.Tools, config.MCPTool{
			Name:        t.Name,
			ID:          t.ID,
			Title:       t.Title,
			Description: t.Description,
			Digest:      t.Digest,
			Held:        t.Held,
			Changed:     t.Changed,
			Added:       t.Added,
			Effect:      effectWord(t.Effect),
			Hint:        effectWord(t.Hint),
		})
	}
	return out
}

// unix returns the seconds of a time, 0 if it is zero.
func unix(t time.Time) int64 {
	if t.IsZero() {
		return 0
	}
	return t.Unix()
}

// Inventory implements [config.MCPConnection].
func (c *mcpConnection) Inventory(ctx context.Context) (*config.MCPInventory, error) {
	v, err := c.Connection.Inventory(ctx)
	if err != nil {
		return nil, err
	}
	return &config.MCPInventory{Prompts: append([]json.RawMessage{}, v.Prompts...), Resources: append([]json.RawMessage{}, v.Resources...)}, nil
}

// Close implements [config.MCPConnection]. Calls in flight are completed in the background.
func (c *mcpConnection) Close() error {
	c.servers.closing.Go(func() {
		c.Connection.Drain()
		_ = c.Connection.Close() // it has no errors
	})
	return nil
}

// storedPins keeps what was approved of the tools of MCP servers in a profile.
type storedPins struct{ store profile.Store }

// pinsNamespace has an entry for each server.
const pinsNamespace = "mcp.pins"

// Load implements [mcp.Pins].
func (p *storedPins) Load(ctx context.Context, server string) (map[string]string, error) {
	_, pins, err := p.load(ctx, server)
	return pins, err
}

func (p *storedPins) load(ctx context.Context, server string) (old json.RawMessage, pins map[string]string, err error) {
	e, err := p.store.Get(ctx, pinsNamespace, server)
	if err != nil || e == nil {
		return nil, map[string]string{}, err
	}
	err = json.Unmarshal(e.Value, &pins)
	return e.Value, pins, err
}

// Approve implements [mcp.Pins].
func (p *storedPins) Approve(ctx context.Context, server string, digests map[string]string) error {
	for {
		old, pins, err := p.load(ctx, server)
		if err != nil {
			return err
		}
		if pins == nil {
			pins = map[string]string{}
		}
		maps.Copy(pins, digests)
		value, err := json.Marshal(pins)
		if err != nil {
			return err
		}
		if ok, err := p.store.CompareAndSet(ctx, pinsNamespace, server, old, value); ok || err != nil {
			return err
		}
	}
}
