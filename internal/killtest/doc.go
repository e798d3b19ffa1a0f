// Package killtest kills real servers while clients stream from them, and checks from outside what
// the server promises: every accepted run ends or waits, what a client assembles equals the log,
// no effect happens twice, no thread is blocked for longer than a lease, and a process that was
// paused and lost its lease neither writes nor begins anything.
//
// A server is this test's own binary, started again, with tools that leave marks in a file outside
// the store. The clients run in the test and use nothing but HTTP.
package killtest
