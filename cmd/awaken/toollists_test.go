package main

import (
	"context"
	"io"
	"net/http"
	"net/http/httptest"
	"strings"
	"testing"
	"time"

	sdk "github.com/modelcontextprotocol/go-sdk/mcp"

	"github.com/awaken-go/awaken/cmd/awaken/internal/settings"
	"github.com/awaken-go/awaken/config"
)

// Runs with the tools of MCP servers replay when the servers are away, with the tools that the servers had then, and without tools if the
// process of the run was not connected.
func TestReplay_WithoutMCPServers(t *testing.T) {
	srv := sdk.NewServer(&sdk.Implementation{Name: "mail", Version: "1"}, nil)
	sent := 0
	offer := func(name, description string) {
		sdk.AddTool(srv, &sdk.Tool{Name: name, Description: description}, func(_ context.Context, _ *sdk.CallToolRequest, in struct {
			To string `json:"to" jsonschema:"the recipient"`
		}) (*sdk.CallToolResult, any, error) {
			sent++
			return &sdk.CallToolResult{Content: []sdk.Content{&sdk.TextContent{Text: "sent to " + in.To}}}, nil, nil
		})
	}
	offer("send", "Sends mail.")
	peer := httptest.NewServer(sdk.NewStreamableHTTPHandler(func(*http.Request) *sdk.Server { return srv }, nil))
	t.Cleanup(peer.Close)
	h := host(t, func(s *settings.Settings) {
		s.SeedProfile, s.Outbound.Allow, s.Server.MCP.Refresh = "demo", []string{"127.0.0.0/8"}, 50*time.Millisecond
	})
	h.call("POST", "/v1/config/mcp-servers", map[string]any{"id": "mail", "transport": "http", "url": peer.URL, "config": map[string]any{"trust_changes": true}}, nil)
	h.says(`RUN_TOOL mcp__mail__send {"to":"Ada"}`, "sent to Ada")
	run := func(order, want string) string {
		var out struct {
			RunID    string `json:"run_id"`
			Response string
		}
		h.call("POST", "/v1/runs", map[string]any{"agent_id": "default", "stream": false,
			"messages": []any{map[string]string{"role": "user", "content": order}}}, &out)
		if !strings.Contains(out.Response, want) {
			t.Fatalf("the agent says %q", out.Response)
		}
		return out.RunID
	}
	ids := []string{run(`RUN_TOOL mcp__mail__send {"to":"Bob"}`, "sent to Bob")}
	offer("send", "Sends mail quickly.")
	offer("list", "Lists mail.")
	h.status("mail", func(st *config.MCPStatus) bool { return len(st.Tools) == 2 })
	ids = append(ids, run(`RUN_TOOL mcp__mail__send {"to":"Eve"}`, "sent to Eve"))
	h.stop()
	peer.CloseClientConnections()
	peer.Close()
	before := sent
	h.start(newCode(h.settings))
	ids = append(ids, run("hello", ""))
	h.stop()

	h.replays(ids...)
	if sent != before {
		t.Errorf("replays sent %d mails", sent-before)
	}
}

// replays replays runs of the server, which must have stopped. Each equals its record.
func (h *hosted) replays(runs ...string) {
	t := h.t
	t.Helper()
	b, err := openBackend(t.Context(), h.settings, false, nil)
	if err != nil {
		t.Fatal(err)
	}
	defer b.close(&err)
	source, err := sourceOf(b, "")
	if err != nil {
		t.Fatal(err)
	}
	for _, id := range runs {
		var out strings.Builder
		if err := replayRun(t.Context(), &console{out: &out, err: io.Discard}, h.settings, b, source, id, "", false); err != nil {
			t.Errorf("replay of run %s: %v\n%s", id, err, out.String())
		}
		t.Log(out.String())
	}
}
