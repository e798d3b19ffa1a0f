package mcp

import (
	"cmp"
	"crypto/rand"
	"fmt"
	"net/http"

	"github.com/awaken-go/awaken"
	"github.com/awaken-go/awaken/internal/glob"
	"github.com/awaken-go/awaken/protocol"
	"github.com/awaken-go/awaken/server/access/permit"
)

// Config configures the protocol. The zero Config exposes every agent and no other tools.
type Config struct {
	// Agents are the ids of the agents that clients may use. An empty list means all. The others do not show.
	Agents []string
	// Tools are patterns of the ids of tools that clients may call without an agent's model. They are tools of
	// ToolAgent, whose catalogue, plugins and permissions apply. "" means the agent default.
	Tools     []string
	ToolAgent string
	// Resources and Prompts, if not nil, are offered beside threads and runs.
	Resources Resources
	Prompts   Prompts
	// Levels, if not nil, lets sessions set the level of the messages that calls send.
	Levels Levels
	// RequireKey says that clients need a key or a token. Then there is metadata that says how they get one: from
	// Issuer, if it is set. URL is the address of the server in it; "" means the host that a request names.
	RequireKey  bool
	Issuer, URL string
	// Version is the version of the program.
	Version string
	// Key signs the ids of sessions and the state of requests. Replicas have the same. "" makes one, for
	// a single process.
	Key awaken.Secret

	signer   *signer
	patterns []*glob.Pattern // of Tools
}

const events = "JSON-RPC messages of MCP: notifications, requests and the response"

var headers = []protocol.Param{
	{Name: "MCP-Protocol-Version", Kind: "string", Doc: "revision of the protocol, such as " + modern},
	{Name: "Mcp-Session-Id", Kind: "string", Doc: "session, of revisions up to " + legacy},
	{Name: "Mcp-Method", Kind: "string", Doc: "the method, since " + modern},
	{Name: "Mcp-Name", Kind: "string", Doc: "the name of the tool, since " + modern},
	{Name: "Last-Event-ID", Kind: "string", Doc: "resume after this frame, in revisions up to " + legacy},
}

// Routes returns the routes that a server mounts.
func Routes(cfg Config) ([]protocol.Route, error) {
	if !cfg.Key.IsZero() && len(cfg.Key.Expose()) < 32 {
		return nil, fmt.Errorf("mcp: the key is %d bytes long, want 32 or more", len(cfg.Key.Expose()))
	}
	cfg.signer = &signer{[]byte(cfg.Key.Expose())}
	if cfg.Key.IsZero() {
		cfg.signer.key = []byte(rand.Text() + rand.Text())
	}
	for _, text := range cfg.Tools {
		p, err := glob.Compile(text)
		if err != nil {
			return nil, fmt.Errorf("mcp: tools: %.80q: %w", text, err)
		}
		cfg.patterns = append(cfg.patterns, p)
	}
	cfg.ToolAgent = cmp.Or(cfg.ToolAgent, "default")
	c := &cfg
	on := func(handle func(*exchange) error) func(protocol.Call) error {
		return func(call protocol.Call) error { return handle(&exchange{Call: call, cfg: c}) }
	}
	post := protocol.Route{Method: http.MethodPost, Path: "/v1/mcp", Needs: permit.StartRuns, Scope: protocol.ByCaller, Handle: on((*exchange).post),
		Summary: "Answer a message of MCP", Headers: headers, Body: message{}, Replies: map[int]any{200: response{}, 202: nil}, Failures: []int{400, 404}, Stream: true, Events: events, Errors: fail}
	get := post
	get.Method, get.Handle, get.Summary, get.Body = http.MethodGet, on((*exchange).resume), "Resume the stream of a call after a frame (Last-Event-ID)", nil
	get.Replies, get.Failures = map[int]any{200: nil}, []int{400, 404, 405, 410}
	if !cfg.RequireKey {
		return []protocol.Route{post, get}, nil
	}
	post.Challenge, get.Challenge = c.challenge, c.challenge
	return append([]protocol.Route{post, get}, c.metadataRoutes()...), nil
}
