// Package mailbox is a durable queue of runs.
//
// A [Dispatch] is a thread's turn to run: it starts a run, or wakes one that is waiting or
// was cut off. Workers process the dispatches of a thread one at a time, by priority and
// age. [Tenant.Submit] stores the dispatch, the run's record and its input in one
// transaction before it returns. From then on the run will end or wait, whatever happens
// to the process.
//
//	box, err := mailbox.New(mailbox.Config{Queue: db}, rt.With)
//	…
//	go box.Work(ctx)              // claims and runs; returns once ctx is done and the runs are drained
//	receipt, err := box.Tenant("").Submit(ctx, mailbox.Submission{Request: req})
//
// A worker claims a dispatch for the length of a lease and renews the lease while the run is
// in flight. The lease decides only who may try; the thread's fence, in the same store,
// decides who can write. A worker that cannot renew its lease abandons the run and writes
// nothing more. A worker that was paused finds the fence raised, and its commits fail. A
// waiting run holds no lease: its dispatch is acknowledged, and a decision, a message or an
// expiry submits the next one.
//
// This package holds the rules of the queue: what supersedes what, when a message wakes a
// run, how often and after what delay a dispatch is retried. They are the methods of
// [Thread] and the fields of [Config]. Stores only keep rows; package mailboxtest checks
// that they keep them correctly.
package mailbox
