package sqlite

import (
	"github.com/awaken-go/awaken"
	"github.com/awaken-go/awaken/mailbox"
	"github.com/awaken-go/awaken/money"
	"github.com/awaken-go/awaken/store/internal/sqlstore"
)

// Store is one tenant's threads and runs. It implements [awaken.Store],
// [awaken.EventLog], [awaken.ThreadEditor], [money.Budget], [awaken.UsageReader],
// [awaken.Pipelined] and [mailbox.Handle].
type Store struct {
	ports
	scope
}

var (
	_ mailbox.Handle      = (*Store)(nil)
	_ awaken.ThreadEditor = (*Store)(nil)
	_ money.Budget        = (*Store)(nil)
	_ awaken.UsageReader  = (*Store)(nil)
	_ awaken.Pipelined    = (*Store)(nil)
)

// ports are those that both databases share.
type ports struct{ sqlstore.Tenant }

// scope is a tenant of a file, with the ports that SQLite answers in its own way.
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

// scope returns the tenant for the shared ports.
func (c tenantConn) scope() *sqlstore.Scope {
	s := sqlstore.NewScope(c.db, c.tenant)
	return &s
}

// Pipelined says that commits take time: each waits for the disk.
func (s *Store) Pipelined() bool { return true }
