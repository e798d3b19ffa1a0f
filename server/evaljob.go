package server

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"log/slog"
	"sync"
	"time"

	"github.com/awaken-go/awaken"
	"github.com/awaken-go/awaken/eval"
	"github.com/awaken-go/awaken/eval/archive"
	"github.com/awaken-go/awaken/eval/runner"
	"github.com/awaken-go/awaken/profile"
)

const (
	// activeNamespace is the namespace, in the profile of the tenant without a name, with the eval runs of all tenants that have not ended.
	activeNamespace = "eval_active"
	evalLease       = 30 * time.Second // how long a run stays with a process that is silent
	evalTick        = time.Second      // how often a process looks at its runs
	evalSweep       = 5 * time.Second  // how often it looks for runs that no process has
)

var (
	errEvalCancelled = errors.New("a client has cancelled the evaluation")
	errEvalEnded     = errors.New("the evaluation has ended")
)

// evalJobs are the eval runs of this process. A run belongs to the process that holds its lease. What a cell did is stored when the cell ends;
// so if a process dies, another one runs only the cells that had not ended.
type evalJobs struct {
	owner  string
	runner *runner.Runner
	plan   func(ctx context.Context, h *archive.Header, cases []eval.Fixture) (*runner.Plan, error)
	values func(tenant string) profile.Store
	logger *slog.Logger

	ctx  context.Context // until stop
	stop context.CancelFunc
	all  sync.WaitGroup

	mu      sync.Mutex
	running map[string]context.CancelCauseFunc // by id
}

// evalJob is an eval run of this process.
type evalJob struct {
	archive *archive.Archive
	header  *archive.Header
}

type activeEval struct {
	Tenant string `json:"tenant"`
	ID     string `json:"id"`
}

// begin stores a new run, which belongs to this process.
func (s *evalJobs) begin(ctx context.Context, a *archive.Archive, tenant string, h *archive.Header, cases []eval.Fixture) (*evalJob, error) {
	now := time.Now()
	h.Status, h.StartedAtSecs, h.Owner, h.Until = archive.Running, now.Unix(), s.owner, now.Add(evalLease).UnixMilli()
	if err := a.Begin(ctx, h, cases); err != nil {
		return nil, err
	}
	mark, err := json.Marshal(activeEval{tenant, h.ID})
	if err != nil {
		return nil, err
	}
	return &evalJob{a, h}, s.values("").Set(ctx, activeNamespace, h.ID, mark)
}

// spawn runs a job in the background.
func (s *evalJobs) spawn(j *evalJob, plan *runner.Plan) {
	s.all.Go(func() {
		if err := s.run(s.ctx, j, plan); err != nil && s.ctx.Err() == nil && !errors.Is(err, errEvalCancelled) {
			s.logger.Warn("an evaluation was not ended", "run", j.header.ID, "error", err)
		}
	})
}

// run runs the cells of a job that have not ended. It returns nil once the run has ended. If ctx is done because the server stops, another
// process may continue the run; if the client is gone, it is cancelled.
func (s *evalJobs) run(ctx context.Context, j *evalJob, plan *runner.Plan) error {
	ctx, cancel := context.WithCancelCause(ctx)
	defer cancel(nil)
	defer context.AfterFunc(s.ctx, func() { cancel(context.Cause(s.ctx)) })()
	id := j.header.ID
	s.mu.Lock()
	s.running[id] = cancel
	s.mu.Unlock()
	defer func() {
		s.mu.Lock()
		defer s.mu.Unlock()
		delete(s.running, id)
	}()
	items, done, err := j.archive.Items(ctx, id)
	if err != nil {
		return err
	}
	count := &evalCount{}
	for i := range items {
		count.add(&items[i])
		if l := &plan.Limits; l.Tokens > 0 {
			l.Tokens = max(1, l.Tokens-int64(items[i].Report.TotalTokens))
		}
		if l := &plan.Limits; l.USD > 0 && items[i].Report.CostUSD != nil {
			l.USD = max(1e-9, l.USD-*items[i].Report.CostUSD)
		}
	}
	plan.Done = func(n int) bool { return done[n] }
	var renewing sync.WaitGroup
	renewing.Go(func() { s.renew(ctx, cancel, j, count) })
	last := context.WithoutCancel(ctx)
	err = s.runner.Run(ctx, plan, func(n int, it eval.Item) error {
		if err := j.archive.Add(last, id, n, &it); err != nil {
			return err
		}
		count.add(&it)
		return nil
	})
	cause := context.Cause(ctx)
	cancel(nil)
	renewing.Wait()
	return s.end(last, j, count, err, cause)
}

// end stores how a run has ended, or that this process does not have it any more.
func (s *evalJobs) end(ctx context.Context, j *evalJob, count *evalCount, err, cause error) error {
	if errors.Is(cause, archive.ErrLost) {
		return cause
	}
	stopping := s.ctx.Err() != nil
	h, updateErr := j.archive.Update(ctx, j.header.ID, func(h *archive.Header) error {
		if h.Owner != s.owner || h.Status != archive.Running {
			return archive.ErrLost
		}
		h.Passed, h.Failed = count.get()
		h.Owner, h.Until = "", 0
		switch {
		case err == nil:
			h.Status, h.EndedAtSecs = archive.Done, time.Now().Unix()
		case h.Cancel || !stopping && cause != nil: // by a client, or because it is gone
			h.Status, h.EndedAtSecs = archive.Cancelled, time.Now().Unix()
		}
		return nil
	})
	if updateErr != nil {
		return updateErr
	}
	if h.Status != archive.Running { // otherwise a sweep continues it
		if forgetErr := s.values("").Delete(ctx, activeNamespace, j.header.ID); err == nil {
			err = forgetErr
		}
	}
	return err
}

// evalCount counts the items of a run.
type evalCount struct {
	mu             sync.Mutex
	passed, failed int
}

func (c *evalCount) add(it *eval.Item) {
	c.mu.Lock()
	defer c.mu.Unlock()
	if it.Report.Passed {
		c.passed++
	} else {
		c.failed++
	}
}

func (c *evalCount) get() (passed, failed int) {
	c.mu.Lock()
	defer c.mu.Unlock()
	return c.passed, c.failed
}

// renew keeps the lease of a run, stores how far it is, and ends it if a client wants that, until ctx is done.
func (s *evalJobs) renew(ctx context.Context, cancel context.CancelCauseFunc, j *evalJob, count *evalCount) {
	tick := time.NewTicker(evalTick)
	defer tick.Stop()
	for {
		select {
		case <-ctx.Done():
			return
		case <-tick.C:
		}
		h, err := j.archive.Update(ctx, j.header.ID, func(h *archive.Header) error {
			if h.Owner != s.owner || h.Status != archive.Running {
				return archive.ErrLost
			}
			h.Passed, h.Failed = count.get()
			if now := time.Now(); h.Until < now.Add(evalLease*2/3).UnixMilli() {
				h.Until = now.Add(evalLease).UnixMilli()
			}
			return nil
		})
		switch {
		case errors.Is(err, archive.ErrLost):
			cancel(archive.ErrLost)
		case err != nil && ctx.Err() == nil:
			s.logger.Warn("cannot renew the lease of an evaluation", "run", j.header.ID, "error", err)
		case err == nil && h.Cancel:
			cancel(errEvalCancelled)
		}
	}
}

// cancel ends a run: at once if this process has it, soon if another one has.
func (s *evalJobs) cancel(ctx context.Context, a *archive.Archive, id string) error {
	h, err := a.Update(ctx, id, func(h *archive.Header) error {
		if h.Status != archive.Running {
			return errEvalEnded
		}
		h.Cancel = true
		if h.Owner == "" || h.Until < time.Now().UnixMilli() {
			h.Status, h.EndedAtSecs, h.Owner = archive.Cancelled, time.Now().Unix(), ""
		}
		return nil
	})
	switch {
	case errors.Is(err, errEvalEnded):
		return nil
	case err != nil:
		return err
	case h.Status == archive.Cancelled:
		return s.values("").Delete(ctx, activeNamespace, id)
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	if end := s.running[id]; end != nil {
		end(errEvalCancelled)
	}
	return nil
}

// work continues runs that no process has, until ctx is done. It then stops those of this process, which others may continue.
func (s *evalJobs) work(ctx context.Context) {
	tick := time.NewTicker(evalSweep)
	defer tick.Stop()
	for {
		s.sweep(ctx)
		select {
		case <-ctx.Done():
			s.stop()
			s.all.Wait()
			return
		case <-tick.C:
		}
	}
}

// sweep takes over the runs that no process has.
func (s *evalJobs) sweep(ctx context.Context) {
	index := s.values("")
	if index == nil {
		return
	}
	entries, err := index.List(ctx, activeNamespace)
	if err != nil {
		s.logger.Warn("cannot list the evaluations that have not ended", "error", err)
	}
	for _, e := range entries {
		var at activeEval
		err := json.Unmarshal(e.Value, &at)
		if err == nil {
			err = s.resume(ctx, at)
		}
		switch {
		case err == nil, errors.Is(err, archive.ErrLost):
		case errors.Is(err, errEvalEnded):
			err = index.Delete(ctx, activeNamespace, e.Key)
			fallthrough
		default:
			if err != nil && ctx.Err() == nil {
				s.logger.Warn("cannot continue an evaluation", "run", e.Key, "error", err)
			}
		}
	}
}

// resume continues a run if no process has it.
func (s *evalJobs) resume(ctx context.Context, at activeEval) error {
	values := s.values(at.Tenant)
	if values == nil {
		return errEvalEnded
	}
	s.mu.Lock()
	_, mine := s.running[at.ID]
	s.mu.Unlock()
	if mine {
		return archive.ErrLost
	}
	a := archive.New(values)
	h, err := a.Update(ctx, at.ID, func(h *archive.Header) error {
		now := time.Now()
		switch {
		case h.Status != archive.Running:
			return errEvalEnded
		case h.Owner != "" && h.Until >= now.UnixMilli():
			return archive.ErrLost
		case h.Cancel: // its process was gone before it saw that
			h.Status, h.EndedAtSecs, h.Owner = archive.Cancelled, now.Unix(), ""
			return nil
		}
		h.Owner, h.Until = s.owner, now.Add(evalLease).UnixMilli()
		return nil
	})
	if err == nil && h.Status != archive.Running || errors.Is(err, awaken.ErrNotFound) {
		err = errEvalEnded
	}
	if err != nil {
		return err
	}
	cases, err := a.Cases(ctx, at.ID)
	var plan *runner.Plan
	if err == nil {
		plan, err = s.plan(ctx, h, cases)
	}
	if err != nil { // so that it can be cancelled at once
		_, releaseErr := a.Update(ctx, at.ID, func(h *archive.Header) error { h.Owner, h.Until = "", 0; return nil })
		return fmt.Errorf("prepare: %w", errors.Join(err, releaseErr))
	}
	s.spawn(&evalJob{a, h}, plan)
	return nil
}
