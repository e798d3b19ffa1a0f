package sqlstore

import (
	"context"
	"encoding/json"
	"fmt"
	"slices"

	"github.com/awaken-go/awaken"
	"github.com/awaken-go/awaken/money"
	"github.com/awaken-go/awaken/store/internal/threads"
)

// runRecord is the record of a run r. While a run is running, the row of its thread holds
// it.
const runRecord = `CASE r.status WHEN 'running' THEN coalesce(
	(SELECT h.run FROM {p}_threads h WHERE h.tenant = r.tenant AND h.id = r.thread AND h.open_run = r.id), r.data) ELSE r.data END`

// RunColumns are the columns of a run r that [Dialect.ScanRun] scans.
const RunColumns = `r.id, r.thread, ` + runRecord

// runOwnedBy returns the condition that the thread of a run r belongs to a user.
func runOwnedBy(user, param string) string {
	return `r.thread IN (SELECT o.id FROM {p}_threads o WHERE o.tenant = r.tenant AND ` + ownedBy(user, param) + `)`
}

// ScanRun scans a row of RunColumns.
func (d *Dialect) ScanRun(scan Scan) (*awaken.Run, error) {
	var id, thread string
	var data []byte
	if err := scan(&id, &thread, &data); err != nil {
		return nil, err
	}
	return d.DecodeRun(id, thread, data)
}

// DecodeRun decodes a run. The ids are the escaped ones of its row.
func (d *Dialect) DecodeRun(id, thread string, data []byte) (*awaken.Run, error) {
	r := new(awaken.Run)
	if err := json.Unmarshal(data, r); err != nil {
		return nil, fmt.Errorf("run %s: %w", id, err)
	}
	d.unescape(&id, &thread)
	r.RunID, r.ThreadID = id, thread // JSON cannot represent every id
	return r, nil
}

// Run returns a run, or nil if it does not exist.
func (s *Scope) Run(ctx context.Context, c Conn, id string) (r *awaken.Run, err error) {
	err = c.Query(ctx, `SELECT `+RunColumns+` FROM {p}_runs r WHERE r.tenant = ? AND r.id = ?`, []any{s.tenant, s.id(id)},
		func(scan Scan) (err error) { r, err = s.db.Dialect().ScanRun(scan); return err })
	return r, err
}

// LoadRun returns a run, or an ErrNotFound.
func (s *Tenant) LoadRun(ctx context.Context, id string) (*awaken.Run, error) {
	var r *awaken.Run
	err := s.scope.db.Read(ctx, func(c Conn) (err error) {
		r, err = s.scope.Run(ctx, c, id)
		return err
	})
	if err == nil && r == nil {
		err = threads.RunNotFound(id)
	}
	if err != nil {
		return nil, err
	}
	return r, nil
}

// ListRuns returns runs, the newest first.
func (s *Tenant) ListRuns(ctx context.Context, q awaken.RunQuery) ([]*awaken.Run, error) {
	where, args := s.selectedRuns(q)
	offset, limit := threads.Page(q.Offset, q.Limit)
	return list(ctx, s.scope.db, "list runs", `SELECT `+RunColumns+` FROM {p}_runs r WHERE `+where+` ORDER BY r.born DESC, r.id LIMIT ? OFFSET ?`,
		append(args, limit, offset), s.scope.db.Dialect().ScanRun)
}

// CountRuns returns how many runs q selects, on all pages.
func (s *Tenant) CountRuns(ctx context.Context, q awaken.RunQuery) (int, error) {
	where, args := s.selectedRuns(q)
	return count(ctx, s.scope.db, "count runs", `SELECT count(*) FROM {p}_runs r WHERE `+where, args)
}

// selectedRuns returns the WHERE clause of a query, with its arguments.
func (s *Tenant) selectedRuns(q awaken.RunQuery) (where string, args []any) {
	where, args = `r.tenant = ?`, []any{s.scope.tenant}
	if q.ThreadID != "" {
		where, args = where+` AND r.thread = ?`, append(args, s.scope.id(q.ThreadID))
	}
	if q.Status != "" {
		where, args = where+` AND r.status = ?`, append(args, s.scope.id(string(q.Status)))
	}
	if q.Owner != nil {
		where, args = where+` AND `+runOwnedBy(*q.Owner, "?"), append(args, s.scope.id(*q.Owner))
	}
	return where, args
}

// UsageTotals sums up the usage and cost of runs by agent.
func (s *Tenant) UsageTotals(ctx context.Context, q awaken.UsageQuery) ([]awaken.UsageTotal, error) {
	sum := func(number string) string { return `CAST(coalesce(sum(` + number + `), 0) AS bigint)` }
	tokens := func(field string) string { return sum(`CAST(data -> 'usage' ->> '` + field + `' AS numeric)`) }
	args, owned := []any{s.scope.tenant, s.scope.id(q.ThreadID), q.AgentID}, ``
	if q.Owner != nil {
		args, owned = append(args, s.scope.id(*q.Owner)), ` AND `+runOwnedBy(*q.Owner, "?4")
	}
	query := `SELECT data ->> 'agent_id'{bytes}, count(*), ` + tokens("prompt_tokens") + `, ` + tokens("completion_tokens") + `, ` + tokens("total_tokens") + `, ` +
		tokens("cache_read_tokens") + `, ` + tokens("cache_creation_tokens") + `, ` + tokens("thinking_tokens") + `, ` +
		sum(`CAST(round(CAST(data ->> 'cost_usd' AS numeric) * 1e9) AS bigint)`) + `
		FROM (SELECT {record} AS data FROM (SELECT ` + runRecord + ` AS record FROM {p}_runs r WHERE r.tenant = ?1 AND (?2 = '' OR r.thread = ?2)` + owned + `) x) y
		WHERE ?3 = '' OR data ->> 'agent_id' = ?3 GROUP BY 1 ORDER BY 1`
	return list(ctx, s.scope.db, "usage", query, args, func(scan Scan) (t awaken.UsageTotal, err error) {
		var cost int64
		u := &t.Usage
		err = scan(&t.AgentID, &t.Runs, &u.PromptTokens, &u.CompletionTokens, &u.TotalTokens, &u.CacheReadTokens, &u.CacheCreationTokens, &u.ThinkingTokens, &cost)
		t.CostUSD = money.Amount(cost).USD()
		return t, err
	})
}

// Ledger returns the last record of each call, by step and index. Records are in the order
// of their commits; Ledger reorders them in place.
func Ledger(records []*awaken.CallState) []*awaken.CallState {
	slices.Reverse(records)
	slices.SortStableFunc(records, threads.ComparePlaces)
	return slices.CompactFunc(records, func(a, b *awaken.CallState) bool { return threads.ComparePlaces(a, b) == 0 })
}
