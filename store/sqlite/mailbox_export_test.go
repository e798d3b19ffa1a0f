package sqlite

import (
	"strings"
	"time"
)

// Advance advances the clock of the queue.
func (db *DB) Advance(d time.Duration) { db.database.shift.Add(d.Microseconds()) }

// Migrations returns the scripts up to a version, with the prefix substituted.
func Migrations(prefix string, upTo int) ([]string, error) {
	entries, err := migrations.ReadDir("migrations")
	if err != nil {
		return nil, err
	}
	var out []string
	for _, e := range entries[:upTo] {
		script, err := migrations.ReadFile("migrations/" + e.Name())
		if err != nil {
			return nil, err
		}
		out = append(out, strings.ReplaceAll(string(script), "{p}", prefix))
	}
	return out, nil
}
