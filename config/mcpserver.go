package config

import (
	"cmp"
	"encoding/json"
	"maps"
	"slices"
	"strings"

	"github.com/awaken-go/awaken"
)

// MCPServerSpec describes an MCP server. Agents can use its tools as mcp__<id>__<tool>.
type MCPServerSpec struct {
	// ID is the server's name: 1 to 64 letters, digits, - and _, without __.
	ID string `json:"id"`
	// Transport is stdio, which starts Command, http, which connects to URL, or sse, which does
	// so as the revision 2024-11-05 of the protocol says.
	Transport string `json:"transport"`
	// Command is the program to start. Only for stdio.
	Command string `json:"command,omitempty"`
	// Args are the arguments of the program.
	Args []string `json:"args,omitempty"`
	// URL is the address of the server. Only for http and sse.
	URL string `json:"url,omitempty"`
	// Auth says how to authorize the server. Only for http and sse. Nil means that it needs no authorization, or has it
	// in the headers of Config.
	Auth *MCPAuth `json:"auth,omitempty"`
	// Config holds options of the connection: headers, inherit_env, roots, max_result_bytes,
	// sampling, trust_changes, trust_hints, tools and in_doubt. Headers, and values whose names suggest a secret, are stored as secrets.
	Config map[string]json.RawMessage `json:"config,omitempty"`
	// TimeoutSecs limits how long a tool call may take, in seconds. 0 means 30.
	TimeoutSecs int `json:"timeout_secs,omitempty"`
	// Env holds environment variables for the program. Their values are stored as secrets.
	Env map[string]awaken.Secret `json:"env,omitempty"`
	// RestartPolicy says whether and how to reconnect when the connection is lost. Nil tries again
	// for ever.
	RestartPolicy *RestartPolicy `json:"restart_policy,omitempty"`
}

// MCPAuth says how to authorize an MCP server.
type MCPAuth struct {
	// Type is oauth.
	Type string `json:"type"`
	// Grant says whose authorization is used: user, that of the user whose run calls the server; server, one that an
	// administrator gives for all; client_credentials, the client's own. "" means user.
	Grant string `json:"grant,omitempty"`
	// ClientID is what the authorization server knows this server by. "" uses the client ID metadata document or registers
	// a client, whichever the authorization server supports.
	ClientID string `json:"client_id,omitempty"`
	// ClientSecret is the secret of ClientID, if it has one. It is stored as a secret, and needs Issuer.
	ClientSecret awaken.Secret `json:"client_secret,omitzero"`
	// Scopes are what to ask for. Without any, it is what the MCP server says that it needs.
	Scopes []string `json:"scopes,omitempty"`
	// Issuer is the authorization server to use, one of those that the MCP server names. "" means the first. It is required with
	// ClientSecret, which is sent to no other.
	Issuer string `json:"issuer,omitempty"`
}

// check reports mistakes.
func (a *MCPAuth) check(m *mistakes) {
	m.When(a.Type != "oauth", "auth.type is %q, want oauth", a.Type)
	switch a.Grant {
	case "", "user", "server":
	case "client_credentials":
		m.When(a.ClientID == "" || a.ClientSecret.IsZero(), "auth.grant is client_credentials, but auth.client_id or auth.client_secret is empty")
	default:
		m.Add("auth.grant is %q, want user, server or client_credentials", a.Grant)
	}
	m.When(a.ClientID == "" && !a.ClientSecret.IsZero(), "auth.client_secret is set, but auth.client_id is empty")
	for _, s := range a.Scopes {
		m.When(s == "" || strings.ContainsAny(s, " \t\n\"\\"), "auth.scopes has %q, want a word without spaces and quotes", s)
	}
	if a.Issuer != "" {
		m.url("auth.issuer", a.Issuer)
	}
}

// RestartPolicy says whether and how to reconnect to a server.
type RestartPolicy struct {
	// Enabled turns reconnecting on.
	Enabled bool `json:"enabled"`
	// MaxAttempts limits the attempts. Nil means no limit.
	MaxAttempts *int `json:"max_attempts,omitempty"`
	// DelayMS is the wait before the first attempt, in milliseconds. 0 means 1,000.
	DelayMS int64 `json:"delay_ms,omitempty"`
	// BackoffMultiplier is the factor by which the wait grows after each attempt. 0 means
	// 2.
	BackoffMultiplier float64 `json:"backoff_multiplier,omitempty"`
	// MaxDelayMS limits the wait between attempts, in milliseconds. 0 means 30,000.
	MaxDelayMS int64 `json:"max_delay_ms,omitempty"`
}

func (s *MCPServerSpec) fill() {
	s.TimeoutSecs = cmp.Or(s.TimeoutSecs, 30)
	if r := s.RestartPolicy; r != nil {
		r.DelayMS = cmp.Or(r.DelayMS, 1000)
		r.BackoffMultiplier = cmp.Or(r.BackoffMultiplier, 2)
		r.MaxDelayMS = cmp.Or(r.MaxDelayMS, 30_000)
	}
}

// Validate reports every mistake at once.
func (s *MCPServerSpec) Validate() error {
	var m mistakes
	m.NotBlank("id", s.ID)
	switch s.Transport {
	case "stdio":
		m.When(blank(s.Command), "command is empty, but transport stdio needs it")
		m.When(s.URL != "", "url is set, but transport stdio does not use it")
	case "http", "sse":
		if s.URL == "" {
			m.Add("url is empty, but transport %s needs it", s.Transport)
		} else {
			m.url("url", s.URL)
		}
		m.When(s.Command != "" || len(s.Args) > 0, "command or args are set, but transport %s does not use them", s.Transport)
	default:
		m.Add("transport is %q, want stdio, http or sse", s.Transport)
	}
	if s.Auth != nil {
		m.When(s.Transport == "stdio", "auth is set, but transport stdio does not use it")
		s.Auth.check(&m)
	}
	m.When(s.TimeoutSecs < 0, "timeout_secs is %d, want more than 0", s.TimeoutSecs)
	for _, name := range slices.Sorted(maps.Keys(s.Env)) {
		m.When(name == "" || strings.ContainsAny(name, "=\x00"), "env has the variable name %q, want one without =", name)
	}
	if r := s.RestartPolicy; r != nil {
		if r.MaxAttempts != nil && *r.MaxAttempts < 0 {
			m.Add("restart_policy.max_attempts is %d, want 0 or more, or null for no limit", *r.MaxAttempts)
		}
		m.When(r.DelayMS < 0, "restart_policy.delay_ms is %d, want more than 0", r.DelayMS)
		m.When(r.BackoffMultiplier != 0 && r.BackoffMultiplier < 1, "restart_policy.backoff_multiplier is %g, want 1 or more", r.BackoffMultiplier)
		m.When(r.MaxDelayMS < 0 || r.MaxDelayMS > 0 && r.MaxDelayMS < r.DelayMS, "restart_policy.max_delay_ms is %d, want at least delay_ms (%d)", r.MaxDelayMS, r.DelayMS)
	}
	return m.Err()
}

// dropNullEnv removes variables that are null.
func dropNullEnv(tree, _ map[string]any) {
	if env, ok := tree["env"].(map[string]any); ok {
		maps.DeleteFunc(env, func(_ string, v any) bool { return v == nil })
	}
}

// showEnv lists the names of the variables.
func showEnv(tree map[string]any) {
	env, _ := tree["env"].(map[string]any)
	names := []any{}
	for _, name := range slices.Sorted(maps.Keys(env)) {
		names = append(names, name)
	}
	tree["env_keys"] = names
}
