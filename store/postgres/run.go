package postgres

import (
	"cmp"
	"context"
	"encoding/json"
	"fmt"
	"slices"

	"github.com/jackc/pgx/v5"

	"github.com/awaken-go/awaken"
	"github.com/awaken-go/awaken/money"
)

// runColumns are those of runs, as r. While a run is running its thread has the record.
const runColumns = `r.id, r.thread, CASE r.status WHEN 'running' THEN coalesce(
	(SELECT h.run FROM {p}_threads h WHERE h.tenant = r.tenant AND h.id = r.thread AND h.open_run = r.id), r.data) ELSE r.data END`

func scanRun(row pgx.Row) (*awaken.Run, error) {
	var id, thread string
	var data []byte
	if err := row.Scan(&id, &thread, &data); err != nil {
		return nil, err
	}
	return decodeRun(id, thread, data)
}

func decodeRun(id, thread string, data []byte) (*awaken.Run, error) {
	r := new(awaken.Run)
	if err := json.Unmarshal(data, r); err != nil {
		return nil, fmt.Errorf("run %s: %w", id, err)
	}
	r.RunID, r.ThreadID = unescape(id), unescape(thread) // JSON cannot hold every id
	return r, nil
}

// runReader implements [awaken.RunStore] and [awaken.UsageReader].
type runReader scope

// LoadRun returns a run.
func (s *runReader) LoadRun(ctx context.Context, id string) (*awaken.Run, error) {
	var r *awaken.Run
	err := s.db.query(ctx, `SELECT `+runColumns+` FROM {p}_runs r WHERE r.tenant = $1 AND r.id = $2`, []any{s.tenant, escape(id)}, func() { r = nil },
		func(rows pgx.Rows) (err error) { r, err = scanRun(rows); return err })
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
	query := fmt.Sprintf(`SELECT `+runColumns+` FROM {p}_runs r WHERE `+where+` ORDER BY r.born DESC, r.id LIMIT $%d OFFSET $%d`, len(args)+1, len(args)+2)
	var out []*awaken.Run
	err := s.db.query(ctx, query, append(args, limit, offset), func() { out = nil }, func(rows pgx.Rows) error {
		r, err := scanRun(rows)
		out = append(out, r)
		return err
	})
	if err != nil {
		return nil, fmt.Errorf("list runs: %w", err)
	}
	return out, nil
}

// CountRuns returns how many runs there are, on all pages.
func (s *runReader) CountRuns(ctx context.Context, q awaken.RunQuery) (n int, err error) {
	where, args := s.where(q)
	err = retry(ctx, func() error {
		return s.db.pool.QueryRow(ctx, s.db.sql(`SELECT count(*) FROM {p}_runs WHERE `+where), args...).Scan(&n)
	})
	if err != nil {
		return 0, fmt.Errorf("count runs: %w", err)
	}
	return n, nil
}

// where returns the conditions of a query, with their arguments from $1 on.
func (s *runReader) where(q awaken.RunQuery) (where string, args []any) {
	where, args = `tenant = $1`, []any{s.tenant}
	if q.ThreadID != "" {
		args = append(args, escape(q.ThreadID))
		where += fmt.Sprintf(` AND thread = $%d`, len(args))
	}
	if q.Status != "" {
		args = append(args, escape(string(q.Status)))
		where += fmt.Sprintf(` AND status = $%d`, len(args))
	}
	return where, args
}

// Calls returns the ledger of a run.
func (s *runReader) Calls(ctx context.Context, runID string) ([]*awaken.CallState, error) {
	var l ledger
	found := false
	// A run without calls is one row of nothing; a missing run is none.
	err := s.db.query(ctx, `SELECT c.calls FROM {p}_runs r LEFT JOIN LATERAL {p}_calls(r.tenant, r.id) c ON true WHERE r.tenant = $1 AND r.id = $2`,
		[]any{s.tenant, escape(runID)}, func() { l, found = nil, false },
		func(rows pgx.Rows) error {
			found = true
			return l.scan(rows)
		})
	if err == nil && !found {
		err = noRun(runID)
	}
	if err != nil {
		return nil, err
	}
	return l.sorted(), nil
}

// UsageTotals adds up what runs have used and cost, for each agent.
func (s *runReader) UsageTotals(ctx context.Context, q awaken.UsageQuery) ([]awaken.UsageTotal, error) {
	sum := func(field string) string { return `coalesce(sum((data #>> '{` + field + `}')::numeric), 0)::bigint` }
	query := `SELECT data ->> 'agent_id' COLLATE "C", count(*), ` + sum("usage,prompt_tokens") + `, ` + sum("usage,completion_tokens") + `, ` + sum("usage,total_tokens") + `, ` +
		sum("usage,cache_read_tokens") + `, ` + sum("usage,cache_creation_tokens") + `, ` + sum("usage,thinking_tokens") + `,
		coalesce(sum(round((data #>> '{cost_usd}')::numeric * 1e9)), 0)::bigint
		FROM (SELECT record::json AS data FROM (SELECT ` + runColumns + ` FROM {p}_runs r WHERE r.tenant = $1 AND ($2 = '' OR r.thread = $2)) x(id, thread, record)) y
		WHERE $3 = '' OR data ->> 'agent_id' = $3 GROUP BY 1 ORDER BY 1`
	var out []awaken.UsageTotal
	err := s.db.query(ctx, query, []any{s.tenant, escape(q.ThreadID), q.AgentID}, func() { out = nil }, func(rows pgx.Rows) error {
		var t awaken.UsageTotal
		var cost int64
		u := &t.Usage
		if err := rows.Scan(&t.AgentID, &t.Runs, &u.PromptTokens, &u.CompletionTokens, &u.TotalTokens, &u.CacheReadTokens, &u.CacheCreationTokens, &u.ThinkingTokens, &cost); err != nil {
			return err
		}
		t.CostUSD = money.Amount(cost).USD()
		out = append(out, t)
		return nil
	})
	if err != nil {
		return nil, fmt.Errorf("usage: %w", err)
	}
	return out, nil
}

// ledger is the ledger of a run. Its records come as they were committed.
type ledger []*awaken.CallState

func (l *ledger) scan(row pgx.Row) error {
	var calls [][]byte
	if err := row.Scan(&calls); err != nil {
		return err
	}
	return l.add(calls)
}

func (l *ledger) add(calls [][]byte) error {
	for _, data := range calls {
		c := new(awaken.CallState)
		if err := json.Unmarshal(data, c); err != nil {
			return fmt.Errorf("ledger: %w", err)
		}
		*l = append(*l, c)
	}
	return nil
}

// sorted returns the last record of each call, by step and index.
func (l ledger) sorted() []*awaken.CallState {
	slices.Reverse(l)
	place := func(a, b *awaken.CallState) int {
		return cmp.Or(cmp.Compare(a.Step, b.Step), cmp.Compare(a.Index, b.Index))
	}
	slices.SortStableFunc(l, place)
	return slices.CompactFunc(l, func(a, b *awaken.CallState) bool { return place(a, b) == 0 })
}
