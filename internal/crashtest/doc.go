// Package crashtest kills real processes at every place where one may die, and checks
// from outside that nothing was lost, torn or silently done twice.
//
// A worker process runs an agent on a durable store until a failpoint kills it with
// SIGKILL; other workers take the run up where it was, and may be killed as well; the
// last one finishes it. The tools leave their marks in a file that is no part of the
// store, and a reader writes down every event it saw. After each kill the test looks
// at what is left, without touching it; at the end it compares the store, the marks
// and the reader's notes.
//
// Two more stories are told in the same way: a conversation that is summarised while its
// processes die, at every place on the summary's way into it; and many runs in several
// processes that die while they spend the one dollar of their tenant.
//
// The test says how often a process was killed at each place, and with which calls on
// their way, and goes on until every place and every class of calls had its turn. Its
// plans come from a random seed, which it prints: AWAKEN_CRASH_SEED repeats them.
package crashtest
