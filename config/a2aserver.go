package config

import (
	"cmp"
	"encoding/json"

	"github.com/awaken-go/awaken"
)

// A2AServerSpec describes an A2A server whose agents can be run here, and be delegates.
type A2AServerSpec struct {
	// ID is the server's name. Its agents are addressed as <id>/<agent>.
	ID string `json:"id"`
	// BaseURL is the root URL of the server's A2A interface.
	BaseURL string `json:"base_url"`
	// Auth holds the credentials for the server. Tokens are stored as secrets.
	Auth *awaken.RemoteAuth `json:"auth,omitempty"`
	// Target is the agent to use, if the server offers several. It makes the agent
	// <id>/<target>; other agents of the server exist if an agent delegates to them.
	Target string `json:"target,omitempty"`
	// TimeoutMS limits how long the server may take to return its agent card, in
	// milliseconds, 1 to 30,000. 0 means 10,000.
	TimeoutMS int64 `json:"timeout_ms,omitempty"`
	// Options are those of the endpoints of its agents; see the guide on A2A. Headers, and
	// values whose names suggest a secret, are stored as secrets.
	Options map[string]json.RawMessage `json:"options,omitempty"`
}

func (s *A2AServerSpec) fill() { s.TimeoutMS = cmp.Or(s.TimeoutMS, 10_000) }

// Validate reports every mistake at once.
func (s *A2AServerSpec) Validate() error {
	var m mistakes
	m.NotBlank("id", s.ID)
	m.url("base_url", s.BaseURL)
	m.auth("auth", s.Auth)
	m.When(s.TimeoutMS < 0 || s.TimeoutMS > 30_000, "timeout_ms is %d, want 1 to 30000", s.TimeoutMS)
	return m.Err()
}

// keepToken keeps the stored secrets of an auth that omits them.
func keepToken(tree, stored map[string]any) {
	now, _ := tree["auth"].(map[string]any)
	before, _ := stored["auth"].(map[string]any)
	if now != nil && before != nil && text(now, "type") == text(before, "type") {
		keepAbsent(now, before, "token")
		keepAbsent(now, before, "client_secret")
	}
}
