package delegate_test

import (
	"context"
	"encoding/json"
	"errors"
	"iter"
	"maps"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/awaken-go/awaken"
	"github.com/awaken-go/awaken/awakentest"
	"github.com/awaken-go/awaken/engine"
	"github.com/awaken-go/awaken/internal/bubbletest"
	"github.com/awaken-go/awaken/internal/sectiontest"
	"github.com/awaken-go/awaken/limit/money"
	"github.com/awaken-go/awaken/llm"
	"github.com/awaken-go/awaken/llm/llmtest"
	"github.com/awaken-go/awaken/plugin/delegate"
	"github.com/awaken-go/awaken/registry"
	"github.com/awaken-go/awaken/state"
	"github.com/awaken-go/awaken/state/builtin"
)

func wantEnds(t *testing.T, c *crew, want map[string]string) {
	t.Helper()
	if got := c.ends(); !maps.Equal(got, want) {
		t.Errorf("runs came out as %v, want %v", got, want)
	}
}

func wantDone(t *testing.T, c *crew, want ...string) {
	t.Helper()
	c.mu.Lock()
	defer c.mu.Unlock()
	got := slices.Sorted(slices.Values(c.done))
	slices.Sort(want)
	if !slices.Equal(got, want) {
		t.Errorf("done is %q, want %q", got, want)
	}
}

const natural = "natural_end"

func TestSection_EveryField(t *testing.T) {
	var memory = state.NewValue[string]("test.memory", state.Options{Scope: state.Thread})
	remember := awaken.NewTool(awaken.ToolSpec{ID: "remember", Effect: awaken.ReadOnly}, func(_ context.Context, call *awaken.ToolCall, in text) (string, error) {
		if in.Text != "" {
			memory.Update(call, in.Text)
		}
		return "memory is " + memory.Get(call), nil
	})
	var docs []string
	for _, c := range []struct {
		name, section string
		want          string // in what the run did, or in the mistake
		problem       bool
	}{
		{name: "defaults", section: `{}`, want: `tool_call_stream_delta`},
		{name: "stream off", section: `{"stream": false}`, want: `!tool_call_stream_delta`},
		{name: "max_depth", section: `{"max_depth": 1}`, want: `!delegation_limit`},
		{name: "max_children", section: `{"max_children": 1}`, want: `the maximum of 1 delegates of one run is reached`},
		{name: "max_descendants", section: `{"max_descendants": 1}`, want: `the maximum of 1 runs below the root`},
		{name: "timeout_seconds", section: `{"timeout_seconds": 1}`, want: `timed out after 1s`},
		{name: "seed", section: `{"seed": ["test.memory"]}`, want: `memory is milk`},
		{name: "no seed", section: `{"seed": ["unknown"]}`, want: `!memory is milk`},
		{name: "depth 0", section: `{"max_depth": 0}`, want: `max_depth is 0, want 1 or more`, problem: true},
		{name: "children 0", section: `{"max_children": 0}`, want: `max_children is 0, want 1 or more`, problem: true},
		{name: "descendants 0", section: `{"max_descendants": -1}`, want: `max_descendants is -1, want 1 or more`, problem: true},
		{name: "timeout", section: `{"timeout_seconds": -1}`, want: `timeout_seconds is -1, want 0 or more`, problem: true},
		{name: "empty seed", section: `{"seed": [" "]}`, want: `seed[0] is empty`, problem: true},
		{name: "typo", section: `{"depth": 1}`, want: `depth`, problem: true},
	} {
		docs = append(docs, c.section)
		t.Run(c.name, func(t *testing.T) {
			bubbletest.Test(t, func(t *testing.T) {
				cfg := engine.Config{
					Agents: []*awaken.AgentSpec{
						{ID: "default", ModelID: "root", Delegates: []string{"worker"}, Sections: map[string]json.RawMessage{"delegate": json.RawMessage(c.section)}},
						{ID: "worker", ModelID: "worker"}},
					Models: []awaken.ModelSpec{{ID: "root", ProviderID: "root", UpstreamModel: "x"}, {ID: "worker", ProviderID: "worker", UpstreamModel: "x"}},
					Providers: map[string]llm.Model{
						"root":   llmtest.NewScript(llmtest.Use("remember", `{"text": "milk"}`), give("worker"), give("worker"), llmtest.Say("done")),
						"worker": llmtest.NewScript(llmtest.Use("remember", `{"text": ""}`), llmtest.Turn{Text: llmtest.Text{"slowly"}, DelayMS: 2000}, llmtest.Say("again"))},
					Tools: []awaken.Tool{remember}, Keys: []state.AnyKey{memory}, Plugins: []awaken.Plugin{delegate.New(delegate.Options{})}, Now: time.Now,
				}
				if c.problem {
					if _, err := registry.New(cfg.Registry()); err == nil || !strings.Contains(err.Error(), c.want) {
						t.Fatalf("got %v, want %q in it", err, c.want)
					}
					return
				}
				h := awakentest.New(t, cfg)
				rec := h.Say("go")
				if rec.Err != nil {
					t.Fatal(rec.Err)
				}
				got := awakentest.Lines(t, rec.Entries)
				threads, err := h.Store.ListThreads(t.Context(), awaken.ThreadQuery{ParentThreadID: rec.Result.ThreadID})
				if err != nil {
					t.Fatal(err)
				}
				for _, th := range threads {
					for _, m := range h.Messages(th.ID) {
						got += m.Text() + "\n"
					}
				}
				want, absent := strings.CutPrefix(c.want, "!")
				if strings.Contains(got, want) == absent {
					t.Errorf("%q in what happened is %v:\n%s", want, !absent, got)
				}
			})
		})
	}
	sectiontest.Covers[delegate.Config](t, docs...)
}

func TestTools_AreOfferedToAgentsWithDelegatesOnly(t *testing.T) {
	c := newCrew(t)
	c.member("root", []string{"helper", "quiet"})
	c.member("helper", nil).Description = "Helps."
	quiet := c.member("quiet", nil)
	quiet.SystemPrompt = "\n  " + strings.Repeat("ä", 120) + "\nmore"
	c.member("filtered", []string{"helper"}).ActiveHookFilter = []string{}
	rt := c.runtime()
	if got := rt.Registry().ToolIDs("root"); !slices.Equal(got, []string{"agent_run_helper", "agent_run_quiet", "fetch", "free", "pay", "slow"}) {
		t.Errorf("root has %q", got)
	}
	if got := rt.Registry().ToolIDs("helper"); !slices.Equal(got, []string{"fetch", "free", "pay", "slow"}) {
		t.Errorf("helper has %q", got)
	}
	c.agents[0].Delegates = []string{"unknown"}
	if _, err := registry.New(registry.Config{Builtin: builtin.For, Agents: c.agents, Models: c.models, Providers: c.providers, Plugins: []awaken.Plugin{delegate.New(delegate.Options{})}}); err == nil || !strings.Contains(err.Error(), `"unknown"`) {
		t.Errorf("got %v", err)
	}
}

func TestDelegates_WithoutThePluginAreWarnedAbout(t *testing.T) {
	reg, err := registry.New(registry.Config{Builtin: builtin.For, Agents: []*awaken.AgentSpec{{ID: "a", ModelID: "m", Delegates: []string{"a"}}},
		Models: []awaken.ModelSpec{{ID: "m", ProviderID: "p", UpstreamModel: "x"}}, Providers: map[string]llm.Model{"p": llmtest.Demo()}})
	if err != nil {
		t.Fatal(err)
	}
	if ds := reg.Diagnostics(); len(ds) != 1 || ds[0].Code != "delegates_unused" {
		t.Errorf("got %v", ds)
	}
}

// L-48: delegates were not stored, and had no parent.
func TestL48_ADelegateIsAStoredRunBelowItsParent(t *testing.T) {
	c := newCrew(t)
	c.member("root", []string{"mid"}, give("mid"), llmtest.Say("done"))
	c.member("mid", []string{"leaf"}, give("leaf"), llmtest.Say("mid done"))
	c.member("leaf", nil, llmtest.Say("leaf done"))
	res, err := c.runtime().Run(t.Context(), say("t", "go"), nil)
	if err != nil {
		t.Fatal(err)
	}
	wantEnds(t, c, map[string]string{"root": natural, "mid": natural, "leaf": natural})
	byAgent := map[string]*awaken.Run{}
	for _, r := range c.runs() {
		byAgent[r.AgentID] = r
	}
	mid, leaf := byAgent["mid"], byAgent["leaf"]
	if mid.ParentRunID != res.RunID || mid.ParentThreadID != "t" || mid.ParentToolCallID != "call_agent_run_mid_1" || mid.Origin != "subagent" || mid.Depth != 1 {
		t.Errorf("mid is %+v", mid)
	}
	if leaf.ParentRunID != mid.RunID || leaf.ParentThreadID != mid.ThreadID || leaf.Depth != 2 || leaf.RunID != awaken.ChildID(mid.RunID+"/0/0") {
		t.Errorf("leaf is %+v", leaf)
	}
	th, err := c.db.Store("").Thread(t.Context(), leaf.ThreadID)
	if err != nil || th.ParentThreadID != mid.ThreadID {
		t.Errorf("thread of leaf is %+v, %v", th, err)
	}
}

// L-48: the usage of delegates was not counted.
func TestL48_UsageOfADelegateCountsForItsParent(t *testing.T) {
	used := func(turn llmtest.Turn, in, out int64) llmtest.Turn {
		turn.Usage = &llm.Usage{PromptTokens: in, CompletionTokens: out, TotalTokens: in + out}
		return turn
	}
	c := newCrew(t)
	root := c.member("root", []string{"mid"}, used(give("mid"), 1, 1), used(give("mid"), 1, 1), used(llmtest.Say("never"), 1, 1))
	root.StopConditions = []awaken.StopCondition{{Type: "token_budget", Limit: 100}}
	c.member("mid", []string{"leaf"}, used(give("leaf"), 10, 1), used(llmtest.Say("mid done"), 10, 1), used(llmtest.Say("second"), 1, 1))
	c.member("leaf", nil, used(llmtest.Say("leaf done"), 100, 5))
	res, err := c.runtime().Run(t.Context(), say("t", "go"), nil)
	if err != nil {
		t.Fatal(err)
	}
	if res.Termination.Code != "token_budget" || res.Usage.PromptTokens != 2 || res.ChildUsage.PromptTokens != 120 || res.ChildUsage.CompletionTokens != 7 || res.Steps != 2 {
		t.Errorf("got %v after %d steps with %+v and below %+v", res.Termination, res.Steps, res.Usage, res.ChildUsage)
	}
}

// L-48: a question of a delegate could not be answered.
func TestL48_AGrandchildsQuestionIsAnsweredOnTheRootAfterARestart(t *testing.T) {
	for name, decide := range map[string]struct {
		decision func(t *awaken.WaitingTicket) awaken.Decision
		did      []string
		told     string
	}{
		"approved": {func(t *awaken.WaitingTicket) awaken.Decision { return t.Approve() }, []string{"paid rent"}, "paid rent"},
		"edited":   {func(t *awaken.WaitingTicket) awaken.Decision { return t.Edit(json.RawMessage(`{"text": "half"}`)) }, []string{"paid half"}, "paid half"},
		"rejected": {func(t *awaken.WaitingTicket) awaken.Decision { return t.Reject("too much") }, nil, "too much"},
	} {
		t.Run(name, func(t *testing.T) {
			c := newCrew(t)
			c.member("root", []string{"mid"}, give("mid"), llmtest.Say("root done"))
			c.member("mid", []string{"leaf"}, give("leaf"), llmtest.Say("mid done"))
			leaf := llmtest.NewScript(llmtest.Use("pay", `{"text": "rent"}`), llmtest.Say("leaf done")).Record()
			c.memberWith("leaf", nil, leaf)
			res, err := c.runtime().Run(t.Context(), say("t", "go"), nil)
			if err != nil {
				t.Fatal(err)
			}
			wantEnds(t, c, map[string]string{"root": "waiting", "mid": "waiting", "leaf": "waiting"})
			if len(res.Waiting.Tickets) != 1 {
				t.Fatalf("waits for %+v", res.Waiting)
			}
			ticket := res.Waiting.Tickets[0]
			if ticket.AgentID != "leaf" || ticket.ToolName != "pay" || ticket.Reason != "rent" || strings.Count(ticket.TicketID, ":") != 2 {
				t.Errorf("ticket is %+v", ticket)
			}
			res, err = c.runtime().Resume(t.Context(), res.RunID, nil, decide.decision(&ticket))
			if err != nil || res.Response != "root done" {
				t.Fatalf("got %+v, %v", res, err)
			}
			wantEnds(t, c, map[string]string{"root": natural, "mid": natural, "leaf": natural})
			wantDone(t, c, decide.did...)
			last := leaf.Requests()[1].Messages
			if got := last[len(last)-1].Text(); !strings.Contains(got, decide.told) {
				t.Errorf("leaf was told %q, want %q in it", got, decide.told)
			}
		})
	}
}

// The same through the queue: nothing runs while all three wait, and a decision on the root's
// thread wakes them all.
func TestQueue_AGrandchildsQuestionIsAnsweredOnTheRootAfterARestart(t *testing.T) {
	for _, where := range []string{"root", "leaf"} {
		t.Run("decided on the thread of "+where, func(t *testing.T) {
			bubbletest.Test(t, func(t *testing.T) {
				c := newCrew(t)
				c.member("root", []string{"mid"}, give("mid"), llmtest.Say("root done"))
				c.member("mid", []string{"leaf"}, give("leaf"), llmtest.Say("mid done"))
				c.member("leaf", nil, llmtest.Use("pay", `{"text": "rent"}`), llmtest.Say("leaf done"))
				q, stop := c.serve()
				if err := q.Start(t.Context(), withID(say("t", "go"), "r")); err != nil {
					t.Fatal(err)
				}
				time.Sleep(time.Second)
				wantEnds(t, c, map[string]string{"root": "waiting", "mid": "waiting", "leaf": "waiting"})
				stop()

				q, stop = c.serve()
				id, target := "t", ""
				for _, r := range c.runs() {
					if r.AgentID == where {
						id, target = r.ThreadID, r.Waiting.TicketIDs[0]
					}
				}
				d := awaken.Decision{Target: target, ID: "d1", Action: awaken.ActionResume}
				if _, err := q.Decide(t.Context(), id, d); err != nil {
					t.Fatal(err)
				}
				if r, err := q.Decide(t.Context(), id, d); err != nil || r == nil {
					t.Fatalf("the same again: %v", err)
				}
				time.Sleep(10 * time.Second)
				wantEnds(t, c, map[string]string{"root": natural, "mid": natural, "leaf": natural})
				wantDone(t, c, "paid rent")
				if r, err := q.Decide(t.Context(), id, d); err != nil || !r.Duplicate {
					t.Errorf("the same when all is over: %+v, %v", r, err)
				}
				stop()
			})
		})
	}
}

func withID(req awaken.RunRequest, id string) awaken.RunRequest {
	req.RunID = id
	return req
}

// One step with six calls: two free, four that ask, one of those in a delegate.
func TestSixCalls_DecidedOutOfOrderWithARestartInBetween(t *testing.T) {
	for _, mode := range []awaken.ExecutionMode{awaken.ParallelStreaming, awaken.ParallelBatchApproval} {
		t.Run(string(mode), func(t *testing.T) {
			bubbletest.Test(t, func(t *testing.T) {
				c := newCrew(t)
				root := llmtest.NewScript(calls(call("free", `{"text": "1"}`), call("pay", `{"text": "edit me"}`), call("pay", `{"text": "soon"}`),
					call("agent_run_mid", `{"prompt": "pay"}`), call("pay", `{"text": "deny me"}`), call("free", `{"text": "2"}`)), llmtest.Say("all decided")).Record()
				c.memberWith("root", []string{"mid"}, root).ToolExecutionMode = mode
				c.member("mid", nil, llmtest.Use("pay", `{"text": "inner"}`), llmtest.Say("mid done"))
				q, stop := c.serve()
				if err := q.Start(t.Context(), withID(say("t", "go"), "r")); err != nil {
					t.Fatal(err)
				}
				time.Sleep(time.Second)
				run, err := q.Store.LoadRun(t.Context(), "r")
				if err != nil || run.Waiting == nil || len(run.Waiting.Tickets) != 4 {
					t.Fatalf("got %+v, %v", run, err)
				}
				wantDone(t, c, "free 1", "free 2")
				by := map[string]*awaken.WaitingTicket{}
				for i := range run.Waiting.Tickets {
					by[run.Waiting.Tickets[i].Reason] = &run.Waiting.Tickets[i]
				}
				decide := func(d awaken.Decision) {
					t.Helper()
					d.ID = "decision on " + d.Target
					for range 2 {
						if _, err := q.Decide(t.Context(), "t", d); err != nil {
							t.Fatal(err)
						}
					}
					time.Sleep(time.Second)
				}
				decide(by["deny me"].Reject("no"))
				stop()
				first := c.registries()
				q, stop = c.serve()
				defer func() { stop() }()
				decide(by["inner"].Approve())
				decide(by["edit me"].Edit(json.RawMessage(`{"text": "edited"}`)))
				time.Sleep(2 * time.Hour) // "soon" expires
				wantEnds(t, c, map[string]string{"root": natural, "mid": natural})
				wantDone(t, c, "free 1", "free 2", "paid inner", "paid edited")
				if second := c.registries(); slices.Equal(first, second) {
					t.Error("there is no new registry")
				}
				var answers []string
				for _, m := range root.Requests()[1].Messages {
					if m.Role == llm.ToolRole {
						answers = append(answers, m.Text())
					}
				}
				for i, want := range []string{"free 1", "paid edited", "no decision in time", "mid done", "refused: no", "free 2"} {
					if len(answers) != 6 || !strings.Contains(answers[i], want) {
						t.Fatalf("the model was told %q, want %q in number %d", answers, want, i)
					}
				}
			})
		})
	}
}

// registries returns the registries that the runs are pinned to.
func (c *crew) registries() (ids []string) {
	for _, r := range c.runs() {
		ids = append(ids, r.ResolutionID)
	}
	return ids
}

func TestTwoDelegates_WithTheSameCallIDsStayApart(t *testing.T) {
	c := newCrew(t)
	c.member("root", []string{"a", "b"}, calls(call("agent_run_a", `{"prompt": "x"}`), call("agent_run_b", `{"prompt": "x"}`)), llmtest.Say("done")).ToolExecutionMode = awaken.ParallelStreaming
	c.member("a", nil, llmtest.Use("pay", `{"text": "a"}`), llmtest.Say("a done"))
	c.member("b", nil, llmtest.Use("pay", `{"text": "b"}`), llmtest.Say("b done"))
	rt := c.runtime()
	res, err := rt.Run(t.Context(), say("t", "go"), nil)
	if err != nil || len(res.Waiting.Tickets) != 2 || res.Waiting.Tickets[0].ToolCallID != res.Waiting.Tickets[1].ToolCallID {
		t.Fatalf("got %+v, %v", res.Waiting, err)
	}
	if err := rt.Decide(t.Context(), res.RunID, awaken.Decision{Target: res.Waiting.Tickets[0].ToolCallID, Action: awaken.ActionResume}); !errors.Is(err, awaken.ErrNotFound) {
		t.Errorf("an id that two calls have: %v", err)
	}
	i := slices.IndexFunc(res.Waiting.Tickets, func(t awaken.WaitingTicket) bool { return t.AgentID == "b" })
	if res, err = rt.Resume(t.Context(), res.RunID, nil, res.Waiting.Tickets[i].Approve()); err != nil || len(res.Waiting.Tickets) != 1 || res.Waiting.Tickets[0].AgentID != "a" {
		t.Fatalf("got %+v, %v", res, err)
	}
	wantDone(t, c, "paid b")
	if err := rt.Decide(t.Context(), res.RunID, awaken.Decision{Target: "call_pay_2", Action: awaken.ActionResume}); !errors.Is(err, awaken.ErrNotFound) {
		t.Errorf("an unknown call: %v", err)
	}
	if res, err = rt.Resume(t.Context(), res.RunID, nil, res.Waiting.Tickets[0].Reject("no")); err != nil || res.Status != awaken.RunDone {
		t.Fatalf("got %+v, %v", res, err)
	}
	wantDone(t, c, "paid b")
	wantEnds(t, c, map[string]string{"root": natural, "a": natural, "b": natural})
}

func TestSeveralQuestionsOfOneDelegate_AreAnsweredInAnyOrder(t *testing.T) {
	c := newCrew(t)
	c.member("root", []string{"mid"}, give("mid"), llmtest.Say("done"))
	c.member("mid", nil, calls(call("pay", `{"text": "1"}`), call("pay", `{"text": "2"}`), call("pay", `{"text": "3"}`)), llmtest.Say("mid done")).ToolExecutionMode = awaken.ParallelStreaming
	rt := c.runtime()
	res, err := rt.Run(t.Context(), say("t", "go"), nil)
	if err != nil || len(res.Waiting.Tickets) != 3 {
		t.Fatalf("got %+v, %v", res.Waiting, err)
	}
	ts := res.Waiting.Tickets
	if res, err = rt.Resume(t.Context(), res.RunID, nil, ts[2].Approve(), ts[0].Reject("no")); err != nil || len(res.Waiting.Tickets) != 1 || res.Waiting.Tickets[0].Reason != "2" {
		t.Fatalf("got %+v, %v", res, err)
	}
	if _, err := rt.Resume(t.Context(), res.RunID, nil, ts[2].Reject("changed my mind")); !errors.Is(err, awaken.ErrDecided) {
		t.Errorf("a second decision: %v", err)
	}
	if res, err = rt.Resume(t.Context(), res.RunID, nil, ts[1].Approve()); err != nil || res.Status != awaken.RunDone {
		t.Fatalf("got %+v, %v", res, err)
	}
	wantDone(t, c, "paid 2", "paid 3")
}

func TestAQuestionOfADelegate_CanBeDecidedByTheIDOfItsCall(t *testing.T) {
	c := newCrew(t)
	c.member("root", []string{"mid"}, give("mid"), llmtest.Say("done"))
	c.member("mid", []string{"leaf"}, give("leaf"), llmtest.Say("mid done"))
	c.member("leaf", nil, llmtest.Use("pay", `{"text": "rent"}`), llmtest.Say("leaf done"))
	rt := c.runtime()
	res, err := rt.Run(t.Context(), say("t", "go"), nil)
	if err != nil {
		t.Fatal(err)
	}
	if res, err = rt.Resume(t.Context(), res.RunID, nil, awaken.Decision{Target: res.Waiting.Tickets[0].ToolCallID, Action: awaken.ActionResume}); err != nil || res.Status != awaken.RunDone {
		t.Fatalf("got %+v, %v", res, err)
	}
	wantDone(t, c, "paid rent")
}

func TestAQuestionOfADelegate_Expires(t *testing.T) {
	bubbletest.Test(t, func(t *testing.T) {
		c := newCrew(t)
		c.member("root", []string{"mid"}, give("mid"), llmtest.Say("done"))
		c.member("mid", []string{"leaf"}, give("leaf"), llmtest.Say("mid done"))
		c.member("leaf", nil, llmtest.Use("pay", `{"text": "soon"}`), llmtest.Say("leaf done"))
		q, stop := c.serve()
		if err := q.Start(t.Context(), withID(say("t", "go"), "r")); err != nil {
			t.Fatal(err)
		}
		time.Sleep(time.Minute)
		stop()
		_, stop = c.serve()
		defer stop()
		time.Sleep(2 * time.Hour)
		wantEnds(t, c, map[string]string{"root": natural, "mid": natural, "leaf": natural})
		wantDone(t, c)
	})
}

func TestDelegates_OfOneStepRunInParallel(t *testing.T) {
	c := newCrew(t)
	c.hold = make(chan struct{})
	c.member("root", []string{"a", "b"}, calls(call("agent_run_a", `{"prompt": "x"}`), call("agent_run_b", `{"prompt": "x"}`)), llmtest.Say("done")).ToolExecutionMode = awaken.ParallelStreaming
	c.member("a", nil, llmtest.Use("slow", `{}`), llmtest.Say("a done"))
	c.member("b", nil, llmtest.Use("slow", `{}`), llmtest.Say("b done"))
	go func() {
		<-c.started
		<-c.started // both are at work
		close(c.hold)
	}()
	if res, err := c.runtime().Run(t.Context(), say("t", "go"), nil); err != nil || res.Response != "done" {
		t.Fatalf("got %+v, %v", res, err)
	}
	wantDone(t, c, "slow", "slow")
}

func TestCrash_ADelegateIsFoundAndResumed(t *testing.T) {
	c := newCrew(t)
	c.hold = make(chan struct{})
	c.member("root", []string{"mid"}, give("mid"), llmtest.Say("root done"))
	mid := llmtest.NewScript(llmtest.Use("slow", `{}`), llmtest.Say("mid done")).Record()
	c.memberWith("mid", nil, mid)
	lost := make(chan error, 1)
	go func() {
		_, err := c.runtime().Run(t.Context(), withID(say("t", "go"), "r"), nil)
		lost <- err
	}()
	key := <-c.started
	// Another process takes over, as after a crash; the first one does not know.
	second := make(chan error, 1)
	go func() {
		res, err := c.runtime().Run(t.Context(), awaken.RunRequest{Continue: "r"}, nil)
		if err == nil && res.Response != "root done" {
			err = errors.New(res.Response)
		}
		second <- err
	}()
	if again := <-c.started; again != key {
		t.Errorf("the call was made again as %q, not %q", again, key)
	}
	close(c.hold)
	if err := <-second; err != nil {
		t.Fatal(err)
	}
	if err := <-lost; !errors.Is(err, awaken.ErrFenced) {
		t.Errorf("the first process got %v", err)
	}
	wantEnds(t, c, map[string]string{"root": natural, "mid": natural})
	if n := mid.Calls(); n != 2 {
		t.Errorf("mid was asked %d times, want 2", n)
	}
}

// L-48: cancelling a parent left its delegates running.
func TestL48_CancelReachesDelegates(t *testing.T) {
	t.Run("while a delegate works", func(t *testing.T) {
		c := newCrew(t)
		c.hold = make(chan struct{})
		c.member("root", []string{"mid"}, give("mid"), llmtest.Say("never"))
		c.member("mid", []string{"leaf"}, give("leaf"), llmtest.Say("never"))
		c.member("leaf", nil, llmtest.Use("slow", `{}`), llmtest.Say("never"))
		rt := c.runtime()
		done := make(chan error, 1)
		go func() {
			_, err := rt.Run(t.Context(), say("t", "go"), nil)
			done <- err
		}()
		<-c.started
		if err := rt.Cancel(t.Context(), "t"); err != nil {
			t.Fatal(err)
		}
		if err := <-done; err != nil {
			t.Fatal(err)
		}
		wantEnds(t, c, map[string]string{"root": "cancelled", "mid": "cancelled", "leaf": "cancelled"})
		wantDone(t, c)
	})
	t.Run("while a delegate waits", func(t *testing.T) {
		c := newCrew(t)
		c.member("root", []string{"mid"}, give("mid"))
		c.member("mid", []string{"leaf"}, give("leaf"))
		c.member("leaf", nil, llmtest.Use("pay", `{"text": "rent"}`))
		rt := c.runtime()
		if _, err := rt.Run(t.Context(), say("t", "go"), nil); err != nil {
			t.Fatal(err)
		}
		if err := c.runtime().Cancel(t.Context(), "t"); err != nil {
			t.Fatal(err)
		}
		wantEnds(t, c, map[string]string{"root": "cancelled", "mid": "cancelled", "leaf": "cancelled"})
	})
	t.Run("through the queue, while a delegate waits", func(t *testing.T) {
		bubbletest.Test(t, func(t *testing.T) {
			c := newCrew(t)
			c.member("root", []string{"mid"}, give("mid"))
			c.member("mid", nil, llmtest.Use("pay", `{"text": "rent"}`))
			q, stop := c.serve()
			defer stop()
			if err := q.Start(t.Context(), withID(say("t", "go"), "r")); err != nil {
				t.Fatal(err)
			}
			time.Sleep(time.Second)
			if err := q.Cancel(t.Context(), "r"); err != nil {
				t.Fatal(err)
			}
			time.Sleep(5 * time.Second)
			wantEnds(t, c, map[string]string{"root": "cancelled", "mid": "cancelled"})
		})
	})
	t.Run("refusing the call, or saying something else", func(t *testing.T) {
		for name, req := range map[string]awaken.RunRequest{
			"refused": {Decisions: []awaken.Decision{{Target: "call_agent_run_mid_1", Action: awaken.ActionCancel}}},
			"said":    {Messages: []*llm.Message{llm.UserText("never mind")}},
		} {
			c := newCrew(t)
			c.member("root", []string{"mid"}, give("mid"), llmtest.Say("fine"))
			c.member("mid", nil, llmtest.Use("pay", `{"text": "rent"}`))
			rt := c.runtime()
			if _, err := rt.Run(t.Context(), say("t", "go"), nil); err != nil {
				t.Fatal(err)
			}
			req.ThreadID = "t"
			if res, err := rt.Run(t.Context(), req, nil); err != nil || res.Response != "fine" {
				t.Fatalf("%s: %+v, %v", name, res, err)
			}
			wantEnds(t, c, map[string]string{"root": natural, "mid": "cancelled"})
		}
	})
}

// L-48: there was no limit.
func TestL48_ABombEndsByItsLimitAndLeavesItsSiblingsAlone(t *testing.T) {
	for name, section := range map[string]string{
		"depth":       `{"max_depth": 3, "max_children": 2, "max_descendants": 1000}`,
		"children":    `{"max_depth": 4, "max_children": 1, "max_descendants": 1000}`,
		"descendants": `{"max_depth": 1000, "max_children": 1000, "max_descendants": 12}`,
	} {
		t.Run(name, func(t *testing.T) {
			c := newCrew(t)
			sections := map[string]json.RawMessage{"delegate": json.RawMessage(section)}
			c.member("root", []string{"bomb", "sibling"}, calls(call("agent_run_sibling", `{"prompt": "x"}`), call("agent_run_bomb", `{"prompt": "x"}`)), llmtest.Say("done")).ToolExecutionMode = awaken.ParallelStreaming
			bomb := c.memberWith("bomb", []string{"bomb"}, llmtest.NewScript(calls(call("agent_run_bomb", `{"prompt": "x"}`), call("agent_run_bomb", `{"prompt": "x"}`))).Loop())
			bomb.Sections, bomb.MaxRounds, bomb.ToolExecutionMode = sections, new(2), awaken.ParallelStreaming
			c.member("sibling", nil, llmtest.Say("I am fine"))
			res, err := c.runtime().Run(t.Context(), say("t", "go"), nil)
			if err != nil || res.Response != "done" {
				t.Fatalf("got %+v, %v", res, err)
			}
			ends := c.ends()
			if ends["sibling"] != natural || ends["root"] != natural {
				t.Errorf("the others came out as %v", ends)
			}
			n := 0
			for _, r := range c.runs() {
				if r.AgentID == "bomb" {
					if n++; r.Status != awaken.RunDone {
						t.Errorf("run %s is %s", r.RunID, r.Status)
					}
				}
			}
			if n < 2 || n > 20 {
				t.Errorf("there were %d bombs", n)
			}
		})
	}
}

// A bomb ends by the budget of the run above it: everything waits, nothing else is affected, and it resumes with more money.
func TestSpending_ABombWaitsForMoneyAndLeavesOthersAlone(t *testing.T) {
	c := newCrew(t)
	used := func(turn llmtest.Turn) llmtest.Turn {
		turn.Usage = &llm.Usage{PromptTokens: 100, CompletionTokens: 100, TotalTokens: 200}
		return turn
	}
	c.member("root", []string{"bomb"}, used(give("bomb")), used(llmtest.Say("root done"))).Budget = &awaken.AgentBudget{RunBudget: awaken.RunBudget{Run: new(0.003)}}
	bomb := c.memberWith("bomb", []string{"bomb"}, llmtest.NewScript(used(give("bomb"))).Loop())
	bomb.MaxRounds, bomb.Sections = new(1), map[string]json.RawMessage{"delegate": json.RawMessage(`{"max_depth": 1000, "max_descendants": 1000}`)}
	c.member("other", nil, used(llmtest.Say("I am fine")))
	bomb.MaxRounds = new(2)
	for i := range c.models {
		c.models[i].MaxOutputTokens, c.models[i].Prices = 1000, awaken.Prices{InputPrice: new(1.0), OutputPrice: new(2.0)}
	}
	rt := c.runtime()
	res, err := rt.Run(t.Context(), withID(say("t", "go"), "r"), nil)
	if err != nil || res.Status != awaken.RunWaiting || res.Waiting.Reason != awaken.WaitBudget || res.Waiting.Budget == nil || res.Waiting.Budget.ID != "r" {
		t.Fatalf("got %+v, waiting %+v, %v", res, res.Waiting, err)
	}
	n := len(c.runs())
	if n < 3 || n > 12 {
		t.Errorf("there are %d runs", n)
	}
	if other, err := rt.Run(t.Context(), awaken.RunRequest{AgentID: "other", ThreadID: "o", Messages: []*llm.Message{llm.UserText("hi")}}, nil); err != nil || other.Response != "I am fine" {
		t.Fatalf("the other: %+v, %v", other, err)
	}
	if err := money.SetBudget(t.Context(), c.db.Store(""), res.Waiting.Budget.Account, new(money.Dollar/100)); err != nil {
		t.Fatal(err)
	}
	res, err = rt.Run(t.Context(), awaken.RunRequest{Continue: "r"}, nil)
	if more := len(c.runs()); err != nil || res.Status != awaken.RunWaiting || more <= n+1 {
		t.Fatalf("with more money: %+v, %v, %d runs after %d", res, err, more, n)
	}
	if err := rt.Cancel(t.Context(), "r"); err != nil {
		t.Fatal(err)
	}
	for _, r := range c.runs() {
		if r.Status != awaken.RunDone {
			t.Errorf("run %s of %s is %s", r.RunID, r.AgentID, r.Status)
		}
	}
}

func TestAdmit_RefusesWhatABudgetDoesNotAllow(t *testing.T) {
	c := newCrew(t)
	c.options.Admit = func(_ context.Context, call *awaken.ToolCall, agent string) error {
		if agent == "dear" {
			return errors.New("there is no money left")
		}
		return nil
	}
	root := llmtest.NewScript(calls(call("agent_run_dear", `{"prompt": "x"}`), call("agent_run_cheap", `{"prompt": "x"}`)), llmtest.Say("done")).Record()
	c.memberWith("root", []string{"dear", "cheap"}, root)
	c.member("dear", nil, llmtest.Say("never"))
	c.member("cheap", nil, llmtest.Say("cheap done"))
	if _, err := c.runtime().Run(t.Context(), say("t", "go"), nil); err != nil {
		t.Fatal(err)
	}
	wantEnds(t, c, map[string]string{"root": natural, "cheap": natural})
	if msgs := root.Requests()[1].Messages; !strings.Contains(msgs[len(msgs)-2].Text(), "no money") {
		t.Errorf("the model was told %q", msgs[len(msgs)-2].Text())
	}
}

func TestFailures_AreReportedToTheModel(t *testing.T) {
	for name, c := range map[string]struct {
		turn llmtest.Turn
		max  int
		want string
	}{
		"error":   {llmtest.Turn{Error: &llmtest.Failure{Kind: "invalid_request", Message: "boom"}}, 0, `agent "mid" failed: error: `},
		"stopped": {llmtest.Use("free", `{"text": "x"}`), 1, `"status":"stopped"`},
		"prompt":  {llmtest.Say("never"), 0, `prompt is empty`},
	} {
		t.Run(name, func(t *testing.T) {
			cr := newCrew(t)
			prompt := "x"
			if name == "prompt" {
				prompt = " "
			}
			root := llmtest.NewScript(llmtest.Use("agent_run_mid", `{"prompt": "`+prompt+`"}`), llmtest.Say("done")).Record()
			cr.memberWith("root", []string{"mid"}, root)
			if mid := cr.member("mid", nil, c.turn); c.max > 0 {
				mid.MaxRounds = &c.max
			}
			if _, err := cr.runtime().Run(t.Context(), say("t", "go"), nil); err != nil {
				t.Fatal(err)
			}
			msgs := root.Requests()[1].Messages
			if got := msgs[len(msgs)-1].Text(); !strings.Contains(got, c.want) {
				t.Errorf("the model was told %q, want %q in it", got, c.want)
			}
		})
	}
}

func TestWithoutAStore_DelegatesRunAndAreForgotten(t *testing.T) {
	c := newCrew(t)
	c.member("root", []string{"mid"}, give("mid"), llmtest.Say("done"))
	c.member("mid", nil, llmtest.Say("mid done"))
	rt, err := engine.New(engine.Config{Agents: c.agents, Models: c.models, Providers: c.providers, Plugins: []awaken.Plugin{delegate.New(delegate.Options{})}})
	if err != nil {
		t.Fatal(err)
	}
	if res, err := rt.Run(t.Context(), say("t", "go"), nil); err != nil || res.Response != "done" {
		t.Fatalf("got %+v, %v", res, err)
	}
}

// far is an agent that runs elsewhere. It asks once.
type far struct{ asks bool }

func (f far) Agent(spec *awaken.AgentSpec) (registry.RemoteAgent, error) {
	if spec.Endpoint.BaseURL == "" {
		return nil, errors.New("endpoint.base_url is empty")
	}
	return f, nil
}

func (f far) Name() string { return "far" }

// wonder is the tool with which it asks.
type wonder struct{}

func (wonder) Spec() awaken.ToolSpec {
	return awaken.ToolSpec{ID: "wonder", Name: "wonder", Effect: awaken.ReadOnly, Parameters: json.RawMessage(`{"type":"object"}`)}
}

func (wonder) Call(context.Context, *awaken.ToolCall) (*awaken.ToolResult, error) {
	return nil, awaken.Suspend(awaken.Ticket{Suspension: awaken.Suspension{Message: "Which one?"}, ResumeMode: awaken.UseDecisionAsToolResult})
}

func (f far) Register(r *awaken.Registrar) error {
	r.Tool(wonder{})
	return nil
}

func (f far) Exchange(ctx context.Context, x *registry.Exchange) iter.Seq2[llm.Delta, error] {
	return func(yield func(llm.Delta, error) bool) {
		calls, err := x.Calls(ctx)
		if err == nil {
			err = x.Save(ctx, json.RawMessage(`"begun"`), true)
		}
		if err != nil {
			yield(llm.Delta{}, err)
			return
		}
		answer := "far away"
		switch {
		case f.asks && len(calls) == 0:
			_ = yield(llm.Delta{Kind: llm.ToolCallStart, ID: "q1", Name: "wonder"}, nil) && yield(llm.Delta{Kind: llm.ToolCallDelta, ID: "q1", Text: "{}"}, nil) &&
				yield(llm.Delta{Kind: llm.FinishDelta, Finish: llm.ToolUse}, nil)
			return
		case f.asks:
			answer = calls[0].CallID + " " + string(calls[0].Decision.Result) + " " + string(x.Notes)
		}
		_ = yield(llm.Delta{Kind: llm.TextDelta, Text: answer}, nil) && yield(llm.Delta{Kind: llm.UsageDelta, Usage: &llm.Usage{PromptTokens: 7}}, nil) &&
			yield(llm.Delta{Kind: llm.FinishDelta, Finish: llm.EndTurn}, nil)
	}
}

func TestRemote_IsBehindTheSameTool(t *testing.T) {
	for name, asks := range map[string]bool{"answers": false, "asks": true} {
		t.Run(name, func(t *testing.T) {
			c := newCrew(t)
			c.backends = map[string]registry.RemoteBackend{"pigeon": far{asks}}
			c.member("root", []string{"far"}, give("far"), llmtest.Say("done"))
			c.agents = append(c.agents, &awaken.AgentSpec{ID: "far", Endpoint: &awaken.RemoteEndpoint{Backend: "pigeon", BaseURL: "coop"}})
			rt := c.runtime()
			var out strings.Builder
			sink := awaken.SinkFunc(func(_ context.Context, e awaken.Entry) error {
				if d, ok := e.Event.(*awaken.ToolCallStreamDelta); ok {
					out.WriteString(d.Delta)
				}
				return nil
			})
			res, err := rt.Run(t.Context(), say("t", "go"), sink)
			want := "far away"
			if asks {
				if err != nil || res.Status != awaken.RunWaiting || res.Waiting.Tickets[0].Reason != "Which one?" {
					t.Fatalf("got %+v, %v", res, err)
				}
				want = `q1 "the blue one" "begun"`
				res, err = c.runtime().Resume(t.Context(), res.RunID, sink, res.Waiting.Tickets[0].Answer(json.RawMessage(`"the blue one"`)))
			}
			if err != nil || res.Response != "done" || out.String() != want || res.ChildUsage.PromptTokens != 7 {
				t.Fatalf("got %+v, %v, output %q", res, err, out.String())
			}
			direct, err := rt.Run(t.Context(), awaken.RunRequest{AgentID: "far", Messages: []*llm.Message{llm.UserText("hi")}}, nil)
			if err != nil || direct.AgentID != "far" || (direct.Status == awaken.RunWaiting) != asks {
				t.Errorf("run directly: %+v, %v", direct, err)
			}
		})
	}
}

// L-65: validation refused backends that a program had registered.
func TestL65_BackendsAreValidatedAgainstThoseRegistered(t *testing.T) {
	c := newCrew(t)
	c.member("root", nil)
	for _, x := range []struct {
		spec *awaken.AgentSpec
		want string
	}{
		{&awaken.AgentSpec{ID: "far", Endpoint: &awaken.RemoteEndpoint{Backend: "pigeon", BaseURL: "coop"}}, ""},
		{&awaken.AgentSpec{ID: "far", Endpoint: &awaken.RemoteEndpoint{Backend: "pigeon"}}, "base_url is empty"},
		{&awaken.AgentSpec{ID: "far", Endpoint: &awaken.RemoteEndpoint{BaseURL: "https://x"}}, `backend "a2a" not found; available: ["pigeon" "awaken"]`},
		{&awaken.AgentSpec{ID: "far", Backend: &awaken.Backend{Kind: "owl"}}, `backend "owl" not found`},
	} {
		_, err := registry.New(registry.Config{Builtin: builtin.For, Agents: []*awaken.AgentSpec{c.agents[0], x.spec}, Models: c.models, Providers: c.providers, Backends: map[string]registry.RemoteBackend{"pigeon": far{}}})
		if x.want == "" && err != nil || x.want != "" && (err == nil || !strings.Contains(err.Error(), x.want)) {
			t.Errorf("got %v, want %q", err, x.want)
		}
	}
}
