// Package floodtest lets providers send replies without an end to the program, and watches what it takes: its memory, how other runs
// fare meanwhile, and how long a cancel takes.
//
//	go test ./internal/floodtest -v               # one adapter
//	AWAKEN_LONG=1 go test ./internal/floodtest -v # every adapter, on both stores
//
// The server is the real program in a process of its own. The test is its clients and the providers of its models.
package floodtest
