package sqlite

import (
	"context"
	"encoding/json"
	"fmt"

	"github.com/awaken-go/awaken"
	"github.com/awaken-go/awaken/store/internal/sqlstore"
	"github.com/awaken-go/awaken/store/internal/threads"
)

// Calls returns the call ledger of a run.
func (s *scope) Calls(ctx context.Context, runID string) ([]*awaken.CallState, error) {
	var out []*awaken.CallState
	err := s.db.read(ctx, func(c *conn) (err error) {
		out, err = c.of(s.tenant).calls(ctx, runID)
		return err
	})
	return out, err
}

// calls returns the last record of each call of a run, by step and index.
func (c tenantConn) calls(ctx context.Context, runID string) ([]*awaken.CallState, error) {
	var thread string
	var first, last int64
	found, err := c.row(ctx, `SELECT thread, first_seq, last_seq FROM {p}_runs WHERE tenant = ?1 AND id = ?2
		UNION ALL SELECT thread, 1, 0 FROM `+sqlstore.CreatedRuns+` AND d.tenant = ?1 AND d.run = ?2`, []any{c.tenant, runID}, &thread, &first, &last)
	if err == nil && !found {
		err = threads.RunNotFound(runID)
	}
	if err != nil {
		return nil, err
	}
	var out []*awaken.CallState
	err = c.query(ctx, `SELECT calls FROM {p}_commits WHERE tenant = ? AND thread = ? AND last >= ? AND last <= ? AND run = ? AND calls IS NOT NULL ORDER BY last, upto, rowid`,
		[]any{c.tenant, thread, first, last, runID}, func(scan sqlstore.Scan) error {
			var text string
			if err := scan(&text); err != nil {
				return err
			}
			var calls []*awaken.CallState
			if err := json.Unmarshal([]byte(unpackRun(text, runID)), &calls); err != nil {
				return fmt.Errorf("ledger of run %s: %w", runID, err)
			}
			out = append(out, calls...)
			return nil
		})
	if err != nil {
		return nil, err
	}
	return sqlstore.Ledger(out), nil
}
