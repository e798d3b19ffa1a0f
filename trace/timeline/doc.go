// Package timeline reports what happened to a run, and when: who owned it, what it committed, its steps
// and calls, whom it waited for, and what a new owner took back.
//
// A run writes only by commits ([github.com/awaken-go/awaken.Committer]), and each is made by one owner of its thread. So the
// commits of a run are the outline of its story; the event log has what happened between them, and the
// ledger what became of each call. [Log] is the port by which stores list commits. It costs a run
// nothing: a store keeps what it has to write anyway.
package timeline
