// Package settings is what an operator can choose about a server: in a file, in the
// environment and with flags. Each overrules the one before, and every value remembers
// where it came from.
package settings

import (
	"time"

	"github.com/awaken-go/awaken"
	"github.com/awaken-go/awaken/mailbox"
)

// Settings are all there are. The table in [Settings.Values] says what they are called.
type Settings struct {
	Server struct {
		Address              string
		DebugAddress         string
		RequireKey           bool
		Hosts                []string
		UserHeader           string
		Lifecycle            string
		Shutdown             time.Duration
		Requests, Streams    int
		ReplayBuffer         int
		SSEBuffer            int           // unused
		ExtendedCardToken    awaken.Secret // unused
		EvalSyncCells        int           // unused, as are all of these
		EvalConcurrent       int
		EvalOnlineCells      int
		EvalOnlineConcurrent int
		EvalSamples          int
		EvalRevisions        int
		EvalImport           int
	}
	Limits struct {
		Body                                        int
		Depth, HeaderBytes, Messages                int
		RequestTime, WaitTime, HeaderTime, IdleTime time.Duration
		StreamWrite, Heartbeat                      time.Duration
		ToolTime                                    time.Duration
		KeyRate                                     float64
		KeyBurst                                    int
	}
	Admin struct {
		Token         awaken.Secret
		Origins       []string
		Config        bool
		Traces, Evals bool // unused
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
	Mailbox struct {
		Concurrency int
		Consumer    string
		Lease       time.Duration
		Renew       time.Duration
		Poll        time.Duration
		GC, TTL     time.Duration
		MaxAttempts int
		Sweep       time.Duration
		RetryDelay  time.Duration
		MaxRetry    time.Duration
		Startup     mailbox.Startup
		Suspended   time.Duration // unused
	}
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
	s := &Settings{StorageDir: ".awaken", SeedProfile: "minimal"}
	v := &s.Server
	v.Address, v.Lifecycle, v.Shutdown = "127.0.0.1:3000", "auto", 30*time.Second
	v.Requests, v.Streams, v.ReplayBuffer, v.SSEBuffer = 100, 20_000, 1024, 64
	v.EvalSyncCells, v.EvalConcurrent, v.EvalOnlineCells, v.EvalOnlineConcurrent = 100, 5, 10, 5
	v.EvalSamples, v.EvalRevisions, v.EvalImport = 20, 3, 50
	l := &s.Limits
	l.Body, l.Depth, l.HeaderBytes, l.Messages = 20<<20, 64, 64<<10, 1000
	l.RequestTime, l.WaitTime, l.HeaderTime, l.IdleTime = time.Minute, 10*time.Minute, 10*time.Second, 2*time.Minute
	l.StreamWrite, l.Heartbeat, l.ToolTime = 10*time.Second, 15*time.Second, 5*time.Minute
	s.Admin.Origins, s.Admin.Config, s.Admin.Evals = []string{"http://127.0.0.1:3002", "http://localhost:3002"}, true, true
	s.Audit.Enabled, s.Audit.Retention, s.Audit.Sweep = true, 90*day, time.Hour
	s.Versions = 90 * day
	m := &s.Mailbox
	m.Concurrency, m.Lease, m.Renew, m.Poll = 256, 30*time.Second, 10*time.Second, time.Second
	m.GC, m.TTL, m.MaxAttempts = time.Minute, day, 5
	m.Suspended, m.Sweep, m.RetryDelay, m.MaxRetry = 10*time.Minute, 30*time.Second, 250*time.Millisecond, 30*time.Second
	m.Startup.Attempts, m.Startup.Retry = 1, 250*time.Millisecond
	s.Log.Level, s.Log.Format = "info", "text"
	s.values = s.table()
	for _, v := range s.values {
		v.Source = "default"
		if v.Env == "" {
			v.Env = envName(v.Name)
		}
	}
	return s
}

// table is what everything is called. A name that ends in _ms, _secs or _days is a number
// of these; another time is written like 10s.
func (s *Settings) table() []*Value {
	v, l, a, m := &s.Server, &s.Limits, &s.Admin, &s.Mailbox
	return []*Value{
		{Name: "server.address", Env: "AWAKEN_HTTP_ADDR", Flag: "address", to: &v.Address, check: isAddress, Doc: "where to listen; port 0 is any that is free"},
		{Name: "server.debug_address", Env: "AWAKEN_DEBUG_ADDRESS", Flag: "debug-address", to: &v.DebugAddress, check: isAddress, Doc: "where to serve profiles, on this machine only"},
		{Name: "server.require_key", to: &v.RequireKey, Doc: "ask for a key on this machine too"},
		{Name: "server.hosts", to: &v.Hosts, Doc: "other names of a server that needs no key"},
		{Name: "server.user_header", to: &v.UserHeader, Doc: "a header in which the proxy in front says which user asks; it is believed without proof"},
		{Name: "server.mailbox_lifecycle", to: &v.Lifecycle, check: oneOf("auto", "manual"), Doc: "manual accepts runs and leaves them to other processes"},
		{Name: "server.shutdown.timeout_secs", to: &v.Shutdown, check: atLeast(1), Doc: "how long requests and steps may go on when the server stops"},
		{Name: "server.max_concurrent_requests", to: &v.Requests, check: limit, Doc: "streams not counted"},
		{Name: "server.max_concurrent_streams", to: &v.Streams, check: limit},
		{Name: "server.replay_buffer_capacity", to: &v.ReplayBuffer, check: atLeast(1), Doc: "events of a step that readers find in memory"},
		{Name: "server.sse_buffer_size", to: &v.SSEBuffer, check: atLeast(1), Unused: "streams read the log, and have no buffer of frames"},
		{Name: "server.a2a_extended_card_bearer_token", to: &v.ExtendedCardToken, Unused: noA2A},
		{Name: "server.eval_limits.max_cells_per_sync_run", to: &v.EvalSyncCells, check: atLeast(1), Unused: noEval},
		{Name: "server.eval_limits.max_concurrent_matrix_cells", to: &v.EvalConcurrent, check: atLeast(1), Unused: noEval},
		{Name: "server.eval_limits.max_cells_per_sync_online", to: &v.EvalOnlineCells, check: atLeast(1), Unused: noEval},
		{Name: "server.eval_limits.max_concurrent_online_cells", to: &v.EvalOnlineConcurrent, check: atLeast(1), Unused: noEval},
		{Name: "server.eval_limits.max_samples_per_cell", to: &v.EvalSamples, check: atLeast(1), Unused: noEval},
		{Name: "server.eval_limits.max_judge_revisions", to: &v.EvalRevisions, check: atLeast(0), Unused: noEval},
		{Name: "server.eval_limits.default_import_traces_max", to: &v.EvalImport, check: atLeast(1), Unused: noEval},

		{Name: "limits.body_bytes", to: &l.Body, check: limit, Doc: "of a request"},
		{Name: "limits.json_depth", to: &l.Depth, check: limit, Doc: "nesting of JSON"},
		{Name: "limits.header_bytes", to: &l.HeaderBytes, check: atLeast(1), Doc: "of a request"},
		{Name: "limits.messages_per_run", to: &l.Messages, check: limit, Doc: "of a request"},
		{Name: "limits.request_timeout", to: &l.RequestTime, check: aTime, Doc: "of a request that is not a stream"},
		{Name: "limits.wait_timeout", to: &l.WaitTime, check: aTime, Doc: "of a request that waits for its run"},
		{Name: "limits.header_timeout", to: &l.HeaderTime, check: aTime, Doc: "to send the headers"},
		{Name: "limits.idle_timeout", to: &l.IdleTime, check: aTime, Doc: "of a connection between requests"},
		{Name: "limits.stream_write_timeout", to: &l.StreamWrite, check: aTime, Doc: "for a client to take what a stream sends"},
		{Name: "limits.heartbeat_interval", to: &l.Heartbeat, check: aTime, Doc: "of a stream on which nothing happens"},
		{Name: "limits.tool_timeout", to: &l.ToolTime, check: aTime, Doc: "of a tool call"},
		{Name: "limits.key_rate", to: &l.KeyRate, Doc: "requests per second and key; 0 is no limit"},
		{Name: "limits.key_burst", to: &l.KeyBurst, check: atLeast(0), Doc: "requests at once; 0 is two seconds' worth"},

		{Name: "admin.bearer_token", Env: "AWAKEN_ADMIN_API_BEARER_TOKEN", to: &a.Token, check: isKey, Doc: "the admin key"},
		{Name: "admin.cors_allowed_origins", Env: "AWAKEN_ADMIN_CORS_ALLOWED_ORIGINS", to: &a.Origins, Doc: "pages that may use the server from a browser"},
		{Name: "admin.expose_config_routes", to: &a.Config, Doc: "serve the routes that read and write documents"},
		{Name: "admin.expose_trace_routes", Env: "AWAKEN_EXPOSE_TRACE_ROUTES", to: &a.Traces, Unused: noTraces},
		{Name: "admin.expose_eval_routes", to: &a.Evals, Unused: noEval},

		{Name: "audit.enabled", to: &s.Audit.Enabled, Doc: "keep who changed what"},
		{Name: "audit.retention_days", to: &s.Audit.Retention, check: atLeast(0), Doc: "how long; 0 is for ever"},
		{Name: "audit.sweep_interval_secs", to: &s.Audit.Sweep, check: atLeast(1), Doc: "how often old events are removed"},
		{Name: "registry.retention_days", to: &s.Versions, check: atLeast(0), Doc: "how long versions are kept that nothing needs; 0 is for ever"},
		{Name: "providers.key_dir", to: &s.Providers.KeyDir, Doc: "the folder whose files documents may name as keys; without it they may name none"},
		{Name: "secrets.key", Env: "AWAKEN_SECRETS_KEY", to: &s.Secrets.Key, Doc: "what secrets in documents are encrypted with: 32 bytes in hex or base64"},
		{Name: "secrets.key_file", Env: "AWAKEN_SECRETS_KEY_FILE", to: &s.Secrets.KeyFile, Doc: "the same in a file, one key a line, the newest first; made beside an SQLite database"},

		{Name: "mailbox.concurrency", to: &m.Concurrency, check: atLeast(1), Doc: "runs at the same time"},
		{Name: "mailbox.consumer", to: &m.Consumer, Doc: "names this process in the queue; default host, process and a random part"},
		{Name: "mailbox.lease_ms", to: &m.Lease, check: atLeast(1), Doc: "how long a worker that is lost holds a run"},
		{Name: "mailbox.lease_renewal_interval", to: &m.Renew, check: aTime, Doc: "less than the lease"},
		{Name: "mailbox.poll_interval", to: &m.Poll, check: aTime, Doc: "how often the queue is asked without a reason"},
		{Name: "mailbox.gc_interval", to: &m.GC, check: aTime, Doc: "how often dispatches that are over are purged"},
		{Name: "mailbox.gc_ttl", to: &m.TTL, check: aTime, Doc: "how long they, and idempotency keys, are kept"},
		{Name: "mailbox.default_max_attempts", to: &m.MaxAttempts, check: atLeast(1), Doc: "before a dispatch becomes a dead letter"},
		{Name: "mailbox.suspended_lease_ms", to: &m.Suspended, check: atLeast(1), Unused: "runs that wait hold no lease"},
		{Name: "mailbox.sweep_interval", to: &m.Sweep, check: aTime, Doc: "how often expired leases are looked for, at most; a quarter of the lease if that is less"},
		{Name: "mailbox.default_retry_delay_ms", to: &m.RetryDelay, check: atLeast(1), Doc: "before a dispatch that failed is tried again; doubled with every further failure"},
		{Name: "mailbox.max_retry_delay_ms", to: &m.MaxRetry, check: atLeast(1), Doc: "the longest such delay"},
		{Name: "mailbox.startup_delay", to: &m.Startup.Delay, check: atLeast(0), Doc: "before a worker that starts takes over what lost workers held, and claims"},
		{Name: "mailbox.startup_recovery.max_attempts", to: &m.Startup.Attempts, check: atLeast(0), Doc: "how often taking over is tried before the server stops with the error; 0 is 1"},
		{Name: "mailbox.startup_recovery.retry_delay", to: &m.Startup.Retry, check: aTime, Doc: "between two attempts"},

		{Name: "storage_dir", Env: "AWAKEN_STORAGE_DIR", Flag: "storage-dir", to: &s.StorageDir, check: notEmpty, Doc: "folder of the SQLite file awaken.db; made when it is missing"},
		{Name: "database_url", Env: "AWAKEN_DATABASE_URL", Flag: "database", to: &s.DatabaseURL, check: isPostgres, Doc: "a PostgreSQL database, instead of SQLite"},
		{Name: "seed_profile", Env: "AWAKEN_SEED_PROFILE", Flag: "seed", to: &s.SeedProfile, check: oneOf("minimal", "demo"), Doc: "the agents that there are: the default one, or those of the demo"},
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
		{Name: "log.level", Env: "AWAKEN_LOG_LEVEL", Flag: "log-level", to: &s.Log.Level, check: oneOf("debug", "info", "warn", "error")},
		{Name: "log.format", Env: "AWAKEN_LOG_FORMAT", Flag: "log-format", to: &s.Log.Format, check: oneOf("text", "json")},
		{Name: "retention.threads_days", to: &s.Retention, check: atLeast(0), Doc: "delete threads that nothing happened on for so long; 0 keeps them"},
	}
}
