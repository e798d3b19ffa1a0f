// Package job executes evaluation runs that outlive requests and processes. A run is stored before its first cell begins, and if its
// process dies, another one continues it.
package job

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
	"github.com/awaken-go/awaken/internal/due"
	"github.com/awaken-go/awaken/state/profile"
	"github.com/awaken-go/awaken/trace"
)

const (
	// activeNamespace is the namespace, in the profile of the tenant "", that lists the active eval runs of all tenants.
	activeNamespace = "eval_active"
	lease           = 30 * time.Second // default of Config.Lease
	tick            = time.Second      // how often a process looks at its runs, at least
	sweepEvery      = 5 * time.Second  // how often it looks for runs without a process, at least
	maxDoubts       = 100              // cells in doubt that are listed
)

var (
	ErrCancelled = errors.New("a client has cancelled the evaluation")
	errEnded     = errors.New("the evaluation has ended")
)

// NotDoneError reports that an eval run has not ended.
type NotDoneError struct {
	ID     string
	Status archive.Status
}

func (e *NotDoneError) Error() string {
	return fmt.Sprintf("eval run %q is %s; want a completed run", e.ID, e.Status)
}

// NoDoubtError reports that an eval run has no cell in doubt.
type NoDoubtError struct{ ID string }

func (e *NoDoubtError) Error() string { return fmt.Sprintf("eval run %q has no cell in doubt", e.ID) }

// Policies for cells in doubt, in the request of a run.
const (
	ReportInDoubt = "report"
	RetryInDoubt  = "retry"
)

// options are the execution options in a run's request.
type options struct {
	InDoubt string `json:"in_doubt"`
	Traces  *bool  `json:"traces"`
}

// Config configures Jobs.
type Config struct {
	NewID  func() string
	Runner *runner.Runner
	// Plan plans a run that another process began.
	Plan   func(ctx context.Context, h *archive.Header, cases []eval.Fixture) (*runner.Plan, error)
	Values func(tenant string) profile.Store // where a tenant's runs are stored
	Purse  func(tenant string) *Purse        // that pays for a tenant's runs
	Logger *slog.Logger
	Lease  time.Duration // of a process on a run; default 30 seconds
}

// Jobs manages the eval runs of this process. A run belongs to the process that holds its lease. The process stores the start of a cell
// before the cell costs anything, and the report of the cell when it ends. So if the process dies, another one runs only the cells that had
// not begun. Cells that had begun but have no report are in doubt.
type Jobs struct {
	Config

	ctx  context.Context // until stop
	stop context.CancelFunc
	all  sync.WaitGroup

	mu      sync.Mutex
	running map[string]*Job // by id of the run
}

// New returns Jobs without runs. Its runs stop when serving is done.
func New(serving context.Context, c Config) *Jobs {
	if c.Lease <= 0 {
		c.Lease = lease
	}
	s := &Jobs{Config: c, running: map[string]*Job{}}
	s.ctx, s.stop = context.WithCancel(serving)
	return s
}

// Stop stops the runs of this process and waits for them. Another process continues them.
func (s *Jobs) Stop() {
	s.stop()
	s.all.Wait()
}

// Stopped reports whether Stop was called or serving is done.
func (s *Jobs) Stopped() bool { return s.ctx.Err() != nil }

// Job is an eval run of this process.
type Job struct {
	archive *archive.Archive
	// header is the header with which this process took the run. Every taking has a new owner, so that an earlier holder, also in this
	// process, can no longer write.
	header *archive.Header
	cancel context.CancelCauseFunc // while the job is in Jobs.running
}

// Header returns the run as this process took it.
func (j *Job) Header() *archive.Header { return j.header }

// mine returns archive.ErrLost if the run was taken again.
func (j *Job) mine(h *archive.Header) error {
	if h.Owner != j.header.Owner || h.Status != archive.Running {
		return archive.ErrLost
	}
	return nil
}

type activeEval struct {
	Tenant string `json:"tenant"`
	ID     string `json:"id"`
}

// Begin stores a new run that this process holds.
func (s *Jobs) Begin(ctx context.Context, a *archive.Archive, tenant string, h *archive.Header, cases []eval.Fixture) (*Job, error) {
	now := time.Now()
	h.Status, h.StartedAtSecs, h.Owner, h.Until, h.Tenant = archive.Running, now.Unix(), s.NewID(), now.Add(s.Lease).UnixMilli(), tenant
	if err := a.Begin(ctx, h, cases); err != nil {
		return nil, err
	}
	mark, err := json.Marshal(activeEval{tenant, h.ID})
	if err != nil {
		return nil, err
	}
	return &Job{archive: a, header: h}, s.Values("").Set(ctx, activeNamespace, h.ID, mark)
}

// Spawn runs a job in the background.
func (s *Jobs) Spawn(j *Job, plan *runner.Plan) {
	s.all.Go(func() {
		if err := s.Run(s.ctx, j, plan); err != nil && s.ctx.Err() == nil && !errors.Is(err, ErrCancelled) {
			s.Logger.Warn("cannot end an evaluation", "run", j.header.ID, "error", err)
		}
	})
}

// Run executes the remaining cells of a job and returns nil when the run has ended. If ctx is done because the server stops, another
// process may continue the run; if the client disconnected, the run is cancelled.
func (s *Jobs) Run(ctx context.Context, j *Job, plan *runner.Plan) error {
	ctx, cancel := context.WithCancelCause(ctx)
	defer cancel(nil)
	defer context.AfterFunc(s.ctx, func() { cancel(context.Cause(s.ctx)) })()
	id := j.header.ID
	s.mu.Lock()
	j.cancel = cancel
	s.running[id] = j
	s.mu.Unlock()
	defer func() {
		s.mu.Lock()
		defer s.mu.Unlock()
		if s.running[id] == j {
			delete(s.running, id)
		}
	}()
	p, err := s.progressOf(ctx, j, plan)
	if err != nil {
		return err
	}
	var renewing sync.WaitGroup
	renewing.Go(func() { s.renew(ctx, cancel, j, &p.count) })
	last := context.WithoutCancel(ctx)
	plan.Spend = s.Purse(j.header.Tenant).Spend(last)
	err = s.Runner.Run(ctx, plan, func(n int, it eval.Item) error {
		if err := j.archive.Add(last, id, n, &it); err != nil {
			return err
		}
		p.ended[n] = true
		p.count.add(&it)
		return nil
	})
	cause := context.Cause(ctx)
	cancel(nil)
	renewing.Wait()
	return s.end(last, j, p, err, cause)
}

// tracedCells is the greatest number of cells of a run whose traces are kept by default.
const tracedCells = 100

// record keeps the trace of a cell.
func (j *Job) record(ctx context.Context, runID string, lines []trace.Event) error {
	t := &archive.Trace{EvalRunID: j.header.ID}
	for i := range lines {
		line, err := json.Marshal(lines[i])
		if err != nil {
			return err
		}
		t.Lines = append(t.Lines, line)
	}
	return j.archive.AddTrace(ctx, runID, t)
}

// progress is the progress of a run.
type progress struct {
	plan  *runner.Plan
	ended []bool // by cell
	count count
	starts
}

// progressOf reads the progress of a run and restricts its plan to the remaining cells.
func (s *Jobs) progressOf(ctx context.Context, j *Job, plan *runner.Plan) (*progress, error) {
	p := &progress{plan: plan, ended: make([]bool, plan.Len())}
	err := j.archive.Each(ctx, j.header.ID, plan.Len(), func(n int, it *eval.Item) error {
		if n < len(p.ended) {
			p.ended[n] = true
		}
		p.count.add(it)
		if l := &plan.Limits; l.Tokens > 0 {
			l.Tokens = max(1, l.Tokens-int64(it.Report.TotalTokens))
		}
		if l := &plan.Limits; l.USD > 0 && it.Report.CostUSD != nil {
			l.USD = max(1e-9, l.USD-*it.Report.CostUSD)
		}
		return nil
	})
	if err != nil {
		return nil, err
	}
	var body options
	if err := json.Unmarshal(j.header.Request, &body); err != nil {
		return nil, err
	}
	if keep := body.Traces; keep != nil && *keep || keep == nil && plan.Len() <= tracedCells {
		plan.Record = j.record
	}
	again, begun := body.InDoubt == RetryInDoubt || j.header.Retry, j.header.Started
	if j.header.Retry { // once: if this process dies, they are in doubt again
		if _, err := j.archive.Update(ctx, j.header.ID, func(h *archive.Header) error { h.Retry = false; return j.mine(h) }); err != nil {
			return nil, err
		}
	}
	p.stored = begun
	p.write = func(ctx context.Context, upTo int) error {
		_, err := j.archive.Update(ctx, j.header.ID, func(h *archive.Header) error { h.Started = max(h.Started, upTo); return j.mine(h) })
		return err
	}
	plan.Start = p.start
	plan.Done = func(n int) bool { return p.ended[n] || n < begun && !again }
	return p, nil
}

// starts stores the start of cells before they begin. Cells that begin concurrently share a write.
type starts struct {
	write func(ctx context.Context, upTo int) error // stores that the cells below upTo may have begun

	mu      sync.Mutex
	stored  int           // cells below have begun
	wanted  int           // cells below want to begin
	writing chan struct{} // closed when the write that is under way has ended; nil if none is
}

// start returns nil once the start of a cell is stored.
func (s *starts) start(ctx context.Context, n int) error {
	s.mu.Lock()
	defer s.mu.Unlock()
	for s.stored <= n {
		s.wanted = max(s.wanted, n+1)
		if busy := s.writing; busy != nil {
			s.mu.Unlock()
			<-busy
			s.mu.Lock()
			continue
		}
		ended, upTo := make(chan struct{}), s.wanted
		s.writing = ended
		s.mu.Unlock()
		err := s.write(context.WithoutCancel(ctx), upTo)
		s.mu.Lock()
		s.writing = nil
		close(ended)
		if err != nil {
			return err
		}
		s.stored = max(s.stored, upTo)
	}
	return nil
}

// inDoubt returns the cells that have begun but have no report.
func (p *progress) inDoubt(ctx context.Context, a *archive.Archive, id string) (out []archive.Doubt, err error) {
	if len(p.plan.Variants) > 0 && p.plan.Variants[0].Scripted {
		return nil, nil // its cells cost nothing, and are run again
	}
	for n := range p.ended[:min(p.stored, len(p.ended))] {
		if p.ended[n] {
			continue
		}
		it, err := a.Item(ctx, id, n) // a process that lost the run may have been late
		if err != nil {
			return nil, err
		}
		if it != nil {
			p.count.add(it)
			continue
		}
		cell := p.plan.Item(n)
		out = append(out, archive.Doubt{FixtureID: cell.FixtureID, Cell: cell.Cell, SampleIndex: cell.SampleIndex})
	}
	return out, nil
}

// end stores how a run has ended, or that this process has released it.
func (s *Jobs) end(ctx context.Context, j *Job, p *progress, err, cause error) error {
	if errors.Is(cause, archive.ErrLost) {
		return cause
	}
	doubts, doubtErr := p.inDoubt(ctx, j.archive, j.header.ID)
	if doubtErr != nil {
		return doubtErr
	}
	stopping := s.ctx.Err() != nil
	h, updateErr := j.archive.Update(ctx, j.header.ID, func(h *archive.Header) error {
		if err := j.mine(h); err != nil {
			return err
		}
		h.Passed, h.Failed = p.count.get()
		h.Owner, h.Until = "", 0
		switch {
		case err == nil:
			h.Status, h.EndedAtSecs = archive.Done, time.Now().Unix()
		case h.Cancel || !stopping && cause != nil: // by a client, or because it is gone
			h.Status, h.EndedAtSecs = archive.Cancelled, time.Now().Unix()
		}
		if h.Status != archive.Running {
			h.InDoubtCount, h.InDoubt = len(doubts), doubts[:min(len(doubts), maxDoubts)]
		}
		return nil
	})
	if updateErr != nil {
		return updateErr
	}
	if h.Status != archive.Running { // otherwise a sweep continues it
		if forgetErr := s.Values("").Delete(ctx, activeNamespace, j.header.ID); err == nil {
			err = forgetErr
		}
	}
	return err
}

// count counts the items of a run.
type count struct {
	mu             sync.Mutex
	passed, failed int
}

func (c *count) add(it *eval.Item) {
	c.mu.Lock()
	defer c.mu.Unlock()
	if it.Report.Passed {
		c.passed++
	} else {
		c.failed++
	}
}

func (c *count) get() (passed, failed int) {
	c.mu.Lock()
	defer c.mu.Unlock()
	return c.passed, c.failed
}

// renew renews the lease of a run, stores its progress, and ends the run on a client's request, until ctx is done.
func (s *Jobs) renew(ctx context.Context, cancel context.CancelCauseFunc, j *Job, count *count) {
	tick := time.NewTicker(min(tick, s.Lease/10))
	defer tick.Stop()
	for {
		select {
		case <-ctx.Done():
			return
		case <-tick.C:
		}
		h, err := j.archive.Update(ctx, j.header.ID, func(h *archive.Header) error {
			if err := j.mine(h); err != nil {
				return err
			}
			h.Passed, h.Failed = count.get()
			if now := time.Now(); h.Until < now.Add(s.Lease*2/3).UnixMilli() {
				h.Until = now.Add(s.Lease).UnixMilli()
			}
			return nil
		})
		switch {
		case errors.Is(err, archive.ErrLost):
			cancel(archive.ErrLost)
		case err != nil && ctx.Err() == nil:
			s.Logger.Warn("cannot renew the lease of an evaluation", "run", j.header.ID, "error", err)
		case err == nil && h.Cancel:
			cancel(ErrCancelled)
		}
	}
}

// Cancel cancels a run: immediately if this process holds it, otherwise when its holder next renews the lease.
func (s *Jobs) Cancel(ctx context.Context, a *archive.Archive, id string) error {
	h, err := a.Update(ctx, id, func(h *archive.Header) error {
		if h.Status != archive.Running {
			return errEnded
		}
		h.Cancel = true
		if h.Owner == "" || h.Until < time.Now().UnixMilli() {
			h.Status, h.EndedAtSecs, h.Owner = archive.Cancelled, time.Now().Unix(), ""
		}
		return nil
	})
	switch {
	case errors.Is(err, errEnded):
		return nil
	case err != nil:
		return err
	case h.Status == archive.Cancelled:
		return s.Values("").Delete(ctx, activeNamespace, id)
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	if j := s.running[id]; j != nil {
		j.cancel(ErrCancelled)
	}
	return nil
}

// Retry runs the cells in doubt again.
func (s *Jobs) Retry(ctx context.Context, a *archive.Archive, tenant, id string) error {
	h, err := a.Update(ctx, id, func(h *archive.Header) error {
		switch {
		case h.Status != archive.Done:
			return &NotDoneError{id, h.Status}
		case h.InDoubtCount == 0:
			return &NoDoubtError{id}
		}
		h.Status, h.EndedAtSecs, h.Retry, h.InDoubt, h.InDoubtCount = archive.Running, 0, true, nil, 0
		h.Owner, h.Until = s.NewID(), time.Now().Add(s.Lease).UnixMilli()
		return nil
	})
	if err != nil {
		return err
	}
	mark, err := json.Marshal(activeEval{tenant, id})
	if err == nil {
		err = s.Values("").Set(ctx, activeNamespace, id, mark)
	}
	if err != nil {
		return err
	}
	return s.continued(ctx, a, h)
}

// Work continues runs that no process holds, until ctx is done. It then stops the runs of this process; another process continues them.
func (s *Jobs) Work(ctx context.Context) {
	due.NewLoop(min(sweepEvery, s.Lease/4)).Work(ctx, func(ctx context.Context) bool {
		s.Sweep(ctx)
		return false
	})
	s.stop()
	s.all.Wait()
}

// Sweep takes over the runs that no process holds.
func (s *Jobs) Sweep(ctx context.Context) {
	index := s.Values("")
	if index == nil {
		return
	}
	entries, err := index.List(ctx, activeNamespace)
	if err != nil {
		s.Logger.Warn("cannot list unfinished evaluations", "error", err)
	}
	for _, e := range entries {
		var at activeEval
		err := json.Unmarshal(e.Value, &at)
		if err == nil {
			err = s.resume(ctx, at)
		}
		switch {
		case err == nil, errors.Is(err, archive.ErrLost):
		case errors.Is(err, errEnded):
			err = index.Delete(ctx, activeNamespace, e.Key)
			fallthrough
		default:
			if err != nil && ctx.Err() == nil {
				s.Logger.Warn("cannot continue an evaluation", "run", e.Key, "error", err)
			}
		}
	}
}

// resume continues a run if no process holds it.
func (s *Jobs) resume(ctx context.Context, at activeEval) error {
	values := s.Values(at.Tenant)
	if values == nil {
		return errEnded
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
			return errEnded
		case h.Owner != "" && h.Until >= now.UnixMilli():
			return archive.ErrLost
		case h.Cancel: // its process died before it saw the cancellation
			h.Status, h.EndedAtSecs, h.Owner = archive.Cancelled, now.Unix(), ""
			return nil
		}
		h.Owner, h.Until = s.NewID(), now.Add(s.Lease).UnixMilli()
		return nil
	})
	if err == nil && h.Status != archive.Running || errors.Is(err, awaken.ErrNotFound) {
		err = errEnded
	}
	if err != nil {
		return err
	}
	return s.continued(ctx, a, h)
}

// continued executes the remaining cells of a run that this process holds, in the background.
func (s *Jobs) continued(ctx context.Context, a *archive.Archive, h *archive.Header) error {
	j := &Job{archive: a, header: h}
	cases, err := a.Cases(ctx, h.ID)
	var plan *runner.Plan
	if err == nil {
		plan, err = s.Plan(ctx, h, cases)
	}
	if err != nil { // so that it can be cancelled at once
		_, releaseErr := a.Update(ctx, h.ID, func(h *archive.Header) error {
			err := j.mine(h)
			h.Owner, h.Until = "", 0
			return err
		})
		return fmt.Errorf("prepare: %w", errors.Join(err, releaseErr))
	}
	s.Spawn(j, plan)
	return nil
}
