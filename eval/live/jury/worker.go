package jury

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"log/slog"
	"sync"
	"time"

	"github.com/awaken-go/awaken"
	"github.com/awaken-go/awaken/eval"
	"github.com/awaken-go/awaken/eval/live"
	"github.com/awaken-go/awaken/internal/due"
	"github.com/awaken-go/awaken/registry"
	"github.com/awaken-go/awaken/state/profile"
	"github.com/awaken-go/awaken/trace"
)

// Runs reads the runs of a tenant.
type Runs interface {
	trace.Source
	Thread(ctx context.Context, id string) (*awaken.Thread, error)
}

// Worker judges runs. Every process may have one; they share the work.
type Worker struct {
	Store    live.Store
	Budgets  profile.Store // spending of all tenants
	Runs     func(tenant string) Runs
	Registry func() *registry.Registry // the live version, which has the policies
	// Ask asks a model about an answer. If it returns an error, the opinion has only the usage and cost.
	Ask func(ctx context.Context, q Question) (Opinion, error)
	// Ours, if set, reports whether a thread belongs to an experiment, whose runs are not judged.
	Ours func(t *awaken.Thread) bool
	// Judged, if set, is called once for each judgement with scores, after it is stored.
	Judged func(ctx context.Context, run *awaken.Run, j *live.Judgement)

	Lease  time.Duration // how long a process may judge a run; default 5 minutes
	Logger *slog.Logger  // nil discards
}

// Question is a question to the judge.
type Question struct {
	Model
	Registry *registry.Registry // has the model
	Said     []eval.Said        // before the answer, the oldest first, as far as it is not too long
	Answer   string
}

// Opinion is the judge's answer, with its usage and cost.
type Opinion struct {
	live.Verdict
	Tokens  int64
	CostUSD float64
}

const (
	atOnce   = 4                // runs that a process judges at a time
	attempts = 3                // of a judge that fails
	pause    = 3 * time.Second  // between looks for work
	again    = 30 * time.Second // after the first failure, twice as long after each
	grace    = 3 * time.Second  // that judging continues when the process stops
	trimmed  = 24 * time.Hour   // between removals of old judgements
)

// Keep is how long judgements are kept, counted from when their runs were created.
const Keep = 90 * 24 * time.Hour

// Offer stores a pending judgement of an ended run if the policy of its agent selects the run. Offering a run again has no effect.
func (w *Worker) Offer(ctx context.Context, tenant string, run *awaken.Run) error {
	agent := agentOf(run)
	policy, err := w.policy(agent)
	if err != nil && w.Logger != nil { // the run is counted anyway
		w.Logger.Warn("cannot read the policy of live evaluation", "agent", agent, "error", err)
	}
	if err != nil || policy == nil || run.ParentRunID != "" || run.Origin != "user" && run.Origin != "mcp" || run.Call != nil || !policy.selects(run) {
		return nil
	}
	if w.Ours != nil {
		t, err := w.Runs(tenant).Thread(ctx, run.ThreadID)
		if errors.Is(err, awaken.ErrNotFound) || err == nil && w.Ours(t) {
			return nil
		}
		if err != nil {
			return err
		}
	}
	if known, err := w.Store.Judgements(ctx, live.Query{Tenant: tenant, RunIDs: []string{run.RunID}}); err != nil || len(known) > 0 {
		return err
	}
	if over, err := w.over(ctx, agent, policy); err != nil || over != "" {
		if err == nil {
			_, err = w.spend(ctx, agent, nil, Spent{Skipped: 1})
		}
		return err
	}
	_, err = w.Store.SwapJudgement(ctx, &live.Judgement{Tenant: tenant, RunID: run.RunID, CreatedAt: run.CreatedAt, AgentID: agent, Version: run.ResolutionID, Status: live.Pending,
		State: live.State{ThreadID: run.ThreadID, Outcome: string(run.Termination.Type)}})
	return err
}

// agentOf returns the agent that a run was started with.
func agentOf(run *awaken.Run) string { return cmp.Or(run.FirstAgentID, run.AgentID) }

// policy returns the policy of an agent, or nil.
func (w *Worker) policy(agent string) (*Policy, error) { return Of(w.Registry().Agent(agent)) }

// Work judges runs until ctx is done, and then allows the judgements in progress a few more seconds.
func (w *Worker) Work(ctx context.Context) {
	var trim due.Chore
	due.NewLoop(pause).Work(ctx, func(ctx context.Context) (more bool) {
		n, err := w.Round(ctx)
		if ctx.Err() == nil && trim.Due(trimmed) {
			err = errors.Join(err, w.trim(ctx, time.Now()))
		}
		if err != nil && ctx.Err() == nil && w.Logger != nil {
			w.Logger.Warn("cannot judge runs", "error", err)
		}
		return n > 0 && err == nil
	})
}

func (w *Worker) trim(ctx context.Context, now time.Time) error {
	return errors.Join(w.Store.ForgetJudgements(ctx, now.Add(-Keep).UnixMilli()), w.forgetSpent(ctx, now.Add(-Keep)))
}

// Round works on some of the pending judgements and returns how many it found.
func (w *Worker) Round(ctx context.Context) (int, error) {
	rows, err := w.Store.Judgements(ctx, live.Query{Due: true, Limit: atOnce})
	if err != nil || len(rows) == 0 {
		return 0, err
	}
	inside, cancel := context.WithCancel(context.WithoutCancel(ctx))
	defer cancel()
	defer context.AfterFunc(ctx, func() {
		select {
		case <-time.After(grace):
			cancel()
		case <-inside.Done():
		}
	})()
	errs := make([]error, len(rows))
	var all sync.WaitGroup
	for i, j := range rows {
		all.Go(func() { errs[i] = w.take(inside, j) })
	}
	all.Wait()
	return len(rows), errors.Join(errs...)
}

// take judges a run, unless another process took the judgement first.
func (w *Worker) take(ctx context.Context, j *live.Judgement) error {
	if j.Status == live.Judging && j.Asked {
		return w.end(ctx, j, live.InDoubt, "the process that asked the judge was lost")
	}
	policy, err := w.policy(j.AgentID)
	if err != nil {
		return err
	}
	if policy == nil {
		return w.end(ctx, j, live.Skipped, "the agent has no policy any more")
	}
	lease := cmp.Or(max(w.Lease, 0), 5*time.Minute)
	j.Status, j.Wait, j.Asked, j.Reason = live.Judging, lease, policy.Judge != nil && j.Outcome != string(awaken.Failed), ""
	j.Attempts++
	if ok, err := w.Store.SwapJudgement(ctx, j); err != nil || !ok {
		return err
	}
	j.Revision++
	last := context.WithoutCancel(ctx)
	if j.Attempts == 1 { // a retry does not count again
		if over, err := w.spend(last, j.AgentID, policy, Spent{Judged: 1}); err != nil {
			return err // the lease ends, and nothing was asked
		} else if over != "" {
			return w.end(last, j, live.Skipped, over)
		}
	}
	ctx, cancel := context.WithTimeout(ctx, lease*9/10)
	defer cancel()
	before := j.CostUSD
	run, err := w.judge(ctx, j, policy)
	if cost := j.CostUSD - before; cost > 0 {
		if _, spendErr := w.spend(last, j.AgentID, nil, Spent{CostUSD: cost}); spendErr != nil && w.Logger != nil {
			w.Logger.Warn("cannot record the cost of a judgement", "run", j.RunID, "error", spendErr)
		}
	}
	switch {
	case errors.Is(err, awaken.ErrNotFound):
		return w.end(last, j, live.Skipped, "the run was deleted")
	case err != nil && ctx.Err() != nil && j.Asked:
		return w.end(last, j, live.InDoubt, "asking the judge was cut off: "+err.Error())
	case err != nil && j.Attempts >= attempts:
		return w.end(last, j, live.Failed, err.Error())
	case err != nil:
		j.Status, j.Wait, j.Asked, j.Reason = live.Pending, due.Backoff(again, trimmed, j.Attempts), false, err.Error()
		_, err = w.Store.SwapJudgement(last, j)
		return err
	}
	stored, err := w.store(last, j, live.Done, "")
	if stored && err == nil && w.Judged != nil {
		w.Judged(last, run, j)
	}
	return err
}

// end stores the final status of a judgement.
func (w *Worker) end(ctx context.Context, j *live.Judgement, status live.Status, reason string) error {
	_, err := w.store(ctx, j, status, reason)
	return err
}

// store is like end, and reports false if another process changed the judgement first.
func (w *Worker) store(ctx context.Context, j *live.Judgement, status live.Status, reason string) (stored bool, err error) {
	j.Status, j.Wait, j.Asked, j.Reason, j.JudgedAt = status, -1, false, reason, time.Now().UnixMilli()
	return w.Store.SwapJudgement(ctx, j)
}

// judge scores a run and returns the run.
func (w *Worker) judge(ctx context.Context, j *live.Judgement, p *Policy) (*awaken.Run, error) {
	rec, err := (&trace.Recorder{Source: w.Runs(j.Tenant), Alone: true}).Record(ctx, j.RunID)
	if err != nil {
		return nil, err
	}
	seen := observe(rec)
	f := &eval.Fixture{ID: j.RunID, Exchange: eval.Exchange{UserInput: rec.UserText()}}
	j.Scores, j.Judge = nil, nil
	if rec.Run.Termination.Type == awaken.Failed {
		j.Scores = append(j.Scores, live.Score{Scorer: "outcome", Reason: "the run failed: " + seen.ErrorType})
	}
	for i := range p.Scorers {
		j.Scores = append(j.Scores, live.Score(p.Scorers[i].Score(f, seen, nil)))
	}
	if j.Asked {
		reg := w.Registry()
		if !reg.HasModel(p.Judge.ModelID) {
			return nil, fmt.Errorf("judge.model_id is %q, which the live version does not have", p.Judge.ModelID)
		}
		said, err := conversation(ctx, w.Runs(j.Tenant), rec, seen.FinalText)
		if err != nil {
			return nil, err
		}
		o, err := w.Ask(ctx, Question{Model: *p.Judge, Registry: reg, Said: said, Answer: seen.FinalText})
		j.Tokens, j.CostUSD = j.Tokens+o.Tokens, j.CostUSD+o.CostUSD
		if err != nil {
			return nil, fmt.Errorf("judge: %w", err)
		}
		j.Judge = &o.Verdict
	}
	sum(j)
	return rec.Run, nil
}

// sum derives the score and the result from the scores.
func sum(j *live.Judgement) {
	lowest, passed := 1.0, true
	for _, s := range j.Scores {
		lowest, passed = min(lowest, s.Score), passed && s.Passed
	}
	if j.Judge != nil {
		lowest = min(lowest, j.Judge.Score)
		passed = passed && j.Judge.Score >= Low
	}
	j.Score, j.Passed = &lowest, &passed
}

// Low is the judge's score below which an answer does not pass.
const Low = 0.5

// Retry judges a run without a score again. The judge may be paid twice. It returns awaken.ErrNotFound if there is no judgement, and
// awaken.ErrConflict if it has a score or is in progress.
func (w *Worker) Retry(ctx context.Context, tenant, runID string) (*live.Judgement, error) {
	found, err := w.Store.Judgements(ctx, live.Query{Tenant: tenant, RunIDs: []string{runID}})
	if err != nil {
		return nil, err
	}
	if len(found) == 0 {
		return nil, fmt.Errorf("judgement of run %q: %w", runID, awaken.ErrNotFound)
	}
	j := found[0]
	if j.Status != live.InDoubt && j.Status != live.Failed && j.Status != live.Skipped {
		return nil, fmt.Errorf("judgement of run %q: %w: it is %s; want in_doubt, failed or skipped", runID, awaken.ErrConflict, j.Status)
	}
	j.Status, j.Wait, j.Reason, j.Attempts, j.JudgedAt = live.Pending, 0, "", 0, 0
	ok, err := w.Store.SwapJudgement(ctx, j)
	if err == nil && !ok {
		err = fmt.Errorf("judgement of run %q: %w: it was changed at the same time", runID, awaken.ErrConflict)
	}
	return j, err
}
