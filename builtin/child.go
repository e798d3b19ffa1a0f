package builtin

import "github.com/awaken-go/awaken"

// ChildDone is scheduled when a task is done: a child that was started with the run mode
// "scheduled". A plugin that starts such children handles it. The model is told by a message,
// unless a call waits for the child.
var ChildDone = awaken.NewAction[awaken.ChildReport]("runtime.child_done", awaken.PhaseStepStart)
