package engine

import (
	"context"
	"errors"
	"fmt"

	"github.com/awaken-go/awaken"
	"github.com/awaken-go/awaken/registry"
)

// missingVersion says why the version that a run is pinned to is not available.
type missingVersion struct {
	err      error // the reason
	unserved error // err, if the request asked for more than to continue
	quiet    bool  // publish nothing
}

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
		if err != nil && op.endAtOnce == nil { // ending a run needs no registry
			op.missing = &missingVersion{err: err}
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

// prepareToWait prepares to park a run whose version is not available. Its calls and its inbox
// stay as they are, for an owner that has the version.
func (op *opening) prepareToWait(req *awaken.RunRequest) {
	before := op.rec.Waiting
	for _, s := range op.cp.Calls {
		if s.RunID == op.info.RunID {
			op.ledger.calls = append(op.ledger.calls, &call{state: s, shared: true})
		}
	}
	w := op.ledger.waiting()
	w.Reason, w.Message, w.Budget = awaken.WaitPin, op.unavailable(), nil
	op.rec.Status, op.rec.StatusReason, op.rec.Waiting = awaken.RunWaiting, string(awaken.WaitPin), w
	// A wake-up does not publish again that the run waits for its version.
	op.missing.quiet = req.Mode == "internal_wake" && before != nil && before.Reason == awaken.WaitPin && before.Message == w.Message
	if len(req.Messages)+len(req.Decisions)+len(req.Seed)+len(req.Context)+len(req.FrontendTools)+len(req.OutputSchema) > 0 ||
		req.Rewind != "" || req.Overrides != nil || req.Budget != nil {
		op.missing.unserved = op.missing.err
	}
}

// unavailable says why the run's version is not available. The text of store errors is for
// operators, and not shown to clients.
func (op *opening) unavailable() string {
	id, err := op.rec.ResolutionID, op.missing.err
	op.log().Warn("the version of a run is not available", "resolution_id", id, "error", err)
	bad, broken := errors.AsType[*awaken.ConfigError](err)
	switch {
	case broken:
		return fmt.Sprintf("version %q cannot be used here: %v", id, bad)
	case errors.Is(err, awaken.ErrNotFound):
		return fmt.Sprintf("version %q not found", id)
	}
	return fmt.Sprintf("version %q is not available now", id)
}

// awaitPin parks a run until its version is available. If the request asked for more than to
// continue, that is an error.
func (r *run) awaitPin() (*awaken.RunResult, error) {
	e := &end{Termination: awaken.Termination{Type: awaken.Suspended}}
	if !r.missing.quiet {
		r.out.deferEvent(&awaken.RunStart{ThreadID: r.info.ThreadID, RunID: r.info.RunID, ParentRunID: r.info.ParentRunID, Identity: r.info})
		r.ledger.stale = true
		r.ledger.snapshot()
		r.out.deferEvent(r.finished(e.Termination))
		if err := r.journal.commit(detached(r.ctx), commitOptions{}); err != nil {
			return nil, err
		}
		r.started = true
	}
	return r.result(e), r.missing.unserved
}
