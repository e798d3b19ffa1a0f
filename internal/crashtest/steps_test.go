//go:build unix

package crashtest

import (
	"context"
	"errors"
	"fmt"
	"iter"
	"maps"
	"math/rand/v2"
	"slices"
	"strings"
	"testing"

	"github.com/awaken-go/awaken"
	"github.com/awaken-go/awaken/engine"
	"github.com/awaken-go/awaken/internal/failpoint"
	"github.com/awaken-go/awaken/internal/testenv"
	"github.com/awaken-go/awaken/llm"
)

// stepStory is a call of one tool that does its work in fifty steps.
const stepStory = "steps"

const toolSteps = 50

// stepEffects are the effects of its steps, in turn.
var stepEffects = []awaken.EffectClass{awaken.Effectful, awaken.Idempotent, awaken.ReadOnly}

// TestKill_Steps kills processes at every point of a step of a tool, at any of its fifty steps. Each
// step has its effect once or is in doubt, and what was done before is not done again.
func TestKill_Steps(t *testing.T) {
	points := slices.DeleteFunc(failpoint.Names(), func(p string) bool { return !strings.HasPrefix(p, "tool_step.") || p == "tool_step.doubt" })
	others := append([]string{"commit.before", "commit.after", "run.opened", "call.before", "results.before"}, points...)
	rounds := testenv.Times(1, 40)
	for _, name := range slices.Sorted(maps.Keys(backends)) {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			seed := crashSeed()
			rng := rand.New(rand.NewPCG(seed, 2))
			kills, doubts, hit := 0, 0, map[string]int{}
			for range rounds {
				for _, point := range points {
					plan := []string{fmt.Sprintf("%s:%d", point, 1+rng.IntN(toolSteps/3))}
					if point == "tool_step.run" { // an effectful step is in doubt: the next process dies when it comes to it
						plan = append(plan, "tool_step.doubt:1")
					}
					for len(plan) < 4 && rng.IntN(2) > 0 {
						plan = append(plan, fmt.Sprintf("%s:%d", others[rng.IntN(len(others))], 1+rng.IntN(10)))
					}
					j := job{Store: name, Dir: t.TempDir(), Story: stepStory}
					j.Where = backends[name].place(j.Dir)
					for _, spec := range append(plan, "") {
						killed, err := testenv.RunJob(t.Context(), j, spec)
						if err != nil {
							t.Fatalf("%s=%d: killed at %q: %v", seedVar, seed, plan, err)
						}
						if killed {
							at, _, _ := strings.Cut(spec, ":")
							hit[at]++
							kills++
						}
					}
					n, problems := checkSteps(t.Context(), j)
					doubts += n
					for _, p := range problems {
						t.Errorf("%s=%d: killed at %q: %s", seedVar, seed, plan, p)
					}
				}
			}
			t.Logf("%s=%d: %d processes killed on %s: %v; %d steps in doubt", seedVar, seed, kills, name, hit, doubts)
			for _, p := range points {
				if hit[p] == 0 {
					t.Errorf("%s=%d: no process was killed at %s", seedVar, seed, p)
				}
			}
		})
	}
}

// checkSteps looks at what is left in the end. It returns the number of steps in doubt.
func checkSteps(ctx context.Context, j job) (doubts int, problems []string) {
	bad := func(format string, args ...any) { problems = append(problems, fmt.Sprintf(format, args...)) }
	s, err := backends[j.Store].open(j.Where)
	if err != nil {
		return 0, []string{err.Error()}
	}
	defer func() { _ = s.Close() }()
	if err := checkWhole(ctx, s); err != nil {
		bad("%v", err)
	}
	run, err := s.LoadRun(ctx, runID)
	if err != nil || run.Status != awaken.RunDone || run.Termination.Type != awaken.NaturalEnd {
		bad("the run is %+v, %v", run, err)
	}
	calls, err := s.Calls(ctx, runID)
	if err != nil || len(calls) != 1 || calls[0].Status != awaken.CallSucceeded || len(calls[0].Steps) != toolSteps {
		return 0, append(problems, fmt.Sprintf("the ledger has %+v, %v", calls, err))
	}
	marked := j.world().read()
	for i, step := range calls[0].Steps {
		made := marked["step "+step.Key]
		switch {
		case step.InDoubt && (step.Effect != awaken.Effectful || made > 1):
			bad("step %s is in doubt, %q, and was made %d times", step.Name, step.Effect, made)
		case !step.InDoubt && (made == 0 || made > 1 && step.Effect == awaken.Effectful || string(step.Result) != fmt.Sprint(i)):
			bad("step %s has result %s, is %q and was made %d times", step.Name, step.Result, step.Effect, made)
		}
		if step.InDoubt {
			doubts++
		}
	}
	if len(marked) > toolSteps {
		bad("the steps used %d keys", len(marked))
	}
	if _, err := replayed(ctx, s, j, steps); err != nil {
		bad("replay: %v", err)
	}
	return doubts, problems
}

// steps configures the agent of the story.
func steps(_ job, w world) engine.Config {
	return engine.Config{
		Agents:    []*awaken.AgentSpec{{ID: "default", ModelID: "m"}},
		Models:    []awaken.ModelSpec{{ID: "m", ProviderID: "p", UpstreamModel: "scripted"}},
		Providers: map[string]llm.Model{"p": llm.ModelFunc(stepModel)},
		Tools:     []awaken.Tool{stepTool(w)},
	}
}

// takeSteps runs the agent, or takes its run up, until it is done.
func takeSteps(j job, store awaken.Store) error {
	cfg := steps(j, j.world())
	cfg.Store = store
	rt, err := engine.New(cfg)
	if err != nil {
		return err
	}
	_, err = advance(context.Background(), j, rt, store)
	return err
}

// stepModel calls the tool once.
func stepModel(_ context.Context, req *llm.Request) iter.Seq2[llm.Delta, error] {
	deltas := []llm.Delta{{Kind: llm.ToolCallStart, ID: "call", Name: "work"}, {Kind: llm.ToolCallDelta, ID: "call", Text: "{}"}, {Kind: llm.FinishDelta, Finish: llm.ToolUse}}
	for _, m := range req.Messages.All() {
		if len(m.ToolCalls) > 0 {
			deltas = []llm.Delta{{Kind: llm.TextDelta, Text: "Done."}, {Kind: llm.FinishDelta, Finish: llm.EndTurn}}
		}
	}
	return func(yield func(llm.Delta, error) bool) {
		for _, d := range deltas {
			if !yield(d, nil) {
				return
			}
		}
	}
}

// stepTool leaves a mark in each of its steps. It continues after a step in doubt.
func stepTool(w world) awaken.Tool {
	return awaken.NewTool(awaken.ToolSpec{ID: "work", Effect: awaken.Idempotent}, func(ctx context.Context, call *awaken.ToolCall, _ struct{}) (string, error) {
		for i := range toolSteps {
			_, err := awaken.Step(ctx, call, fmt.Sprint("step-", i), stepEffects[i%len(stepEffects)], func(_ context.Context, key string) (int, error) {
				return i, w.mark("step", key)
			})
			if err != nil && !errors.Is(err, awaken.ErrInDoubt) {
				return "", err
			}
		}
		return "worked", nil
	})
}
