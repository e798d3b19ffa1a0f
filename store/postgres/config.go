package postgres

import (
	"context"
	"time"

	"github.com/awaken-go/awaken/config"
	"github.com/awaken-go/awaken/store/internal/sqlstore"
)

// configStore implements [config.Store], [config.Notifier] and [config.Turner].
type configStore struct {
	sqlstore.Config
	db *database
}

var (
	_ config.Store    = (*configStore)(nil)
	_ config.Notifier = (*configStore)(nil)
	_ config.Turner   = (*configStore)(nil)
)

// Listen calls fn when the configuration has changed, until ctx is done. Like [DB.Listen],
// it uses its own connection.
func (s *configStore) Listen(ctx context.Context, fn func()) error {
	return s.db.listenTo(ctx, func(string) { fn() }, s.db.sql(`{p}_config`))
}

// Turn waits for a lock of the database, which is granted in the order of the requests.
// Calling done releases it.
func (s *configStore) Turn(ctx context.Context) (done func(), err error) {
	tx, err := s.db.pool.Begin(ctx)
	if err != nil {
		return nil, classified(err)
	}
	end := func() {
		ctx, cancel := context.WithTimeout(context.WithoutCancel(ctx), 5*time.Second)
		defer cancel()
		_ = tx.Rollback(ctx) // if that fails, the connection is lost and with it the lock
	}
	if _, err := tx.Exec(ctx, s.db.sql(`SELECT pg_advisory_xact_lock(hashtextextended('{p}_config', 0))`)); err != nil {
		end()
		return nil, classified(err)
	}
	return end, nil
}
