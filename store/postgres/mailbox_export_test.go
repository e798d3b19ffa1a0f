package postgres

import (
	"context"
	"fmt"
	"time"
)

// ShiftClock advances the clock of the queue.
func (db *DB) ShiftClock(ctx context.Context, by time.Duration) error {
	_, err := db.database.pool.Exec(ctx, db.database.sql(fmt.Sprintf(`CREATE OR REPLACE FUNCTION {p}_now() RETURNS bigint LANGUAGE sql VOLATILE AS
		$$ SELECT (extract(epoch FROM clock_timestamp()) * 1000000)::bigint + %d $$`, by.Microseconds())))
	return err
}

// EnqueueMany makes the DB queue any number of dispatches with the SQL function for many.
func (db *DB) EnqueueMany() { db.enqueuer.few = 0 }

// Quiet stops the notifications of the DB.
func (db *DB) Quiet() { db.announcer.close() }
