package engine_test

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"iter"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/awaken-go/awaken"
	"github.com/awaken-go/awaken/engine"
	"github.com/awaken-go/awaken/internal/bubbletest"
	"github.com/awaken-go/awaken/llm"
	"github.com/awaken-go/awaken/llm/llmtest"
	"github.com/awaken-go/awaken/store/memory"
)

// oneCall is a model that calls a tool once, whatever happens, and then answers.
func oneCall(tool string) llm.Model {
	return llm.ModelFunc(func(_ context.Context, req *llm.Request) iter.Seq2[llm.Delta, error] {
		asked := false
		for _, m := range req.Messages.All() {
			asked = asked || len(m.ToolCalls) > 0
		}
		deltas := []llm.Delta{{Kind: llm.TextDelta, Text: "Done."}, {Kind: llm.FinishDelta, Finish: llm.EndTurn}}
		if !asked {
			deltas = []llm.Delta{{Kind: llm.ToolCallStart, ID: "c1", Name: tool}, {Kind: llm.ToolCallDelta, ID: "c1", Text: "{}"}, {Kind: llm.FinishDelta, Finish: llm.ToolUse}}
		}
		return func(yield func(llm.Delta, error) bool) {
			for _, d := range deltas {
				if !yield(d, nil) {
					return
				}
			}
		}
	})
}

// life is one process: it dies at one point, and from then on it writes nothing and has no effect.
type life struct {
	awaken.Store
	at string // where it dies: commit or effect, before or after, and which

	mu      sync.Mutex
	dead    bool
	commits int
	effects int
	world   *stepWorld
}

// stepWorld is what the steps have done to the world, by their keys.
type stepWorld struct {
	mu   sync.Mutex
	made map[string]int
}

func (l *life) die(kind string, n *int) (before, after bool) {
	l.mu.Lock()
	defer l.mu.Unlock()
	*n++
	if l.at == fmt.Sprintf("before %s %d", kind, *n) {
		l.dead = true
	}
	before = l.dead
	if l.at == fmt.Sprintf("after %s %d", kind, *n) {
		l.dead = true
	}
	return before, l.dead
}

func (l *life) Commit(ctx context.Context, c *awaken.Commit) error {
	before, after := l.die("commit", &l.commits)
	if before {
		return awaken.ErrFenced // it makes the run stop without a trace
	}
	if err := l.Store.Commit(ctx, c); err != nil {
		return err
	}
	if after {
		return awaken.ErrFenced
	}
	return nil
}

// effect has an effect on the world.
func (l *life) effect(key string) {
	before, _ := l.die("effect", &l.effects)
	if !before {
		l.world.mu.Lock()
		l.world.made[key]++
		l.world.mu.Unlock()
	}
}

const longSteps = 50

// longEffects are the effects of the steps of the long tool, in turn.
var longEffects = []awaken.EffectClass{awaken.Effectful, awaken.ReadOnly, awaken.Idempotent, awaken.Effectful}

// long is a tool of fifty steps. It reports those that are in doubt, and continues.
func (l *life) long() awaken.Tool {
	return awaken.NewTool(awaken.ToolSpec{ID: "long", Effect: awaken.Idempotent}, func(ctx context.Context, call *awaken.ToolCall, _ args) (string, error) {
		sum := 0
		var doubtful []string
		for i := range longSteps {
			n, err := awaken.Step(ctx, call, fmt.Sprint("step-", i), longEffects[i%len(longEffects)], func(_ context.Context, key string) (int, error) {
				l.effect(key)
				return i, nil
			})
			switch {
			case errors.Is(err, awaken.ErrInDoubt):
				doubtful = append(doubtful, fmt.Sprint(i))
			case err != nil:
				return "", err
			}
			sum += n
		}
		return fmt.Sprintf("%d, in doubt: %s", sum, strings.Join(doubtful, " ")), nil
	})
}

// live runs the agent, or takes its run up, in a process of its own.
func (l *life) live(t *testing.T) (*awaken.RunResult, error) {
	t.Helper()
	rt := mustNew(t, engine.Config{
		Agents:    []*awaken.AgentSpec{{ID: "default", ModelID: "m"}},
		Models:    []awaken.ModelSpec{{ID: "m", ProviderID: "p", UpstreamModel: "upstream"}},
		Providers: map[string]llm.Model{"p": oneCall("long")},
		Tools:     []awaken.Tool{l.long()},
		Store:     l,
	})
	if _, err := l.LoadRun(t.Context(), "r"); errors.Is(err, awaken.ErrNotFound) {
		req := say("go")
		req.RunID = "r"
		return rt.Run(t.Context(), req, nil)
	}
	return rt.Resume(t.Context(), "r", nil)
}

// A tool of fifty steps is killed at every commit and at every effect, before it and after it. Each
// step has its effect once, or is in doubt; what is not effectful may have it again, under the same key.
func TestSteps_KilledAtEveryStep(t *testing.T) {
	t.Parallel()
	whole := &life{Store: memory.New(), world: &stepWorld{made: map[string]int{}}}
	if res, err := whole.live(t); err != nil || res.Termination.Type != awaken.NaturalEnd {
		t.Fatalf("the run ended with %+v, %v", res, err)
	}
	if whole.effects != longSteps || whole.commits < longSteps {
		t.Fatalf("%d effects and %d commits, want %d effects and more commits", whole.effects, whole.commits, longSteps)
	}
	points := map[string]int{"commit": whole.commits, "effect": whole.effects}
	trials, deaths, doubts := 0, 0, 0
	for kind, n := range points {
		for _, when := range []string{"before", "after"} {
			for i := 1; i <= n; i++ {
				trials++
				store, world := memory.New(), &stepWorld{made: map[string]int{}}
				at := fmt.Sprintf("%s %s %d", when, kind, i)
				for _, at := range []string{at, fmt.Sprintf("after effect %d", 1+i%7), ""} { // the second process dies too
					l := &life{Store: store, at: at, world: world}
					if _, err := l.live(t); l.dead {
						deaths++
					} else if err != nil && !errors.Is(err, awaken.ErrConflict) { // it was done
						t.Fatalf("%s: %v", at, err)
					}
				}
				doubts += checkLongRun(t, at, store, world)
			}
		}
	}
	t.Logf("%d trials, %d deaths, %d steps in doubt", trials, deaths, doubts)
	if doubts < longSteps/2 {
		t.Errorf("%d steps were in doubt: the trials missed the moments after an effect", doubts)
	}
}

// checkLongRun checks what is left of a run of the long tool, and counts the steps in doubt.
func checkLongRun(t *testing.T, at string, store awaken.Store, world *stepWorld) (doubts int) {
	t.Helper()
	run, err := store.LoadRun(t.Context(), "r")
	if err != nil || run.Status != awaken.RunDone || run.Termination.Type != awaken.NaturalEnd {
		t.Fatalf("%s: the run is %+v, %v", at, run, err)
	}
	calls, err := store.Calls(t.Context(), "r")
	if err != nil || len(calls) != 1 || calls[0].Status != awaken.CallSucceeded || len(calls[0].Steps) != longSteps {
		t.Fatalf("%s: the ledger is %s, %v", at, toJSON(t, calls), err)
	}
	for i, s := range calls[0].Steps {
		made := world.made[s.Key]
		switch {
		case s.Name != fmt.Sprint("step-", i) || s.Key != calls[0].Key+"/"+s.Name || s.EndedAt == 0:
			t.Errorf("%s: step %d is %+v", at, i, s)
		case s.InDoubt && (s.Effect != awaken.Effectful || made > 1):
			t.Errorf("%s: step %d is in doubt, %q, and was made %d times", at, i, s.Effect, made)
		case !s.InDoubt && (made == 0 || made > 1 && s.Effect == awaken.Effectful || string(s.Result) != fmt.Sprint(i)):
			t.Errorf("%s: step %d has result %s, is %q and was made %d times", at, i, s.Result, s.Effect, made)
		}
		if s.InDoubt {
			doubts++
		}
	}
	if len(world.made) > longSteps {
		t.Errorf("%s: the steps used %d keys", at, len(world.made))
	}
	return doubts
}

// stepTool returns a tool that is idempotent, as one with all its effects in steps is.
func stepTool(id string, fn func(ctx context.Context, c *awaken.ToolCall) (string, error)) awaken.Tool {
	return awaken.NewTool(awaken.ToolSpec{ID: id, Effect: awaken.Idempotent}, func(ctx context.Context, c *awaken.ToolCall, _ args) (string, error) { return fn(ctx, c) })
}

// noStep is a step that has a result and does nothing.
func noStep(context.Context, string) (string, error) { return "ok", nil }

// A name that is used again is numbered; a try after an error keeps its key unless it is effectful.
func TestSteps_Names(t *testing.T) {
	t.Parallel()
	fail := true
	keys := map[awaken.EffectClass][]string{}
	g := newRig(t, []llmtest.Turn{uses("loop"), llmtest.Say("Done.")}, withTools(stepTool("loop", func(ctx context.Context, c *awaken.ToolCall) (string, error) {
		for range 3 {
			if _, err := awaken.Step(ctx, c, "page", awaken.ReadOnly, noStep); err != nil {
				return "", err
			}
		}
		for _, class := range []awaken.EffectClass{awaken.Effectful, awaken.Idempotent} {
			try := func(_ context.Context, key string) (string, error) {
				keys[class] = append(keys[class], strings.TrimPrefix(key, c.Key))
				if fail = !fail; !fail {
					return "", errors.New("try again")
				}
				return "ok", nil
			}
			for range 2 {
				_, _ = awaken.Step(ctx, c, "put-"+string(class), class, try)
			}
		}
		for _, name := range []string{"", "a~2", strings.Repeat("n", 201)} {
			if _, err := awaken.Step(ctx, c, name, awaken.ReadOnly, noStep); err == nil || !strings.Contains(err.Error(), "1 to 200 bytes without ~") {
				return "", fmt.Errorf("name %.10q: %v", name, err)
			}
		}
		return "looped", nil
	})))
	res, _ := g.run(say("go"))
	calls := g.calls(res.RunID)
	var names []string
	for _, s := range calls[0].Steps {
		names = append(names, s.Name)
	}
	if want := []string{"page", "page~2", "page~3", "put-", "put-~2", "put-idempotent", "put-idempotent~2"}; calls[0].Status != awaken.CallSucceeded || !slices.Equal(names, want) {
		t.Errorf("the call is %s with steps %q, want %q", toJSON(t, calls[0].Result), names, want)
	}
	if got := fmt.Sprint(keys[awaken.Effectful], keys[awaken.Idempotent]); got != "[/put- /put-~2] [/put-idempotent /put-idempotent]" {
		t.Errorf("the tries had the keys %s", got)
	}
}

// Calls and steps of different runs have different keys, whatever the runs and the steps are called.
func TestSteps_KeysOfRunsWithSlashesDiffer(t *testing.T) {
	t.Parallel()
	used := map[string]string{} // by key
	note := func(key, what string) {
		if other, taken := used[key]; taken {
			t.Errorf("%s has the key %q of %s", what, key, other)
		}
		used[key] = what
	}
	calls := 0
	for _, run := range []string{"r", "r/0", "r/0/0", "r%2F0", "r/0/0/0/0"} {
		turns := []llmtest.Turn{uses("work"), llmtest.Say("Done.")}
		g := newRig(t, turns, withTools(stepTool("work", func(ctx context.Context, c *awaken.ToolCall) (string, error) {
			calls++
			note(c.Key, "the call of run "+run)
			for _, name := range []string{"0", "0/0", "0/0/0", "0/0/0/0"} {
				if _, err := awaken.Step(ctx, c, name, awaken.Effectful, func(_ context.Context, key string) (int, error) {
					note(key, "step "+name+" of run "+run)
					return 0, nil
				}); err != nil {
					return "", err
				}
			}
			return "worked", nil
		})))
		req := say("go")
		req.RunID = run
		g.run(req)
	}
	if calls != 5 || len(used) != 25 {
		t.Errorf("%d calls with %d keys, want 5 with 25: %v", calls, len(used), used)
	}
}

// An error is recorded, and the same again when the call is repeated; so is a result that is too
// large. A call has a limited number of steps.
func TestSteps_ErrorsAndLimits(t *testing.T) {
	t.Parallel()
	runs := 0
	var said []string
	work := stepTool("work", func(ctx context.Context, c *awaken.ToolCall) (string, error) {
		_, err := awaken.Step(ctx, c, "fails", awaken.Effectful, func(context.Context, string) (string, error) {
			runs++
			return "", errors.New("no such account")
		})
		_, large := awaken.Step(ctx, c, "large", awaken.Effectful, func(context.Context, string) (string, error) {
			runs++
			return strings.Repeat("x", 2000), nil
		})
		said = append(said, err.Error()+"; "+large.Error())
		if len(said) == 1 {
			return "", awaken.Suspend(awaken.Ticket{}) // so that it is called again
		}
		for i := range 999 {
			if _, err := awaken.Step(ctx, c, "many", awaken.ReadOnly, noStep); (err != nil) != (i == 998) {
				return "", fmt.Errorf("step %d of 1001: %v", i+3, err)
			}
		}
		return "worked", nil
	})
	g := newRig(t, []llmtest.Turn{uses("work"), llmtest.Say("Done.")}, withTools(work), func(c *engine.Config) { c.Limits.ToolResultBytes = 1000 })
	res, _ := g.run(say("go"))
	g.restart()
	res, _ = g.resume(res.RunID, approve("c1"))
	if call := g.calls(res.RunID)[0]; call.Status != awaken.CallSucceeded {
		t.Errorf("the call is %s", toJSON(t, call.Result))
	}
	want := `no such account; the result of step "large" is 2002 bytes long, the limit is 1000`
	if runs != 2 || len(said) != 2 || said[0] != want || said[1] != want {
		t.Errorf("the steps ran %d times and said %q", runs, said)
	}
}

// A step in doubt is settled by the tool that knows the outcome, or by a person.
func TestSteps_DoubtIsSettled(t *testing.T) {
	t.Parallel()
	for _, tt := range []struct {
		name   string
		probe  awaken.ProbeOutcome
		decide string // JSON of the decision's result; - rejects
		asked  bool
		made   int
		want   string
	}{
		{"the tool knows that it was done", awaken.ProbeDone, "", false, 1, "paid: probed"},
		{"the tool knows that it was not done", awaken.ProbeNotDone, "", false, 2, "paid: 2"},
		{"a person says to run it again", 0, `{"approved":true}`, true, 2, "paid: 2"},
		{"a person knows the result", 0, `"known"`, true, 1, "paid: known"},
		{"a person rejects", 0, "-", true, 1, `Making the call of tool "pay" again was refused: no. The call is in doubt: it had begun, and whether it took effect is not known; it was at its step "pay". It was not repeated.`},
	} {
		t.Run(tt.name, func(t *testing.T) {
			t.Parallel()
			bubbletest.Test(t, func(t *testing.T) {
				made := 0
				l := &life{Store: memory.New(), at: "after effect 1", world: &stepWorld{made: map[string]int{}}}
				pay := payTool{probe: tt.probe, Tool: awaken.NewTool(awaken.ToolSpec{ID: "pay", Effect: awaken.Idempotent, InDoubt: awaken.DoubtSuspend, Timeout: time.Minute},
					func(ctx context.Context, c *awaken.ToolCall, _ args) (string, error) {
						got, _ := awaken.Step(ctx, c, "pay", awaken.Effectful, func(_ context.Context, key string) (string, error) {
							l.effect(key)
							made++
							return fmt.Sprint(made), nil
						})
						return "paid: " + got, nil // whatever it makes of the error does not count
					})}
				g := newRig(t, []llmtest.Turn{uses("pay"), llmtest.Say("Done.")}, withTools(pay), func(c *engine.Config) { c.Store = l })
				req := say("go")
				req.RunID = "r"
				if _, err := g.rt.Run(t.Context(), req, nil); !errors.Is(err, awaken.ErrFenced) {
					t.Fatalf("error is %v, want ErrFenced", err)
				}
				time.Sleep(2 * time.Minute) // the lost owner cannot run the step any more
				g.cfg.Store = l.Store
				g.restart()
				res, _ := g.resume("r")
				if tt.asked {
					if res.Waiting == nil || len(res.Waiting.Tickets) != 1 || res.Waiting.Tickets[0].TicketID != "in_doubt_c1_pay_1" {
						t.Fatalf("the run does not ask about the step: %s", toJSON(t, res))
					}
					d := awaken.Decision{Target: "in_doubt_c1_pay_1", ID: "d", Action: awaken.ActionResume, Result: json.RawMessage(tt.decide), Arguments: json.RawMessage(`{"a":1}`)}
					if err := g.rt.Decide(t.Context(), "r", d); !errors.Is(err, awaken.ErrInvalid) {
						t.Errorf("other arguments were accepted in the middle of a call: %v", err)
					}
					if d.Arguments = nil; tt.decide == "-" {
						d.Action, d.Result, d.Reason = awaken.ActionCancel, nil, "no"
					}
					g.restart()
					res, _ = g.resume("r", d)
				}
				calls, err := l.Calls(t.Context(), "r")
				if err != nil || len(calls) != 1 || calls[0].Result.Plain() != tt.want || made != tt.made || res.Status != awaken.RunDone {
					t.Errorf("made %d times, want %d; want %q: %s, %v", made, tt.made, tt.want, toJSON(t, calls), err)
				}
			})
		})
	}
}

// payTool is a tool that may know what became of a step.
type payTool struct {
	awaken.Tool
	probe awaken.ProbeOutcome
}

func (p payTool) Probe(_ context.Context, c *awaken.ToolCall) (awaken.Probe, error) {
	if !strings.HasSuffix(c.Key, "/pay") {
		return awaken.Probe{}, fmt.Errorf("asked about %q", c.Key)
	}
	return awaken.Probe{Outcome: p.probe, Result: &awaken.ToolResult{Data: json.RawMessage(`"probed"`)}}, nil
}

// An effectful tool that was cut off is in doubt as a whole: what it did outside of its steps is
// not recorded.
func TestSteps_AnEffectfulToolStaysInDoubt(t *testing.T) {
	t.Parallel()
	l := &life{Store: memory.New(), at: "after effect 2", world: &stepWorld{made: map[string]int{}}}
	called := 0
	mixed := tool("mixed", func(ctx context.Context, c *awaken.ToolCall, _ args) (*awaken.ToolResult, error) {
		called++
		for _, name := range []string{"one", "two"} {
			if _, err := awaken.Step(ctx, c, name, awaken.Effectful, func(_ context.Context, key string) (bool, error) { l.effect(key); return true, nil }); err != nil {
				return nil, err
			}
		}
		return awaken.TextResult("mixed"), nil
	})
	g := newRig(t, []llmtest.Turn{uses("mixed"), llmtest.Say("Done.")}, withTools(mixed), func(c *engine.Config) { c.Store = l })
	req := say("go")
	req.RunID = "r"
	if _, err := g.rt.Run(t.Context(), req, nil); !errors.Is(err, awaken.ErrFenced) {
		t.Fatalf("error is %v, want ErrFenced", err)
	}
	g.cfg.Store = l.Store
	g.restart()
	g.resume("r")
	calls, err := l.Calls(t.Context(), "r")
	if err != nil || called != 1 || calls[0].Result.Metadata["in_doubt"] != true || !strings.Contains(calls[0].Result.Message, `it was at its step "two"`) {
		t.Errorf("called %d times: %s, %v", called, toJSON(t, calls), err)
	}
}

// A run that is to yield its thread does so between two steps, and the next owner continues there.
func TestSteps_YieldBetweenSteps(t *testing.T) {
	t.Parallel()
	var g *rig
	done := map[string]int{}
	g = newRig(t, []llmtest.Turn{uses("long"), llmtest.Say("Done.")}, withTools(stepTool("long", func(ctx context.Context, c *awaken.ToolCall) (string, error) {
		for _, name := range []string{"a", "b", "c"} {
			if _, err := awaken.Step(ctx, c, name, awaken.Effectful, func(context.Context, string) (bool, error) {
				if done[name]++; name == "b" && done[name] == 1 {
					g.rt.Yield("t")
				}
				return true, nil
			}); err != nil {
				return "the tool makes light of it", nil
			}
		}
		return "done", nil
	})))
	req := say("go")
	req.RunID = "r"
	if _, err := g.rt.Run(t.Context(), req, nil); !errors.Is(err, awaken.ErrYielded) {
		t.Fatalf("error is %v, want ErrYielded", err)
	}
	if fmt.Sprint(done) != "map[a:1 b:1]" {
		t.Errorf("before it yielded: %v", done)
	}
	g.restart()
	res, _ := g.resume("r")
	if call := g.calls(res.RunID)[0]; fmt.Sprint(done) != "map[a:1 b:1 c:1]" || call.Result.Plain() != "done" {
		t.Errorf("the steps ran %v, the result is %s", done, toJSON(t, call.Result))
	}
}

// Steps are shown while the tool runs, and are in the log; concurrent steps are recorded each.
func TestSteps_AreShown(t *testing.T) {
	t.Parallel()
	g := newRig(t, []llmtest.Turn{uses("fan"), llmtest.Say("Done.")}, withTools(stepTool("fan", func(ctx context.Context, c *awaken.ToolCall) (string, error) {
		var wg sync.WaitGroup
		for i := range 5 {
			wg.Go(func() { _, _ = awaken.Step(ctx, c, fmt.Sprint("part-", i), awaken.Effectful, noStep) })
		}
		wg.Wait()
		return "done", nil
	})))
	res, p := g.run(say("go"))
	begun, ended := 0, 0
	for _, ev := range eventsOf[awaken.ActivitySnapshot](p) {
		var s awaken.CallStep
		if err := json.Unmarshal(ev.Content, &s); err != nil || ev.ActivityType != "tool-call-step" || ev.MessageID != "tool_call:c1" || s.StartedAt == 0 || s.Result != nil {
			t.Errorf("the event is %s: %v", toJSON(t, ev), err)
		}
		if s.EndedAt == 0 {
			begun++
		} else {
			ended++
		}
	}
	if steps := g.calls(res.RunID)[0].Steps; begun != 5 || ended != 5 || len(steps) != 5 || slices.ContainsFunc(steps, (*awaken.CallStep).Open) {
		t.Errorf("%d steps were shown to begin and %d to end, and the ledger has %s", begun, ended, toJSON(t, steps))
	}
	checkBalanced(t, p)
}

// A tool that is called without a runtime runs its steps without recording them.
func TestSteps_WithoutARuntime(t *testing.T) {
	t.Parallel()
	c := &awaken.ToolCall{Key: "k"}
	got, err := awaken.Step(t.Context(), c, "one", awaken.Effectful, func(_ context.Context, key string) (string, error) { return key, nil })
	if err != nil || got != "k/one" {
		t.Errorf("got %q, %v", got, err)
	}
}
