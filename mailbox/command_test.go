package mailbox_test

import (
	"context"
	"testing"
	"testing/synctest"
	"time"

	"github.com/awaken-go/awaken"
	"github.com/awaken-go/awaken/bus"
	"github.com/awaken-go/awaken/bus/bustest"
	"github.com/awaken-go/awaken/internal/bubbletest"
	"github.com/awaken-go/awaken/llm"
	"github.com/awaken-go/awaken/mailbox"
)

// replicas are two processes that share a queue which signals nothing. Only the first one works.
type replicas struct {
	g            *rig
	owner, other *mailbox.Tenant
	started      chan struct{} // the long call has begun
	stopped      time.Time     // when the long call was cancelled
	resumed      time.Time     // when the call that asks got its decision
	bus          *bustest.Memory
}

// inReplicas runs fn with two processes, and a run in the first one of which a call takes an hour and
// another asks a question.
func inReplicas(t *testing.T, cut bool, fn func(r *replicas, runID string)) {
	t.Helper()
	bubbletest.Test(t, func(t *testing.T) {
		r := &replicas{g: newRig(t), started: make(chan struct{}), bus: bustest.NewMemory(7999, bustest.Faults{})}
		m := streamFunc(func(_ context.Context, req *llm.Request, yield func(llm.Delta, error) bool) {
			for _, m := range req.Messages.All() {
				if m.Role == llm.ToolRole {
					yield(llm.Delta{Kind: llm.TextDelta, Text: "over"}, nil)
					yield(llm.Delta{Kind: llm.FinishDelta, Finish: llm.EndTurn}, nil)
					return
				}
			}
			for _, name := range []string{"ask", "long"} {
				yield(llm.Delta{Kind: llm.ToolCallStart, ID: name, Name: name}, nil)
				yield(llm.Delta{Kind: llm.ToolCallDelta, ID: name, Text: "{}"}, nil)
			}
			yield(llm.Delta{Kind: llm.FinishDelta, Finish: llm.ToolUse}, nil)
		})
		ask := awaken.NewTool(awaken.ToolSpec{ID: "ask"}, func(_ context.Context, c *awaken.ToolCall, _ struct{}) (string, error) {
			if c.Resume == nil {
				return "", awaken.Suspend(awaken.Ticket{Suspension: awaken.Suspension{Action: "ask"}})
			}
			r.resumed = time.Now()
			return "approved", nil
		})
		long := awaken.NewTool(awaken.ToolSpec{ID: "long", Effect: awaken.ReadOnly, Timeout: 2 * time.Hour}, func(ctx context.Context, _ *awaken.ToolCall, _ struct{}) (string, error) {
			close(r.started)
			select {
			case <-time.After(time.Hour):
				return "done", nil
			case <-ctx.Done():
				r.stopped = time.Now()
				return "", context.Cause(ctx)
			}
		})
		r.bus.Cut(cut)
		ctx, cancel := context.WithCancel(t.Context())
		process := func() *mailbox.Mailbox {
			x := bus.NewExchange(r.bus.Join())
			go x.Run(ctx)
			return zbox(r.g, m, []awaken.Tool{ask, long}, nil, func(c *mailbox.Config) { c.Bus, c.Queue = x, struct{ mailbox.Queue }{r.g.queue} })
		}
		owner, other := process(), process()
		r.owner, r.other = owner.Tenant(""), other.Tenant("")
		stop := work(owner)
		run := r.g.submit(r.owner, say("t", "go"))
		<-r.started
		time.Sleep(time.Second) // the question is committed
		fn(r, run.RunID)
		stop()
		cancel()
		synctest.Wait()
	})
}

// A cancel that another process accepts stops a call at once. If the bus loses it, the next renewal of
// the lease does.
func TestBus_ACancelReachesTheOwner(t *testing.T) {
	for _, cut := range []bool{false, true} {
		inReplicas(t, cut, func(r *replicas, runID string) {
			from := time.Now()
			if err := r.other.Cancel(t.Context(), runID); err != nil {
				t.Fatal(err)
			}
			time.Sleep(11 * time.Second)
			synctest.Wait()
			took := r.stopped.Sub(from)
			if r.stopped.IsZero() || !cut && took > 10*time.Millisecond || cut && took == 0 {
				t.Errorf("bus cut: %t: the call stopped %s after the cancel", cut, took)
			}
			r.g.wantRun(r.owner, runID, awaken.RunDone, awaken.Cancelled, "")
		})
	}
}

// A decision that another process accepts is acted on at once, while another call runs. If the bus loses
// it, the run finds it within five seconds.
func TestBus_ADecisionReachesTheOwner(t *testing.T) {
	for _, cut := range []bool{false, true} {
		inReplicas(t, cut, func(r *replicas, runID string) {
			from := time.Now()
			if _, err := r.other.Decide(t.Context(), runID, awaken.Decision{Target: "ask", Action: awaken.ActionResume}); err != nil {
				t.Fatal(err)
			}
			time.Sleep(5 * time.Second)
			synctest.Wait()
			took := r.resumed.Sub(from)
			if r.resumed.IsZero() || !cut && took > 10*time.Millisecond || cut && took == 0 {
				t.Errorf("bus cut: %t: the call was resumed %s after the decision", cut, took)
			}
			time.Sleep(2 * time.Hour)
			r.g.wantRun(r.owner, runID, awaken.RunDone, awaken.NaturalEnd, "over")
		})
	}
}

// What concerns the owner alone is not sent: neither what it accepts itself nor input for a thread that
// none runs.
func TestBus_NothingIsSentWithoutAnOwnerElsewhere(t *testing.T) {
	inReplicas(t, false, func(r *replicas, runID string) {
		before, _ := r.bus.Sent()
		if _, err := r.owner.Decide(t.Context(), runID, awaken.Decision{Target: "ask", Action: awaken.ActionResume}); err != nil {
			t.Fatal(err)
		}
		r.g.submit(r.other, say("u", "go"))
		if err := r.other.Cancel(t.Context(), "u"); err != nil {
			t.Fatal(err)
		}
		if err := r.owner.Cancel(t.Context(), runID); err != nil {
			t.Fatal(err)
		}
		time.Sleep(time.Second)
		if after, _ := r.bus.Sent(); after != before {
			t.Errorf("%d messages", after-before)
		}
	})
}
