package engine_test

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"slices"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/awaken-go/awaken"
	"github.com/awaken-go/awaken/engine"
	"github.com/awaken-go/awaken/internal/bubbletest"
	"github.com/awaken-go/awaken/llm"
	"github.com/awaken-go/awaken/llm/llmtest"
	"github.com/awaken-go/awaken/state"
	"github.com/awaken-go/awaken/state/builtin"
	"github.com/awaken-go/awaken/store/memory"
)

// The original runtime has a list of known defects, L-01 to L-68. Each test here is
// named after what this runtime does instead, and would fail if the defect were here.

var allPhases = []awaken.Phase{awaken.PhaseRunStart, awaken.PhaseStepStart, awaken.PhaseBeforeInference,
	awaken.PhaseAfterInference, awaken.PhaseToolGate, awaken.PhaseBeforeToolExecute, awaken.PhaseAfterToolExecute,
	awaken.PhaseStepEnd, awaken.PhaseRunEnd}

// Stopping and failing.

func TestStopPolicy_KeepsTheAnswerOfTheStoppingInference(t *testing.T) { // L-01
	t.Parallel()
	last := uses("echo")
	last.Text = llmtest.Text{"Let me look."}
	g := newRig(t, []llmtest.Turn{last, llmtest.Say("Hello again.")}, withTools(echo("echo")),
		withAgent(func(s *awaken.AgentSpec) { s.MaxRounds = new(1) }))

	res, p := g.run(say("hi"))
	checkTermination(t, res, p, awaken.Stopped)
	if res.Response != "Let me look." {
		t.Errorf("response is %q", res.Response)
	}
	log := outline(g.log("t"))
	want := []string{"user: hi", "assistant: Let me look. -> echo#c1",
		"tool to c1: [Tool execution was interrupted] the call was not made, the run ended: stopped: max_rounds (1 of 1 rounds)"}
	if diff := cmp.Diff(want, log); diff != "" {
		t.Errorf("log (-want +got):\n%s", diff)
	}

	g.run(say("go on"))
	checkValid(t, g.request(2).Messages)
}

func TestMaxRounds_ZeroMeansNoLimit(t *testing.T) {
	t.Parallel()
	for _, c := range []struct {
		rounds *int
		want   awaken.TerminationType
	}{{nil, awaken.Stopped}, {new(0), awaken.NaturalEnd}} {
		var turns []llmtest.Turn
		for range 20 {
			turns = append(turns, uses("echo"))
		}
		g := newRig(t, append(turns, llmtest.Say("Done.")), withTools(echo("echo")), withAgent(func(s *awaken.AgentSpec) { s.MaxRounds = c.rounds }))
		res, p := g.run(say("hi"))
		checkTermination(t, res, p, c.want)
	}
}

func TestStopPolicy_NeverBeatsANaturalEnd(t *testing.T) { // L-01
	t.Parallel()
	g := newRig(t, []llmtest.Turn{llmtest.Say("Done.")}, withAgent(func(s *awaken.AgentSpec) { s.MaxRounds = new(1) }))
	res, p := g.run(say("hi"))
	checkTermination(t, res, p, awaken.NaturalEnd)
	if res.Response != "Done." {
		t.Errorf("response is %q", res.Response)
	}
}

// brokenStore fails the commits that fail says.
type brokenStore struct {
	awaken.Store
	fail func(c *awaken.Commit) error
}

func (s *brokenStore) Commit(ctx context.Context, c *awaken.Commit) error {
	if err := s.fail(c); err != nil {
		return err
	}
	return s.Store.Commit(ctx, c)
}

func TestRun_EndsInOrderWhateverFails(t *testing.T) { // L-02
	t.Parallel()
	broken := errors.New("boom")
	hook := func(p awaken.Phase) option {
		return withPlugins(plug{"bad", func(r *awaken.Registrar) {
			r.On(p, func(context.Context, *awaken.HookCall) error { return broken })
		}})
	}
	store := func(fail func(c *awaken.Commit) bool) option {
		return withStore(func(s awaken.Store) awaken.Store {
			return &brokenStore{s, func(c *awaken.Commit) error {
				if fail(c) {
					return broken
				}
				return nil
			}}
		})
	}
	tests := []struct {
		name string
		turn llmtest.Turn
		opt  option
	}{
		{"inference", llmtest.Turn{Error: &llmtest.Failure{Kind: llm.Unauthorized, Message: "boom"}}, func(*engine.Config) {}},
		{"broken stream", llmtest.Turn{Text: llmtest.Text{"Well"}, Error: &llmtest.Failure{Message: "boom"}}, func(*engine.Config) {}},
		{"hook of run_start", uses("echo"), hook(awaken.PhaseRunStart)},
		{"hook of step_start", uses("echo"), hook(awaken.PhaseStepStart)},
		{"hook of before_inference", uses("echo"), hook(awaken.PhaseBeforeInference)},
		{"hook of after_inference", uses("echo"), hook(awaken.PhaseAfterInference)},
		{"hook of tool_gate", uses("echo"), hook(awaken.PhaseToolGate)},
		{"hook of before_tool_execute", uses("echo"), hook(awaken.PhaseBeforeToolExecute)},
		{"hook of after_tool_execute", uses("echo"), hook(awaken.PhaseAfterToolExecute)},
		{"hook of step_end", uses("echo"), hook(awaken.PhaseStepEnd)},
		{"hook of step_end after an answer", llmtest.Say("Done."), hook(awaken.PhaseStepEnd)},
		{"hook of run_end", llmtest.Say("Done."), hook(awaken.PhaseRunEnd)},
		{"commit of an intent", uses("echo"), store(func(c *awaken.Commit) bool { return c.Begins })},
		{"commit of a step", uses("read"), store(func(c *awaken.Commit) bool { return c.Number == 2 && c.Run.Status == awaken.RunRunning })},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			t.Parallel()
			var ends atomic.Int32
			reader := awaken.NewTool(awaken.ToolSpec{ID: "read", Effect: awaken.ReadOnly},
				func(context.Context, *awaken.ToolCall, args) (string, error) { return "read", nil })
			g := newRig(t, []llmtest.Turn{tt.turn}, withTools(echo("echo"), reader), tt.opt,
				withPlugins(at(awaken.PhaseRunEnd, func(context.Context, *awaken.HookCall) error {
					ends.Add(1)
					return nil
				})))
			p := &tape{}
			res, err := g.rt.Run(t.Context(), say("hi"), p)
			if err == nil || !strings.Contains(err.Error(), "boom") {
				t.Fatalf("error is %v", err)
			}
			checkBalanced(t, p)
			checkTermination(t, res, p, awaken.Failed)
			says := "boom"
			if strings.HasPrefix(tt.name, "commit") {
				says = "the run could not be stored" // clients do not see the reason
			}
			if !strings.Contains(res.Termination.Message, says) {
				t.Errorf("termination is %s", res.Termination)
			}
			if n := ends.Load(); n != 1 {
				t.Errorf("run_end ran %d times", n)
			}
			rec := g.record(res.RunID)
			if rec.Status != awaken.RunDone || rec.Termination.Type != awaken.Failed || rec.ErrorPayload == nil || !strings.Contains(rec.ErrorPayload.Message, says) {
				t.Errorf("record is %s", toJSON(t, rec))
			}
			checkValid(t, g.log("t"))
		})
	}
}

func TestRun_PublishesItsEndEvenIfTheStoreFails(t *testing.T) { // L-02
	t.Parallel()
	g := newRig(t, []llmtest.Turn{llmtest.Say("Done.")}, withStore(func(s awaken.Store) awaken.Store {
		return &brokenStore{s, func(c *awaken.Commit) error {
			if c.Number > 1 {
				return errors.New("disk on fire")
			}
			return nil
		}}
	}))
	p := &tape{}
	res, err := g.rt.Run(t.Context(), say("hi"), p)
	if err == nil || !strings.Contains(err.Error(), "disk on fire") {
		t.Errorf("error is %v", err)
	}
	checkTermination(t, res, p, awaken.Failed)
	for _, ty := range []string{"step_end", "state_snapshot"} {
		if slices.Contains(p.types(), ty) {
			t.Errorf("%s was published, but what it claims was never committed: %q", ty, p.types())
		}
	}
}

func TestStopped_KeepsItsDetail(t *testing.T) { // L-27
	t.Parallel()
	g := newRig(t, []llmtest.Turn{uses("echo")}, withTools(echo("echo")),
		withAgent(func(s *awaken.AgentSpec) {
			s.StopConditions = []awaken.StopCondition{{Type: "stop_on_tool", ToolName: "echo"}}
		}))
	res, p := g.run(say("hi"))
	want := awaken.Termination{Type: awaken.Stopped, Code: "stop_on_tool", Detail: `tool "echo" was asked for`}
	if res.Termination != want {
		t.Errorf("result says %+v", res.Termination)
	}
	if fin := eventsOf[awaken.RunFinish](p)[0]; fin.Termination != want {
		t.Errorf("run_finish says %+v", fin.Termination)
	}
	rec := g.record(res.RunID)
	if rec.Termination != want || rec.StatusReason != "stopped:stop_on_tool" {
		t.Errorf("record says %+v, %q", rec.Termination, rec.StatusReason)
	}
	var back awaken.Run
	if err := json.Unmarshal([]byte(toJSON(t, rec)), &back); err != nil || back.Termination != want {
		t.Errorf("after JSON it is %+v, %v", back.Termination, err)
	}
}

func TestConsecutiveErrors_CountsFailedInferences(t *testing.T) { // L-21
	t.Parallel()
	fail := llmtest.Turn{Text: llmtest.Text{"We"}, Error: &llmtest.Failure{Message: "busy"}}
	errs := withAgent(func(s *awaken.AgentSpec) {
		s.StopConditions = []awaken.StopCondition{{Type: "consecutive_errors", Limit: 2}}
	})
	g := newRig(t, []llmtest.Turn{fail, fail, llmtest.Say("never")}, errs)
	res, p := g.run(say("hi"))
	checkTermination(t, res, p, awaken.Stopped)
	checkBalanced(t, p)
	if res.Termination.Code != "consecutive_errors" || !strings.Contains(res.Termination.Detail, "busy") {
		t.Errorf("termination is %s", res.Termination)
	}
	if g.model.Calls() != 2 {
		t.Errorf("the model was asked %d times", g.model.Calls())
	}
	if n := count(p.types(), "stream_reset"); n != 2 {
		t.Errorf("%d stream_reset, want one for each broken answer", n)
	}

	g = newRig(t, []llmtest.Turn{fail, llmtest.Say("Here I am.")}, errs)
	res, p = g.run(say("hi"))
	checkTermination(t, res, p, awaken.NaturalEnd)
	if res.Response != "Here I am." {
		t.Errorf("response is %q", res.Response)
	}
}

func TestConsecutiveErrors_CountsFailedTools(t *testing.T) { // L-21
	t.Parallel()
	n := 0
	flaky := tool("flaky", func(_ context.Context, _ *awaken.ToolCall, in args) (*awaken.ToolResult, error) {
		if n++; n == 2 {
			return awaken.TextResult("fine"), nil
		}
		return nil, errors.New("no")
	})
	turns := slices.Repeat([]llmtest.Turn{llmtest.Use("flaky", `{}`)}, 10)
	g := newRig(t, turns, withTools(flaky), withAgent(func(s *awaken.AgentSpec) {
		s.StopConditions = []awaken.StopCondition{{Type: "consecutive_errors", Limit: 2}}
	}))
	res, p := g.run(say("hi"))
	checkTermination(t, res, p, awaken.Stopped)
	if res.Termination.Code != "consecutive_errors" {
		t.Errorf("termination is %s", res.Termination)
	}
	if n != 4 { // no, fine, no, no
		t.Errorf("the tool ran %d times, want 4", n)
	}
}

func TestLoopDetection_SeesRepeatedToolCalls(t *testing.T) { // L-22
	t.Parallel()
	detect := withAgent(func(s *awaken.AgentSpec) {
		s.StopConditions = []awaken.StopCondition{{Type: "loop_detection", Limit: 3}}
	})
	g := newRig(t, slices.Repeat([]llmtest.Turn{llmtest.Use("echo", `{"n":1}`)}, 9), withTools(echo("echo")), detect)
	res, p := g.run(say("hi"))
	checkTermination(t, res, p, awaken.Stopped)
	if res.Termination.Code != "loop_detection" || g.model.Calls() != 3 {
		t.Errorf("%s after %d inferences", res.Termination, g.model.Calls())
	}

	// The same text with other arguments is no loop.
	var turns []llmtest.Turn
	for i := range 5 {
		turn := llmtest.Use("echo", fmt.Sprintf(`{"n":%d}`, i))
		turn.Text = llmtest.Text{"Next."}
		turns = append(turns, turn)
	}
	g = newRig(t, append(turns, llmtest.Say("Done.")), withTools(echo("echo")), detect)
	res, p = g.run(say("hi"))
	checkTermination(t, res, p, awaken.NaturalEnd)
}

// State, phases, plugins.

func TestProfile_ReachesHooksAndTools(t *testing.T) { // L-03
	t.Parallel()
	prof := memory.NewProfile()
	var seen []string
	g := newRig(t, []llmtest.Turn{uses("note"), llmtest.Say("ok")},
		func(c *engine.Config) { c.Profile = prof },
		withTools(tool("note", func(ctx context.Context, c *awaken.ToolCall, _ args) (*awaken.ToolResult, error) {
			return awaken.TextResult("noted"), c.Profile.Set(ctx, "notes", "global", json.RawMessage(`"from the tool"`))
		})),
		withPlugins(at(awaken.PhaseStepEnd, func(ctx context.Context, h *awaken.HookCall) error {
			e, err := h.Profile.Get(ctx, "notes", "global")
			if e != nil {
				seen = append(seen, string(e.Value))
			}
			return err
		})))
	g.run(say("hi"))
	if diff := cmp.Diff([]string{`"from the tool"`, `"from the tool"`}, seen); diff != "" {
		t.Errorf("hooks saw (-want +got):\n%s", diff)
	}
}

func TestHookFilter_LeavesTheRuntimesOwnPartsAlone(t *testing.T) { // L-04
	t.Parallel()
	var ran []string
	hint := plug{"hint", func(r *awaken.Registrar) {
		r.On(awaken.PhaseBeforeInference, func(_ context.Context, h *awaken.HookCall) error {
			ran = append(ran, "hint")
			builtin.AddContextMessage.Schedule(h, builtin.SystemContext("hint", "Mind the gap."))
			return nil
		})
	}}
	other := plug{"other", func(r *awaken.Registrar) {
		r.On(awaken.PhaseBeforeInference, func(context.Context, *awaken.HookCall) error {
			ran = append(ran, "other")
			return nil
		})
		r.Gate(func(context.Context, *awaken.HookCall) (awaken.Verdict, error) {
			return awaken.Block("filtered gates do not count"), nil
		})
	}}
	g := newRig(t, slices.Repeat([]llmtest.Turn{llmtest.Use("echo", "{}")}, 9), withTools(echo("echo")), withPlugins(hint, other),
		withAgent(func(s *awaken.AgentSpec) {
			s.MaxRounds = new(2)
			s.ActiveHookFilter = []string{"hint"}
			s.StopConditions = []awaken.StopCondition{{Type: "token_budget", Limit: 1000}}
		}))
	res, p := g.run(say("hi"))
	checkTermination(t, res, p, awaken.Stopped)
	if res.Termination.Code != "max_rounds" || g.model.Calls() != 2 {
		t.Errorf("max_rounds is not enforced: %s after %d inferences", res.Termination, g.model.Calls())
	}
	if sys := g.request(1).System; !strings.Contains(sys, "Mind the gap.") {
		t.Errorf("the runtime's own action did nothing: system prompt is %q", sys)
	}
	if slices.Contains(ran, "other") {
		t.Error("a hook of a plugin that is filtered out ran")
	}
}

var runNotes = state.NewKey("test.run_notes", func(n, d int) int { return n + d }, state.Options{})

func TestResume_RestoresTheStateOfTheRun(t *testing.T) { // L-05
	t.Parallel()
	turn := uses("pay")
	turn.Usage = &llm.Usage{PromptTokens: 60, CompletionTokens: 1}
	next := llmtest.Use("pay", `{"n":2}`)
	next.Usage = &llm.Usage{PromptTokens: 60, CompletionTokens: 1}
	counts := plug{"counts", func(r *awaken.Registrar) {
		r.Key(runNotes)
		r.On(awaken.PhaseAfterInference, func(_ context.Context, h *awaken.HookCall) error {
			runNotes.Update(h, 1)
			return nil
		})
	}}
	var seen []int
	peek := at(awaken.PhaseStepEnd, func(_ context.Context, h *awaken.HookCall) error {
		seen = append(seen, runNotes.Get(h))
		return nil
	})
	g := newRig(t, []llmtest.Turn{turn, next, llmtest.Say("never")}, withTools(echo("pay")), withPlugins(counts, peek, askAbout("pay", awaken.Ticket{})),
		withAgent(func(s *awaken.AgentSpec) {
			s.StopConditions = []awaken.StopCondition{{Type: "token_budget", Limit: 100}}
		}))
	res, p := g.run(say("hi"))
	checkTermination(t, res, p, awaken.Suspended)

	g.restart()
	res, p = g.resume(res.RunID, approve("c1"))
	checkTermination(t, res, p, awaken.Stopped)
	if res.Termination.Code != "token_budget" || res.Steps != 2 || res.Usage.PromptTokens != 120 {
		t.Errorf("suspending let the run escape its budget: %s, %d steps, %+v", res.Termination, res.Steps, res.Usage)
	}
	if diff := cmp.Diff([]int{1, 2}, seen); diff != "" {
		t.Errorf("the run's own key (-want +got):\n%s", diff)
	}
}

func TestResume_ACrashBetweenCallsRepeatsNoneThatWereMade(t *testing.T) { // L-23
	t.Parallel()
	made := map[string]int{}
	var g *rig
	makes := func(id string, crash bool) awaken.Tool {
		return tool(id, func(ctx context.Context, c *awaken.ToolCall, _ args) (*awaken.ToolResult, error) {
			made[id]++
			if crash {
				if _, err := g.store.Acquire(ctx, c.Run.ThreadID); err != nil { // the process is lost, as others see it
					return nil, err
				}
			}
			return awaken.TextResult(id + " made"), nil
		})
	}
	g = newRig(t, []llmtest.Turn{uses("a", "b", "c", "d"), llmtest.Say("so be it")}, withTools(makes("a", false), makes("b", false), makes("c", true), makes("d", false)))
	req := say("hi")
	req.ThreadID, req.RunID = "t", "r"
	if _, err := g.rt.Run(t.Context(), req, nil); !errors.Is(err, awaken.ErrFenced) {
		t.Fatalf("the first process ended with %v", err)
	}
	g.restart()
	res, err := g.rt.Run(t.Context(), awaken.RunRequest{Continue: "r"}, nil)
	if err != nil || res.Response != "so be it" {
		t.Fatalf("%+v, %v", res, err)
	}
	if diff := cmp.Diff(map[string]int{"a": 1, "b": 1, "c": 1, "d": 1}, made); diff != "" {
		t.Errorf("calls that were made (-want +got):\n%s", diff)
	}
	calls, err := g.store.Calls(t.Context(), "r")
	if err != nil || len(calls) != 4 {
		t.Fatalf("%d calls, %v", len(calls), err)
	}
	for i, want := range []awaken.CallStatus{awaken.CallSucceeded, awaken.CallSucceeded, awaken.CallFailed, awaken.CallSucceeded} {
		if calls[i].Status != want {
			t.Errorf("call %s is %s, want %s", calls[i].CallID, calls[i].Status, want)
		}
	}
	if r := calls[2].Result; r == nil || r.Metadata["in_doubt"] != true {
		t.Errorf("the call that was cut off is not in doubt: %+v", r)
	}
}

func TestHooks_SeeTheToolsTheModelIsOffered(t *testing.T) { // L-06
	t.Parallel()
	seen := map[string][]string{}
	spy := plug{"spy", func(r *awaken.Registrar) {
		note := func(where string, h *awaken.HookCall) {
			for _, tl := range h.Tools {
				seen[where] = append(seen[where], tl.Name)
			}
		}
		for _, p := range allPhases {
			r.On(p, func(_ context.Context, h *awaken.HookCall) error {
				if seen[p.String()] == nil {
					note(p.String(), h)
				}
				return nil
			})
		}
		r.Gate(func(_ context.Context, h *awaken.HookCall) (awaken.Verdict, error) {
			note("gate", h)
			return awaken.Allow(), nil
		})
	}}
	g := newRig(t, []llmtest.Turn{uses("a"), llmtest.Say("ok")}, withTools(echo("a"), echo("b"), echo("hidden")), withPlugins(spy),
		withAgent(func(s *awaken.AgentSpec) { s.ExcludedTools = []string{"hidden"} }))
	req := say("hi")
	req.FrontendTools = []awaken.ToolSpec{{ID: "front"}}
	g.run(req)
	want := []string{"a", "b", "front"}
	for _, p := range allPhases {
		if diff := cmp.Diff(want, seen[p.String()]); diff != "" {
			t.Errorf("tools in %s (-want +got):\n%s", p, diff)
		}
	}
	if diff := cmp.Diff(want, seen["gate"]); diff != "" {
		t.Errorf("tools in the gate (-want +got):\n%s", diff)
	}
}

func TestPhases_RunTheLaterWriterOfAnExclusiveKeyAgain(t *testing.T) { // L-07
	t.Parallel()
	for _, phase := range allPhases {
		t.Run(phase.String(), func(t *testing.T) {
			t.Parallel()
			total := state.NewValue[int]("test.total", state.Options{})
			var saw [3]atomic.Int32 // what each hook read last
			writer := func(i int) plug {
				return plug{fmt.Sprintf("writer%d", i), func(r *awaken.Registrar) {
					r.Key(total)
					r.On(phase, func(_ context.Context, h *awaken.HookCall) error {
						if n := total.Get(h); n < 3 {
							saw[i].Store(int32(n))
							total.Update(h, n+1)
						}
						return nil
					})
				}}
			}
			var final int
			end := at(awaken.PhaseRunEnd, func(_ context.Context, h *awaken.HookCall) error {
				final = total.Get(h)
				return nil
			})
			opts := []option{withTools(echo("echo")), withPlugins(writer(0), writer(1), writer(2))}
			if phase != awaken.PhaseRunEnd {
				opts = append(opts, withPlugins(end))
			}
			g := newRig(t, []llmtest.Turn{uses("echo"), llmtest.Say("ok")}, opts...)
			_, p := g.run(say("hi"))
			if phase == awaken.PhaseRunEnd {
				snaps := eventsOf[awaken.StateSnapshot](p)
				ext, err := snaps[len(snaps)-1].Snapshot.Export()
				if err != nil {
					t.Fatal(err)
				}
				if err := json.Unmarshal(ext["test.total"], &final); err != nil {
					t.Fatal(err)
				}
			}
			if final != 3 {
				t.Errorf("three hooks counted to %d", final)
			}
			for i := range saw {
				if n := saw[i].Load(); n != int32(i) {
					t.Errorf("hook %d wrote knowing %d, want %d: the order of registration", i, n, i)
				}
			}
		})
	}
}

func TestActions_RunInEveryPhase(t *testing.T) { // L-08
	t.Parallel()
	for _, phase := range allPhases {
		t.Run(phase.String(), func(t *testing.T) {
			t.Parallel()
			act := awaken.NewAction[string]("test.act", phase)
			var ran []string
			p := plug{"acts", func(r *awaken.Registrar) {
				r.Handle(act.Handler(func(_ context.Context, h *awaken.HookCall, s string) error {
					ran = append(ran, s+" in "+h.Phase.String())
					return nil
				}))
				// Scheduled long before its phase, which has no hooks of its own.
				r.On(awaken.PhaseRunStart, func(_ context.Context, h *awaken.HookCall) error {
					act.Schedule(h, "early")
					return nil
				})
			}}
			late := tool("late", func(_ context.Context, c *awaken.ToolCall, _ args) (*awaken.ToolResult, error) {
				act.Schedule(c, "late")
				return awaken.TextResult("ok"), nil
			})
			g := newRig(t, []llmtest.Turn{uses("late", "late"), llmtest.Say("ok")}, withTools(late), withPlugins(p))
			g.run(say("hi"))
			want := []string{"early in " + phase.String(), "late in " + phase.String(), "late in " + phase.String()}
			switch phase {
			case awaken.PhaseRunStart: // over by the time the tool runs
				want = want[:1]
			case awaken.PhaseToolGate, awaken.PhaseBeforeToolExecute: // the second call's result is too late
				want = want[:2]
			}
			if diff := cmp.Diff(want, ran); diff != "" {
				t.Errorf("actions (-want +got):\n%s", diff)
			}
		})
	}
}

// The original runs actions one by one and lists that as a defect. So do we, and
// promise it: handlers may rely on the order they were scheduled in.
func TestActions_RunOneByOneInTheOrderTheyWereScheduled(t *testing.T) { // L-09
	t.Parallel()
	act := awaken.NewAction[int]("test.act", awaken.PhaseBeforeInference)
	seq := state.NewKey("test.seq", func(l []int, n int) []int { return append(slices.Clip(l), n) }, state.Options{Merge: state.Commutative})
	schedule := func(name string, ns ...int) plug {
		return plug{name, func(r *awaken.Registrar) {
			r.On(awaken.PhaseBeforeInference, func(_ context.Context, h *awaken.HookCall) error {
				for _, n := range ns {
					act.Schedule(h, n)
				}
				return nil
			})
		}}
	}
	var running, saw atomic.Int32
	handler := plug{"handler", func(r *awaken.Registrar) {
		r.Key(seq)
		r.Handle(act.Handler(func(_ context.Context, h *awaken.HookCall, n int) error {
			if running.Add(1) > 1 {
				t.Error("two actions at the same time")
			}
			defer running.Add(-1)
			if got := len(seq.Get(h)); got != int(saw.Load()) {
				t.Errorf("action %d sees what %d others did, want %d", n, got, saw.Load())
			}
			saw.Add(1)
			seq.Update(h, n)
			if n == 2 {
				act.Schedule(h, 6) // behind those that are there
			}
			return nil
		}))
	}}
	for range 20 {
		saw.Store(0)
		g := newRig(t, []llmtest.Turn{llmtest.Say("ok")}, withPlugins(schedule("first", 1, 2), schedule("second", 3), schedule("third", 4, 5), handler))
		_, p := g.run(say("hi"))
		snaps := eventsOf[awaken.StateSnapshot](p)
		ext, err := snaps[0].Snapshot.Export()
		if err != nil {
			t.Fatal(err)
		}
		if got := string(ext["test.seq"]); got != "[1,2,3,4,5,6]" {
			t.Fatalf("actions ran in the order %s", got)
		}
	}
}

func TestContextMessage_CanBeRemoved(t *testing.T) { // L-10
	t.Parallel()
	hook := at(awaken.PhaseBeforeInference, func(_ context.Context, h *awaken.HookCall) error {
		switch h.Step {
		case 0:
			for _, key := range []string{"list.a", "list.b", "other"} {
				m := builtin.SystemContext(key, "<"+key+">")
				m.Persistent = true
				builtin.AddContextMessage.Schedule(h, m)
			}
		case 2:
			builtin.RemoveContextMessage.Schedule(h, []string{"list.*"})
		case 3:
			builtin.RemoveContextMessage.Schedule(h, []string{"other"})
		}
		return nil
	})
	g := newRig(t, []llmtest.Turn{uses("echo"), uses("echo"), uses("echo"), llmtest.Say("ok")}, withTools(echo("echo")), withPlugins(hook))
	g.run(say("hi"))
	for i, want := range []string{"Be good.<list.a><list.b><other>", "Be good.<list.a><list.b><other>", "Be good.<other>", "Be good."} {
		if got := g.request(i + 1).System; got != want {
			t.Errorf("system prompt of inference %d is %q, want %q", i+1, got, want)
		}
	}
}

type tone struct {
	Word string `json:"word"`
}

func TestStepEnd_SeesTheAgentsSectionsAndTheCancel(t *testing.T) { // L-11
	t.Parallel()
	section := awaken.NewSection("tone", tone{"default"})
	var word string
	var cancelled bool
	var rt *engine.Runtime
	p := plug{"tone", func(r *awaken.Registrar) {
		r.Section(section)
		r.On(awaken.PhaseStepEnd, func(ctx context.Context, h *awaken.HookCall) error {
			v, err := section.Read(h.Agent)
			if err != nil {
				return err
			}
			word = v.Word
			if err := rt.Cancel(ctx, h.Run.RunID); err != nil {
				return err
			}
			<-ctx.Done()
			cancelled = errors.Is(context.Cause(ctx), awaken.ErrCancelled)
			return context.Cause(ctx)
		})
	}}
	g := newRig(t, []llmtest.Turn{uses("echo")}, withTools(echo("echo")), withPlugins(p), withAgent(func(s *awaken.AgentSpec) {
		s.Sections = map[string]json.RawMessage{"tone": json.RawMessage(`{"word":"calm"}`)}
	}))
	rt = g.rt
	res, tp := g.run(say("hi"))
	if word != "calm" || !cancelled {
		t.Errorf("step_end saw the word %q, and that it was cancelled: %v", word, cancelled)
	}
	checkTermination(t, res, tp, awaken.Cancelled)
	checkBalanced(t, tp)
}

func TestKeyScope_IsWhatTheKeyDeclares(t *testing.T) { // L-41
	t.Parallel()
	mine := state.NewValue[string]("test.run", state.Options{Scope: state.Run})
	ours := state.NewValue[string]("test.thread", state.Options{Scope: state.Thread})
	var seen []string
	p := plug{"keys", func(r *awaken.Registrar) {
		r.Key(mine, ours)
		r.On(awaken.PhaseRunStart, func(_ context.Context, h *awaken.HookCall) error {
			seen = append(seen, mine.Get(h)+"/"+ours.Get(h))
			mine.Update(h, "run")
			ours.Update(h, "thread")
			return nil
		})
	}}
	g := newRig(t, []llmtest.Turn{llmtest.Say("1"), llmtest.Say("2"), llmtest.Say("3")}, withPlugins(p))
	g.run(say("hi"))
	g.restart()
	g.run(say("hi"))
	other := say("hi")
	other.ThreadID = "another"
	g.run(other)
	if diff := cmp.Diff([]string{"/", "/thread", "/"}, seen); diff != "" {
		t.Errorf("what the runs found (-want +got):\n%s", diff)
	}
}

// Cancelling.

func TestCancel_InsideRunStartStillFinishesTheRun(t *testing.T) { // L-12
	t.Parallel()
	ctx, cancel := context.WithCancel(t.Context())
	var ends int
	g := newRig(t, nil, withPlugins(
		at(awaken.PhaseRunStart, func(ctx context.Context, _ *awaken.HookCall) error {
			cancel()
			<-ctx.Done()
			return ctx.Err()
		}),
		at(awaken.PhaseRunEnd, func(context.Context, *awaken.HookCall) error { ends++; return nil })))
	p := &tape{}
	res, err := g.rt.Run(ctx, say("hi"), p)
	if err != nil {
		t.Fatal(err)
	}
	checkTermination(t, res, p, awaken.Cancelled)
	if diff := cmp.Diff([]string{"run_start", "state_snapshot", "run_finish"}, p.types()); diff != "" {
		t.Errorf("events (-want +got):\n%s", diff)
	}
	if rec := g.record(res.RunID); rec.Status != awaken.RunDone || ends != 1 {
		t.Errorf("the record is %s, run_end ran %d times", rec.Status, ends)
	}
	if diff := cmp.Diff([]string{"user: hi"}, outline(g.log("t"))); diff != "" {
		t.Errorf("log (-want +got):\n%s", diff)
	}
}

func TestCancel_KeepsThePartialAnswer(t *testing.T) { // L-13
	t.Parallel()
	g := newRig(t, []llmtest.Turn{
		{Text: llmtest.Text{"Once upon ", "a time"}, ToolCalls: []llmtest.Call{{ID: "c1", Name: "echo"}}, Hang: true},
		llmtest.Say("I stopped."),
	}, withTools(echo("echo")))
	p := &tape{}
	p.on = func(ev awaken.Event) {
		if ev.Type() == "tool_call_delta" {
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
	checkBalanced(t, p)
	if res.Response != "Once upon a time" || p.text() != "Once upon a time" {
		t.Errorf("response is %q, streamed was %q", res.Response, p.text())
	}
	log := g.log("t")
	if diff := cmp.Diff([]string{"user: hi", "assistant: Once upon a time"}, outline(log)); diff != "" {
		t.Fatalf("log (-want +got):\n%s", diff)
	}
	if md := log[1].Metadata; md == nil || !md.Interrupted {
		t.Errorf("the message is not marked as interrupted: %+v", md)
	}
	if n := count(p.types(), "tool_call_cancel"); n != 1 {
		t.Errorf("%d tool_call_cancel for the call that was never made: %q", n, p.types())
	}
	g.run(say("go on"))
	if diff := cmp.Diff([]string{"user: hi", "assistant: Once upon a time", "user: go on"}, outline(g.request(2).Messages)); diff != "" {
		t.Errorf("next request (-want +got):\n%s", diff)
	}
}

func TestRunEnd_RunsForCancelledRunsInABoundedContext(t *testing.T) { // L-14
	t.Parallel()
	bubbletest.Test(t, func(t *testing.T) {
		ctx, cancel := context.WithCancel(t.Context())
		var atEntry, atEnd error
		g := newRig(t, []llmtest.Turn{{Hang: true}}, withPlugins(at(awaken.PhaseRunEnd, func(ctx context.Context, _ *awaken.HookCall) error {
			atEntry = ctx.Err()
			<-ctx.Done() // a hook that would hang for ever
			atEnd = ctx.Err()
			return nil
		})))
		go func() {
			time.Sleep(time.Second)
			cancel()
		}()
		began := time.Now()
		p := &tape{}
		res, err := g.rt.Run(ctx, say("hi"), p)
		if err != nil {
			t.Fatal(err)
		}
		checkTermination(t, res, p, awaken.Cancelled)
		if atEntry != nil || !errors.Is(atEnd, context.DeadlineExceeded) {
			t.Errorf("the context of run_end was %v at first, and %v in the end", atEntry, atEnd)
		}
		if took := time.Since(began); took != 6*time.Second {
			t.Errorf("the run ended after %s, want the second before the cancel and the five of Limits.RunEnd", took)
		}
		if rec := g.record(res.RunID); rec.Status != awaken.RunDone {
			t.Errorf("the record is %s", rec.Status)
		}
	})
}

func TestCancel_ReachesATool_AndSkipsTheRest(t *testing.T) { // L-68
	t.Parallel()
	for _, mode := range []awaken.ExecutionMode{awaken.Sequential, awaken.ParallelStreaming, awaken.ParallelBatchApproval} {
		t.Run(string(mode), func(t *testing.T) {
			t.Parallel()
			var began, aborted atomic.Int32
			var rt *engine.Runtime
			slow := tool("slow", func(ctx context.Context, c *awaken.ToolCall, _ args) (*awaken.ToolResult, error) {
				began.Add(1)
				if c.ID == "c1" {
					if err := rt.Cancel(context.WithoutCancel(ctx), c.Run.RunID); err != nil {
						t.Error(err)
					}
				}
				<-ctx.Done()
				aborted.Add(1)
				return nil, context.Cause(ctx)
			})
			g := newRig(t, []llmtest.Turn{uses("slow", "slow", "slow")}, withTools(slow), withMode(mode))
			rt = g.rt
			res, p := g.run(say("hi"))
			checkTermination(t, res, p, awaken.Cancelled)
			checkBalanced(t, p)
			if began.Load() != aborted.Load() {
				t.Errorf("%d calls began and %d were aborted", began.Load(), aborted.Load())
			}
			if mode == awaken.Sequential && began.Load() != 1 {
				t.Errorf("%d calls began, want only the first", began.Load())
			}
			log := g.log("t")
			checkValid(t, log)
			if len(log) != 5 {
				t.Errorf("not every call has an answer:\n%s", strings.Join(outline(log), "\n"))
			}
			for _, c := range g.calls(res.RunID) {
				if !c.Status.Terminal() {
					t.Errorf("the ledger has call %s as %s", c.CallID, c.Status)
				}
			}
		})
	}
}

func TestCancel_ReachesAToolThatIsCalledAgain(t *testing.T) { // L-25
	t.Parallel()
	var rt *engine.Runtime
	var cause error
	slow := tool("slow", func(ctx context.Context, c *awaken.ToolCall, _ args) (*awaken.ToolResult, error) {
		if err := rt.Cancel(context.WithoutCancel(ctx), c.Run.RunID); err != nil {
			t.Error(err)
		}
		<-ctx.Done()
		cause = context.Cause(ctx)
		return nil, cause
	})
	g := newRig(t, []llmtest.Turn{uses("slow")}, withTools(slow), withPlugins(askAbout("slow", awaken.Ticket{})))
	rt = g.rt
	res, _ := g.run(say("hi"))
	res, p := g.resume(res.RunID, approve("c1"))
	checkTermination(t, res, p, awaken.Cancelled)
	if !errors.Is(cause, awaken.ErrCancelled) {
		t.Errorf("the tool's context ended because of %v", cause)
	}
}

// Tool calls.

func TestSequential_CallsBehindASuspendedOneRunAfterIt(t *testing.T) { // L-15
	t.Parallel()
	var ran []string
	note := func(id string) awaken.Tool {
		return tool(id, func(context.Context, *awaken.ToolCall, args) (*awaken.ToolResult, error) {
			ran = append(ran, id)
			return awaken.TextResult(id + " done"), nil
		})
	}
	g := newRig(t, []llmtest.Turn{uses("a", "b", "c"), llmtest.Say("ok")}, withTools(note("a"), note("b"), note("c")),
		withPlugins(askAbout("b", awaken.Ticket{})))
	res, p := g.run(say("hi"))
	checkTermination(t, res, p, awaken.Suspended)
	if diff := cmp.Diff([]string{"a"}, ran); diff != "" {
		t.Errorf("ran before the decision (-want +got):\n%s", diff)
	}
	for _, d := range eventsOf[awaken.ToolCallDone](p) {
		if d.ID == "c3" {
			t.Errorf("the call behind the suspended one is already %s", d.Outcome)
		}
	}
	g.restart()
	res, p = g.resume(res.RunID, approve("c2"))
	checkTermination(t, res, p, awaken.NaturalEnd)
	if diff := cmp.Diff([]string{"a", "b", "c"}, ran); diff != "" {
		t.Errorf("ran in the end (-want +got):\n%s", diff)
	}
	want := []string{"user: hi", "assistant -> a#c1 -> b#c2 -> c#c3", "tool to c1: a done", "tool to c2: b done", "tool to c3: c done"}
	if diff := cmp.Diff(want, outline(g.request(2).Messages)); diff != "" {
		t.Errorf("what the model is shown (-want +got):\n%s", diff)
	}
}

func TestParallel_ReportsEachResultAsItArrives(t *testing.T) { // L-16
	t.Parallel()
	for _, mode := range []awaken.ExecutionMode{awaken.ParallelStreaming, awaken.ParallelBatchApproval} {
		t.Run(string(mode), func(t *testing.T) {
			t.Parallel()
			reported := make(chan struct{})
			slow := tool("slow", func(context.Context, *awaken.ToolCall, args) (*awaken.ToolResult, error) {
				<-reported // ends only after the other's result was published
				return awaken.TextResult("slow"), nil
			})
			g := newRig(t, []llmtest.Turn{uses("slow", "fast"), llmtest.Say("ok")}, withTools(slow, echo("fast")), withMode(mode))
			p := &tape{}
			p.on = func(ev awaken.Event) {
				if d, ok := ev.(*awaken.ToolCallDone); ok && d.ID == "c2" {
					if calls := g.calls("r"); len(calls) != 2 || calls[1].Status != awaken.CallSucceeded {
						t.Errorf("published before it was committed: %s", toJSON(t, calls))
					}
					close(reported)
				}
			}
			req := say("hi")
			req.RunID = "r"
			if _, err := g.rt.Run(t.Context(), req, p); err != nil {
				t.Fatal(err)
			}
			done := eventsOf[awaken.ToolCallDone](p)
			if len(done) != 2 || done[0].ID != "c2" || done[1].ID != "c1" {
				t.Errorf("results came in the order %s", toJSON(t, done))
			}
			want := []string{"user: hi", "assistant -> slow#c1 -> fast#c2", "tool to c1: slow", "tool to c2: fast {}"}
			if diff := cmp.Diff(want, outline(g.request(2).Messages)); diff != "" {
				t.Errorf("the model sees them in another order than it asked (-want +got):\n%s", diff)
			}
		})
	}
}

func TestParallel_RefusesTwoWritersOfAnExclusiveKey(t *testing.T) { // L-16
	t.Parallel()
	owner := state.NewValue[string]("test.owner", state.Options{})
	keys := plug{"keys", func(r *awaken.Registrar) { r.Key(owner) }}
	var both sync.WaitGroup
	both.Add(2)
	claim := tool("claim", func(_ context.Context, c *awaken.ToolCall, _ args) (*awaken.ToolResult, error) {
		owner.Update(c, c.ID)
		both.Done()
		both.Wait() // they really run at the same time
		return awaken.TextResult("claimed"), nil
	})
	g := newRig(t, []llmtest.Turn{uses("claim", "claim"), llmtest.Say("ok")}, withTools(claim), withPlugins(keys), withMode(awaken.ParallelStreaming))
	_, p := g.run(say("hi"))
	var ok, failed []string
	for _, d := range eventsOf[awaken.ToolCallDone](p) {
		if d.Outcome == awaken.CallSucceeded {
			ok = append(ok, d.ID)
		} else if strings.Contains(d.Result.Message, "test.owner") {
			failed = append(failed, d.ID)
		}
	}
	if len(ok) != 1 || len(failed) != 1 {
		t.Fatalf("%q succeeded, %q failed", ok, failed)
	}
	snaps := eventsOf[awaken.StateSnapshot](p)
	ext, err := snaps[0].Snapshot.Export()
	if err != nil {
		t.Fatal(err)
	}
	if got := string(ext["test.owner"]); got != `"`+ok[0]+`"` {
		t.Errorf("the key holds %s, but %s succeeded", got, ok[0])
	}
}

func TestParallel_ActsOnADecisionAsTheModeSays(t *testing.T) { // L-16
	t.Parallel()
	for _, effect := range []awaken.EffectClass{awaken.Effectful, awaken.ReadOnly} {
		t.Run(fmt.Sprintf("streaming, while another call (%q) still runs", effect), func(t *testing.T) {
			t.Parallel()
			approved := make(chan struct{})
			slow := awaken.NewTool(awaken.ToolSpec{ID: "slow", Effect: effect}, func(context.Context, *awaken.ToolCall, args) (string, error) {
				<-approved
				return "slow", nil
			})
			pay := tool("pay", func(context.Context, *awaken.ToolCall, args) (*awaken.ToolResult, error) {
				close(approved)
				return awaken.TextResult("paid"), nil
			})
			g := newRig(t, []llmtest.Turn{uses("slow", "pay"), llmtest.Say("ok")}, withTools(slow, pay),
				withPlugins(askAbout("pay", awaken.Ticket{})), withMode(awaken.ParallelStreaming))
			p := &tape{}
			p.on = func(ev awaken.Event) {
				if d, ok := ev.(*awaken.ToolCallDone); ok && d.Outcome == awaken.CallSuspended {
					if err := g.rt.Decide(context.Background(), "r", approve("c2")); err != nil {
						t.Error(err)
					}
				}
			}
			req := say("hi")
			req.RunID = "r"
			res, err := g.rt.Run(t.Context(), req, p)
			if err != nil {
				t.Fatal(err)
			}
			checkTermination(t, res, p, awaken.NaturalEnd)
			checkBalanced(t, p)
			checkValid(t, g.request(2).Messages)
		})
	}
	t.Run("streaming, before anything runs again", func(t *testing.T) {
		t.Parallel()
		approved := make(chan struct{})
		look := awaken.NewTool(awaken.ToolSpec{ID: "look", Effect: awaken.ReadOnly}, func(_ context.Context, c *awaken.ToolCall, _ args) (string, error) {
			if c.ID == "c2" {
				close(approved)
			}
			<-approved
			return "seen", nil
		})
		var rt *engine.Runtime
		ask := gate(func(ctx context.Context, h *awaken.HookCall) (awaken.Verdict, error) {
			if h.Tool.ID == "c1" && h.Tool.Resume != nil {
				if err := rt.Decide(ctx, h.Run.RunID, approve("c2")); err != nil { // the run does not listen yet
					t.Error(err)
				}
			}
			return awaken.SuspendCall(awaken.Ticket{}), nil
		})
		g := newRig(t, []llmtest.Turn{uses("look", "look"), llmtest.Say("ok")}, withTools(look), withPlugins(ask), withMode(awaken.ParallelStreaming))
		rt = g.rt
		res, _ := g.run(say("hi"))
		res, p := g.resume(res.RunID, approve("c1"))
		checkTermination(t, res, p, awaken.NaturalEnd)
	})
	for _, tt := range []struct {
		mode awaken.ExecutionMode
		want []string // what runs after the first of two decisions
	}{
		{awaken.ParallelStreaming, []string{"c1"}},
		{awaken.ParallelBatchApproval, nil},
	} {
		t.Run(string(tt.mode)+", when all wait", func(t *testing.T) {
			t.Parallel()
			var mu sync.Mutex
			var ran []string
			pay := tool("pay", func(_ context.Context, c *awaken.ToolCall, _ args) (*awaken.ToolResult, error) {
				mu.Lock()
				defer mu.Unlock()
				ran = append(ran, c.ID)
				return awaken.TextResult("paid"), nil
			})
			g := newRig(t, []llmtest.Turn{uses("pay", "pay"), llmtest.Say("ok")}, withTools(pay),
				withPlugins(askAbout("pay", awaken.Ticket{})), withMode(tt.mode))
			res, _ := g.run(say("hi"))
			res, p := g.resume(res.RunID, approve("c1"))
			checkTermination(t, res, p, awaken.Suspended)
			if diff := cmp.Diff(tt.want, ran); diff != "" {
				t.Errorf("ran after the first decision (-want +got):\n%s", diff)
			}
			res, p = g.resume(res.RunID, approve("c2"))
			checkTermination(t, res, p, awaken.NaturalEnd)
			slices.Sort(ran)
			if diff := cmp.Diff([]string{"c1", "c2"}, ran); diff != "" {
				t.Errorf("ran in the end (-want +got):\n%s", diff)
			}
			checkValid(t, g.request(2).Messages)
		})
	}
}

func TestParallel_CanBeChosenInADocument(t *testing.T) { // L-16
	t.Parallel()
	var spec awaken.AgentSpec
	doc := `{"id":"default","model_id":"m","tool_execution_mode":"parallel_streaming"}`
	if err := json.Unmarshal([]byte(doc), &spec); err != nil {
		t.Fatal(err)
	}
	var both sync.WaitGroup
	both.Add(2)
	meet := tool("meet", func(context.Context, *awaken.ToolCall, args) (*awaken.ToolResult, error) {
		both.Done()
		both.Wait()
		return awaken.TextResult("met"), nil
	})
	g := newRig(t, []llmtest.Turn{uses("meet", "meet"), llmtest.Say("ok")}, withTools(meet),
		func(c *engine.Config) { c.Agents[0] = &spec })
	g.run(say("hi"))
}

func TestToolResult_ShowsTheModelMessageDataAndMedia(t *testing.T) { // L-17
	t.Parallel()
	results := map[string]*awaken.ToolResult{
		"both":  {Message: "Found one.", Data: json.RawMessage(`{"id":7}`)},
		"data":  {Data: json.RawMessage(`{"id":8}`)},
		"media": {Message: "not shown", Content: []llm.Block{llm.Text("A cat:"), llm.Image(llm.Base64("image/png", "aGk="))}},
	}
	find := tool("find", func(_ context.Context, _ *awaken.ToolCall, in args) (*awaken.ToolResult, error) {
		return results[in["what"].(string)], nil
	})
	turn := llmtest.Turn{}
	for _, what := range []string{"both", "data", "media"} {
		turn.ToolCalls = append(turn.ToolCalls, llmtest.Call{ID: what, Name: "find", Arguments: json.RawMessage(`{"what":"` + what + `"}`)})
	}
	g := newRig(t, []llmtest.Turn{turn, llmtest.Say("ok")}, withTools(find))
	g.run(say("hi"))
	msgs := g.request(2).Messages
	for i, want := range []string{"Found one.\n{\"id\":7}", `{"id":8}`, "A cat:"} {
		if got := msgs[2+i].Text(); got != want {
			t.Errorf("result %d is %q, want %q", i, got, want)
		}
	}
	if c := msgs[4].Content; len(c) != 2 || c[1].Type != llm.ImageBlock || c[1].Source.Data != "aGk=" {
		t.Errorf("the image is lost: %s", toJSON(t, c))
	}
}

func TestArguments_AreCheckedBeforeTheGate(t *testing.T) { // L-61
	t.Parallel()
	type in struct {
		City string `json:"city"`
		Days int    `json:"days,omitempty"`
	}
	var asked, ran int
	weather := awaken.NewTool(awaken.ToolSpec{ID: "weather"}, func(context.Context, *awaken.ToolCall, in) (string, error) {
		ran++
		return "sunny", nil
	})
	g := newRig(t, []llmtest.Turn{llmtest.Use("weather", `{"days":"three","town":"Paris"}`), llmtest.Use("weather", `{"city":"Paris"}`), llmtest.Say("ok")},
		withTools(weather), withPlugins(gate(func(context.Context, *awaken.HookCall) (awaken.Verdict, error) {
			asked++
			return awaken.Allow(), nil
		})))
	_, p := g.run(say("hi"))
	if asked != 1 || ran != 1 {
		t.Errorf("the gate was asked %d times and the tool ran %d times, want 1 and 1", asked, ran)
	}
	done := eventsOf[awaken.ToolCallDone](p)[0]
	if done.Outcome != awaken.CallFailed {
		t.Errorf("the call with wrong arguments is %s", done.Outcome)
	}
	for _, want := range []string{"[invalid_arguments]", `"weather"`, `missing "city"`, `unknown field "town"`, "/days"} {
		if got := g.request(2).Messages[2].Text(); !strings.Contains(got, want) {
			t.Errorf("the model sees %q, which does not say %s", got, want)
		}
	}
}

func TestTool_IsBoundedInTimeSizeAndNumber(t *testing.T) { // L-62
	t.Parallel()
	t.Run("a call that takes too long ends", func(t *testing.T) {
		t.Parallel()
		bubbletest.Test(t, func(t *testing.T) {
			slow := awaken.NewTool(awaken.ToolSpec{ID: "slow", Timeout: 3 * time.Second}, func(ctx context.Context, _ *awaken.ToolCall, _ args) (string, error) {
				<-ctx.Done()
				return "", ctx.Err()
			})
			g := newRig(t, []llmtest.Turn{uses("slow"), llmtest.Say("ok")}, withTools(slow))
			began := time.Now()
			_, p := g.run(say("hi"))
			if took := time.Since(began); took != 3*time.Second {
				t.Errorf("it took %s", took)
			}
			done := eventsOf[awaken.ToolCallDone](p)[0]
			if done.Outcome != awaken.CallFailed || done.Result.Metadata["timed_out"] != true || !strings.HasSuffix(done.Result.Message, "is not known: timed out after 3s") {
				t.Errorf("result is %s", toJSON(t, done))
			}
		})
	})
	t.Run("a call that ignores its context is left behind", func(t *testing.T) {
		t.Parallel()
		bubbletest.Test(t, func(t *testing.T) {
			deaf := make(chan struct{})
			slow := tool("slow", func(context.Context, *awaken.ToolCall, args) (*awaken.ToolResult, error) {
				<-deaf
				return awaken.TextResult("too late"), nil
			})
			g := newRig(t, []llmtest.Turn{uses("slow"), llmtest.Say("ok")}, withTools(slow),
				func(c *engine.Config) { c.Limits.ToolTimeout, c.Limits.ToolGrace = 4*time.Second, 2*time.Second })
			began := time.Now()
			_, p := g.run(say("hi"))
			if took := time.Since(began); took != 6*time.Second {
				t.Errorf("it took %s", took)
			}
			if d := eventsOf[awaken.ToolCallDone](p); len(d) != 1 || d[0].Outcome != awaken.CallFailed {
				t.Errorf("results are %s", toJSON(t, d))
			}
			close(deaf)
		})
	})
	t.Run("a panic is an error", func(t *testing.T) {
		t.Parallel()
		bad := tool("bad", func(context.Context, *awaken.ToolCall, args) (*awaken.ToolResult, error) { panic("kaboom") })
		g := newRig(t, []llmtest.Turn{uses("bad"), llmtest.Say("ok")}, withTools(bad))
		res, p := g.run(say("hi"))
		checkTermination(t, res, p, awaken.NaturalEnd)
		if got := g.request(2).Messages[2].Text(); got != `the call of tool "bad" had begun, and whether it took effect is not known: tool "bad" panicked: kaboom` {
			t.Errorf("the model sees %q", got)
		}
	})
	t.Run("a result that is too large is cut", func(t *testing.T) {
		t.Parallel()
		big := awaken.NewTool(awaken.ToolSpec{ID: "big", MaxResultBytes: 100}, func(context.Context, *awaken.ToolCall, args) (string, error) {
			return "start" + strings.Repeat("é", 100), nil
		})
		g := newRig(t, []llmtest.Turn{uses("big"), llmtest.Say("ok")}, withTools(big))
		g.run(say("hi"))
		got := g.request(2).Messages[2].Text()
		for _, want := range []string{"result_too_large", `"big"`, "207 bytes", "limit is 100", "startéé"} {
			if !strings.Contains(got, want) {
				t.Errorf("the model sees %q, which does not say %q", got, want)
			}
		}
	})
	t.Run("so many calls run at the same time", func(t *testing.T) {
		t.Parallel()
		bubbletest.Test(t, func(t *testing.T) {
			var running, most atomic.Int32
			nap := tool("nap", func(context.Context, *awaken.ToolCall, args) (*awaken.ToolResult, error) {
				most.Store(max(most.Load(), running.Add(1)))
				time.Sleep(time.Second)
				running.Add(-1)
				return awaken.TextResult("rested"), nil
			})
			g := newRig(t, []llmtest.Turn{uses("nap", "nap", "nap", "nap", "nap"), llmtest.Say("ok")}, withTools(nap),
				withMode(awaken.ParallelStreaming), func(c *engine.Config) { c.Limits.ParallelTools = 2 })
			g.run(say("hi"))
			if most.Load() != 2 {
				t.Errorf("%d calls ran at the same time", most.Load())
			}
		})
	})
}

// Suspending and resuming.

func TestSuspend_FinishesOnce(t *testing.T) { // L-18
	t.Parallel()
	var ends int
	g := newRig(t, []llmtest.Turn{uses("pay"), llmtest.Say("ok")}, withTools(echo("pay")), withPlugins(askAbout("pay", awaken.Ticket{}),
		at(awaken.PhaseRunEnd, func(context.Context, *awaken.HookCall) error { ends++; return nil })))
	res, p := g.run(say("hi"))
	checkBalanced(t, p)
	want := []string{"run_start", "step_start", "tool_call_start", "tool_call_delta", "tool_call_ready", "inference_complete",
		"tool_call_done", "state_snapshot", "step_end", "state_snapshot", "run_finish"}
	if diff := cmp.Diff(want, p.types()); diff != "" {
		t.Errorf("events until the wait (-want +got):\n%s", diff)
	}
	fin := eventsOf[awaken.RunFinish](p)[0]
	if fin.Termination.Type != awaken.Suspended || fin.Result.Status != awaken.RunWaiting || ends != 0 {
		t.Errorf("run_finish is %s, run_end ran %d times", toJSON(t, fin), ends)
	}
	if rec := g.record(res.RunID); rec.Status != awaken.RunWaiting || rec.Waiting == nil || len(rec.Waiting.Tickets) != 1 || rec.Waiting.Tickets[0].ToolCallID != "c1" {
		t.Errorf("record is %s", toJSON(t, rec))
	}
	_, p = g.resume(res.RunID, approve("c1"))
	checkBalanced(t, p)
	want = []string{"run_start", "tool_call_resumed", "step_start", "text_delta", "inference_complete", "state_snapshot", "step_end", "state_snapshot", "run_finish"}
	if diff := cmp.Diff(want, p.types()); diff != "" {
		t.Errorf("events after the decision (-want +got):\n%s", diff)
	}
	if start := eventsOf[awaken.RunStart](p)[0]; start.RunID != res.RunID || ends != 1 {
		t.Errorf("the resumed run is %s, run_end ran %d times", start.RunID, ends)
	}
}

func TestResume_RefusesAnUnknownDecisionAndNothingElse(t *testing.T) { // L-24
	t.Parallel()
	g := newRig(t, []llmtest.Turn{uses("pay"), llmtest.Say("ok")}, withTools(echo("pay")), withPlugins(askAbout("pay", awaken.Ticket{})))
	res, _ := g.run(say("hi"))

	_, err := g.rt.Resume(t.Context(), res.RunID, nil, approve("absent"))
	if !errors.Is(err, awaken.ErrNotFound) || !strings.Contains(err.Error(), `"absent"`) {
		t.Errorf("error is %v", err)
	}
	if rec := g.record(res.RunID); rec.Status != awaken.RunWaiting {
		t.Fatalf("the run is %s, want still waiting", rec.Status)
	}
	if err := g.rt.Decide(t.Context(), res.RunID, approve("absent")); !errors.Is(err, awaken.ErrNotFound) {
		t.Errorf("Decide: error is %v", err)
	}

	res, p := g.resume(res.RunID, approve("absent"), approve("c1"))
	checkTermination(t, res, p, awaken.NaturalEnd)
	if len(res.Rejected) != 1 || !strings.Contains(res.Rejected[0], `"absent"`) {
		t.Errorf("rejected are %q", res.Rejected)
	}
}

func TestResumeModes_AreInterpretedByTheRuntime(t *testing.T) { // L-26
	t.Parallel()
	tests := []struct {
		mode     awaken.ResumeMode
		decision awaken.Decision
		ran      string // the arguments the tool got, or "" if it must not run
		sees     string // what the model sees
	}{
		{awaken.ReplayToolCall, awaken.Decision{Result: json.RawMessage(`{"sum":5}`)}, `{"sum":1,"to":"bob"}`, `pay {"sum":1,"to":"bob"}`},
		{awaken.ReplayToolCall, awaken.Decision{Arguments: json.RawMessage(`{"sum":2}`)}, `{"sum":2}`, `pay {"sum":2}`},
		{awaken.UseDecisionAsToolResult, awaken.Decision{Result: json.RawMessage(`{"paid":true}`)}, ``, `{"paid":true}`},
		{awaken.PassDecisionToTool, awaken.Decision{Result: json.RawMessage(`{"sum":5}`)}, `{"sum":5,"to":"bob"}`, `pay {"sum":5,"to":"bob"}`},
	}
	for _, tt := range tests {
		t.Run(string(tt.mode), func(t *testing.T) {
			t.Parallel()
			var ran string
			var resume *awaken.Resumption
			pay := tool("pay", func(_ context.Context, c *awaken.ToolCall, _ args) (*awaken.ToolResult, error) {
				ran, resume = string(c.Args), c.Resume
				return awaken.TextResult("pay " + string(c.Args)), nil
			})
			ticket := awaken.Ticket{Suspension: awaken.Suspension{ID: "s1", Message: "May I?"}, ResumeMode: tt.mode}
			g := newRig(t, []llmtest.Turn{{ToolCalls: []llmtest.Call{{ID: "c1", Name: "pay", Arguments: json.RawMessage(`{"sum":1,"to":"bob"}`)}}}, llmtest.Say("ok")},
				withTools(pay), withPlugins(askAbout("pay", ticket)))
			res, _ := g.run(say("hi"))
			d := tt.decision
			d.Target, d.ID, d.Action = "s1", "d1", awaken.ActionResume // by the suspension's id
			g.restart()
			res, p := g.resume(res.RunID, d)
			checkTermination(t, res, p, awaken.NaturalEnd)
			if ran != tt.ran {
				t.Errorf("the tool got %q, want %q", ran, tt.ran)
			}
			if ran != "" && (resume == nil || resume.Decision.ID != "d1" || resume.SuspensionID != "s1" || resume.Asked != "May I?") {
				t.Errorf("the tool got the decision as %+v", resume)
			}
			if got := g.request(2).Messages[2].Text(); got != tt.sees {
				t.Errorf("the model sees %q, want %q", got, tt.sees)
			}
		})
	}
}

func TestResume_LeavesOneAnswerForEachCall(t *testing.T) { // L-28
	t.Parallel()
	for _, mode := range []awaken.ExecutionMode{awaken.Sequential, awaken.ParallelStreaming, awaken.ParallelBatchApproval} {
		t.Run(string(mode), func(t *testing.T) {
			t.Parallel()
			g := newRig(t, []llmtest.Turn{uses("pay", "echo", "pay"), llmtest.Say("ok"), llmtest.Say("bye")}, withTools(echo("pay"), echo("echo")),
				withPlugins(askAbout("pay", awaken.Ticket{})), withMode(mode))
			res, _ := g.run(say("hi"))
			for res.Status == awaken.RunWaiting {
				g.restart()
				res, _ = g.resume(res.RunID, approve(res.Waiting.Tickets[0].ToolCallID))
			}
			want := []string{"user: hi", "assistant -> pay#c1 -> echo#c2 -> pay#c3", "tool to c1: pay {}", "tool to c2: echo {}", "tool to c3: pay {}"}
			if diff := cmp.Diff(want, outline(g.request(2).Messages)); diff != "" {
				t.Errorf("what the model is shown (-want +got):\n%s", diff)
			}
			answers := map[string]int{}
			for _, m := range g.log("t") {
				if m.Role == llm.ToolRole {
					answers[m.ToolCallID]++
				}
			}
			if diff := cmp.Diff(map[string]int{"c1": 1, "c2": 1, "c3": 1}, answers); diff != "" {
				t.Errorf("answers in the log (-want +got):\n%s", diff)
			}
			g.run(say("and now?")) // what another run finds
			if diff := cmp.Diff(append(want, "assistant: ok", "user: and now?"), outline(g.request(3).Messages)); diff != "" {
				t.Errorf("what the next run is shown (-want +got):\n%s", diff)
			}
		})
	}
}

// Truncation.

func TestTruncation_HasABudgetForEachStep(t *testing.T) { // L-19
	t.Parallel()
	cut := llmtest.Turn{Text: llmtest.Text{"more "}, Finish: llm.MaxTokens}
	use := llmtest.Turn{Text: llmtest.Text{"look "}, ToolCalls: []llmtest.Call{{Name: "echo"}}}
	g := newRig(t, []llmtest.Turn{cut, cut, use, cut, cut, llmtest.Say("end"), llmtest.Say("never")}, withTools(echo("echo")))
	res, p := g.run(say("hi"))
	checkTermination(t, res, p, awaken.NaturalEnd)
	if g.model.Calls() != 6 || res.Response != "more more end" {
		t.Errorf("%d inferences, response %q", g.model.Calls(), res.Response)
	}
	log := outline(g.log("t"))
	want := []string{"user: hi", "assistant: more more look  -> echo#call_echo_3", "tool to call_echo_3: echo {}", "assistant: more more end"}
	if diff := cmp.Diff(want, log); diff != "" {
		t.Errorf("each step is one message (-want +got):\n%s", diff)
	}
}

func TestTruncation_ContinuesWithTheSameRequest(t *testing.T) { // L-20
	t.Parallel()
	hook := at(awaken.PhaseBeforeInference, func(_ context.Context, h *awaken.HookCall) error {
		builtin.ExcludeTool.Schedule(h, "secret")
		builtin.AddContextMessage.Schedule(h, builtin.SystemContext("date", "It is Monday."))
		n := 99
		builtin.SetInferenceOverride.Schedule(h, awaken.InferenceOverride{MaxTokens: &n})
		return nil
	})
	g := newRig(t, []llmtest.Turn{{Text: llmtest.Text{"Once"}, Finish: llm.MaxTokens}, llmtest.Say(" more")},
		withTools(echo("echo"), echo("secret")), withPlugins(hook), withAgent(func(s *awaken.AgentSpec) {
			p := awaken.DefaultContextPolicy()
			s.ContextPolicy = &p
		}))
	res, _ := g.run(say("hi"))
	if res.Response != "Once more" {
		t.Errorf("response is %q", res.Response)
	}
	first, second := *g.request(1), *g.request(2)
	if len(second.Messages) != 3 || second.Messages[1].Text() != "Once" {
		t.Errorf("the continuation is asked with %q", outline(second.Messages))
	}
	first.Messages, second.Messages = nil, nil
	if diff := cmp.Diff(first, second); diff != "" {
		t.Errorf("the continuation differs (-first +second):\n%s", diff)
	}
	if second.System != "Be good.It is Monday." || !slices.Equal(second.Tools, []string{"echo"}) || !second.CachePrompt || *second.Params.MaxTokens != 99 {
		t.Errorf("the continuation is %s", toJSON(t, second))
	}
}

// Events.

func TestEvents_CarryTheIDsOfStoredMessages(t *testing.T) { // L-29
	t.Parallel()
	g := newRig(t, []llmtest.Turn{uses("echo", "echo"), llmtest.Say("ok")}, withTools(echo("echo")))
	_, p := g.run(say("hi"))
	log := g.log("t")
	steps, done := eventsOf[awaken.StepStart](p), eventsOf[awaken.ToolCallDone](p)
	var got, want []string
	for _, s := range steps {
		got = append(got, s.MessageID)
	}
	for _, d := range done {
		got = append(got, d.MessageID)
	}
	want = []string{log[1].ID, log[4].ID, log[2].ID, log[3].ID}
	if diff := cmp.Diff(want, got); diff != "" {
		t.Errorf("ids of two steps and two results (-want +got):\n%s", diff)
	}
	if slices.Contains(got, "") {
		t.Errorf("an id is empty: %q", got)
	}
}

func TestEvents_ShowStateDeltasRewindsAndOpaqueReasoning(t *testing.T) { // L-30
	t.Parallel()
	mood := state.NewValue[string]("test.mood/now", state.Options{})
	feel := tool("feel", func(_ context.Context, c *awaken.ToolCall, _ args) (*awaken.ToolResult, error) {
		mood.Update(c, "fine")
		return awaken.TextResult("ok"), nil
	})
	think := uses("feel")
	think.Reasoning = llmtest.Text{"Hm."}
	think.Opaque = &llm.Opaque{Provider: "p", Signature: "sealed"}
	g := newRig(t, []llmtest.Turn{think, llmtest.Say("one"), llmtest.Say("two")}, withTools(feel),
		withPlugins(plug{"keys", func(r *awaken.Registrar) { r.Key(mood) }}))
	_, p := g.run(say("hi"))
	if d := eventsOf[awaken.StateDelta](p); len(d) != 1 || toJSON(t, d[0]) != `{"delta":[{"op":"add","path":"/extensions/test.mood~1now","value":"fine"}]}` {
		t.Errorf("state_delta is %s", toJSON(t, d))
	}
	before(t, p.types(), "tool_call_done", "state_delta")
	if v := eventsOf[awaken.ReasoningEncryptedValue](p); len(v) != 1 || v[0].EncryptedValue != "sealed" {
		t.Errorf("reasoning_encrypted_value is %s", toJSON(t, v))
	}

	again := say("hello")
	again.Rewind = g.log("t")[0].ID
	_, p = g.run(again)
	snaps := eventsOf[awaken.MessagesSnapshot](p)
	if len(snaps) != 1 {
		t.Fatalf("%d messages_snapshot after a rewind: %q", len(snaps), p.types())
	}
	if diff := cmp.Diff([]string{"user: hello"}, outline(snaps[0].Messages)); diff != "" {
		t.Errorf("messages_snapshot (-want +got):\n%s", diff)
	}
}

func TestAgent_IsTheOneTheThreadWasHandedTo(t *testing.T) { // L-31
	t.Parallel()
	hand := func(end bool) awaken.Tool {
		return tool("hand", func(_ context.Context, c *awaken.ToolCall, _ args) (*awaken.ToolResult, error) {
			builtin.ActiveAgent.Update(c, "expert")
			if end {
				c.End()
			}
			return awaken.TextResult("ok"), nil
		})
	}
	expert := func(c *engine.Config) {
		c.Agents = append(c.Agents, &awaken.AgentSpec{ID: "expert", ModelID: "m", SystemPrompt: "Know it all."})
	}
	t.Run("in the middle of a run", func(t *testing.T) {
		t.Parallel()
		g := newRig(t, []llmtest.Turn{uses("hand"), llmtest.Say("I am the expert.")}, withTools(hand(false)), expert)
		req := say("hi")
		req.AgentID = "default"
		res, p := g.run(req)
		if res.AgentID != "expert" || g.request(2).System != "Know it all." {
			t.Errorf("after the handoff the agent is %s, with the prompt %q", res.AgentID, g.request(2).System)
		}
		if id := eventsOf[awaken.RunStart](p)[0].Identity.AgentID; id != "default" {
			t.Errorf("run_start was changed afterwards: it names %s", id)
		}
	})
	t.Run("after the run", func(t *testing.T) {
		t.Parallel()
		// The run ends before the handoff takes effect, so that only the thread knows.
		g := newRig(t, []llmtest.Turn{uses("hand"), llmtest.Say("I am the expert.")}, withTools(hand(true)), expert)
		res, p := g.run(say("hi"))
		checkTermination(t, res, p, awaken.BehaviorRequested)
		if res.AgentID != "default" {
			t.Fatalf("the first run's agent is %s", res.AgentID)
		}
		g.restart()
		res, p = g.run(say("and now?"))
		if id := eventsOf[awaken.RunStart](p)[0].Identity.AgentID; res.AgentID != "expert" || id != "expert" || g.request(2).System != "Know it all." {
			t.Errorf("the next run starts as %s and ends as %s", id, res.AgentID)
		}
	})
}

// A plugin may write any termination into what its command has recorded. Only a run that
// the engine has parked waits: this one has to close its step and say how it ended.
func TestCommand_CannotEndARunAsSuspended(t *testing.T) {
	for _, phase := range []awaken.Phase{awaken.PhaseRunStart, awaken.PhaseStepStart, awaken.PhaseAfterInference, awaken.PhaseStepEnd} {
		g := newRig(t, []llmtest.Turn{llmtest.Say("done")}, withPlugins(at(phase, func(_ context.Context, h *awaken.HookCall) error {
			h.Recorded().Ending = &awaken.Termination{Type: awaken.Suspended}
			return nil
		})))
		p := &tape{}
		res, err := g.rt.Run(t.Context(), say("go"), p)
		if err == nil || res == nil {
			t.Fatalf("%s: the run ended as %+v, %v, want a failure", phase, res, err)
		}
		checkTermination(t, res, p, awaken.Failed)
		checkBalanced(t, p)
		if rec := g.record(res.RunID); rec.Status != awaken.RunDone {
			t.Errorf("%s: the stored run is %s, want done", phase, rec.Status)
		}
	}
}
