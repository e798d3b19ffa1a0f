package acp_test

import (
	"context"
	"encoding/json"
	"fmt"
	"net/http"
	"net/http/httptest"
	"os"
	"slices"
	"strings"
	"sync/atomic"
	"testing"

	sdk "github.com/modelcontextprotocol/go-sdk/mcp"

	"github.com/awaken-go/awaken/plugin/mcp"
	"github.com/awaken-go/awaken/protocol/acp"
)

// TestMain makes the test binary an MCP server if it is started as one.
func TestMain(m *testing.M) {
	if os.Getenv("ACP_TEST_SERVER") != "" {
		if err := tools(new(atomic.Int64)).Run(context.Background(), &sdk.StdioTransport{}); err != nil {
			fmt.Fprintln(os.Stderr, err)
			os.Exit(1)
		}
		return
	}
	os.Exit(m.Run())
}

// tools is an MCP server with a tool that counts its calls.
func tools(calls *atomic.Int64) *sdk.Server {
	s := sdk.NewServer(&sdk.Implementation{Name: "test", Version: "1"}, nil)
	type in struct {
		Text string `json:"text"`
	}
	sdk.AddTool(s, &sdk.Tool{Name: "echo", Description: "Says it again."}, func(_ context.Context, _ *sdk.CallToolRequest, a in) (*sdk.CallToolResult, any, error) {
		folder, _ := os.Getwd()
		text := fmt.Sprintf("echo %s, call %d, %s %s", a.Text, calls.Add(1), os.Getenv("ACP_TEST_NOTE"), folder)
		return &sdk.CallToolResult{Content: []sdk.Content{&sdk.TextContent{Text: text}}}, nil, nil
	})
	sdk.AddTool(s, &sdk.Tool{Name: "fail"}, func(context.Context, *sdk.CallToolRequest, in) (*sdk.CallToolResult, any, error) {
		return nil, nil, fmt.Errorf("the disk is full")
	})
	return s
}

// connecting connects servers of the editor with plugin/mcp.
func connecting(c *acp.Config) {
	c.Connect = func(t acp.ToolServer) (acp.Toolbox, error) {
		conn, err := mcp.Connect(mcp.Server{ID: t.ID, Command: t.Command, Args: t.Args, Dir: t.Dir, Env: t.Env, URL: t.URL, SSE: t.SSE, Headers: t.Headers}, mcp.Options{Client: &http.Client{}})
		if err != nil {
			return nil, err
		}
		conn.Start()
		return conn, nil
	}
}

// begun returns the id of a new session.
func begun(t *testing.T, result json.RawMessage) string {
	t.Helper()
	var made struct{ SessionID string }
	if err := json.Unmarshal(result, &made); err != nil || made.SessionID == "" {
		t.Fatalf("session/new replies %s: %v", result, err)
	}
	return made.SessionID
}

func TestToolServers_AreTheModelsTools(t *testing.T) {
	g := newRig(t)
	var calls atomic.Int64
	var header atomic.Value
	handler := sdk.NewStreamableHTTPHandler(func(*http.Request) *sdk.Server { return tools(&calls) }, nil)
	web := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		header.Store(r.Header.Get("X-Token"))
		handler.ServeHTTP(w, r)
	}))
	t.Cleanup(web.Close) // after the client has left
	folder := t.TempDir()
	c := begin(t, g.Box, `{}`, connecting)
	e := &editor{choose: "allow_once"}
	c.ask = e.ask
	s := begun(t, c.must("session/new", fmt.Sprintf(`{"cwd":%q,"mcpServers":[{"type":"http","name":"my web!","url":%q,"headers":[{"name":"X-Token","value":"t0p"}]},{"name":"local","command":%q,"args":["-test.run=^$"],"env":[{"name":"ACP_TEST_SERVER","value":"1"},{"name":"ACP_TEST_NOTE","value":"noted"}]}]}`, folder, web.URL, os.Args[0])))
	said := func(text string) string {
		t.Helper()
		before := len(c.all(s))
		c.prompt(s, text)
		return transcript(c.all(s)[before:])
	}
	if got := said(`RUN_TOOL mcp__my-web__echo {"text":"hi"}`); !strings.Contains(got, "echo hi, call 1") || header.Load() != "t0p" {
		t.Errorf("the server at an address says %q, with the header %v", got, header.Load())
	}
	if got := said(`RUN_TOOL mcp__local__echo {"text":"hi"}`); !strings.Contains(got, "noted "+folder) {
		t.Errorf("the program says %q, want its variable and the session's folder", got)
	}
	if got := said(`RUN_TOOL mcp__my-web__fail {"text":"x"}`); !strings.Contains(got, "the disk is full") {
		t.Errorf("a call that fails says %q", got)
	}
	if n := len(e.titles); n != 3 {
		t.Errorf("the user was asked %d times, want once for each call", n)
	}
	e.choose = "reject_once"
	if got := said(`RUN_TOOL mcp__my-web__echo {"text":"no"}`); !strings.Contains(got, "rejected") || calls.Load() != 1 {
		t.Errorf("a call that the user rejects says %q, and the tool was called %d times", got, calls.Load())
	}
	e.choose = "allow_session"
	said(`RUN_TOOL mcp__my-web__echo {"text":"always"}`)
	asked := len(e.titles)
	if got := said(`RUN_TOOL mcp__my-web__echo {"text":"again"}`); !strings.Contains(got, "again, call 3") || len(e.titles) != asked {
		t.Errorf("a tool that is always allowed says %q, and the user was asked %d times more", got, len(e.titles)-asked)
	}
}

// The user is asked once about each call of the editor's MCP servers, whatever the permission rules of the agent say.
func TestToolServers_EveryCallIsAskedAboutOnce(t *testing.T) {
	for _, agent := range []string{"default", "careful", "lenient"} {
		t.Run(agent, func(t *testing.T) {
			g := newRig(t)
			var calls atomic.Int64
			handler := sdk.NewStreamableHTTPHandler(func(*http.Request) *sdk.Server { return tools(&calls) }, nil)
			web := httptest.NewServer(handler)
			t.Cleanup(web.Close) // after the client has left
			c := begin(t, g.Box, `{}`, connecting)
			e := &editor{choose: "reject_once"}
			c.ask = e.ask
			s := begun(t, c.must("session/new", fmt.Sprintf(`{"cwd":%q,"mcpServers":[{"type":"http","name":"web","url":%q,"headers":[]}]}`, t.TempDir(), web.URL)))
			c.must("session/set_mode", fmt.Sprintf(`{"sessionId":%q,"modeId":%q}`, s, agent))
			c.prompt(s, `RUN_TOOL mcp__web__echo {"text":"no"}`)
			if len(e.titles) != 1 || calls.Load() != 0 {
				t.Errorf("the user was asked %d times and has refused, and the tool was called %d times", len(e.titles), calls.Load())
			}
			e.choose = "allow_once"
			c.prompt(s, `RUN_TOOL mcp__web__echo {"text":"yes"}`)
			if len(e.titles) != 2 || calls.Load() != 1 {
				t.Errorf("the user was asked %d times about two calls, and the tool was called %d times, want once", len(e.titles), calls.Load())
			}
			e.choose = "allow_session"
			c.prompt(s, `RUN_TOOL mcp__web__echo {"text":"always"}`)
			c.prompt(s, `RUN_TOOL mcp__web__echo {"text":"again"}`)
			if len(e.titles) != 3 || calls.Load() != 3 {
				t.Errorf("the user was asked %d times, want 3, and the tool was called %d times, want 3", len(e.titles), calls.Load())
			}
		})
	}
}

// A server that cannot be connected is named, and the session works without it.
func TestToolServers_ThatFailAreNamed(t *testing.T) {
	g := newRig(t)
	c := begin(t, g.Box, `{}`, connecting)
	s := begun(t, c.must("session/new", `{"cwd":"/","mcpServers":[{"name":"gone","command":"/no/such/program","args":[],"env":[]}]}`))
	c.until("it is told", func() bool {
		return slices.ContainsFunc(c.updates, func(u update) bool { return strings.Contains(string(u.Content), "MCP server gone cannot be used now") })
	})
	c.prompt(s, "hello")
	for params, want := range map[string]string{
		`{"cwd":"/","mcpServers":[{"name":"x"}]}`:                        "mcpServers[0].command is missing",
		`{"cwd":"/","mcpServers":[{"name":"x","type":"pigeon"}]}`:        `mcpServers[0].type is "pigeon", want stdio, http or sse`,
		`{"cwd":"/","mcpServers":[{"name":"x","type":"http"}]}`:          "mcpServers[0].url is missing",
		`{"cwd":"/","mcpServers":[` + strings.Repeat(`{},`, 16) + `{}]}`: "mcpServers has 17 servers, want at most 16",
	} {
		if r := c.call("session/new", params); r.Error == nil || !strings.Contains(r.Error.Message, want) {
			t.Errorf("session/new %.60s: %+v, want an error with %q", params, r.Error, want)
		}
	}
}

// A call that waited when the editor quit is asked about by the next one, whose servers make it.
func TestToolServers_TheNextConnectionMakesTheCall(t *testing.T) {
	g := newRig(t)
	var calls atomic.Int64
	web := httptest.NewServer(sdk.NewStreamableHTTPHandler(func(*http.Request) *sdk.Server { return tools(&calls) }, nil))
	t.Cleanup(web.Close) // after the client has left
	servers := fmt.Sprintf(`[{"type":"http","name":"web","url":%q,"headers":[]}]`, web.URL)
	first := begin(t, g.Box, `{}`, connecting)
	first.ask = (&editor{}).ask // no answer
	s := begun(t, first.must("session/new", `{"cwd":"/src","mcpServers":`+servers+`}`))
	first.send("session/prompt", promptOf(s, `RUN_TOOL mcp__web__echo {"text":"late"}`))
	first.until("it asks", func() bool { return slices.Contains(first.asked, "session/request_permission") })
	_ = first.in.Close()
	<-first.served

	c := begin(t, g.Box, `{}`, connecting)
	e := &editor{choose: "allow_once"}
	c.ask = e.ask
	c.must("session/load", fmt.Sprintf(`{"sessionId":%q,"cwd":"/src","mcpServers":%s}`, s, servers))
	c.until("the call is made", func() bool {
		return slices.ContainsFunc(c.updates, func(u update) bool {
			return u.Kind == "agent_message_chunk" && strings.Contains(string(u.Content), "answered")
		})
	})
	e.mu.Lock()
	defer e.mu.Unlock()
	if n := calls.Load(); n != 1 {
		t.Errorf("the tool was called %d times, want once", n)
	}
	if len(e.titles) != 1 || !strings.Contains(e.titles[0], "May have been done already") {
		t.Errorf("the user was asked %q", e.titles)
	}
}
