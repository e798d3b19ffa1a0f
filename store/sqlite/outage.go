package sqlite

import (
	"errors"

	driver "modernc.org/sqlite"
	lib "modernc.org/sqlite/lib"

	"github.com/awaken-go/awaken/internal/fault"
)

// classified returns err, as an outage if it says that the database cannot serve now.
func classified(err error) error {
	if err == nil || fault.OutageOf(err) != nil {
		return err
	}
	reason := ""
	switch primary(err) {
	case lib.SQLITE_FULL:
		reason = "the store is out of disk space"
	case lib.SQLITE_IOERR:
		reason = "the store has a disk error"
	case lib.SQLITE_BUSY, lib.SQLITE_LOCKED, lib.SQLITE_PROTOCOL:
		reason = "the store is busy"
	case lib.SQLITE_READONLY:
		reason = "the store is read-only"
	case lib.SQLITE_CANTOPEN:
		reason = "the store cannot be opened"
	default:
		return err
	}
	return &fault.Outage{Reason: reason, Err: err}
}

// isBusy reports whether another process holds the lock.
func isBusy(err error) bool { return primary(err) == lib.SQLITE_BUSY }

// primary returns the primary result code of SQLite in err, or 0.
func primary(err error) int {
	if e, ok := errors.AsType[*driver.Error](err); ok {
		return e.Code() & 0xff
	}
	return 0
}
