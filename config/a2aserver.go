package config

import (
	"encoding/json"
	"strings"

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

func (s *A2AServerSpec) fill() {
	if s.TimeoutMS == 0 {
		s.TimeoutMS = 10_000
	}
}

// Validate reports every mistake at once.
func (s *A2AServerSpec) Validate() error {
	var m mistakes
	if strings.TrimSpace(s.ID) == "" {
		m.add("id is empty")
	}
	m.url("base_url", s.BaseURL)
	m.auth("auth", s.Auth)
	if s.TimeoutMS < 0 || s.TimeoutMS > 30_000 {
		m.add("timeout_ms is %d, want 1 to 30000", s.TimeoutMS)
	}
	return m.join()
}

// keepAuth keeps the auth of a document that says nothing about it, and the token of one
// that says nothing about that.
func keepAuth(tree, stored map[string]any) {
	keepAbsent(tree, stored, "auth")
	now, _ := tree["auth"].(map[string]any)
	before, _ := stored["auth"].(map[string]any)
	if now != nil && before != nil {
		keepAbsent(now, before, "token")
	}
}
