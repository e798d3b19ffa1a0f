package mailbox_test

import (
	"context"
	"sync/atomic"
	"testing"
	"time"

	"github.com/awaken-go/awaken"
	"github.com/awaken-go/awaken/engine"
	"github.com/awaken-go/awaken/internal/bubbletest"
	"github.com/awaken-go/awaken/llm"
	"github.com/awaken-go/awaken/mailbox"
)

// endHook does something at the end of a run.
type endHook struct{ at func() }

func (endHook) Name() string { return "endhook" }

func (p endHook) Register(r *awaken.Registrar) error {
	r.On(awaken.PhaseRunEnd, func(context.Context, *awaken.HookCall) error { p.at(); return nil })
	return nil
}

func TestSubmit_SteeringDuringTheLastHooksIsProcessed(t *testing.T) {
	bubbletest.Test(t, func(t *testing.T) {
		g := newRig(t)
		var once atomic.Bool
		var tn *mailbox.Tenant
		b := zbox(g, model{}, nil, []awaken.Plugin{endHook{func() {
			if once.CompareAndSwap(false, true) {
				s := say("t", "second")
				s.Mode = mailbox.ModeSteer
				if r, err := tn.Submit(context.Background(), s); err != nil {
					t.Error(err)
				} else {
					t.Logf("accepted: %+v", *r)
				}
			}
		}}})
		tn = b.Tenant("")
		defer work(b)()
		g.submit(tn, say("t", "first"))
		time.Sleep(time.Hour)
		items, _ := tn.Store.Unread(t.Context(), "t")
		if len(items) != 0 {
			t.Errorf("an hour later %d accepted inputs are still unread", len(items))
		}
	})
}

// endCommitQueue does something before the end of a run is committed.
type endCommitQueue struct {
	mailbox.Queue
	at func()
}

type endCommitHandle struct {
	mailbox.Handle
	q *endCommitQueue
}

func (q *endCommitQueue) Handle(tn string) mailbox.Handle {
	return endCommitHandle{q.Queue.Handle(tn), q}
}

func (h endCommitHandle) CommitAndSettle(ctx context.Context, c *awaken.Commit, s mailbox.Settlement, wake *mailbox.Dispatch) (mailbox.Settled, error) {
	if c.Run.Status == awaken.RunDone && h.q.at != nil {
		h.q.at()
	}
	return h.Handle.CommitAndSettle(ctx, c, s, wake)
}

func TestWork_SteeringWhileAnExhaustedRunEndsIsProcessed(t *testing.T) {
	bubbletest.Test(t, func(t *testing.T) {
		g := newRig(t)
		q := &endCommitQueue{Queue: g.queue}
		var bad atomic.Bool
		bad.Store(true)
		m := streamFunc(func(ctx context.Context, req *llm.Request, yield func(llm.Delta, error) bool) {
			model{}.Stream(ctx, req)(yield)
		})
		b := zbox(g, m, nil, nil, func(c *mailbox.Config) {
			c.Queue = q
			c.Sink = func(string) awaken.Sink {
				return awaken.SinkFunc(func(_ context.Context, e awaken.Entry) error {
					if _, ok := e.Event.(*awaken.TextDelta); ok && bad.Load() {
						panic("poison")
					}
					return nil
				})
			}
		})
		tn := b.Tenant("")
		var once atomic.Bool
		q.at = func() {
			if once.CompareAndSwap(false, true) {
				bad.Store(false)
				s := say("t", "second")
				s.Mode = mailbox.ModeSteer
				if _, err := tn.Submit(context.Background(), s); err != nil {
					t.Error(err)
				}
			}
		}
		defer work(b)()
		r := g.submit(tn, say("t", "first"))
		time.Sleep(time.Hour)
		g.wantRun(tn, r.RunID, awaken.RunDone, awaken.Failed, "")
		if items, _ := tn.Store.Unread(t.Context(), "t"); len(items) != 0 {
			t.Errorf("%d accepted inputs are still unread", len(items))
		}
	})
}

func TestWork_UnreadInputDoesNotWaitForTheWakeUpOfADoneRun(t *testing.T) {
	bubbletest.Test(t, func(t *testing.T) {
		g := newRig(t)
		b := g.box()
		tn := b.Tenant("")
		g.submit(tn, say("t", "use expire"))
		r2 := g.submit(tn, say("t", "use wait"))
		defer work(b)()
		time.Sleep(time.Second)
		g.wantRun(tn, r2.RunID, awaken.RunRunning, "", "")
		s := say("t", "do not lose me")
		s.Mode, s.Boundary = mailbox.ModeSteer, awaken.OnNaturalEnd
		g.submit(tn, s)
		if err := tn.Cancel(t.Context(), r2.RunID); err != nil {
			t.Fatal(err)
		}
		time.Sleep(30 * time.Minute)
		if items, _ := tn.Store.Unread(t.Context(), "t"); len(items) != 0 {
			ds, _ := tn.Store.Dispatches(t.Context(), mailbox.Query{ThreadID: "t", Statuses: []mailbox.Status{mailbox.Queued}})
			for _, d := range ds {
				t.Logf("queued: run %s, in %s", d.RunID, time.Until(time.UnixMilli(d.AvailableAt)))
			}
			t.Errorf("half an hour later %d inputs are unread", len(items))
		}
	})
}

func TestWork_UnreadInputOutlivesTheRunQueuedForIt(t *testing.T) {
	bubbletest.Test(t, func(t *testing.T) {
		g := newRig(t)
		b := g.box()
		tn := b.Tenant("")
		r1 := g.submit(tn, say("t", "use wait"))
		s2 := say("t", "later")
		s2.Delay = time.Minute
		r2 := g.submit(tn, s2)
		defer work(b)()
		time.Sleep(time.Second)
		s := say("t", "do not lose me")
		s.Mode, s.Boundary = mailbox.ModeSteer, awaken.OnNaturalEnd
		g.submit(tn, s)
		if err := tn.Cancel(t.Context(), r1.RunID); err != nil {
			t.Fatal(err)
		}
		time.Sleep(time.Second)
		if err := tn.Cancel(t.Context(), r2.RunID); err != nil {
			t.Fatal(err)
		}
		time.Sleep(time.Hour)
		if items, _ := tn.Store.Unread(t.Context(), "t"); len(items) != 0 {
			t.Errorf("an hour later %d inputs are unread", len(items))
		}
	})
}

// Not even what the run that was interrupted had not taken in.
func TestInterrupt_StartsNothingNew(t *testing.T) {
	bubbletest.Test(t, func(t *testing.T) {
		g := newRig(t)
		b := g.box()
		tn := b.Tenant("")
		g.submit(tn, say("t", "use wait"))
		defer work(b)()
		time.Sleep(time.Second)
		s := say("t", "use effect")
		s.Mode, s.Boundary = mailbox.ModeSteer, awaken.OnNaturalEnd
		g.submit(tn, s)
		if _, err := tn.Interrupt(t.Context(), "t"); err != nil {
			t.Fatal(err)
		}
		time.Sleep(time.Hour)
		if n := g.effects.Load(); n != 0 {
			t.Errorf("%d effects after an acknowledged interrupt, of input that came before it", n)
		}
	})
}

// A worker that does not know the agent gives the run up. What the run had not taken in
// is worked on by a run that can start, and starts no run after run that cannot.
func TestWork_UnreadInputOfAFailedRunIsKept(t *testing.T) {
	bubbletest.Test(t, func(t *testing.T) {
		g := newRig(t)
		a := g.box()
		stop := work(a)
		tn := a.Tenant("")
		r := g.submit(tn, say("t", "use wait"))
		time.Sleep(time.Second)
		s := say("t", "do not lose me")
		s.Mode = mailbox.ModeSteer
		g.submit(tn, s)
		rt, err := engine.New(engine.Config{Agents: []*awaken.AgentSpec{{ID: "other", ModelID: "m"}},
			Models: []awaken.ModelSpec{{ID: "m", ProviderID: "p", UpstreamModel: "m"}}, Providers: map[string]llm.Model{"p": model{}}})
		if err != nil {
			t.Fatal(err)
		}
		go func() { time.Sleep(time.Second); stop() }()
		b := g.boxWith(rt, func(c *mailbox.Config) { c.Lease = time.Second })
		stopB := work(b)
		time.Sleep(2 * time.Hour)
		g.wantRun(tn, r.RunID, awaken.RunDone, awaken.Failed, "")
		runs, err := tn.Store.ListRuns(t.Context(), awaken.RunQuery{ThreadID: "t"})
		if len(runs) != 2 || err != nil {
			t.Errorf("%d runs, want 2: %v", len(runs), err)
		}
		if items, err := tn.Store.Unread(t.Context(), "t"); len(items) != 1 || err != nil {
			t.Errorf("%d inputs are kept, want 1: %v", len(items), err)
		}
		stopB()
		c := g.box()
		defer work(c)()
		last := g.submit(tn, say("t", "hello"))
		time.Sleep(time.Minute)
		g.wantRun(tn, last.RunID, awaken.RunDone, awaken.NaturalEnd, "you said")
		if items, err := tn.Store.Unread(t.Context(), "t"); len(items) != 0 || err != nil {
			t.Errorf("%d inputs are unread: %v", len(items), err)
		}
	})
}
