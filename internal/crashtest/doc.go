// Package crashtest kills real processes at every place where one may die, and checks
// from outside that nothing was lost, torn or silently done twice.
//
// A worker process runs an agent on a durable store until a failpoint kills it with
// SIGKILL; other workers take the run up where it was, and may be killed as well; the
// last one finishes it. The tools leave their marks in a file that is no part of the
// store, and a reader writes down every event it saw. Then the test looks at the
// store, the marks and the reader's notes.
package crashtest
