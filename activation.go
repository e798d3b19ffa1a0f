package awaken

import (
	"context"

	"github.com/awaken-go/awaken/state"
)

// activation is what every part of a run knows: which run it is, whose, on what it works,
// and where it stands. The parts of the run embed it.
type activation struct {
	rt     *Runtime
	reg    *Registry
	agent  *resolved
	active activeRun
	ctx    context.Context // cancelled with the run

	thread            string // its id
	fence, generation uint64
	info              *RunInfo // immutable; replaced when it changes
	rec               Run
	st                *state.Store
	step              stepState
	ending            *Termination // asked for by a plugin, a tool or a person

	resumed   bool
	attended  bool         // its parent looks after it
	started   bool         // run_start has been committed
	endAtOnce *Termination // the run was continued only to be ended
}

// stepState is the step that is under way, or the last one.
type stepState struct {
	index     int    // 0-based
	messageID string // of its assistant message
	closed    bool   // step_end has been told
	response  string // the latest text of the model
	over      end    // a natural end, which most runs have
}
