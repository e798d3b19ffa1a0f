package mailboxtest

import (
	"errors"
	"fmt"

	"github.com/awaken-go/awaken"
	"github.com/awaken-go/awaken/llm"
)

var recentCases = []testCase{
	{"FollowsTheThread", func(k *kit) {
		ctx := k.Context()
		if r, err := k.store.Recent(ctx, "t", 5); !errors.Is(err, awaken.ErrNotFound) {
			k.Fatalf("a thread that does not exist: %+v, %v", r, err)
		}
		want := func(what string, messages, most int, open bool, runID string) {
			k.Helper()
			r, err := k.store.Recent(ctx, "t", most)
			if err != nil {
				k.Fatalf("%s: %v", what, err)
			}
			if r.Thread.ID != "t" || r.Thread.MessageCount != messages || len(r.Messages) != min(messages, most) || (r.Open() != nil) != open {
				k.Errorf("%s: %+v with %d messages, open is %v", what, r.Thread, len(r.Messages), r.Open())
			}
			for i, m := range r.Messages {
				if seq := messages - len(r.Messages) + i + 1; m.Seq != seq || m.Message.Text() != fmt.Sprint("message ", seq) || m.ThreadID != "t" {
					k.Errorf("%s: message %d is %+v", what, i, m)
				}
			}
			if runID == "" && r.Run != nil || runID != "" && (r.Run == nil || r.Run.RunID != runID) {
				k.Errorf("%s: the run is %+v, want %q", what, r.Run, runID)
				return
			}
			if loaded, err := k.store.LoadRun(ctx, runID); runID != "" && (err != nil || loaded.Status != r.Run.Status || loaded.Steps != r.Run.Steps || loaded.AgentID != r.Run.AgentID) {
				k.Errorf("%s: the run is %+v, LoadRun returns %+v, %v", what, r.Run, loaded, err)
			}
		}
		messages := 0
		said := func(n int) (out []*llm.Message) {
			for range n {
				messages++
				out = append(out, &llm.Message{ID: fmt.Sprint("m", messages), Role: llm.User, Content: []llm.Block{llm.Text(fmt.Sprint("message ", messages))}})
			}
			return out
		}
		cp, err := k.store.Acquire(ctx, "t")
		if err != nil {
			k.Fatal(err)
		}
		want("without a run", 0, 5, false, "")
		commit := func(run string, number uint64, status awaken.RunStatus, steps, n int) {
			k.Helper()
			c := &awaken.Commit{ThreadID: "t", Fence: cp.Fence, Number: number, Time: 1, Expect: messages,
				Run: awaken.Run{RunID: run, ThreadID: "t", AgentID: "agent of " + run, Status: status, Steps: steps, CreatedAt: 1, UpdatedAt: 1, StartedAt: 1}}
			if status == awaken.RunDone {
				c.Run.Termination, c.Run.FinishedAt = awaken.Termination{Type: awaken.NaturalEnd}, 1
			}
			c.Messages = said(n)
			if err := k.store.Commit(ctx, c); err != nil {
				k.Fatal(err)
			}
		}
		commit("a", 1, awaken.RunRunning, 0, 2)
		want("running", 2, 5, true, "a")
		commit("a", 2, awaken.RunRunning, 1, 3)
		want("after a step", 5, 3, true, "a")
		commit("a", 3, awaken.RunDone, 2, 1)
		want("done", 6, 4, false, "a")
		want("without messages", 6, 0, false, "a")
		commit("b", 4, awaken.RunRunning, 0, 300)
		want("another", 306, 256, true, "b")
		commit("b", 5, awaken.RunDone, 1, 0)
		want("done too", 306, 500, false, "b")
	}},
}
