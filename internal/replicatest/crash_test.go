package replicatest

import (
	"context"
	"fmt"
	"net/http"
	"strings"
	"sync/atomic"
	"testing"
	"time"

	"github.com/a2aproject/a2a-go/v2/a2a"
	"github.com/a2aproject/a2a-go/v2/a2aclient"
	sdk "github.com/modelcontextprotocol/go-sdk/mcp"
)

// The client of a2a-go says the words of the scenario agent by both bindings, while every replica is killed: the task
// that was begun ends, one that waits is answered, and the same message again is the same task.
func TestPrograms_A2ATasksSurviveThatEveryReplicaIsKilled(t *testing.T) {
	p := startPrograms(t)
	for _, binding := range []a2a.TransportProtocol{a2a.TransportProtocolJSONRPC, a2a.TransportProtocolHTTPJSON} {
		t.Run(string(binding), func(t *testing.T) {
			crashAll, p := p.crash, p.with(t) // the new replicas outlive the subtest
			ctx, cancel := context.WithTimeout(t.Context(), 5*time.Minute)
			defer cancel()
			c, err := a2aclient.NewFromEndpoints(ctx, []*a2a.AgentInterface{{URL: p.url + "/v1/a2a", ProtocolBinding: binding, ProtocolVersion: "1.0"}})
			if err != nil {
				t.Fatal(err)
			}
			get := func(id a2a.TaskID) (task *a2a.Task) {
				t.Helper()
				p.eventually("over", func() bool {
					var err error
					task, err = c.GetTask(ctx, &a2a.GetTaskRequest{Tenant: "scenario", ID: id})
					return err == nil && task.Status.State != a2a.TaskStateWorking && task.Status.State != a2a.TaskStateSubmitted
				})
				return task
			}
			for word, want := range map[string]string{"text": "This is a short text", "reasoning": "", "tool": "21", "tool-error": "", "data": "", "activity": ""} {
				r, err := c.SendMessage(ctx, scenario("scenario:"+word, nil))
				task, ok := r.(*a2a.Task)
				if err != nil || !ok || task.Status.State != a2a.TaskStateCompleted || !strings.Contains(textOf(task), want) {
					t.Errorf("scenario:%s: %+v, %v", word, r, err)
				}
			}
			if r, err := c.SendMessage(ctx, scenario("scenario:error", nil)); err != nil || r.(*a2a.Task).Status.State != a2a.TaskStateFailed {
				t.Errorf("scenario:error: %+v, %v", r, err)
			}

			slow := scenario("scenario:slow", nil)
			var id a2a.TaskID
			for e, err := range c.SendStreamingMessage(ctx, slow) {
				if err != nil {
					break // the connection is gone with the replicas
				}
				if task, ok := e.(*a2a.Task); ok {
					id = task.ID
				}
				if piece, ok := e.(*a2a.TaskArtifactUpdateEvent); ok && strings.Contains(answer(piece.Artifact), "tick3") {
					crashAll()
				}
			}
			if task := get(id); task.Status.State != a2a.TaskStateCompleted || textOf(task) != ticks {
				t.Errorf("after the crash the task is %s and says %q", task.Status.State, textOf(task))
			}
			if r, err := c.SendMessage(ctx, slow); err != nil || r.(*a2a.Task).ID != id {
				t.Errorf("the same message again: %+v, %v, want the task %s", r, err, id)
			}

			r, err := c.SendMessage(ctx, scenario("scenario:approval", nil))
			if err != nil || r.(*a2a.Task).Status.State != a2a.TaskStateInputRequired {
				t.Fatalf("scenario:approval: %+v, %v", r, err)
			}
			asks := r.(*a2a.Task)
			crashAll()
			approval := &a2a.SendMessageRequest{Tenant: "scenario", Message: a2a.NewMessageForTask(a2a.MessageRoleUser, asks, a2a.NewDataPart(map[string]any{"approved": true}))}
			if _, err := c.SendMessage(ctx, approval); err != nil {
				t.Fatal(err)
			}
			if task := get(asks.ID); task.Status.State != a2a.TaskStateCompleted || !strings.Contains(textOf(task), "deleted") {
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
