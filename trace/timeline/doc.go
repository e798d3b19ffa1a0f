// Package timeline reports the history of a run: its owners, commits, steps, calls and waits, and the work that a new owner discarded.
//
// A run writes only by commits ([github.com/awaken-go/awaken.Committer]), and each commit is made by one owner of the thread. So the
// commits of a run are the outline of its history; the event log has the details between them, and the ledger the outcome of each call.
// [Log] is the port by which stores list commits. A timeline costs a run nothing, because it is read from data that the store keeps anyway.
package timeline
