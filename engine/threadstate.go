package engine

import (
	"context"
	"errors"
	"fmt"

	"github.com/awaken-go/awaken"
	"github.com/awaken-go/awaken/registry"
	"github.com/awaken-go/awaken/state"
	"github.com/awaken-go/awaken/state/builtin"
)

// ThreadState returns the saved state of a thread, which keys of the scope [state.Thread] can be read
// from. It knows the keys of the agent that ran last on the thread, or of the default agent. What an
// active run has not committed yet is not in it. The error is ErrNotFound if the thread does not exist.
//
//	s, err := rt.ThreadState(ctx, "t1")
//	trips := tripsKey.Get(s)
func (rt *Runtime) ThreadState(ctx context.Context, threadID string) (state.Snapshot, error) {
	saved, err := rt.cfg.Store.ThreadState(ctx, threadID)
	if err != nil {
		return state.Snapshot{}, fmt.Errorf("state of thread %s: %w", threadID, err)
	}
	thread, err := rt.cfg.Store.Thread(ctx, threadID)
	if err != nil {
		return state.Snapshot{}, fmt.Errorf("state of thread %s: %w", threadID, err)
	}
	id := DefaultAgentID
	if thread.LatestRunID != "" {
		run, err := rt.cfg.Store.LoadRun(ctx, thread.LatestRunID)
		if err != nil && !errors.Is(err, awaken.ErrNotFound) {
			return state.Snapshot{}, fmt.Errorf("state of thread %s: %w", threadID, err)
		}
		if err == nil {
			id = run.AgentID
		}
	}
	agent, err := rt.Registry().Runnable(id)
	if err != nil { // it is gone; what every agent has can still be read
		agent = registry.Bare(id, builtin.For)
	}
	st := state.NewStore(agent.Schema)
	if err := st.Restore(saved, state.Skip); err != nil {
		return state.Snapshot{}, fmt.Errorf("state of thread %s: %w", threadID, err)
	}
	return st.Snapshot(), nil
}
