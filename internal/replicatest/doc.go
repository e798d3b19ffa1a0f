// Package replicatest checks that clients see runs as they happen, whichever replica they are
// connected to: several servers share a PostgreSQL database, of which only the first works.
package replicatest
