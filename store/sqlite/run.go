package sqlite

import (
	"cmp"
	"context"
	"database/sql"
	"encoding/json"
	"fmt"
	"slices"

	"github.com/awaken-go/awaken"
	"github.com/awaken-go/awaken/money"
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
func (c tenantConn) run(ctx context.Context, id string) (r *awaken.Run, err error) {
	err = c.query(ctx, `SELECT `+runColumns+` FROM {p}_runs r WHERE tenant = ? AND id = ?`, []any{c.tenant, id},
		func(scan func(...any) error) (err error) { r, err = scanRun(scan); return err })
	return r, err
}

// putRun writes the record of a run that has not started, unless it has.
func (c tenantConn) putRun(r *awaken.Run) error {
	data, err := encode(r)
	if err != nil {
		return fmt.Errorf("run %s: %w", r.RunID, err)
	}
	_, err = c.exec(`INSERT INTO {p}_runs (tenant, id, thread, status, born, data, first_seq, last_seq) VALUES (?1, ?2, ?3, ?4, `+nextBorn+`, ?5, 9223372036854775807, 0)
		ON CONFLICT (tenant, id) DO UPDATE SET status = excluded.status, data = excluded.data WHERE status = 'created' AND thread = excluded.thread`,
		c.tenant, r.RunID, r.ThreadID, string(r.Status), data)
	return err
}

// nextBorn is when a new run of tenant ?1 is born: after every commit and every run.
const nextBorn = `1 + max(coalesce((SELECT max(born) FROM {p}_runs WHERE tenant = ?1), 0), coalesce((SELECT max(touched) FROM {p}_threads WHERE tenant = ?1), 0))`

// runReader implements [awaken.RunStore] and [awaken.UsageReader].
type runReader scope

// LoadRun returns a run.
func (s *runReader) LoadRun(ctx context.Context, id string) (*awaken.Run, error) {
	var r *awaken.Run
	err := s.db.read(ctx, func(c *conn) (err error) {
		r, err = c.of(s.tenant).run(ctx, id)
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
func (s *runReader) ListRuns(ctx context.Context, q awaken.RunQuery) ([]*awaken.Run, error) {
	where, args := s.where(q)
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
func (s *runReader) CountRuns(ctx context.Context, q awaken.RunQuery) (int, error) {
	where, args := s.where(q)
	return s.db.count(ctx, `SELECT count(*) FROM {p}_runs WHERE `+where, args)
}

// where returns the conditions of a query, with their arguments.
func (s *runReader) where(q awaken.RunQuery) (where string, args []any) {
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
func (s *runReader) Calls(ctx context.Context, runID string) ([]*awaken.CallState, error) {
	var out []*awaken.CallState
	err := s.db.read(ctx, func(c *conn) (err error) {
		out, err = c.of(s.tenant).calls(ctx, runID)
		return err
	})
	if err != nil {
		return nil, err
	}
	return out, nil
}

// UsageTotals adds up what runs have used and cost, for each agent.
func (s *runReader) UsageTotals(ctx context.Context, q awaken.UsageQuery) ([]awaken.UsageTotal, error) {
	var out []awaken.UsageTotal
	err := s.db.read(ctx, func(c *conn) error {
		out = nil
		// While a run is running, its thread has the record.
		return c.query(ctx, `SELECT agent, count(*), sum(data ->> '$.usage.prompt_tokens'), sum(data ->> '$.usage.completion_tokens'), sum(data ->> '$.usage.total_tokens'),
			sum(data ->> '$.usage.cache_read_tokens'), sum(data ->> '$.usage.cache_creation_tokens'), sum(data ->> '$.usage.thinking_tokens'),
			sum(CAST(round(coalesce(data ->> '$.cost_usd', 0) * 1e9) AS INTEGER))
			FROM (SELECT data, data ->> '$.agent_id' AS agent FROM (
				SELECT CASE r.status WHEN 'running' THEN coalesce((SELECT h.run FROM {p}_threads h WHERE h.tenant = r.tenant AND h.id = r.thread AND h.open_run = r.id), r.data) ELSE r.data END AS data
				FROM {p}_runs r WHERE r.tenant = ?1 AND (?2 = '' OR r.thread = ?2)))
			WHERE ?3 = '' OR agent = ?3 GROUP BY agent ORDER BY agent`, []any{s.tenant, q.ThreadID, q.AgentID}, func(scan func(...any) error) error {
			var t awaken.UsageTotal
			var n [7]*int64
			if err := scan(&t.AgentID, &t.Runs, &n[0], &n[1], &n[2], &n[3], &n[4], &n[5], &n[6]); err != nil {
				return err
			}
			for i, to := range []*int64{&t.Usage.PromptTokens, &t.Usage.CompletionTokens, &t.Usage.TotalTokens, &t.Usage.CacheReadTokens, &t.Usage.CacheCreationTokens, &t.Usage.ThinkingTokens} {
				if n[i] != nil {
					*to = *n[i]
				}
			}
			if n[6] != nil {
				t.CostUSD = money.Amount(*n[6]).USD()
			}
			out = append(out, t)
			return nil
		})
	})
	if err != nil {
		return nil, fmt.Errorf("usage: %w", err)
	}
	return out, nil
}

// calls returns the last record of each call of a run, by step and index.
func (c tenantConn) calls(ctx context.Context, runID string) ([]*awaken.CallState, error) {
	var thread string
	var first, last int64
	found, err := c.row(ctx, `SELECT thread, first_seq, last_seq FROM {p}_runs WHERE tenant = ? AND id = ?`, []any{c.tenant, runID}, &thread, &first, &last)
	if err == nil && !found {
		err = noRun(runID)
	}
	if err != nil {
		return nil, err
	}
	var out []*awaken.CallState
	err = c.query(ctx, `SELECT calls FROM {p}_commits WHERE tenant = ? AND thread = ? AND last >= ? AND last <= ? AND run = ? AND calls IS NOT NULL ORDER BY last, rowid`,
		[]any{c.tenant, thread, first, last, runID}, func(scan func(...any) error) error {
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
