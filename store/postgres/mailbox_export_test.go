package postgres

import (
	"context"
	"fmt"
	"strings"
	"time"

	"github.com/jackc/pgx/v5/pgxpool"
)

// ShiftClock makes the clock of the queue run ahead.
func (db *DB) ShiftClock(ctx context.Context, by time.Duration) error {
	_, err := db.pool.Exec(ctx, db.sql(fmt.Sprintf(`CREATE OR REPLACE FUNCTION {p}_now() RETURNS bigint LANGUAGE sql VOLATILE AS
		$$ SELECT (extract(epoch FROM clock_timestamp()) * 1000000)::bigint + %d $$`, by.Microseconds())))
	return err
}

// Pool is the pool of connections, for tests that look behind the scenes.
func (db *DB) Pool() *pgxpool.Pool { return db.pool }

// Migrations returns the scripts up to a version, with the prefix filled in.
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
