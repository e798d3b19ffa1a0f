package a2a_test

import (
	"sync"
	"testing"
	"time"

	"github.com/awaken-go/awaken/protocol"
	"github.com/awaken-go/awaken/protocol/a2a"
)

// A message that joins a running task counts once, also if it is sent several times at once.
func TestSend_AMessageThatJoinsATaskCountsOnceAtOnce(t *testing.T) {
	slow := make(chan struct{})
	g := newRigWith(t, a2a.Config{}, slow)
	atOnce := config{"returnImmediately": true}
	task := g.task("SendMessage", body(message("go"), atOnce, "slow"))
	eventually := func(state string) {
		t.Helper()
		for deadline := time.Now().Add(10 * time.Second); g.task("GetTask", map[string]any{"id": task.ID}).Status.State != a2a.State(state); time.Sleep(time.Millisecond) {
			if time.Now().After(deadline) {
				t.Fatalf("the task is not %s", state)
			}
		}
	}
	eventually(string(a2a.Working))
	more := message("more")
	more.TaskID = task.ID
	var wg sync.WaitGroup
	for range 8 {
		wg.Go(func() {
			if r := g.ask("SendMessage", body(more, atOnce, "")); r.status != 200 || r.reason != "" {
				t.Errorf("%+v", r)
			}
		})
	}
	wg.Wait()
	close(slow)
	eventually(string(a2a.Completed))
	all, err := protocol.Conversation(t.Context(), g.Box.Tenant(""), task.ContextID)
	if err != nil {
		t.Fatal(err)
	}
	n := 0
	for _, m := range all {
		if m.ID == more.MessageID {
			n++
		}
	}
	if n != 1 {
		t.Errorf("the conversation has the message %d times, want once: %+v", n, all)
	}
}
