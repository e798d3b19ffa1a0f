package mailbox_test

import (
	"context"
	"errors"
	"fmt"
	"iter"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"

	"github.com/awaken-go/awaken"
	"github.com/awaken-go/awaken/eventlog"
	"github.com/awaken-go/awaken/llm"
	"github.com/awaken-go/awaken/mailbox"
)

type streamFunc func(ctx context.Context, req *llm.Request, yield func(llm.Delta, error) bool)

func (f streamFunc) Stream(ctx context.Context, req *llm.Request) iter.Seq2[llm.Delta, error] {
	return func(yield func(llm.Delta, error) bool) { f(ctx, req, yield) }
}

// zbox is a mailbox with another model, tools and plugins.
func zbox(g *rig, m llm.Model, tools []awaken.Tool, plugins []awaken.Plugin, change ...func(*mailbox.Config)) *mailbox.Mailbox {
	g.t.Helper()
	spec := &awaken.AgentSpec{ID: "default", ModelID: "m", ToolExecutionMode: awaken.ParallelStreaming}
	for _, p := range plugins {
		spec.PluginIDs = append(spec.PluginIDs, p.Name())
	}
	rt, err := awaken.New(awaken.Config{Agents: []*awaken.AgentSpec{spec}, Models: []awaken.ModelSpec{{ID: "m", ProviderID: "p", UpstreamModel: "m"}},
		Providers: map[string]llm.Model{"p": m}, Tools: tools, Plugins: plugins})
	if err != nil {
		g.t.Fatal(err)
	}
	return g.box(append([]func(*mailbox.Config){func(c *mailbox.Config) { c.Runtime = rt }}, change...)...)
}

// A steering message that comes while the run_end hooks run is never worked on.

type endHook struct{ at func() }

func (endHook) Name() string { return "endhook" }
func (p endHook) Register(r *awaken.Registrar) error {
	r.On(awaken.PhaseRunEnd, func(context.Context, *awaken.HookCall) error { p.at(); return nil })
	return nil
}

func TestHard_SteerDuringRunEndHooks(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
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

// Expiry is forgotten when a second wake-up finds nothing to do.

func TestHard_ExpiryForgottenAfterASecondDecision(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
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
		time.Sleep(24 * time.Hour)
		g.wantRun(tn, r.RunID, awaken.RunDone, awaken.NaturalEnd, "over") // c2 expired 23 hours ago
	})
}

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

// A decision that was accepted in time is refused because the worker came late.

func TestHard_ADecisionInTimeIsNotExpired(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
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

// An accepted decision is lost to an older queued message.

func TestHard_AnOlderQueuedRunDoesNotKillADecidedOne(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
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

// A commit that was on its way for longer than the lease resurrects a cancelled run.

type slowCommitQueue struct {
	mailbox.Queue
	delay time.Duration
	once  atomic.Bool
}
type slowCommitHandle struct {
	mailbox.Handle
	q *slowCommitQueue
}

func (q *slowCommitQueue) Handle(tn string) mailbox.Handle {
	return slowCommitHandle{q.Queue.Handle(tn), q}
}
func (h slowCommitHandle) Commit(ctx context.Context, c *awaken.Commit) error {
	if h.q.once.CompareAndSwap(false, true) {
		time.Sleep(h.q.delay)
	}
	return h.Handle.Commit(ctx, c)
}

func TestHard_ACancelledRunStaysCancelled(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		g := newRig(t)
		q := &slowCommitQueue{Queue: g.queue, delay: 60 * time.Second}
		bq := &brokenQueue{Queue: q}
		a := g.box(func(c *mailbox.Config) { c.Queue = bq })
		stopA := work(a)
		defer stopA()
		tn := a.Tenant("")
		r := g.submit(tn, say("t", "hello"))
		time.Sleep(time.Second)
		bq.broken.Store(true) // its connection hangs: no renewals, and the commit is on its way
		time.Sleep(31 * time.Second)
		if n, err := g.db.Reclaim(t.Context(), 10); err != nil {
			t.Fatal(n, err)
		}
		if err := tn.Cancel(t.Context(), r.RunID); err != nil {
			t.Fatal(err)
		}
		g.wantRun(tn, r.RunID, awaken.RunDone, awaken.Cancelled, "")
		bq.broken.Store(false)
		time.Sleep(time.Hour)
		g.wantRun(tn, r.RunID, awaken.RunDone, awaken.Cancelled, "")
		th, _ := tn.Store.Thread(t.Context(), "t")
		if th.OpenRunID != "" {
			t.Errorf("the thread has an open run %s and no dispatch", th.OpenRunID)
		}
	})
}

// A sink that panics.

func TestHard_ASinkThatPanicsDoesNotKeepARunForever(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		g := newRig(t)
		b := g.box(func(c *mailbox.Config) {
			c.Sink = func(string) awaken.Sink {
				return awaken.SinkFunc(func(context.Context, awaken.Entry) error { panic("sink") })
			}
		})
		defer work(b)()
		tn := b.Tenant("")
		r := g.submit(tn, say("t", "hello"))
		time.Sleep(24 * time.Hour)
		d, _ := tn.Store.Dispatch(t.Context(), r.DispatchID)
		run := g.run(tn, r.RunID)
		if run.Status != awaken.RunDone {
			t.Errorf("after a day the run is %s, dispatch %s, %d attempts", run.Status, d.Status, d.Attempts)
		}
	})
}

// Readers in a process whose run is stuck do not see what the new owner does.

func TestHard_ReadersSeeTheNewOwnerThoughTheOldIsStuck(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		g := newRig(t)
		unblock := make(chan struct{})
		stuck := streamFunc(func(_ context.Context, _ *llm.Request, yield func(llm.Delta, error) bool) {
			yield(llm.Delta{Kind: llm.TextDelta, Text: "lost"}, nil)
			<-unblock // a provider's library that does not heed the context
			yield(llm.Delta{Kind: llm.FinishDelta, Finish: llm.EndTurn}, nil)
		})
		broken := &brokenQueue{Queue: g.queue}
		a := zbox(g, stuck, nil, nil, func(c *mailbox.Config) { c.Queue = broken })
		stopA := work(a)
		tn := a.Tenant("")
		r := g.submit(tn, say("t", "hello"))
		time.Sleep(time.Second)
		var finished atomic.Bool
		ctx, cancel := context.WithCancel(t.Context())
		go func() {
			for e, err := range tn.Log.Tail(ctx, "t", r.After, eventlog.Follow{RunID: r.RunID, Pause: 15 * time.Second}) {
				if _, ok := e.Event.(*awaken.RunFinish); ok && err == nil {
					finished.Store(true)
				}
			}
		}()
		broken.broken.Store(true)
		b := g.box()
		stopB := work(b)
		time.Sleep(time.Hour)
		g.wantRun(tn, r.RunID, awaken.RunDone, awaken.NaturalEnd, "you said hello")
		if !finished.Load() {
			t.Error("an hour after the end a reader of the first process has not seen it")
		}
		close(unblock)
		stopB()
		stopA()
		cancel()
		synctest.Wait()
	})
}

// Settle fails for one reason or another while Renew works.

type noSettle struct {
	mailbox.Queue
	bad atomic.Bool
	n   atomic.Int64
}

func (q *noSettle) Settle(ctx context.Context, s ...mailbox.Settlement) ([]error, error) {
	if q.bad.Load() {
		q.n.Add(1)
		return nil, errors.New("value too long for type")
	}
	return q.Queue.Settle(ctx, s...)
}

func TestHard_WorkReturnsThoughNothingCanBeSettled(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		g := newRig(t)
		q := &noSettle{Queue: g.queue}
		q.bad.Store(true)
		b := g.box(func(c *mailbox.Config) { c.Queue = q })
		tn := b.Tenant("")
		stop := work(b)
		g.submit(tn, say("t", "hello"))
		time.Sleep(time.Second)
		start := time.Now()
		time.AfterFunc(24*time.Hour, func() { q.bad.Store(false) })
		stop()
		if took := time.Since(start); took > time.Hour {
			t.Errorf("Work took %s to return, with %d tries", took, q.n.Load())
		}
	})
}

// A repeated decision by Submit starts another run.

func TestHard_ARepeatedDecisionDoesNotStartARun(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
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

// A decision whose arguments do not fit is accepted and then dropped.

func TestHard_ADecisionThatCannotBeTakenIsRefusedAtOnce(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
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

// Steering input that comes while an exhausted run is being ended is never worked on.

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
func (h endCommitHandle) Commit(ctx context.Context, c *awaken.Commit) error {
	if c.Run.Status == awaken.RunDone && h.q.at != nil {
		h.q.at()
	}
	return h.Handle.Commit(ctx, c)
}

func TestHard_SteerWhileAnExhaustedRunEnds(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
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

// The owner of a lost claim ends a run that another worker runs.

type handFunc struct {
	mailbox.Queue
	acquire func()
}
type handFuncH struct {
	mailbox.Handle
	q *handFunc
}

func (q *handFunc) Handle(tn string) mailbox.Handle { return handFuncH{q.Queue.Handle(tn), q} }
func (h handFuncH) Acquire(ctx context.Context, id string) (*awaken.Checkpoint, error) {
	if h.q.acquire != nil {
		h.q.acquire()
	}
	return h.Handle.Acquire(ctx, id)
}

func (g *rig) wantDispatchClaim(tn *mailbox.Tenant, r *mailbox.Receipt) {
	ds, err := tn.Store.Dispatches(context.Background(), mailbox.Query{ThreadID: "t", Statuses: []mailbox.Status{mailbox.Queued, mailbox.Claimed}})
	if err != nil || len(ds) != 1 || ds[0].Status != mailbox.Queued {
		g.t.Errorf("the claim is not void: %v, %v", ds, err)
	}
}

func TestHard_AStaleOwnerEndsNothing(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		g := newRig(t)
		// The run waits; somebody cancels it; the worker that is to end it loses its claim
		// before it has acquired the thread.
		a := g.box()
		stop := work(a)
		tn := a.Tenant("")
		r := g.submit(tn, say("t", "use ask"))
		time.Sleep(time.Second)
		stop()
		if err := tn.Cancel(t.Context(), r.RunID); err != nil {
			t.Fatal(err)
		}
		hq := &handFunc{Queue: g.queue}
		var once atomic.Bool
		hq.acquire = func() {
			if once.CompareAndSwap(false, true) {
				time.Sleep(40 * time.Second) // longer than its lease: it is reclaimed
				g.wantDispatchClaim(tn, r)
			}
		}
		bq := &brokenQueue{Queue: hq}
		bq.broken.Store(true)
		b := g.box(func(c *mailbox.Config) { c.Queue = bq; c.Concurrency = 1 })
		ctx, cancel := context.WithCancel(t.Context())
		done := make(chan struct{})
		go func() { defer close(done); _ = b.Work(ctx) }()
		time.Sleep(39 * time.Second)
		bq.broken.Store(false)
		cancel() // claims no more
		<-done
		run := g.run(tn, r.RunID)
		if run.Status == awaken.RunDone {
			t.Errorf("a worker whose claim is void ended the run: %s", run.Termination)
		}
	})
}
