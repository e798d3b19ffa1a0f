package toolname_test

import (
	"context"
	"encoding/json"
	"fmt"
	"net/http"
	"slices"
	"strings"
	"testing"

	"github.com/awaken-go/awaken"
	"github.com/awaken-go/awaken/engine"
	"github.com/awaken-go/awaken/internal/testenv"
	"github.com/awaken-go/awaken/llm"
	"github.com/awaken-go/awaken/llm/llmtest"
	"github.com/awaken-go/awaken/plugin/delegate"
	"github.com/awaken-go/awaken/plugin/mcp"
	"github.com/awaken-go/awaken/plugin/permission"
	"github.com/awaken-go/awaken/registry"
	"github.com/awaken-go/awaken/store/memory"
)

// target is a tool of the corpus, with ways to write a rule for it.
type target struct {
	id, args string
	arrival  string // its key among the arrivals
	names    []string
	patterns []string // with * and arguments
}

func (c *target) ways() []string { return slices.Concat(c.names, c.patterns) }

// ofServer returns the target of a tool of an MCP server.
func ofServer(spec *awaken.ToolSpec) *target {
	s, n := spec.Metadata["mcp.server"].(string), spec.Metadata["mcp.tool"].(string)
	half := n[:len(n)/2+1]
	return &target{id: spec.ID, args: "{}", arrival: s + " " + n,
		names: []string{"mcp__" + s + "__" + n, n, s + "/" + n, spec.ID, s + "." + n, "mcp:" + s + "/" + n, s + "__" + n, s + ":" + n,
			strings.ReplaceAll("mcp__"+s+"__"+n, "-", "_"), strings.ReplaceAll(n, "-", "_")},
		patterns: []string{"mcp__" + s + "__" + half + "*", half + "*", n + "(*)", spec.ID + "(*)", "/^mcp__" + s + "__" + n + "$/", s + "/*", "/^" + n + "$/", "mcp__" + s + "__" + n + "(*)",
			s + "." + half + "*", "mcp__*__" + n, spec.ID[:len(spec.ID)-1] + "?", "/" + n + "/(*)"}}
}

// world has the tools of the corpus: of MCP servers, of the program, and agents elsewhere.
type world struct {
	arrivals
	cfg     engine.Config
	targets []*target
}

func newWorld(t *testing.T, servers func(*testing.T, *arrivals) []mcp.Server) *world {
	w := &world{arrivals: arrivals{count: map[string]int{}}}
	tools, err := mcp.New(mcp.Config{Servers: servers(t, &w.arrivals), Options: mcp.Options{Client: &http.Client{}}})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = tools.Close() })
	if err := tools.Ready(t.Context()); err != nil {
		t.Fatal(err)
	}
	w.cfg = engine.Config{Store: memory.New(), Providers: map[string]llm.Model{"p": llmtest.Demo()}, Models: []awaken.ModelSpec{{ID: "m", ProviderID: "p", UpstreamModel: "m"}},
		Plugins: []awaken.Plugin{permission.New(permission.Config{}), delegate.New(delegate.Options{}), tools}, Backends: map[string]registry.RemoteBackend{"far": elsewhere{&w.arrivals}}}
	for server := range packages {
		for _, tool := range tools.Connection(server).Tools() {
			if spec := tool.Spec(); spec.Metadata["mcp.tool"] != nil { // not those for resources and prompts
				w.targets = append(w.targets, ofServer(&spec))
			}
		}
	}
	for _, id := range []string{"transfer_money", "send.mail", "shell", "delete-user"} {
		w.cfg.Tools = append(w.cfg.Tools, awaken.NewTool(awaken.ToolSpec{ID: id, Aliases: []string{"legacy/" + id}}, func(context.Context, *awaken.ToolCall, struct{}) (string, error) {
			w.add("go " + id)
			return "called", nil
		}))
		w.targets = append(w.targets, &target{id: id, args: "{}", arrival: "go " + id, names: []string{id, "legacy/" + id},
			patterns: []string{id + "(*)", id[:4] + "*", "legacy/*", "/^" + id + "$/", "legacy/" + id + "(*)"}})
	}
	for _, id := range []string{"researcher", "peer-writer", "payer"} {
		w.cfg.Agents = append(w.cfg.Agents, &awaken.AgentSpec{ID: id, Endpoint: &awaken.RemoteEndpoint{Backend: "far", BaseURL: "there"}})
		w.targets = append(w.targets, &target{id: "agent_run_" + id, args: `{"prompt":"go"}`, arrival: "agent " + id, names: []string{"agent_run_" + id, "agent:" + id, "agent/" + id, id},
			patterns: []string{"agent_run_" + id + "(*)", "agent_run_" + id[:3] + "*", "agent:*", id + "(*)", "/^" + id + "$/"}})
	}
	return w
}

// agent adds an agent that has all tools, except for what it is denied.
func (w *world) agent(id, rule string, excluded, patterns []string) string {
	spec := &awaken.AgentSpec{ID: id, ModelID: "m", PluginIDs: []string{permission.Name, mcp.PluginID}, Delegates: []string{"researcher", "peer-writer", "payer"},
		ExcludedTools: excluded, ExcludedToolPatterns: patterns}
	section := permission.Config{DefaultBehavior: permission.Allow, OnDeny: permission.DenyError, Rules: []permission.Rule{}}
	if rule != "" {
		section.Rules = append(section.Rules, permission.Rule{Tool: rule, Behavior: permission.Deny})
	}
	data, _ := json.Marshal(section)
	spec.Sections = map[string]json.RawMessage{permission.Name: data}
	w.cfg.Agents = append(w.cfg.Agents, spec)
	return id
}

// ban is a tool that an agent must not call.
type ban struct {
	agent, how string
	*target
}

// What is denied is never called, however the rule or the list names the tool: by its id, by the name that its server has
// for it, with the server before it, by an alias, a glob or a regular expression, with arguments or without. With
// AWAKEN_LONG=1 the servers are published ones, and every tool is denied in every way.
func TestCorpus_WhatIsDeniedIsNeverCalled(t *testing.T) {
	t.Parallel()
	servers, share := pretend, 5
	if testenv.Long() {
		servers, share = published, 1000
	}
	w := newWorld(t, servers)
	free := w.agent("free", "", nil, nil)
	var bans []ban
	for i, c := range w.targets {
		ways := c.ways()
		for k := range min(share, len(ways)) {
			way := ways[(i*share+k)%len(ways)]
			n := len(bans)
			bans = append(bans, ban{w.agent(fmt.Sprintf("rule-%d", n), way, nil, nil), "rule " + way, c})
			switch {
			case slices.Contains(c.names, way):
				bans = append(bans, ban{w.agent(fmt.Sprintf("list-%d", n), "", []string{way}, nil), "excluded_tools " + way, c})
			case !strings.ContainsAny(way, "/(?"):
				bans = append(bans, ban{w.agent(fmt.Sprintf("glob-%d", n), "", nil, []string{way}), "excluded_tool_patterns " + way, c})
			}
		}
	}
	rt, err := engine.New(w.cfg)
	if err != nil {
		t.Fatal(err)
	}
	call := func(agent string, c *target) *awaken.RunResult {
		res, err := rt.Run(t.Context(), awaken.RunRequest{AgentID: agent, Messages: []*llm.Message{llm.UserText("RUN_TOOL " + c.id + " " + c.args)}}, nil)
		if err != nil {
			t.Fatalf("%s: %s: %v", agent, c.id, err)
		}
		return res
	}
	for _, c := range w.targets {
		if res := call(free, c); w.of(c.arrival) != 1 {
			t.Errorf("%s is called %d times without a rule, want once: %s", c.id, w.of(c.arrival), res.Response)
		}
	}
	rules, made := 0, 0
	for _, b := range bans {
		if strings.HasPrefix(b.how, "rule ") {
			rules++
		}
		before := w.of(b.arrival)
		call(b.agent, b.target)
		if w.of(b.arrival) != before {
			made++
			t.Errorf("%s is called although it is denied by %s", b.id, b.how)
		}
	}
	for _, d := range rt.Registry().Diagnostics() {
		if strings.HasSuffix(d.Code, "matches_nothing") || strings.HasSuffix(d.Code, "unknown_yet") {
			t.Errorf("%s: %s: %s", d.ID, d.Code, d.Message)
		}
	}
	t.Logf("%d tools, %d rules and %d lists that deny one: %d calls were made", len(w.targets), rules, len(bans)-rules, made)
	if len(w.targets) < 60 || rules < 300 {
		t.Errorf("the corpus has %d tools and %d rules, want at least 60 and 300", len(w.targets), rules)
	}
}
