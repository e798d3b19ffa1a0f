package postgres

import (
	"github.com/awaken-go/awaken"
	"github.com/awaken-go/awaken/mailbox"
	"github.com/awaken-go/awaken/money"
	"github.com/awaken-go/awaken/store/internal/sqlstore"
)

// Store is one tenant's threads and runs. It implements [awaken.Store],
// [awaken.EventLog], [awaken.ThreadEditor], [money.Budget], [awaken.UsageReader],
// [awaken.Pipelined] and [mailbox.Handle]; each of its parts implements one or two.
type Store struct {
	ports
	ledger
	eventLog
	committer
	inbox
	dispatches
	budget
}

var (
	_ awaken.Store        = (*Store)(nil)
	_ awaken.EventLog     = (*Store)(nil)
	_ awaken.ThreadEditor = (*Store)(nil)
	_ money.Budget        = (*Store)(nil)
	_ awaken.UsageReader  = (*Store)(nil)
	_ awaken.Pipelined    = (*Store)(nil)
	_ mailbox.Handle      = (*Store)(nil)
)

// ports are those that both databases share.
type ports struct {
	sqlstore.Threads
	sqlstore.Runs
	sqlstore.Inbox
	sqlstore.Edits
	sqlstore.DispatchReader
	sqlstore.ReservationReader
}

// scope is a tenant of a database.
type scope struct {
	db     *database
	tenant string // escaped
}

// Pipelined says that commits take time: each waits for the server.
func (s *Store) Pipelined() bool { return true }
