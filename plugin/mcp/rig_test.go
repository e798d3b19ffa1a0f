//lint:file-ignore SA1019 servers of the older revisions log, sample and ask for roots; the SDK keeps these deprecated features for them

package mcp_test

import (
	"bufio"
	"context"
	"encoding/json"
	"fmt"
	"net/http"
	"net/http/httptest"
	"os"
	"os/exec"
	"strings"
	"sync"
	"testing"
	"time"

	sdk "github.com/modelcontextprotocol/go-sdk/mcp"

	"github.com/awaken-go/awaken"
	"github.com/awaken-go/awaken/engine"
	"github.com/awaken-go/awaken/llm"
	"github.com/awaken-go/awaken/llm/llmtest"
	"github.com/awaken-go/awaken/plugin/mcp"
	"github.com/awaken-go/awaken/store/memory"
)

// roleVariable makes the test binary a server.
const roleVariable = "MCP_TEST_ROLE"

func TestMain(m *testing.M) {
	switch role := os.Getenv(roleVariable); {
	case role == "victim":
		if err := victim(); err != nil {
			fmt.Fprintln(os.Stderr, err)
			os.Exit(1)
		}
		return
	case strings.HasPrefix(role, "hostile "):
		hostile(role)
		return
	case role != "":
		play(role)
		return
	}
	os.Exit(m.Run())
}

// play is a server on standard input and output.
func play(role string) {
	ctx := context.Background()
	switch role {
	case "hang":
		time.Sleep(time.Hour)
	case "flood": // a message without an end
		chunk := strings.Repeat("x", 1<<16)
		fmt.Print(`{"jsonrpc":"`)
		for {
			if _, err := fmt.Print(chunk); err != nil {
				return
			}
		}
	case "broken":
		fmt.Fprintln(os.Stderr, "cannot read the license of", os.Getenv("TOKEN"))
		os.Exit(3)
	case "blabber": // the second and third lines are cut off within the token
		token := os.Getenv("TOKEN")
		fmt.Fprintln(os.Stderr, "the token is", token)
		fmt.Fprintln(os.Stderr, "4 KiB of filling", strings.Repeat(".", 4<<10-100), token, token)
		fmt.Fprintln(os.Stderr, strings.Repeat(".", 350), token)
		fmt.Fprintln(os.Stderr, "the last line")
		os.Exit(3)
	case "noise":
		fmt.Println("Welcome to my server")
		fmt.Println()
	case "deaf": // to what it does not know
		deaf()
		return
	case "sealed":
		sealed()
		return
	case "family":
		child := exec.Command("sleep", "1000")
		if err := child.Start(); err != nil {
			panic(err)
		}
		note(fmt.Sprint(child.Process.Pid))
	}
	s := newServer()
	if err := s.Run(ctx, &sdk.StdioTransport{}); err != nil {
		os.Exit(1)
	}
}

// deaf answers initialize and the list of tools, and ignores everything else.
func deaf() {
	in := json.NewDecoder(os.Stdin)
	for {
		var m struct {
			ID     json.RawMessage `json:"id"`
			Method string          `json:"method"`
		}
		if in.Decode(&m) != nil {
			return
		}
		switch m.Method {
		case "initialize":
			fmt.Printf(`{"jsonrpc":"2.0","id":%s,"result":{"protocolVersion":"2025-06-18","capabilities":{"tools":{}},"serverInfo":{"name":"deaf","version":"1"}}}`+"\n", m.ID)
		case "tools/list":
			fmt.Printf(`{"jsonrpc":"2.0","id":%s,"result":{"tools":[{"name":"old","inputSchema":{"type":"object"}}]}}`+"\n", m.ID)
		}
	}
}

// sealed answers until its tools are listed. When it is called it says that they have changed, and reads
// nothing any more.
func sealed() {
	in := bufio.NewReader(os.Stdin)
	for listed := false; !listed; {
		line, err := in.ReadBytes('\n')
		if err != nil {
			return
		}
		var m struct {
			ID     json.RawMessage `json:"id"`
			Method string          `json:"method"`
		}
		switch _ = json.Unmarshal(line, &m); {
		case m.Method == "initialize":
			fmt.Printf(`{"jsonrpc":"2.0","id":%s,"result":{"protocolVersion":"2025-06-18","capabilities":{"tools":{"listChanged":true}},"serverInfo":{"name":"sealed","version":"1"}}}`+"\n", m.ID)
		case m.Method == "tools/list":
			fmt.Printf(`{"jsonrpc":"2.0","id":%s,"result":{"tools":[{"name":"eat","inputSchema":{"type":"object"}}]}}`+"\n", m.ID)
			listed = true
		case m.ID != nil:
			fmt.Printf(`{"jsonrpc":"2.0","id":%s,"error":{"code":-32601,"message":"method not found"}}`+"\n", m.ID)
		}
	}
	_, _ = in.ReadByte()
	fmt.Println(`{"jsonrpc":"2.0","method":"notifications/tools/list_changed"}`)
	time.Sleep(time.Hour)
}

// note adds a line to the file that the test reads.
func note(line string) {
	name := os.Getenv("NOTES")
	if name == "" {
		return
	}
	f, err := os.OpenFile(name, os.O_APPEND|os.O_CREATE|os.O_WRONLY, 0o600)
	if err != nil {
		panic(err)
	}
	defer f.Close()
	fmt.Fprintln(f, line)
}

type words struct {
	Text string `json:"text"`
}

// newServer returns a server with tools for every kind of result.
func newServer() *sdk.Server {
	s := sdk.NewServer(&sdk.Implementation{Name: "test", Version: "1"}, nil)
	readOnly, idempotent := &sdk.ToolAnnotations{ReadOnlyHint: true}, &sdk.ToolAnnotations{IdempotentHint: true}
	answer := func(c ...sdk.Content) (*sdk.CallToolResult, any, error) {
		return &sdk.CallToolResult{Content: c}, nil, nil
	}
	add := func(t *sdk.Tool, fn func(ctx context.Context, r *sdk.CallToolRequest, in words) (*sdk.CallToolResult, any, error)) {
		sdk.AddTool(s, t, fn)
	}
	add(&sdk.Tool{Name: "echo", Description: "Says the text.", Annotations: readOnly}, func(_ context.Context, _ *sdk.CallToolRequest, in words) (*sdk.CallToolResult, any, error) {
		note("echo " + in.Text)
		return answer(&sdk.TextContent{Text: in.Text})
	})
	add(&sdk.Tool{Name: "put", Annotations: idempotent}, func(context.Context, *sdk.CallToolRequest, words) (*sdk.CallToolResult, any, error) {
		return answer(&sdk.TextContent{Text: "put"})
	})
	add(&sdk.Tool{Name: "fail"}, func(context.Context, *sdk.CallToolRequest, words) (*sdk.CallToolResult, any, error) {
		return nil, nil, fmt.Errorf("no disk")
	})
	add(&sdk.Tool{Name: "crash"}, func(_ context.Context, _ *sdk.CallToolRequest, in words) (*sdk.CallToolResult, any, error) {
		note("crash")
		fmt.Fprintln(os.Stderr, "panic: out of cheese")
		os.Exit(7)
		return nil, nil, nil
	})
	add(&sdk.Tool{Name: "wait"}, func(ctx context.Context, _ *sdk.CallToolRequest, _ words) (*sdk.CallToolResult, any, error) {
		note("waiting")
		<-ctx.Done()
		note("cancelled")
		return nil, nil, ctx.Err()
	})
	add(&sdk.Tool{Name: "long", Annotations: readOnly}, func(context.Context, *sdk.CallToolRequest, words) (*sdk.CallToolResult, any, error) {
		return answer(&sdk.TextContent{Text: strings.Repeat("long ", 1<<17)})
	})
	add(&sdk.Tool{Name: "env", Annotations: readOnly}, func(context.Context, *sdk.CallToolRequest, words) (*sdk.CallToolResult, any, error) {
		wd, _ := os.Getwd()
		return answer(&sdk.TextContent{Text: strings.Join(append(os.Environ(), "dir="+wd), "\n")})
	})
	add(&sdk.Tool{Name: "steps", Annotations: readOnly}, func(ctx context.Context, r *sdk.CallToolRequest, _ words) (*sdk.CallToolResult, any, error) {
		for i := range 3 {
			_ = r.Session.NotifyProgress(ctx, &sdk.ProgressNotificationParams{ProgressToken: r.Params.GetProgressToken(), Progress: float64(i + 1), Total: 3, Message: fmt.Sprintf("step %d", i+1)})
			_ = r.Session.Log(ctx, &sdk.LoggingMessageParams{Level: "info", Data: fmt.Sprintf("line %d", i+1)})
		}
		<-ctx.Done()
		return nil, nil, ctx.Err()
	})
	add(&sdk.Tool{Name: "tell", Annotations: readOnly}, func(ctx context.Context, r *sdk.CallToolRequest, _ words) (*sdk.CallToolResult, any, error) {
		_ = r.Session.Log(ctx, &sdk.LoggingMessageParams{Level: "info", Data: "a line"})
		_ = r.Session.Log(ctx, &sdk.LoggingMessageParams{Level: "debug", Data: "too much"})
		return answer(&sdk.TextContent{Text: "told"})
	})
	add(&sdk.Tool{Name: "grow"}, func(context.Context, *sdk.CallToolRequest, words) (*sdk.CallToolResult, any, error) {
		add(&sdk.Tool{Name: "grown", Description: "A new tool."}, func(context.Context, *sdk.CallToolRequest, words) (*sdk.CallToolResult, any, error) {
			return answer(&sdk.TextContent{Text: "I am new."})
		})
		return answer(&sdk.TextContent{Text: "grown"})
	})
	s.AddTool(&sdk.Tool{Name: "get-picture!", InputSchema: json.RawMessage(`{"type":"object"}`), Annotations: readOnly}, func(context.Context, *sdk.CallToolRequest) (*sdk.CallToolResult, error) {
		return &sdk.CallToolResult{Content: []sdk.Content{
			&sdk.TextContent{Text: "a picture"}, &sdk.ImageContent{MIMEType: "image/png", Data: []byte("png")},
			&sdk.ResourceLink{URI: "file:///a.txt", Name: "a.txt", Description: "notes"},
			&sdk.EmbeddedResource{Resource: &sdk.ResourceContents{URI: "file:///b.txt", MIMEType: "text/plain", Text: "inside"}},
			&sdk.EmbeddedResource{Resource: &sdk.ResourceContents{URI: "file:///c.bin", MIMEType: "application/x-odd", Blob: []byte("1234")}}}}, nil
	})
	type sum struct {
		Sum int `json:"sum"`
	}
	sdk.AddTool(s, &sdk.Tool{Name: "add", Annotations: readOnly}, func(_ context.Context, _ *sdk.CallToolRequest, in struct {
		A int `json:"a"`
		B int `json:"b"`
	}) (*sdk.CallToolResult, sum, error) {
		return nil, sum{in.A + in.B}, nil
	})
	return s
}

// program returns the test binary as a server that plays a role, and the name of the file with its
// notes.
func program(t testing.TB, role string) (mcp.Server, string) {
	t.Helper()
	notes := t.TempDir() + "/notes"
	self, err := os.Executable()
	if err != nil {
		t.Fatal(err)
	}
	return mcp.Server{ID: "s", Command: self, Env: map[string]awaken.Secret{roleVariable: awaken.NewSecret(role), "NOTES": awaken.NewSecret(notes)},
		Restart: mcp.Restart{Delay: 10 * time.Millisecond}}, notes
}

// notes returns the lines of a file of notes.
func notes(t testing.TB, name string) []string {
	t.Helper()
	data, err := os.ReadFile(name)
	if err != nil && !os.IsNotExist(err) {
		t.Fatal(err)
	}
	return strings.Fields(string(data))
}

// serve serves HTTP and returns the server's address.
func serve(t testing.TB, h http.Handler) string {
	t.Helper()
	s := httptest.NewServer(h)
	t.Cleanup(func() {
		s.CloseClientConnections()
		closed := make(chan struct{})
		go func() {
			defer close(closed)
			s.Close()
		}()
		select {
		case <-closed:
		case <-time.After(5 * time.Second): // a call may wait forever for the answer of a client that is gone
		}
	})
	return s.URL
}

// local is a client that reaches this machine.
var local = mcp.Options{Client: &http.Client{}}

// connect returns an open connection.
func connect(t testing.TB, s mcp.Server, o mcp.Options) *mcp.Connection {
	t.Helper()
	c := dial(t, s, o)
	if err := c.Ready(patience(t)); err != nil {
		t.Fatal(err)
	}
	return c
}

// dial returns a connection that is being opened.
func dial(t testing.TB, s mcp.Server, o mcp.Options) *mcp.Connection {
	t.Helper()
	c, err := mcp.Connect(s, o)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { c.Close() })
	c.Start()
	return c
}

// patience returns a context for what must happen, and soon.
func patience(t testing.TB) context.Context {
	ctx, cancel := context.WithTimeout(t.Context(), 2*time.Minute)
	t.Cleanup(cancel)
	return ctx
}

// tool returns a tool of a connection.
func tool(t testing.TB, c *mcp.Connection, id string) awaken.Tool {
	t.Helper()
	var ids []string
	for _, x := range c.Tools() {
		if x.Spec().ID == id {
			return x
		}
		ids = append(ids, x.Spec().ID)
	}
	t.Fatalf("there is no tool %q, only %q", id, ids)
	return nil
}

// call calls a tool.
func call(t testing.TB, c *mcp.Connection, id, args string) *awaken.ToolResult {
	t.Helper()
	x := tool(t, c, id)
	res, err := x.Call(patience(t), &awaken.ToolCall{ID: "c1", Tool: id, Key: "run/0/0", Args: json.RawMessage(args)})
	res, err = awaken.ResultOf(id, res, err)
	if err != nil {
		t.Fatal(err)
	}
	return res
}

// until waits for a condition.
func until(t testing.TB, what string, ok func() bool) {
	t.Helper()
	for ctx := patience(t); !ok(); {
		select {
		case <-ctx.Done():
			t.Fatalf("waited in vain: %s", what)
		case <-time.After(5 * time.Millisecond):
		}
	}
}

// runtime returns a runtime whose agent has the tools of servers, and its model.
func runtime(t testing.TB, p *mcp.Plugin, turns ...llmtest.Turn) (*engine.Runtime, *llmtest.Script) {
	t.Helper()
	script := llmtest.NewScript(turns...).Record()
	rt, err := engine.New(engine.Config{
		Agents:    []*awaken.AgentSpec{{ID: "default", ModelID: "m", PluginIDs: []string{mcp.PluginID}}},
		Models:    []awaken.ModelSpec{{ID: "m", ProviderID: "p", UpstreamModel: "x"}},
		Providers: map[string]llm.Model{"p": script},
		Plugins:   []awaken.Plugin{p},
		Store:     memory.New(),
	})
	if err != nil {
		t.Fatal(err)
	}
	return rt, script
}

// plugin returns a plugin whose servers are connected.
func plugin(t testing.TB, o mcp.Options, servers ...mcp.Server) *mcp.Plugin {
	t.Helper()
	p, err := mcp.New(mcp.Config{Servers: servers, Options: o})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { p.Close() })
	if err := p.Ready(patience(t)); err != nil {
		t.Fatal(err)
	}
	return p
}

// ask runs the agent on one message.
func ask(t testing.TB, rt *engine.Runtime) (*awaken.RunResult, []awaken.Event) {
	t.Helper()
	var mu sync.Mutex
	var events []awaken.Event
	res, err := rt.Run(patience(t), awaken.RunRequest{ThreadID: "t", Messages: []*llm.Message{llm.UserText("go")}}, awaken.SinkFunc(func(_ context.Context, e awaken.Entry) error {
		mu.Lock()
		defer mu.Unlock()
		events = append(events, e.Event)
		return nil
	}))
	if err != nil {
		t.Fatal(err)
	}
	return res, events
}
