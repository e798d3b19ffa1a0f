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
	"time"

	"github.com/awaken-go/awaken"
	"github.com/awaken-go/awaken/cmd/awaken/internal/demo"
	"github.com/awaken-go/awaken/cmd/awaken/internal/settings"
	"github.com/awaken-go/awaken/cmd/awaken/internal/specfile"
	"github.com/awaken-go/awaken/config"
	"github.com/awaken-go/awaken/config/assistant"
	"github.com/awaken-go/awaken/engine"
	"github.com/awaken-go/awaken/llm"
	"github.com/awaken-go/awaken/mailbox"
	"github.com/awaken-go/awaken/plugin/permission"
	"github.com/awaken-go/awaken/registry"
	"github.com/awaken-go/awaken/server"
)

// control is the control plane of a server: the documents, and the code beside them.
type control struct {
	*code
	manager *config.Manager
}

// openControl opens the control plane, with the documents that the profile and the files
// of the settings bring.
func openControl(ctx context.Context, con *console, s *settings.Settings, b *backend, code *code, log *slog.Logger) (*control, error) {
	allow, err := settings.ParseNetworks(s.Outbound.Allow)
	if err != nil {
		return nil, configError("outbound.allow: %w", err)
	}
	manager, err := openManager(ctx, s, b, code, outbound{guarded: true, allow: allow, keyDir: s.Providers.KeyDir}, log)
	if err != nil {
		return nil, err
	}
	c := &control{code, manager}
	if err := c.fill(ctx, con, s); err != nil {
		c.close()
		return nil, err
	}
	return c, nil
}

// code is what this program has beside documents.
type code struct {
	tools     []awaken.Tool
	plugins   []awaken.Plugin
	assistant *assistant.Assistant
}

// newCode returns the code that goes with a profile.
func newCode(s *settings.Settings) *code {
	c := &code{plugins: demo.Plugins(), assistant: &assistant.Assistant{}}
	if s.SeedProfile == "demo" || s.AgentsFile != "" {
		cfg := demo.Config()
		c.tools, c.plugins = cfg.Tools, cfg.Plugins
	}
	return c
}

// openManager opens the documents of a database. If nobody is reached, providers are not
// asked what they have.
func openManager(ctx context.Context, s *settings.Settings, b *backend, c *code, out outbound, log *slog.Logger) (*config.Manager, error) {
	vault, err := openVault(s)
	if err != nil {
		return nil, err
	}
	complete := (&discovery{log: log}).complete
	if out.keyless {
		complete = nil
	}
	store := b.config
	if !s.Audit.Enabled {
		store = withoutAudit(store)
	}
	m, err := config.Open(ctx, config.Options{Store: store, Vault: vault, AuditAge: s.Audit.Retention, VersionAge: s.Versions, Sweep: s.Audit.Sweep, Logger: log,
		Code:  registry.Config{Tools: c.tools, Plugins: append(slices.Clone(c.plugins), c.assistant)},
		Model: complete,
		Provider: func(_ context.Context, spec *awaken.ProviderSpec) (llm.Model, error) {
			own, out := *spec, out
			if own.ID == demo.ProviderID && own.Adapter == "openai" && own.BaseURL == s.OpenAI.BaseURL && own.AdapterOptions["key_file"] == nil {
				out.guarded = false // who runs the server has chosen the address
				if own.APIKey.IsZero() {
					own.APIKey = s.OpenAI.APIKey // which no document holds
				}
			}
			return out.openProvider(&own, "")
		}})
	if err != nil {
		return nil, configError("%w", err)
	}
	c.assistant.Manager = m
	return m, nil
}

// unaudited is a store that does not keep who did what.
type unaudited struct{ config.Store }

func (u unaudited) Apply(ctx context.Context, c *config.Change) error {
	own := *c
	own.Audit = nil
	return u.Store.Apply(ctx, &own)
}

// Turn is for [config.Turner].
func (u unaudited) Turn(ctx context.Context) (done func(), err error) {
	if t, ok := u.Store.(config.Turner); ok {
		return t.Turn(ctx)
	}
	return func() {}, nil
}

// withoutAudit returns a store that does not keep who did what, and tells of changes if s
// does.
func withoutAudit(s config.Store) config.Store {
	if n, ok := s.(config.Notifier); ok {
		return struct {
			unaudited
			config.Notifier
		}{unaudited{s}, n}
	}
	return unaudited{s}
}

func (c *control) close() { _ = c.manager.Close() } // nothing is lost with it

// fill brings in the documents of the profile, of the file with agents, and of the folder.
func (c *control) fill(ctx context.Context, con *console, s *settings.Settings) error {
	if err := seedManager(ctx, c.manager, s); err != nil {
		return err
	}
	if (!s.OpenAI.APIKey.IsZero() || s.OpenAI.BaseURL != "") && s.Agent.Model == "" {
		fmt.Fprintf(con.err, "awaken: AGENT_MODEL is not set: the default model is %s\n", demo.Model().UpstreamModel)
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

// seedManager writes the builtin documents.
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

// seedDocuments are what a server begins with: the profile, as the settings change it.
func seedDocuments(s *settings.Settings) ([]config.Document, error) {
	cfg := demo.Minimal()
	if s.SeedProfile == "demo" {
		cfg = demo.Config()
	}
	if s.AgentsFile != "" {
		cfg.Agents = nil // the file has them
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
		a.MaxRounds = cmp.Or(s.Agent.MaxRounds, a.MaxRounds)
		if s.Agent.ReasoningEffort != "" {
			effort, err := settings.ParseEffort(s.Agent.ReasoningEffort)
			if err != nil {
				return nil, err
			}
			a.ReasoningEffort = &effort
		}
	}
	return documents([]awaken.ProviderSpec{p}, cfg.Models, cfg.Agents)
}

// fileDocuments are those of the file with agents.
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
		return m.ID == demo.ModelID && m.ProviderID == demo.ProviderID // which the profile has
	})
	return documents(file.Providers, models, cfg.Agents)
}

// documents are specs as documents.
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

// secretKeyName is the file with the key of the secrets, in the storage folder.
const secretKeyName = "secrets.key"

// openVault opens what encrypts secrets: with the keys of the settings, or with those of a
// file, which is made beside an SQLite file when it is missing. A Postgres database is
// shared by machines, which have to be given the same key.
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
		return nil, nil // documents with secrets are refused, with a word about the setting
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

// keyFile is the file with the keys that the settings choose; "" if they choose none.
func keyFile(s *settings.Settings) string {
	if s.Secrets.KeyFile != "" || !s.DatabaseURL.IsZero() {
		return s.Secrets.KeyFile
	}
	return filepath.Join(s.StorageDir, secretKeyName)
}

// serve completes the configuration of a server.
func (c *control) serve(sc *server.Config, s *settings.Settings) {
	sc.Control, sc.HideConfig, sc.Assistant, sc.Adapters = c.manager, !s.Admin.Config, c.assistant, adapters()
	if i := slices.IndexFunc(c.plugins, func(p awaken.Plugin) bool { return p.Name() == permission.Name }); i >= 0 {
		p := c.plugins[i]
		sc.Permissions = func(reg *registry.Registry, agentID string) (*server.PermissionPreview, error) {
			return permissionPreview(p, reg, agentID)
		}
	}
}

func permissionPreview(p awaken.Plugin, reg *registry.Registry, agentID string) (*server.PermissionPreview, error) {
	tools := reg.ToolIDs(agentID)
	v, err := permission.PreviewOf(p, reg.Agent(agentID), tools)
	if err != nil {
		return nil, err
	}
	out := &server.PermissionPreview{AgentID: agentID, PluginEnabled: v.Enabled, DefaultBehavior: string(v.DefaultBehavior), CandidateTools: tools,
		UnconditionallyDenied: v.Denied, EffectiveTools: v.Effective, ArgsConditionalRules: []server.ConditionalRule{}}
	for _, r := range v.Conditional {
		out.ArgsConditionalRules = append(out.ArgsConditionalRules, server.ConditionalRule{Tool: r.Tool, Behavior: string(r.Behavior), Pattern: r.Pattern})
	}
	return out, nil
}

// work follows what other processes change, until it is stopped or ctx is done.
func (c *control) work(ctx context.Context, log *slog.Logger) (stop func()) {
	return inBackground(ctx, func(ctx context.Context) {
		if err := c.manager.Work(ctx); err != nil && ctx.Err() == nil {
			log.Error("the documents are not followed any more", "error", err)
		}
	})
}

// observer tells the metrics and, while there is a canary, the control plane how runs went.
type observer struct {
	*server.Metrics
	manager *config.Manager
	queue   mailbox.Queue
}

// Settled is for [mailbox.Observer].
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
