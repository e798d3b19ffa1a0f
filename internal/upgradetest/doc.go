// Package upgradetest checks that this version opens the databases of earlier versions.
//
// Each folder of testdata holds what one release left in a database when its process was
// killed: one dump for each store, as text, and what that release read from it. Every later
// version must read the same, and must finish the work: runs that are parked, interrupted,
// queued, or whose call is in doubt. The tests do the same with what this version leaves, which
// they write anew, so they hold before the first release, too.
//
// A release that changes what is stored adds a folder and leaves the others unchanged:
//
//	go test ./internal/upgradetest -run TestWrite -write NAME
//
// The writer is the test binary in a child process, which is killed; story_test.go is its
// program. PostgreSQL is dumped with pg_dump, SQLite by the test itself. All dumps use the
// same key for secrets, testdata/secrets.key.
package upgradetest
