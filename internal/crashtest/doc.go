// Package crashtest kills real processes at every failpoint, and checks from outside that nothing
// was lost, torn or silently done twice.
//
// A worker process runs an agent on a durable store until a failpoint kills it with SIGKILL. Other
// workers resume the run, and may be killed as well; the last one finishes it. The tools leave
// marks in a file outside the store, and a reader writes down every event it saw. After each kill
// the test inspects what is left without changing it; at the end it compares the store, the marks
// and the reader's notes, and replays the run: messages, calls and results are the same, and all events of
// a run that no process lost.
//
// Three more tests work the same way: processes die at every point of summarising a conversation, and of the
// steps of a tool, and many runs in several processes die while they spend the one dollar of their tenant.
//
// The test counts how often a process was killed at each failpoint and with which calls running,
// and continues until every failpoint and every class of calls has been covered. Its plans come
// from a random seed, which it prints: AWAKEN_CRASH_SEED repeats them.
package crashtest
