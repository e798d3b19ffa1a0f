package sqlite

import (
	"github.com/awaken-go/awaken"
	"github.com/awaken-go/awaken/blob"
	"github.com/awaken-go/awaken/limit/money"
	"github.com/awaken-go/awaken/mailbox"
	"github.com/awaken-go/awaken/store/internal/sqlstore"
	"github.com/awaken-go/awaken/trace/body"
	"github.com/awaken-go/awaken/trace/timeline"
)

// Store is the store of one tenant. It implements [awaken.Store],
// [awaken.EventLog], [awaken.ThreadEditor], [money.Budget], [awaken.UsageReader],
// [awaken.Pipelined], [timeline.Log] and [mailbox.Handle].
type Store struct {
	ports
	scope
}

var (
	_ mailbox.Handle      = (*Store)(nil)
	_ mailbox.Starter     = (*Store)(nil)
	_ awaken.ThreadEditor = (*Store)(nil)
	_ money.Budget        = (*Store)(nil)
	_ awaken.UsageReader  = (*Store)(nil)
	_ awaken.Pipelined    = (*Store)(nil)
	_ timeline.Log        = (*Store)(nil)
	_ blob.Keeper         = (*Store)(nil)
	_ body.Keeper         = (*Store)(nil)
)

// ports are the ports that store/sqlite and store/postgres share.
type ports struct{ sqlstore.Tenant }

// scope is a tenant of a database. It implements the ports that are not shared.
type scope struct {
	db     *database
	tenant string
	logs   *sqlstore.Logs

	processes *processes
}

// tenantConn is a connection with the operations on the rows of one tenant.
type tenantConn struct {
	*conn
	tenant string
}

// of returns c for the rows of a tenant.
func (c *conn) of(tenant string) tenantConn { return tenantConn{c, tenant} }

// scope returns the scope of the tenant.
func (c tenantConn) scope() *sqlstore.Scope {
	s := sqlstore.NewScope(c.db, c.tenant)
	return &s
}

// Bodies returns what the models of the tenant were asked, as far as it was kept.
func (s *Store) Bodies() body.Store {
	return sqlstore.NewBodies(sqlstore.NewScope(s.scope.db, s.scope.tenant))
}

// Pipelined returns true: each commit waits for the disk.
func (s *Store) Pipelined() bool { return true }
