package engine

import (
	"context"
	"fmt"

	"github.com/awaken-go/awaken"
)

// DefaultAgentID is the agent of a request that names none on a thread that has
// not seen one.
const DefaultAgentID = "default"

// maxRecent bounds the responses that loop detection remembers.
const maxRecent = 64

// PhaseLoopError reports scheduled actions that never came to rest.
type PhaseLoopError struct {
	Phase  awaken.Phase
	Rounds int
	Action string // one of those still scheduled
}

func (e *PhaseLoopError) Error() string {
	return fmt.Sprintf("phase %s: actions did not come to rest in %d rounds, %q is still scheduled", e.Phase, e.Rounds, e.Action)
}

// reason is the termination as a status reason.
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

// stand gives the record the standing that o has. What was counted meanwhile stays.
func standAs(r *awaken.Run, o *awaken.Run) {
	r.Status, r.StatusReason, r.Waiting = o.Status, o.StatusReason, o.Waiting
	r.Termination, r.FinishedAt, r.FinalOutput = o.Termination, o.FinishedAt, o.FinalOutput
	r.StructuredOutput, r.ErrorPayload = o.StructuredOutput, o.ErrorPayload
}

// Discard is a Sink that ignores everything.
var discard awaken.Sink = awaken.SinkFunc(func(context.Context, awaken.Entry) error { return nil })
