// Package settings loads the settings of a server from a file, from environment variables and
// from flags. Later sources override earlier ones, and every value records its source.
package settings

import (
	"cmp"
	"fmt"
	"slices"
	"time"

	"github.com/awaken-go/awaken"
	"github.com/awaken-go/awaken/mailbox"
)

// Limits bounds what clients and models may use. Most fields are as in server.Limits.
type Limits struct {
	Reply struct{ Bytes, Arguments, Calls int } // of a model

	Body, BodyMemory, BodyRate, Depth, Values, HeaderBytes, Messages, Tools, SchemaBytes, SchemaParts, Title, Metadata, Requests, Streams, HTTP2Streams, KeyBurst, WrongKeys, File, Files int
	BodyGrace, RequestTime, WaitTime, HeaderTime, IdleTime, StreamWrite, StreamCollect, Heartbeat, ToolTime, ShutdownTime, SessionTime, SessionMax                                        time.Duration
	KeyRate                                                                                                                                                                               float64
}

// Settings holds every setting. The table behind [Settings.Values] defines their names, defaults
// and checks.
type Settings struct {
	Server struct {
		Address, DebugAddress string
		BasePath              string
		CertFile, KeyFile     string
		HTTP2                 bool
		RequireKey            bool
		PublicMetrics         bool
		Hosts                 []string
		Users                 bool
		TrustClients          bool
		UserHeader            string
		JWT                   struct {
			Issuer, KeysURL, UserClaim, TenantClaim string
			Audiences                               []string
		}
		Lifecycle string
		SSEBuffer int
		A2A       struct {
			Agents            []string
			URL, CardKeyFile  string
			ExtendedCardToken awaken.Secret
		}
		MCP struct {
			Agents, Tools []string
			ToolAgent     string
			URL           string
			Commands      []string      // that documents may start
			Refresh       time.Duration // of the tools of servers
		}
		PublicURL string // under which browsers reach the server
	}
	Limits Limits
	Admin  struct {
		Token   awaken.Secret
		Origins []string
		Config  bool
		Traces  bool
	}
	// Evals says whether the server has evaluations, and how large they may be.
	Evals struct {
		Routes                                                                              bool
		SyncCells, Concurrency, OnlineCells, OnlineConcurrency, Samples, Revisions, Imports int
	}
	// Traces says which requests to models are kept word for word.
	Traces struct {
		Bodies    string
		Share     float64
		BodyBytes int
	}
	// Console says whether the server has its web console.
	Console struct{ Enabled bool }
	// Secrets selects the key that encrypts secrets: a key, or a file with keys.
	Secrets struct {
		Key     awaken.Secret
		KeyFile string
	}
	Audit struct {
		Enabled   bool
		Retention time.Duration
		Sweep     time.Duration
	}
	Mailbox     mailbox.Config // only the fields that are settings
	StorageDir  string
	DatabaseURL awaken.Secret
	// NATS selects the servers that bring what happens in one process to the clients of others.
	NATS struct {
		URL                                    awaken.Secret
		Subject                                string
		Credentials, CAFile, CertFile, KeyFile string
	}
	SeedProfile string
	AgentsFile  string
	ConfigDir   string
	Agent       struct {
		Model, SystemPrompt string
		MaxRounds           int
		ReasoningEffort     string
		MCPCommand          string
	}
	OpenAI struct {
		BaseURL string
		APIKey  awaken.Secret
	}
	Budget struct {
		Enabled   bool
		TenantUSD float64 // 0 means no limit
		Unpriced  string
	}
	// Versions is how long to keep document versions that are not live and that no run needs;
	// 0 keeps them forever.
	Versions time.Duration
	// Providers.KeyDir is the folder with the key files that documents may name, and EnvKeyHosts
	// are hosts that are sent keys from the environment.
	Providers struct {
		KeyDir      string
		EnvKeyHosts []string
	}
	// Skills selects the folders of skills, how often they are read, and whether their scripts run.
	Skills struct {
		Dirs      []string
		Poll      time.Duration
		Scripts   bool
		ScriptEnv []string
	}
	// Workspace selects the folder that agents work in, which runs share one, and whether commands run there.
	Workspace struct {
		Dir, Scope   string
		MaxBytes     int // 0 means no limit
		MaxFiles     int // 0 means no limit
		Shell        bool
		ShellNetwork bool
		ShellEnv     []string
	}
	// Outbound lists private networks that may be reached: Allow is for addresses that operators write, TenantsAllow
	// for addresses that tenants and their users write.
	Outbound struct{ Allow, TenantsAllow []string }
	Log      struct{ Level, Format string }
	// Retention is how long to keep unused threads; 0 keeps them forever.
	Retention time.Duration

	values []*Value
}

const day = 24 * time.Hour

// Defaults returns the default settings.
func Defaults() *Settings {
	s := &Settings{}
	s.values = s.table()
	for _, v := range s.values {
		v.Source = "default"
		v.Env = cmp.Or(v.Env, envName(v.Name))
		if v.def == "" {
			continue
		}
		if err := v.set(v.def); err != nil {
			panic(fmt.Sprintf("settings: default of %s: %v", v.Name, err))
		}
	}
	return s
}

// table defines the settings. The value of a duration is a number if the name ends in _ms, _secs
// or _days, and otherwise a text such as 10s.
func (s *Settings) table() []*Value {
	v, l, m := &s.Server, &s.Limits, &s.Mailbox
	return slices.Concat([]*Value{
		{Name: "server.address", Env: "AWAKEN_HTTP_ADDR", Flag: "address", to: &v.Address, def: "127.0.0.1:3000", check: isAddress, Doc: "address to listen on; port 0 selects a free port"},
		{Name: "server.base_path", to: &v.BasePath, check: isBasePath, Doc: "path of the server behind a proxy, such as /awaken; the proxy may strip it or not"},
		{Name: "server.debug_address", Env: "AWAKEN_DEBUG_ADDRESS", Flag: "debug-address", to: &v.DebugAddress, check: isAddress, Doc: "loopback address to serve profiles and metrics on"},
		{Name: "server.tls.cert_file", Flag: "tls-cert", to: &v.CertFile, Doc: "PEM `file` with the certificate and its chain: the server then speaks TLS. Reread when it changes"},
		{Name: "server.tls.key_file", Flag: "tls-key", to: &v.KeyFile, Doc: "PEM `file` with the key of the certificate"},
		{Name: "server.http2", to: &v.HTTP2, def: "true", Doc: "also speak HTTP/2: with TLS, and without TLS to proxies with prior knowledge"},
		{Name: "server.public_metrics", to: &v.PublicMetrics, Doc: "show metrics by model and tool without an admin key"},
		{Name: "server.require_key", to: &v.RequireKey, Doc: "require a key on a loopback address too"},
		{Name: "server.hosts", to: &v.Hosts, Doc: "additional host names of a server that requires no key"},
		{Name: "server.users", to: &v.Users, Doc: "keep users of a tenant apart even if only keys name them: requests without a user see only threads without one; user_header and jwt.issuer imply it"},
		{Name: "server.user_header", to: &v.UserHeader, Doc: "header in which a trusted proxy names the user; clients must not be able to set it"},
		{Name: "server.trust_clients", to: &v.TrustClients, Doc: "let clients instruct agents and replace their tools; agents can override it. For servers that no browser can reach"},
		{Name: "server.jwt.issuer", to: &v.JWT.Issuer, Doc: "issuer (iss) of the users' tokens (JWT); empty accepts no tokens"},
		{Name: "server.jwt.audiences", to: &v.JWT.Audiences, Doc: "accepted values of aud; required with jwt.issuer"},
		{Name: "server.jwt.keys_url", to: &v.JWT.KeysURL, Doc: "address of the issuer's key set (JWKS); default the address in its /.well-known/openid-configuration"},
		{Name: "server.jwt.user_claim", to: &v.JWT.UserClaim, def: "sub", Doc: "claim that names the user"},
		{Name: "server.jwt.tenant_claim", to: &v.JWT.TenantClaim, Doc: "claim that names the tenant; empty means the default tenant"},
		{Name: "server.mailbox_lifecycle", to: &v.Lifecycle, def: "auto", check: oneOf("auto", "manual"), Doc: "auto runs a worker; manual accepts runs and leaves them to other processes"},
		{Name: "server.shutdown.timeout_secs", to: &l.ShutdownTime, def: "30", check: atLeast(1), Doc: "how long requests and steps may take to finish when the server stops"},
		{Name: "server.max_concurrent_requests", to: &l.Requests, def: "100", check: limit, Doc: "concurrent requests, not counting streams"},
		{Name: "server.max_concurrent_streams", to: &l.Streams, def: "5000", check: limit, Doc: "concurrent streams"},
		{Name: "server.replay_buffer_capacity", to: &m.Log.Buffer, def: "1024", check: atLeast(1), Doc: "events of the current step to keep in memory for readers"},
		{Name: "server.sse_buffer_size", to: &v.SSEBuffer, def: "64", check: atLeast(1), Doc: "frames that a stream buffers for a slow client before it stops reading the log; none are dropped"},
		{Name: "server.sse_flush_window_ms", to: &l.StreamCollect, def: "0", check: atLeast(0), Doc: "how long deltas are collected after a flush of a stream; other events do not wait. 20 saves most writes of a fast model"},
		{Name: "server.a2a_agents", to: &v.A2A.Agents, Doc: "agents that A2A clients may use; empty means all"},
		{Name: "server.a2a_url", to: &v.A2A.URL, check: isURL, Doc: "address of the server in agent cards; default the host that a request names"},
		{Name: "server.a2a_extended_card_bearer_token", to: &v.A2A.ExtendedCardToken, Doc: "enables the extended agent card, for A2A clients that send this token"},
		{Name: "server.a2a_card_key_file", to: &v.A2A.CardKeyFile, Doc: "file with the private key that signs agent cards: PEM (PKCS #8), Ed25519 or ECDSA P-256; needs server.a2a_url"},
		{Name: "server.mcp_agents", to: &v.MCP.Agents, Doc: "agents that are tools of MCP clients; empty means all"},
		{Name: "server.mcp_url", to: &v.MCP.URL, check: isURL, Doc: "address of the server in the metadata of its MCP route; default the host that a request names"},
		{Name: "server.public_url", to: &v.PublicURL, check: isURL, Doc: "address at which browsers reach the server, such as https://agents.example: authorization servers of MCP servers send users back to it; default server.address, if it is a loopback address"},
		{Name: "server.mcp_tools", to: &v.MCP.Tools, Doc: "patterns of tools that MCP clients may call without a model; empty means none"},
		{Name: "server.mcp_tool_agent", to: &v.MCP.ToolAgent, def: "default", Doc: "agent whose catalogue and permissions apply to mcp_tools"},
		{Name: "server.mcp_commands", to: &v.MCP.Commands, Doc: "programs that documents in mcp-servers may start, as written there; * allows all, empty means none. Authors of documents can then run them on this machine"},
		{Name: "server.mcp_refresh_interval", to: &v.MCP.Refresh, def: "0s", check: atLeast(0), Doc: "how often to list the tools of MCP servers, in addition to their change notifications; 0s means never"},
	}, s.evalTable(), s.traceTable(), l.table(), s.skillTable(), s.workspaceTable(), []*Value{

		{Name: "admin.bearer_token", Env: "AWAKEN_ADMIN_API_BEARER_TOKEN", to: &s.Admin.Token, check: isKey, Doc: "the admin key; on an address that other machines can reach, it must be hard to guess"},
		{Name: "admin.cors_allowed_origins", Env: "AWAKEN_ADMIN_CORS_ALLOWED_ORIGINS", to: &s.Admin.Origins, def: "http://127.0.0.1:3002, http://localhost:3002", Doc: "origins whose pages may call the server from a browser"},
		{Name: "admin.expose_config_routes", to: &s.Admin.Config, def: "true", Doc: "serve the routes that read and write documents"},
		{Name: "console.enabled", to: &s.Console.Enabled, def: "true", Doc: "serve the web console at /"},
		{Name: "admin.expose_trace_routes", Env: "AWAKEN_EXPOSE_TRACE_ROUTES", to: &s.Admin.Traces, def: "false", Doc: "serve the routes of traces, which show inputs and outputs of models and tools"},
		{Name: "admin.expose_eval_routes", to: &s.Evals.Routes, def: "true", Doc: "serve the routes of evaluations: datasets, runs over them, and questions to several models"},

		{Name: "audit.enabled", to: &s.Audit.Enabled, def: "true", Doc: "record every change of a document with its author"},
		{Name: "audit.retention_days", to: &s.Audit.Retention, def: "90", check: atLeast(0), Doc: "how long to keep audit events; 0 means forever"},
		{Name: "audit.sweep_interval_secs", to: &s.Audit.Sweep, def: "3600", check: atLeast(1), Doc: "how often to remove old audit events"},
		{Name: "registry.retention_days", to: &s.Versions, def: "90", check: atLeast(0), Doc: "how long to keep unused document versions; 0 means forever"},
		{Name: "providers.key_dir", to: &s.Providers.KeyDir, Doc: "folder of the key files that documents may name; empty means none"},
		{Name: "providers.env_key_hosts", to: &s.Providers.EnvKeyHosts, Doc: "hosts in documents' base URLs that get provider keys from the environment, in addition to the providers' own"},
		{Name: "secrets.key", Env: "AWAKEN_SECRETS_KEY", to: &s.Secrets.Key, Doc: "key that encrypts secrets in documents: 32 bytes in hex or base64"},
		{Name: "secrets.key_file", Env: "AWAKEN_SECRETS_KEY_FILE", to: &s.Secrets.KeyFile, Doc: "file with such keys, one per line, newest first; created for an SQLite database"},

		{Name: "mailbox.concurrency", to: &m.Concurrency, def: "256", check: atLeast(1), Doc: "runs in flight"},
		{Name: "mailbox.consumer", to: &m.Consumer, Doc: "name of this process in the queue, before a random suffix; default host and process id"},
		{Name: "mailbox.lease_ms", to: &m.Lease, def: "30000", check: atLeast(1), Doc: "how long a claim is valid without renewal"},
		{Name: "mailbox.lease_renewal_interval", to: &m.Renew, def: "10s", check: aTime, Doc: "how often to renew leases; less than the lease"},
		{Name: "mailbox.liveness_ms", to: &m.Liveness, def: "4000", check: atLeast(1), Doc: "how long a process may be silent before others take over its runs; it sends four heartbeats in that time"},
		{Name: "mailbox.poll_interval", to: &m.Poll, def: "1s", check: aTime, Doc: "how often to poll the queue without a notification"},
		{Name: "mailbox.gc_interval", to: &m.GC, def: "1m", check: aTime, Doc: "how often to purge terminal dispatches"},
		{Name: "mailbox.gc_ttl", to: &m.TTL, def: "24h", check: aTime,
			Doc: "how long to keep terminal dispatches, idempotency keys and IDs of messages"},
		{Name: "mailbox.upload_ttl", to: &m.Uploads, def: "24h", check: aTime, Doc: "how long to keep uploaded files that no thread refers to"},
		{Name: "mailbox.default_max_attempts", to: &m.MaxAttempts, def: "5", check: atLeast(1), Doc: "failures in a row before a dispatch becomes a dead letter"},
		{Name: "mailbox.suspended_lease_ms", to: new(time.Duration), def: "600000", check: atLeast(1), Unused: "waiting runs hold no lease"},
		{Name: "mailbox.sweep_interval", to: &m.Sweep, def: "30s", check: aTime, Doc: "how often to look for dead processes and expired leases; never more than a quarter of the lease or a sixteenth of mailbox.liveness_ms"},
		{Name: "mailbox.default_retry_delay_ms", to: &m.RetryDelay, def: "250", check: atLeast(1), Doc: "delay before the first retry of a dispatch; doubles with every further failure"},
		{Name: "mailbox.max_retry_delay_ms", to: &m.MaxRetryDelay, def: "30000", check: atLeast(1), Doc: "longest retry delay"},
		{Name: "mailbox.startup_delay", to: &m.Startup.Delay, check: atLeast(0), Doc: "delay before a starting worker reclaims the dispatches of lost workers and claims"},
		{Name: "mailbox.startup_recovery.max_attempts", to: &m.Startup.Attempts, def: "1", check: atLeast(0), Doc: "attempts to reclaim before the server stops with the error; 0 means 1"},
		{Name: "mailbox.startup_recovery.retry_delay", to: &m.Startup.Retry, def: "250ms", check: aTime, Doc: "delay between two such attempts"},

		{Name: "storage_dir", Env: "AWAKEN_STORAGE_DIR", Flag: "storage-dir", to: &s.StorageDir, def: ".awaken", check: notEmpty, Doc: "`folder` of the SQLite file awaken.db; created if missing"},
		{Name: "database_url", Env: "AWAKEN_DATABASE_URL", Flag: "database", to: &s.DatabaseURL, check: isPostgres, Doc: "`URL` of a PostgreSQL database to use instead of SQLite"},
		{Name: "nats.url", Env: "AWAKEN_NATS_URL", to: &s.NATS.URL, check: isNATS, Doc: "`URL` of a NATS server, or several separated by commas, that carries live events between processes, instead of PostgreSQL notifications"},
		{Name: "nats.subject", Env: "AWAKEN_NATS_SUBJECT", to: &s.NATS.Subject, check: isSubject, Doc: "prefix of the NATS subjects: the same for all processes of a database, and different for other databases; default awaken and a name of the database"},
		{Name: "nats.credentials_file", Env: "AWAKEN_NATS_CREDENTIALS_FILE", to: &s.NATS.Credentials, Doc: "file with a NATS user's JWT and seed"},
		{Name: "nats.ca_file", Env: "AWAKEN_NATS_CA_FILE", to: &s.NATS.CAFile, Doc: "PEM file with the certificate authorities of the NATS servers; default the system's"},
		{Name: "nats.cert_file", Env: "AWAKEN_NATS_CERT_FILE", to: &s.NATS.CertFile, Doc: "PEM file with the certificate of this process for NATS"},
		{Name: "nats.key_file", Env: "AWAKEN_NATS_KEY_FILE", to: &s.NATS.KeyFile, Doc: "PEM file with the key of that certificate"},
		{Name: "seed_profile", Env: "AWAKEN_SEED_PROFILE", Flag: "seed", to: &s.SeedProfile, def: "minimal", check: oneOf("minimal", "demo"), Doc: "`profile` with the initial agents: minimal has the default agent; demo adds more agents and some tools"},
		{Name: "agents_file", Env: "AWAKEN_AGENTS_FILE", Flag: "file", to: &s.AgentsFile, Doc: "YAML or JSON `file` with agents, instead of a profile"},
		{Name: "config_dir", Env: "AWAKEN_CONFIG_DIR", Flag: "config-dir", to: &s.ConfigDir, Doc: "`folder` of documents, as written by awaken config export, to apply at every start"},
		{Name: "agent.model", Env: "AGENT_MODEL", to: &s.Agent.Model, Doc: "upstream name of the default agent's model"},
		{Name: "agent.system_prompt", Env: "AGENT_SYSTEM_PROMPT", to: &s.Agent.SystemPrompt, Doc: "system prompt of the default agent"},
		{Name: "agent.max_rounds", Env: "AGENT_MAX_ROUNDS", to: &s.Agent.MaxRounds, check: atLeast(1), Doc: "round limit of the default agent"},
		{Name: "agent.reasoning_effort", Env: "AGENT_REASONING_EFFORT", to: &s.Agent.ReasoningEffort, check: isEffort, Doc: "reasoning effort of the default agent: none, low, medium, high, max or a number of tokens"},
		{Name: "agent.mcp_command", Env: "MCP_SERVER_CMD", to: &s.Agent.MCPCommand, Doc: "program of an MCP server, with its arguments, separated by spaces; its tools are mcp__mcp_demo__*. 'awaken mcp-demo' is one to try out"},
		{Name: "openai.base_url", Env: "OPENAI_BASE_URL", to: &s.OpenAI.BaseURL, check: isURL, Doc: "base URL of the default provider: OpenAI or a compatible server. Without it and a key, a scripted model answers"},
		{Name: "openai.api_key", Env: "OPENAI_API_KEY", to: &s.OpenAI.APIKey, Doc: "API key of the default provider"},
		{Name: "budget.enabled", to: &s.Budget.Enabled, Doc: "enforce the limits set with PUT /v1/budget on all runs; budgets of agents and requests always apply"},
		{Name: "budget.tenant_usd", to: &s.Budget.TenantUSD, Doc: "default limit of a tenant in US dollars; 0 means no limit"},
		{Name: "budget.unpriced", to: &s.Budget.Unpriced, def: "refuse", check: oneOf("refuse", "allow"),
			Doc: "runs of models without prices, if budgets are enforced for all runs: " +
				"refuse them when they are submitted, or allow them at no cost"},
	}, s.processTable())
}

// processTable defines the settings of the process and of what it may reach.
func (s *Settings) processTable() []*Value {
	return []*Value{
		{Name: "outbound.allow", Env: "AWAKEN_OUTBOUND_ALLOW", to: &s.Outbound.Allow, check: areNetworks,
			Doc: "private networks for addresses that operators write, such as 127.0.0.0/8: " +
				"providers, MCP and A2A servers, the issuer of users' tokens"},
		{Name: "outbound.tenants_allow", Env: "AWAKEN_OUTBOUND_TENANTS_ALLOW", to: &s.Outbound.TenantsAllow, check: areNetworks,
			Doc: "private networks for addresses that tenants write: webhooks and push notifications. " +
				"They may be reached without TLS"},
		{Name: "log.level", Env: "AWAKEN_LOG_LEVEL", Flag: "log-level", to: &s.Log.Level, def: "info", check: oneOf("debug", "info", "warn", "error"), Doc: "lowest level to log: debug, info, warn or error"},
		{Name: "log.format", Env: "AWAKEN_LOG_FORMAT", Flag: "log-format", to: &s.Log.Format, def: "text", check: oneOf("text", "json"), Doc: "format of the log: text or json"},
		{Name: "retention.threads_days", to: &s.Retention, check: atLeast(0), Doc: "delete threads that were not used for this long; 0 keeps them"},
	}
}

// skillTable defines the settings of skills.
func (s *Settings) skillTable() []*Value {
	return []*Value{
		{Name: "skills.dirs", Env: "AWAKEN_SKILLS_DIRS", to: &s.Skills.Dirs, Doc: "folders of skills: one folder each, with a SKILL.md"},
		{Name: "skills.poll_interval", to: &s.Skills.Poll, def: "2s", check: aTime, Doc: "how often to look for changed skills"},
		{Name: "skills.scripts", Env: "AWAKEN_SKILLS_SCRIPTS", to: &s.Skills.Scripts, Doc: "let agents run the scripts of skills, confined; each call asks a person, unless the agent overrides it"},
		{Name: "skills.script_env", to: &s.Skills.ScriptEnv, Doc: "environment variables of the server to pass to scripts"},
	}
}

// workspaceTable defines the settings of workspaces.
func (s *Settings) workspaceTable() []*Value {
	w := &s.Workspace
	return []*Value{
		{Name: "workspace.dir", Env: "AWAKEN_WORKSPACE_DIR", to: &w.Dir, Doc: "folder for the files of agents that list the plugin workspace; created if missing. Without it, the server has no such plugin"},
		{Name: "workspace.scope", to: &w.Scope, def: "thread", check: oneOf("thread", "user", "tenant", "all"), Doc: "runs that share a folder: of a thread, of a user, of a tenant, or all; agents can override it"},
		{Name: "workspace.max_bytes", to: &w.MaxBytes, def: "268435456", check: atLeast(0), Doc: "size of all files in a folder; 0 means no limit. Agents can have a lower limit"},
		{Name: "workspace.max_files", to: &w.MaxFiles, def: "20000", check: atLeast(0), Doc: "files and folders in a folder; 0 means no limit"},
		{Name: "workspace.shell", Env: "AWAKEN_WORKSPACE_SHELL", to: &w.Shell, Doc: "let agents with shell in their section run commands in their folders, confined; each command asks a person, unless the agent overrides it"},
		{Name: "workspace.shell_network", to: &w.ShellNetwork, Doc: "let agents with network in their section give commands access to the network: to everything that this machine reaches, including its own services"},
		{Name: "workspace.shell_env", to: &w.ShellEnv, Doc: "environment variables of the server that agents may give commands"},
	}
}

// traceTable defines the settings of traces.
func (s *Settings) traceTable() []*Value {
	t := &s.Traces
	return []*Value{
		{Name: "traces.bodies", Env: "AWAKEN_TRACE_BODIES", to: &t.Bodies, def: "off", check: oneOf("off", "errors", "sample", "all"), Doc: "requests to models to store with their answers, for traces: off, errors (failed requests), sample (also a share of the runs), or all. They are deleted with their thread"},
		{Name: "traces.body_sample", to: &t.Share, def: "0.01", check: aShare, Doc: "share of the runs for traces.bodies=sample"},
		{Name: "traces.body_bytes", to: &t.BodyBytes, def: "262144", check: atLeast(1024), Doc: "maximum size of a stored request or answer; beyond it, the oldest messages are omitted first"},
	}
}

// evalTable defines the settings of evaluations.
func (s *Settings) evalTable() []*Value {
	e := &s.Evals
	return []*Value{
		{Name: "server.eval_limits.max_cells_per_sync_run", to: &e.SyncCells, def: "100", check: atLeast(1), Doc: "cells of an evaluation that a request waits for: fixtures, times models, times samples"},
		{Name: "server.eval_limits.max_concurrent_matrix_cells", to: &e.Concurrency, def: "5", check: atLeast(1), Doc: "cells of an evaluation that run at a time"},
		{Name: "server.eval_limits.max_cells_per_sync_online", to: &e.OnlineCells, def: "10", check: atLeast(1), Doc: "cells of an online evaluation: models, times samples"},
		{Name: "server.eval_limits.max_concurrent_online_cells", to: &e.OnlineConcurrency, def: "5", check: atLeast(1), Doc: "cells of an online evaluation that run at a time"},
		{Name: "server.eval_limits.max_samples_per_cell", to: &e.Samples, def: "20", check: atLeast(1), Doc: "maximum samples of each fixture and model"},
		{Name: "server.eval_limits.max_judge_revisions", to: &e.Revisions, def: "3", check: atLeast(0), Doc: "maximum revisions of an answer that the judge asks for"},
		{Name: "server.eval_limits.default_import_traces_max", to: &e.Imports, def: "50", check: atLeast(1), Doc: "default number of runs to import into a dataset"},
	}
}

// table defines the settings of limits.
func (l *Limits) table() []*Value {
	return []*Value{
		{Name: "limits.body_bytes", to: &l.Body, def: "20971520", check: limit, Doc: "size of a request body"},
		{Name: "limits.body_memory_bytes", to: &l.BodyMemory, def: "100663296", check: limit, Doc: "memory of all request bodies in flight"},
		{Name: "limits.body_rate_bytes", to: &l.BodyRate, def: "1024", check: limit, Doc: "bytes of a body that a client must send per second"},
		{Name: "limits.body_grace", to: &l.BodyGrace, def: "5s", check: aTime, Doc: "time before limits.body_rate_bytes counts"},
		{Name: "limits.json_depth", to: &l.Depth, def: "64", check: limit, Doc: "nesting of JSON"},
		{Name: "limits.json_values", to: &l.Values, def: "100000", check: limit, Doc: "JSON values in a request body"},
		{Name: "limits.header_bytes", to: &l.HeaderBytes, def: "65536", check: atLeast(1), Doc: "size of the request headers"},
		{Name: "limits.file_bytes", to: &l.File, def: "33554432", check: limit, Doc: "size of an uploaded file"},
		{Name: "limits.files_bytes", to: &l.Files, def: "10737418240", check: limit, Doc: "size of all files of a tenant"},
		{Name: "limits.messages_per_run", to: &l.Messages, def: "1000", check: limit, Doc: "messages in a request"},
		{Name: "limits.tools_per_run", to: &l.Tools, def: "256", check: limit, Doc: "tools that the client executes, in a request"},
		{Name: "limits.schema_bytes", to: &l.SchemaBytes, def: "262144", check: limit, Doc: "size of the client's tools and the output schema of a request"},
		{Name: "limits.schema_parts", to: &l.SchemaParts, def: "4000", check: limit, Doc: "subschemas in them; ten times as many with all references expanded"},
		{Name: "limits.title_bytes", to: &l.Title, def: "4096", check: limit, Doc: "size of a thread's title"},
		{Name: "limits.metadata_bytes", to: &l.Metadata, def: "65536", check: limit, Doc: "size of a thread's custom metadata"},
		{Name: "limits.request_timeout", to: &l.RequestTime, def: "1m", check: aTime, Doc: "duration of a request that is not a stream"},
		{Name: "limits.wait_timeout", to: &l.WaitTime, def: "10m", check: aTime, Doc: "duration of a request that waits for its run"},
		{Name: "limits.header_timeout", to: &l.HeaderTime, def: "10s", check: aTime, Doc: "time for a client to send the headers"},
		{Name: "limits.http2_streams", to: &l.HTTP2Streams, def: "250", check: limit, Doc: "concurrent requests and streams of one HTTP/2 connection"},
		{Name: "limits.idle_timeout", to: &l.IdleTime, def: "2m", check: aTime, Doc: "idle time of a connection between requests"},
		{Name: "limits.stream_write_timeout", to: &l.StreamWrite, def: "10s", check: aTime, Doc: "time for a client to read the data of a stream"},
		{Name: "limits.heartbeat_interval", to: &l.Heartbeat, def: "15s", check: aTime, Doc: "interval of heartbeats on an idle stream"},
		{Name: "limits.tool_timeout", to: &l.ToolTime, def: "5m", check: aTime, Doc: "duration of a tool call"},
		{Name: "limits.reply_bytes", to: &l.Reply.Bytes, def: "16777216", check: limit,
			Doc: "size of a model's reply: text, thinking, arguments and other data, and 32 bytes for each piece of the stream"},
		{Name: "limits.reply_arguments_bytes", to: &l.Reply.Arguments, def: "4194304", check: limit,
			Doc: "size of the arguments of all calls in a model's reply"},
		{Name: "limits.reply_calls", to: &l.Reply.Calls, def: "256", check: limit, Doc: "calls in a model's reply"},
		{Name: "limits.key_rate", to: &l.KeyRate, Doc: "requests per second and key; 0 means no limit"},
		{Name: "limits.key_burst", to: &l.KeyBurst, check: atLeast(0), Doc: "burst of requests per key; 0 means two seconds' worth"},
		{Name: "limits.wrong_keys", to: &l.WrongKeys, def: "20", check: limit, Doc: "wrong keys from a client address before it must wait between tries"},
		{Name: "limits.session_timeout", to: &l.SessionTime, def: "1h", check: aTime, Doc: "how long a browser session lasts without renewal"},
		{Name: "limits.session_max_time", to: &l.SessionMax, def: "12h", check: aTime, Doc: "how long a browser session lasts with renewals"},
	}
}
