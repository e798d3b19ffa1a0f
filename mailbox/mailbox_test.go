package mailbox_test

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"iter"
	"slices"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"

	"github.com/awaken-go/awaken"
	"github.com/awaken-go/awaken/awakentest"
	"github.com/awaken-go/awaken/engine"
	"github.com/awaken-go/awaken/eventlog"
	"github.com/awaken-go/awaken/internal/bubbletest"
	"github.com/awaken-go/awaken/llm"
	"github.com/awaken-go/awaken/mailbox"
	"github.com/awaken-go/awaken/store/memory"
)

// model says what it was asked, or does what it was told: "use NAME" calls a tool,
// "slow" takes a minute for an answer of sixty words.
type model struct{}

func (model) Stream(ctx context.Context, req *llm.Request) iter.Seq2[llm.Delta, error] {
	return func(yield func(llm.Delta, error) bool) {
		var answered, asked string
		for _, m := range req.Messages.All() {
			switch m.Role {
			case llm.User:
				asked, answered = m.Text(), ""
			case llm.ToolRole:
				answered = m.Text()
			}
		}
		tool, isTool := strings.CutPrefix(asked, "use ")
		switch {
		case isTool && answered == "":
			if yield(llm.Delta{Kind: llm.ToolCallStart, ID: "call-" + tool, Name: tool}, nil) &&
				yield(llm.Delta{Kind: llm.ToolCallDelta, ID: "call-" + tool, Text: "{}"}, nil) {
				yield(llm.Delta{Kind: llm.FinishDelta, Finish: llm.ToolUse}, nil)
			}
			return
		case asked == "slow":
			for i := range 60 {
				select {
				case <-time.After(time.Second):
				case <-ctx.Done():
					yield(llm.Delta{}, ctx.Err())
					return
				}
				if !yield(llm.Delta{Kind: llm.TextDelta, Text: fmt.Sprint("w", i, " ")}, nil) {
					return
				}
			}
		case answered != "":
			yield(llm.Delta{Kind: llm.TextDelta, Text: "got " + answered}, nil)
		default:
			yield(llm.Delta{Kind: llm.TextDelta, Text: "you said " + asked}, nil)
		}
		yield(llm.Delta{Kind: llm.FinishDelta, Finish: llm.EndTurn}, nil)
	}
}

// rig is a mailbox on a store in memory.
type rig struct {
	t       *testing.T
	db      *memory.DB
	queue   mailbox.Queue
	effects atomic.Int64 // calls of the tool effect
}

func newRig(t *testing.T) *rig {
	db := memory.NewDB()
	return &rig{t: t, db: db, queue: db}
}

func (g *rig) runtime() *engine.Runtime {
	g.t.Helper()
	rt, err := engine.New(engine.Config{
		Agents:    []*awaken.AgentSpec{{ID: "default", ModelID: "m", SystemPrompt: "Be good."}},
		Models:    []awaken.ModelSpec{{ID: "m", ProviderID: "p", UpstreamModel: "m"}},
		Providers: map[string]llm.Model{"p": model{}},
		Tools: []awaken.Tool{
			awaken.NewTool(awaken.ToolSpec{ID: "ask"}, func(_ context.Context, c *awaken.ToolCall, _ struct{}) (string, error) {
				if c.Resume != nil {
					return "approved", nil
				}
				return "", awaken.Suspend(awaken.Ticket{Suspension: awaken.Suspension{Action: "ask"}})
			}),
			awaken.NewTool(awaken.ToolSpec{ID: "expire"}, func(_ context.Context, c *awaken.ToolCall, _ struct{}) (string, error) {
				return "", awaken.Suspend(awaken.Ticket{Suspension: awaken.Suspension{Action: "ask"}, ExpiresIn: time.Hour})
			}),
			awaken.NewTool(awaken.ToolSpec{ID: "wait", Effect: awaken.ReadOnly, Timeout: time.Hour}, func(ctx context.Context, _ *awaken.ToolCall, _ struct{}) (string, error) {
				select {
				case <-time.After(10 * time.Minute):
					return "waited", nil
				case <-ctx.Done():
					return "", context.Cause(ctx)
				}
			}),
			awaken.NewTool(awaken.ToolSpec{ID: "effect"}, func(context.Context, *awaken.ToolCall, struct{}) (string, error) {
				g.effects.Add(1)
				return "done", nil
			}),
		},
	})
	if err != nil {
		g.t.Fatal(err)
	}
	return rt
}

// box returns a mailbox, as a process has one.
func (g *rig) box(change ...func(*mailbox.Config)) *mailbox.Mailbox {
	g.t.Helper()
	return g.boxWith(g.runtime(), change...)
}

// boxWith returns one of a process with another runtime.
func (g *rig) boxWith(rt *engine.Runtime, change ...func(*mailbox.Config)) *mailbox.Mailbox {
	g.t.Helper()
	cfg := mailbox.Config{Queue: g.queue}
	for _, c := range change {
		c(&cfg)
	}
	b, err := mailbox.New(cfg, rt.With)
	if err != nil {
		g.t.Fatal(err)
	}
	return b
}

// work makes a mailbox work, and returns what makes it stop and waits until it has.
func work(b *mailbox.Mailbox) (stop func()) {
	ctx, cancel := context.WithCancel(context.Background())
	done := make(chan struct{})
	go func() {
		defer close(done)
		_ = b.Work(ctx)
	}()
	return func() { cancel(); <-done }
}

func say(thread, text string) mailbox.Submission {
	return mailbox.Submission{Request: awaken.RunRequest{ThreadID: thread, Messages: []*llm.Message{llm.UserText(text)}}}
}

func (g *rig) submit(tn *mailbox.Tenant, s mailbox.Submission) *mailbox.Receipt {
	g.t.Helper()
	r, err := tn.Submit(g.t.Context(), s)
	if err != nil {
		g.t.Fatal(err)
	}
	return r
}

func (g *rig) run(tn *mailbox.Tenant, id string) *awaken.Run {
	g.t.Helper()
	r, err := tn.Store.LoadRun(g.t.Context(), id)
	if err != nil {
		g.t.Fatal(err)
	}
	return r
}

// wantRun checks a run's status and how it ended.
func (g *rig) wantRun(tn *mailbox.Tenant, id string, status awaken.RunStatus, ended awaken.TerminationType, output string) *awaken.Run {
	g.t.Helper()
	r := g.run(tn, id)
	if r.Status != status || r.Termination.Type != ended || !strings.Contains(r.FinalOutput, output) {
		g.t.Errorf("run %s is %s, ended as %q with %q, want %s, %q, %q (%v)", id, r.Status, r.Termination, r.FinalOutput, status, ended, output, r.ErrorPayload)
	}
	return r
}

func (g *rig) wantDispatch(tn *mailbox.Tenant, id string, want mailbox.Status) *mailbox.Dispatch {
	g.t.Helper()
	d, err := tn.Store.Dispatch(g.t.Context(), id)
	if err != nil {
		g.t.Fatal(err)
	}
	if d.Status != want {
		g.t.Errorf("dispatch %s is %s, want %s (%s)", id, d.Status, want, d.LastError)
	}
	return d
}

// log reads what is committed of a thread.
func (g *rig) log(tn *mailbox.Tenant, thread string) (out []awaken.Entry) {
	g.t.Helper()
	for e, err := range tn.Log.Tail(g.t.Context(), thread, awaken.Cursor{}, eventlog.Follow{Committed: true}) {
		if err != nil {
			g.t.Fatal(err)
		}
		out = append(out, e)
	}
	return out
}

func TestSubmit_RunsAndLogsEvents(t *testing.T) {
	t.Parallel()
	bubbletest.Test(t, func(t *testing.T) {
		g := newRig(t)
		b := g.box()
		defer work(b)()
		tn := b.Tenant("a")
		r := g.submit(tn, say("", "hello"))
		if got := g.run(tn, r.RunID); got.Status != awaken.RunCreated {
			t.Errorf("right after Submit the run is %s, want created", got.Status)
		}
		var text string
		for e, err := range tn.Log.Tail(t.Context(), r.ThreadID, r.After, eventlog.Follow{RunID: r.RunID}) {
			if err != nil {
				t.Fatal(err)
			}
			if d, ok := e.Event.(*awaken.TextDelta); ok {
				text += d.Delta
			}
		}
		if text != "you said hello" {
			t.Errorf("watched %q", text)
		}
		synctest.Wait()
		g.wantRun(tn, r.RunID, awaken.RunDone, awaken.NaturalEnd, "you said hello")
		g.wantDispatch(tn, r.DispatchID, mailbox.Acked)
		awakentest.CheckEvents(t, g.log(tn, r.ThreadID))
		if _, err := b.Tenant("b").Store.LoadRun(t.Context(), r.RunID); !errors.Is(err, awaken.ErrNotFound) {
			t.Errorf("another tenant sees the run: %v", err)
		}
	})
}

func TestSubmit_QueuedRunsRunInOrder(t *testing.T) {
	t.Parallel()
	bubbletest.Test(t, func(t *testing.T) {
		g := newRig(t)
		b := g.box()
		defer work(b)()
		tn := b.Tenant("")
		var last *mailbox.Receipt
		for i := range 5 {
			last = g.submit(tn, say("t", fmt.Sprint("slow ", i)))
		}
		g.submit(tn, say("t", "slow"))
		time.Sleep(2 * time.Minute)
		synctest.Wait()
		g.wantRun(tn, last.RunID, awaken.RunDone, awaken.NaturalEnd, "you said slow 4")
		var order []string
		for _, e := range g.log(tn, "t") {
			if f, ok := e.Event.(*awaken.RunFinish); ok {
				order = append(order, f.Result.Response)
			}
		}
		for i, want := range []string{"you said slow 0", "you said slow 1", "you said slow 2", "you said slow 3", "you said slow 4", "w0 w1"} {
			if i >= len(order) || !strings.HasPrefix(order[i], want) {
				t.Fatalf("runs ended as %q", order)
			}
		}
	})
}

func TestSubmit_AnInterruptSupersedesEverything(t *testing.T) {
	t.Parallel()
	bubbletest.Test(t, func(t *testing.T) {
		g := newRig(t)
		b := g.box()
		defer work(b)()
		tn := b.Tenant("")
		running := g.submit(tn, say("t", "use wait"))
		queued := g.submit(tn, say("t", "later"))
		time.Sleep(time.Second)
		s := say("t", "now")
		s.Mode = mailbox.ModeInterrupt
		now := g.submit(tn, s)
		time.Sleep(time.Second)
		synctest.Wait()
		g.wantRun(tn, running.RunID, awaken.RunDone, awaken.Cancelled, "")
		g.wantRun(tn, queued.RunID, awaken.RunDone, awaken.Cancelled, "")
		g.wantDispatch(tn, queued.DispatchID, mailbox.Superseded)
		g.wantRun(tn, now.RunID, awaken.RunDone, awaken.NaturalEnd, "you said now")
		g.wantSaid(tn, "t", "use wait", "later", "now")
		awakentest.CheckEvents(t, g.log(tn, "t"))
	})
}

// wantSaid checks what users said on a thread.
func (g *rig) wantSaid(tn *mailbox.Tenant, thread string, want ...string) {
	g.t.Helper()
	msgs, err := tn.Store.Messages(g.t.Context(), thread, awaken.MessageQuery{})
	if err != nil {
		g.t.Fatal(err)
	}
	var said []string
	for _, m := range msgs {
		if m.Message.Role == llm.User {
			said = append(said, m.Message.Text())
		}
	}
	if !slices.Equal(said, want) {
		g.t.Errorf("users said %q, want %q", said, want)
	}
}

// Several clients write at the same moment, and each message supersedes the others, whether they
// are queued, claimed or running by then.
func TestSubmit_NoMessageIsLostWhenClientsInterruptEachOther(t *testing.T) {
	for _, pause := range []time.Duration{0, time.Microsecond, 2 * time.Millisecond} {
		for range 20 {
			g := newRig(t)
			b := g.box()
			stop := work(b)
			tn := b.Tenant("")
			var wg sync.WaitGroup
			for i := range 4 {
				wg.Go(func() {
					time.Sleep(time.Duration(i) * pause)
					s := say("t", fmt.Sprint("message ", i))
					s.Mode = mailbox.ModeInterrupt
					g.submit(tn, s)
				})
			}
			wg.Wait()
			deadline := time.Now().Add(10 * time.Second)
			for {
				ds, err := tn.Store.Dispatches(t.Context(), mailbox.Query{ThreadID: "t", Statuses: []mailbox.Status{mailbox.Queued, mailbox.Claimed}})
				if err != nil || time.Now().After(deadline) {
					t.Fatalf("%d dispatches are live, %v", len(ds), err)
				}
				if len(ds) == 0 {
					break
				}
				time.Sleep(time.Millisecond)
			}
			msgs, err := tn.Store.Messages(t.Context(), "t", awaken.MessageQuery{})
			if err != nil {
				t.Fatal(err)
			}
			said := map[string]int{}
			for _, m := range msgs {
				if m.Message.Role == llm.User {
					said[m.Message.Text()]++
				}
			}
			if len(said) != 4 || len(said) != said["message 0"]+said["message 1"]+said["message 2"]+said["message 3"] {
				t.Errorf("%s apart: the thread has %v, want each message once", pause, said)
			}
			stop()
		}
	}
}

func TestSubmit_SteersTheRunInProgress(t *testing.T) {
	t.Parallel()
	bubbletest.Test(t, func(t *testing.T) {
		g := newRig(t)
		b := g.box()
		defer work(b)()
		tn := b.Tenant("")
		r := g.submit(tn, say("t", "use wait"))
		time.Sleep(time.Second)
		s := say("t", "by the way")
		s.Mode = mailbox.ModeSteer
		if got := g.submit(tn, s); got.RunID != r.RunID || got.DispatchID != "" {
			t.Errorf("steered into %+v, want run %s", got, r.RunID)
		}
		time.Sleep(time.Hour)
		g.wantRun(tn, r.RunID, awaken.RunDone, awaken.NaturalEnd, "you said by the way")
		s = say("t", "and now")
		s.Mode = mailbox.ModeSteer
		later := g.submit(tn, s)
		synctest.Wait()
		g.wantRun(tn, later.RunID, awaken.RunDone, awaken.NaturalEnd, "you said and now")
	})
}

func TestDecide_WakesARunThatHoldsNoLease(t *testing.T) {
	t.Parallel()
	bubbletest.Test(t, func(t *testing.T) {
		g := newRig(t)
		b := g.box()
		stop := work(b)
		tn := b.Tenant("")
		r := g.submit(tn, say("t", "use ask"))
		synctest.Wait()
		run := g.wantRun(tn, r.RunID, awaken.RunWaiting, "", "")
		g.wantDispatch(tn, r.DispatchID, mailbox.Acked)
		if b.Active() != 0 {
			t.Errorf("%d dispatches are worked on", b.Active())
		}
		stop()
		time.Sleep(48 * time.Hour) // no worker is running

		b = g.box()
		defer work(b)()
		tn = b.Tenant("")
		d := run.Waiting.Tickets[0].Approve()
		d.ID = "once"
		for range 3 {
			if _, err := tn.Decide(t.Context(), "t", d); err != nil {
				t.Fatal(err)
			}
		}
		synctest.Wait()
		g.wantRun(tn, r.RunID, awaken.RunDone, awaken.NaturalEnd, "got approved")
		awakentest.CheckEvents(t, g.log(tn, "t"))
		if _, err := tn.Decide(t.Context(), r.RunID, awaken.Decision{Target: d.Target, Action: awaken.ActionCancel}); !errors.Is(err, awaken.ErrDecided) {
			t.Errorf("deciding again: %v", err)
		}
	})
}

func TestSubmit_AMessageToAWaitingRunWithdrawsItsCalls(t *testing.T) {
	t.Parallel()
	for _, mode := range []mailbox.Mode{mailbox.ModeQueue, mailbox.ModeInterrupt, mailbox.ModeSteer, mailbox.ModeResume} {
		bubbletest.Test(t, func(t *testing.T) {
			g := newRig(t)
			b := g.box()
			defer work(b)()
			tn := b.Tenant("")
			r := g.submit(tn, say("t", "use ask"))
			synctest.Wait()
			s := say("t", "never mind")
			s.Mode = mode
			if got := g.submit(tn, s); got.RunID != r.RunID {
				t.Errorf("%s: goes to run %s, want %s", mode, got.RunID, r.RunID)
			}
			synctest.Wait()
			g.wantRun(tn, r.RunID, awaken.RunDone, awaken.NaturalEnd, "you said never mind")
			awakentest.CheckEvents(t, g.log(tn, "t"))
		})
	}
}

func TestSubmit_AQueuedRunEndsTheOneThatParked(t *testing.T) {
	t.Parallel()
	bubbletest.Test(t, func(t *testing.T) {
		g := newRig(t)
		b := g.box()
		tn := b.Tenant("")
		first := g.submit(tn, say("t", "use ask"))
		second := g.submit(tn, say("t", "hello"))
		defer work(b)()
		synctest.Wait()
		g.wantRun(tn, first.RunID, awaken.RunDone, awaken.Cancelled, "")
		g.wantRun(tn, second.RunID, awaken.RunDone, awaken.NaturalEnd, "you said hello")
		awakentest.CheckEvents(t, g.log(tn, "t"))
	})
}

func TestCancel_WorksInEveryStatusAndByEveryID(t *testing.T) {
	t.Parallel()
	for _, by := range []string{"run", "thread", "dispatch"} {
		for _, what := range []string{"queued", "running", "waiting"} {
			t.Run(what+" by "+by, func(t *testing.T) {
				bubbletest.Test(t, func(t *testing.T) {
					g := newRig(t)
					b := g.box()
					tn := b.Tenant("")
					stop := func() {}
					if what != "queued" {
						stop = work(b)
					}
					r := g.submit(tn, say("t", map[string]string{"queued": "hello", "running": "use wait", "waiting": "use ask"}[what]))
					synctest.Wait()
					id := map[string]string{"run": r.RunID, "thread": "t", "dispatch": r.DispatchID}[by]
					if err := tn.Cancel(t.Context(), id); err != nil {
						t.Fatal(err)
					}
					synctest.Wait()
					g.wantRun(tn, r.RunID, awaken.RunDone, awaken.Cancelled, "")
					if err := tn.Cancel(t.Context(), id); err != nil {
						t.Errorf("cancelling again: %v", err)
					}
					stop()
				})
			})
		}
	}
}

func TestCancel_StartsNothingNew(t *testing.T) {
	t.Parallel()
	bubbletest.Test(t, func(t *testing.T) {
		g := newRig(t)
		slow := &slowQueue{Queue: g.queue}
		g.queue = slow
		b := g.box()
		defer work(b)()
		tn := b.Tenant("")
		r := g.submit(tn, say("t", "use effect"))
		time.Sleep(time.Second) // claimed, and not begun
		if err := tn.Cancel(t.Context(), r.RunID); err != nil {
			t.Fatal(err)
		}
		time.Sleep(time.Minute)
		g.wantRun(tn, r.RunID, awaken.RunDone, awaken.Cancelled, "")
		if n := g.effects.Load(); n != 0 {
			t.Errorf("%d effects after the cancel", n)
		}
	})
}

// slowQueue takes five seconds to hand out what was claimed.
type slowQueue struct{ mailbox.Queue }

func (q *slowQueue) Claim(ctx context.Context, c mailbox.ClaimRequest) ([]*mailbox.Dispatch, time.Duration, error) {
	ds, next, err := q.Queue.Claim(ctx, c)
	if len(ds) > 0 {
		time.Sleep(5 * time.Second)
	}
	return ds, next, err
}

func TestSubmit_TheSameKeyReturnsTheSameReceipt(t *testing.T) {
	t.Parallel()
	bubbletest.Test(t, func(t *testing.T) {
		g := newRig(t)
		b := g.box()
		tn := b.Tenant("")
		s := say("", "hello")
		s.IdempotencyKey, s.Digest = "key", "1"
		first := g.submit(tn, s)
		s = say("", "hello")
		s.IdempotencyKey, s.Digest = "key", "1"
		if second := g.submit(tn, s); !second.Duplicate || second.RunID != first.RunID || second.ThreadID != first.ThreadID {
			t.Errorf("got %+v, want %+v", second, first)
		}
		s.Digest = "2"
		if _, err := tn.Submit(t.Context(), s); !errors.Is(err, awaken.ErrConflict) {
			t.Errorf("another request with the same key: %v", err)
		}
		if _, err := b.Tenant("other").Submit(t.Context(), s); err != nil {
			t.Errorf("the same key of another tenant: %v", err)
		}
	})
}

// brokenQueue cannot renew leases while broken is set, and cannot claim while unclaimable is.
type brokenQueue struct {
	mailbox.Queue
	broken, unclaimable atomic.Bool
}

func (q *brokenQueue) Claim(ctx context.Context, r mailbox.ClaimRequest) ([]*mailbox.Dispatch, time.Duration, error) {
	if q.unclaimable.Load() {
		return nil, 0, errors.New("the network is down")
	}
	return q.Queue.Claim(ctx, r)
}

func (q *brokenQueue) Renew(ctx context.Context, lease time.Duration, held ...mailbox.Claim) ([]mailbox.Renewal, error) {
	if q.broken.Load() {
		return nil, errors.New("the network is down")
	}
	return q.Queue.Renew(ctx, lease, held...)
}

func TestWork_AbandonsARunWhoseLeaseCannotBeRenewed(t *testing.T) {
	t.Parallel()
	bubbletest.Test(t, func(t *testing.T) {
		g := newRig(t)
		broken := &brokenQueue{Queue: g.queue}
		a := g.box(func(c *mailbox.Config) { c.Queue = broken })
		stopA := work(a)
		tn := a.Tenant("")
		r := g.submit(tn, say("t", "use wait"))
		time.Sleep(time.Second)
		broken.broken.Store(true)
		broken.unclaimable.Store(true)
		time.Sleep(31 * time.Second)
		if a.Active() != 0 {
			t.Error("the run continues without a lease")
		}
		g.wantRun(tn, r.RunID, awaken.RunRunning, "", "") // and says nothing
		stopA()
		b := g.box()
		defer work(b)()
		time.Sleep(time.Hour)
		g.wantRun(tn, r.RunID, awaken.RunDone, awaken.NaturalEnd, "got waited")
		awakentest.CheckEvents(t, g.log(tn, "t"))
	})
}

func TestWork_DrainsAtTheEndOfTheStep(t *testing.T) {
	t.Parallel()
	bubbletest.Test(t, func(t *testing.T) {
		g := newRig(t)
		a := g.box(func(c *mailbox.Config) { c.Drain = time.Hour })
		stop := work(a)
		tn := a.Tenant("")
		r := g.submit(tn, say("t", "use wait"))
		time.Sleep(time.Second)
		start := time.Now()
		stop()
		if took := time.Since(start); took < 9*time.Minute || took > 11*time.Minute {
			t.Errorf("draining took %s, want the time to the end of the step", took)
		}
		d := g.wantDispatch(tn, r.DispatchID, mailbox.Queued)
		if d.Attempts != 0 {
			t.Errorf("draining cost %d attempts", d.Attempts)
		}
		g.wantRun(tn, r.RunID, awaken.RunRunning, "", "")
		b := g.box()
		defer work(b)()
		synctest.Wait()
		g.wantRun(tn, r.RunID, awaken.RunDone, awaken.NaturalEnd, "got waited")
		awakentest.CheckEvents(t, g.log(tn, "t"))
	})
}

func TestWork_StopsInTheMiddleOfAStepWhenDrainingTakesTooLong(t *testing.T) {
	t.Parallel()
	bubbletest.Test(t, func(t *testing.T) {
		g := newRig(t)
		a := g.box()
		stop := work(a)
		tn := a.Tenant("")
		r := g.submit(tn, say("t", "slow"))
		time.Sleep(10 * time.Second)
		start := time.Now()
		stop()
		if took := time.Since(start); took > 35*time.Second {
			t.Errorf("draining took %s", took)
		}
		g.wantDispatch(tn, r.DispatchID, mailbox.Queued)
		b := g.box()
		defer work(b)()
		time.Sleep(2 * time.Minute)
		g.wantRun(tn, r.RunID, awaken.RunDone, awaken.NaturalEnd, "w59")
		awakentest.CheckEvents(t, g.log(tn, "t"))
	})
}

func TestWork_PermanentErrorsMakeDeadLetters(t *testing.T) {
	t.Parallel()
	bubbletest.Test(t, func(t *testing.T) {
		g := newRig(t)
		b := g.box()
		defer work(b)()
		tn := b.Tenant("")
		s := say("t", "hello")
		s.Request.AgentID = "missing"
		r := g.submit(tn, s)
		synctest.Wait()
		g.wantDispatch(tn, r.DispatchID, mailbox.DeadLetter)
		run := g.wantRun(tn, r.RunID, awaken.RunDone, awaken.Failed, "")
		if run.ErrorPayload == nil || !strings.Contains(run.ErrorPayload.Message, "missing") {
			t.Errorf("error is %+v", run.ErrorPayload)
		}
	})
}

// flakyQueue has handles whose Acquire fails.
type flakyQueue struct {
	mailbox.Queue
	failures atomic.Int64 // left
	tries    atomic.Int64
}

type flakyHandle struct {
	mailbox.Handle
	q *flakyQueue
}

func (q *flakyQueue) Handle(tenant string) mailbox.Handle {
	return flakyHandle{q.Queue.Handle(tenant), q}
}

// Its claims acquire nothing.
func (q *flakyQueue) Claim(ctx context.Context, r mailbox.ClaimRequest) ([]*mailbox.Dispatch, time.Duration, error) {
	ds, next, err := q.Queue.Claim(ctx, r)
	for _, d := range ds {
		d.Checkpoint = nil
	}
	return ds, next, err
}

func (h flakyHandle) Enqueue(ctx context.Context, terms mailbox.Terms, ds ...*mailbox.Dispatch) ([]int, error) {
	left, err := h.Handle.Enqueue(ctx, terms, ds...)
	for _, d := range ds {
		d.Checkpoint = nil
	}
	return left, err
}

func (h flakyHandle) Own(ctx context.Context, id string, c mailbox.Claim) (*awaken.Checkpoint, bool, error) {
	h.q.tries.Add(1)
	if h.q.failures.Add(-1) >= 0 {
		return nil, false, errors.New("the disk is on holiday")
	}
	return h.Handle.Own(ctx, id, c)
}

func TestWork_RetriesWithADelay(t *testing.T) {
	t.Parallel()
	bubbletest.Test(t, func(t *testing.T) {
		g := newRig(t)
		q := &flakyQueue{Queue: g.queue}
		q.failures.Store(3)
		b := g.box(func(c *mailbox.Config) { c.Queue = q })
		defer work(b)()
		tn := b.Tenant("")
		r := g.submit(tn, say("t", "hello"))
		synctest.Wait()
		if d := g.wantDispatch(tn, r.DispatchID, mailbox.Queued); d.Attempts != 1 || !strings.Contains(d.LastError, "holiday") {
			t.Errorf("after the first failure: %+v", d)
		}
		time.Sleep(249 * time.Millisecond)
		if n := q.tries.Load(); n != 1 {
			t.Errorf("%d tries before the delay is over", n)
		}
		time.Sleep(250*time.Millisecond + 500*time.Millisecond + time.Second)
		synctest.Wait()
		g.wantRun(tn, r.RunID, awaken.RunDone, awaken.NaturalEnd, "you said hello")
		if n := q.tries.Load(); n != 4 {
			t.Errorf("%d tries, want 4", n)
		}
	})
}

func TestWork_GivesUpAfterMaxAttempts(t *testing.T) {
	t.Parallel()
	bubbletest.Test(t, func(t *testing.T) {
		g := newRig(t)
		q := &flakyQueue{Queue: g.queue}
		q.failures.Store(5)
		b := g.box(func(c *mailbox.Config) { c.Queue = q })
		defer work(b)()
		tn := b.Tenant("")
		r := g.submit(tn, say("t", "hello"))
		time.Sleep(time.Hour)
		g.wantDispatch(tn, r.DispatchID, mailbox.DeadLetter)
		run := g.wantRun(tn, r.RunID, awaken.RunDone, awaken.Failed, "")
		if !strings.Contains(run.Termination.Message, "gave up after 5 attempts") {
			t.Errorf("termination is %q", run.Termination)
		}
	})
}

func TestWork_WakesARunWhenItsTicketExpires(t *testing.T) {
	t.Parallel()
	bubbletest.Test(t, func(t *testing.T) {
		g := newRig(t)
		b := g.box()
		defer work(b)()
		tn := b.Tenant("")
		r := g.submit(tn, say("t", "use expire"))
		time.Sleep(59 * time.Minute)
		g.wantRun(tn, r.RunID, awaken.RunWaiting, "", "")
		time.Sleep(2 * time.Minute)
		g.wantRun(tn, r.RunID, awaken.RunDone, awaken.NaturalEnd, "no decision in time")
	})
}

func TestWork_MessagesThatACancelledRunDidNotReadStartAnother(t *testing.T) {
	t.Parallel()
	bubbletest.Test(t, func(t *testing.T) {
		g := newRig(t)
		b := g.box()
		defer work(b)()
		tn := b.Tenant("")
		r := g.submit(tn, say("t", "use wait"))
		time.Sleep(time.Second)
		s := say("t", "do not lose me")
		s.Mode, s.Boundary = mailbox.ModeSteer, awaken.OnNaturalEnd
		g.submit(tn, s)
		if err := tn.Cancel(t.Context(), r.RunID); err != nil {
			t.Fatal(err)
		}
		time.Sleep(time.Second)
		g.wantRun(tn, r.RunID, awaken.RunDone, awaken.Cancelled, "")
		runs, err := tn.Store.ListRuns(t.Context(), awaken.RunQuery{ThreadID: "t"})
		if err != nil || len(runs) != 2 {
			t.Fatalf("%d runs, %v", len(runs), err)
		}
		g.wantRun(tn, runs[0].RunID, awaken.RunDone, awaken.NaturalEnd, "you said do not lose me")
	})
}

func TestInterrupt_EndsEverything(t *testing.T) {
	t.Parallel()
	bubbletest.Test(t, func(t *testing.T) {
		g := newRig(t)
		b := g.box()
		defer work(b)()
		tn := b.Tenant("")
		if _, err := tn.Interrupt(t.Context(), "t"); !errors.Is(err, mailbox.ErrIdle) {
			t.Errorf("interrupting nothing: %v", err)
		}
		waiting := g.submit(tn, say("t", "use ask"))
		synctest.Wait()
		n, err := tn.Interrupt(t.Context(), "t")
		if n != 0 || err != nil {
			t.Errorf("superseded %d, %v", n, err)
		}
		synctest.Wait()
		g.wantRun(tn, waiting.RunID, awaken.RunDone, awaken.Cancelled, "")
		running := g.submit(tn, say("t", "use wait"))
		synctest.Wait()
		queued := []*mailbox.Receipt{g.submit(tn, say("t", "a")), g.submit(tn, say("t", "b"))}
		if n, err = tn.Interrupt(t.Context(), "t"); n != 2 || err != nil {
			t.Errorf("superseded %d, %v", n, err)
		}
		synctest.Wait()
		for _, r := range append(queued, running) {
			g.wantRun(tn, r.RunID, awaken.RunDone, awaken.Cancelled, "")
		}
		g.wantDispatch(tn, queued[0].DispatchID, mailbox.Superseded)
		g.wantSaid(tn, "t", "use ask", "use wait", "a", "b")
		if reason := g.run(tn, queued[0].RunID).StatusReason; reason != "superseded" {
			t.Errorf("status reason is %q", reason)
		}
		awakentest.CheckEvents(t, g.log(tn, "t"))
	})
}

// The waiting run takes the message into the thread and waits on: the client has cancelled the
// message, not the question.
func TestCancel_TheInputOfAQueuedRunDoesNotEndAWaitingOne(t *testing.T) {
	t.Parallel()
	for _, end := range []bool{false, true} {
		bubbletest.Test(t, func(t *testing.T) {
			g := newRig(t)
			b := g.box()
			defer work(b)()
			tn := b.Tenant("")
			later := say("t", "later")
			later.Delay = time.Hour
			queued := g.submit(tn, later)
			waiting := g.submit(tn, say("t", "use ask"))
			synctest.Wait()
			for range 2 {
				if err := tn.Cancel(t.Context(), queued.RunID); err != nil {
					t.Fatal(err)
				}
			}
			g.wantRun(tn, queued.RunID, awaken.RunDone, awaken.Cancelled, "")
			synctest.Wait()
			g.wantDispatch(tn, queued.DispatchID, mailbox.Cancelled)
			g.wantRun(tn, waiting.RunID, awaken.RunWaiting, "", "")
			g.wantSaid(tn, "t", "use ask", "later")
			if end {
				if err := tn.Cancel(t.Context(), waiting.RunID); err != nil {
					t.Fatal(err)
				}
				synctest.Wait()
				g.wantRun(tn, waiting.RunID, awaken.RunDone, awaken.Cancelled, "")
			}
			g.wantSaid(tn, "t", "use ask", "later")
			awakentest.CheckEvents(t, g.log(tn, "t"))
		})
	}
}

// The message of a dead letter is in the thread. A retry answers it, and does not repeat it.
func TestRetryDeadLetter_AnswersAMessageThatTheThreadHas(t *testing.T) {
	t.Parallel()
	bubbletest.Test(t, func(t *testing.T) {
		g := newRig(t)
		q := &flakyQueue{Queue: g.queue}
		q.failures.Store(5)
		b := g.box(func(c *mailbox.Config) { c.Queue = q })
		defer work(b)()
		tn := b.Tenant("")
		r := g.submit(tn, say("t", "hello"))
		time.Sleep(time.Hour)
		g.wantDispatch(tn, r.DispatchID, mailbox.DeadLetter)
		g.wantSaid(tn, "t", "hello")
		again, err := tn.RetryDeadLetter(t.Context(), r.DispatchID)
		if err != nil {
			t.Fatal(err)
		}
		synctest.Wait()
		g.wantRun(tn, again.RunID, awaken.RunDone, awaken.NaturalEnd, "you said hello")
		g.wantSaid(tn, "t", "hello")
		awakentest.CheckEvents(t, g.log(tn, "t"))
	})
}

func TestDispatch_JSONHasTheWireNames(t *testing.T) {
	t.Parallel()
	data, err := json.Marshal(&mailbox.Dispatch{Status: mailbox.Queued})
	if err != nil {
		t.Fatal(err)
	}
	var m map[string]any
	if err := json.Unmarshal(data, &m); err != nil {
		t.Fatal(err)
	}
	for _, name := range []string{"dispatch_id", "thread_id", "run_id", "priority", "dispatch_epoch", "status", "available_at", "attempt_count", "max_attempts", "created_at", "updated_at"} {
		if !slices.Contains(slices.Collect(mapKeys(m)), name) {
			t.Errorf("%s is missing in %s", name, data)
		}
	}
}

func mapKeys(m map[string]any) iter.Seq[string] {
	return func(yield func(string) bool) {
		for k := range m {
			if !yield(k) {
				return
			}
		}
	}
}
