// Package mailbox is the durable queue of runs.
//
// A [Dispatch] is a thread's turn to run: it starts a run, or wakes one that waits or
// was cut off. A thread's dispatches are worked on one at a time, in order of priority
// and age. Whoever submits gets an answer once the dispatch, the run's record and its
// input are stored in one transaction; from then on the run will end or wait,
// whatever happens to the process.
//
//	box, err := mailbox.New(mailbox.Config{Queue: db}, rt.With)
//	…
//	go box.Work(ctx)              // claims and runs, until ctx is done and it has drained
//	receipt, err := box.Tenant("").Submit(ctx, mailbox.Submission{Request: req})
//
// A worker holds what it runs by a lease that it renews. The lease only decides who may
// try: the thread's fence, in the same store, decides who can write. A worker that
// cannot renew its lease stops at once and writes nothing more; one that was paused
// finds its fence raised. Waiting runs hold no lease: their dispatch is over, and
// whatever they wait for submits the next one.
//
// The rules (what supersedes what, when a message wakes a run, how often and how late a
// dispatch is tried again) are in this package, in [Thread] and [Config]. Stores only
// keep rows, and mailboxtest checks that they do.
package mailbox
