package replicatest

import (
	"context"
	"fmt"
	"iter"
	"strings"
	"testing"
	"time"

	"github.com/a2aproject/a2a-go/v2/a2a"
	"github.com/a2aproject/a2a-go/v2/a2aclient"
	"github.com/a2aproject/a2a-go/v2/a2aclient/agentcard"

	"github.com/awaken-go/awaken/internal/testenv"
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
func scenario(text string, config *a2a.SendMessageConfig) *a2a.SendMessageRequest {
	return &a2a.SendMessageRequest{Tenant: "scenario", Config: config, Message: a2a.NewMessage(a2a.MessageRoleUser, a2a.NewTextPart(text))}
}

// answer returns the text of an artifact.
func answer(a *a2a.Artifact) (text string) {
	for _, part := range a.Parts {
		text += part.Text()
	}
	return text
}

// textOf returns the answer of a task.
func textOf(t *a2a.Task) (text string) {
	for _, a := range t.Artifacts {
		text += answer(a)
	}
	return text
}

// follow reads a stream until stop says so, or to its end, and returns the task as the client has it then.
func followTask(t *testing.T, stream iter.Seq2[a2a.Event, error], stop func(text string) bool) (task *a2a.Task, text string) {
	t.Helper()
	for e, err := range stream {
		if err != nil {
			t.Fatal(err)
		}
		switch e := e.(type) {
		case *a2a.Task:
			task, text = e, textOf(e)
		case *a2a.TaskStatusUpdateEvent:
			task.Status = e.Status
		case *a2a.TaskArtifactUpdateEvent:
			if !e.Append {
				text = ""
			}
			text += answer(e.Artifact)
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
	p := startPrograms(t)
	for _, binding := range []a2a.TransportProtocol{a2a.TransportProtocolJSONRPC, a2a.TransportProtocolHTTPJSON} {
		t.Run(string(binding), func(t *testing.T) {
			ctx, cancel := context.WithTimeout(t.Context(), 5*time.Minute)
			defer cancel()
			card, err := agentcard.NewResolver(nil).Resolve(ctx, p.url)
			if err != nil {
				t.Fatal(err)
			}
			for _, i := range card.SupportedInterfaces {
				if !strings.HasPrefix(i.URL, p.url) {
					t.Fatalf("the card names %s, want the address that clients use, %s", i.URL, p.url)
				}
			}
			c, err := a2aclient.NewFromCard(ctx, card, a2aclient.WithConfig(a2aclient.Config{PreferredTransports: []a2a.TransportProtocol{binding}}))
			if err != nil {
				t.Fatal(err)
			}
			for range testenv.Times(1, 20) {
				alternateTasks(ctx, t, c)
			}
		})
	}
}

func alternateTasks(ctx context.Context, t *testing.T, c *a2aclient.Client) {
	t.Helper()
	send := func(m *a2a.SendMessageRequest) *a2a.Task {
		t.Helper()
		result, err := c.SendMessage(ctx, m)
		if err != nil {
			t.Fatal(err)
		}
		task, ok := result.(*a2a.Task)
		if !ok {
			t.Fatalf("a message became %T", result)
		}
		return task
	}
	get := func(id a2a.TaskID, state a2a.TaskState) *a2a.Task {
		t.Helper()
		task, err := c.GetTask(ctx, &a2a.GetTaskRequest{Tenant: "scenario", ID: id})
		if err != nil || task.Status.State != state {
			t.Fatalf("%+v, %v, want the state %s", task, err, state)
		}
		return task
	}
	first := scenario("scenario:text", nil)
	first.Message.ContextID = a2a.NewContextID()
	done := send(first)
	if !strings.HasPrefix(textOf(done), "This is a short text") || done.Status.State != a2a.TaskStateCompleted {
		t.Errorf("the task is %+v", done)
	}
	if again := send(first); again.ID != done.ID {
		t.Errorf("the same message became the tasks %s and %s", done.ID, again.ID)
	}
	get(done.ID, a2a.TaskStateCompleted)

	// A stream that breaks off is continued by a subscription, on another replica.
	slow := scenario("scenario:slow", nil)
	slow.Message.ContextID = done.ContextID
	task, _ := followTask(t, c.SendStreamingMessage(ctx, slow), func(text string) bool { return strings.Contains(text, "tick3") })
	followTask(t, c.SubscribeToTask(ctx, &a2a.SubscribeToTaskRequest{Tenant: "scenario", ID: task.ID}), func(text string) bool { return strings.Contains(text, "tick6") })
	get(task.ID, a2a.TaskStateWorking)
	if end, text := followTask(t, c.SubscribeToTask(ctx, &a2a.SubscribeToTaskRequest{Tenant: "scenario", ID: task.ID}), nil); text != ticks || end.Status.State != a2a.TaskStateCompleted {
		t.Errorf("after two other streams: %s %q", end.Status.State, text)
	}
	if got := get(task.ID, a2a.TaskStateCompleted); textOf(got) != ticks {
		t.Errorf("the task says %q", textOf(got))
	}

	// A task is cancelled while others follow it.
	hung := scenario("scenario:hang", &a2a.SendMessageConfig{ReturnImmediately: true})
	hung.Message.ContextID = done.ContextID
	task = send(hung)
	followTask(t, c.SubscribeToTask(ctx, &a2a.SubscribeToTaskRequest{Tenant: "scenario", ID: task.ID}), func(text string) bool { return strings.Contains(text, "tick2") })
	if cancelled, err := c.CancelTask(ctx, &a2a.CancelTaskRequest{Tenant: "scenario", ID: task.ID}); err != nil || cancelled.Status.State != a2a.TaskStateCanceled {
		t.Errorf("cancelled: %+v, %v", cancelled, err)
	}
	get(task.ID, a2a.TaskStateCanceled)

	// A question is answered.
	asks := scenario("scenario:approval", nil)
	asks.Message.ContextID = done.ContextID
	task = send(asks)
	if task.Status.State != a2a.TaskStateInputRequired {
		t.Fatalf("the task is %+v", task)
	}
	get(task.ID, a2a.TaskStateInputRequired)
	approval := &a2a.SendMessageRequest{Tenant: "scenario", Message: a2a.NewMessageForTask(a2a.MessageRoleUser, task, a2a.NewDataPart(map[string]any{"approved": true}))}
	if task = send(approval); task.Status.State != a2a.TaskStateCompleted || !strings.Contains(textOf(task), "deleted") {
		t.Errorf("approved: %+v %q", task, textOf(task))
	}

	// Pages are continued by other replicas.
	seen := map[a2a.TaskID]bool{}
	for token := ""; ; {
		page, err := c.ListTasks(ctx, &a2a.ListTasksRequest{Tenant: "scenario", ContextID: done.ContextID, PageSize: 1, PageToken: token})
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
