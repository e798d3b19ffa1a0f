package engine

import (
	"context"
	"errors"
)

// renew takes in what has changed in the agent since the last step without a new version: the tools of
// servers. An agent that could not run with the change stays as it was.
func renew(r *run, _ context.Context) *end {
	reg := r.reg.Latest()
	next, err := reg.Runnable(r.info.AgentID)
	if err != nil || next == r.agent {
		return nil
	}
	if err := r.st.Extend(next.Schema); err != nil {
		return r.fail(err)
	}
	r.reg, r.agent = reg, next
	return r.fail(errors.Join(r.tools.offer(), r.tools.planOutput()))
}
