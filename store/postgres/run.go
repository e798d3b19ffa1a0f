package postgres

import (
	"context"
	"encoding/json"
	"fmt"

	"github.com/jackc/pgx/v5"

	"github.com/awaken-go/awaken"
	"github.com/awaken-go/awaken/store/internal/sqlstore"
	"github.com/awaken-go/awaken/store/internal/threads"
)

// Calls returns the call ledger of a run.
func (s *scope) Calls(ctx context.Context, runID string) ([]*awaken.CallState, error) {
	var l records
	found := false
	// A run without calls yields one row of NULLs, also if it has not started; a missing run yields none.
	err := s.db.query(ctx, `SELECT c.calls FROM {p}_runs r LEFT JOIN LATERAL {p}_calls(r.tenant, r.id) c ON true WHERE r.tenant = $1 AND r.id = $2
		UNION ALL SELECT NULL FROM `+sqlstore.CreatedRuns+` AND d.tenant = $1 AND d.run = $2`,
		[]any{s.tenant, escape(runID)}, func() { l, found = nil, false },
		func(rows pgx.Rows) error {
			found = true
			return l.scan(rows)
		})
	if err == nil && !found {
		err = threads.RunNotFound(runID)
	}
	if err != nil {
		return nil, err
	}
	scope := sqlstore.NewScope(s.db, s.tenant)
	return scope.Settled(ctx, runID, sqlstore.Ledger(l))
}

// records are the records of a ledger in the order of their commits.
type records []*awaken.CallState

func (l *records) scan(row pgx.Row) error {
	var calls [][]byte
	if err := row.Scan(&calls); err != nil {
		return err
	}
	return l.add(calls)
}

func (l *records) add(calls [][]byte) error {
	for _, data := range calls {
		c := new(awaken.CallState)
		if err := json.Unmarshal(data, c); err != nil {
			return fmt.Errorf("ledger: %w", err)
		}
		*l = append(*l, c)
	}
	return nil
}
