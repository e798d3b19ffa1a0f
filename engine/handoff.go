package engine

import (
	"cmp"
	"context"
	"errors"
	"fmt"

	"github.com/awaken-go/awaken"
	"github.com/awaken-go/awaken/state"
	"github.com/awaken-go/awaken/state/builtin"
)

// handoff switches the agent between two steps, if the thread was handed to another.
func (r *run) handoff(ctx context.Context) *end {
	to := builtin.ActiveAgent.Get(r.st)
	if to == "" || to == r.info.AgentID {
		return nil
	}
	f := r.followed()
	ctx = f.beginPart(ctx, "handoff", to)
	e := handTo(ctx, r, to)
	f.endWith(ctx, e)
	return e
}

// handTo switches a run to another agent.
func handTo(ctx context.Context, r *run, to string) *end {
	next, err := r.reg.Runnable(to)
	if err != nil {
		r.forgetHandoff() // a later run on the thread would fail the same way
		return &end{Termination: awaken.Termination{Type: awaken.Blocked, Message: fmt.Sprintf("handoff to %q: %v", to, err)}}
	}
	if err := r.compactor.detach(false, builtin.AtHandoff); err != nil {
		return r.fail(err)
	}
	if err := r.phases.deactivate(ctx); err != nil {
		return r.fail(err)
	}
	if err := r.st.Extend(next.Schema); err != nil {
		return r.fail(err)
	}
	r.agent = next
	info := *r.info
	info.AgentID, r.rec.AgentID = to, to
	r.rec.FirstAgentID = cmp.Or(r.rec.FirstAgentID, r.info.AgentID)
	r.info, r.ledger.stale = &info, true
	r.conv.openWindow()
	if err := errors.Join(r.tools.offer(), r.tools.planOutput()); err != nil {
		return r.fail(err)
	}
	budgeted := r.rec.Budgeted
	if err := r.wallet.limit(ctx); err != nil {
		return r.fail(err)
	}
	if r.rec.Budgeted != budgeted { // the next owner must know
		if err := r.journal.commit(ctx, commitOptions{}); err != nil {
			return r.fail(err)
		}
	}
	return r.fail(r.phases.activate(ctx))
}

// forgetHandoff makes the thread belong to the agent that runs on it.
func (a *activation) forgetHandoff() {
	var b state.Batch
	builtin.ActiveAgent.Clear(&b)
	a.set(&b)
}
