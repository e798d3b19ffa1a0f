package mcp_test

import (
	"context"
	"fmt"
	"io"
	"net/http"
	"strings"
	"sync/atomic"
	"testing"
	"time"

	sdk "github.com/modelcontextprotocol/go-sdk/mcp"

	"github.com/awaken-go/awaken/protocol/mcp"
	"github.com/awaken-go/awaken/protocol/protocoltest"
)

// connections are the ways in which the client of go-sdk reaches a server: over HTTP, and over a bridge from standard input
// and output.
func connections(g *rig) map[string]func() sdk.Transport {
	return map[string]func() sdk.Transport{
		"HTTP": func() sdk.Transport {
			return &sdk.StreamableClientTransport{Endpoint: g.URL + "/v1/mcp", DisableStandaloneSSE: true}
		},
		"stdio": func() sdk.Transport {
			toServer, fromClient := io.Pipe()
			toClient, fromServer := io.Pipe()
			b := &mcp.Bridge{Client: &http.Client{}, URL: g.URL + "/v1/mcp", Drain: time.Second}
			done := make(chan error, 1)
			go func() { done <- b.Serve(context.Background(), toServer, fromServer) }()
			g.TB.Cleanup(func() {
				fromClient.Close()
				if err := <-done; err != nil {
					g.TB.Error(err)
				}
			})
			return &sdk.IOTransport{Reader: toClient, Writer: fromClient}
		},
	}
}

// The client of go-sdk can do what the protocol has words for.
func TestSDK(t *testing.T) {
	for _, tt := range [][2]string{{"HTTP", legacy}, {"HTTP", modern}, {"stdio", legacy}, {"stdio", modern}} {
		name, revision := tt[0], tt[1]
		t.Run(name+" "+revision, func(t *testing.T) {
			g := newRig(t)
			var asked, progressed atomic.Int32
			client := sdk.NewClient(&sdk.Implementation{Name: "test", Version: "1"}, &sdk.ClientOptions{
				ElicitationHandler: func(_ context.Context, req *sdk.ElicitRequest) (*sdk.ElicitResult, error) {
					asked.Add(1)
					return &sdk.ElicitResult{Action: "accept", Content: map[string]any{"approved": !strings.Contains(req.Params.Message, "mine")}}, nil
				},
				ProgressNotificationHandler: func(context.Context, *sdk.ProgressNotificationClientRequest) { progressed.Add(1) },
			})
			ctx, cancel := context.WithTimeout(t.Context(), time.Minute)
			defer cancel()
			s, err := client.Connect(ctx, connections(g)[name](), &sdk.ClientSessionOptions{ProtocolVersion: revision})
			if err != nil {
				t.Fatal(err)
			}
			defer s.Close()
			if got := s.InitializeResult().ProtocolVersion; got != revision {
				t.Errorf("revision %s", got)
			}
			list, err := s.ListTools(ctx, nil)
			if err != nil || len(list.Tools) < 10 {
				t.Fatalf("%v %v", list, err)
			}
			call := func(tool string, args map[string]any) (string, *sdk.CallToolResult) {
				t.Helper()
				params := &sdk.CallToolParams{Name: tool, Arguments: args}
				params.SetProgressToken("token")
				res, err := s.CallTool(ctx, params)
				if err != nil {
					t.Fatal(err)
				}
				text, _ := res.Content[0].(*sdk.TextContent)
				if text == nil {
					t.Fatalf("%+v", res)
				}
				return text.Text, res
			}
			said, res := call("slow", map[string]any{"message": "go"})
			if said != protocoltest.SlowText || progressed.Load() == 0 {
				t.Errorf("%q after %d notifications", said, progressed.Load())
			}
			thread := at(res.StructuredContent, "thread_id")
			if said, res := call("default", map[string]any{"message": "scenario:tool", "thread_id": thread}); res.IsError || said == "" || at(res.StructuredContent, "thread_id") != thread {
				t.Errorf("%q %+v", said, res)
			}
			for path, want := range map[string]string{"/tmp/x": `"did":"/tmp/x"`, "/mine": ""} {
				before := asked.Load()
				said, res := call("delete_file", map[string]any{"path": path})
				if asked.Load() != before+1 || !strings.Contains(said, want) || res.IsError != (want == "") {
					t.Errorf("%s: %q %+v", path, said, res)
				}
			}
			if said, res := call("default", map[string]any{"message": "scenario:error"}); !res.IsError || !strings.Contains(said, "boom") {
				t.Errorf("%q", said)
			}
			if _, err := s.CallTool(ctx, &sdk.CallToolParams{Name: "missing"}); err == nil {
				t.Error("a tool that does not exist was called")
			}
			read, err := s.ReadResource(ctx, &sdk.ReadResourceParams{URI: fmt.Sprint("awaken://threads/", thread)})
			if err != nil || !strings.Contains(read.Contents[0].Text, protocoltest.SlowText) {
				t.Errorf("%+v %v", read, err)
			}
		})
	}
}

// What a client cancels ends.
func TestSDK_Cancel(t *testing.T) {
	slow := make(chan struct{})
	defer close(slow)
	g := newRigWith(t, withTools, slow)
	for _, tt := range [][2]string{{"HTTP", legacy}, {"HTTP", modern}, {"stdio", legacy}, {"stdio", modern}} {
		name := tt[0] + " " + tt[1]
		t.Run(name, func(t *testing.T) {
			began := make(chan struct{}, 100)
			client := sdk.NewClient(&sdk.Implementation{Name: "test", Version: "1"}, &sdk.ClientOptions{
				ProgressNotificationHandler: func(context.Context, *sdk.ProgressNotificationClientRequest) { began <- struct{}{} },
			})
			s, err := client.Connect(t.Context(), connections(g)[tt[0]](), &sdk.ClientSessionOptions{ProtocolVersion: tt[1]})
			if err != nil {
				t.Fatal(err)
			}
			defer s.Close()
			ctx, cancel := context.WithCancel(t.Context())
			go func() {
				<-began
				cancel()
			}()
			params := &sdk.CallToolParams{Name: "slow", Arguments: map[string]any{"message": "go", "thread_id": "of " + name}}
			params.SetProgressToken("token")
			if res, err := s.CallTool(ctx, params); err == nil {
				t.Fatalf("%+v", res)
			}
			for g.Open("of "+name) != nil {
				time.Sleep(time.Millisecond)
			}
			if list, err := s.ListTools(t.Context(), nil); err != nil || len(list.Tools) == 0 {
				t.Errorf("after a call was cancelled: %+v, %v", list, err)
			}
		})
	}
}
