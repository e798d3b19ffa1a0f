// Package paidtest kills real servers in the middle of an evaluation and counts what its provider is asked: no cell is paid for twice,
// and every cell has a report or is in doubt.
//
// A server is this test's own binary, started again. Its model is a provider over HTTP that runs in the test and outlives all servers.
package paidtest
