// Package ownertest checks, with real processes that are killed, paused and stopped, that runs
// change owners within seconds, that no two owners act at once, and that a run which kills its
// process does not take others down with it.
//
// A worker is the test binary itself; worker_test.go is its program. The test shares its store
// and only submits.
package ownertest
