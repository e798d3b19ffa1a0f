package server_test

import (
	"context"
	"encoding/json"
	"fmt"
	"slices"
	"strings"
	"sync/atomic"
	"testing"
	"time"

	"github.com/awaken-go/awaken"
	"github.com/awaken-go/awaken/config"
	"github.com/awaken-go/awaken/config/assistant"
	"github.com/awaken-go/awaken/config/configtest"
	"github.com/awaken-go/awaken/eval/gate"
	"github.com/awaken-go/awaken/eval/live/jury"
	"github.com/awaken-go/awaken/llm"
	"github.com/awaken-go/awaken/llm/llmtest"
	"github.com/awaken-go/awaken/llm/openai"
	"github.com/awaken-go/awaken/llm/provider"
	"github.com/awaken-go/awaken/plugin/fork"
	"github.com/awaken-go/awaken/plugin/permission"
	"github.com/awaken-go/awaken/protocol"
	"github.com/awaken-go/awaken/protocol/aisdk"
	"github.com/awaken-go/awaken/server"
	"github.com/awaken-go/awaken/server/access"
	"github.com/awaken-go/awaken/server/figures"
	"github.com/awaken-go/awaken/server/servertest"
	"github.com/awaken-go/awaken/store/memory"
	"github.com/awaken-go/awaken/trace"
)

// seeds are the builtin documents of the rig.
var seeds = []config.Document{
	{Key: config.Key{Namespace: config.Providers, ID: "local"}, Spec: json.RawMessage(`{"id":"local","adapter":"scripted"}`)},
	{Key: config.Key{Namespace: config.Models, ID: "local-model"}, Spec: json.RawMessage(`{"id":"local-model","provider_id":"local","upstream_model":"x"}`)},
	{Key: config.Key{Namespace: config.MCPServers, ID: "files"}, Spec: json.RawMessage(`{"id":"files","transport":"stdio","command":"files","env":{"FILES_TOKEN":"env-secret"}}`)},
	{Key: config.Key{Namespace: config.MCPServers, ID: "down"}, Spec: json.RawMessage(`{"id":"down","transport":"http","url":"https://mcp.example"}`)},
	{Key: config.Key{Namespace: config.MCPServers, ID: "issues"}, Spec: json.RawMessage(`{"id":"issues","transport":"http","url":"https://issues.example","auth":{"type":"oauth"}}`)},
	{Key: config.Key{Namespace: config.MCPServers, ID: "shared"}, Spec: json.RawMessage(`{"id":"shared","transport":"http","url":"https://shared.example","auth":{"type":"oauth","grant":"server"}}`)},
	{Key: config.Key{Namespace: config.A2AServers, ID: "peer"}, Spec: json.RawMessage(`{"id":"peer","base_url":"https://peer.example"}`)},
	{Key: config.Key{Namespace: config.Skills, ID: "greet"}, Spec: json.RawMessage(`{"id":"greet","name":"Greet","description":"Greets people","instructions_md":"Say hello."}`)},
	{Key: config.Key{Namespace: config.Agents, ID: "helper"}, Spec: json.RawMessage(`{"id":"helper","model_id":"local-model","system_prompt":"Help."}`)},
}

// openControl opens the control plane on the rig's store.
func (g *rig) openControl(cfg *servertest.Config) {
	g.t.Helper()
	if g.conf == nil {
		g.conf = memory.NewDB().Config()
	}
	if g.mcp == nil {
		g.mcp, g.stats = &configtest.MCP{Unusable: map[string]string{"unusable": "its secrets cannot be read"}}, figures.NewStats(nil)
		g.mcp.Server("files", "", "read")
		g.mcp.Server("down", "connection refused")
	}
	vault, err := config.NewVault(strings.Repeat("42", 32))
	if err != nil {
		g.t.Fatal(err)
	}
	rules, own := permission.New(permission.Config{}), &assistant.Assistant{}
	o := config.Options{Store: g.conf, Vault: vault, Code: code(), MCP: g.mcp, A2A: g.a2a, Provider: openProvider, Gate: gate.New(g.profile(""), g.db.Handle("").(trace.PinStore))}
	if _, contested := g.conf.(contestedConfig); contested {
		o.Patience = time.Millisecond
	}
	if o.Code.Plugins = []awaken.Plugin{own, fork.New(), jury.New()}; g.config != nil {
		g.config(&o.Code)
	}
	if !slices.ContainsFunc(o.Code.Plugins, func(p awaken.Plugin) bool { return p.Name() == permission.Name }) {
		o.Code.Plugins = append(o.Code.Plugins, rules)
	}
	if g.control, err = config.Open(g.t.Context(), o); err != nil {
		g.t.Fatal(err)
	}
	control := g.control
	g.t.Cleanup(func() { _ = control.Close() })
	if err := g.control.Seed(g.t.Context(), "1", seeds); err != nil {
		g.t.Fatal(err)
	}
	own.Manager = g.control
	cfg.Control, cfg.Plane.Assistant, cfg.Figures.Stats, cfg.Plane.Adapters = g.control, own, g.stats, []string{"openai", "scripted"}
	cfg.Plane.Permission, cfg.Plane.Authorizer = rules, authorizer{g.mcp}
}

// openProvider makes the models of documents: the demo's, or real ones.
func openProvider(_ context.Context, spec *awaken.ProviderSpec) (llm.Model, error) {
	switch spec.Adapter {
	case "scripted":
		return llmtest.Demo(), nil
	case "openai":
		return openai.New(openai.Config{Config: provider.Config{APIKey: spec.APIKey.Expose(), BaseURL: spec.BaseURL}})
	}
	return nil, fmt.Errorf("adapter is %q, want openai or scripted", spec.Adapter)
}

// brokenConfig is a config store that fails on demand.
type brokenConfig struct {
	config.Store
	broken *atomic.Bool
	err    error
}

func (b brokenConfig) fail() error {
	if b.broken.Load() {
		return b.err
	}
	return nil
}

func (b brokenConfig) Record(ctx context.Context, key config.Key) (*config.Record, error) {
	if err := b.fail(); err != nil {
		return nil, err
	}
	return b.Store.Record(ctx, key)
}

func (b brokenConfig) Records(ctx context.Context, ns config.Namespace, after string, limit int) ([]config.Stored, error) {
	if err := b.fail(); err != nil {
		return nil, err
	}
	return b.Store.Records(ctx, ns, after, limit)
}

func (b brokenConfig) Apply(ctx context.Context, c *config.Change) error {
	if err := b.fail(); err != nil {
		return err
	}
	return b.Store.Apply(ctx, c)
}

func (b brokenConfig) Head(ctx context.Context) (config.Head, error) {
	if err := b.fail(); err != nil {
		return config.Head{}, err
	}
	return b.Store.Head(ctx)
}

func (b brokenConfig) Publication(ctx context.Context, number int64) (*config.Publication, error) {
	if err := b.fail(); err != nil {
		return nil, err
	}
	return b.Store.Publication(ctx, number)
}

func (b brokenConfig) Publications(ctx context.Context, before int64, limit int) ([]*config.Publication, error) {
	if err := b.fail(); err != nil {
		return nil, err
	}
	return b.Store.Publications(ctx, before, limit)
}

func (b brokenConfig) Audit(ctx context.Context, q config.AuditQuery) ([]*config.AuditEvent, error) {
	if err := b.fail(); err != nil {
		return nil, err
	}
	return b.Store.Audit(ctx, q)
}

// contestedConfig is a config store in which another writer always wins.
type contestedConfig struct {
	config.Store
	on *atomic.Bool
}

func (c contestedConfig) Apply(ctx context.Context, change *config.Change) error {
	if c.on.Load() {
		return fmt.Errorf("%w: another writer was faster", config.ErrConflict)
	}
	return c.Store.Apply(ctx, change)
}

func newDB() *memory.DB { return memory.NewDB() }

func configtestDown(id, why string) configtest.A2A {
	return configtest.A2A{Down: map[string]string{id: why}}
}

func adminKeys(t testing.TB) *access.Keys {
	t.Helper()
	keys := access.NewKeys(memory.NewProfile())
	if err := keys.Fix(adminKey, server.Key{ID: "admin", Kind: server.AdminKey}); err != nil {
		t.Fatal(err)
	}
	return keys
}

func aisdkRoutes() []protocol.Route { return aisdk.Routes() }
