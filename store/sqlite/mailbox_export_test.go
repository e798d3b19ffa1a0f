package sqlite

import "time"

// Advance makes the clock of the queue jump.
func (db *DB) Advance(d time.Duration) { db.shift.Add(d.Microseconds()) }
