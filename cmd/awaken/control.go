package main

import (
	"cmp"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io/fs"
	"log/slog"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"time"

	"github.com/awaken-go/awaken"
	"github.com/awaken-go/awaken/cmd/awaken/internal/demo"
	"github.com/awaken-go/awaken/cmd/awaken/internal/settings"
	"github.com/awaken-go/awaken/cmd/awaken/internal/specfile"
	"github.com/awaken-go/awaken/config"
	"github.com/awaken-go/awaken/config/assistant"
	"github.com/awaken-go/awaken/engine"
	"github.com/awaken-go/awaken/eval/gate"
	"github.com/awaken-go/awaken/limit"
	"github.com/awaken-go/awaken/llm"
	"github.com/awaken-go/awaken/mailbox"
	"github.com/awaken-go/awaken/plugin/mcp"
	"github.com/awaken-go/awaken/plugin/permission"
	"github.com/awaken-go/awaken/plugin/skills"
	"github.com/awaken-go/awaken/protocol/a2a/remote"
	"github.com/awaken-go/awaken/registry"
	"github.com/awaken-go/awaken/server"
	"github.com/awaken-go/awaken/server/access"
	plane "github.com/awaken-go/awaken/server/control"
	"github.com/awaken-go/awaken/trace"
)

// control is the control plane of a server: its documents and its code.
type control struct {
	*code
	manager *config.Manager
	servers *mcpServers
	skills  *skillShop
	unwatch func() // ends the reading of changed skills, and the removal of workspaces
}

// openControl opens the control plane and loads the documents of the profile and of the files
// in the settings.
func openControl(ctx context.Context, con *console, s *settings.Settings, b *backend, code *code, limiter *limit.Limiter, log *slog.Logger) (*control, error) {
	allow, err := settings.ParseNetworks(s.Outbound.Allow)
	if err != nil {
		return nil, configError("outbound.allow: %w", err)
	}
	shop, err := openSkills(s, log)
	if err != nil {
		return nil, err
	}
	sweep, err := openWorkspace(ctx, s, b, log)
	if err != nil {
		return nil, err
	}
	servers, err := newMCPServers(s, b, allow, log)
	if err != nil {
		return nil, err
	}
	manager, err := openManager(ctx, s, b, code, shop, outbound{guarded: true, allow: allow, keyDir: s.Providers.KeyDir, envHosts: s.Providers.EnvKeyHosts, limiter: limiter, servers: servers}, log)
	if err != nil {
		return nil, err
	}
	c := &control{code, manager, servers, shop, inBackground(context.WithoutCancel(ctx), func(ctx context.Context) {
		if len(s.Skills.Dirs) > 0 {
			shop.library.Watch(ctx, s.Skills.Poll, log)
		}
	}, sweep)}
	if err := c.fill(ctx, con, s); err != nil {
		c.close()
		return nil, err
	}
	return c, nil
}

// code is what the program provides in addition to documents.
type code struct {
	tools     []awaken.Tool
	plugins   []awaken.Plugin
	assistant *assistant.Assistant
}

// newCode returns the code for the profile in the settings.
func newCode(s *settings.Settings) *code {
	c := &code{plugins: demo.Plugins(), assistant: &assistant.Assistant{Scripted: s.SeedProfile == "demo"}}
	if s.SeedProfile == "demo" || s.AgentsFile != "" {
		cfg := demo.Config()
		c.tools = cfg.Tools
		c.plugins = slices.DeleteFunc(cfg.Plugins, func(p awaken.Plugin) bool { return p.Name() == skills.DiscoveryID || p.Name() == skills.InstructionsID }) // the server has its own
	}
	return c
}

// openManager opens the documents of a database. If out is keyless, it does not discover the
// models of providers.
func openManager(ctx context.Context, s *settings.Settings, b *backend, c *code, shop *skillShop, out outbound, log *slog.Logger) (*config.Manager, error) {
	vault, err := openVault(s)
	if err != nil {
		return nil, err
	}
	complete := (&discovery{log: log}).complete
	if out.keyless {
		complete = nil
	}
	var limits func(providerID string, r *llm.RateLimits)
	if out.limiter != nil {
		limits = out.limiter.Set
	}
	store := b.config
	if !s.Audit.Enabled {
		store = withoutAudit(store)
	}
	workspaces, err := workspacePlugins(ctx, s, b)
	if err != nil {
		return nil, err
	}
	plugins, err := shop.plugins(nil)
	if err != nil {
		return nil, configError("%w", err)
	}
	listed, err := mcp.New(mcp.Config{}) // agents may list it, and have the tools of documents in any case
	if err != nil {
		return nil, err
	}
	a2a, spending := remote.New(remote.Options{Allow: out.allow}), budgets(s)
	m, err := config.Open(ctx, config.Options{Store: store, Vault: vault, AuditAge: s.Audit.Retention, VersionAge: s.Versions, Sweep: s.Audit.Sweep, Logger: log,
		Code: registry.Config{Tools: c.tools, Plugins: append(slices.Concat(c.plugins, workspaces, plugins), c.assistant, listed),
			Backends: map[string]registry.RemoteBackend{"a2a": a2a}, Keys: mcp.Keys(), Pricing: spending.Registry().Pricing},
		A2A:   a2aServers{a2a},
		Model: complete, Skills: shop.plugins,
		Provider: func(_ context.Context, spec *awaken.ProviderSpec) (llm.Model, error) {
			own, out := *spec, out
			if own.ID == demo.ProviderID && own.Adapter == "openai" && own.BaseURL == s.OpenAI.BaseURL && own.AdapterOptions["key_file"] == nil {
				out.guarded = false // the operator chose the address
				if own.APIKey.IsZero() {
					own.APIKey = s.OpenAI.APIKey // which is in no document
				}
			}
			m, err := out.openProvider(&own, "")
			if err != nil || out.limiter == nil || own.Adapter == demo.Adapter {
				return m, err
			}
			return out.limiter.Model(own.ID, m), nil
		},
		Limits: limits, MCP: out.servers, Gate: gate.New(b.profile(""), pinStore(b))})
	if err != nil {
		return nil, configError("%w", err)
	}
	c.assistant.Manager = m
	return m, nil
}

// unaudited is a store without an audit log.
type unaudited struct{ config.Store }

func (u unaudited) Apply(ctx context.Context, c *config.Change) error {
	own := *c
	own.Audit = nil
	return u.Store.Apply(ctx, &own)
}

// Turn implements [config.Turner].
func (u unaudited) Turn(ctx context.Context) (done func(), err error) {
	if t, ok := u.Store.(config.Turner); ok {
		return t.Turn(ctx)
	}
	return func() {}, nil
}

// withoutAudit returns s without an audit log. It is a [config.Notifier] if s is.
func withoutAudit(s config.Store) config.Store {
	if n, ok := s.(config.Notifier); ok {
		return struct {
			unaudited
			config.Notifier
		}{unaudited{s}, n}
	}
	return unaudited{s}
}

// audit returns what records changes of keys by an actor.
func (c *control) audit(by config.Actor) access.Audit { return auditing(c.manager.Audit(), by) }

func auditing(log *config.AuditLog, by config.Actor) access.Audit {
	return func(ctx context.Context, action, resource string) error {
		return log.Add(ctx, action, resource, by, nil)
	}
}

func (c *control) close() {
	c.unwatch()
	_ = c.manager.Close() // a failure loses nothing
	c.servers.close()
}

// fill loads the documents of the profile, of agents_file and of config_dir.
func (c *control) fill(ctx context.Context, con *console, s *settings.Settings) error {
	if err := seedManager(ctx, c.manager, s); err != nil {
		return err
	}
	if (!s.OpenAI.APIKey.IsZero() || s.OpenAI.BaseURL != "") && s.Agent.Model == "" {
		fmt.Fprintf(con.err, "awaken: AGENT_MODEL is not set; using %s\n", demo.Model().UpstreamModel)
	}
	if s.AgentsFile != "" {
		docs, err := fileDocuments(con, s)
		if err == nil {
			_, err = c.manager.Apply(ctx, docs, false, false, config.Actor{ID: "system:file", Label: filepath.Base(s.AgentsFile)})
		}
		if err != nil {
			return configError("%w", inFile(s.AgentsFile, specfile.Locate(nil, err)))
		}
	}
	return applyFolder(ctx, con, c.manager, s)
}

// seedManager writes the built-in documents.
func seedManager(ctx context.Context, m *config.Manager, s *settings.Settings) error {
	docs, err := seedDocuments(s)
	if err != nil {
		return configError("%w", err)
	}
	if err := m.Seed(ctx, moduleVersion(), docs); err != nil {
		return configError("%w", err)
	}
	return nil
}

// mcpDemo is the document of the MCP server in the settings.
const mcpDemo = "mcp_demo"

// seedDocuments returns the documents of the profile, adjusted by the settings.
func seedDocuments(s *settings.Settings) ([]config.Document, error) {
	cfg := demo.Minimal()
	if s.SeedProfile == "demo" {
		cfg = demo.Config()
	}
	if s.AgentsFile != "" {
		cfg.Agents = nil // the file defines them
	}
	p := awaken.ProviderSpec{ID: demo.ProviderID, Adapter: demo.Adapter}
	if !s.OpenAI.APIKey.IsZero() || s.OpenAI.BaseURL != "" {
		p.Adapter, p.BaseURL = "openai", s.OpenAI.BaseURL
	}
	for i := range cfg.Models {
		if m := &cfg.Models[i]; m.ID == demo.ModelID {
			m.UpstreamModel = cmp.Or(s.Agent.Model, m.UpstreamModel)
		}
	}
	for _, a := range cfg.Agents {
		if a.ID != engine.DefaultAgentID {
			continue
		}
		a.SystemPrompt = cmp.Or(s.Agent.SystemPrompt, a.SystemPrompt)
		if n := s.Agent.MaxRounds; n > 0 {
			a.MaxRounds = &n
		}
		if s.Agent.ReasoningEffort != "" {
			effort, err := settings.ParseEffort(s.Agent.ReasoningEffort)
			if err != nil {
				return nil, err
			}
			a.ReasoningEffort = &effort
		}
	}
	docs, err := documents([]awaken.ProviderSpec{p}, cfg.Models, cfg.Agents)
	if words := strings.Fields(s.Agent.MCPCommand); len(words) > 0 && err == nil {
		var data []byte
		data, err = json.Marshal(config.MCPServerSpec{ID: mcpDemo, Transport: "stdio", Command: words[0], Args: words[1:]})
		docs = append(docs, config.Document{Key: config.Key{Namespace: config.MCPServers, ID: mcpDemo}, Spec: data})
	}
	if s.SeedProfile != "demo" || err != nil {
		return docs, err
	}
	for _, skill := range demo.Skills() {
		data, err := json.Marshal(skillDocument(skill))
		if err != nil {
			return nil, err
		}
		docs = append(docs, config.Document{Key: config.Key{Namespace: config.Skills, ID: skill.Name}, Spec: data})
	}
	return docs, nil
}

// fileDocuments returns the documents in agents_file.
func fileDocuments(con *console, s *settings.Settings) ([]config.Document, error) {
	file, err := readFile(con, s.AgentsFile)
	if err != nil {
		return nil, err
	}
	cfg := demo.Config()
	notes, err := outbound{keyless: true}.use(&cfg, file)
	if err != nil {
		return nil, err
	}
	for _, n := range notes {
		fmt.Fprintf(con.err, "awaken: %s: %s\n", s.AgentsFile, printable(n, false))
	}
	models := slices.DeleteFunc(slices.Clone(cfg.Models), func(m awaken.ModelSpec) bool {
		return m.ID == demo.ModelID && m.ProviderID == demo.ProviderID // the profile defines it
	})
	return documents(file.Providers, models, cfg.Agents)
}

// documents converts specs to documents.
func documents(providers []awaken.ProviderSpec, models []awaken.ModelSpec, agents []*awaken.AgentSpec) (out []config.Document, err error) {
	add := func(ns config.Namespace, id string, spec any) {
		data, marshalErr := json.Marshal(spec)
		if marshalErr != nil {
			err = errors.Join(err, fmt.Errorf("%s %q: %w", ns, id, marshalErr))
		}
		out = append(out, config.Document{Key: config.Key{Namespace: ns, ID: id}, Spec: data})
	}
	for i := range providers {
		add(config.Providers, providers[i].ID, &providers[i])
	}
	for i := range models {
		add(config.Models, models[i].ID, &models[i])
	}
	for _, a := range agents {
		add(config.Agents, a.ID, a)
	}
	return out, err
}

// secretKeyName is the default key file for secrets, in the storage folder.
const secretKeyName = "secrets.key"

// openVault returns the vault that encrypts secrets, with the key in the settings or the keys
// in a file. For SQLite it creates a missing file. The machines that share a Postgres database
// must be given the same key: without one, the vault is nil.
func openVault(s *settings.Settings) (*config.Vault, error) {
	if !s.Secrets.Key.IsZero() {
		v, err := config.NewVault(s.Secrets.Key.Expose())
		if err != nil {
			return nil, configError("secrets.key: %w", err)
		}
		return v, nil
	}
	file := keyFile(s)
	if file == "" {
		return nil, nil // documents with secrets are rejected, with a hint at the setting
	}
	if _, err := os.Stat(file); s.Secrets.KeyFile == "" && errors.Is(err, fs.ErrNotExist) {
		if err := os.MkdirAll(s.StorageDir, 0o700); err != nil {
			return nil, configError("%w", err)
		}
		if err := config.AddKey(file); err != nil && !errors.Is(err, fs.ErrExist) {
			return nil, configError("%w", err)
		}
	}
	v, err := config.OpenVault(file)
	if err != nil {
		return nil, configError("%w", err)
	}
	return v, nil
}

// keyFile returns the key file for secrets that the settings select, or "".
func keyFile(s *settings.Settings) string {
	if s.Secrets.KeyFile != "" || !s.DatabaseURL.IsZero() {
		return s.Secrets.KeyFile
	}
	return filepath.Join(s.StorageDir, secretKeyName)
}

// serve adds the control plane to the configuration of a server.
func (c *control) serve(sc *server.Config, s *settings.Settings, limiter *limit.Limiter) {
	sc.Control, sc.HideConfig, sc.NoAudit = c.manager, !s.Admin.Config, !s.Audit.Enabled
	cfg := plane.Config{Adapters: adapters(), Assistant: c.assistant, Limiter: limiter}
	if b := c.servers.broker; b != nil {
		cfg.Authorizer = authorizer{b}
	}
	if i := slices.IndexFunc(c.plugins, func(p awaken.Plugin) bool { return p.Name() == permission.Name }); i >= 0 {
		cfg.Permission = c.plugins[i]
	}
	sc.Wings = append(sc.Wings, plane.New(cfg))
}

// work follows changes by other processes, until stop is called or ctx is done.
func (c *control) work(ctx context.Context, log *slog.Logger) (stop func()) {
	return inBackground(ctx, func(ctx context.Context) {
		if err := c.manager.Work(ctx); err != nil && ctx.Err() == nil {
			log.Error("stopped following document changes", "error", err)
		}
	})
}

// observer reports to the metrics and, during a canary, the outcome of runs to the control
// plane.
type observer struct {
	*server.Metrics
	manager *config.Manager
	queue   mailbox.Queue
}

// Settled implements [mailbox.Observer].
func (o *observer) Settled(d *mailbox.Dispatch, status mailbox.Status, took time.Duration) {
	o.Metrics.Settled(d, status, took)
	if !o.manager.Canary().Running() || status != mailbox.Acked && status != mailbox.DeadLetter {
		return
	}
	ctx, cancel := context.WithTimeout(context.Background(), 5*time.Second)
	defer cancel()
	if run, err := o.queue.Handle(d.Tenant).LoadRun(ctx, d.RunID); err == nil {
		o.manager.Canary().Observe(run)
	}
}

// pinStore returns what keeps pins of the tenant without a name, or nil.
func pinStore(b *backend) trace.PinStore {
	if b.queue == nil {
		return nil
	}
	runs, _ := b.queue.Handle("").(trace.PinStore)
	return runs
}
