package sqlstore

import (
	"context"
	"encoding/json"
	"fmt"
	"math"
	"slices"
	"strings"

	"github.com/awaken-go/awaken"
	"github.com/awaken-go/awaken/mailbox"
	"github.com/awaken-go/awaken/money"
	"github.com/awaken-go/awaken/store/internal/threads"
)

// runRecord is the record of a run r. While a run is running, the row of its thread holds
// it.
const runRecord = `CASE r.status WHEN 'running' THEN coalesce(
	(SELECT h.run FROM {p}_threads h WHERE h.tenant = r.tenant AND h.id = r.thread AND h.open_run = r.id), r.data) ELSE r.data END`

// RunColumns are the columns of a run r that [Dialect.ScanRun] scans.
const RunColumns = `r.id, r.thread, ` + runRecord

// CreatedRuns selects the live dispatches d that are the records of runs which have none yet. A condition
// can follow.
const CreatedRuns = `{p}_dispatches d WHERE d.completed = 0 AND ` + isRecord

// isRecord is the condition that a dispatch d is the record of its run.
const isRecord = `d.born IS NOT NULL AND NOT EXISTS (SELECT 1 FROM {p}_runs x WHERE x.tenant = d.tenant AND x.id = d.run)`

// The columns of a run r, and those of a dispatch d that is the record of one, which scanAny scans.
const (
	runFields      = RunColumns + ` AS record, '' AS dispatch, 0 AS created`
	dispatchFields = `d.run, d.thread, d.request, d.id, d.created`
)

// ofUser returns the condition that the thread of a run, in a column, belongs to a user.
func ofUser(table, user, param string) string {
	return table + `.thread IN (SELECT o.id FROM {p}_threads o WHERE o.tenant = ` + table + `.tenant AND ` + ownedBy(user, param) + `)`
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

// scanAny scans a row of runFields or dispatchFields.
func (d *Dialect) scanAny(scan Scan) (*awaken.Run, error) {
	var id, thread, dispatch string
	var data []byte
	var created int64
	if err := scan(&id, &thread, &data, &dispatch, &created); err != nil {
		return nil, err
	}
	if dispatch == "" {
		return d.DecodeRun(id, thread, data)
	}
	q := new(awaken.RunRequest)
	if err := json.Unmarshal(data, q); err != nil {
		return nil, fmt.Errorf("run %s: %w", id, err)
	}
	d.unescape(&id, &thread, &dispatch)
	return (&mailbox.Dispatch{ID: dispatch, ThreadID: thread, RunID: id, Request: q, CreatedAt: created}).NewRun(), nil
}

// Run returns a run that has started or ended, or nil if there is none.
func (s *Scope) Run(ctx context.Context, c Conn, id string) (r *awaken.Run, err error) {
	err = c.Query(ctx, `SELECT `+RunColumns+` FROM {p}_runs r WHERE r.tenant = ? AND r.id = ?`, []any{s.tenant, s.id(id)},
		func(scan Scan) (err error) { r, err = s.db.Dialect().ScanRun(scan); return err })
	return r, err
}

// LoadRun returns a run, or an ErrNotFound.
func (s *Tenant) LoadRun(ctx context.Context, id string) (*awaken.Run, error) {
	var r *awaken.Run
	err := s.scope.db.Read(ctx, func(c Conn) error {
		return c.Query(ctx, `SELECT `+runFields+` FROM {p}_runs r WHERE r.tenant = ?1 AND r.id = ?2
			UNION ALL SELECT `+dispatchFields+` FROM {p}_dispatches d WHERE d.tenant = ?1 AND d.run = ?2 AND `+isRecord,
			[]any{s.scope.tenant, s.scope.id(id)}, func(scan Scan) (err error) { r, err = s.scope.db.Dialect().scanAny(scan); return err })
	})
	if err == nil && r == nil {
		err = threads.RunNotFound(id)
	}
	if err != nil {
		return nil, err
	}
	return r, nil
}

// ListRuns returns runs, the newest first: those that have started or ended, and those whose dispatch
// is still their record, in one order.
func (s *Tenant) ListRuns(ctx context.Context, q awaken.RunQuery) ([]*awaken.Run, error) {
	offset, limit := threads.Page(q.Offset, q.Limit)
	first := limit // of each table
	if first < math.MaxInt64-offset {
		first += offset
	} else {
		first = math.MaxInt64
	}
	runs, created, args := s.selectedRuns(q)
	n := len(args)
	args = append(args, first, limit, offset)
	query := fmt.Sprintf(`SELECT id, thread, record, dispatch, created FROM (
			SELECT * FROM (SELECT %s, r.born AS born FROM {p}_runs r WHERE %s ORDER BY r.born DESC, r.id LIMIT ?%d) a
			UNION ALL SELECT * FROM (SELECT %s, d.born FROM %s ORDER BY d.born DESC LIMIT ?%d) b) l
		ORDER BY born DESC, id LIMIT ?%d OFFSET ?%d`, runFields, runs, n+1, dispatchFields, created, n+1, n+2, n+3)
	return list(ctx, s.scope.db, "list runs", query, args, s.scope.db.Dialect().scanAny)
}

// CountRuns returns how many runs q selects, on all pages.
func (s *Tenant) CountRuns(ctx context.Context, q awaken.RunQuery) (int, error) {
	runs, created, args := s.selectedRuns(q)
	return count(ctx, s.scope.db, "count runs", `SELECT (SELECT count(*) FROM {p}_runs r WHERE `+runs+`) + (SELECT count(*) FROM `+created+`)`, args)
}

// selectedRuns returns the conditions of a query: for runs r, and the table and conditions for dispatches
// d that are the records of runs. Both use the same arguments.
func (s *Tenant) selectedRuns(q awaken.RunQuery) (runs, created string, args []any) {
	runs, created, args = `r.tenant = ?1`, CreatedRuns+` AND d.tenant = ?1`, []any{s.scope.tenant}
	add := func(runCondition, dispatchCondition string, arg any) {
		args = append(args, arg)
		param := fmt.Sprintf("?%d", len(args))
		runs += ` AND ` + strings.ReplaceAll(runCondition, "?", param)
		created += ` AND ` + strings.ReplaceAll(dispatchCondition, "?", param)
	}
	if q.ThreadID != "" {
		add(`r.thread = ?`, `d.thread = ?`, s.scope.id(q.ThreadID))
	}
	if q.Status != "" {
		add(`r.status = ?`, `CAST(? AS text) = 'created'`, s.scope.id(string(q.Status)))
	}
	if q.Owner != nil {
		add(ofUser("r", *q.Owner, "?"), ofUser("d", *q.Owner, "?"), s.scope.id(*q.Owner))
	}
	return runs, created, args
}

// UsageTotals sums up the usage and cost of runs by agent.
func (s *Tenant) UsageTotals(ctx context.Context, q awaken.UsageQuery) ([]awaken.UsageTotal, error) {
	sum := func(number string) string { return `CAST(coalesce(sum(` + number + `), 0) AS bigint)` }
	tokens := func(field string) string { return sum(`CAST(data -> 'usage' ->> '` + field + `' AS numeric)`) }
	args, owned, created := []any{s.scope.tenant, s.scope.id(q.ThreadID), q.AgentID}, ``, ``
	if q.Owner != nil {
		args, owned = append(args, s.scope.id(*q.Owner)), ` AND `+ofUser("r", *q.Owner, "?4")
		created = ` AND ` + ofUser("d", *q.Owner, "?4")
	}
	query := `SELECT coalesce(data ->> 'agent_id', ''){bytes}, count(*), ` + tokens("prompt_tokens") + `, ` + tokens("completion_tokens") + `, ` + tokens("total_tokens") + `, ` +
		tokens("cache_read_tokens") + `, ` + tokens("cache_creation_tokens") + `, ` + tokens("thinking_tokens") + `, ` +
		sum(`CAST(round(CAST(data ->> 'cost_usd' AS numeric) * 1e9) AS bigint)`) + `
		FROM (SELECT {record} AS data FROM (SELECT ` + runRecord + ` AS record FROM {p}_runs r WHERE r.tenant = ?1 AND (?2 = '' OR r.thread = ?2)` + owned + `
			UNION ALL SELECT d.request FROM ` + CreatedRuns + ` AND d.tenant = ?1 AND (?2 = '' OR d.thread = ?2)` + created + `) x) y
		WHERE ?3 = '' OR data ->> 'agent_id' = ?3 GROUP BY 1 ORDER BY 1`
	return list(ctx, s.scope.db, "usage", query, args, func(scan Scan) (t awaken.UsageTotal, err error) {
		var cost int64
		u := &t.Usage
		err = scan(&t.AgentID, &t.Runs, &u.PromptTokens, &u.CompletionTokens, &u.TotalTokens, &u.CacheReadTokens, &u.CacheCreationTokens, &u.ThinkingTokens, &cost)
		t.CostUSD = money.Amount(cost).USD()
		return t, err
	})
}

// Ledger returns the record of each call, by step and index. Records are in the order of their
// commits; Ledger reorders them in place.
func Ledger(records []*awaken.CallState) []*awaken.CallState {
	slices.SortStableFunc(records, threads.ComparePlaces)
	calls := records[:0]
	for _, r := range records {
		if n := len(calls) - 1; n >= 0 && threads.ComparePlaces(calls[n], r) == 0 {
			calls[n] = r.Follow(calls[n])
		} else {
			calls = append(calls, r)
		}
	}
	clear(records[len(calls):])
	return calls
}
