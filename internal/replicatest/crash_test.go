package replicatest

import (
	"context"
	"fmt"
	"net/http"
	"strings"
	"sync/atomic"
	"testing"
	"time"

	sdk "github.com/modelcontextprotocol/go-sdk/mcp"

	"github.com/awaken-go/awaken/protocol/a2a"
	"github.com/awaken-go/awaken/protocol/a2a/a2atest"
)

// The client of a2a-go says the words of the scenario agent by both bindings, while every replica is killed: the task
// that was begun ends, one that waits is answered, and the same message again is the same task.
func TestPrograms_A2ATasksSurviveThatEveryReplicaIsKilled(t *testing.T) {
	p, peer := startPrograms(t), a2atest.Start(t)
	for _, binding := range []string{a2atest.JSONRPC, a2atest.HTTPJSON} {
		t.Run(binding, func(t *testing.T) {
			crashAll, p := p.crash, p.with(t) // the new replicas outlive the subtest
			ctx, cancel := context.WithTimeout(t.Context(), 5*time.Minute)
			defer cancel()
			c := peer.Client(a2atest.At{URL: p.url + "/v1/a2a", Binding: binding})
			get := func(id string) (task *a2a.Task) {
				t.Helper()
				p.eventually("over", func() bool {
					var err error
					task, err = c.GetTask(ctx, a2atest.ID{Tenant: "scenario", ID: id})
					return err == nil && task.Status.State != a2a.Working && task.Status.State != a2a.Submitted
				})
				return task
			}
			for word, want := range map[string]string{"text": "This is a short text", "reasoning": "", "tool": "21", "tool-error": "", "data": "", "activity": ""} {
				task, err := c.SendMessage(ctx, scenario("scenario:"+word))
				if err != nil || task.Status.State != a2a.Completed || !strings.Contains(textOf(task), want) {
					t.Errorf("scenario:%s: %+v, %v", word, task, err)
				}
			}
			if r, err := c.SendMessage(ctx, scenario("scenario:error")); err != nil || r.Status.State != a2a.Failed {
				t.Errorf("scenario:error: %+v, %v", r, err)
			}

			slow := scenario("scenario:slow")
			id := ""
			for e, err := range c.SendStreamingMessage(ctx, slow) {
				if err != nil {
					break // the connection is gone with the replicas
				}
				if e.Task != nil {
					id = e.Task.ID
				}
				if piece := e.ArtifactUpdate; piece != nil && strings.Contains(a2atest.TextOf(piece.Artifact), "tick3") {
					crashAll()
				}
			}
			if task := get(id); task.Status.State != a2a.Completed || textOf(task) != ticks {
				t.Errorf("after the crash the task is %s and says %q", task.Status.State, textOf(task))
			}
			if r, err := c.SendMessage(ctx, slow); err != nil || r.ID != id {
				t.Errorf("the same message again: %+v, %v, want the task %s", r, err, id)
			}

			asks, err := c.SendMessage(ctx, scenario("scenario:approval"))
			if err != nil || asks.Status.State != a2a.InputRequired {
				t.Fatalf("scenario:approval: %+v, %v", asks, err)
			}
			crashAll()
			if _, err := c.SendMessage(ctx, approve(asks)); err != nil {
				t.Fatal(err)
			}
			if task := get(asks.ID); task.Status.State != a2a.Completed || !strings.Contains(textOf(task), "deleted") {
				t.Errorf("approved after the crash: %s %q", task.Status.State, textOf(task))
			}
		})
	}
	p.replay()
}

// The client of go-sdk says the words of the scenario agent in both eras of MCP, while every replica is killed. A call that was cut
// off is an error there, and the run that it began ends by itself.
func TestPrograms_MCPCallsSurviveThatEveryReplicaIsKilled(t *testing.T) {
	p := startPrograms(t)
	for _, revision := range []string{"2025-11-25", "2026-07-28"} {
		t.Run(revision, func(t *testing.T) {
			crashAll, p := p.crash, p.with(t) // the new replicas outlive the subtest
			ctx, cancel := context.WithTimeout(t.Context(), 5*time.Minute)
			defer cancel()
			crashed := make(chan struct{})
			var slow atomic.Bool // the next tick3 kills the replicas
			client := sdk.NewClient(&sdk.Implementation{Name: "replicatest", Version: "1"}, &sdk.ClientOptions{
				ElicitationHandler: func(context.Context, *sdk.ElicitRequest) (*sdk.ElicitResult, error) {
					return &sdk.ElicitResult{Action: "accept", Content: map[string]any{"approved": true}}, nil
				},
				ProgressNotificationHandler: func(_ context.Context, n *sdk.ProgressNotificationClientRequest) {
					if strings.Contains(n.Params.Message, "tick3") && slow.CompareAndSwap(true, false) {
						defer close(crashed)
						crashAll()
					}
				},
			})
			s, err := client.Connect(ctx, &sdk.StreamableClientTransport{Endpoint: p.url + "/v1/mcp", HTTPClient: &http.Client{}, MaxRetries: 50, DisableStandaloneSSE: true}, &sdk.ClientSessionOptions{ProtocolVersion: revision})
			if err != nil {
				t.Fatal(err)
			}
			defer s.Close()
			thread := "killed-" + revision
			call := func(word string) (string, error) {
				params := &sdk.CallToolParams{Name: "scenario", Arguments: map[string]any{"message": "scenario:" + word, "thread_id": thread}}
				params.SetProgressToken(word)
				res, err := s.CallTool(ctx, params)
				if err != nil {
					return "", err
				}
				text, _ := res.Content[0].(*sdk.TextContent)
				if text == nil {
					return "", fmt.Errorf("the result is %+v", res)
				}
				return text.Text, nil
			}
			words := func() {
				t.Helper()
				for word, want := range map[string]string{"text": "This is a short text", "reasoning": "", "tool": "21", "tool-error": "", "data": "", "activity": "", "approval": "deleted", "error": "boom"} {
					if said, err := call(word); err != nil || !strings.Contains(said, want) {
						t.Errorf("scenario:%s: %q %v, want %q", word, said, err, want)
					}
				}
			}
			words()
			slow.Store(true)
			said, err := call("slow")
			select {
			case <-crashed:
			case <-time.After(patience):
				t.Fatal("no replica was killed: the test proves less than it says")
			}
			if err == nil && said != ticks {
				t.Errorf("scenario:slow says %q after the crash", said)
			}
			p.eventually("ended", func() bool {
				_, text := p.ask("GET", "/v1/threads/"+thread+"/runs/latest", "", "")
				return strings.Contains(text, `"done"`) && strings.Contains(text, "tick19")
			})
			words()
		})
	}
	p.replay()
}
