package engine

import (
	"context"
	"errors"
	"fmt"

	"github.com/awaken-go/awaken"
	"github.com/awaken-go/awaken/registry"
)

// pinnedRegistry returns the registry a run is pinned to. Without Versions there is only one.
func (rt *Runtime) pinnedRegistry(ctx context.Context, resolutionID string) (*registry.Registry, error) {
	s := rt.cfg.Versions
	if s == nil {
		return rt.registry.Load(), nil
	}
	reg, err := s.Pinned(ctx, resolutionID)
	if err != nil {
		return nil, fmt.Errorf("version %q: %w: %w", resolutionID, awaken.ErrPinUnavailable, err)
	}
	return reg, nil
}

// requestedRegistry returns the registry that a request for a new run names.
func (rt *Runtime) requestedRegistry(ctx context.Context, resolutionID string) (*registry.Registry, error) {
	if rt.cfg.Versions == nil {
		if reg := rt.registry.Load(); reg.ID() == resolutionID {
			return reg, nil
		}
		return nil, fmt.Errorf("resolution_id %q: %w: this runtime has no versions", resolutionID, awaken.ErrNotFound)
	}
	return rt.pinnedRegistry(ctx, resolutionID)
}

// HasAgent reports whether the request's agent is known where its run would take place: in the
// live registry, in the version that the request names or the thread is pinned to, or as the agent
// of the thread's open run. A request without an agent always has one.
func (rt *Runtime) HasAgent(ctx context.Context, req *awaken.RunRequest) (bool, error) {
	id := req.AgentID
	switch {
	case id == "":
		return true, nil
	case req.ResolutionID != "":
		reg, err := rt.requestedRegistry(ctx, req.ResolutionID)
		return err == nil && reg.Agent(id) != nil, err
	case rt.Registry().Agent(id) != nil:
		return true, nil
	case rt.cfg.Versions == nil || req.ThreadID == "":
		return false, nil
	}
	thread, err := rt.cfg.Store.Thread(ctx, req.ThreadID)
	if errors.Is(err, awaken.ErrNotFound) {
		thread, err = &awaken.Thread{ID: req.ThreadID}, nil
	}
	if err != nil {
		return false, err
	}
	if thread.OpenRunID != "" {
		run, err := rt.cfg.Store.LoadRun(ctx, thread.OpenRunID)
		if err != nil && !errors.Is(err, awaken.ErrNotFound) {
			return false, err
		}
		if err == nil && (run.AgentID == id || awaken.IsVariant(run.AgentID, id)) {
			return true, nil
		}
	}
	return rt.cfg.Versions.Choose(thread).Agent(id) != nil, nil
}

// pin chooses the run's registry: the one it started on or, for a new run, the one chosen for the
// thread.
func (op *opening) pin(ctx context.Context, req *awaken.RunRequest) (err error) {
	snapshots := op.rt.cfg.Versions
	switch {
	case snapshots != nil && op.resumed && op.rec.ResolutionID != "":
		op.reg, err = op.rt.pinnedRegistry(ctx, op.rec.ResolutionID)
		if err == nil && op.endAtOnce == nil {
			if _, err = op.reg.Runnable(op.rec.AgentID); err != nil { // this process lacks something it needs
				err = fmt.Errorf("version %q: %w: %w", op.rec.ResolutionID, awaken.ErrPinUnavailable, err)
			}
		}
		if err != nil {
			op.reg = registry.Empty(op.rec.ResolutionID)
		}
		if err != nil && op.endAtOnce == nil && op.hold == nil { // ending a run needs no registry
			op.hold = &hold{reason: awaken.WaitPin, err: err}
		}
		return nil
	case !op.resumed && req.ResolutionID != "":
		if op.reg, err = op.rt.requestedRegistry(ctx, req.ResolutionID); err != nil && op.endAtOnce != nil {
			op.reg, err = registry.Empty(req.ResolutionID), nil
		}
		return err
	case snapshots != nil:
		op.reg = snapshots.Choose(&op.cp.Thread)
	default:
		op.reg = op.rt.registry.Load()
	}
	return nil
}

// given returns what [awaken.RunStart] tells of a request, or nil.
func given(req *awaken.RunRequest) *awaken.RunRequest {
	if len(req.Seed) == 0 && len(req.Context) == 0 {
		return nil
	}
	return &awaken.RunRequest{Seed: req.Seed, Context: req.Context}
}

// unavailable says why the run's version is not available. The text of store errors is for
// operators, and not shown to clients.
func (op *opening) unavailable(w *awaken.Waiting, err error) {
	id := op.rec.ResolutionID
	op.log().Warn("the version of a run is not available", "resolution_id", id, "error", err)
	bad, broken := errors.AsType[*awaken.ConfigError](err)
	switch {
	case broken:
		w.Message, w.Problems = fmt.Sprintf("version %q cannot be used here: %v", id, bad), bad.Problems
	case errors.Is(err, awaken.ErrNotFound):
		w.Message, w.Missing = fmt.Sprintf("version %q not found", id), true
	default:
		w.Message = fmt.Sprintf("version %q is not available now", id)
	}
}
