package replicatest

import (
	"context"
	"fmt"
	"io"
	"net/http"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	sdk "github.com/modelcontextprotocol/go-sdk/mcp"

	"github.com/awaken-go/awaken/internal/rigtest"
	"github.com/awaken-go/awaken/internal/testenv"
)

// cutter is a transport that breaks off streams after some bytes, until it has broken off enough.
type cutter struct {
	left  atomic.Int64 // streams to break off
	after int64        // bytes
}

func (c *cutter) RoundTrip(r *http.Request) (*http.Response, error) {
	resp, err := http.DefaultTransport.RoundTrip(r)
	if err == nil && strings.HasPrefix(resp.Header.Get("Content-Type"), "text/event-stream") && c.left.Add(-1) >= 0 {
		resp.Body = &cut{resp.Body, c.after}
	}
	return resp, err
}

type cut struct {
	io.ReadCloser
	left int64
}

func (c *cut) Read(p []byte) (int, error) {
	if c.left <= 0 {
		return 0, io.ErrUnexpectedEOF
	}
	n, err := c.ReadCloser.Read(p[:min(int64(len(p)), c.left)])
	c.left -= int64(n)
	return n, err
}

// The client of go-sdk lists and calls tools, sees their progress, answers questions, cancels, and reads what a thread
// has, in both eras of MCP, each request on another replica. In the older one, its streams are cut off and
// continued.
func TestPrograms_MCPCallsAreServedByAnyReplica(t *testing.T) {
	p := startPrograms(t)
	for _, revision := range []string{"2025-11-25", "2026-07-28"} {
		t.Run(revision, func(t *testing.T) {
			cutting := &cutter{after: 900}
			var progress, begun sync.Map // by token: what was said, and what cancels a call that has begun
			var asked atomic.Int64
			client := sdk.NewClient(&sdk.Implementation{Name: "replicatest", Version: "1"}, &sdk.ClientOptions{
				ElicitationHandler: func(context.Context, *sdk.ElicitRequest) (*sdk.ElicitResult, error) {
					asked.Add(1)
					return &sdk.ElicitResult{Action: "accept", Content: map[string]any{"approved": true}}, nil
				},
				ProgressNotificationHandler: func(_ context.Context, n *sdk.ProgressNotificationClientRequest) {
					said, _ := progress.LoadOrStore(n.Params.ProgressToken, &rigtest.Output{})
					_, _ = said.(*rigtest.Output).Write([]byte(n.Params.Message))
					if stop, ok := begun.Load(n.Params.ProgressToken); ok && strings.Contains(said.(*rigtest.Output).String(), "tick2") {
						stop.(context.CancelFunc)()
					}
				},
			})
			ctx, cancel := context.WithTimeout(t.Context(), 5*time.Minute)
			defer cancel()
			s, err := client.Connect(ctx, &sdk.StreamableClientTransport{Endpoint: p.url + "/v1/mcp", HTTPClient: &http.Client{Transport: cutting}, MaxRetries: 50, DisableStandaloneSSE: true},
				&sdk.ClientSessionOptions{ProtocolVersion: revision})
			if err != nil {
				t.Fatal(err)
			}
			defer s.Close()
			call := func(ctx context.Context, token, message, thread string) (string, *sdk.CallToolResult, error) {
				params := &sdk.CallToolParams{Name: "scenario", Arguments: map[string]any{"message": message, "thread_id": thread}}
				params.SetProgressToken(token)
				res, err := s.CallTool(ctx, params)
				if err != nil {
					return "", nil, err
				}
				text, _ := res.Content[0].(*sdk.TextContent)
				if text == nil {
					return "", nil, fmt.Errorf("the result is %+v", res)
				}
				return text.Text, res, nil
			}
			for i := range testenv.Times(1, 20) {
				thread := fmt.Sprintf("mcp-%s-%d", revision, i)
				for range 3 {
					if list, err := s.ListTools(ctx, nil); err != nil || len(list.Tools) < 3 {
						t.Fatalf("%v %v", list, err)
					}
				}
				if revision == "2025-11-25" {
					cutting.left.Store(3)
				}
				token := thread + " slow"
				if said, _, err := call(ctx, token, "scenario:slow", thread); err != nil || said != ticks {
					t.Errorf("scenario:slow: %q %v", said, err)
				}
				p.with(t).eventually("shown all progress", func() bool { // which the client does in its own time
					said, _ := progress.Load(token)
					return said != nil && said.(*rigtest.Output).String() == ticks
				})
				if n := cutting.left.Load(); n > 0 {
					t.Errorf("%d streams were not cut off: the test proves less than it says", n)
				}
				before := asked.Load()
				if said, res, err := call(ctx, thread+" asks", "scenario:approval", thread); err != nil || res.IsError || !strings.Contains(said, "deleted") || asked.Load() != before+1 {
					t.Errorf("scenario:approval: %q %v, asked %d times", said, err, asked.Load()-before)
				}
				read, err := s.ReadResource(ctx, &sdk.ReadResourceParams{URI: "awaken://threads/" + thread})
				if err != nil || !strings.Contains(read.Contents[0].Text, ticks) {
					t.Errorf("the thread is %+v %v", read, err)
				}
				// What the client cancels ends, wherever it runs.
				hung, stop := context.WithCancel(ctx)
				token = thread + " hangs"
				begun.Store(token, stop)
				if said, _, err := call(hung, token, "scenario:hang", thread); err == nil {
					t.Errorf("a call that was cancelled says %q", said)
				}
				stop()
				if list, err := s.ListTools(ctx, nil); err != nil || len(list.Tools) < 3 {
					t.Errorf("after a call was cancelled: %v %v", list, err)
				}
				p.with(t).eventually("cancelled", func() bool {
					_, text := p.ask("GET", "/v1/threads/"+thread+"/runs/latest", "", "")
					return strings.Contains(text, `"cancelled"`)
				})
			}
		})
	}
}
