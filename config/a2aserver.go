package config

import (
	"cmp"
	"encoding/json"

	"github.com/awaken-go/awaken"
)

// A2AServerSpec is a server whose agents can be delegates.
type A2AServerSpec struct {
	// ID is what agents call it, and what comes before the / of its agents' ids.
	ID string `json:"id"`
	// BaseURL is the root of the server's A2A interface.
	BaseURL string `json:"base_url"`
	// Auth is how the server is told who calls. Its token is kept as a secret.
	Auth *awaken.RemoteAuth `json:"auth,omitempty"`
	// Target is the agent, if the server has more than one.
	Target string `json:"target,omitempty"`
	// TimeoutMS is how long the server may take to say what it is, 1 to 30 000. 0 means
	// 10 000.
	TimeoutMS int64 `json:"timeout_ms,omitempty"`
	// Options are the server's own.
	Options map[string]json.RawMessage `json:"options,omitempty"`
}

func (s *A2AServerSpec) fill() { s.TimeoutMS = cmp.Or(s.TimeoutMS, 10_000) }

// Validate reports every mistake at once.
func (s *A2AServerSpec) Validate() error {
	var m mistakes
	m.id(s.ID)
	m.url("base_url", s.BaseURL)
	m.auth("auth", s.Auth)
	m.when(s.TimeoutMS < 0 || s.TimeoutMS > 30_000, "timeout_ms is %d, want 1 to 30000", s.TimeoutMS)
	return m.join()
}

// keepToken keeps the token of an auth that says nothing about it.
func keepToken(tree, stored map[string]any) {
	now, _ := tree["auth"].(map[string]any)
	before, _ := stored["auth"].(map[string]any)
	if now != nil && before != nil {
		keepAbsent(now, before, "token")
	}
}
