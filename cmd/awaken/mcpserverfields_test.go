package main

import (
	"encoding/json"
	"path/filepath"
	"reflect"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/awaken-go/awaken"
	"github.com/awaken-go/awaken/config"
	"github.com/awaken-go/awaken/internal/sectiontest"
	"github.com/awaken-go/awaken/plugin/mcp"
	"github.com/awaken-go/awaken/plugin/mcp/oauth"
)

// Every field of an MCP server's document, and every option in its config, has its effect on the server that is
// connected.
func TestMCPServers_UseEveryField(t *testing.T) {
	t.Parallel()
	m := &mcpServers{commands: []string{"prog"}, dir: t.TempDir(), broker: &oauth.Broker{}}
	read := func(doc string) mcp.Server {
		t.Helper()
		var spec config.MCPServerSpec
		if err := json.Unmarshal([]byte(doc), &spec); err != nil {
			t.Fatalf("%s: %v", doc, err)
		}
		if err := spec.Validate(); err != nil {
			t.Fatalf("%s: %v", doc, err)
		}
		s, err := m.server(&spec)
		if err != nil {
			t.Fatalf("%s: %v", doc, err)
		}
		if err := s.Validate(); err != nil {
			t.Fatalf("%s: %v", doc, err)
		}
		return s
	}
	const program, address = `{"id":"x","transport":"stdio","command":"prog"`, `{"id":"x","transport":"http","url":"https://h"`
	var docs []string
	options := map[string]bool{}
	for _, tt := range []struct {
		base, doc string
		change    func(s *mcp.Server) // what the document makes of the base
	}{
		{program, `{"id":"y","transport":"stdio","command":"prog"}`, func(s *mcp.Server) { s.ID, s.Dir = "y", filepath.Join(m.dir, "y") }},
		{program, program + `,"args":["a","b"]}`, func(s *mcp.Server) { s.Args = []string{"a", "b"} }},
		{program, program + `,"env":{"A":"b"}}`, func(s *mcp.Server) { s.Env = map[string]awaken.Secret{"A": awaken.NewSecret("b")} }},
		{program, program + `,"timeout_secs":7}`, func(s *mcp.Server) { s.Timeout = 7 * time.Second }},
		{program, program + `,"restart_policy":{"enabled":false}}`, func(s *mcp.Server) { s.Restart = mcp.Restart{Never: true, MaxAttempts: -1} }},
		{program, program + `,"restart_policy":{"enabled":true,"delay_ms":5,"backoff_multiplier":3,"max_delay_ms":50}}`, func(s *mcp.Server) {
			s.Restart = mcp.Restart{MaxAttempts: -1, Delay: 5 * time.Millisecond, Factor: 3, MaxDelay: 50 * time.Millisecond}
		}},
		{program, program + `,"restart_policy":{"enabled":true,"max_attempts":2}}`, func(s *mcp.Server) { s.Restart = mcp.Restart{MaxAttempts: 2} }},
		{program, program + `,"restart_policy":{"enabled":true,"max_attempts":0}}`, func(s *mcp.Server) { s.Restart = mcp.Restart{Never: true} }},
		{program, program + `,"config":{"inherit_env":["B"]}}`, func(s *mcp.Server) { s.Inherit = slices.Concat(mcp.DefaultInherit, []string{"B"}) }},
		{program, program + `,"config":{"roots":["file:///srv"]}}`, func(s *mcp.Server) { s.Roots = []string{"file:///srv"} }},
		{program, program + `,"config":{"max_result_bytes":9}}`, func(s *mcp.Server) { s.MaxResult = 9 }},
		{program, program + `,"config":{"trust_changes":true}}`, func(s *mcp.Server) { s.TrustChanges = true }},
		{program, program + `,"config":{"trust_hints":true}}`, func(s *mcp.Server) { s.TrustHints = true }},
		{program, program + `,"config":{"tools":{"a":{"effect":"effectful"},"b":{"effect":"read_only"}}}}`, func(s *mcp.Server) {
			s.Effects = map[string]awaken.EffectClass{"a": awaken.Effectful, "b": awaken.ReadOnly}
		}},
		{program, program + `,"config":{"in_doubt":"suspend"}}`, func(s *mcp.Server) { s.InDoubt = awaken.DoubtSuspend }},
		{program, program + `,"config":{"sampling":{"agent":"a"}}}`, func(s *mcp.Server) { s.Sampling = &mcp.Sampling{Agent: "a", Ask: true} }},
		{program, program + `,"config":{"sampling":{"agent":"a","ask":false,"max_per_call":3}}}`, func(s *mcp.Server) { s.Sampling = &mcp.Sampling{Agent: "a", MaxPerCall: 3} }},
		{address, `{"id":"x","transport":"http","url":"https://other"}`, func(s *mcp.Server) { s.URL = "https://other" }},
		{address, `{"id":"x","transport":"sse","url":"https://h"}`, func(s *mcp.Server) { s.SSE = true }},
		{address, address + `,"config":{"headers":{"X-Key":"k"}}}`, func(s *mcp.Server) { s.Headers = map[string]awaken.Secret{"X-Key": awaken.NewSecret("k")} }},
		{address, address + `,"auth":{"type":"oauth"}}`, func(s *mcp.Server) { s.OAuth = &oauth.Client{} }},
		{address, address + `,"auth":{"type":"oauth","grant":"client_credentials","client_id":"c","client_secret":"s","scopes":["r","w"],"issuer":"https://i"}}`, func(s *mcp.Server) {
			s.OAuth = &oauth.Client{Grant: oauth.ClientCredentials, ID: "c", Secret: awaken.NewSecret("s"), Scopes: []string{"r", "w"}, Issuer: "https://i"}
		}},
	} {
		docs = append(docs, tt.doc)
		want := read(tt.base + "}")
		tt.change(&want)
		if got := read(tt.doc); !reflect.DeepEqual(got, want) {
			t.Errorf("%s: the server is %+v, want %+v", tt.doc, got, want)
		}
		var spec config.MCPServerSpec
		if err := json.Unmarshal([]byte(tt.doc), &spec); err != nil {
			t.Fatal(err)
		}
		for name := range spec.Config {
			options[name] = true
		}
	}
	sectiontest.Covers[config.MCPServerSpec](t, docs...)
	_, err := m.server(&config.MCPServerSpec{Config: map[string]json.RawMessage{"?": nil}})
	if err == nil {
		t.Fatal("an unknown option is accepted")
	}
	_, known, _ := strings.Cut(err.Error(), "want ")
	for name := range strings.SplitSeq(known, ", ") {
		if !options[name] {
			t.Errorf("no case covers the option %s", name)
		}
	}
}
