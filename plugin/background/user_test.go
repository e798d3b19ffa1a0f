package background_test

import (
	"strings"
	"testing"
	"time"

	"github.com/awaken-go/awaken"
	"github.com/awaken-go/awaken/internal/bubbletest"
	"github.com/awaken-go/awaken/llm"
	"github.com/awaken-go/awaken/llm/llmtest"
)

// A model cannot write to another user's thread; what it writes to its own user's is answered for that
// user.
func TestSendMessage_StaysWithTheUser(t *testing.T) {
	for _, tt := range []struct {
		from, to string
		arrives  bool
	}{{"alice", "alice", true}, {"bob", "alice", false}, {"", "alice", false}, {"alice", "", true}, {"", "", true}} {
		bubbletest.Test(t, func(t *testing.T) {
			o := newOffice(t)
			o.agent("default", llmtest.Use("send_message", `{"to": {"relation": "agent", "thread_id": "there"}, "message": "hello"}`), llmtest.Say("sent"))
			there := o.agent("other", llmtest.Say("first"), llmtest.Say("second"))
			q, stop := o.serve()
			defer stop()
			if err := q.Start(t.Context(), awaken.RunRequest{AgentID: "other", ThreadID: "there", RunID: "r0", UserID: tt.to, Messages: []*llm.Message{llm.UserText("hi")}}); err != nil {
				t.Fatal(err)
			}
			time.Sleep(time.Second)
			req := goOn("default")
			req.UserID = tt.from
			if err := q.Start(t.Context(), req); err != nil {
				t.Fatal(err)
			}
			time.Sleep(time.Minute)
			o.wantRun("r", awaken.RunDone, "sent")
			msgs, err := o.db.Store("").Messages(t.Context(), "there", awaken.MessageQuery{})
			if err != nil {
				t.Fatal(err)
			}
			arrived := false
			for _, m := range msgs {
				arrived = arrived || strings.Contains(m.Message.Text(), "hello")
			}
			if arrived != tt.arrives || there.Calls() != map[bool]int{true: 2, false: 1}[tt.arrives] {
				t.Errorf("from %q to %q: arrived %v, and the agent was asked %d times", tt.from, tt.to, arrived, there.Calls())
			}
			runs, err := o.db.Store("").ListRuns(t.Context(), awaken.RunQuery{ThreadID: "there"})
			if err != nil {
				t.Fatal(err)
			}
			for _, r := range runs {
				if r.UserID != tt.to {
					t.Errorf("from %q to %q: run %s is for %q", tt.from, tt.to, r.RunID, r.UserID)
				}
			}
		})
	}
}
