package a2a_test

import (
	"context"
	"strings"
	"testing"

	sdk "github.com/a2aproject/a2a-go/v2/a2a"
	"github.com/a2aproject/a2a-go/v2/a2aclient"

	"github.com/awaken-go/awaken/protocol/a2a"
	"github.com/awaken-go/awaken/protocol/protocoltest"
)

// sdkClient returns a client of a2a-go for an agent.
func sdkClient(t *testing.T, url, agent string, binding sdk.TransportProtocol) *a2aclient.Client {
	t.Helper()
	c, err := a2aclient.NewFromEndpoints(t.Context(), []*sdk.AgentInterface{{URL: url + "/v1/a2a", ProtocolBinding: binding, ProtocolVersion: "1.0", Tenant: agent}})
	if err != nil {
		t.Fatal(err)
	}
	return c
}

// collected is a task as the events of a stream tell it.
type collected struct {
	id    sdk.TaskID
	state sdk.TaskState
	text  string
}

func (c *collected) take(e sdk.Event) {
	switch e := e.(type) {
	case *sdk.Task:
		c.id, c.state, c.text = e.ID, e.Status.State, ""
		for _, a := range e.Artifacts {
			for _, p := range a.Parts {
				c.text += p.Text()
			}
		}
	case *sdk.TaskStatusUpdateEvent:
		c.state = e.Status.State
	case *sdk.TaskArtifactUpdateEvent:
		if !e.Append {
			c.text = ""
		}
		for _, p := range e.Artifact.Parts {
			c.text += p.Text()
		}
	}
}

// The client of a2a-go says the words of the scenario agent that A2A has words for, in both bindings; is cut off and subscribes again; and does so on
// another replica. (A process that is killed is the matter of the tests in internal/e2e.)
func TestSDK(t *testing.T) {
	for _, binding := range []sdk.TransportProtocol{sdk.TransportProtocolHTTPJSON, sdk.TransportProtocolJSONRPC} {
		t.Run(string(binding), func(t *testing.T) {
			release := make(chan struct{})
			g := newRigWith(t, a2a.Config{}, release)
			client := sdkClient(t, g.URL, "default", binding)
			send := func(m *sdk.Message) *sdk.Task {
				t.Helper()
				r, err := client.SendMessage(t.Context(), &sdk.SendMessageRequest{Message: m})
				if err != nil {
					t.Fatal(err)
				}
				return r.(*sdk.Task)
			}
			say := func(text string) *sdk.Task {
				t.Helper()
				return send(sdk.NewMessage(sdk.MessageRoleUser, sdk.NewTextPart(text)))
			}
			whole := func(task *sdk.Task) *collected {
				c := new(collected)
				c.take(task)
				return c
			}
			if got := whole(say("scenario:text")); got.state != sdk.TaskStateCompleted || got.text == "" {
				t.Errorf("%+v", got)
			}
			if got := whole(say("scenario:error")); got.state != sdk.TaskStateFailed {
				t.Errorf("%+v", got)
			}
			asks := say("RUN_TOOL ask")
			if asks.Status.State != sdk.TaskStateInputRequired {
				t.Fatalf("%+v", asks.Status)
			}
			answer := sdk.NewMessageForTask(sdk.MessageRoleUser, asks, sdk.NewTextPart("approve"), sdk.NewDataPart(map[string]any{"approved": true}))
			if done := send(answer); done.ID != asks.ID || done.Status.State != sdk.TaskStateCompleted {
				t.Errorf("%+v", done)
			}
			if _, err := client.GetTask(t.Context(), &sdk.GetTaskRequest{ID: "none"}); err == nil || !strings.Contains(err.Error(), "not found") {
				t.Errorf("an unknown task: %v", err)
			}

			_, other := g.Start(true)
			slow := sdkClient(t, g.URL, "slow", binding)
			seen := new(collected)
			cut, cancel := context.WithCancel(t.Context())
			for e, err := range slow.SendStreamingMessage(cut, &sdk.SendMessageRequest{Message: sdk.NewMessage(sdk.MessageRoleUser, sdk.NewTextPart("go"))}) {
				if err != nil {
					break
				}
				if seen.take(e); seen.text != "" {
					cancel()
				}
			}
			cancel()
			close(release)
			for _, url := range []string{g.URL, other} {
				task, err := sdkClient(t, url, "slow", binding).GetTask(t.Context(), &sdk.GetTaskRequest{ID: seen.id})
				for err == nil && !task.Status.State.Terminal() {
					for e, err := range sdkClient(t, url, "slow", binding).SubscribeToTask(t.Context(), &sdk.SubscribeToTaskRequest{ID: seen.id}) {
						if err != nil {
							break // it is over
						}
						seen.take(e)
					}
					task, err = sdkClient(t, url, "slow", binding).GetTask(t.Context(), &sdk.GetTaskRequest{ID: seen.id})
				}
				if err != nil {
					t.Fatal(err)
				}
				if got := whole(task); got.text != protocoltest.SlowText || got.state != sdk.TaskStateCompleted {
					t.Errorf("%s: %+v", url, got)
				}
			}
		})
	}
}
