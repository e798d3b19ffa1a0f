package awaken

import (
	"context"
	"errors"
	"fmt"
)

// Snapshots keeps the registries that were published and chooses those of runs. A run
// starts on one, which its record names by resolution_id, and keeps it for life, whichever
// process goes on with it. Implementations are safe for concurrent use.
type Snapshots interface {
	// Registry returns what is live: the registry of new runs on most threads.
	Registry() *Registry
	// Choose returns the registry of a new run on the thread, which is as it was before
	// the run. A thread that has no LatestRunID is new.
	Choose(thread *Thread) *Registry
	// Pinned returns the registry of that id. One that does not exist is ErrNotFound. A
	// run whose registry cannot be had waits; see [WaitPin].
	Pinned(ctx context.Context, resolutionID string) (*Registry, error)
}

// pinned returns the registry of a run that is pinned to it. Without Snapshots there is
// only one.
func (rt *Runtime) pinned(ctx context.Context, resolutionID string) (*Registry, error) {
	s := rt.cfg.Snapshots
	if s == nil {
		return rt.registry.Load(), nil
	}
	reg, err := s.Pinned(ctx, resolutionID)
	if err != nil {
		return nil, fmt.Errorf("version %q: %w: %w", resolutionID, ErrPinUnavailable, err)
	}
	return reg, nil
}

// named returns the registry of a new run whose request names it.
func (rt *Runtime) named(ctx context.Context, resolutionID string) (*Registry, error) {
	if rt.cfg.Snapshots == nil {
		if reg := rt.registry.Load(); reg.ID() == resolutionID {
			return reg, nil
		}
		return nil, fmt.Errorf("resolution_id is %q: %w: there are no published versions", resolutionID, ErrNotFound)
	}
	return rt.pinned(ctx, resolutionID)
}

// HasAgent reports whether the request's agent is known where its run would go on: in what
// is live, in the version that the request names or the thread gets, or as the agent of the
// thread's open run. A request that names no agent has one.
func (rt *Runtime) HasAgent(ctx context.Context, req *RunRequest) (bool, error) {
	id := req.AgentID
	switch {
	case id == "":
		return true, nil
	case req.ResolutionID != "":
		reg, err := rt.named(ctx, req.ResolutionID)
		return err == nil && reg.Agent(id) != nil, err
	case rt.Registry().Agent(id) != nil:
		return true, nil
	case rt.cfg.Snapshots == nil || req.ThreadID == "":
		return false, nil
	}
	thread, err := rt.cfg.Store.Thread(ctx, req.ThreadID)
	if errors.Is(err, ErrNotFound) {
		thread, err = &Thread{ID: req.ThreadID}, nil
	}
	if err != nil {
		return false, err
	}
	if thread.OpenRunID != "" {
		run, err := rt.cfg.Store.LoadRun(ctx, thread.OpenRunID)
		if err != nil && !errors.Is(err, ErrNotFound) {
			return false, err
		}
		if err == nil && (run.AgentID == id || IsVariant(run.AgentID, id)) {
			return true, nil
		}
	}
	return rt.cfg.Snapshots.Choose(thread).Agent(id) != nil, nil
}

// pin gives the run its registry: the one that it started on, or for a new one that which
// is chosen for it.
func (r *run) pin(ctx context.Context, req *RunRequest, cp *Checkpoint) error {
	err := r.chooseRegistry(ctx, req, cp)
	r.host = toolHost{r.rt, r.reg}
	return err
}

func (r *run) chooseRegistry(ctx context.Context, req *RunRequest, cp *Checkpoint) (err error) {
	snapshots := r.rt.cfg.Snapshots
	switch {
	case snapshots != nil && r.resumed && r.rec.ResolutionID != "":
		r.reg, err = r.rt.pinned(ctx, r.rec.ResolutionID)
		if err == nil && r.endAtOnce == nil {
			if _, err = r.reg.agent(r.rec.AgentID); err != nil { // it lacks something in this process
				err = fmt.Errorf("version %q: %w: %w", r.rec.ResolutionID, ErrPinUnavailable, err)
			}
		}
		if err != nil {
			r.reg = EmptyRegistry(r.rec.ResolutionID)
		}
		if err != nil && r.endAtOnce == nil { // to end it, no more is needed
			r.unpinned = err
		}
		return nil
	case !r.resumed && req.ResolutionID != "":
		r.reg, err = r.rt.named(ctx, req.ResolutionID)
		return err
	case snapshots != nil:
		r.reg = snapshots.Choose(&cp.Thread)
	default:
		r.reg = r.rt.registry.Load()
	}
	return nil
}

// leaveAsIs gets ready to leave a run whose version cannot be had. Its calls stay what they
// are and its inbox is not read, for whoever has the version.
func (r *run) leaveAsIs(req *RunRequest, cp *Checkpoint) {
	before := r.rec.Waiting
	for _, s := range cp.Calls {
		if s.RunID == r.info.RunID {
			r.calls = append(r.calls, &call{state: s, shared: true})
		}
	}
	w := r.waiting()
	w.Reason, w.Message, w.Budget = WaitPin, r.unavailable(), nil
	r.rec.Status, r.rec.StatusReason, r.rec.Waiting = RunWaiting, string(WaitPin), w
	// A run that waits for its version already is not told about again if nobody asked.
	r.quiet = req.Mode == "internal_wake" && before != nil && before.Reason == WaitPin && before.Message == w.Message
	if len(req.Messages)+len(req.Decisions)+len(req.Seed)+len(req.Context)+len(req.FrontendTools)+len(req.OutputSchema) > 0 ||
		req.Rewind != "" || req.Overrides != nil || req.Budget != nil {
		r.undone = r.unpinned
	}
}

// unavailable says why the run's version cannot be had. The text of errors of a store is
// for whoever runs the process, and not for whoever reads the run.
func (r *run) unavailable() string {
	r.rt.cfg.Logger.Warn("the version of a run is not available", "run", r.info.RunID, "resolution_id", r.rec.ResolutionID, "error", r.unpinned)
	bad, broken := errors.AsType[*ConfigError](r.unpinned)
	switch {
	case broken:
		return fmt.Sprintf("version %q does not work here: %v", r.rec.ResolutionID, bad)
	case errors.Is(r.unpinned, ErrNotFound):
		return fmt.Sprintf("version %q is not there", r.rec.ResolutionID)
	}
	return fmt.Sprintf("version %q cannot be had now", r.rec.ResolutionID)
}

// awaitPin commits a run as waiting for its version. What the request asked for is not
// done, and then that is an error.
func (r *run) awaitPin() (*RunResult, error) {
	e := &end{Termination: Termination{Type: Suspended}}
	if !r.quiet {
		r.out.hold(&RunStart{ThreadID: r.info.ThreadID, RunID: r.info.RunID, ParentRunID: r.info.ParentRunID, Identity: r.info})
		r.stale = true
		r.snapshot()
		r.out.hold(r.finished(e.Termination))
		if err := r.commit(detached(r.ctx), commitOptions{}); err != nil {
			return nil, err
		}
		r.started = true
	}
	return r.result(e), r.undone
}
