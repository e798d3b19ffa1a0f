package memory_test

import (
	"context"
	"fmt"
	"testing"
	"time"

	"github.com/awaken-go/awaken"
	"github.com/awaken-go/awaken/llm"
	"github.com/awaken-go/awaken/mailbox"
	"github.com/awaken-go/awaken/store/memory"
)

// A dispatch that begins at once is copied once, for the store: what the caller has stays the caller's.
func TestEnqueue_CopiesADispatchOnce(t *testing.T) {
	ctx, db := context.Background(), memory.NewDB()
	if err := db.Join(ctx, "p", time.Hour); err != nil {
		t.Fatal(err)
	}
	s := db.Handle("")
	terms := mailbox.Terms{Start: &mailbox.ClaimRequest{Consumer: "p", Lease: time.Minute, Limit: 1}}
	const runs = 1000
	ds := make([]*mailbox.Dispatch, 0, runs+1)
	for i := range runs + 1 {
		thread, run, id := fmt.Sprint("t", i), fmt.Sprint("r", i), fmt.Sprint("d", i)
		ds = append(ds, &mailbox.Dispatch{ID: id, ThreadID: thread, RunID: run, MaxAttempts: 5, Priority: mailbox.DefaultPriority,
			Request: &awaken.RunRequest{AgentID: "a", ThreadID: thread, RunID: run, DispatchID: id, Messages: []*llm.Message{llm.UserText("hello")}}})
	}
	next := 0
	allocs := testing.AllocsPerRun(runs, func() {
		d := ds[next]
		next++
		if left, err := s.Enqueue(ctx, terms, d); err != nil || len(left) > 0 || d.Status != mailbox.Claimed {
			t.Fatalf("the dispatch is %s: %v, %v", d.Status, left, err)
		}
	})
	t.Logf("%.1f allocations", allocs)
	if allocs > 8 {
		t.Errorf("Enqueue makes %.1f allocations, want 8 at most", allocs)
	}
	mine := ds[0]
	mine.Request.AgentID = "changed"
	if stored, err := s.Dispatch(ctx, mine.ID); err != nil || stored.Request.AgentID != "a" {
		t.Errorf("the store has what its caller changed: %v, %v", stored, err)
	}
}
