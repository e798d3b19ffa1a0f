package settings

import (
	"strings"
	"testing"
)

// cases has every setting: a valid value, an invalid one (as an environment variable; "" if all
// are valid) with the expected error, and the default.
var cases = map[string]struct{ good, bad, want, def string }{
	"server.address":                        {"0.0.0.0:3000", "3000", "want host:port", "127.0.0.1:3000"},
	"server.base_path":                      {"/awaken", "awaken/", "want a path", `""`},
	"console.enabled":                       {"false", "no", "want true or false", "true"},
	"server.debug_address":                  {"127.0.0.1:6060", "6060", "want host:port", `""`},
	"server.tls.cert_file":                  {"c.pem", "", "", `""`},
	"server.tls.key_file":                   {"k.pem", "", "", `""`},
	"server.http2":                          {"false", "no", "want true or false", "true"},
	"server.public_metrics":                 {"true", "yes", "want true or false", "false"},
	"server.require_key":                    {"true", "yes", "want true or false", "false"},
	"server.users":                          {"true", "", "", "false"},
	"server.jwt.issuer":                     {"https://id.example", "", "", `""`},
	"server.jwt.audiences":                  {"awaken", "", "", "[]"},
	"server.jwt.keys_url":                   {"https://id.example/keys", "", "", `""`},
	"server.jwt.user_claim":                 {"email", "", "", "sub"},
	"server.jwt.tenant_claim":               {"org", "", "", `""`},
	"server.user_header":                    {"X-User-Id", "", "", `""`},
	"server.trust_clients":                  {"true", "yes", "want true or false", "false"},
	"server.hosts":                          {"a.example", "", "", "[]"},
	"server.mailbox_lifecycle":              {"manual", "none", "want auto or manual", "auto"},
	"server.shutdown.timeout_secs":          {"5", "0", "want 1 or more", "30"},
	"server.max_concurrent_requests":        {"-1", "0", "want 1 or more, or -1", "100"},
	"server.max_concurrent_streams":         {"5", "0", "want 1 or more, or -1", "5000"},
	"server.replay_buffer_capacity":         {"5", "0", "want 1 or more", "1024"},
	"server.sse_buffer_size":                {"5", "0", "want 1 or more", "64"},
	"server.sse_flush_window_ms":            {"20", "-1", "want a whole number, 0 or more", "0"},
	"server.a2a_agents":                     {"default", "", "", "[]"},
	"server.public_url":                     {"https://agents.example", "agents", "want a URL", `""`},
	"server.a2a_url":                        {"https://agents.example", "agents", "want a URL", `""`},
	"server.a2a_extended_card_bearer_token": {"t", "", "", `""`},
	"server.a2a_card_key_file":              {"card.pem", "", "", `""`},
	"server.mcp_agents":                     {"default", "", "", "[]"},
	"server.mcp_url":                        {"https://agents.example", "agents", "want a URL", `""`},
	"server.mcp_tools":                      {"get_*", "", "", "[]"},
	"server.mcp_tool_agent":                 {"helper", "", "", "default"},
	"server.mcp_commands":                   {"npx", "", "", "[]"},
	"server.mcp_refresh_interval":           {"1m", "-1s", "want 0 or more", "0s"},

	"server.eval_limits.max_cells_per_sync_run":      {"5", "0", "want 1 or more", "100"},
	"server.eval_limits.max_concurrent_matrix_cells": {"6", "0", "want 1 or more", "5"},
	"server.eval_limits.max_cells_per_sync_online":   {"5", "0", "want 1 or more", "10"},
	"server.eval_limits.max_concurrent_online_cells": {"6", "0", "want 1 or more", "5"},
	"server.eval_limits.max_samples_per_cell":        {"5", "0", "want 1 or more", "20"},
	"server.eval_limits.max_judge_revisions":         {"0", "-1", "want 0 or more", "3"},
	"server.eval_limits.default_import_traces_max":   {"5", "0", "want 1 or more", "50"},

	"limits.body_bytes":            {"5", "0", "want 1 or more, or -1", "20971520"},
	"limits.file_bytes":            {"5", "0", "want 1 or more, or -1", "33554432"},
	"limits.files_bytes":           {"5", "0", "want 1 or more, or -1", "10737418240"},
	"limits.json_depth":            {"5", "0", "want 1 or more, or -1", "64"},
	"limits.body_memory_bytes":     {"5", "0", "want 1 or more, or -1", "100663296"},
	"limits.body_rate_bytes":       {"5", "0", "want 1 or more, or -1", "1024"},
	"limits.body_grace":            {"7s", "0s", "want more than 0", "5s"},
	"limits.json_values":           {"5", "0", "want 1 or more, or -1", "100000"},
	"limits.header_bytes":          {"5", "0", "want 1 or more", "65536"},
	"limits.messages_per_run":      {"5", "0", "want 1 or more, or -1", "1000"},
	"limits.tools_per_run":         {"5", "0", "want 1 or more, or -1", "256"},
	"limits.schema_bytes":          {"5", "0", "want 1 or more, or -1", "262144"},
	"limits.schema_parts":          {"5", "0", "want 1 or more, or -1", "4000"},
	"limits.title_bytes":           {"5", "0", "want 1 or more, or -1", "4096"},
	"limits.metadata_bytes":        {"5", "0", "want 1 or more, or -1", "65536"},
	"limits.request_timeout":       {"5s", "0s", "want more than 0", "1m0s"},
	"limits.wait_timeout":          {"5s", "5", "want a duration such as 10s or 5m", "10m0s"},
	"limits.header_timeout":        {"5s", "0s", "want more than 0", "10s"},
	"limits.http2_streams":         {"5", "0", "want 1 or more, or -1", "250"},
	"limits.idle_timeout":          {"5s", "0s", "want more than 0", "2m0s"},
	"limits.stream_write_timeout":  {"5s", "0s", "want more than 0", "10s"},
	"limits.heartbeat_interval":    {"5s", "0s", "want more than 0", "15s"},
	"limits.tool_timeout":          {"5s", "0s", "want more than 0", "5m0s"},
	"limits.reply_bytes":           {"1048576", "0", "want 1 or more, or -1 for no limit", "16777216"},
	"limits.reply_arguments_bytes": {"-1", "0", "want 1 or more, or -1 for no limit", "4194304"},
	"limits.reply_calls":           {"8", "0", "want 1 or more, or -1 for no limit", "256"},
	"limits.key_rate":              {"0.5", "-1", "want a number, 0 or more", "0"},
	"limits.key_burst":             {"5", "-1", "want 0 or more", "0"},
	"limits.wrong_keys":            {"5", "0", "want 1 or more, or -1", "20"},
	"limits.session_timeout":       {"5m", "0s", "want more than 0", "1h0m0s"},
	"limits.session_max_time":      {"24h", "0s", "want more than 0", "12h0m0s"},

	"admin.bearer_token":         {"long-enough", "short", "want 8 characters or more, without blanks", `""`},
	"admin.cors_allowed_origins": {"https://a.example", "", "", "[http://127.0.0.1:3002, http://localhost:3002]"},
	"admin.expose_config_routes": {"false", "no", "want true or false", "true"},
	"admin.expose_trace_routes":  {"true", "no", "want true or false", "false"},
	"admin.expose_eval_routes":   {"false", "no", "want true or false", "true"},

	"traces.bodies":      {"errors", "some", "want off, errors, sample or all", "off"},
	"traces.body_sample": {"0.5", "2", "want 0 to 1", "0.01"},
	"traces.body_bytes":  {"2048", "5", "want 1024 or more", "262144"},

	"audit.enabled":             {"false", "no", "want true or false", "true"},
	"registry.retention_days":   {"0", "-1", "want a whole number, 0 or more", "90"},
	"audit.retention_days":      {"0", "-1", "want a whole number, 0 or more", "90"},
	"audit.sweep_interval_secs": {"60", "0", "want 1 or more", "3600"},

	"providers.key_dir":       {"keys", "", "", `""`},
	"providers.env_key_hosts": {"proxy.example", "", "", "[]"},

	"secrets.key":      {"k", "", "", `""`},
	"secrets.key_file": {"k.key", "", "", `""`},

	"mailbox.concurrency":                   {"5", "0", "want 1 or more", "256"},
	"mailbox.consumer":                      {"me", "", "", `""`},
	"mailbox.lease_ms":                      {"20000", "0", "want 1 or more", "30000"},
	"mailbox.liveness_ms":                   {"6000", "0", "want 1 or more", "4000"},
	"mailbox.lease_renewal_interval":        {"5s", "0s", "want more than 0", "10s"},
	"mailbox.poll_interval":                 {"5s", "0s", "want more than 0", "1s"},
	"mailbox.gc_interval":                   {"5s", "0s", "want more than 0", "1m0s"},
	"mailbox.upload_ttl":                    {"5s", "0s", "want more than 0", "24h0m0s"},
	"mailbox.gc_ttl":                        {"5s", "0s", "want more than 0", "24h0m0s"},
	"mailbox.default_max_attempts":          {"6", "0", "want 1 or more", "5"},
	"mailbox.suspended_lease_ms":            {"6", "0", "want 1 or more", "600000"},
	"mailbox.sweep_interval":                {"5s", "0s", "want more than 0", "30s"},
	"mailbox.default_retry_delay_ms":        {"6", "0", "want 1 or more", "250"},
	"mailbox.max_retry_delay_ms":            {"6", "0", "want 1 or more", "30000"},
	"mailbox.startup_delay":                 {"5s", "-1s", "want 0 or more", "0s"},
	"mailbox.startup_recovery.max_attempts": {"3", "-1", "want 0 or more", "1"},
	"mailbox.startup_recovery.retry_delay":  {"5s", "0s", "want more than 0", "250ms"},

	"storage_dir":             {"/tmp/x", " ", "want a name", ".awaken"},
	"database_url":            {"postgres://h/d", "mysql://h/d", "want postgres://user:password@host/database", `""`},
	"nats.url":                {"nats://a:4222,tls://b:4222", "http://h", "want nats://host:4222", `""`},
	"nats.subject":            {"awaken.staging", "awaken.>", "want words of letters", `""`},
	"nats.credentials_file":   {"u.creds", "", "", `""`},
	"nats.ca_file":            {"ca.pem", "", "", `""`},
	"nats.cert_file":          {"c.pem", "", "", `""`},
	"nats.key_file":           {"k.pem", "", "", `""`},
	"seed_profile":            {"demo", "full", "want minimal or demo", "minimal"},
	"config_dir":              {"documents", "", "", `""`},
	"agents_file":             {"a.yaml", "", "", `""`},
	"agent.model":             {"m", "", "", `""`},
	"agent.system_prompt":     {"s", "", "", `""`},
	"agent.max_rounds":        {"5", "0", "want 1 or more", "0"},
	"agent.reasoning_effort":  {"high", "huge", "want none, low, medium, high, max", `""`},
	"openai.base_url":         {"http://h/v1", "h", "want a URL", `""`},
	"openai.api_key":          {"k", "", "", `""`},
	"budget.enabled":          {"true", "no", "want true or false", "false"},
	"budget.tenant_usd":       {"1.5", "-1", "want a number, 0 or more", "0"},
	"budget.unpriced":         {"allow", "maybe", "want refuse or allow", "refuse"},
	"skills.dirs":             {"skills", "", "", "[]"},
	"skills.poll_interval":    {"5s", "0s", "want more than 0", "2s"},
	"skills.scripts":          {"true", "yes", "want true or false", "false"},
	"skills.script_env":       {"TZ", "", "", "[]"},
	"workspace.dir":           {"desks", "", "", `""`},
	"workspace.scope":         {"tenant", "planet", "want thread, user, tenant or all", "thread"},
	"workspace.max_files":     {"10", "-1", "want 0 or more", "20000"},
	"workspace.max_bytes":     {"1000", "-1", "want 0 or more", "268435456"},
	"workspace.shell":         {"true", "yes", "want true or false", "false"},
	"workspace.shell_network": {"true", "yes", "want true or false", "false"},
	"workspace.shell_env":     {"TZ", "", "", "[]"},
	"outbound.allow":          {"10.0.0.0/8", "ten", "want networks such as 10.0.0.0/8", "[]"},
	"outbound.tenants_allow":  {"10.0.0.0/8", "ten", "want networks such as 10.0.0.0/8", "[]"},
	"log.level":               {"debug", "loud", "want debug, info, warn or error", "info"},
	"log.format":              {"json", "xml", "want text or json", "text"},
	"retention.threads_days":  {"30", "-1", "want a whole number, 0 or more", "0"},
	"agent.mcp_command":       {"awaken mcp-demo", "", "", `""`},
}

// A new setting needs a case.
func TestSettings_HaveDefaultsAndRejectInvalidValues(t *testing.T) {
	for _, v := range Defaults().Values() {
		c, ok := cases[v.Name]
		if !ok {
			t.Errorf("%s has no case", v.Name)
			continue
		}
		if got := v.String(); got != c.def {
			t.Errorf("%s is %s, want %s", v.Name, got, c.def)
		}
		s, err := Load(Sources{File: write(t, ""), Env: []string{v.Env + "=" + c.good}})
		if err != nil {
			t.Errorf("%s: %v", v.Name, err)
			continue
		}
		if now := s.find(v.Name); now.Source != v.Env || now.String() == c.def {
			t.Errorf("%s is %s, from %s, after %s", v.Name, now, now.Source, c.good)
		}
		if c.bad == "" {
			continue
		}
		if _, err := Load(Sources{File: write(t, ""), Env: []string{v.Env + "=" + c.bad}}); err == nil || !strings.Contains(err.Error(), c.want) || !strings.HasPrefix(err.Error(), v.Env+" is ") {
			t.Errorf("%s: error is %v, want %s", v.Name, err, c.want)
		}
	}
	if n := len(Defaults().Values()); len(cases) != n {
		t.Errorf("there are %d cases and %d settings", len(cases), n)
	}
}
