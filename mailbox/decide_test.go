package mailbox_test

import (
	"context"
	"fmt"
	"sync/atomic"
	"testing"
	"time"

	"github.com/awaken-go/awaken"
	"github.com/awaken-go/awaken/internal/bubbletest"
	"github.com/awaken-go/awaken/llm"
	"github.com/awaken-go/awaken/mailbox"
)

// atClaim does something once a dispatch is claimed.
type atClaim struct {
	mailbox.Queue
	after func()
	once  atomic.Bool
}

func (q *atClaim) Claim(ctx context.Context, c mailbox.ClaimRequest) ([]*mailbox.Dispatch, time.Duration, error) {
	ds, next, err := q.Queue.Claim(ctx, c)
	if len(ds) > 0 && q.once.CompareAndSwap(false, true) {
		q.after()
	}
	return ds, next, err
}

func TestWork_ExpiryStillFiresAfterASecondDecision(t *testing.T) {
	bubbletest.Test(t, func(t *testing.T) {
		g := newRig(t)
		m := streamFunc(func(_ context.Context, req *llm.Request, yield func(llm.Delta, error) bool) {
			for _, m := range req.Messages.All() {
				if m.Role == llm.ToolRole {
					yield(llm.Delta{Kind: llm.TextDelta, Text: "over"}, nil)
					yield(llm.Delta{Kind: llm.FinishDelta, Finish: llm.EndTurn}, nil)
					return
				}
			}
			for i := range 3 {
				id := fmt.Sprint("c", i)
				yield(llm.Delta{Kind: llm.ToolCallStart, ID: id, Name: "ask"}, nil)
				yield(llm.Delta{Kind: llm.ToolCallDelta, ID: id, Text: "{}"}, nil)
			}
			yield(llm.Delta{Kind: llm.FinishDelta, Finish: llm.ToolUse}, nil)
		})
		tools := []awaken.Tool{awaken.NewTool(awaken.ToolSpec{ID: "ask"}, func(_ context.Context, c *awaken.ToolCall, _ struct{}) (string, error) {
			if c.Resume != nil {
				return "approved", nil
			}
			return "", awaken.Suspend(awaken.Ticket{Suspension: awaken.Suspension{Action: "ask"}, ExpiresIn: time.Hour})
		})}
		b := zbox(g, m, tools, nil)
		tn := b.Tenant("")
		stop := work(b)
		r := g.submit(tn, say("t", "go"))
		time.Sleep(time.Second)
		g.wantRun(tn, r.RunID, awaken.RunWaiting, "", "")
		stop()
		// One decision is claimed by a worker; another comes before it has acquired the thread.
		if _, err := tn.Decide(t.Context(), r.RunID, awaken.Decision{Target: "c0", Action: awaken.ActionResume}); err != nil {
			t.Fatal(err)
		}
		q := &atClaim{Queue: g.queue}
		q.after = func() {
			if _, err := tn.Decide(context.Background(), r.RunID, awaken.Decision{Target: "c1", Action: awaken.ActionResume}); err != nil {
				t.Error(err)
			}
		}
		b2 := zbox(g, m, tools, nil, func(c *mailbox.Config) { c.Queue = q })
		defer work(b2)()
		time.Sleep(2 * time.Hour)
		g.wantRun(tn, r.RunID, awaken.RunDone, awaken.NaturalEnd, "over") // c2 expired an hour ago
	})
}

func TestDecide_InTimeIsNotExpiredByALateWorker(t *testing.T) {
	bubbletest.Test(t, func(t *testing.T) {
		g := newRig(t)
		tools := []awaken.Tool{awaken.NewTool(awaken.ToolSpec{ID: "ask"}, func(_ context.Context, c *awaken.ToolCall, _ struct{}) (string, error) {
			if c.Resume != nil {
				return "approved", nil
			}
			return "", awaken.Suspend(awaken.Ticket{Suspension: awaken.Suspension{Action: "ask"}, ExpiresIn: time.Hour})
		})}
		b := zbox(g, model{}, tools, nil)
		tn := b.Tenant("")
		stop := work(b)
		r := g.submit(tn, say("t", "use ask"))
		time.Sleep(time.Minute)
		stop()
		time.Sleep(58 * time.Minute)
		if _, err := tn.Decide(t.Context(), r.RunID, awaken.Decision{Target: "call-ask", Action: awaken.ActionResume}); err != nil {
			t.Fatal(err)
		}
		time.Sleep(2 * time.Minute) // the workers are busy or being deployed
		b2 := zbox(g, model{}, tools, nil)
		defer work(b2)()
		time.Sleep(time.Minute)
		g.wantRun(tn, r.RunID, awaken.RunDone, awaken.NaturalEnd, "got approved")
	})
}

func TestDecide_AnOlderQueuedRunDoesNotEndADecidedOne(t *testing.T) {
	bubbletest.Test(t, func(t *testing.T) {
		g := newRig(t)
		block := make(chan struct{})
		m := streamFunc(func(ctx context.Context, req *llm.Request, yield func(llm.Delta, error) bool) {
			<-block
			model{}.Stream(ctx, req)(yield)
		})
		tools := []awaken.Tool{awaken.NewTool(awaken.ToolSpec{ID: "ask"}, func(_ context.Context, c *awaken.ToolCall, _ struct{}) (string, error) {
			if c.Resume != nil {
				return "approved", nil
			}
			return "", awaken.Suspend(awaken.Ticket{Suspension: awaken.Suspension{Action: "ask"}})
		})}
		b := zbox(g, m, tools, nil)
		tn := b.Tenant("")
		stop := work(b)
		r1 := g.submit(tn, say("t", "use ask"))
		time.Sleep(time.Second)
		g.submit(tn, say("t", "next")) // queued behind
		time.AfterFunc(time.Second, func() { close(block) })
		stop() // drains: the run parks
		g.wantRun(tn, r1.RunID, awaken.RunWaiting, "", "")
		if _, err := tn.Decide(t.Context(), r1.RunID, awaken.Decision{Target: "call-ask", Action: awaken.ActionResume}); err != nil {
			t.Fatal(err)
		}
		b2 := zbox(g, m, tools, nil)
		defer work(b2)()
		time.Sleep(time.Minute)
		g.wantRun(tn, r1.RunID, awaken.RunDone, awaken.NaturalEnd, "got approved")
	})
}

func TestSubmit_ARepeatedDecisionDoesNotStartARun(t *testing.T) {
	bubbletest.Test(t, func(t *testing.T) {
		g := newRig(t)
		b := g.box()
		defer work(b)()
		tn := b.Tenant("")
		r := g.submit(tn, say("t", "use ask"))
		time.Sleep(time.Second)
		s := mailbox.Submission{Request: awaken.RunRequest{ThreadID: "t", Decisions: []awaken.Decision{{ID: "d1", Target: "call-ask", Action: awaken.ActionResume}}}}
		g.submit(tn, s)
		time.Sleep(time.Second)
		g.wantRun(tn, r.RunID, awaken.RunDone, awaken.NaturalEnd, "got approved")
		again, err := tn.Submit(t.Context(), s) // the client did not get the answer
		t.Logf("%+v %v", again, err)
		time.Sleep(time.Second)
		runs, _ := tn.Store.ListRuns(t.Context(), awaken.RunQuery{ThreadID: "t"})
		if len(runs) != 1 {
			t.Errorf("%d runs, want 1: the last said %q", len(runs), runs[0].FinalOutput)
		}
	})
}

func TestDecide_RejectsInvalidDecisionsAtOnce(t *testing.T) {
	bubbletest.Test(t, func(t *testing.T) {
		g := newRig(t)
		type args struct {
			N int `json:"n,omitempty"`
		}
		tools := []awaken.Tool{awaken.NewTool(awaken.ToolSpec{ID: "ask"}, func(_ context.Context, c *awaken.ToolCall, _ args) (string, error) {
			if c.Resume != nil {
				return "approved", nil
			}
			return "", awaken.Suspend(awaken.Ticket{Suspension: awaken.Suspension{Action: "ask"}})
		})}
		b := zbox(g, model{}, tools, nil)
		defer work(b)()
		tn := b.Tenant("")
		r := g.submit(tn, say("t", "use ask"))
		time.Sleep(time.Second)
		_, err := tn.Decide(t.Context(), r.RunID, awaken.Decision{Target: "call-ask", Action: awaken.ActionResume, Arguments: []byte(`{"n":"x"}`)})
		time.Sleep(time.Hour)
		if run := g.run(tn, r.RunID); err == nil && run.Status == awaken.RunWaiting {
			t.Error("Decide accepted the decision, and the run still waits")
		}
	})
}
