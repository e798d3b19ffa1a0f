// Package replaytest replays runs that a test has left in a store.
package replaytest

import (
	"context"
	"errors"

	"github.com/awaken-go/awaken/engine"
	"github.com/awaken-go/awaken/registry"
	"github.com/awaken-go/awaken/store/memory"
	"github.com/awaken-go/awaken/trace"
	"github.com/awaken-go/awaken/trace/replay"
)

// Open makes the runtime of a replay.
func Open(s replay.Setup) (replay.Runtime, error) {
	limits := engine.Limits{BudgetWait: 1} // a run that found no money finds none again
	return engine.New(engine.Config{Limits: limits, Versions: s.Versions, Store: s.Store, Profile: s.Profile, Executor: s.Executor, Detached: s.Detached, Budgets: s.Budgets, Now: s.Now, NewID: s.NewID, Tap: s.Tap})
}

// Play replays a run that a runtime with the configuration made, with the runs that it started. An error is also what parts the replay from the record.
func Play(ctx context.Context, cfg engine.Config, from trace.Source, runID string) (*replay.Result, error) {
	rec, err := (&trace.Recorder{Source: from, Before: true}).Record(ctx, runID)
	if err != nil {
		return nil, err
	}
	reg, err := registry.New(cfg.Registry())
	if err != nil {
		return nil, err
	}
	res, err := (&replay.Player{Registry: reg, Store: memory.New(), Profile: memory.NewProfile(), Open: Open}).Play(ctx, rec)
	if err == nil && res.Difference != nil {
		err = errors.New(res.Difference.String())
	}
	return res, err
}
