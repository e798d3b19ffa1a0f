//go:build unix

package killtest

import (
	"context"
	"testing"

	"github.com/awaken-go/awaken"
	"github.com/awaken-go/awaken/internal/rigtest"
	"github.com/awaken-go/awaken/trace"
	"github.com/awaken-go/awaken/trace/replay/replaytest"
)

// replayAll replays every run that a server has left, and that has started. Messages, calls and results are the same, no tool is called, and
// all events of a run that no process lost are the same.
func replayAll(ctx context.Context, t *testing.T, j job) {
	t.Helper()
	store := j.Store.Use(t).Handle("")
	replayed, followed := 0, 0
	effects := rigtest.NewLedger(t)
	for run, err := range awaken.Pages(ctx, 100, func(ctx context.Context, offset, limit int) ([]*awaken.Run, error) {
		return store.ListRuns(ctx, awaken.RunQuery{Offset: offset, Limit: limit})
	}) {
		if err != nil {
			t.Fatal(err)
		}
		if run.StartedAt == 0 {
			continue // it ended before it started, and has no events
		}
		res, err := replaytest.Play(ctx, agents(effects), store.(trace.Source), run.RunID)
		if err != nil {
			t.Errorf("replay of run %s on thread %s, %s: %v", run.RunID, run.ThreadID, run.Termination, err)
			continue
		}
		replayed++
		if res.Events > 0 {
			followed++
		}
	}
	if made := effects.Effects(t); len(made) > 0 {
		t.Errorf("replays made the effects %v", made)
	}
	t.Logf("%d runs replay equal, %d of them event by event", replayed, followed)
	if !t.Failed() && replayed == 0 {
		t.Error("no run was replayed")
	}
}
