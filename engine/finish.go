package engine

import (
	"cmp"
	"context"
	"encoding/json"
	"errors"

	"github.com/awaken-go/awaken"
	"github.com/awaken-go/awaken/llm"
	"github.com/awaken-go/awaken/state/builtin"
)

// finish ends the run: the run_end phase, the last commit, run_finish. It reports true if a run at
// its natural end must continue because a message arrived. It consists of two steps that follow each
// other, to keep the stack small.
func (r *run) finish(e *end) (again bool) {
	quiet := len(r.agent.Hooks[awaken.PhaseRunEnd]) == 0 && len(r.phases.due(awaken.PhaseRunEnd)) == 0
	var before runStatus
	if again, over := r.windUp(e, &before, quiet); over {
		return again
	}
	return r.commitEnd(e, &before, quiet)
}

// windUp does everything before the last commit. It reports whether finish is over, and then whether
// the run continues. It sets before to the status of the run before its end.
func (r *run) windUp(e *end, before *runStatus, quiet bool) (again, over bool) {
	if quiet {
		r.journal.takeBack() // the last commit, which follows soon, takes it along
	}
	if err := r.journal.waitInFlight(); err != nil {
		if *e = *r.fail(err); e.lost {
			return false, true
		}
	}
	ctx, cancel := r.graceContext(r.ctx)
	defer cancel()
	r.wallet.settleRemaining(ctx)
	r.outcomes.closeAll(e)
	if err := r.compactor.detach(e.Type == awaken.Cancelled, builtin.AtEnd); err != nil {
		r.log().Error("cannot apply a summary", "error", err)
	}
	if e.Type == awaken.NaturalEnd && !quiet {
		// run_end hooks run only once, so make sure first that this is the end.
		if err := r.journal.commit(ctx, commitOptions{requireEmptyInbox: true}); errors.Is(err, awaken.ErrUnread) {
			return r.reopen(ctx, e), true
		} else if err != nil {
			if *e = *r.fail(err); e.lost {
				return false, true
			}
		}
	}
	*before = statusOf(r.rec)
	r.conclude(e)
	atRunEnd.Hit()
	err := r.phases.run(ctx, awaken.PhaseRunEnd, about{})
	if _, bad := r.st.Changes(); err == nil {
		err = bad
	}
	if err != nil {
		if e.Type == awaken.NaturalEnd {
			if *e = *r.fail(err); e.lost {
				return false, true
			}
			before.restore(r.rec)
			r.conclude(e)
		} else {
			r.log().Warn("the phase run_end failed", "error", err)
		}
	}
	if err := r.journal.flush(ctx, before); err != nil && r.fail(err).lost {
		*e = *r.fail(err)
		return false, true
	}
	return false, false
}

// commitEnd makes the last commit. It reports whether the run continues.
func (r *run) commitEnd(e *end, before *runStatus, quiet bool) (again bool) {
	m := r.out.mark()
	r.ledger.snapshot()
	r.out.deferEvent(r.finished(e.Termination))
	// The hooks may have used up the grace period, and a cancel is too late now.
	ctx, done := r.graceContext(r.ctx)
	defer done()
	if ctx == r.ctx {
		ctx = context.WithoutCancel(ctx)
	}
	atRunEnded.Hit()
	err := r.journal.commit(ctx, commitOptions{requireEmptyInbox: quiet && e.Type == awaken.NaturalEnd})
	atFinished.Hit()
	switch {
	case err == nil:
	case errors.Is(err, awaken.ErrUnread):
		r.out.undo(m)
		before.restore(r.rec)
		return r.reopen(ctx, e)
	case errors.Is(err, awaken.ErrFenced):
		*e = end{err: err, lost: true}
	default:
		r.endUnstored(ctx, e, err)
	}
	return false
}

// endUnstored ends a run whose end could not be stored. Another owner may resume it. Here it is over,
// and listeners must know.
func (r *run) endUnstored(ctx context.Context, e *end, err error) {
	f := r.fail(err)
	if !f.lost {
		f.err = cmp.Or(f.err, err) // the end is not stored, cancelled or not
		r.out.forget()
		r.out.emitUnlogged(ctx, r.finished(f.Termination))
	}
	*e = *f
}

// reopen applies what arrived just before the end, and commits it together with what was deferred
// for the end.
func (r *run) reopen(ctx context.Context, e *end) bool {
	n := r.inbox.received
	if err := r.inbox.takeUnread(ctx); err != nil {
		*e = *r.fail(err)
		return !e.lost && r.finish(e)
	}
	if r.inbox.received == n { // nothing the model needs to see
		return r.finish(e)
	}
	return true
}

// conclude writes the end into the record.
func (r *run) conclude(e *end) {
	now := r.rt.cfg.Now().UnixMilli()
	t := e.Termination
	r.rec.Status, r.rec.Waiting, r.rec.Termination = awaken.RunDone, nil, t
	r.rec.StatusReason = cmp.Or(r.rec.StatusReason, statusReason(t)) // a run that ended before it started has one
	r.rec.FinishedAt = cmp.Or(r.rec.FinishedAt, now)
	r.rec.FinalOutput = r.step.response
	if t.Type == awaken.NaturalEnd {
		r.rec.StructuredOutput = r.output.structured
	}
	if t.Type == awaken.Failed {
		r.rec.ErrorPayload = &awaken.Error{Message: t.Message, Code: string(llm.KindOf(e.err))}
		if le, ok := errors.AsType[*llm.Error](e.err); ok {
			r.rec.ErrorPayload.RetryAfterMS = le.RetryAfter.Milliseconds()
		}
		if _, ok := errors.AsType[*OutputError](e.err); ok {
			r.rec.ErrorPayload.Code = "invalid_output"
		}
	}
	r.ledger.stale = true
}

// statusReason formats a termination as a status reason.
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

// runStatus is the part of a record that changes when the run parks or ends.
type runStatus struct {
	status      awaken.RunStatus
	reason      string
	waiting     *awaken.Waiting
	termination awaken.Termination
	finishedAt  int64
	output      string
	structured  json.RawMessage
	err         *awaken.Error
}

// statusOf returns the status fields of a record.
func statusOf(r *awaken.Run) runStatus {
	return runStatus{r.Status, r.StatusReason, r.Waiting, r.Termination, r.FinishedAt, r.FinalOutput, r.StructuredOutput, r.ErrorPayload}
}

// restore sets the status fields of a record. Usage and cost counted since then stay.
func (s *runStatus) restore(r *awaken.Run) {
	r.Status, r.StatusReason, r.Waiting = s.status, s.reason, s.waiting
	r.Termination, r.FinishedAt, r.FinalOutput = s.termination, s.finishedAt, s.output
	r.StructuredOutput, r.ErrorPayload = s.structured, s.err
}
