// Package upgradetest opens what earlier versions have written.
//
// Each folder of testdata holds what one version of this program left in a database when
// its process was killed: one dump for each store, as text, and beside it what that version
// could read there. Every later version has to read the same, and to finish the work: runs
// that wait, that were cut off, whose call is in doubt and that are queued.
//
// A version that changes what is stored adds a folder, and leaves the others as they are:
//
//	go test ./internal/upgradetest -run TestWrite -write NAME
//
// The writer is this test's own program, started again and killed; story_test.go is what it
// does. The dumps of a database are made with pg_dump, and for SQLite by the test itself.
// The key of the secrets, testdata/secrets.key, is the same for all.
package upgradetest
