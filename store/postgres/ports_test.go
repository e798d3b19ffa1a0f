package postgres_test

import (
	"github.com/awaken-go/awaken"
	"github.com/awaken-go/awaken/mailbox"
	"github.com/awaken-go/awaken/store/postgres"
)

// Row 2 of the list of limits of the original: no store had every port, so no transaction
// could span two of them. Here one handle has them all; mailboxtest has the case
// ThreadRunInputAndDispatchAreOneTransaction.
var (
	_ mailbox.Queue       = (*postgres.DB)(nil)
	_ mailbox.Handle      = (*postgres.Store)(nil)
	_ awaken.ThreadEditor = (*postgres.Store)(nil)
)
