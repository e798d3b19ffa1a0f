// Package publishtest holds the control plane to its promises from outside: it kills real
// processes at every place of a write and looks at what they left, and lets many clients
// write, read and run at the same time on two managers that share a database.
package publishtest
