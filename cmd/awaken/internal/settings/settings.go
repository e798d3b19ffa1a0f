// Package settings is what an operator can choose about a server: in a file, in the
// environment and with flags. Each overrules the one before, and every value remembers
// where it came from.
package settings

import (
	"cmp"
	"fmt"
	"time"

	"github.com/awaken-go/awaken"
	"github.com/awaken-go/awaken/mailbox"
)

// Settings are all there are. The table in [Settings.Values] says what they are called.
type Settings struct {
	Server struct {
		Address, DebugAddress string
		RequireKey            bool
		Hosts                 []string
		UserHeader            string
		Lifecycle             string
		SSEBuffer             int
	}
	Limits struct {
		Body, Depth, HeaderBytes, Messages, Requests, Streams, KeyBurst                             int
		RequestTime, WaitTime, HeaderTime, IdleTime, StreamWrite, Heartbeat, ToolTime, ShutdownTime time.Duration
		KeyRate                                                                                     float64
	}
	Admin struct {
		Token   awaken.Secret
		Origins []string
		Config  bool
	}
	// Secrets is what secrets are encrypted with: a key, or a file with keys.
	Secrets struct {
		Key     awaken.Secret
		KeyFile string
	}
	Audit struct {
		Enabled   bool
		Retention time.Duration
		Sweep     time.Duration
	}
	Mailbox     mailbox.Config // what an operator can choose of it
	StorageDir  string
	DatabaseURL awaken.Secret
	SeedProfile string
	AgentsFile  string
	ConfigDir   string
	Agent       struct {
		Model, SystemPrompt string
		MaxRounds           int
		ReasoningEffort     string
	}
	OpenAI struct {
		BaseURL string
		APIKey  awaken.Secret
	}
	Budget struct {
		Enabled   bool
		TenantUSD float64 // 0 is no limit
	}
	// Versions is how long versions of the documents are kept that are not live and that no
	// run needs. 0 is for ever.
	Versions time.Duration
	// Providers.KeyDir is the folder whose files documents may name as keys.
	Providers struct{ KeyDir string }
	// Outbound is where providers may be that are not on the public internet.
	Outbound struct{ Allow []string }
	Log      struct{ Level, Format string }
	// Retention is how long threads that nothing happens on are kept. 0 is for ever.
	Retention time.Duration

	values []*Value
}

const (
	day = 24 * time.Hour

	noEval   = "there are no evaluations yet"
	noTraces = "there are no traces yet"
	noA2A    = "there is no A2A yet"
)

// Defaults returns the settings of somebody who has chosen nothing.
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

// table is what everything is called. A name that ends in _ms, _secs or _days is a number
// of these; another time is written like 10s.
func (s *Settings) table() []*Value {
	v, l, m := &s.Server, &s.Limits, &s.Mailbox
	return []*Value{
		{Name: "server.address", Env: "AWAKEN_HTTP_ADDR", Flag: "address", to: &v.Address, def: "127.0.0.1:3000", check: isAddress, Doc: "where to listen; port 0 is any that is free"},
		{Name: "server.debug_address", Env: "AWAKEN_DEBUG_ADDRESS", Flag: "debug-address", to: &v.DebugAddress, check: isAddress, Doc: "where to serve profiles, on this machine only"},
		{Name: "server.require_key", to: &v.RequireKey, Doc: "ask for a key on this machine too"},
		{Name: "server.hosts", to: &v.Hosts, Doc: "other names of a server that needs no key"},
		{Name: "server.user_header", to: &v.UserHeader, Doc: "a header in which the proxy in front says which user asks; it is believed without proof"},
		{Name: "server.mailbox_lifecycle", to: &v.Lifecycle, def: "auto", check: oneOf("auto", "manual"), Doc: "manual accepts runs and leaves them to other processes"},
		{Name: "server.shutdown.timeout_secs", to: &l.ShutdownTime, def: "30", check: atLeast(1), Doc: "how long requests and steps may go on when the server stops"},
		{Name: "server.max_concurrent_requests", to: &l.Requests, def: "100", check: limit, Doc: "streams not counted"},
		{Name: "server.max_concurrent_streams", to: &l.Streams, def: "20000", check: limit},
		{Name: "server.replay_buffer_capacity", to: &m.Log.Buffer, def: "1024", check: atLeast(1), Doc: "events of a step that readers find in memory"},
		{Name: "server.sse_buffer_size", to: &v.SSEBuffer, def: "64", check: atLeast(1), Doc: "frames of a stream that wait for its client before the log is read on; none are dropped"},
		{Name: "server.a2a_extended_card_bearer_token", to: new(awaken.Secret), Unused: noA2A},
		{Name: "server.eval_limits.max_cells_per_sync_run", to: new(int), def: "100", check: atLeast(1), Unused: noEval},
		{Name: "server.eval_limits.max_concurrent_matrix_cells", to: new(int), def: "5", check: atLeast(1), Unused: noEval},
		{Name: "server.eval_limits.max_cells_per_sync_online", to: new(int), def: "10", check: atLeast(1), Unused: noEval},
		{Name: "server.eval_limits.max_concurrent_online_cells", to: new(int), def: "5", check: atLeast(1), Unused: noEval},
		{Name: "server.eval_limits.max_samples_per_cell", to: new(int), def: "20", check: atLeast(1), Unused: noEval},
		{Name: "server.eval_limits.max_judge_revisions", to: new(int), def: "3", check: atLeast(0), Unused: noEval},
		{Name: "server.eval_limits.default_import_traces_max", to: new(int), def: "50", check: atLeast(1), Unused: noEval},

		{Name: "limits.body_bytes", to: &l.Body, def: "20971520", check: limit, Doc: "of a request"},
		{Name: "limits.json_depth", to: &l.Depth, def: "64", check: limit, Doc: "nesting of JSON"},
		{Name: "limits.header_bytes", to: &l.HeaderBytes, def: "65536", check: atLeast(1), Doc: "of a request"},
		{Name: "limits.messages_per_run", to: &l.Messages, def: "1000", check: limit, Doc: "of a request"},
		{Name: "limits.request_timeout", to: &l.RequestTime, def: "1m", check: aTime, Doc: "of a request that is not a stream"},
		{Name: "limits.wait_timeout", to: &l.WaitTime, def: "10m", check: aTime, Doc: "of a request that waits for its run"},
		{Name: "limits.header_timeout", to: &l.HeaderTime, def: "10s", check: aTime, Doc: "to send the headers"},
		{Name: "limits.idle_timeout", to: &l.IdleTime, def: "2m", check: aTime, Doc: "of a connection between requests"},
		{Name: "limits.stream_write_timeout", to: &l.StreamWrite, def: "10s", check: aTime, Doc: "for a client to take what a stream sends"},
		{Name: "limits.heartbeat_interval", to: &l.Heartbeat, def: "15s", check: aTime, Doc: "of a stream on which nothing happens"},
		{Name: "limits.tool_timeout", to: &l.ToolTime, def: "5m", check: aTime, Doc: "of a tool call"},
		{Name: "limits.key_rate", to: &l.KeyRate, Doc: "requests per second and key; 0 is no limit"},
		{Name: "limits.key_burst", to: &l.KeyBurst, check: atLeast(0), Doc: "requests at once; 0 is two seconds' worth"},

		{Name: "admin.bearer_token", Env: "AWAKEN_ADMIN_API_BEARER_TOKEN", to: &s.Admin.Token, check: isKey, Doc: "the admin key"},
		{Name: "admin.cors_allowed_origins", Env: "AWAKEN_ADMIN_CORS_ALLOWED_ORIGINS", to: &s.Admin.Origins, def: "http://127.0.0.1:3002, http://localhost:3002", Doc: "pages that may use the server from a browser"},
		{Name: "admin.expose_config_routes", to: &s.Admin.Config, def: "true", Doc: "serve the routes that read and write documents"},
		{Name: "admin.expose_trace_routes", Env: "AWAKEN_EXPOSE_TRACE_ROUTES", to: new(bool), Unused: noTraces},
		{Name: "admin.expose_eval_routes", to: new(bool), def: "true", Unused: noEval},

		{Name: "audit.enabled", to: &s.Audit.Enabled, def: "true", Doc: "keep who changed what"},
		{Name: "audit.retention_days", to: &s.Audit.Retention, def: "90", check: atLeast(0), Doc: "how long; 0 is for ever"},
		{Name: "audit.sweep_interval_secs", to: &s.Audit.Sweep, def: "3600", check: atLeast(1), Doc: "how often old events are removed"},
		{Name: "registry.retention_days", to: &s.Versions, def: "90", check: atLeast(0), Doc: "how long versions are kept that nothing needs; 0 is for ever"},
		{Name: "providers.key_dir", to: &s.Providers.KeyDir, Doc: "the folder whose files documents may name as keys; without it they may name none"},
		{Name: "secrets.key", Env: "AWAKEN_SECRETS_KEY", to: &s.Secrets.Key, Doc: "what secrets in documents are encrypted with: 32 bytes in hex or base64"},
		{Name: "secrets.key_file", Env: "AWAKEN_SECRETS_KEY_FILE", to: &s.Secrets.KeyFile, Doc: "the same in a file, one key a line, the newest first; made beside an SQLite database"},

		{Name: "mailbox.concurrency", to: &m.Concurrency, def: "256", check: atLeast(1), Doc: "runs at the same time"},
		{Name: "mailbox.consumer", to: &m.Consumer, Doc: "names this process in the queue; default host, process and a random part"},
		{Name: "mailbox.lease_ms", to: &m.Lease, def: "30000", check: atLeast(1), Doc: "how long a worker that is lost holds a run"},
		{Name: "mailbox.lease_renewal_interval", to: &m.Renew, def: "10s", check: aTime, Doc: "less than the lease"},
		{Name: "mailbox.poll_interval", to: &m.Poll, def: "1s", check: aTime, Doc: "how often the queue is asked without a reason"},
		{Name: "mailbox.gc_interval", to: &m.GC, def: "1m", check: aTime, Doc: "how often dispatches that are over are purged"},
		{Name: "mailbox.gc_ttl", to: &m.TTL, def: "24h", check: aTime, Doc: "how long they, and idempotency keys, are kept"},
		{Name: "mailbox.default_max_attempts", to: &m.MaxAttempts, def: "5", check: atLeast(1), Doc: "before a dispatch becomes a dead letter"},
		{Name: "mailbox.suspended_lease_ms", to: new(time.Duration), def: "600000", check: atLeast(1), Unused: "runs that wait hold no lease"},
		{Name: "mailbox.sweep_interval", to: &m.Sweep, def: "30s", check: aTime, Doc: "how often expired leases are looked for, at most; a quarter of the lease if that is less"},
		{Name: "mailbox.default_retry_delay_ms", to: &m.RetryDelay, def: "250", check: atLeast(1), Doc: "before a dispatch that failed is tried again; doubled with every further failure"},
		{Name: "mailbox.max_retry_delay_ms", to: &m.MaxRetryDelay, def: "30000", check: atLeast(1), Doc: "the longest such delay"},
		{Name: "mailbox.startup_delay", to: &m.Startup.Delay, check: atLeast(0), Doc: "before a worker that starts takes over what lost workers held, and claims"},
		{Name: "mailbox.startup_recovery.max_attempts", to: &m.Startup.Attempts, def: "1", check: atLeast(0), Doc: "how often taking over is tried before the server stops with the error; 0 is 1"},
		{Name: "mailbox.startup_recovery.retry_delay", to: &m.Startup.Retry, def: "250ms", check: aTime, Doc: "between two attempts"},

		{Name: "storage_dir", Env: "AWAKEN_STORAGE_DIR", Flag: "storage-dir", to: &s.StorageDir, def: ".awaken", check: notEmpty, Doc: "folder of the SQLite file awaken.db; made when it is missing"},
		{Name: "database_url", Env: "AWAKEN_DATABASE_URL", Flag: "database", to: &s.DatabaseURL, check: isPostgres, Doc: "a PostgreSQL database, instead of SQLite"},
		{Name: "seed_profile", Env: "AWAKEN_SEED_PROFILE", Flag: "seed", to: &s.SeedProfile, def: "minimal", check: oneOf("minimal", "demo"), Doc: "`profile` of agents to begin with: minimal is the default agent, demo has more, and tools"},
		{Name: "agents_file", Env: "AWAKEN_AGENTS_FILE", Flag: "file", to: &s.AgentsFile, Doc: "YAML or JSON with agents, instead of a profile"},
		{Name: "config_dir", Env: "AWAKEN_CONFIG_DIR", Flag: "config-dir", to: &s.ConfigDir, Doc: "folder with documents, as awaken config export writes them, that are applied at every start"},
		{Name: "agent.model", Env: "AGENT_MODEL", to: &s.Agent.Model, Doc: "upstream name of the default agent's model"},
		{Name: "agent.system_prompt", Env: "AGENT_SYSTEM_PROMPT", to: &s.Agent.SystemPrompt, Doc: "of the default agent"},
		{Name: "agent.max_rounds", Env: "AGENT_MAX_ROUNDS", to: &s.Agent.MaxRounds, check: atLeast(1), Doc: "of the default agent"},
		{Name: "agent.reasoning_effort", Env: "AGENT_REASONING_EFFORT", to: &s.Agent.ReasoningEffort, check: isEffort, Doc: "of the default agent: none, low, medium, high, max or a number of tokens"},
		{Name: "openai.base_url", Env: "OPENAI_BASE_URL", to: &s.OpenAI.BaseURL, check: isURL, Doc: "of the default provider, which is OpenAI or a server that speaks its language; without this and a key, a scripted model answers"},
		{Name: "openai.api_key", Env: "OPENAI_API_KEY", to: &s.OpenAI.APIKey, Doc: "of the default provider"},
		{Name: "budget.enabled", to: &s.Budget.Enabled, Doc: "hold all runs to the limits set with PUT /v1/budget; agents and requests with a budget are held to it anyway"},
		{Name: "budget.tenant_usd", to: &s.Budget.TenantUSD, Doc: "what each tenant may spend unless a limit was set for it, in US dollars; 0 is no limit"},
		{Name: "outbound.allow", Env: "AWAKEN_OUTBOUND_ALLOW", to: &s.Outbound.Allow, check: areNetworks, Doc: "networks that the `base_url` of a provider in the agents' file may be in although they are not public, such as 127.0.0.0/8"},
		{Name: "log.level", Env: "AWAKEN_LOG_LEVEL", Flag: "log-level", to: &s.Log.Level, def: "info", check: oneOf("debug", "info", "warn", "error"), Doc: "debug, info, warn or error"},
		{Name: "log.format", Env: "AWAKEN_LOG_FORMAT", Flag: "log-format", to: &s.Log.Format, def: "text", check: oneOf("text", "json"), Doc: "text or json"},
		{Name: "retention.threads_days", to: &s.Retention, check: atLeast(0), Doc: "delete threads that nothing happened on for so long; 0 keeps them"},
	}
}
