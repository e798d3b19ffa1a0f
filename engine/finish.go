package engine

import (
	"cmp"
	"context"
	"errors"

	"github.com/awaken-go/awaken"
	"github.com/awaken-go/awaken/llm"
)

// finish ends the run for good: run_end, the last commit, run_finish. It reports
// true when a run that had come to its natural end has to go on after all, because
// somebody wrote to it.
func (r *run) finish(e *end) (again bool) {
	quiet := len(r.agent.Hooks[awaken.PhaseRunEnd]) == 0 && len(r.phases.due(awaken.PhaseRunEnd)) == 0
	if quiet {
		r.journal.takeBack() // for the last commit, which is near
	}
	if err := r.journal.waitInFlight(); err != nil {
		if *e = *r.fail(err); e.lost {
			return false
		}
	}
	ctx, cancel := r.graceContext(r.ctx)
	defer cancel()
	r.wallet.settleRemaining(ctx)
	r.outcomes.closeAll(e)
	if err := r.compactor.detach(e.Type == awaken.Cancelled); err != nil {
		r.rt.cfg.Logger.Error("summary could not be taken in", "run", r.info.RunID, "error", err)
	}
	if e.Type == awaken.NaturalEnd && !quiet {
		// The hooks of run_end may run only once, so make sure now that this is the end.
		if err := r.journal.commit(ctx, commitOptions{requireEmptyInbox: true}); errors.Is(err, awaken.ErrUnread) {
			return r.reopen(ctx, e)
		} else if err != nil {
			if *e = *r.fail(err); e.lost {
				return false
			}
		}
	}
	before := r.rec
	r.conclude(e)
	atRunEnd.Hit()
	err := r.phases.run(ctx, awaken.PhaseRunEnd, about{})
	if _, bad := r.st.Changes(); err == nil {
		err = bad
	}
	if err != nil {
		if e.Type == awaken.NaturalEnd {
			*e = *r.fail(err)
			restoreStatus(&r.rec, &before)
			r.conclude(e)
		} else {
			r.rt.cfg.Logger.Warn("run_end failed", "run", r.info.RunID, "error", err)
		}
	}
	if err := r.journal.flush(ctx, before); err != nil && r.fail(err).lost {
		*e = *r.fail(err)
		return false
	}
	m := r.out.mark()
	r.ledger.snapshot()
	r.out.deferEvent(r.finished(e.Termination))
	// The hooks may have used up their time, and a cancel that comes now is too late.
	ctx, done := r.graceContext(r.ctx)
	defer done()
	if ctx == r.ctx {
		ctx = context.WithoutCancel(ctx)
	}
	atRunEnded.Hit()
	err = r.journal.commit(ctx, commitOptions{requireEmptyInbox: quiet && e.Type == awaken.NaturalEnd})
	atFinished.Hit()
	switch {
	case err == nil:
	case errors.Is(err, awaken.ErrUnread):
		r.out.undo(m)
		restoreStatus(&r.rec, &before)
		return r.reopen(ctx, e)
	case errors.Is(err, awaken.ErrFenced):
		*e = end{err: err, lost: true}
	default:
		// The record could not be saved, so another owner may yet take the run up;
		// but here it is over, and whoever listens has to know.
		f := r.fail(err)
		f.err = cmp.Or(f.err, err) // cancelled or not, what was said is not stored
		r.out.forget()
		r.out.emitUnlogged(ctx, r.finished(f.Termination))
		*e = *f
	}
	return false
}

// reopen takes in what arrived just before the end, and commits it together with
// what was held for the end.
func (r *run) reopen(ctx context.Context, e *end) bool {
	n := r.inbox.received
	if err := r.inbox.takeUnread(ctx); err != nil {
		*e = *r.fail(err)
		return !e.lost && r.finish(e)
	}
	if r.inbox.received == n { // nothing that the model has to know
		return r.finish(e)
	}
	return true
}

// conclude writes the end into the record.
func (r *run) conclude(e *end) {
	now := r.rt.cfg.Now().Unix()
	t := e.Termination
	r.rec.Status, r.rec.StatusReason, r.rec.Waiting = awaken.RunDone, statusReason(t), nil
	r.rec.Termination, r.rec.FinishedAt = t, now
	r.rec.FinalOutput = r.step.response
	if t.Type == awaken.NaturalEnd {
		r.rec.StructuredOutput = r.output.structured
	}
	if t.Type == awaken.Failed {
		r.rec.ErrorPayload = &awaken.Error{Message: t.Message, Code: string(llm.KindOf(e.err))}
		if _, ok := errors.AsType[*OutputError](e.err); ok {
			r.rec.ErrorPayload.Code = "invalid_output"
		}
	}
	r.ledger.stale = true
}

// statusReason is the termination as a status reason.
func statusReason(t awaken.Termination) string {
	switch t.Type {
	case awaken.NaturalEnd:
		return "natural"
	case awaken.Stopped:
		return "stopped:" + t.Code
	case awaken.Blocked:
		return "blocked:" + t.Message
	}
	return string(t.Type)
}

// standAs gives the record the standing that o has. What was counted meanwhile stays.
func restoreStatus(r *awaken.Run, o *awaken.Run) {
	r.Status, r.StatusReason, r.Waiting = o.Status, o.StatusReason, o.Waiting
	r.Termination, r.FinishedAt, r.FinalOutput = o.Termination, o.FinishedAt, o.FinalOutput
	r.StructuredOutput, r.ErrorPayload = o.StructuredOutput, o.ErrorPayload
}
