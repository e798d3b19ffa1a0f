// Package publishtest tests the promises of the control plane from outside. It kills real
// processes at every point of a write and checks what they left behind, and it lets many
// clients write, read and run concurrently on two managers that share a database.
package publishtest
