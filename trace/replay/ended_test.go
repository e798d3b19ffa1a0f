package replay_test

import (
	"context"
	"testing"

	"github.com/awaken-go/awaken"
	"github.com/awaken-go/awaken/engine"
	"github.com/awaken-go/awaken/llm"
	"github.com/awaken-go/awaken/store/memory"
	"github.com/awaken-go/awaken/trace/replay/replaytest"
)

// accepted is a store with a run that ended before it started.
type accepted struct {
	*memory.Store
	run *awaken.Run
}

func (a accepted) LoadRun(ctx context.Context, id string) (*awaken.Run, error) {
	if run, err := a.Store.LoadRun(ctx, id); err == nil || id != a.run.RunID {
		return run, err
	}
	return a.run, nil
}

func TestPlay_RunsThatNeverBegan(t *testing.T) {
	t.Parallel()
	for _, c := range []struct {
		reason string
		end    awaken.Termination
	}{
		{"superseded", awaken.Termination{Type: awaken.Cancelled}},
		{"cancelled", awaken.Termination{Type: awaken.Cancelled}},
		{"error", awaken.Termination{Type: awaken.Failed, Message: "given up after 3 attempts"}},
	} {
		t.Run(c.reason, func(t *testing.T) {
			t.Parallel()
			store := accepted{memory.New(), &awaken.Run{RunID: "r", ThreadID: "t", AgentID: "default", Status: awaken.RunDone, StatusReason: c.reason, Termination: c.end,
				CreatedAt: 5, FinishedAt: 7}}
			cfg := newShop(nil).config
			cfg.Store = store
			rt, err := engine.New(cfg)
			if err != nil {
				t.Fatal(err)
			}
			if _, err := rt.Run(t.Context(), awaken.RunRequest{ThreadID: "t", RunID: "r", Messages: []*llm.Message{llm.UserText("Buy it")}, End: &c.end}, nil); err != nil && c.end.Type != awaken.Failed {
				t.Fatal(err)
			}
			run, err := store.LoadRun(t.Context(), "r")
			if err != nil || run.StatusReason != c.reason || run.StartedAt == 0 {
				t.Fatalf("the run is %+v: %v", run, err)
			}
			res, err := replaytest.Play(t.Context(), cfg, store, "r")
			if err != nil {
				t.Fatal(err)
			}
			if res.Events == 0 {
				t.Error("no event was compared")
			}
		})
	}
}
