package sqlstore

import (
	"context"
	"encoding/json"
	"fmt"
	"slices"

	"github.com/awaken-go/awaken"
	"github.com/awaken-go/awaken/limit/money"
	"github.com/awaken-go/awaken/mailbox"
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

// The columns of a run r, and those of a dispatch d that is the record of one, which decodeAny decodes.
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

// AppendRun appends the record of a run as it is stored: without its ids, which its row has.
func AppendRun(dst []byte, r *awaken.Run) ([]byte, error) {
	const ids = `{"run_id":"","thread_id":"",`
	anon := *r
	anon.RunID, anon.ThreadID = "", ""
	out, err := anon.AppendJSON(dst)
	if err != nil {
		return dst, err
	}
	at := len(dst)
	n := copy(out[at+1:], out[at+len(ids):])
	return out[:at+1+n], nil
}

// listedRun is a row of runFields or dispatchFields, and its place in the order of runs.
type listedRun struct {
	id, thread, dispatch string
	data                 []byte // nil if the list does not have it
	created              int64
	born                 int64
}

// decodeListed decodes the record of a row.
func (d *Dialect) decodeListed(row *listedRun) (*awaken.Run, error) {
	if row.dispatch == "" {
		return d.DecodeRun(row.id, row.thread, row.data)
	}
	q := new(awaken.RunRequest)
	if err := json.Unmarshal(row.data, q); err != nil {
		return nil, fmt.Errorf("run %s: %w", row.id, err)
	}
	id, thread, dispatch := row.id, row.thread, row.dispatch
	d.unescape(&id, &thread, &dispatch)
	return (&mailbox.Dispatch{ID: dispatch, ThreadID: thread, RunID: id, Request: q, CreatedAt: row.created}).NewRun(), nil
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
			[]any{s.scope.tenant, s.scope.id(id)}, func(scan Scan) (err error) {
				var row listedRun
				if err = scan(&row.id, &row.thread, &row.data, &row.dispatch, &row.created); err == nil {
					r, err = s.scope.db.Dialect().decodeListed(&row)
				}
				return err
			})
	})
	if err == nil && r == nil {
		err = threads.RunNotFound(id)
	}
	if err != nil {
		return nil, err
	}
	return r, nil
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
