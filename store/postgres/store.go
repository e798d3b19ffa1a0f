package postgres

import (
	"fmt"

	"github.com/awaken-go/awaken"
	"github.com/awaken-go/awaken/mailbox"
	"github.com/awaken-go/awaken/money"
)

// Store is one tenant's threads and runs. It implements [awaken.Store],
// [awaken.EventLog], [awaken.ThreadEditor], [money.Budget], [awaken.UsageReader],
// [awaken.Pipelined] and [mailbox.Handle]; each of its parts implements one or two.
type Store struct {
	threadReader
	runReader
	eventLog
	committer
	inbox
	editor
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

// scope is a tenant of a database.
type scope struct {
	db     *database
	tenant string // escaped
}

// Pipelined says that commits take time: each waits for the server.
func (s *Store) Pipelined() bool { return true }

func noThread(id string) error { return fmt.Errorf("thread %s: %w", id, awaken.ErrNotFound) }

func noRun(id string) error { return fmt.Errorf("run %s: %w", id, awaken.ErrNotFound) }

// page applies the defaults of a paged listing.
func page(offset, limit int) (int, int) {
	if limit <= 0 {
		limit = 50
	}
	return max(offset, 0), limit
}
