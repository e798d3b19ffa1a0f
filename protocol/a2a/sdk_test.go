package a2a_test

import (
	"context"
	"strings"
	"testing"

	"github.com/awaken-go/awaken/protocol/a2a"
	"github.com/awaken-go/awaken/protocol/a2a/a2atest"
	"github.com/awaken-go/awaken/protocol/protocoltest"
)

// collected is a task as the events of a stream tell it.
type collected struct {
	id    string
	state a2a.State
	text  string
}

func (c *collected) take(e a2atest.Event) {
	switch {
	case e.Task != nil:
		c.id, c.state, c.text = e.Task.ID, e.Task.Status.State, a2atest.TextOf(e.Task.Artifacts...)
	case e.StatusUpdate != nil:
		c.state = e.StatusUpdate.Status.State
	case e.ArtifactUpdate != nil:
		if !e.ArtifactUpdate.Append {
			c.text = ""
		}
		c.text += a2atest.TextOf(e.ArtifactUpdate.Artifact)
	}
}

// The client of a2a-go says the words of the scenario agent that A2A has words for, in both bindings; is cut off and subscribes again; and does so on
// another replica. (A process that is killed is the matter of the tests in internal/e2e.)
func TestSDK(t *testing.T) {
	peer := a2atest.Start(t)
	for _, binding := range []string{a2atest.HTTPJSON, a2atest.JSONRPC} {
		t.Run(binding, func(t *testing.T) {
			release := make(chan struct{})
			g := newRigWith(t, a2a.Config{}, release)
			sdk := func(url, agent string) *a2atest.Client {
				return peer.Client(a2atest.At{URL: url + "/v1/a2a", Binding: binding, Tenant: agent})
			}
			client := sdk(g.URL, "default")
			send := func(m a2a.Message) *a2a.Task {
				t.Helper()
				task, err := client.SendMessage(t.Context(), a2atest.Send{Message: m})
				if err != nil {
					t.Fatal(err)
				}
				return task
			}
			say := func(text string) *a2a.Task {
				t.Helper()
				return send(a2atest.Text(text))
			}
			whole := func(task *a2a.Task) *collected {
				c := new(collected)
				c.take(a2atest.Event{Task: task})
				return c
			}
			if got := whole(say("scenario:text")); got.state != a2a.Completed || got.text == "" {
				t.Errorf("%+v", got)
			}
			if got := whole(say("scenario:error")); got.state != a2a.Failed {
				t.Errorf("%+v", got)
			}
			asks := say("RUN_TOOL ask")
			if asks.Status.State != a2a.InputRequired {
				t.Fatalf("%+v", asks.Status)
			}
			if done := send(a2atest.Answer(asks, `{"approved":true}`, "approve")); done.ID != asks.ID || done.Status.State != a2a.Completed {
				t.Errorf("%+v", done)
			}
			if _, err := client.GetTask(t.Context(), a2atest.ID{ID: "none"}); err == nil || !strings.Contains(err.Error(), "not found") {
				t.Errorf("an unknown task: %v", err)
			}

			_, other := g.Start(true)
			slow := sdk(g.URL, "slow")
			seen := new(collected)
			cut, cancel := context.WithCancel(t.Context())
			for e, err := range slow.SendStreamingMessage(cut, a2atest.Send{Message: a2atest.Text("go")}) {
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
				task, err := sdk(url, "slow").GetTask(t.Context(), a2atest.ID{ID: seen.id})
				for err == nil && !task.Status.State.Terminal() {
					for e, err := range sdk(url, "slow").SubscribeToTask(t.Context(), a2atest.ID{ID: seen.id}) {
						if err != nil {
							break // it is over
						}
						seen.take(e)
					}
					task, err = sdk(url, "slow").GetTask(t.Context(), a2atest.ID{ID: seen.id})
				}
				if err != nil {
					t.Fatal(err)
				}
				if got := whole(task); got.text != protocoltest.SlowText || got.state != a2a.Completed {
					t.Errorf("%s: %+v", url, got)
				}
			}
		})
	}
}
