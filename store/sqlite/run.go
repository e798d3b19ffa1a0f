package sqlite

import (
	"cmp"
	"context"
	"database/sql"
	"encoding/json"
	"fmt"
	"slices"

	"github.com/awaken-go/awaken"
)

// runColumns are those of runs, as r. While a run is running its thread has the record.
const runColumns = `r.id, r.thread, CASE r.status WHEN 'running' THEN coalesce(
	(SELECT h.run FROM {p}_threads h WHERE h.tenant = r.tenant AND h.id = r.thread AND h.open_run = r.id), r.data) ELSE r.data END`

func scanRun(scan func(...any) error) (*awaken.Run, error) {
	var id, thread string
	var data sql.RawBytes
	if err := scan(&id, &thread, &data); err != nil {
		return nil, err
	}
	r := new(awaken.Run)
	if err := json.Unmarshal(data, r); err != nil {
		return nil, fmt.Errorf("run %s: %w", id, err)
	}
	r.RunID, r.ThreadID = id, thread // JSON cannot hold every id
	return r, nil
}

// run returns a run, or nil.
func (c *conn) run(ctx context.Context, tenant, id string) (r *awaken.Run, err error) {
	err = c.query(ctx, `SELECT `+runColumns+` FROM {p}_runs r WHERE tenant = ? AND id = ?`, []any{tenant, id},
		func(scan func(...any) error) (err error) { r, err = scanRun(scan); return err })
	return r, err
}

// LoadRun returns a run.
func (s *Store) LoadRun(ctx context.Context, id string) (*awaken.Run, error) {
	var r *awaken.Run
	err := s.db.read(ctx, func(c *conn) (err error) {
		r, err = c.run(ctx, s.tenant, id)
		return err
	})
	if err == nil && r == nil {
		err = noRun(id)
	}
	if err != nil {
		return nil, err
	}
	return r, nil
}

// ListRuns returns runs, the newest first.
func (s *Store) ListRuns(ctx context.Context, q awaken.RunQuery) ([]*awaken.Run, error) {
	where, args := s.runs(q)
	offset, limit := page(q.Offset, q.Limit)
	query := `SELECT ` + runColumns + ` FROM {p}_runs r WHERE ` + where + ` ORDER BY born DESC, id LIMIT ? OFFSET ?`
	args = append(args, limit, offset)
	var out []*awaken.Run
	err := s.db.read(ctx, func(c *conn) error {
		return c.query(ctx, query, args, func(scan func(...any) error) error {
			r, err := scanRun(scan)
			out = append(out, r)
			return err
		})
	})
	if err != nil {
		return nil, fmt.Errorf("list runs: %w", err)
	}
	return out, nil
}

// CountRuns returns how many runs there are, on all pages.
func (s *Store) CountRuns(ctx context.Context, q awaken.RunQuery) (int, error) {
	where, args := s.runs(q)
	return s.count(ctx, `SELECT count(*) FROM {p}_runs WHERE `+where, args)
}

// runs are the conditions of a query, with their arguments.
func (s *Store) runs(q awaken.RunQuery) (where string, args []any) {
	where, args = `tenant = ?`, []any{s.tenant}
	if q.ThreadID != "" {
		where, args = where+` AND thread = ?`, append(args, q.ThreadID)
	}
	if q.Status != "" {
		where, args = where+` AND status = ?`, append(args, string(q.Status))
	}
	return where, args
}

// Calls returns the ledger of a run.
func (s *Store) Calls(ctx context.Context, runID string) ([]*awaken.CallState, error) {
	var out []*awaken.CallState
	err := s.db.read(ctx, func(c *conn) (err error) {
		out, err = c.calls(ctx, s.tenant, runID)
		return err
	})
	if err != nil {
		return nil, err
	}
	return out, nil
}

// calls returns the last record of each call of a run, by step and index.
func (c *conn) calls(ctx context.Context, tenant, runID string) ([]*awaken.CallState, error) {
	var thread string
	var first, last int64
	found, err := c.row(ctx, `SELECT thread, first_seq, last_seq FROM {p}_runs WHERE tenant = ? AND id = ?`, []any{tenant, runID}, &thread, &first, &last)
	if err == nil && !found {
		err = noRun(runID)
	}
	if err != nil {
		return nil, err
	}
	var out []*awaken.CallState
	err = c.query(ctx, `SELECT calls FROM {p}_commits WHERE tenant = ? AND thread = ? AND last >= ? AND last <= ? AND run = ? AND calls IS NOT NULL ORDER BY last, rowid`,
		[]any{tenant, thread, first, last, runID}, func(scan func(...any) error) error {
			var data sql.RawBytes
			if err := scan(&data); err != nil {
				return err
			}
			var calls []*awaken.CallState
			if err := json.Unmarshal(data, &calls); err != nil {
				return fmt.Errorf("ledger of run %s: %w", runID, err)
			}
			out = append(out, calls...)
			return nil
		})
	if err != nil {
		return nil, err
	}
	slices.Reverse(out)
	place := func(a, b *awaken.CallState) int {
		return cmp.Or(cmp.Compare(a.Step, b.Step), cmp.Compare(a.Index, b.Index))
	}
	slices.SortStableFunc(out, place)
	return slices.CompactFunc(out, func(a, b *awaken.CallState) bool { return place(a, b) == 0 }), nil
}
