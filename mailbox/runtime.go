package mailbox

import (
	"context"

	"github.com/awaken-go/awaken"
)

// Runtime runs the agents of one tenant. In most programs it is an engine.Runtime, and [New]
// gets its method With.
type Runtime interface {
	// Run runs an agent until the run ends or waits; see [awaken.Runner]. The error is
	// awaken.ErrFenced if another owner has acquired the thread, and awaken.ErrYielded if the
	// run gave up the thread because of Yield.
	awaken.Runner
	// Report reports to the parent of a run that the run waits or is done. It does nothing for
	// a run without a parent, or if the same was reported before.
	Report(ctx context.Context, run *awaken.Run) error
	// CheckDecisions validates decisions for a run. It returns the run, and the inbox items
	// that deliver the decisions; decisions that were delivered before have none.
	CheckDecisions(ctx context.Context, runID string, decisions ...awaken.Decision) (*awaken.Run, []awaken.InboxItem, error)
	// Notify tells the thread's run that its inbox has new items, if the run is in flight in
	// this process.
	Notify(threadID string)
	// Yield makes the thread's run give up the thread at the end of its step, if the run is in
	// flight in this process.
	Yield(threadID string)
	// HasAgent reports whether the agent of a request exists in the version that would run it,
	// so that a client learns of a mistake before its input is stored.
	HasAgent(ctx context.Context, req *awaken.RunRequest) (bool, error)
}
