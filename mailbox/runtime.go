package mailbox

import (
	"context"

	"github.com/awaken-go/awaken"
)

// Runtime runs the agents of one tenant. [New] is given what makes one: the method With of
// the library's own runtime, in most programs.
type Runtime interface {
	// Run runs an agent until it ends or waits, as [awaken.Runner] says. A run that may not
	// begin or go on because another owner has its thread is awaken.ErrFenced, one that let
	// go of it after [Runtime.Yield] awaken.ErrYielded.
	awaken.Runner
	// Report tells the parent of a run how the run is: that it waits or is done. A run
	// without a parent has nobody to tell. Saying the same again does nothing.
	Report(ctx context.Context, run *awaken.Run) error
	// CheckDecisions returns the run, and what is to be posted to its thread to deliver the
	// decisions: nothing for those that were taken before.
	CheckDecisions(ctx context.Context, runID string, decisions ...awaken.Decision) (*awaken.Run, []awaken.InboxItem, error)
	// Notify tells the thread's run, if it is active in this process, that its inbox has
	// something.
	Notify(threadID string)
	// Yield makes the thread's run, if it is active in this process, let go of its thread
	// after the step.
	Yield(threadID string)
	// HasAgent reports whether the request's agent is known where its run would go on. A
	// client is told before its input is stored.
	HasAgent(ctx context.Context, req *awaken.RunRequest) (bool, error)
}
