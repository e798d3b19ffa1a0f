package sqlite

import "time"

// Advance advances the clock of the queue.
func (db *DB) Advance(d time.Duration) { db.database.shift.Add(d.Microseconds()) }
