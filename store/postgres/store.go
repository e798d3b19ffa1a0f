package postgres

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
	db        *database
	tenant    string // escaped
	commits   *commits
	enqueuer  *enqueuer
	announcer *announcer
	logs      *sqlstore.Logs
	starter   *starter
	finisher  *finisher
	warm      *sqlstore.Warm
}

// Bodies returns what the models of the tenant were asked, as far as it was kept.
func (s *Store) Bodies() body.Store {
	return sqlstore.NewBodies(sqlstore.NewScope(s.scope.db, s.scope.tenant))
}

// Pipelined returns true: each commit waits for the server.
func (s *Store) Pipelined() bool { return true }
