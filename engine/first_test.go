package engine_test

import (
	"context"
	"errors"
	"strings"
	"testing"

	"github.com/awaken-go/awaken"
	"github.com/awaken-go/awaken/engine"
	"github.com/awaken-go/awaken/llm/llmtest"
	"github.com/awaken-go/awaken/state"
)

func TestText_FailsUnlessTheRunEndsWithAnAnswer(t *testing.T) {
	t.Parallel()
	for want, turn := range map[string]llmtest.Turn{
		"":        llmtest.Say("fine"),
		"boom":    {Error: &llmtest.Failure{Message: "boom", Kind: "invalid_request"}},
		"waits":   llmtest.Use("asks", "{}"),
		"stopped": llmtest.Use("echo", "{}"),
	} {
		rt, err := engine.NewAgent(llmtest.NewScript(turn).Loop(), "m", awaken.AgentSpec{MaxRounds: new(2)}, echo("echo"),
			tool("asks", func(context.Context, *awaken.ToolCall, args) (*awaken.ToolResult, error) {
				return nil, awaken.Suspend(awaken.Ticket{})
			}))
		if err != nil {
			t.Fatal(err)
		}
		text, err := rt.Text(t.Context(), "hi")
		if want == "" && (text != "fine" || err != nil) || want != "" && (err == nil || text != "" || !strings.Contains(err.Error(), want)) {
			t.Errorf("%q: got %q, %v", want, text, err)
		}
	}
}

func TestThreadState_IsReadableOutsideARun(t *testing.T) {
	t.Parallel()
	visits := state.NewKey("visits", func(n, more int) int { return n + more }, state.Options{Scope: state.Thread, Merge: state.Commutative})
	g := newRig(t, []llmtest.Turn{llmtest.Say("done")}, withPlugins(plug{"counter", func(r *awaken.Registrar) {
		r.Key(visits)
		r.On(awaken.PhaseRunStart, func(_ context.Context, h *awaken.HookCall) error { visits.Update(h, 1); return nil })
	}}))
	if _, err := g.rt.ThreadState(t.Context(), "t"); !errors.Is(err, awaken.ErrNotFound) {
		t.Errorf("a missing thread: %v", err)
	}
	g.run(say("hi"))
	s, err := g.rt.ThreadState(t.Context(), "t")
	if err != nil || visits.Get(s) != 1 {
		t.Errorf("the thread was visited %d times, %v", visits.Get(s), err)
	}
}
