// Package growthtest measures whether what a request costs grows with what is stored, configured or
// watching: threads, messages of a thread, agents, watchers of a run. Each test prints a table; with
// AWAKEN_LONG it grows to the sizes that the server promises, and fails if a cost is not flat.
//
//	AWAKEN_LONG=1 go test ./internal/growthtest -v
package growthtest
