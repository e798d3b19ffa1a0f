// Package rigtest is the kit of tests that start, kill and pause processes: a suite says what its processes do and what must be
// true afterwards, and has the rest from here.
//
// A [Process] is what a test starts. It is killed, paused, stopped and started again by the test, and never outlives it; its
// output explains a failing test, and a data race in it fails the test. There are two kinds. A job is the test binary itself
// with something to do, see [Job]: a server or a worker whose models and tools are Go code of the suite. A [Program] is the
// built command, as users run it, with providers over HTTP.
//
// Both work on a [Store], which is a place: the test opens it beside its processes to submit runs, and to inspect what a dead
// process has left. What tools do is noted in a [Ledger], outside of every store: it is how a test knows that an effect was made
// once. [Words] is a model whose messages say what it does, so that it says the same to every owner of a run. [ReadChat] and
// [Reply] are a provider of the same kind for programs. A [Client] sends requests, to whichever of several servers is there.
//
// A test waits for what happens: for a line of output, the end or the stop of a process, an event of a stream. What only another
// process knows, a test can but ask for again: [Until] does that, and nothing else here sleeps.
package rigtest
