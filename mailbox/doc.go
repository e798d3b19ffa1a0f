// Package mailbox is a durable queue of runs.
//
// [New] makes a [Mailbox] from a [Queue], which a store provides (memory.NewDB, sqlite.Open,
// postgres.Open), and from a runtime. [Mailbox.Tenant] returns the view of one tenant, which
// submits, cancels and decides runs. [Mailbox.Work] makes the process a worker:
//
//	db := memory.NewDB()
//	box, err := mailbox.New(mailbox.Config{Queue: db}, rt.With) // rt is an *engine.Runtime
//	…
//	go box.Work(ctx) // claims and runs; returns once ctx is done and the runs are drained
//	receipt, err := box.Tenant("").Submit(ctx, mailbox.Submission{Request: req})
//
// A tenant is a name that separates data: its threads, runs and queue are invisible to other
// tenants. A program that serves only one uses the tenant "".
//
// # How it works
//
// A [Dispatch] is a thread's turn to run: it starts a run, or wakes one that is waiting or
// was cut off. Workers process the dispatches of a thread one at a time, by priority and
// age. [Tenant.Submit] stores the dispatch, the run's record and its input in one
// transaction before it returns. From then on the run will end or wait, whatever happens
// to the process.
//
// A thread accepts a client's message once ([Said]): its id belongs to the dispatch that took it while the message is in
// the conversation, and a submission that repeats it gets the receipt of the first.
//
// A worker claims a dispatch for the length of a lease and renews the lease while the run is
// in flight. If its process dies, other workers take over within seconds, because every process
// sends heartbeats (Config.Liveness). The lease decides only who may try; the thread's fence (see package awaken), in
// the same store, decides who can write. A worker that cannot renew its lease abandons the
// run and writes nothing more. A worker that was paused finds the fence raised, and its
// commits fail. A waiting run holds no lease: its dispatch is acknowledged (Acked), and a
// decision, a message or an expiry submits the next one.
//
// A dispatch that fails returns to the queue with a growing delay. One that has failed
// Config.MaxAttempts times without completing a step, or that cannot succeed, becomes a dead
// letter, which an operator retries or drops ([Tenant.RetryDeadLetter]). The death of a process
// is no failure of the runs that were in flight, unless they are suspects; see [Blame].
//
// # For stores
//
// This package holds the rules of the queue: what supersedes what, when a message wakes a
// run, how often and after what delay a dispatch is retried. A store implements [Queue],
// whose Handle returns the store of a tenant, and only keeps rows. [Thread], [Changes],
// [Claim], [Settlement], [Sort] and [Ready] are for stores; package mailboxtest checks that
// a store is correct.
package mailbox
