// Package restoretest restores databases from backups that are older than the effects of their runs,
// and checks that no effect is repeated silently.
package restoretest
