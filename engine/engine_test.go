package engine_test

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/awaken-go/awaken"
	"github.com/awaken-go/awaken/engine"
	"github.com/awaken-go/awaken/internal/bubbletest"
	"github.com/awaken-go/awaken/llm"
	"github.com/awaken-go/awaken/llm/llmtest"
)

// Places where promises meet: messages that arrive at odd moments, owners that are
// lost, cancels that come late.

func TestSend_WhileToolsRunIsShownAfterTheirAnswers(t *testing.T) {
	t.Parallel()
	for _, mode := range []awaken.ExecutionMode{awaken.Sequential, awaken.ParallelStreaming} {
		t.Run(string(mode), func(t *testing.T) {
			t.Parallel()
			var rt *engine.Runtime
			noisy := tool("noisy", func(ctx context.Context, c *awaken.ToolCall, _ args) (*awaken.ToolResult, error) {
				if c.ID == "c1" {
					return awaken.TextResult("first"), rt.Send(ctx, "t", llm.UserText("by the way"))
				}
				time.Sleep(30 * time.Millisecond) // of the bubble: the first result is committed meanwhile
				return awaken.TextResult("second"), nil
			})
			bubbletest.Test(t, func(t *testing.T) {
				g := newRig(t, []llmtest.Turn{uses("noisy", "noisy"), llmtest.Say("ok"), llmtest.Say("bye")}, withTools(noisy), withMode(mode))
				rt = g.rt
				_, p := g.run(say("hi"))
				checkBalanced(t, p)
				want := []string{"user: hi", "assistant -> noisy#c1 -> noisy#c2", "tool to c1: first", "tool to c2: second", "user: by the way"}
				if diff := cmp.Diff(want, outline(g.request(2).Messages)); diff != "" {
					t.Errorf("what the model is shown (-want +got):\n%s", diff)
				}
				g.run(say("and?"))
				if diff := cmp.Diff(append(want, "assistant: ok", "user: and?"), outline(g.request(3).Messages)); diff != "" {
					t.Errorf("what the next run is shown (-want +got):\n%s", diff)
				}
			})
		})
	}
}

func TestSend_ToAWaitingRunIsShownAfterTheAnswers(t *testing.T) {
	t.Parallel()
	for _, mode := range []awaken.ExecutionMode{awaken.Sequential, awaken.ParallelStreaming} {
		t.Run(string(mode), func(t *testing.T) {
			t.Parallel()
			g := newRig(t, []llmtest.Turn{uses("echo", "pay", "pay", "echo"), llmtest.Say("ok"), llmtest.Say("bye")},
				withTools(echo("pay"), echo("echo")), withPlugins(askAbout("pay", awaken.Ticket{})), withMode(mode))
			res, _ := g.run(say("hi"))
			for i, target := range []string{"c2", "c3"} {
				if err := g.rt.Send(t.Context(), "t", llm.UserText(fmt.Sprint("note ", i+1))); err != nil {
					t.Fatal(err)
				}
				g.restart()
				var p *tape
				res, p = g.resume(res.RunID, approve(target))
				checkBalanced(t, p)
			}
			checkTermination(t, res, nil, awaken.NaturalEnd)
			want := []string{"user: hi", "assistant -> echo#c1 -> pay#c2 -> pay#c3 -> echo#c4", "tool to c1: echo {}", "tool to c2: pay {}",
				"tool to c3: pay {}", "tool to c4: echo {}", "user: note 1", "user: note 2"}
			if diff := cmp.Diff(want, outline(g.request(2).Messages)); diff != "" {
				t.Errorf("what the model is shown (-want +got):\n%s", diff)
			}
			g.run(say("and?"))
			if diff := cmp.Diff(append(want, "assistant: ok", "user: and?"), outline(g.request(3).Messages)); diff != "" {
				t.Errorf("what the next run is shown (-want +got):\n%s", diff)
			}
		})
	}
}

func TestSend_JustBeforeTheEndContinuesTheRun(t *testing.T) {
	t.Parallel()
	for _, hooks := range []bool{false, true} {
		t.Run(fmt.Sprintf("run_end hooks %v", hooks), func(t *testing.T) {
			t.Parallel()
			ends := 0
			opts := []option{}
			if hooks {
				opts = append(opts, withPlugins(at(awaken.PhaseRunEnd, func(context.Context, *awaken.HookCall) error { ends++; return nil })))
			}
			g := newRig(t, []llmtest.Turn{llmtest.Say("one"), llmtest.Say("two")}, opts...)
			p := &tape{}
			p.on = func(ev awaken.Event) {
				if d, ok := ev.(*awaken.TextDelta); ok && d.Delta == "one" {
					if err := g.rt.Send(context.Background(), "t", llm.UserText("wait")); err != nil {
						t.Error(err)
					}
				}
			}
			res, err := g.rt.Run(t.Context(), say("hi"), p)
			if err != nil {
				t.Fatal(err)
			}
			checkBalanced(t, p)
			if res.Response != "two" || hooks && ends != 1 {
				t.Errorf("response is %q, run_end ran %d times", res.Response, ends)
			}
			if diff := cmp.Diff([]string{"user: hi", "assistant: one", "user: wait", "assistant: two"}, outline(g.log("t"))); diff != "" {
				t.Errorf("log (-want +got):\n%s", diff)
			}
		})
	}
}

// A decision that no call waits for must not cost an inference.
func TestDecision_ThatIsTooLateChangesNothing(t *testing.T) {
	t.Parallel()
	for _, hooks := range []bool{false, true} {
		t.Run(fmt.Sprintf("run_end hooks %v", hooks), func(t *testing.T) {
			t.Parallel()
			opts := []option{}
			if hooks {
				opts = append(opts, withPlugins(at(awaken.PhaseRunEnd, func(context.Context, *awaken.HookCall) error { return nil })))
			}
			g := newRig(t, []llmtest.Turn{llmtest.Say("one"), llmtest.Say("never")}, opts...)
			p := &tape{}
			p.on = func(ev awaken.Event) {
				if ev.Type() == "text_delta" {
					if err := g.store.Post(context.Background(), "t", awaken.InboxItem{ID: "late", Decision: &awaken.Decision{Target: "c9", Action: awaken.ActionResume}}); err != nil {
						t.Error(err)
					}
				}
			}
			res, err := g.rt.Run(t.Context(), say("hi"), p)
			if err != nil {
				t.Fatal(err)
			}
			checkBalanced(t, p)
			checkTermination(t, res, p, awaken.NaturalEnd)
			if g.model.Calls() != 1 || res.Steps != 1 {
				t.Errorf("%d inferences, %d steps", g.model.Calls(), res.Steps)
			}
			if left, _ := g.store.Unread(t.Context(), "t"); len(left) != 0 {
				t.Errorf("%d items are still unread", len(left))
			}
		})
	}
}

// deafStore cannot read its inbox.
type deafStore struct{ awaken.Store }

func (s deafStore) Unread(context.Context, string) ([]awaken.InboxItem, error) {
	return nil, errors.New("cannot read")
}

func TestRun_EndsInOrderWhenTheInboxCannotBeRead(t *testing.T) {
	t.Parallel()
	g := newRig(t, []llmtest.Turn{llmtest.Say("one")}, withStore(func(s awaken.Store) awaken.Store { return deafStore{s} }))
	p := &tape{}
	p.on = func(ev awaken.Event) {
		if ev.Type() == "text_delta" {
			if err := g.rt.Send(context.Background(), "t", llm.UserText("wait")); err != nil {
				t.Error(err)
			}
		}
	}
	res, err := g.rt.Run(t.Context(), say("hi"), p)
	if err == nil || !strings.Contains(err.Error(), "inbox of thread t: cannot read") {
		t.Errorf("error is %v", err)
	}
	checkBalanced(t, p)
	checkTermination(t, res, p, awaken.Failed)
	if rec := g.record(res.RunID); rec.Status != awaken.RunDone {
		t.Errorf("the record is %s", rec.Status)
	}
}

func TestResume_WithARefusalBeginsWithRunStart(t *testing.T) {
	t.Parallel()
	g := newRig(t, []llmtest.Turn{uses("pay"), llmtest.Say("ok")}, withTools(echo("pay")), withPlugins(askAbout("pay", awaken.Ticket{})))
	res, _ := g.run(say("hi"))
	res, p := g.resume(res.RunID, awaken.Decision{Target: "c1", ID: "d", Action: awaken.ActionCancel, Reason: "too much"})
	checkBalanced(t, p)
	checkTermination(t, res, p, awaken.NaturalEnd)
	if diff := cmp.Diff([]string{"run_start", "tool_call_resumed", "step_start"}, p.types()[:3]); diff != "" {
		t.Errorf("events (-want +got):\n%s", diff)
	}
	if got := g.request(2).Messages[2].Text(); got != `The call of tool "pay" was refused: too much. It was not made.` {
		t.Errorf("the model sees %q", got)
	}
}

func TestAfterToolExecute_SeesAResultThatIsADecision(t *testing.T) {
	t.Parallel()
	var seen []string
	g := newRig(t, []llmtest.Turn{uses("front"), llmtest.Say("ok")}, withPlugins(at(awaken.PhaseAfterToolExecute, func(_ context.Context, h *awaken.HookCall) error {
		seen = append(seen, h.Tool.Tool+" "+string(h.Result.Data))
		return nil
	})))
	req := say("hi")
	req.FrontendTools = []awaken.ToolSpec{{ID: "front"}}
	res, _ := g.run(req)
	d := approve("c1")
	d.Result = json.RawMessage(`{"answer":42}`)
	g.resume(res.RunID, d)
	if diff := cmp.Diff([]string{`front {"answer":42}`}, seen); diff != "" {
		t.Errorf("after_tool_execute saw (-want +got):\n%s", diff)
	}
}

func TestRewind_IntoTheMiddleOfAStepLeavesAValidConversation(t *testing.T) {
	t.Parallel()
	for at := 1; at < 6; at++ {
		t.Run(fmt.Sprint(at), func(t *testing.T) {
			t.Parallel()
			g := newRig(t, []llmtest.Turn{uses("echo", "echo"), llmtest.Say("one"), llmtest.Say("two"), llmtest.Say("three")}, withTools(echo("echo")))
			g.run(say("hi"))
			log := g.log("t") // hi, calls, answer, answer, one
			req := say("again")
			if at < len(log) {
				req.Rewind = log[at].ID
			}
			g.run(req)
			checkValid(t, g.request(3).Messages)
			g.run(say("and?"))
			checkValid(t, g.request(4).Messages)
			got := outline(g.request(4).Messages)
			if tail := got[len(got)-3:]; !slices.Equal(tail, []string{"user: again", "assistant: two", "user: and?"}) {
				t.Errorf("the conversation ends with %q", tail)
			}
		})
	}
}

// Recovery.

// fenceOff makes the active run lose its thread to another owner, as when its
// process dies.
func (g *rig) fenceOff(threadID string) {
	if _, err := g.store.Acquire(context.Background(), threadID); err != nil {
		g.t.Error(err)
	}
}

func TestRecovery_NeverRepeatsAnEffectSilently(t *testing.T) {
	t.Parallel()
	for _, tt := range []struct {
		effect awaken.EffectClass
		want   []string // the keys the tool is called with
		sees   string
	}{
		{awaken.Effectful, []string{"r/0/0"}, "not known"},
		{awaken.Idempotent, []string{"r/0/0", "r/0/0"}, "paid"},
		{awaken.ReadOnly, []string{"r/0/0", "r/0/0"}, "paid"},
	} {
		t.Run(fmt.Sprintf("effect %q", tt.effect), func(t *testing.T) {
			t.Parallel()
			var g *rig
			var keys []string
			lost := make(chan struct{})
			pay := awaken.NewTool(awaken.ToolSpec{ID: "pay", Effect: tt.effect}, func(_ context.Context, c *awaken.ToolCall, _ args) (string, error) {
				if keys = append(keys, c.Key); len(keys) == 1 {
					g.fenceOff("t")
					close(lost)
				}
				return "paid", nil
			})
			warm := awaken.NewTool(awaken.ToolSpec{ID: "warm", Effect: awaken.Idempotent}, func(context.Context, *awaken.ToolCall, args) (string, error) {
				<-lost // else its result could be committed before
				return "warm", nil
			})
			// The read-only call has no intent of its own, so it needs company to be in the log at all.
			turn := uses("pay")
			if tt.effect == awaken.ReadOnly {
				turn = uses("pay", "warm")
			}
			g = newRig(t, []llmtest.Turn{turn, turn, llmtest.Say("ok")}, withTools(pay, warm), withMode(awaken.ParallelStreaming))
			req := say("hi")
			req.RunID = "r"
			p := &tape{}
			if _, err := g.rt.Run(t.Context(), req, p); !errors.Is(err, awaken.ErrFenced) {
				t.Fatalf("the run that lost its thread ends with %v", err)
			}
			if slices.Contains(p.types(), "run_finish") || slices.Contains(p.types(), "tool_call_done") {
				t.Errorf("an owner that lost its thread keeps publishing: %q", p.types())
			}
			g.restart()
			res, p := g.run(awaken.RunRequest{Continue: "r"})
			checkTermination(t, res, p, awaken.NaturalEnd)
			want := append(slices.Clone(tt.want), "r/1/0") // the next step's call has its own key
			if diff := cmp.Diff(want, keys); diff != "" {
				t.Errorf("keys of the calls (-want +got):\n%s", diff)
			}
			second := g.request(2).Messages
			checkValid(t, second)
			if got := second[2].Text(); !strings.Contains(got, tt.sees) {
				t.Errorf("the model sees %q, want %q", got, tt.sees)
			}
			if res.Steps != 3 {
				t.Errorf("%d steps, want 3", res.Steps)
			}
			checkStoredSteps(t, g, "t")
			var ledger []string
			for _, c := range g.calls("r") {
				ledger = append(ledger, fmt.Sprintf("%s %v", c.Key, c.Status.Terminal()))
			}
			if slices.ContainsFunc(ledger, func(s string) bool { return strings.HasSuffix(s, "false") }) {
				t.Errorf("the ledger has open calls: %q", ledger)
			}
		})
	}
}

// checkStoredSteps checks that in the thread's stored log every step is closed
// before the next one opens. The run_start of a new owner closes the step that the
// old one left open.
func checkStoredSteps(t *testing.T, g *rig, threadID string) {
	t.Helper()
	entries, err := g.store.Entries(t.Context(), threadID, awaken.EntryQuery{})
	if err != nil {
		t.Fatal(err)
	}
	open := false
	var types []string
	for _, e := range entries {
		types = append(types, e.Event.Type())
		switch e.Event.(type) {
		case *awaken.StepStart:
			if open {
				t.Errorf("a step opens inside another")
			}
			open = true
		case *awaken.StepEnd:
			if !open {
				t.Errorf("a step closes that is not open")
			}
			open = false
		case *awaken.RunStart:
			open = false
		}
	}
	if open {
		t.Error("the last step is not closed")
	}
	if t.Failed() {
		t.Logf("stored: %q", types)
	}
}

// An owner can be lost after the last result of a step is stored and before the
// step is.
func TestRecovery_BetweenTheLastResultAndTheEndOfTheStep(t *testing.T) {
	t.Parallel()
	var keys []string
	pay := tool("pay", func(_ context.Context, c *awaken.ToolCall, _ args) (*awaken.ToolResult, error) {
		keys = append(keys, c.Key)
		return awaken.TextResult("paid"), nil
	})
	lost := false
	g := newRig(t, []llmtest.Turn{uses("pay", "look"), uses("pay"), llmtest.Say("ok")}, withTools(pay, echo("look")), withStore(func(s awaken.Store) awaken.Store {
		return &brokenStore{s, func(c *awaken.Commit) error {
			if n := len(c.Entries); lost || n == 0 || c.Entries[n-1].Event.Type() != "step_end" {
				return nil
			}
			lost = true
			// Store what came before the end of the step, as a commit of the last
			// result alone would have.
			part := *c
			part.Entries = slices.DeleteFunc(slices.Clone(c.Entries), func(e awaken.Entry) bool {
				return e.Event.Type() == "step_end" || e.Event.Type() == "state_snapshot"
			})
			part.Run.Steps--
			if err := s.Commit(context.Background(), &part); err != nil {
				return err
			}
			return awaken.ErrFenced
		}}
	}))
	req := say("hi")
	req.RunID = "r"
	if _, err := g.rt.Run(t.Context(), req, nil); !errors.Is(err, awaken.ErrFenced) {
		t.Fatalf("error is %v", err)
	}
	g.restart()
	res, p := g.run(awaken.RunRequest{Continue: "r"})
	checkTermination(t, res, p, awaken.NaturalEnd)
	if diff := cmp.Diff([]string{"r/0/0", "r/1/0"}, keys); diff != "" {
		t.Errorf("keys of the calls (-want +got):\n%s", diff)
	}
	if res.Steps != 3 {
		t.Errorf("%d steps, want 3", res.Steps)
	}
	checkStoredSteps(t, g, "t")
	checkValid(t, g.request(3).Messages)
}

func TestRecovery_ANewMessageDoesNotHideWhatIsInDoubt(t *testing.T) {
	t.Parallel()
	var g *rig
	n := 0
	pay := tool("pay", func(context.Context, *awaken.ToolCall, args) (*awaken.ToolResult, error) {
		n++
		g.fenceOff("t")
		return awaken.TextResult("paid"), nil
	})
	g = newRig(t, []llmtest.Turn{uses("pay"), llmtest.Say("ok")}, withTools(pay))
	if _, err := g.rt.Run(t.Context(), say("hi"), nil); !errors.Is(err, awaken.ErrFenced) {
		t.Fatalf("error is %v", err)
	}
	g.restart()
	res, p := g.run(say("are you there?"))
	checkTermination(t, res, p, awaken.NaturalEnd)
	got := outline(g.request(2).Messages)
	checkValid(t, g.request(2).Messages)
	if n != 1 || len(got) != 4 || !strings.Contains(got[2], "not known") || got[3] != "user: are you there?" {
		t.Errorf("the tool ran %d times, the model is shown:\n%s", n, strings.Join(got, "\n"))
	}
	checkStoredSteps(t, g, "t")
}

// Late cancels.

// strictStore refuses to work for a context that is done, as a database does.
type strictStore struct{ awaken.Store }

func (s strictStore) Commit(ctx context.Context, c *awaken.Commit) error {
	if err := ctx.Err(); err != nil {
		return err
	}
	return s.Store.Commit(ctx, c)
}

func TestCancel_AtAnyMomentLeavesADoneRecord(t *testing.T) {
	t.Parallel()
	type moment struct {
		name string
		opt  func(cancel func()) option
	}
	var moments []moment
	for _, p := range allPhases {
		moments = append(moments, moment{"in " + p.String(), func(cancel func()) option {
			return withPlugins(at(p, func(context.Context, *awaken.HookCall) error { cancel(); return nil }))
		}})
	}
	for n := uint64(1); n <= 3; n++ {
		moments = append(moments, moment{fmt.Sprintf("in commit %d", n), func(cancel func()) option {
			return withStore(func(s awaken.Store) awaken.Store {
				return &brokenStore{s, func(c *awaken.Commit) error {
					if c.Number == n {
						cancel()
					}
					return nil
				}}
			})
		}})
	}
	for _, m := range moments {
		t.Run(m.name, func(t *testing.T) {
			t.Parallel()
			ctx, cancel := context.WithCancel(t.Context())
			defer cancel()
			g := newRig(t, []llmtest.Turn{uses("echo"), llmtest.Say("ok")}, withTools(echo("echo")), m.opt(cancel),
				withStore(func(s awaken.Store) awaken.Store { return strictStore{s} }))
			p := &tape{}
			req := say("hi")
			req.RunID = "r"
			res, err := g.rt.Run(ctx, req, p)
			if err != nil {
				t.Fatal(err)
			}
			checkBalanced(t, p)
			if rec := g.record("r"); rec.Status != awaken.RunDone || rec.Termination != res.Termination {
				t.Errorf("the run ended with %s, the record is %s with %s", res.Termination, rec.Status, rec.Termination)
			}
			if res.Termination.Type != awaken.Cancelled && res.Termination.Type != awaken.NaturalEnd {
				t.Errorf("the run ended with %s", res.Termination)
			}
			checkValid(t, g.log("t"))
		})
	}
}

func TestCancel_WhileARunParksCancelsIt(t *testing.T) {
	t.Parallel()
	ctx, cancel := context.WithCancel(t.Context())
	defer cancel()
	g := newRig(t, []llmtest.Turn{uses("pay")}, withTools(echo("pay")), withPlugins(askAbout("pay", awaken.Ticket{}),
		at(awaken.PhaseStepEnd, func(context.Context, *awaken.HookCall) error { cancel(); return nil })))
	p := &tape{}
	res, err := g.rt.Run(ctx, say("hi"), p)
	if err != nil {
		t.Fatal(err)
	}
	checkBalanced(t, p)
	checkTermination(t, res, p, awaken.Cancelled)
	checkValid(t, g.log("t"))
	if rec := g.record(res.RunID); rec.Status != awaken.RunDone {
		t.Errorf("the record is %s", rec.Status)
	}
}

func TestCancel_GivesStepEndABoundedContext(t *testing.T) {
	t.Parallel()
	bubbletest.Test(t, func(t *testing.T) {
		ctx, cancel := context.WithCancel(t.Context())
		g := newRig(t, []llmtest.Turn{{Hang: true}}, withPlugins(at(awaken.PhaseStepEnd, func(ctx context.Context, _ *awaken.HookCall) error {
			<-ctx.Done() // a hook that waits for something that never comes
			return nil
		})))
		time.AfterFunc(time.Second, cancel)
		done := make(chan struct{})
		go func() {
			defer close(done)
			if _, err := g.rt.Run(ctx, say("hi"), nil); err != nil {
				t.Error(err)
			}
		}()
		select {
		case <-done:
		case <-time.After(time.Hour):
			t.Fatal("the run never ends")
		}
	})
}

// Many runs at once.

// The text of a step goes through pooled memory on its way into the commit. Runs
// must not get each other's.
func TestCommit_KeepsTheStreamsOfConcurrentRunsApart(t *testing.T) {
	t.Parallel()
	model := llmtest.NewRules(
		llmtest.Rule{
			Match: func(r *llm.Request) bool { return r.Messages.Last().Role == llm.User },
			Turn: func(r *llm.Request) llmtest.Turn {
				who := r.Messages.Last().Text()
				turn := llmtest.Turn{Chunk: 3, Reasoning: llmtest.Text{strings.Repeat("think-"+who+" ", 20)}, Text: llmtest.Text{strings.Repeat("say-"+who+" ", 50)}}
				for i := range 3 {
					turn.ToolCalls = append(turn.ToolCalls, llmtest.Call{Name: "stream", Arguments: json.RawMessage(fmt.Sprintf(`{"who":%q,"n":%d}`, who, i))})
				}
				return turn
			}},
		llmtest.Rule{Turn: func(r *llm.Request) llmtest.Turn { return llmtest.Say("done ", r.Messages.At(0).Text()) }},
	)
	stream := tool("stream", func(_ context.Context, c *awaken.ToolCall, in args) (*awaken.ToolResult, error) {
		for i := range 10 {
			c.Output(fmt.Sprintf("%s/%v/%d ", in["who"], in["n"], i))
		}
		return awaken.TextResult("ok"), nil
	})
	g := newRig(t, nil, withTools(stream), withMode(awaken.ParallelStreaming), func(c *engine.Config) { c.Providers["p"] = model })
	// texts puts the deltas of each kind and call together.
	texts := func(entries []awaken.Entry) map[string]string {
		out := map[string]string{}
		step := 0
		for _, e := range entries {
			switch ev := e.Event.(type) {
			case *awaken.StepStart:
				step++
			case *awaken.TextDelta:
				out[fmt.Sprint("text ", step)] += ev.Delta
			case *awaken.ReasoningDelta:
				out[fmt.Sprint("reasoning ", step)] += ev.Delta
			case *awaken.ToolCallDelta:
				out["args "+ev.ID] += ev.ArgsDelta
			case *awaken.ToolCallStreamDelta:
				out["output "+ev.ID] += ev.Delta
			}
		}
		return out
	}
	var wg sync.WaitGroup
	for i := range 32 {
		wg.Go(func() {
			who := fmt.Sprintf("run%02d", i)
			p := &tape{}
			if _, err := g.rt.Run(t.Context(), awaken.RunRequest{ThreadID: who, Messages: []*llm.Message{llm.UserText(who)}}, p); err != nil {
				t.Error(err)
				return
			}
			stored, err := g.store.Entries(t.Context(), who, awaken.EntryQuery{})
			if err != nil {
				t.Error(err)
				return
			}
			if diff := cmp.Diff(texts(p.entries), texts(stored)); diff != "" {
				t.Errorf("%s: what was streamed and what was stored (-streamed +stored):\n%s", who, diff)
			}
			for _, m := range g.log(who) {
				if s := toJSON(t, m); strings.Contains(s, "run") && !strings.Contains(s, who) && m.Role == llm.Assistant {
					t.Errorf("%s has a message of another: %s", who, s)
				}
			}
			checkChunks(t, p.entries, stored)
		})
	}
	wg.Wait()
}

// checkChunks checks that stored entries cover the numbers of all streamed events,
// each once, and that their chunks are the deltas that were streamed.
func checkChunks(t *testing.T, streamed, stored []awaken.Entry) {
	delta := func(ev awaken.Event) (string, bool) {
		switch ev := ev.(type) {
		case *awaken.TextDelta:
			return ev.Delta, true
		case *awaken.ReasoningDelta:
			return ev.Delta, true
		case *awaken.ToolCallDelta:
			return ev.ArgsDelta, true
		case *awaken.ToolCallStreamDelta:
			return ev.Delta, true
		}
		return "", false
	}
	bySeq := map[uint64]awaken.Event{}
	for _, e := range streamed {
		bySeq[e.Seq] = e.Event
	}
	covered := map[uint64]bool{}
	cover := func(seq uint64) {
		if covered[seq] || bySeq[seq] == nil {
			t.Errorf("number %d is stored twice, or was never streamed", seq)
		}
		covered[seq] = true
	}
	for _, e := range stored {
		if e.Chunks == nil {
			cover(e.Seq)
			continue
		}
		text, _ := delta(e.Event)
		for _, c := range e.Chunks {
			seq := e.Seq + uint64(c.Offset)
			cover(seq)
			want, ok := delta(bySeq[seq])
			if !ok || len(text) < int(c.Len) || text[:c.Len] != want {
				t.Errorf("chunk %d of entry %d is not what was streamed", seq, e.Seq)
				return
			}
			text = text[c.Len:]
		}
		if text != "" {
			t.Errorf("entry %d holds %q beyond its chunks", e.Seq, text)
		}
	}
	if len(covered) != len(bySeq) {
		t.Errorf("%d events were streamed, %d are stored", len(bySeq), len(covered))
	}
}

// Arguments.

func TestArguments_MayBeNullWhereTheToolSaysSo(t *testing.T) {
	t.Parallel()
	type in struct {
		City string  `json:"city"`
		Note *string `json:"note,omitempty"`
	}
	visit := awaken.NewTool(awaken.ToolSpec{ID: "visit"}, func(_ context.Context, _ *awaken.ToolCall, in in) (string, error) {
		return fmt.Sprintf("%s %v", in.City, in.Note == nil), nil
	})
	g := newRig(t, []llmtest.Turn{llmtest.Use("visit", `{"city":"Rome","note":null}`), llmtest.Say("ok")}, withTools(visit))
	g.run(say("hi"))
	if got := g.request(2).Messages[2].Text(); got != "Rome true" {
		t.Errorf("the tool said %q", got)
	}
	// What models are shown has no null in it: not all providers take it.
	if tools := g.rt.Registry().ToolIDs("default"); !slices.Equal(tools, []string{"visit"}) {
		t.Errorf("tools are %q", tools)
	}
}
