package sqlite

import (
	"encoding/json"
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

// scope is a tenant of a file.
type scope struct {
	db     *database
	tenant string
}

// tenantConn is a connection on which the rows of one tenant are read and written.
type tenantConn struct {
	*conn
	tenant string
}

// of returns the connection for the rows of a tenant.
func (c *conn) of(tenant string) tenantConn { return tenantConn{c, tenant} }

// Pipelined says that commits take time: each waits for the disk.
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

// encode returns v as JSON text.
func encode(v any) (string, error) {
	data, err := json.Marshal(v)
	return string(data), err
}
