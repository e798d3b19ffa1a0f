package sqlite_test

import (
	"github.com/awaken-go/awaken"
	"github.com/awaken-go/awaken/mailbox"
	"github.com/awaken-go/awaken/store/sqlite"
)

// Row 2 of the list of limits of the original: no store had every port, so no transaction
// could span two of them. Here one handle has them all; mailboxtest has the case
// ThreadRunInputAndDispatchAreOneTransaction.
var (
	_ mailbox.Queue       = (*sqlite.DB)(nil)
	_ mailbox.Handle      = (*sqlite.Store)(nil)
	_ awaken.ThreadEditor = (*sqlite.Store)(nil)
)
