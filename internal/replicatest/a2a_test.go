package replicatest

import (
	"context"
	"fmt"
	"iter"
	"strings"
	"testing"
	"time"

	"github.com/awaken-go/awaken/internal/ids"
	"github.com/awaken-go/awaken/internal/testenv"
	"github.com/awaken-go/awaken/protocol/a2a"
	"github.com/awaken-go/awaken/protocol/a2a/a2atest"
)

// ticks is what the demo's scenario:slow says.
var ticks = func() string {
	var sb strings.Builder
	for i := range 20 {
		fmt.Fprintf(&sb, "tick%d ", i)
	}
	return sb.String()
}()

// scenario returns a message to the demo's scenario agent.
func scenario(text string) a2atest.Send {
	return a2atest.Send{Tenant: "scenario", Message: a2atest.Text(text)}
}

// approve returns the answer to the question of a task.
func approve(task *a2a.Task) a2atest.Send {
	return a2atest.Send{Tenant: "scenario", Message: a2atest.Answer(task, `{"approved":true}`)}
}

// textOf returns the answer of a task.
func textOf(t *a2a.Task) string { return a2atest.TextOf(t.Artifacts...) }

// followTask reads a stream until stop says so, or to its end, and returns the task as the client has it then.
func followTask(t *testing.T, stream iter.Seq2[a2atest.Event, error], stop func(text string) bool) (task *a2a.Task, text string) {
	t.Helper()
	for e, err := range stream {
		if err != nil {
			t.Fatal(err)
		}
		switch {
		case e.Task != nil:
			task, text = e.Task, textOf(e.Task)
		case e.StatusUpdate != nil:
			task.Status = e.StatusUpdate.Status
		case e.ArtifactUpdate != nil:
			if !e.ArtifactUpdate.Append {
				text = ""
			}
			text += a2atest.TextOf(e.ArtifactUpdate.Artifact)
		}
		if stop != nil && stop(text) {
			break
		}
	}
	if task == nil {
		t.Fatal("the stream has no task")
	}
	return task, text
}

// The client of a2a-go sends, streams, subscribes, gets, lists, cancels and decides by both bindings, each request on
// another replica.
func TestPrograms_A2ATasksAreServedByAnyReplica(t *testing.T) {
	p, peer := startPrograms(t), a2atest.Start(t)
	for _, binding := range []string{a2atest.JSONRPC, a2atest.HTTPJSON} {
		t.Run(binding, func(t *testing.T) {
			ctx, cancel := context.WithTimeout(t.Context(), 5*time.Minute)
			defer cancel()
			c := peer.Client(a2atest.At{Card: p.url, Binding: binding})
			card, err := c.Card(ctx)
			if err != nil {
				t.Fatal(err)
			}
			for _, i := range card.Interfaces {
				if !strings.HasPrefix(i.URL, p.url) {
					t.Fatalf("the card names %s, want the address that clients use, %s", i.URL, p.url)
				}
			}
			for range testenv.Times(1, 20) {
				alternateTasks(ctx, t, c)
			}
		})
	}
}

func alternateTasks(ctx context.Context, t *testing.T, c *a2atest.Client) {
	t.Helper()
	send := func(m a2atest.Send) *a2a.Task {
		t.Helper()
		task, err := c.SendMessage(ctx, m)
		if err != nil {
			t.Fatal(err)
		}
		return task
	}
	get := func(id string, state a2a.State) *a2a.Task {
		t.Helper()
		task, err := c.GetTask(ctx, a2atest.ID{Tenant: "scenario", ID: id})
		if err != nil || task.Status.State != state {
			t.Fatalf("%+v, %v, want the state %s", task, err, state)
		}
		return task
	}
	first := scenario("scenario:text")
	first.Message.ContextID = ids.New()
	done := send(first)
	if !strings.HasPrefix(textOf(done), "This is a short text") || done.Status.State != a2a.Completed {
		t.Errorf("the task is %+v", done)
	}
	if again := send(first); again.ID != done.ID {
		t.Errorf("the same message became the tasks %s and %s", done.ID, again.ID)
	}
	get(done.ID, a2a.Completed)

	// A stream that breaks off is continued by a subscription, on another replica.
	slow := scenario("scenario:slow")
	slow.Message.ContextID = done.ContextID
	task, _ := followTask(t, c.SendStreamingMessage(ctx, slow), func(text string) bool { return strings.Contains(text, "tick3") })
	followTask(t, c.SubscribeToTask(ctx, a2atest.ID{Tenant: "scenario", ID: task.ID}), func(text string) bool { return strings.Contains(text, "tick6") })
	get(task.ID, a2a.Working)
	if end, text := followTask(t, c.SubscribeToTask(ctx, a2atest.ID{Tenant: "scenario", ID: task.ID}), nil); text != ticks || end.Status.State != a2a.Completed {
		t.Errorf("after two other streams: %s %q", end.Status.State, text)
	}
	if got := get(task.ID, a2a.Completed); textOf(got) != ticks {
		t.Errorf("the task says %q", textOf(got))
	}

	// A task is cancelled while others follow it.
	hung := scenario("scenario:hang")
	hung.Config, hung.Message.ContextID = &a2atest.SendConfig{ReturnImmediately: true}, done.ContextID
	task = send(hung)
	followTask(t, c.SubscribeToTask(ctx, a2atest.ID{Tenant: "scenario", ID: task.ID}), func(text string) bool { return strings.Contains(text, "tick2") })
	if cancelled, err := c.CancelTask(ctx, a2atest.ID{Tenant: "scenario", ID: task.ID}); err != nil || cancelled.Status.State != a2a.Canceled {
		t.Errorf("cancelled: %+v, %v", cancelled, err)
	}
	get(task.ID, a2a.Canceled)

	// A question is answered.
	asks := scenario("scenario:approval")
	asks.Message.ContextID = done.ContextID
	task = send(asks)
	if task.Status.State != a2a.InputRequired {
		t.Fatalf("the task is %+v", task)
	}
	get(task.ID, a2a.InputRequired)
	if task = send(approve(task)); task.Status.State != a2a.Completed || !strings.Contains(textOf(task), "deleted") {
		t.Errorf("approved: %+v %q", task, textOf(task))
	}

	// Pages are continued by other replicas.
	seen := map[string]bool{}
	for token := ""; ; {
		page, err := c.ListTasks(ctx, a2atest.List{Tenant: "scenario", ContextID: done.ContextID, PageSize: 1, PageToken: token})
		if err != nil {
			t.Fatal(err)
		}
		for _, task := range page.Tasks {
			if seen[task.ID] {
				t.Errorf("%s is listed twice", task.ID)
			}
			seen[task.ID] = true
		}
		if token = page.NextPageToken; token == "" {
			break
		}
	}
	if len(seen) != 4 || !seen[done.ID] || !seen[task.ID] {
		t.Errorf("the list has %v, want four tasks", seen)
	}
}
