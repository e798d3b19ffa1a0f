// Package killtest kills real servers while clients stream from them, and checks from
// outside what the server promises: every run that was accepted ends or waits, what a
// client put together equals the log, no effect is made twice, no thread stays blocked
// for longer than a lease, and a process that was paused and lost its lease neither
// writes nor begins anything.
//
// A server is this test's own program, started again, with tools that leave marks in a
// file that is no part of the store. Clients are in the test, and know nothing but HTTP.
package killtest
