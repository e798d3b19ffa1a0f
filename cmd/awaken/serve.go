package main

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"net"
	"os"
	"slices"
	"strings"
	"sync"
	"time"

	"github.com/spf13/cobra"

	"github.com/awaken-go/awaken"
	"github.com/awaken-go/awaken/automate/webhook/deliver"
	"github.com/awaken-go/awaken/cmd/awaken/internal/settings"
	"github.com/awaken-go/awaken/config"
	"github.com/awaken-go/awaken/engine"
	"github.com/awaken-go/awaken/llm/provider"
	"github.com/awaken-go/awaken/mailbox"
	"github.com/awaken-go/awaken/protocol"
	"github.com/awaken-go/awaken/protocol/a2a"
	"github.com/awaken-go/awaken/protocol/agui"
	"github.com/awaken-go/awaken/protocol/aisdk"
	"github.com/awaken-go/awaken/protocol/openai"
	"github.com/awaken-go/awaken/server"
	"github.com/awaken-go/awaken/server/access"
	"github.com/awaken-go/awaken/server/automation"
	webconsole "github.com/awaken-go/awaken/server/console"
	"github.com/awaken-go/awaken/server/evals"
	"github.com/awaken-go/awaken/server/figures"
	"github.com/awaken-go/awaken/server/jwt"
	"github.com/awaken-go/awaken/server/runs"
)

const serveHelp = `Serve agents over HTTP.

The server runs without configuration: it listens on 127.0.0.1:3000, stores everything in
$AWAKEN_STORAGE_DIR/awaken.db or ./.awaken/awaken.db, and has one agent with a scripted
model. --seed demo adds more agents and some tools. Set $OPENAI_API_KEY, or $OPENAI_BASE_URL
for an OpenAI-compatible server, to use a real model; $AGENT_MODEL selects it.

Settings come from a file (--config, $AWAKEN_CONFIG or ./awaken.yaml), from environment
variables and from flags; later sources override earlier ones. 'awaken config check'
prints them all.

Agents, models and providers are documents in the database. Change them while the server
runs, over HTTP or with 'awaken config apply'. --config-dir applies a folder of documents
at every start.

On a loopback address, clients can run agents without a key. The server creates an admin
key at its first start and prints it once. On any other address it needs an admin key:
see 'awaken help keys'.

On SIGINT or SIGTERM the server shuts down gracefully: it lets every run finish its
step, ends the streams, and leaves the runs to the next process. A second signal exits immediately.

Exit status:
  0  graceful shutdown
  1  failure
  2  invalid command line or configuration
  6  the database was unreachable for two minutes`

const serveExamples = `  awaken serve
  awaken serve --seed demo --open
  awaken serve --config-dir documents
  awaken serve --address 127.0.0.1:8080 --storage-dir /var/lib/awaken
  awaken serve --address 0.0.0.0:8443 --tls-cert server.pem --tls-key server.key
  awaken serve --database postgres://awaken@db.example/awaken --log-format json`

func serveCommand(con *console) *cobra.Command {
	cmd := &cobra.Command{Use: "serve", Short: "Run the server", Long: serveHelp, Example: serveExamples, Args: cobra.NoArgs}
	load := addSettings(cmd)
	cmd.Flags().BoolVar(&con.browse, "open", false, "open the console in a browser: $BROWSER, or the system's")
	cmd.RunE = func(cmd *cobra.Command, _ []string) error {
		s, err := load()
		if err != nil {
			return configError("%w", err)
		}
		if con.browse && !s.Console.Enabled {
			return configError("--open: console.enabled is false, so there is no console to open")
		}
		limitMemory(os.DirFS("/"))
		sig := listen()
		defer sig.stop()
		sig.during(cmd.Context(), func(ctx context.Context) { err = serve(ctx, con, s, newCode(s)) })
		return err
	}
	return cmd
}

// addSettings adds --config and flags for settings: the named ones, or all. The function that
// it returns loads the settings.
func addSettings(cmd *cobra.Command, flags ...string) (load func() (*settings.Settings, error)) {
	return addSettingsOf(cmd, func() (string, error) { return "", nil }, flags...)
}

// addSettingsOf is addSettings for a command whose settings file and store are in a folder of its own.
func addSettingsOf(cmd *cobra.Command, folder func() (string, error), flags ...string) (load func() (*settings.Settings, error)) {
	fl := cmd.Flags()
	fl.SortFlags = false
	var file string
	fl.StringVar(&file, "config", "", "YAML `file` with settings; default awaken.yaml, if it exists")
	given := map[string]*string{}
	for _, v := range settings.Defaults().Values() {
		if v.Flag != "" && (len(flags) == 0 || slices.Contains(flags, v.Flag)) {
			short := map[string]string{"file": "f"}[v.Flag]
			given[v.Flag] = fl.StringP(v.Flag, short, "", fmt.Sprintf("%s ($%s)", v.Doc, v.Env))
		}
	}
	return func() (*settings.Settings, error) {
		src := settings.Sources{File: file, Env: os.Environ(), Flags: map[string]string{}}
		for name, value := range given {
			if fl.Changed(name) {
				src.Flags[name] = *value
			}
		}
		var err error
		if src.Folder, err = folder(); err != nil {
			return nil, err
		}
		return settings.Load(src)
	}
}

// foreign lists variables of the original and its starters that the server does not act on, and
// what to do instead.
var foreign = []struct{ name, instead string }{
	{"AGENT_ID", "name the agent in the request; the default agent is called default"},
	{"OPENAI_ADAPTER", "set the adapter of the provider document"},
	{"A2A_REMOTE_URL", "write a document in the namespace a2a-servers"},
	{"A2A_BEARER_TOKEN", "set auth in the document of the A2A server"},
	{"AGENT_CONFIG", "set AGENT_SYSTEM_PROMPT, or write a document in the namespace agents"},
	{"AWAKEN_LEADER_SEED", "nothing: any number of servers may seed"},
	{"AWAKEN_PROMETHEUS", "nothing: /metrics is always served"},
	{"RUST_LOG", "set AWAKEN_LOG_LEVEL"},
}

// serve runs the server until ctx is done.
func serve(ctx context.Context, con *console, s *settings.Settings, c *code) (err error) {
	b, err := awaitBackend(ctx, s, newLogger(con, s))
	if b == nil {
		return err
	}
	defer b.close(&err)
	err = serveFrom(ctx, b, con, s, c)
	if _, bySignal := errors.AsType[interrupted](err); ctx.Err() != nil && (bySignal || errors.Is(err, context.Canceled)) {
		return nil // it was to stop before it had started
	}
	return err
}

// evalConfig returns the configuration of evaluations.
func evalConfig(s *settings.Settings, b *backend, k *core) evals.Config {
	e := &s.Evals
	c := evals.Config{Open: openCell, Live: b.judgements, Observer: k.observer, Limits: evals.Limits{SyncCells: e.SyncCells, Concurrency: e.Concurrency,
		OnlineCells: e.OnlineCells, OnlineConcurrency: e.OnlineConcurrency, Samples: e.Samples, Revisions: e.Revisions, Imports: e.Imports}}
	if s.Budget.TenantUSD > 0 {
		c.TenantUSD = &s.Budget.TenantUSD
	}
	return c
}

// serveFrom is serve with an open database.
func serveFrom(ctx context.Context, b *backend, con *console, s *settings.Settings, c *code) (err error) {
	replicas := figures.NewReplicas(b.keys)
	log := slog.New(replicas.Watch(newLogger(con, s).Handler()))
	for _, v := range s.Values() {
		if v.Unused != "" && v.Source != "default" {
			log.Warn("setting has no effect", "setting", v.Name, "from", v.Source, "reason", v.Unused)
		}
	}
	for _, v := range foreign {
		if os.Getenv(v.name) != "" {
			log.Warn("environment variable has no effect", "variable", v.name, "instead", v.instead)
		}
	}
	keys, missing, err := openKeys(ctx, s, b)
	if err != nil {
		return err
	}
	k, err := openCore(ctx, b, con, s, c, keys, log)
	if err != nil {
		return err
	}
	defer k.close()
	control, box := k.control, k.box
	sc := serverConfig(s, box, keys, k.metrics, log)
	sc.Settings, sc.Observer = settingsOf(s), k.observer
	if s.Console.Enabled {
		if sc.Console, err = webconsole.New(s.Server.BasePath); err != nil {
			return failed(err)
		}
	}
	if sc.Users.Tokens, err = openTokens(s); err != nil {
		return err
	}
	sender, router, err := openHooks(s, b, box, log)
	if err != nil {
		return err
	}
	a2aRoutes, err := openA2A(s, sender)
	if err != nil {
		return err
	}
	mcpRoutes, err := openMCP(ctx, s, b, k.control)
	if err != nil {
		return err
	}
	sc.Routes = slices.Concat(sc.Routes, a2aRoutes, mcpRoutes)
	control.serve(&sc, s, k.limiter)
	sc.AllowUnpriced = s.Budget.Unpriced == "allow"
	triggers, err := openTriggers(s, b)
	if err != nil {
		return err
	}
	served := runs.Config{Traces: s.Admin.Traces, Changes: b.changes}
	counted := figures.Config{Rollups: b.rollups, Stats: k.stats, Replicas: replicas}
	if s.Evals.Routes {
		w := evals.New(evalConfig(s, b, k))
		sc.Wings, served.Live, counted.Ended = append(sc.Wings, w), b.judgements, w.Offer
	}
	sc.Wings = append(sc.Wings, access.New(access.Config{SessionTime: s.Limits.SessionTime, SessionMax: s.Limits.SessionMax}), runs.New(served), figures.New(counted), automation.New(automation.Config{Schedules: b.schedules, Triggers: triggers,
		Hooks: b.hooks, Webhooks: &automation.WebhookConfig{Router: router, Endpoints: b.endpoints}}))
	if !s.DatabaseURL.IsZero() { // an SQLite file is one server's
		sc.KeyRates = b.limits
	}
	srv, err := server.New(sc)
	if err != nil {
		return configError("%w", err)
	}
	l, err := srv.Listen()
	if err != nil {
		return configError("%w", err)
	}
	var made awaken.Secret
	if missing { // created last, so that nothing can prevent it from being printed
		if _, made, err = keys.Make(ctx, server.Key{Kind: server.AdminKey, Label: "created at the first start"}, control.audit(config.Actor{ID: "system:serve", Label: "first start"})); err != nil {
			return errors.Join(failed(err), l.Close())
		}
	}
	if err := greet(con, s, l.Addr(), control.manager.Registry().AgentIDs(), b, made); err != nil {
		return errors.Join(written(err), l.Close())
	}
	log.Info("listening", "address", l.Addr().String(), "version", moduleVersion(), "store", b.name)
	defer pruneHourly(ctx, s.Retention, b, log)()
	defer control.work(ctx, log)()
	defer inBackground(ctx, sender.Work)()
	defer inBackground(ctx, router.Work)()
	if err := srv.Serve(ctx, l); err != nil {
		return failed(err)
	}
	log.Info("stopped")
	return nil
}

func newLogger(con *console, s *settings.Settings) *slog.Logger {
	var level slog.Level
	_ = level.UnmarshalText([]byte(s.Log.Level)) // Load has validated it
	opts := &slog.HandlerOptions{Level: level}
	if s.Log.Format == "json" {
		return slog.New(slog.NewJSONHandler(con.err, opts))
	}
	return slog.New(slog.NewTextHandler(con.err, opts))
}

// settingsOf returns the settings for the admins of the server, without secrets.
func settingsOf(s *settings.Settings) (out []server.Setting) {
	for _, v := range s.Values() {
		out = append(out, server.Setting{Name: v.Name, Value: v.String(), Source: v.Source, Secret: v.Secret(), Unused: v.Unused, Doc: v.Doc})
	}
	return out
}

func serverConfig(s *settings.Settings, box *mailbox.Mailbox, keys server.Keys, metrics *server.Metrics, log *slog.Logger) server.Config {
	v, l := &s.Server, &s.Limits
	cfg := server.Config{Mailbox: box, ManualMailbox: v.Lifecycle == "manual", Address: v.Address, BasePath: v.BasePath, CertFile: v.CertFile, KeyFile: v.KeyFile, NoHTTP2: !v.HTTP2, DebugAddress: v.DebugAddress, Keys: keys,
		Hosts: v.Hosts, Origins: s.Admin.Origins, Users: server.Users{On: v.Users, Header: v.UserHeader}, TrustClients: v.TrustClients, Metrics: metrics, PublicMetrics: v.PublicMetrics, Routes: slices.Concat(aisdk.Routes(), agui.Routes(), openai.Routes()), Version: moduleVersion(), Logger: log,
		Limits: server.Limits{Body: int64(l.Body), BodyMemory: int64(l.BodyMemory), BodyRate: l.BodyRate, BodyGrace: l.BodyGrace, Depth: l.Depth, Values: l.Values, HeaderBytes: l.HeaderBytes, Requests: l.Requests, Streams: l.Streams, HTTP2Streams: l.HTTP2Streams, RequestTime: l.RequestTime,
			WaitTime: l.WaitTime, HeaderTime: l.HeaderTime, IdleTime: l.IdleTime, StreamWrite: l.StreamWrite, StreamFrames: v.SSEBuffer, StreamCollect: l.StreamCollect, Heartbeat: l.Heartbeat,
			KeyRate: l.KeyRate, KeyBurst: l.KeyBurst, ShutdownTime: l.ShutdownTime, MessagesPerRun: l.Messages, WrongKeys: l.WrongKeys,
			ToolsPerRun: l.Tools, SchemaBytes: l.SchemaBytes, SchemaParts: l.SchemaParts, Title: l.Title, Metadata: l.Metadata},
		Files: server.FileLimits{Bytes: int64(l.File), Total: int64(l.Files)}}
	if v.RequireKey {
		cfg.Open = new(false)
	}
	return cfg
}

// openHooks returns the sender of push notifications and webhooks, and what makes the hooks of the latter.
func openHooks(s *settings.Settings, b *backend, box *mailbox.Mailbox, log *slog.Logger) (*deliver.Sender, *deliver.Router, error) {
	allow, err := settings.ParseNetworks(s.Outbound.TenantsAllow)
	if err != nil {
		return nil, nil, configError("outbound.tenants_allow: %w", err)
	}
	vault, err := openVault(s)
	if err != nil {
		return nil, nil, err
	}
	router, err := deliver.NewRouter(deliver.RouterConfig{Endpoints: b.endpoints, Hooks: b.hooks, Changes: b.changes, Sealer: vaultSealer{vault}, Logger: log})
	if err != nil {
		return nil, nil, failed(err)
	}
	sender, err := deliver.New(deliver.Config{
		Store:     b.hooks,
		Mailbox:   box,
		Endpoints: router,
		Sealer:    vaultSealer{vault},
		Kinds:     map[string]deliver.Kind{a2a.PushKind: a2a.Push, deliver.RunKind: deliver.RunEvents},
		Allow:     allow,
		Logger:    log,
	})
	if err != nil {
		return nil, nil, failed(err)
	}
	router.Use(sender)
	return sender, router, nil
}

// openTriggers returns what lets other systems start runs.
func openTriggers(s *settings.Settings, b *backend) (*automation.TriggerConfig, error) {
	vault, err := openVault(s)
	if err != nil {
		return nil, err
	}
	return &automation.TriggerConfig{Store: b.triggers, Sealer: vaultSealer{vault}, URL: s.Server.PublicURL}, nil
}

// openA2A returns the routes of A2A.
func openA2A(s *settings.Settings, hooks *deliver.Sender) ([]protocol.Route, error) {
	v := &s.Server
	local, err := server.IsLocal(v.Address)
	if err != nil {
		return nil, configError("server.address: %w", err)
	}
	cfg := a2a.Config{Agents: v.A2A.Agents, URL: v.A2A.URL, Version: moduleVersion(), RequireKey: v.RequireKey || !local, ExtendedCardToken: v.A2A.ExtendedCardToken, Hooks: hooks}
	if name := v.A2A.CardKeyFile; name != "" {
		key, err := os.ReadFile(name)
		if err != nil {
			return nil, configError("server.a2a_card_key_file: %w", err)
		}
		cfg.CardKey = awaken.NewSecret(string(key))
	}
	routes, err := a2a.Routes(cfg)
	if err != nil {
		return nil, configError("server.a2a_card_key_file: %w", err)
	}
	return routes, nil
}

// openTokens returns the verifier of users' tokens, or nil if the settings name no issuer.
func openTokens(s *settings.Settings) (*jwt.Verifier, error) {
	c := &s.Server.JWT
	if c.Issuer == "" {
		return nil, nil
	}
	allow, err := settings.ParseNetworks(s.Outbound.Allow)
	if err != nil {
		return nil, configError("outbound.allow: %w", err)
	}
	v, err := jwt.New(jwt.Config{Issuer: c.Issuer, Audiences: c.Audiences, KeysURL: c.KeysURL, UserClaim: c.UserClaim, TenantClaim: c.TenantClaim,
		Client: provider.Guarded(allow...)})
	if err != nil {
		return nil, configError("server.jwt: %w", err)
	}
	return v, nil
}

// greet prints where the console is, where the server listens and what to try, and opens the console if that was asked for.
func greet(con *console, s *settings.Settings, addr net.Addr, names []string, b *backend, made awaken.Secret) error {
	var sb strings.Builder
	url := "http://" + addr.String()
	if s.Server.CertFile != "" {
		url = "https://" + addr.String()
	}
	page := url + strings.TrimSuffix(s.Server.BasePath, "/") + "/"
	if s.Console.Enabled {
		fmt.Fprintf(&sb, "Console: %s\n", page)
	}
	fmt.Fprintf(&sb, "Awaken listens on %s\nThreads are kept in %s\nAgents: %s\n", url, b.name, strings.Join(names, ", "))
	if !made.IsZero() {
		fmt.Fprintf(&sb, "\nAdmin key, shown only now: %s\n", made.Expose())
	}
	key := ""
	if local, err := server.IsLocal(s.Server.Address); err != nil || !local || s.Server.RequireKey {
		key = ` -H "Authorization: Bearer $AWAKEN_KEY"`
	}
	agent := engine.DefaultAgentID
	if len(names) > 0 && !slices.Contains(names, agent) {
		agent = names[0]
	}
	fmt.Fprintf(&sb, `
Try it:
  curl -N %s/v1/runs%s -H 'Content-Type: application/json' \
    -d '{"agent_id":"%s","messages":[{"role":"user","content":"hello"}]}'

All routes: %s/openapi.json, explained in docs/http.md. Ctrl-C stops.
`, url, key, agent, url)
	if _, err := con.out.Write([]byte(sb.String())); err != nil {
		return err
	}
	if con.browse {
		if err := browse(page); err != nil {
			fmt.Fprintf(con.err, "awaken: --open: %v. Open %s yourself.\n", err, page)
		}
	}
	return nil
}

// unstoredAge is how long a response that its client has asked not to store is kept for an answer to its
// questions, or for a repeated request.
const unstoredAge = 24 * time.Hour

// pruneHourly deletes old threads now and every hour, until stop is called or ctx is done. An age of 0 keeps all
// but those of responses that are not stored.
func pruneHourly(ctx context.Context, age time.Duration, b *backend, log *slog.Logger) (stop func()) {
	return inBackground(ctx, func(ctx context.Context) {
		tick := time.NewTicker(time.Hour)
		defer tick.Stop()
		for {
			var before time.Time
			if age > 0 {
				before = time.Now().Add(-age)
			}
			n, err := prune(ctx, before, b)
			if err != nil && ctx.Err() == nil {
				log.Error("cannot delete old threads", "error", err)
			} else if n > 0 {
				log.Info("deleted old threads", "threads", n)
			}
			select {
			case <-tick.C:
			case <-ctx.Done():
				return
			}
		}
	})
}

// inBackground calls each function in a goroutine. Stop cancels their context and waits until they return.
func inBackground(ctx context.Context, fns ...func(ctx context.Context)) (stop func()) {
	ctx, cancel := context.WithCancel(ctx)
	var wg sync.WaitGroup
	for _, fn := range fns {
		wg.Go(func() { fn(ctx) })
	}
	return func() { cancel(); wg.Wait() }
}

// prune deletes the old threads of every tenant: threads not used since a time, if it is set, and
// threads of responses that are not stored.
func prune(ctx context.Context, before time.Time, b *backend) (total int, err error) {
	tenants, err := b.tenants(ctx)
	if err != nil {
		return 0, err
	}
	for _, tenant := range tenants {
		s, ok := b.queue.Handle(tenant).(openai.Store)
		if !ok {
			return total, errors.New("the store cannot delete threads")
		}
		n, pruneErr := openai.Sweep(ctx, s, time.Now().Add(-unstoredAge))
		total, err = total+n, errors.Join(err, pruneErr)
		if !before.IsZero() {
			n, pruneErr = s.Prune(ctx, before)
			total, err = total+n, errors.Join(err, pruneErr)
		}
	}
	return total, err
}
