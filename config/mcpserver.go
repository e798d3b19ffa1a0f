package config

import (
	"cmp"
	"encoding/json"
	"maps"
	"slices"
	"strings"

	"github.com/awaken-go/awaken"
)

// MCPServerSpec is an MCP server whose tools agents can use, as mcp__<id>__<tool>.
type MCPServerSpec struct {
	// ID is 1 to 64 letters, digits, - and _, without __.
	ID string `json:"id"`
	// Transport is stdio, which starts Command, or http, which asks URL.
	Transport string `json:"transport"`
	// Command is the program to start, with Args.
	Command string   `json:"command,omitempty"`
	Args    []string `json:"args,omitempty"`
	// URL is where the server is.
	URL string `json:"url,omitempty"`
	// Config is the server's own. Values whose name says that they are secret, and headers,
	// are kept as secrets.
	Config map[string]json.RawMessage `json:"config,omitempty"`
	// TimeoutSecs is how long a call may take. 0 means 30.
	TimeoutSecs int `json:"timeout_secs,omitempty"`
	// Env is the environment of the program. Its values are kept as secrets.
	Env map[string]awaken.Secret `json:"env,omitempty"`
	// RestartPolicy is what happens when the server goes away. Nil does not restart it.
	RestartPolicy *RestartPolicy `json:"restart_policy,omitempty"`
}

// RestartPolicy is what happens when a server goes away.
type RestartPolicy struct {
	// Enabled says whether to connect again.
	Enabled bool `json:"enabled"`
	// MaxAttempts is how often to try. Nil tries for ever.
	MaxAttempts *int `json:"max_attempts,omitempty"`
	// DelayMS is how long to wait before the first attempt. 0 means 1000.
	DelayMS int64 `json:"delay_ms,omitempty"`
	// BackoffMultiplier is how much longer to wait each time. 0 means 2.
	BackoffMultiplier float64 `json:"backoff_multiplier,omitempty"`
	// MaxDelayMS is how long to wait at most. 0 means 30 000.
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
	m.id(s.ID)
	switch s.Transport {
	case "stdio":
		m.when(blank(s.Command), "command is empty, which transport stdio needs")
		m.when(s.URL != "", "url is set, which transport stdio has no use for")
	case "http":
		if s.URL == "" {
			m.add("url is empty, which transport http needs")
		} else {
			m.url("url", s.URL)
		}
		m.when(s.Command != "" || len(s.Args) > 0, "command or args are set, which transport http has no use for")
	default:
		m.add("transport is %q, want stdio or http", s.Transport)
	}
	m.when(s.TimeoutSecs < 0, "timeout_secs is %d, want more than 0", s.TimeoutSecs)
	for _, name := range slices.Sorted(maps.Keys(s.Env)) {
		m.when(name == "" || strings.ContainsAny(name, "=\x00"), "env has the name %q, want one without =", name)
	}
	if r := s.RestartPolicy; r != nil {
		if r.MaxAttempts != nil && *r.MaxAttempts < 0 {
			m.add("restart_policy.max_attempts is %d, want 0 or more, or null for no limit", *r.MaxAttempts)
		}
		m.when(r.DelayMS < 0, "restart_policy.delay_ms is %d, want more than 0", r.DelayMS)
		m.when(r.BackoffMultiplier != 0 && r.BackoffMultiplier < 1, "restart_policy.backoff_multiplier is %g, want 1 or more", r.BackoffMultiplier)
		m.when(r.MaxDelayMS < 0 || r.MaxDelayMS > 0 && r.MaxDelayMS < r.DelayMS, "restart_policy.max_delay_ms is %d, want at least delay_ms (%d)", r.MaxDelayMS, r.DelayMS)
	}
	return m.join()
}

// dropNullEnv leaves out the variables that are null.
func dropNullEnv(tree, _ map[string]any) {
	if env, ok := tree["env"].(map[string]any); ok {
		maps.DeleteFunc(env, func(_ string, v any) bool { return v == nil })
	}
}

// showEnv names the variables.
func showEnv(tree map[string]any) {
	env, _ := tree["env"].(map[string]any)
	names := []any{}
	for _, name := range slices.Sorted(maps.Keys(env)) {
		names = append(names, name)
	}
	tree["env_keys"] = names
}
