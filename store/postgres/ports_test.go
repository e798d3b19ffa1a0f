package postgres_test

import (
	"github.com/awaken-go/awaken"
	"github.com/awaken-go/awaken/mailbox"
	"github.com/awaken-go/awaken/store/postgres"
)

// Row 2 of the original's list of limits: no store had every port, so nothing could be
// done to two of them at once. Here one handle has them all; mailboxtest has the case
// ThreadRunInputAndDispatchAreOneTransaction.
var (
	_ mailbox.Queue       = (*postgres.DB)(nil)
	_ mailbox.Handle      = (*postgres.Store)(nil)
	_ awaken.ThreadEditor = (*postgres.Store)(nil)
)
