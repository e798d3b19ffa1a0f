package sqlite_test

import (
	"fmt"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"github.com/awaken-go/awaken"
	"github.com/awaken-go/awaken/llm"
	"github.com/awaken-go/awaken/mailbox"
)

// BenchmarkStart accepts, begins and ends runs of one turn on new threads, 64 at a time: what the store does for W6d.
func BenchmarkStart(b *testing.B) {
	db, _ := openFile(b)
	if err := db.Join(b.Context(), "p", time.Hour); err != nil {
		b.Fatal(err)
	}
	store := db.Store("")
	answer := strings.Repeat("x", 640)
	var n atomic.Int64
	b.ResetTimer()
	var all sync.WaitGroup
	for range 64 {
		all.Go(func() {
			for i := n.Add(1); i <= int64(b.N); i = n.Add(1) {
				if err := oneTurn(b, store, fmt.Sprintf("0199f3a0-0000-7000-8000-%012d", i), answer); err != nil {
					b.Error(err)
					return
				}
			}
		})
	}
	all.Wait()
}

// oneTurn accepts, begins and ends a run on a new thread.
func oneTurn(tb testing.TB, store interface {
	mailbox.Handle
	mailbox.Starter
}, id, answer string) error {
	now := time.Now().UnixMilli()
	thread, run := "t-"+id, "r-"+id
	input := &llm.Message{ID: "m-" + id, Role: llm.User, Content: []llm.Block{llm.Text("how warm is it in Paris?")}, Metadata: &llm.Metadata{RunID: run}}
	d := &mailbox.Dispatch{ID: "d-" + id, ThreadID: thread, RunID: run, Priority: mailbox.DefaultPriority, MaxAttempts: 5, ClaimToken: "c-" + id,
		Request: &awaken.RunRequest{AgentID: "agent", ThreadID: thread, RunID: run, DispatchID: "d-" + id, Messages: []*llm.Message{input}}}
	d.Checkpoint = store.Expected(thread)
	rec := awaken.Run{RunID: run, ThreadID: thread, AgentID: "agent", DispatchID: d.ID, Status: awaken.RunRunning, Origin: "user", ResolutionID: "1", CreatedAt: now, StartedAt: now, UpdatedAt: now}
	c := &awaken.Commit{ThreadID: thread, Fence: d.Checkpoint.Fence, Number: 1, Time: now, Run: rec, Messages: []*llm.Message{input},
		Entries: []awaken.Entry{{Cursor: awaken.Cursor{Epoch: d.Checkpoint.Fence, Seq: 1}, RunID: run, Time: now, Event: &awaken.RunStart{ThreadID: thread, RunID: run}}}}
	ok, err := store.Start(tb.Context(), mailbox.Terms{Start: &mailbox.ClaimRequest{Consumer: "p", Lease: time.Hour}}, d, c)
	if err != nil || !ok {
		return fmt.Errorf("Start = %t, %v", ok, err)
	}
	rec.Status, rec.FinishedAt, rec.Steps, rec.Termination = awaken.RunDone, now, 1, awaken.Termination{Type: awaken.NaturalEnd}
	c = &awaken.Commit{ThreadID: thread, Fence: c.Fence, Number: 2, Time: now, Run: rec, Expect: 1, RequireEmptyInbox: true,
		Messages: []*llm.Message{{ID: "a-" + id, Role: llm.Assistant, Content: []llm.Block{llm.Text(answer)}, Metadata: &llm.Metadata{RunID: run}}},
		Entries: []awaken.Entry{{Cursor: awaken.Cursor{Epoch: c.Fence, Seq: 2}, RunID: run, Time: now, Event: &awaken.TextDelta{Delta: answer}},
			{Cursor: awaken.Cursor{Epoch: c.Fence, Seq: 3}, RunID: run, Time: now, Event: &awaken.RunFinish{ThreadID: thread, RunID: run}}}}
	out, err := store.CommitAndSettle(tb.Context(), c, mailbox.Settlement{Claim: d.Claim(), Status: mailbox.Acked}, nil)
	if err == nil && !out.Settled {
		err = fmt.Errorf("CommitAndSettle = %+v", out)
	}
	return err
}
