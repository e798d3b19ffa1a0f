package mailbox_test

import (
	"context"
	"errors"
	"slices"
	"strings"
	"sync/atomic"
	"testing"
	"time"

	"github.com/awaken-go/awaken"
	"github.com/awaken-go/awaken/engine"
	"github.com/awaken-go/awaken/internal/bubbletest"
	"github.com/awaken-go/awaken/internal/fault"
	"github.com/awaken-go/awaken/llm"
	"github.com/awaken-go/awaken/llm/llmtest"
	"github.com/awaken-go/awaken/mailbox"
	"github.com/awaken-go/awaken/plugin/delegate"
)

// parking calls functions around the commit that parks a run, and may refuse what is posted.
type parking struct {
	mailbox.Queue
	before, after func()
	post          func(thread string) error
}

func (q *parking) Handle(tenant string) mailbox.Handle {
	return parkingHandle{q.Queue.Handle(tenant), q}
}

type parkingHandle struct {
	mailbox.Handle
	queue *parking
}

func (h parkingHandle) CommitAndSettle(ctx context.Context, c *awaken.Commit, s mailbox.Settlement, wake *mailbox.Dispatch) (mailbox.Settled, error) {
	if c.Run.Status == awaken.RunWaiting && h.queue.before != nil {
		h.queue.before()
	}
	settled, err := h.Handle.CommitAndSettle(ctx, c, s, wake)
	if c.Run.Status == awaken.RunWaiting && h.queue.after != nil {
		h.queue.after()
	}
	return settled, err
}

func (h parkingHandle) Post(ctx context.Context, thread string, items ...awaken.InboxItem) error {
	if h.queue.post != nil {
		if err := h.queue.post(thread); err != nil {
			return err
		}
	}
	return h.Handle.Post(ctx, thread, items...)
}

// once returns a function that calls f the first time only.
func once(f func()) func() {
	var done atomic.Bool
	return func() {
		if done.CompareAndSwap(false, true) {
			f()
		}
	}
}

// wantApplied checks what the record of a run's only decision says, "" standing for applied.
func (g *rig) wantApplied(tn *mailbox.Tenant, runID, why string) {
	g.t.Helper()
	list, err := tn.Decisions(g.t.Context(), mailbox.DecisionQuery{RunIDs: []string{runID}})
	if err != nil || len(list) != 1 {
		g.t.Fatalf("decisions of run %s: %v, %v, want one", runID, list, err)
	}
	if d := list[0]; d.Applied == nil || *d.Applied != (why == "") || !strings.Contains(d.Unapplied, why) || why == "" && d.Unapplied != "" {
		g.t.Errorf("run %s: applied is %v, because %q, want %t and %q", runID, d.Applied, d.Unapplied, why == "", why)
	}
}

var (
	approval  = awaken.Decision{Target: "call-ask", Action: awaken.ActionResume}
	rejection = awaken.Decision{Target: "call-ask", Action: awaken.ActionCancel}
)

func (g *rig) decide(tn *mailbox.Tenant, id string, d awaken.Decision) *mailbox.Receipt {
	g.t.Helper()
	r, err := tn.Decide(context.Background(), id, d)
	if err != nil {
		g.t.Fatal(err)
	}
	return r
}

// asksAndWaits is a model that calls ask and pause, and repeats the answer of ask. The question is
// known while pause runs; the run parks when it has ended.
var asksAndWaits = streamFunc(func(_ context.Context, req *llm.Request, yield func(llm.Delta, error) bool) {
	said := ""
	for _, m := range req.Messages.All() {
		if m.ToolCallID == "call-ask" {
			said = m.Text()
		}
	}
	if said != "" {
		yield(llm.Delta{Kind: llm.TextDelta, Text: "got " + said}, nil)
		yield(llm.Delta{Kind: llm.FinishDelta, Finish: llm.EndTurn}, nil)
		return
	}
	for _, tool := range []string{"ask", "pause"} {
		yield(llm.Delta{Kind: llm.ToolCallStart, ID: "call-" + tool, Name: tool}, nil)
		yield(llm.Delta{Kind: llm.ToolCallDelta, ID: "call-" + tool, Text: "{}"}, nil)
	}
	yield(llm.Delta{Kind: llm.FinishDelta, Finish: llm.ToolUse}, nil)
})

var pause = awaken.NewTool(awaken.ToolSpec{ID: "pause", Effect: awaken.ReadOnly}, func(context.Context, *awaken.ToolCall, struct{}) (string, error) {
	time.Sleep(time.Second)
	return "paused", nil
})

func TestDecide_WhileTheRunParksIsNeitherLostNorRefused(t *testing.T) {
	t.Parallel()
	for _, when := range []string{"before the commit", "after the commit"} {
		for _, d := range []awaken.Decision{approval, rejection} {
			t.Run(string(d.Action)+" "+when, func(t *testing.T) {
				t.Parallel()
				bubbletest.Test(t, func(t *testing.T) {
					g := newRig(t)
					var tn *mailbox.Tenant
					decide := once(func() { g.decide(tn, "t", d) })
					q := &parking{Queue: g.queue}
					if when == "before the commit" {
						q.before = decide
					} else {
						q.after = decide
					}
					g.queue = q
					b := zbox(g, asksAndWaits, append(tools(false), pause), nil)
					tn = b.Tenant("")
					defer work(b)()
					r := g.submit(tn, say("t", "use ask"))
					time.Sleep(time.Hour)
					g.wantRun(tn, r.RunID, awaken.RunDone, awaken.NaturalEnd, map[awaken.DecisionAction]string{awaken.ActionResume: "approved", awaken.ActionCancel: "refused"}[d.Action])
					g.wantApplied(tn, r.RunID, "")
				})
			})
		}
	}
}

// waiting returns a run that waits for a decision, on a mailbox that does not work.
func (g *rig) waiting() (*mailbox.Mailbox, *mailbox.Tenant, string) {
	g.t.Helper()
	b := g.box()
	tn, stop := b.Tenant(""), work(b)
	r := g.submit(tn, say("t", "use ask"))
	time.Sleep(time.Second)
	stop()
	g.wantRun(tn, r.RunID, awaken.RunWaiting, "", "")
	return b, tn, r.RunID
}

func TestDecisions_SayWhetherTheRunActedOnThem(t *testing.T) {
	t.Parallel()
	for name, c := range map[string]struct {
		decision awaken.Decision
		then     func(g *rig, tn *mailbox.Tenant, run string)
		why      string
	}{
		"an approval":                           {approval, func(*rig, *mailbox.Tenant, string) {}, ""},
		"a rejection":                           {rejection, func(*rig, *mailbox.Tenant, string) {}, ""},
		"the run is cancelled":                  {approval, (*rig).cancel, "the run ended: cancelled"},
		"a rejection, and the run is cancelled": {rejection, (*rig).cancel, "the run ended: cancelled"},
		"the run is superseded": {approval, func(g *rig, tn *mailbox.Tenant, _ string) {
			s := say("t", "hello")
			s.Mode, s.Anew = mailbox.ModeInterrupt, true
			g.submit(tn, s)
		}, "the run ended: cancelled"},
		"a message follows": {approval, func(g *rig, tn *mailbox.Tenant, _ string) { g.submit(tn, say("t", "hello")) }, ""},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			bubbletest.Test(t, func(t *testing.T) {
				g := newRig(t)
				b, tn, run := g.waiting()
				g.decide(tn, run, c.decision)
				if list, err := tn.Decisions(t.Context(), mailbox.DecisionQuery{}); err != nil || len(list) != 1 || list[0].Applied != nil || list[0].Unapplied != "" {
					t.Errorf("before a worker took it: %+v, %v", list, err)
				}
				c.then(g, tn, run)
				defer work(b)()
				time.Sleep(time.Minute)
				if r := g.run(tn, run); r.Status != awaken.RunDone {
					t.Fatalf("the run is %s", r.Status)
				}
				g.wantApplied(tn, run, c.why)
				if r := g.decide(tn, run, c.decision); !r.Duplicate || len(r.Decided) != 0 {
					t.Errorf("a retry: %+v", r)
				}
				other := rejection
				if c.decision.Action == awaken.ActionCancel {
					other = approval
				}
				_, err := tn.Decide(t.Context(), run, other)
				if _, ok := errors.AsType[*awaken.Decided](err); !ok {
					t.Errorf("a different decision: %v, want the record", err)
				}
			})
		})
	}
}

func (g *rig) cancel(tn *mailbox.Tenant, run string) {
	g.t.Helper()
	if err := tn.Cancel(g.t.Context(), run); err != nil {
		g.t.Fatal(err)
	}
}

// The run has read the approval, and is cancelled before the intent of the call is committed.
func TestDecisions_AnApprovalOfACallThatWasNotMadeIsNotApplied(t *testing.T) {
	t.Parallel()
	bubbletest.Test(t, func(t *testing.T) {
		g := newRig(t)
		_, tn, run := g.waiting()
		g.decide(tn, run, approval)
		q := &atClaim{Queue: g.queue}
		q.after = func() { g.cancel(tn, run) }
		g.queue = q
		b := g.box()
		defer work(b)()
		time.Sleep(time.Minute)
		g.wantRun(tn, run, awaken.RunDone, awaken.Cancelled, "")
		g.wantApplied(tn, run, "the run ended: cancelled")
	})
}

// tools returns the tool ask, whose arguments have one integer if strict.
func tools(strict bool) []awaken.Tool {
	ask := func(_ context.Context, c *awaken.ToolCall, _ map[string]any) (string, error) {
		if c.Resume != nil {
			return "approved", nil
		}
		return "", awaken.Suspend(awaken.Ticket{Suspension: awaken.Suspension{Action: "ask"}})
	}
	schema := `{"type":"object"}`
	if strict {
		schema = `{"type":"object","properties":{"n":{"type":"integer"}}}`
	}
	return []awaken.Tool{awaken.NewTool(awaken.ToolSpec{ID: "ask", Parameters: []byte(schema)}, ask)}
}

// bossBox returns a mailbox whose default agent delegates to worker, which asks.
// It calls the other tools, too.
func (g *rig) bossBox(ts []awaken.Tool, others ...string) *mailbox.Mailbox {
	g.t.Helper()
	use := func(tool, args string, others ...string) llm.Model {
		return llmtest.NewRules(llmtest.Rule{Turn: func(r *llm.Request) llmtest.Turn {
			for _, m := range r.Messages.All() {
				if m.Role == llm.ToolRole && m.ToolCallID == "call-"+tool {
					return llmtest.Turn{Text: llmtest.Text{"got " + m.Text()}}
				}
			}
			calls := []llmtest.Call{{ID: "call-" + tool, Name: tool, Arguments: []byte(args)}}
			for _, name := range others {
				calls = append(calls, llmtest.Call{Name: name})
			}
			return llmtest.Turn{ToolCalls: calls}
		}})
	}
	rt, err := engine.New(engine.Config{
		Agents:    []*awaken.AgentSpec{{ID: "default", ModelID: "boss", Delegates: []string{"worker"}, ToolExecutionMode: awaken.ParallelStreaming}, {ID: "worker", ModelID: "worker"}},
		Models:    []awaken.ModelSpec{{ID: "boss", ProviderID: "boss", UpstreamModel: "m"}, {ID: "worker", ProviderID: "worker", UpstreamModel: "m"}},
		Providers: map[string]llm.Model{"boss": use("agent_run_worker", `{"prompt":"go"}`, others...), "worker": use("ask", `{}`)},
		Tools:     ts, Plugins: []awaken.Plugin{delegate.New(delegate.Options{})}})
	if err != nil {
		g.t.Fatal(err)
	}
	return g.boxWith(rt)
}

// asked returns the tickets of a run that waits.
func (g *rig) asked(tn *mailbox.Tenant, run string) []awaken.WaitingTicket {
	g.t.Helper()
	r := g.run(tn, run)
	if r.Status != awaken.RunWaiting || len(r.Waiting.Tickets) == 0 {
		g.t.Fatalf("run %s is %s, and waits for %+v", run, r.Status, r.Waiting)
	}
	return r.Waiting.Tickets
}

func TestDecide_AnAcceptedDecisionThatDoesNotFitIsAskedAnew(t *testing.T) {
	t.Parallel()
	for _, delegated := range []bool{false, true} {
		t.Run(map[bool]string{false: "by the run", true: "by its delegate"}[delegated], func(t *testing.T) {
			t.Parallel()
			bubbletest.Test(t, func(t *testing.T) {
				g := newRig(t)
				box := func(strict bool) *mailbox.Mailbox {
					if delegated {
						return g.bossBox(tools(strict))
					}
					return zbox(g, model{}, tools(strict), nil)
				}
				old, newer := box(false), box(true) // a process of a version that takes any arguments, and one of the next
				stop := work(old)
				r := g.submit(old.Tenant(""), say("t", "use ask"))
				time.Sleep(time.Second)
				stop()
				ticket := g.asked(old.Tenant(""), r.RunID)[0]
				d := awaken.Decision{Target: ticket.TicketID, Action: awaken.ActionResume, Arguments: []byte(`{"n":"x"}`)}
				g.decide(old.Tenant(""), r.RunID, d)

				tn := newer.Tenant("")
				defer work(newer)()
				time.Sleep(time.Minute)
				again := g.asked(tn, r.RunID)
				if len(again) != 1 || again[0].TicketID != ticket.TicketID+"~2" {
					t.Fatalf("the run asks %+v, want the question of %s anew", again, ticket.TicketID)
				}
				asker := r.RunID
				if ticket.RunID != "" {
					asker = ticket.RunID
				}
				g.wantApplied(tn, asker, "arguments do not fit the schema of the tool")
				d.Target, d.Arguments = again[0].TicketID, []byte(`{"n":1}`)
				g.decide(tn, r.RunID, d)
				time.Sleep(time.Minute)
				g.wantRun(tn, r.RunID, awaken.RunDone, awaken.NaturalEnd, "approved")
			})
		})
	}
}

func TestDecide_OnACallWhoseToolIsGoneTellsTheModel(t *testing.T) {
	t.Parallel()
	bubbletest.Test(t, func(t *testing.T) {
		g := newRig(t)
		_, tn, run := g.waiting()
		g.decide(tn, run, approval)
		b := zbox(g, model{}, nil, nil)
		tn = b.Tenant("")
		defer work(b)()
		time.Sleep(time.Minute)
		g.wantRun(tn, run, awaken.RunDone, awaken.NaturalEnd, "not found")
		g.wantApplied(tn, run, "")
	})
}

func TestDecide_ForADelegateSurvivesAnErrorOfTheStore(t *testing.T) {
	t.Parallel()
	outage := &fault.Outage{Reason: "the store is out of disk space", Err: errors.New("disk full")}
	for _, test := range []struct {
		name    string
		failure error
		others  []string
	}{
		{"an outage", outage, nil},
		{"an error", errors.New("the connection was reset"), nil},
		{"an outage while another call runs", outage, []string{"pay"}},
	} {
		t.Run(test.name, func(t *testing.T) {
			t.Parallel()
			bubbletest.Test(t, func(t *testing.T) {
				g := newRig(t)
				q := &parking{Queue: g.queue}
				g.queue = q
				pays := 0
				pay := awaken.NewTool(awaken.ToolSpec{ID: "pay"}, func(context.Context, *awaken.ToolCall, struct{}) (string, error) {
					pays++
					time.Sleep(10 * time.Second)
					return "paid", nil
				})
				b := g.bossBox(append(tools(false), pay), test.others...)
				tn := b.Tenant("")
				defer work(b)()
				r := g.submit(tn, say("t", "go"))
				time.Sleep(time.Second)
				children, err := tn.Store.ListRuns(t.Context(), awaken.RunQuery{Status: awaken.RunWaiting})
				if err != nil {
					t.Fatal(err)
				}
				i := slices.IndexFunc(children, func(run *awaken.Run) bool { return run.ParentRunID == r.RunID })
				if i < 0 {
					t.Fatalf("no delegate waits: %v", children)
				}
				child := children[i]
				var failures atomic.Int64
				q.post = func(thread string) error {
					if thread == child.ThreadID && failures.Add(1) <= 2 {
						return test.failure
					}
					return nil
				}
				g.decide(tn, r.RunID, awaken.Decision{Target: child.RunID + ":" + child.Waiting.TicketIDs[0], Action: awaken.ActionResume})
				time.Sleep(10 * time.Minute)
				if n := failures.Load(); n < 3 {
					t.Errorf("the decision was passed on %d times, want a third after two failures", n)
				}
				g.wantRun(tn, r.RunID, awaken.RunDone, awaken.NaturalEnd, "approved")
				g.wantApplied(tn, child.RunID, "")
				if d := g.wantDispatch(tn, r.DispatchID, mailbox.Acked); pays != len(test.others) || d.Crashes != 0 {
					t.Errorf("%d payments, %d crashes", pays, d.Crashes)
				}
				if dead, err := tn.Store.Dispatches(t.Context(), mailbox.Query{Statuses: []mailbox.Status{mailbox.DeadLetter}}); err != nil || len(dead) != 0 {
					t.Errorf("dead letters: %v, %v", dead, err)
				}
			})
		})
	}
}

func TestDecide_OnACancelledRunIsRefused(t *testing.T) {
	t.Parallel()
	bubbletest.Test(t, func(t *testing.T) {
		g := newRig(t)
		b, tn, run := g.waiting()
		g.cancel(tn, run) // no worker has ended it yet
		if _, err := tn.Decide(t.Context(), run, approval); !errors.Is(err, mailbox.ErrIdle) && !errors.Is(err, awaken.ErrDecided) {
			t.Errorf("while the run is about to end: %v", err)
		}
		defer work(b)()
		time.Sleep(time.Minute)
		if _, err := tn.Decide(t.Context(), run, approval); !errors.Is(err, awaken.ErrDecided) {
			t.Errorf("when it has ended: %v", err)
		}
		if list, err := tn.Decisions(t.Context(), mailbox.DecisionQuery{}); err != nil || slices.ContainsFunc(list, func(*awaken.Decided) bool { return true }) {
			t.Errorf("records: %v, %v, want none", list, err)
		}
	})
}
