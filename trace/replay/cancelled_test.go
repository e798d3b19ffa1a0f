package replay_test

import (
	"context"
	"encoding/json"
	"strings"
	"sync/atomic"
	"testing"

	"github.com/awaken-go/awaken"
	"github.com/awaken-go/awaken/engine"
	"github.com/awaken-go/awaken/llm"
	"github.com/awaken-go/awaken/llm/llmtest"
	"github.com/awaken-go/awaken/store/memory"
	"github.com/awaken-go/awaken/trace/replay/replaytest"
)

// stopper is a plugin that cancels its run in a phase of a step, once.
type stopper struct {
	rt    *engine.Runtime
	phase awaken.Phase
	armed atomic.Bool
}

func (*stopper) Name() string { return "stopper" }

func (s *stopper) Register(r *awaken.Registrar) error {
	r.On(s.phase, func(ctx context.Context, h *awaken.HookCall) error {
		if h.Step == 1 && (h.Tool == nil || h.Tool.ID == "call_pay_2") && s.armed.CompareAndSwap(true, false) {
			return s.rt.Cancel(ctx, h.Run.RunID)
		}
		return nil
	})
	return nil
}

// idle is a plugin with a hook that does nothing. The state has another revision all the same, because the hook is shown the calls.
type idle struct{ phase awaken.Phase }

func (idle) Name() string { return "idle" }

func (i idle) Register(r *awaken.Registrar) error {
	r.On(i.phase, func(context.Context, *awaken.HookCall) error { return nil })
	return nil
}

// TestPlay_CancelledInAPhase replays runs that were cancelled in a phase of a call, with the hooks that they had: it is equal. With a hook more it is not, and
// the replay says so, although it makes the cancellation itself.
func TestPlay_CancelledInAPhase(t *testing.T) {
	t.Parallel()
	for phase, other := range map[awaken.Phase]awaken.Phase{awaken.PhaseBeforeToolExecute: awaken.PhaseAfterToolExecute,
		awaken.PhaseAfterToolExecute: awaken.PhaseBeforeToolExecute} {
		t.Run(phase.String(), func(t *testing.T) {
			t.Parallel()
			s := &stopper{phase: phase}
			s.armed.Store(true)
			sh := newShop(func(a *awaken.AgentSpec) { a.PluginIDs = []string{"stopper"} })
			pay := llmtest.Call{Name: "pay", Arguments: json.RawMessage(`{"usd":5}`)}
			sh.config.Providers["p"] = llmtest.NewScript(llmtest.Turn{ToolCalls: []llmtest.Call{pay}}, llmtest.Turn{ToolCalls: []llmtest.Call{pay, pay}}, llmtest.Say("Paid."))
			sh.config.Plugins = []awaken.Plugin{s, idle{other}}
			sh.config.Store = memory.New()
			var err error
			if s.rt, err = engine.New(sh.config); err != nil {
				t.Fatal(err)
			}
			res, err := s.rt.Run(t.Context(), awaken.RunRequest{AgentID: "default", ThreadID: "t", RunID: "r", Messages: []*llm.Message{llm.UserText("Buy it")}}, nil)
			if err != nil || res.Termination.Type != awaken.Cancelled || res.Steps != 2 {
				t.Fatalf("the run has %+v, %v; want a cancelled one in its second step", res, err)
			}
			from := sh.config.Store.(*memory.Store)
			if _, err := replaytest.Play(t.Context(), sh.config, from, "r"); err != nil {
				t.Errorf("with its own hooks: %v", err)
			}
			sh.config.Agents[0].PluginIDs = append(sh.config.Agents[0].PluginIDs, "idle")
			if _, err := replaytest.Play(t.Context(), sh.config, from, "r"); err == nil || !strings.Contains(err.Error(), `"revision":`) {
				t.Errorf("with a hook more, the difference is %v; want the revision", err)
			}
		})
	}
}
