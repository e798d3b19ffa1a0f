package builtin

import "github.com/awaken-go/awaken"

// ChildDone is scheduled when a background task ends: a child that was started with the run
// mode "scheduled". The plugin that starts such children handles it. The runtime also sends
// the model a message, unless a call waits for the child.
var ChildDone = awaken.NewAction[awaken.ChildReport]("runtime.child_done", awaken.PhaseStepStart)
