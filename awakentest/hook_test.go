package awakentest_test

import (
	"context"
	"slices"
	"testing"

	"github.com/awaken-go/awaken"
	"github.com/awaken-go/awaken/awakentest"
	"github.com/awaken-go/awaken/engine"
	"github.com/awaken-go/awaken/state"
	"github.com/awaken-go/awaken/state/builtin"
)

var (
	seen  = state.NewKey("seen", func(n, more int) int { return n + more }, state.Options{Merge: state.Commutative})
	alarm = awaken.NewEffect[string]("alarm")
)

// remind excludes a tool and raises an alarm from the second time on.
func remind(_ context.Context, h *awaken.HookCall) error {
	seen.Update(h, 1)
	if seen.Get(h) > 0 {
		builtin.ExcludeTool.Schedule(h, "delete")
		alarm.Emit(h, "again")
	}
	return nil
}

type reminder struct{}

func (reminder) Name() string { return "reminder" }
func (reminder) Register(r *awaken.Registrar) error {
	r.Key(seen)
	r.On(awaken.PhaseBeforeInference, remind)
	return nil
}

func TestHookCall_ShowsWhatAHookRecords(t *testing.T) {
	h := awakentest.New(t, engine.Config{Plugins: []awaken.Plugin{reminder{}}, Agents: []*awaken.AgentSpec{{ID: "default", PluginIDs: []string{"reminder"}}}})
	first := h.HookCall("default", awaken.PhaseBeforeInference)
	if err := remind(t.Context(), first); err != nil {
		t.Fatal(err)
	}
	if got := awakentest.Scheduled(t, first, builtin.ExcludeTool); len(got) > 0 || seen.Get(h.Updated(first)) != 1 {
		t.Errorf("the first time: %v", got)
	}
	again := h.HookCall("default", awaken.PhaseBeforeInference, func(w state.Writer) { seen.Update(w, 1) })
	if err := remind(t.Context(), again); err != nil {
		t.Fatal(err)
	}
	if got := awakentest.Scheduled(t, again, builtin.ExcludeTool); !slices.Equal(got, []string{"delete"}) {
		t.Errorf("scheduled %q", got)
	}
	if got := awakentest.Emitted(again, alarm); !slices.Equal(got, []string{"again"}) {
		t.Errorf("emitted %q", got)
	}
	if n := seen.Get(h.Updated(again)); n != 2 {
		t.Errorf("seen %d times", n)
	}
}
