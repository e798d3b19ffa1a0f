package engine

import (
	"context"
	"errors"
	"maps"

	"github.com/awaken-go/awaken/state"
	"github.com/awaken-go/awaken/state/builtin"
)

// renew takes in what has changed in the agent since the last step without a new version: the tools of
// servers. An agent that could not run with the change stays as it was.
func renew(r *run, _ context.Context) *end {
	defer noteLists(&r.activation)
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

// noteLists records the lists of tools of the next step, if they differ from the lists of the step before.
func noteLists(a *activation) {
	was, lists := builtin.ToolLists.Get(a.st), a.agent.Lists
	if (was == nil) == (lists == nil) && maps.Equal(was, lists) {
		return
	}
	var b state.Batch
	if lists == nil {
		builtin.ToolLists.Clear(&b)
	} else {
		builtin.ToolLists.Update(&b, lists)
	}
	a.set(&b) // every agent has the key
}
