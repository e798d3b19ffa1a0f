package postgres

import (
	"context"
	"time"

	"github.com/awaken-go/awaken/config"
	"github.com/awaken-go/awaken/store/internal/sqlstore"
)

// configStore is the configuration of a database.
type configStore struct {
	sqlstore.Config
	db *database
}

var (
	_ config.Store    = (*configStore)(nil)
	_ config.Notifier = (*configStore)(nil)
	_ config.Turner   = (*configStore)(nil)
)

// Listen calls fn when the configuration was changed. It has a connection of its own, as
// [DB.Listen] has.
func (s *configStore) Listen(ctx context.Context, fn func()) error {
	return s.db.listenTo(ctx, "config", fn)
}

// Turn waits for a lock of the database, which is given in the order in which it is asked
// for, and ends with its transaction.
func (s *configStore) Turn(ctx context.Context) (done func(), err error) {
	tx, err := s.db.pool.Begin(ctx)
	if err != nil {
		return nil, err
	}
	end := func() {
		ctx, cancel := context.WithTimeout(context.WithoutCancel(ctx), 5*time.Second)
		defer cancel()
		_ = tx.Rollback(ctx) // if that fails, the connection is gone, and the lock with it
	}
	if _, err := tx.Exec(ctx, s.db.sql(`SELECT pg_advisory_xact_lock(hashtextextended('{p}_config', 0))`)); err != nil {
		end()
		return nil, err
	}
	return end, nil
}
