package engine_test

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"iter"
	"math"
	"math/rand/v2"
	"runtime"
	"slices"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"github.com/awaken-go/awaken"
	"github.com/awaken-go/awaken/engine"
	"github.com/awaken-go/awaken/internal/bubbletest"
	"github.com/awaken-go/awaken/llm"
	"github.com/awaken-go/awaken/llm/llmtest"
	"github.com/awaken-go/awaken/registry"
	"github.com/awaken-go/awaken/state"
	"github.com/awaken-go/awaken/store/memory"
)

// What may happen to a run from outside, and what must hold anyway.

// Models.

// deltas is a model that yields these deltas, whatever the request, and then says ok.
func deltas(list ...llm.Delta) option {
	var asked atomic.Int32
	return func(c *engine.Config) {
		c.Providers["p"] = llm.ModelFunc(func(context.Context, *llm.Request) iter.Seq2[llm.Delta, error] {
			if asked.Add(1) > 1 {
				list = []llm.Delta{{Kind: llm.TextDelta, Text: "ok"}, {Kind: llm.FinishDelta, Finish: llm.EndTurn}}
			}
			return func(yield func(llm.Delta, error) bool) {
				for _, d := range list {
					yield(d, nil)
				}
			}
		})
	}
}

var toolUse = llm.Delta{Kind: llm.FinishDelta, Finish: llm.ToolUse}

func TestModel_ThatPanicsEndsItsRunAndNothingElse(t *testing.T) {
	t.Parallel()
	g := newRig(t, nil, func(c *engine.Config) {
		c.Providers["p"] = llm.ModelFunc(func(context.Context, *llm.Request) iter.Seq2[llm.Delta, error] {
			return func(yield func(llm.Delta, error) bool) {
				yield(llm.Delta{Kind: llm.TextDelta, Text: "Well"}, nil)
				panic("out of tape")
			}
		})
	})
	p := &tape{}
	res, err := g.rt.Run(t.Context(), say("hi"), p)
	if pe, ok := errors.AsType[*awaken.PanicError](err); !ok || pe.Value != "out of tape" {
		t.Fatalf("error is %v", err)
	}
	checkBalanced(t, p)
	checkTermination(t, res, p, awaken.Failed)
	if rec := g.record(res.RunID); rec.Status != awaken.RunDone {
		t.Errorf("the record is %s", rec.Status)
	}
}

// A panic in the body of a loop over Stream propagates to the loop's function.
func TestStream_LetsAPanicOfItsLoopThrough(t *testing.T) {
	t.Parallel()
	g := newRig(t, []llmtest.Turn{llmtest.Say("Hello."), llmtest.Say("Again.")})
	func() {
		defer func() {
			if v := recover(); v != "mine" {
				t.Errorf("recovered %v", v)
			}
		}()
		for ev := range g.rt.Stream(t.Context(), say("hi")) {
			if _, ok := ev.(*awaken.TextDelta); ok {
				panic("mine")
			}
		}
	}()
	res, p := g.run(say("still there?"))
	checkBalanced(t, p)
	checkTermination(t, res, p, awaken.NaturalEnd)
}

// The panic continues in the caller of Run, and the run does not stay open.
func TestSink_ThatPanicsEndsTheRunOnce(t *testing.T) {
	t.Parallel()
	for name, tt := range map[string]struct {
		exits bool
		at    func(awaken.Event) bool
		want  awaken.TerminationType // "" if it waits
	}{
		"at a delta":                {false, func(ev awaken.Event) bool { _, ok := ev.(*awaken.TextDelta); return ok }, awaken.Failed},
		"at the start":              {false, func(ev awaken.Event) bool { _, ok := ev.(*awaken.RunStart); return ok }, awaken.Failed},
		"at a tool's result":        {false, func(ev awaken.Event) bool { _, ok := ev.(*awaken.ToolCallDone); return ok }, awaken.Failed},
		"at the end of a step":      {false, func(ev awaken.Event) bool { _, ok := ev.(*awaken.StepEnd); return ok }, awaken.Failed},
		"at the end":                {false, func(ev awaken.Event) bool { _, ok := ev.(*awaken.RunFinish); return ok }, awaken.NaturalEnd},
		"at a delta, by its Goexit": {true, func(ev awaken.Event) bool { _, ok := ev.(*awaken.TextDelta); return ok }, awaken.Failed},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			g := newRig(t, []llmtest.Turn{uses("echo"), llmtest.Say("Hello."), llmtest.Say("Again.")}, withTools(echo("echo")))
			req := say("hi")
			req.RunID = "crashes"
			returned, got := false, make(chan any)
			go func() {
				defer func() { got <- recover() }()
				_, _ = g.rt.Run(t.Context(), req, awaken.SinkFunc(func(_ context.Context, e awaken.Entry) error {
					if tt.at(e.Event) {
						if tt.exits {
							runtime.Goexit()
						}
						panic("mine")
					}
					return nil
				}))
				returned = true
			}()
			if v := <-got; returned || (v == "mine") == tt.exits {
				t.Errorf("Run returned: %v, with panic %v", returned, v)
			}
			if rec := g.record("crashes"); rec.Status != awaken.RunDone || rec.Termination.Type != tt.want {
				t.Errorf("the run is %s with %s, want done with %s", rec.Status, rec.Termination, tt.want)
			}
			finishes := 0
			page, err := g.store.Entries(t.Context(), "t", awaken.EntryQuery{})
			if err != nil {
				t.Fatal(err)
			}
			for _, e := range page {
				if _, ok := e.Event.(*awaken.RunFinish); ok {
					finishes++
				}
			}
			if finishes != 1 {
				t.Errorf("the log has %d run_finish, want one", finishes)
			}
			checkValid(t, g.log("t"))
			_, p := g.run(say("still there?"))
			checkBalanced(t, p)
		})
	}
}

func TestModel_MustEndWithOneFinish(t *testing.T) {
	t.Parallel()
	text := llm.Delta{Kind: llm.TextDelta, Text: "Hi"}
	end := llm.Delta{Kind: llm.FinishDelta, Finish: llm.EndTurn}
	for name, list := range map[string][]llm.Delta{
		"none":      {text},
		"no reason": {text, {Kind: llm.FinishDelta}},
		"two":       {text, end, end},
		"and more":  {text, end, text},
		"a call":    {text, end, {Kind: llm.ToolCallStart, ID: "c1", Name: "echo"}},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			g := newRig(t, nil, withTools(echo("echo")), deltas(list...))
			p := &tape{}
			res, err := g.rt.Run(t.Context(), say("hi"), p)
			if le, ok := errors.AsType[*llm.Error](err); !ok || !le.Retryable() {
				t.Fatalf("error is %v", err)
			}
			checkBalanced(t, p)
			checkTermination(t, res, p, awaken.Failed)
			if got := p.text(); got != "Hi" {
				t.Errorf("streamed %q", got)
			}
		})
	}
}

// A model that continues after it was told to stop is ignored.
func TestModel_DeltasAfterTheStopAreIgnored(t *testing.T) {
	t.Parallel()
	g := newRig(t, nil, func(c *engine.Config) {
		c.Providers["p"] = llm.ModelFunc(func(context.Context, *llm.Request) iter.Seq2[llm.Delta, error] {
			return func(yield func(llm.Delta, error) bool) {
				yield(llm.Delta{}, &llm.Error{Kind: llm.Overloaded})
				yield(llm.Delta{Kind: llm.TextDelta, Text: "never mind"}, nil)
				yield(llm.Delta{Kind: llm.FinishDelta, Finish: llm.EndTurn}, nil)
			}
		})
	})
	p := &tape{}
	res, err := g.rt.Run(t.Context(), say("hi"), p)
	if llm.KindOf(err) != llm.Overloaded {
		t.Errorf("error is %v", err)
	}
	checkTermination(t, res, p, awaken.Failed)
	if p.text() != "" {
		t.Errorf("streamed %q", p.text())
	}
}

// Calls need ids that differ, or people could not decide on each. Models that give
// none, or one twice, get new ones.
func TestModel_CallsStayDistinctWithDuplicateIDs(t *testing.T) {
	t.Parallel()
	call := func(id, name string) llm.Delta { return llm.Delta{Kind: llm.ToolCallStart, ID: id, Name: name} }
	args := func(id, text string) llm.Delta { return llm.Delta{Kind: llm.ToolCallDelta, ID: id, Text: text} }
	for name, list := range map[string][]llm.Delta{
		"same":        {call("x", "pay"), args("x", `{"n":1}`), call("x", "pay"), args("x", `{"n":2}`), toolUse},
		"empty":       {call("", "pay"), args("", `{"n":1}`), call("", "pay"), args("", `{"n":2}`), toolUse},
		"blank delta": {call("x", "pay"), args("", `{"n":1}`), call("y", "pay"), args("", `{"n":2}`), toolUse},
		"unknown":     {call("x", "pay"), args("z", `{"n":7}`), args("x", `{"n":1}`), call("y", "pay"), args("y", `{"n":2}`), toolUse},
	} {
		for _, mode := range []awaken.ExecutionMode{awaken.Sequential, awaken.ParallelStreaming} {
			t.Run(name+" "+string(mode), func(t *testing.T) {
				t.Parallel()
				g := newRig(t, nil, withTools(echo("pay")), withPlugins(askAbout("pay", awaken.Ticket{})), deltas(list...), withMode(mode))
				res, p := g.run(say("hi"))
				for i := 0; res.Termination.Type == awaken.Suspended && i < 2; i++ {
					for _, d := range eventsOf[awaken.ToolCallDelta](p) {
						if d.ID == "" || d.ID == "z" {
							t.Errorf("a delta is for call %q", d.ID)
						}
					}
					var ds []awaken.Decision
					for _, w := range res.Waiting.Tickets {
						ds = append(ds, approve(w.ToolCallID))
					}
					res, p = g.resume(res.RunID, ds...)
				}
				checkTermination(t, res, p, awaken.NaturalEnd)
				if log := outline(g.log("t")); len(log) != 5 || !strings.HasSuffix(log[2], `: pay {"n":1}`) || !strings.HasSuffix(log[3], `: pay {"n":2}`) {
					t.Errorf("log is:\n%s", strings.Join(log, "\n"))
				}
				checkValid(t, g.log("t"))
			})
		}
	}
}

// Tools.

func TestTool_MayReturnWhateverItLikes(t *testing.T) {
	t.Parallel()
	for name, res := range map[string]*awaken.ToolResult{
		"nothing":                 nil,
		"pending without ticket":  {Status: awaken.ToolPending},
		"unknown status":          {Status: "banana"},
		"metadata without a JSON": {Metadata: map[string]any{"c": make(chan int)}},
		"data that is not JSON":   {Data: json.RawMessage("{")},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			g := newRig(t, []llmtest.Turn{uses("odd"), llmtest.Say("ok")}, withTools(
				tool("odd", func(context.Context, *awaken.ToolCall, args) (*awaken.ToolResult, error) { return res, nil })))
			out, p := g.run(say("hi"))
			checkBalanced(t, p)
			if out.Termination.Type == awaken.Suspended {
				out, p = g.resume(out.RunID, awaken.Decision{Target: "c1", Action: awaken.ActionCancel})
			}
			checkTermination(t, out, p, awaken.NaturalEnd)
			checkValid(t, g.log("t"))
			for _, c := range g.calls(out.RunID) {
				toJSON(t, c) // a store has to be able to write it
			}
		})
	}
}

// callsThenSays is a model that makes one step of calls on every turn of the user.
func callsThenSays(names ...string) option {
	return func(c *engine.Config) {
		c.Providers["p"] = llmtest.NewRules(
			llmtest.Rule{Match: func(r *llm.Request) bool { return r.Messages.Last().Role == llm.User }, Turn: func(*llm.Request) llmtest.Turn { return uses(names...) }},
			llmtest.Rule{Turn: func(*llm.Request) llmtest.Turn { return llmtest.Say("ok") }})
	}
}

// A tool may return the same result every time.
func TestTool_ResultsAreNotWrittenTo(t *testing.T) {
	t.Parallel()
	fine := &awaken.ToolResult{Message: "fine"}
	give := func(context.Context, *awaken.ToolCall, args) (*awaken.ToolResult, error) { return fine, nil }
	g := newRig(t, nil, withMode(awaken.ParallelStreaming), callsThenSays("fine", "good"), withTools(tool("fine", give), tool("good", give)))
	var wg sync.WaitGroup
	for i := range 8 {
		wg.Go(func() {
			if _, err := g.rt.Run(t.Context(), awaken.RunRequest{ThreadID: fmt.Sprint(i), Messages: []*llm.Message{llm.UserText("hi")}}, nil); err != nil {
				t.Error(err)
			}
		})
	}
	wg.Wait()
	if fine.ToolName != "" || fine.Status != "" {
		t.Errorf("the tool's own result is now %+v", fine)
	}
}

// What a tool shows after its call is over is not shown, least of all after the
// event that says it is.
func TestTool_EventsAfterItsCallAreIgnored(t *testing.T) {
	t.Parallel()
	bubbletest.Test(t, func(t *testing.T) {
		var keep atomic.Pointer[awaken.ToolCall]
		quick := tool("quick", func(_ context.Context, c *awaken.ToolCall, _ args) (*awaken.ToolResult, error) {
			keep.Store(c)
			return awaken.TextResult("quick"), nil
		})
		slow := tool("slow", func(context.Context, *awaken.ToolCall, args) (*awaken.ToolResult, error) {
			time.Sleep(time.Second)
			kept := keep.Load()
			for range 100 {
				kept.Output("late")
				kept.Progress(awaken.Progress{})
			}
			return awaken.TextResult("slow"), nil
		})
		g := newRig(t, []llmtest.Turn{uses("quick", "slow"), llmtest.Say("ok")}, withMode(awaken.ParallelStreaming), withTools(quick, slow))
		_, p := g.run(say("hi"))
		checkBalanced(t, p)
		if n := len(eventsOf[awaken.ToolCallStreamDelta](p)) + len(eventsOf[awaken.ActivitySnapshot](p)); n > 0 {
			t.Errorf("%d events of a call that was over", n)
		}
		keep.Load().Output("much later") // and does not block either
	})
}

// A tool that talks for hours does not fill the memory: what it said is committed
// when it becomes much.
func TestTool_OutputIsCommittedWhenItBecomesMuch(t *testing.T) {
	t.Parallel()
	var most, commits atomic.Int64
	loud := awaken.NewTool(awaken.ToolSpec{ID: "loud", Effect: awaken.ReadOnly}, func(_ context.Context, c *awaken.ToolCall, _ args) (string, error) {
		line := strings.Repeat("x", 1<<10)
		for range 8 << 10 {
			c.Output(line)
		}
		for range 8 << 10 {
			c.Progress(awaken.Progress{})
		}
		return "done", nil
	})
	g := newRig(t, []llmtest.Turn{uses("loud"), llmtest.Say("ok")}, withTools(loud), withStore(func(s awaken.Store) awaken.Store {
		return &brokenStore{s, func(c *awaken.Commit) error {
			commits.Add(1)
			size := int64(0)
			for i := range c.Entries {
				size += 100
				if d, ok := c.Entries[i].Event.(*awaken.ToolCallStreamDelta); ok {
					size += int64(len(d.Delta))
				}
			}
			most.Store(max(most.Load(), size))
			return nil
		}}
	}))
	_, p := g.run(say("hi"))
	checkBalanced(t, p)
	if most.Load() > 2<<20 || commits.Load() > 100 {
		t.Errorf("%d commits, the largest of %d bytes", commits.Load(), most.Load())
	}
}

// Plugins.

// A transform may do with its request what it likes: nothing of it is shared with
// other runs, other transforms or the log.
func TestTransform_OwnsItsRequest(t *testing.T) {
	t.Parallel()
	g := newRig(t, nil, callsThenSays("a"), withTools(echo("a"), echo("b"), echo("c")), withPlugins(plug{"greedy", func(r *awaken.Registrar) {
		r.Transform(func(_ context.Context, h *awaken.HookCall, req *llm.Request) error {
			_ = h.Messages.Append(llm.UserText("scribble"))
			req.Messages = req.Messages.Append(llm.UserText("please"))
			req.Tools = append(req.Tools, llm.Tool{Name: "z"})
			req.Tools = slices.DeleteFunc(req.Tools, func(t llm.Tool) bool { return t.Name == "b" })
			req.System = append(req.System, llm.Text("more"))
			req.System[0].Text = "Be bad."
			return nil
		})
	}}, at(awaken.PhaseBeforeInference, func(_ context.Context, h *awaken.HookCall) error {
		var names []string
		for _, tl := range h.Tools {
			names = append(names, tl.Name)
		}
		if !slices.Equal(names, []string{"a", "b", "c"}) {
			return fmt.Errorf("the tools are %q", names)
		}
		_ = h.Messages.Append(llm.UserText("scrawl"))
		return nil
	})), func(c *engine.Config) {
		inner := c.Providers["p"]
		c.Providers["p"] = llm.ModelFunc(func(ctx context.Context, req *llm.Request) iter.Seq2[llm.Delta, error] {
			r := *req
			r.Messages = req.Messages.Cut(req.Messages.Len() - 1)
			if got := req.Messages.Last().Text(); got != "please" {
				return func(yield func(llm.Delta, error) bool) {
					yield(llm.Delta{}, fmt.Errorf("the last message is %q", got))
				}
			}
			return inner.Stream(ctx, &r)
		})
	})
	var wg sync.WaitGroup
	for i := range 8 {
		wg.Go(func() {
			for range 5 {
				if _, err := g.rt.Run(t.Context(), awaken.RunRequest{ThreadID: fmt.Sprint(i), Messages: []*llm.Message{llm.UserText("hi")}}, nil); err != nil {
					t.Error(err)
					return
				}
			}
		})
	}
	wg.Wait()
}

type badJSON struct{ N int }

func (badJSON) MarshalJSON() ([]byte, error) { panic("no JSON today") }
func (*badJSON) UnmarshalJSON([]byte) error  { panic("no JSON either") }

// A state key whose values cannot be written ends the run, in order: the rest of
// what it did is kept.
func TestState_ThatCannotBeMarshalledEndsTheRunProperly(t *testing.T) {
	t.Parallel()
	panics := state.NewValue[badJSON]("test.panics", state.Options{})
	nan := state.NewValue[float64]("test.nan", state.Options{})
	for name, set := range map[string]func(w state.Writer){
		"panics": func(w state.Writer) { panics.Update(w, badJSON{1}) },
		"nan":    func(w state.Writer) { nan.Update(w, math.NaN()) },
	} {
		for _, p := range []awaken.Phase{awaken.PhaseRunStart, awaken.PhaseAfterInference, awaken.PhaseAfterToolExecute, awaken.PhaseStepEnd, awaken.PhaseRunEnd} {
			t.Run(name+" in "+p.String(), func(t *testing.T) {
				t.Parallel()
				g := newRig(t, []llmtest.Turn{uses("echo"), llmtest.Say("ok")}, withTools(echo("echo")), withPlugins(plug{"bad", func(r *awaken.Registrar) {
					r.Key(panics)
					r.Key(nan)
					r.On(p, func(_ context.Context, h *awaken.HookCall) error { set(h); return nil })
				}}))
				tp := &tape{}
				res, err := g.rt.Run(t.Context(), say("hi"), tp)
				if err == nil || res == nil {
					t.Fatalf("error is %v", err)
				}
				checkBalanced(t, tp)
				checkTermination(t, res, tp, awaken.Failed)
				if rec := g.record(res.RunID); rec.Status != awaken.RunDone || rec.Termination != res.Termination {
					t.Errorf("the record is %s with %s", rec.Status, rec.Termination)
				}
				checkValid(t, g.log("t"))
			})
		}
	}
}

// A panic while a run is set up does not leave its thread busy for ever.
func TestRun_APanicAtItsStartReleasesTheThread(t *testing.T) {
	t.Parallel()
	key := state.NewValue[badJSON]("test.panics", state.Options{})
	g := newRig(t, []llmtest.Turn{llmtest.Say("ok")}, withPlugins(plug{"bad", func(r *awaken.Registrar) { r.Key(key) }}))
	req := say("hi")
	req.Seed = map[string]json.RawMessage{"test.panics": json.RawMessage("{}")}
	func() {
		defer func() { _ = recover() }()
		if _, err := g.rt.Run(t.Context(), req, nil); err == nil {
			t.Error("the run went well")
		}
	}()
	res, p := g.run(say("hi"))
	checkTermination(t, res, p, awaken.NaturalEnd)
}

// The store.

// Whichever commit's answer is lost, whether it was done or not: what the run said
// and what is stored agree.
func TestCommit_WhoseAnswerIsLostIsNeitherLostNorDoubled(t *testing.T) {
	t.Parallel()
	for _, done := range []bool{true, false} {
		for n := 1; n <= 6; n++ {
			for times := 1; times <= 3; times++ {
				t.Run(fmt.Sprintf("commit %d done %v %d times", n, done, times), func(t *testing.T) {
					t.Parallel()
					seen := 0
					g := newRig(t, []llmtest.Turn{uses("echo", "echo"), llmtest.Say("ok")}, withTools(echo("echo")), withStore(func(s awaken.Store) awaken.Store {
						return commitFunc{s, func(ctx context.Context, c *awaken.Commit) error {
							if seen++; seen >= n && seen < n+times {
								if done {
									if err := s.Commit(ctx, c); err != nil {
										return err
									}
								}
								return errors.New("connection lost")
							}
							return s.Commit(ctx, c)
						}}
					}))
					p := &tape{}
					req := say("hi")
					req.RunID = "r"
					res, err := g.rt.Run(t.Context(), req, p)
					if times == 1 && err != nil {
						t.Errorf("it was not tried again: %v", err)
					}
					entries, lerr := g.store.Entries(t.Context(), "t", awaken.EntryQuery{})
					if lerr != nil {
						t.Fatal(lerr)
					}
					last := uint64(0)
					var stored []string
					for _, e := range entries {
						if e.Seq <= last {
							t.Errorf("entry %d is stored after %d", e.Seq, last)
						}
						last = e.Seq
						stored = append(stored, e.Event.Type())
					}
					if res == nil {
						if len(p.entries) != 1 || p.types()[0] != "error" {
							t.Errorf("a run that could not start said %q", p.types())
						}
						return
					}
					checkTermination(t, res, p, res.Termination.Type)
					if n := count(p.types(), "run_finish"); n != 1 {
						t.Errorf("%d run_finish: %q", n, p.types())
					}
					rec := g.record("r")
					if err == nil {
						checkBalanced(t, p)
						if rec.Status != awaken.RunDone || rec.Termination != res.Termination {
							t.Errorf("the run ended with %s, the record is %s with %s", res.Termination, rec.Status, rec.Termination)
						}
						if !slices.Equal(stored, p.types()) {
							t.Errorf("said   %q\nstored %q", p.types(), stored)
						}
						checkValid(t, g.log("t"))
					}
				})
			}
		}
	}
}

// commitFunc replaces a store's Commit.
type commitFunc struct {
	awaken.Store
	commit func(ctx context.Context, c *awaken.Commit) error
}

func (s commitFunc) Commit(ctx context.Context, c *awaken.Commit) error { return s.commit(ctx, c) }

// A run that cannot even be recorded has not started, and says just that.
func TestRun_WhoseFirstCommitFailsHasNotStarted(t *testing.T) {
	t.Parallel()
	g := newRig(t, []llmtest.Turn{llmtest.Say("ok")}, withStore(func(s awaken.Store) awaken.Store {
		return &brokenStore{s, func(c *awaken.Commit) error { return errors.New("disk on fire") }}
	}))
	p := &tape{}
	res, err := g.rt.Run(t.Context(), say("hi"), p)
	if res != nil || err == nil || !strings.Contains(err.Error(), "disk on fire") {
		t.Errorf("result is %+v, error is %v", res, err)
	}
	if got := p.types(); !slices.Equal(got, []string{"error"}) {
		t.Errorf("it said %q", got)
	}
	if len(g.model.Requests()) > 0 {
		t.Error("the model was asked")
	}
}

// An owner that lost its thread stops at once, whichever commit tells it.
func TestFenced_PublishesAndWritesNothingMore(t *testing.T) {
	t.Parallel()
	for n := uint64(1); n <= 5; n++ {
		t.Run(fmt.Sprintf("commit %d", n), func(t *testing.T) {
			t.Parallel()
			var hooks, heard atomic.Int32
			fenced := false
			var opts []option
			for _, ph := range allPhases {
				opts = append(opts, withPlugins(at(ph, func(context.Context, *awaken.HookCall) error {
					if fenced {
						hooks.Add(1)
					}
					return nil
				})))
			}
			g := newRig(t, []llmtest.Turn{uses("echo"), llmtest.Say("ok")}, append(opts, withTools(echo("echo")), withStore(func(s awaken.Store) awaken.Store {
				return &brokenStore{s, func(c *awaken.Commit) error {
					if c.Number == n {
						fenced = true
						return fmt.Errorf("late: %w", awaken.ErrFenced)
					}
					return nil
				}}
			}))...)
			res, err := g.rt.Run(t.Context(), say("hi"), awaken.SinkFunc(func(context.Context, awaken.Entry) error {
				if fenced {
					heard.Add(1)
				}
				return nil
			}))
			if !fenced {
				t.Fatal("there is no such commit")
			}
			if !errors.Is(err, awaken.ErrFenced) || res != nil {
				t.Errorf("result is %+v, error is %v", res, err)
			}
			if hooks.Load() > 0 || heard.Load() > 0 {
				t.Errorf("%d hooks and %d events after it", hooks.Load(), heard.Load())
			}
		})
	}
}

// A store that says there is something in the inbox when there is nothing is broken,
// and does not keep a run busy for ever.
func TestUnread_WithoutItemsEndsTheRun(t *testing.T) {
	t.Parallel()
	for name, opts := range map[string][]option{
		"at the end":         nil,
		"at the end, hooked": {withPlugins(at(awaken.PhaseRunEnd, func(context.Context, *awaken.HookCall) error { return nil }))},
		"when it parks":      {withPlugins(askAbout("pay", awaken.Ticket{}))},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			turns := []llmtest.Turn{uses("pay"), llmtest.Say("ok")}
			g := newRig(t, turns, append(opts, withTools(echo("pay")), withStore(func(s awaken.Store) awaken.Store {
				return &brokenStore{s, func(c *awaken.Commit) error {
					if c.RequireEmptyInbox {
						return awaken.ErrUnread
					}
					return nil
				}}
			}))...)
			p := &tape{}
			res, err := g.rt.Run(t.Context(), say("hi"), p)
			if err == nil {
				t.Fatal("no error")
			}
			checkBalanced(t, p)
			checkTermination(t, res, p, awaken.Failed)
		})
	}
}

// People.

func TestSend_RefusesInvalidMessages(t *testing.T) {
	t.Parallel()
	g := newRig(t, []llmtest.Turn{llmtest.Say("one"), llmtest.Say("two")})
	g.run(say("hi"))
	for name, msgs := range map[string][]*llm.Message{
		"nothing":   nil,
		"null":      {llm.UserText("a"), nil},
		"no role":   {{Content: []llm.Block{llm.Text("a")}}},
		"an answer": {{Role: llm.ToolRole, ToolCallID: "c1"}},
		"a call":    {{Role: llm.Assistant, ToolCalls: []llm.ToolCall{{ID: "c1", Name: "echo"}}}},
	} {
		if err := g.rt.Send(t.Context(), "t", msgs...); !errors.Is(err, awaken.ErrInvalid) {
			t.Errorf("%s: error is %v", name, err)
		}
	}
	res, p := g.run(say("again"))
	checkTermination(t, res, p, awaken.NaturalEnd)
}

// A message that was sent while a run waited is shown to the model also when a new
// message takes the place of what the run waited for.
func TestSend_ToAWaitingRunSurvivesItsBeingSuperseded(t *testing.T) {
	t.Parallel()
	for _, parked := range []bool{false, true} {
		g := newRig(t, []llmtest.Turn{uses("pay", "pay"), llmtest.Say("ok")}, withMode(awaken.ParallelStreaming), withTools(echo("pay")), withPlugins(askAbout("pay", awaken.Ticket{})))
		res, _ := g.run(say("hi"))
		if err := g.rt.Send(t.Context(), "t", llm.UserText("by the way")); err != nil {
			t.Fatal(err)
		}
		if parked {
			g.resume(res.RunID, approve("c1"))
		}
		res, p := g.run(say("forget it"))
		checkTermination(t, res, p, awaken.NaturalEnd)
		got := outline(g.request(2).Messages)
		if !slices.Contains(got, "user: by the way") {
			t.Errorf("parked %v: the model was shown:\n%s", parked, strings.Join(got, "\n"))
		}
		checkValid(t, g.request(2).Messages)
		checkSeen(t, g, append(got, "assistant: ok"))
	}
}

// checkSeen checks that the next run will see the conversation just like this.
func checkSeen(t *testing.T, g *rig, want []string) {
	t.Helper()
	cp, err := g.store.Acquire(context.Background(), "t")
	if err != nil {
		t.Fatal(err)
	}
	if got := outline(cp.View); !slices.Equal(got, want) {
		t.Errorf("the next run would see:\n%s\nwant:\n%s", strings.Join(got, "\n"), strings.Join(want, "\n"))
	}
}

// Every question has an id of its own, on the whole thread: a decision that is delivered again
// counts for the question that it was made for, and for no later one, also if the model uses the id of
// its call again.
func TestDecide_CountsForOneQuestionOnly(t *testing.T) {
	t.Parallel()
	twice := gate(func(_ context.Context, h *awaken.HookCall) (awaken.Verdict, error) {
		if h.Tool.Resume == nil {
			return awaken.SuspendCall(awaken.Ticket{Suspension: awaken.Suspension{ID: "first_" + h.Tool.ID}}), nil
		}
		return awaken.SuspendCall(awaken.Ticket{Suspension: awaken.Suspension{ID: "second_" + h.Tool.ID}}), nil
	})
	g := newRig(t, []llmtest.Turn{uses("pay"), uses("pay"), llmtest.Say("ok")}, withTools(echo("pay")), withPlugins(twice))
	res, p := g.run(say("hi"))
	var asked []string
	for _, call := range []string{"c1", "c1~2"} {
		for _, question := range []string{"first_", "second_"} {
			run, err := g.store.LoadRun(t.Context(), res.RunID)
			if err != nil || run.Waiting == nil || len(run.Waiting.Tickets) != 1 {
				t.Fatalf("question %s%s: the run waits for %+v, %v", question, call, run.Waiting, err)
			}
			if got := run.Waiting.Tickets[0]; got.TicketID != question+call || got.ToolCallID != call {
				t.Fatalf("the run asks %s about %s, want %s%s", got.TicketID, got.ToolCallID, question, call)
			}
			asked = append(asked, question+call)
			for _, target := range append(asked[:len(asked):len(asked)], asked...) { // old ones again, before and after
				if err := g.rt.Decide(t.Context(), res.RunID, awaken.Decision{Target: target, ID: "yes", Action: awaken.ActionResume}); err != nil &&
					!errors.Is(err, awaken.ErrNotFound) && !errors.Is(err, awaken.ErrDecided) {
					t.Fatalf("%s: %v", target, err)
				}
			}
			res, p = g.resume(res.RunID)
		}
	}
	checkTermination(t, res, p, awaken.NaturalEnd)
}

// A decision for a call by its own id, delivered again, does not decide the call's next question.
func TestDecide_ARepeatedDecisionDoesNotDecideTheNextQuestion(t *testing.T) {
	t.Parallel()
	twice := gate(func(_ context.Context, h *awaken.HookCall) (awaken.Verdict, error) {
		if h.Tool.Resume == nil {
			return awaken.SuspendCall(awaken.Ticket{Suspension: awaken.Suspension{ID: "first"}}), nil
		}
		return awaken.SuspendCall(awaken.Ticket{Suspension: awaken.Suspension{ID: "second"}}), nil
	})
	g := newRig(t, []llmtest.Turn{uses("pay"), llmtest.Say("ok")}, withTools(echo("pay")), withPlugins(twice))
	res, _ := g.run(say("hi"))
	for range 3 {
		if err := g.rt.Decide(t.Context(), res.RunID, awaken.Decision{Target: "c1", ID: "yes", Action: awaken.ActionResume}); err != nil {
			t.Fatal(err)
		}
		again, p := g.resume(res.RunID)
		checkTermination(t, again, p, awaken.Suspended)
	}
	if err := g.rt.Decide(t.Context(), res.RunID, awaken.Decision{Target: "c1", ID: "yes too", Action: awaken.ActionResume}); err != nil {
		t.Fatal(err)
	}
	last, p := g.resume(res.RunID)
	checkTermination(t, last, p, awaken.NaturalEnd)
}

func TestRewind_FindsTheMessageThatIsShown(t *testing.T) {
	t.Parallel()
	g := newRig(t, []llmtest.Turn{llmtest.Say("one"), llmtest.Say("two"), llmtest.Say("three"), llmtest.Say("four")})
	msg := func(id, text string) awaken.RunRequest {
		m := llm.UserText(text)
		m.ID = id
		return awaken.RunRequest{ThreadID: "t", Messages: []*llm.Message{m}}
	}
	g.run(msg("a", "first"))
	g.run(msg("a", "second")) // a client that uses an id twice
	req := msg("b", "third")
	req.Rewind = "a"
	g.run(req)
	want := []string{"user: first", "assistant: one", "user: third", "assistant: three"}
	checkSeen(t, g, want)
	req.Messages[0].ID = "c"
	g.run(req)
	checkSeen(t, g, []string{"user: third", "assistant: four"})
}

// Cancelling.

// Cancel from the sink, or from anywhere, while a run has just been parked: a caller that
// was told that it will be cancelled must not find it waiting.
func TestCancel_JustAfterARunWasParkedIsNotLost(t *testing.T) {
	t.Parallel()
	g := newRig(t, []llmtest.Turn{uses("pay")}, withTools(echo("pay")), withPlugins(askAbout("pay", awaken.Ticket{})))
	p := &tape{}
	p.on = func(ev awaken.Event) {
		if fin, ok := ev.(*awaken.RunFinish); ok && fin.Termination.Type == awaken.Suspended {
			if err := g.rt.Cancel(context.Background(), "t"); err != nil {
				t.Error(err)
			}
		}
	}
	res, err := g.rt.Run(t.Context(), say("hi"), p)
	if err != nil {
		t.Fatal(err)
	}
	checkTermination(t, res, p, awaken.Cancelled)
	if rec := g.record(res.RunID); rec.Status != awaken.RunDone || rec.Termination.Type != awaken.Cancelled {
		t.Errorf("the record is %s with %s", rec.Status, rec.Termination)
	}
	checkValid(t, g.log("t"))
}

// Leaving the loop over a run that has been parked is no cancel.
func TestStream_LeftAtTheEndOfAParkedRunLeavesItWaiting(t *testing.T) {
	t.Parallel()
	g := newRig(t, []llmtest.Turn{uses("pay")}, withTools(echo("pay")), withPlugins(askAbout("pay", awaken.Ticket{})))
	for ev := range g.rt.Stream(t.Context(), say("hi")) {
		if _, ok := ev.(*awaken.RunFinish); ok {
			break
		}
	}
	runs, err := g.store.ListRuns(t.Context(), awaken.RunQuery{ThreadID: "t"})
	if err != nil || len(runs) != 1 || runs[0].Status != awaken.RunWaiting {
		t.Errorf("runs are %s, error is %v", toJSON(t, runs), err)
	}
}

func TestCancel_ByManyAtOnceIsOneCancel(t *testing.T) {
	t.Parallel()
	g := newRig(t, []llmtest.Turn{uses("pay")}, withTools(echo("pay")), withPlugins(askAbout("pay", awaken.Ticket{})))
	res, _ := g.run(say("hi"))
	cfg := g.cfg
	cfg.NewID = counter("other-")
	other := mustNew(t, cfg)
	var wg sync.WaitGroup
	for i := range 16 {
		wg.Go(func() {
			rt := g.rt
			if i%2 == 1 {
				rt = other
			}
			if err := rt.Cancel(t.Context(), res.RunID); err != nil {
				t.Error(err)
			}
		})
	}
	wg.Wait()
	if rec := g.record(res.RunID); rec.Status != awaken.RunDone || rec.Termination.Type != awaken.Cancelled {
		t.Errorf("the record is %s with %s", rec.Status, rec.Termination)
	}
}

// A waiting run can be cancelled even if its agent no longer exists.
func TestCancel_OfARunWhoseAgentIsGone(t *testing.T) {
	t.Parallel()
	g := newRig(t, []llmtest.Turn{uses("pay")}, withTools(echo("pay")), withPlugins(askAbout("pay", awaken.Ticket{})))
	res, _ := g.run(say("hi"))
	g.cfg.Agents = []*awaken.AgentSpec{{ID: "newcomer", ModelID: "m"}}
	reg, err := registry.New(g.cfg.Registry())
	if err != nil {
		t.Fatal(err)
	}
	g.rt.Publish(reg)
	if _, err := g.rt.Resume(t.Context(), res.RunID, nil, approve("c1")); !errors.Is(err, awaken.ErrNotFound) {
		t.Errorf("resume: error is %v", err)
	}
	if err := g.rt.Cancel(t.Context(), res.RunID); err != nil {
		t.Fatal(err)
	}
	if rec := g.record(res.RunID); rec.Status != awaken.RunDone || rec.Termination.Type != awaken.Cancelled {
		t.Errorf("the record is %s with %s", rec.Status, rec.Termination)
	}
	checkValid(t, g.log("t"))
}

// Limits that are negative are none.
func TestLimits_NegativeMeansNone(t *testing.T) {
	t.Parallel()
	bubbletest.Test(t, func(t *testing.T) {
		stubborn := tool("stubborn", func(ctx context.Context, _ *awaken.ToolCall, _ args) (*awaken.ToolResult, error) {
			<-ctx.Done()
			time.Sleep(time.Hour) // it has to clean up
			return awaken.TextResult("cleaned up"), nil
		})
		g := newRig(t, []llmtest.Turn{uses("stubborn")}, withTools(stubborn), func(c *engine.Config) {
			c.Limits = engine.Limits{ToolGrace: -1, RunEnd: -1, ToolTimeout: -1}
		}, withStore(func(s awaken.Store) awaken.Store { return strictStore{s} }))
		ctx, cancel := context.WithTimeout(t.Context(), time.Second)
		defer cancel()
		p := &tape{}
		res, err := g.rt.Run(ctx, say("hi"), p)
		if err != nil {
			t.Fatal(err)
		}
		checkBalanced(t, p)
		checkTermination(t, res, p, awaken.Cancelled)
		if log := outline(g.log("t")); !strings.Contains(strings.Join(log, "\n"), "cleaned up") {
			t.Errorf("the tool was abandoned:\n%s", strings.Join(log, "\n"))
		}
		if rec := g.record(res.RunID); rec.Status != awaken.RunDone {
			t.Errorf("the record is %s", rec.Status)
		}
	})
}

// Hooks that use up the time of a cancelled run's end do not keep it from being
// recorded.
func TestCancel_IsRecordedAlsoWhenRunEndTakesTooLong(t *testing.T) {
	t.Parallel()
	bubbletest.Test(t, func(t *testing.T) {
		ctx, cancel := context.WithTimeout(t.Context(), time.Second)
		defer cancel()
		g := newRig(t, []llmtest.Turn{{Hang: true}}, withPlugins(at(awaken.PhaseRunEnd, func(ctx context.Context, _ *awaken.HookCall) error {
			<-ctx.Done()
			return ctx.Err()
		})), withStore(func(s awaken.Store) awaken.Store { return strictStore{s} }))
		p := &tape{}
		res, err := g.rt.Run(ctx, say("hi"), p)
		if err != nil {
			t.Fatal(err)
		}
		checkTermination(t, res, p, awaken.Cancelled)
		if rec := g.record(res.RunID); rec.Status != awaken.RunDone || rec.Termination.Type != awaken.Cancelled {
			t.Errorf("the record is %s with %s", rec.Status, rec.Termination)
		}
	})
}

// A decision that comes through another process is acted on when the run next
// commits, also while other calls still run.
func TestDecide_ElsewhereIsSeenWhileOtherCallsRun(t *testing.T) {
	t.Parallel()
	bubbletest.Test(t, func(t *testing.T) {
		paid := make(chan struct{})
		pay := tool("pay", func(context.Context, *awaken.ToolCall, args) (*awaken.ToolResult, error) {
			close(paid)
			return awaken.TextResult("paid"), nil
		})
		quick := tool("quick", func(context.Context, *awaken.ToolCall, args) (*awaken.ToolResult, error) {
			time.Sleep(2 * time.Second)
			return awaken.TextResult("quick"), nil
		})
		long := tool("long", func(ctx context.Context, _ *awaken.ToolCall, _ args) (*awaken.ToolResult, error) {
			select {
			case <-paid:
			case <-time.After(time.Minute):
				t.Error("the decision was not acted on while another call ran")
			}
			return awaken.TextResult("long"), nil
		})
		g := newRig(t, []llmtest.Turn{uses("pay", "quick", "long"), llmtest.Say("ok")}, withMode(awaken.ParallelStreaming),
			withTools(pay, quick, long), withPlugins(askAbout("pay", awaken.Ticket{})))
		cfg := g.cfg
		cfg.NewID = counter("other-")
		other := mustNew(t, cfg)
		req := say("hi")
		req.RunID = "r"
		go func() {
			time.Sleep(time.Second)
			if err := other.Decide(context.Background(), "r", approve("c1")); err != nil {
				t.Error(err)
			}
		}()
		res, p := g.run(req)
		checkTermination(t, res, p, awaken.NaturalEnd)
		checkBalanced(t, p)
	})
}

// The store in memory.

func TestFence_OfADeletedThreadIsNotGivenAgain(t *testing.T) {
	t.Parallel()
	s := memory.New()
	old, err := s.Acquire(t.Context(), "t")
	if err != nil {
		t.Fatal(err)
	}
	if err := s.DeleteThread(t.Context(), "t", awaken.DetachChildren); err != nil {
		t.Fatal(err)
	}
	if _, err := s.Acquire(t.Context(), "t"); err != nil {
		t.Fatal(err)
	}
	err = s.Commit(t.Context(), &awaken.Commit{ThreadID: "t", Fence: old.Fence, Number: 1, Run: awaken.Run{RunID: "r", ThreadID: "t", Status: awaken.RunRunning}})
	if !errors.Is(err, awaken.ErrFenced) {
		t.Errorf("the owner of the deleted thread could commit: %v", err)
	}
}

func TestList_TakesAnyLimit(t *testing.T) {
	t.Parallel()
	s := memory.New()
	for _, id := range []string{"a", "b"} {
		if _, err := s.Acquire(t.Context(), id); err != nil {
			t.Fatal(err)
		}
	}
	got, err := s.ListThreads(t.Context(), awaken.ThreadQuery{Offset: 1, Limit: math.MaxInt})
	if err != nil || len(got) != 1 {
		t.Errorf("%d threads, %v", len(got), err)
	}
}

// Everything at once.

// chaos is a world in which everything that can go wrong does, now and then.
type chaos struct {
	*memory.Store
	t     *testing.T
	mu    sync.Mutex
	rnd   *rand.Rand
	calm  bool           // from now on nothing goes wrong
	calls map[string]int // how often each effectful call was made, by key
	probs float64
	slow  bool // commits take time, and most steps only read
}

func (c *chaos) Pipelined() bool { return c.slow }

func (c *chaos) chance(p float64) bool {
	c.mu.Lock()
	defer c.mu.Unlock()
	return !c.calm && c.rnd.Float64() < p
}

func (c *chaos) pause() {
	c.mu.Lock()
	d := time.Duration(c.rnd.IntN(40)) * time.Millisecond
	c.mu.Unlock()
	time.Sleep(d)
}

func (c *chaos) Commit(ctx context.Context, cm *awaken.Commit) error {
	if c.slow {
		c.pause()
	}
	switch {
	case ctx.Err() != nil:
		return ctx.Err()
	case c.chance(c.probs / 4):
		return errors.New("not committed")
	}
	err := c.Store.Commit(ctx, cm)
	if err == nil && c.chance(c.probs/4) {
		err = errors.New("committed, but the answer was lost")
	}
	return err
}

func (c *chaos) tool(name string, effect awaken.EffectClass, fn func(ctx context.Context, tc *awaken.ToolCall) (string, error)) awaken.Tool {
	return awaken.NewTool(awaken.ToolSpec{ID: name, Effect: effect}, func(ctx context.Context, tc *awaken.ToolCall, _ args) (string, error) {
		if effect == awaken.Effectful {
			c.mu.Lock()
			c.calls[tc.Key]++
			c.mu.Unlock()
		}
		return fn(ctx, tc)
	})
}

func (c *chaos) config() engine.Config {
	names := []string{"quick", "slow", "read", "loud", "bad", "deaf", "ask", "ask"}
	return engine.Config{
		Store:  c,
		Limits: engine.Limits{ToolGrace: 50 * time.Millisecond, ToolTimeout: time.Second},
		Agents: []*awaken.AgentSpec{{ID: "default", ModelID: "m", PluginIDs: []string{"gate"},
			ToolExecutionMode: []awaken.ExecutionMode{awaken.Sequential, awaken.ParallelStreaming, awaken.ParallelBatchApproval}[c.rnd.IntN(3)]}},
		Models:  []awaken.ModelSpec{{ID: "m", ProviderID: "p", UpstreamModel: "u"}},
		Plugins: []awaken.Plugin{askAbout("ask", awaken.Ticket{})},
		Providers: map[string]llm.Model{"p": llm.ModelFunc(func(ctx context.Context, req *llm.Request) iter.Seq2[llm.Delta, error] {
			checkValid(c.t, req.Messages.Slice())
			turn := llmtest.Say("Well, ", "that ", "is ", "that.")
			c.mu.Lock()
			if c.rnd.IntN(3) > 0 && !c.calm {
				turn = llmtest.Turn{Text: llmtest.Text{"Let me see."}, DelayMS: c.rnd.IntN(3)}
				names := names
				if c.slow && c.rnd.IntN(4) > 0 {
					names = []string{"read", "glance"}
				}
				for range 1 + c.rnd.IntN(4) {
					turn.ToolCalls = append(turn.ToolCalls, llmtest.Call{ID: fmt.Sprint("c", c.rnd.IntN(3)), Name: names[c.rnd.IntN(len(names))]})
				}
			}
			if c.rnd.Float64() < c.probs/3 && !c.calm {
				turn.Cut = true
			}
			c.mu.Unlock()
			return llmtest.NewRules(llmtest.Rule{Turn: func(*llm.Request) llmtest.Turn { return turn }}).Stream(ctx, req)
		})},
		Tools: []awaken.Tool{
			c.tool("quick", awaken.Effectful, func(context.Context, *awaken.ToolCall) (string, error) { return "ok", nil }),
			c.tool("slow", awaken.Effectful, func(ctx context.Context, _ *awaken.ToolCall) (string, error) { c.pause(); return "ok", ctx.Err() }),
			c.tool("read", awaken.ReadOnly, func(context.Context, *awaken.ToolCall) (string, error) { c.pause(); return "ok", nil }),
			c.tool("glance", awaken.ReadOnly, func(context.Context, *awaken.ToolCall) (string, error) { return "ok", nil }),
			c.tool("loud", awaken.Idempotent, func(_ context.Context, tc *awaken.ToolCall) (string, error) {
				for range 5 {
					tc.Output("la")
					c.pause()
				}
				return "ok", nil
			}),
			c.tool("bad", awaken.Effectful, func(context.Context, *awaken.ToolCall) (string, error) { panic("bad") }),
			c.tool("deaf", awaken.Effectful, func(context.Context, *awaken.ToolCall) (string, error) {
				time.Sleep(90 * time.Millisecond)
				return "ok", nil
			}),
			c.tool("ask", awaken.Effectful, func(context.Context, *awaken.ToolCall) (string, error) { return "ok", nil }),
		},
	}
}

func TestChaos_LosesNothingAndRepeatsNothing(t *testing.T) {
	t.Parallel()
	for seed := range uint64(300) {
		t.Run(fmt.Sprint(seed), func(t *testing.T) {
			t.Parallel()
			bubbletest.Test(t, func(t *testing.T) { // which finds goroutines that are left over, and deadlocks
				c := &chaos{Store: memory.New(), t: t, rnd: rand.New(rand.NewPCG(seed, 1)), calls: map[string]int{}, probs: 0.15, slow: seed >= 150}
				if seed%3 == 0 {
					c.probs = 0
				}
				cfg := c.config()
				cfg.NewID = counter("a-")
				one := mustNew(t, cfg)
				cfg.NewID = counter("b-")
				two := mustNew(t, cfg)
				runtimes := []*engine.Runtime{one, two}
				var wg sync.WaitGroup
				for w := range 3 {
					rt := runtimes[w%2]
					wg.Go(func() {
						for range 6 {
							c.pause()
							c.act(rt)
						}
					})
				}
				wg.Wait()
				c.mu.Lock()
				c.calm = true
				c.mu.Unlock()
				c.check(one)
				time.Sleep(time.Minute) // tools that were abandoned
			})
		})
	}
}

// act does something to the thread.
func (c *chaos) act(rt *engine.Runtime) {
	ctx := context.Background()
	c.mu.Lock()
	what, failAt := c.rnd.IntN(10), 1000
	if c.rnd.Float64() < c.probs {
		failAt = c.rnd.IntN(12)
	}
	if c.rnd.IntN(4) == 0 {
		var cancel context.CancelFunc
		ctx, cancel = context.WithTimeout(ctx, time.Duration(c.rnd.IntN(100))*time.Millisecond)
		defer cancel()
	}
	back := c.rnd.IntN(60)
	c.mu.Unlock()
	runs, err := c.ListRuns(context.Background(), awaken.RunQuery{ThreadID: "t", Limit: 1})
	if err != nil {
		c.t.Error(err)
	}
	switch {
	case what < 4 || len(runs) == 0:
		p := &tape{}
		var failed atomic.Bool
		res, err := rt.Run(ctx, say("hi"), awaken.SinkFunc(func(ctx context.Context, e awaken.Entry) error {
			if failed.Load() {
				c.t.Error("the sink was called again after it had failed")
			}
			if err := p.Emit(ctx, e); err != nil {
				return err
			}
			switch len(p.entries) {
			case back: // call back into the runtime
				if err := rt.Cancel(context.Background(), "t"); err != nil && !errors.Is(err, awaken.ErrNotFound) && !strings.Contains(err.Error(), "committed") {
					c.t.Errorf("cancel in the sink: %v", err)
				}
			case back + 1:
				if _, none := e.Event.(*awaken.Error); none {
					return nil // there is no run
				}
				_ = rt.Send(context.Background(), "t", llm.UserText("psst"))
				if _, err := rt.Run(ctx, say("no"), nil); !errors.Is(err, awaken.ErrBusy) {
					c.t.Errorf("a run in the sink of a run: %v", err)
				}
			case failAt:
				failed.Store(true)
				return errors.New("sink broke")
			}
			return nil
		}))
		c.checkTape(p, res, err, failed.Load())
	case what == 4:
		_ = rt.Cancel(ctx, "t")
	case what == 5:
		_ = rt.Send(ctx, "t", llm.UserText("by the way"))
	default:
		calls, err := c.Calls(context.Background(), runs[0].RunID)
		if err != nil {
			c.t.Error(err)
		}
		for _, s := range calls {
			if s.Status == awaken.CallSuspended {
				d := awaken.Decision{Target: s.CallID, ID: "d", Action: awaken.ActionResume}
				if what == 6 {
					d.Action = awaken.ActionCancel
				}
				_ = rt.Decide(ctx, runs[0].RunID, d)
			}
		}
		if what > 7 {
			p := &tape{}
			res, err := rt.Resume(ctx, runs[0].RunID, p)
			c.checkTape(p, res, err, false)
		}
	}
}

// checkTape checks what one call of Run said.
func (c *chaos) checkTape(p *tape, res *awaken.RunResult, err error, failed bool) {
	types := p.types()
	starts, ends := count(types, "run_start"), count(types, "run_finish")
	switch {
	case errors.Is(err, awaken.ErrFenced), failed: // perhaps when it was to be cancelled, having been parked
		if ends > starts {
			c.t.Errorf("%d run_start, %d run_finish: %q", starts, ends, types)
		}
	case res == nil:
		if len(types) != 1 || types[0] != "error" {
			c.t.Errorf("a run that could not start (%v) said %q", err, types)
		}
	case starts != ends || starts == 0 || err == nil && types[len(types)-1] != "run_finish":
		c.t.Errorf("%d run_start, %d run_finish (%v): %q", starts, ends, err, types)
	}
	for i := 1; i < len(p.entries); i++ {
		if e := p.entries[i]; e.Cursor != (awaken.Cursor{}) && e.Seq != p.entries[i-1].Seq+1 {
			c.t.Errorf("event %d has number %d after %d: %q", i, e.Seq, p.entries[i-1].Seq, types)
		}
	}
	// What claims something durable is in the store.
	stored := map[awaken.Cursor]string{}
	entries, lerr := c.Entries(context.Background(), "t", awaken.EntryQuery{})
	if lerr != nil {
		return
	}
	for _, e := range entries {
		stored[e.Cursor] = e.Event.Type()
	}
	for _, e := range p.entries {
		switch ty := e.Event.Type(); ty {
		case "tool_call_done", "tool_call_resumed", "step_end", "run_finish", "run_start":
			if stored[e.Cursor] != ty && err == nil {
				c.t.Errorf("%s %s was said but not stored", ty, e.Cursor)
			}
		}
	}
}

// check lets the dust settle, and looks at what is left.
func (c *chaos) check(rt *engine.Runtime) {
	t, ctx := c.t, context.Background()
	if _, err := rt.Run(ctx, say("the end"), nil); err != nil {
		t.Fatalf("the thread cannot be continued: %v", err)
	}
	runs, err := c.ListRuns(ctx, awaken.RunQuery{ThreadID: "t", Limit: 1000})
	if err != nil {
		t.Fatal(err)
	}
	for _, r := range runs {
		if r.Status != awaken.RunDone {
			t.Errorf("run %s is %s", r.RunID, r.Status)
		}
	}
	for key, n := range c.calls {
		if n > 1 {
			t.Errorf("call %s was made %d times", key, n)
		}
	}
	cp, err := c.Acquire(ctx, "t")
	if err != nil {
		t.Fatal(err)
	}
	checkValid(t, cp.View)
	if len(cp.Inbox) > 0 {
		t.Errorf("%d items are unread", len(cp.Inbox))
	}
	entries, err := c.Entries(ctx, "t", awaken.EntryQuery{})
	if err != nil {
		t.Fatal(err)
	}
	seen := map[uint64]bool{}
	finishes := map[string]int{}
	for _, e := range entries {
		for _, part := range e.Split() {
			if seen[part.Seq] {
				t.Errorf("number %d is stored twice", part.Seq)
			}
			seen[part.Seq] = true
		}
		if fin, ok := e.Event.(*awaken.RunFinish); ok && fin.Termination.Type != awaken.Suspended {
			finishes[fin.RunID]++
		}
	}
	for _, r := range runs {
		if finishes[r.RunID] != 1 {
			t.Errorf("run %s has %d terminal run_finish", r.RunID, finishes[r.RunID])
		}
	}
}
