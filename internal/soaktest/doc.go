// Package soaktest runs the program under a mixed load for a long time, and watches what it takes:
// memory, goroutines, open files, the size of its database, and how long clients wait. Nothing may
// grow with the time, and no run may be lost.
//
//	go test ./internal/soaktest -v                                                  # some seconds
//	AWAKEN_LONG=1 go test ./internal/soaktest -v -timeout 2h -run /sqlite -soak 30m # one store
//
// The server is the real program in a process of its own. The test is its clients and the provider
// of its model, which answers in pieces.
package soaktest
