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
	if err != nil {
		return nil, err
	}
	scope := sqlstore.NewScope(s.db, s.tenant)
	return scope.Settled(ctx, runID, out)
}

// calls returns the last record of each call of a run, by step and index.
func (c tenantConn) calls(ctx context.Context, runID string) ([]*awaken.CallState, error) {
	of, err := c.rows(ctx, runID)
	if err != nil {
		return nil, err
	}
	var out []*awaken.CallState
	err = c.query(ctx, `SELECT calls FROM {p}_commits WHERE tenant = ? AND thread = ? AND last >= ? AND last <= ? AND run = ? AND calls IS NOT NULL ORDER BY last, upto, rowid`,
		of.args(), func(scan sqlstore.Scan) error {
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

// runRows is where the commits of a run are.
type runRows struct {
	tenant, thread, run string
	first, last         int64 // bounds of their column last
}

func (r *runRows) args() []any { return []any{r.tenant, r.thread, r.first, r.last, r.run} }

// rows returns where the commits of a run are. A run that has not started has none.
func (c tenantConn) rows(ctx context.Context, runID string) (*runRows, error) {
	r := &runRows{tenant: c.tenant, run: runID}
	found, err := c.row(ctx, `SELECT thread, first_seq, last_seq FROM {p}_runs WHERE tenant = ?1 AND id = ?2
		UNION ALL SELECT thread, 1, 0 FROM `+sqlstore.CreatedRuns+` AND d.tenant = ?1 AND d.run = ?2`, []any{c.tenant, runID}, &r.thread, &r.first, &r.last)
	if err == nil && !found {
		err = threads.RunNotFound(runID)
	}
	return r, err
}
