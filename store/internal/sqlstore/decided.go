package sqlstore

import (
	"cmp"
	"context"
	"encoding/json"
	"fmt"
	"slices"

	"github.com/awaken-go/awaken"
	"github.com/awaken-go/awaken/mailbox"
)

// decisions returns the records of the decisions among items, in the order in which transactions
// lock them.
func decisions(items []awaken.InboxItem) (out []*awaken.Decided) {
	for i := range items {
		if d := items[i].Decided; d != nil {
			out = append(out, d)
		}
	}
	slices.SortStableFunc(out, func(a, b *awaken.Decided) int {
		return cmp.Or(cmp.Compare(a.RunID, b.RunID), cmp.Compare(a.TicketID, b.TicketID))
	})
	return out
}

// PutDecided returns the statements that keep the records of the decisions among the items that
// are posted to a thread. They do nothing if the thread does not exist or a question has an equal
// record, and violate that the column digest is not null if it has a different one.
func (s *Scope) PutDecided(threadID string, items []awaken.InboxItem) (out []Statement, err error) {
	for _, d := range decisions(items) {
		data, err := s.db.Dialect().Encode(d)
		if err != nil {
			return nil, fmt.Errorf("decision on %s: %w", d.TicketID, err)
		}
		var by awaken.Actor
		if d.Actor != nil {
			by = *d.Actor
		}
		out = append(out, statement(`INSERT INTO {p}_decisions AS d (tenant, run, ticket, thread, tool, key_id, label, person, at, digest, data)
			SELECT ?1, ?2, ?3, ?4, ?5, ?6, ?7, ?8, CAST(?9 AS bigint), ?10, ?11 WHERE EXISTS (SELECT 1 FROM {p}_threads WHERE tenant = ?1 AND id = ?12)
			ON CONFLICT (tenant, run, ticket) DO UPDATE SET digest = CASE d.digest WHEN excluded.digest THEN d.digest END`,
			s.tenant, s.id(d.RunID), s.id(d.TicketID), s.id(d.ThreadID), s.id(d.ToolName), s.id(by.KeyID), s.id(by.Label), s.id(by.User), d.At, d.Digest(), data, s.id(threadID)))
	}
	return out, nil
}

// Contradicted returns the stored record that one of the items contradicts, or nil.
func (s *Scope) Contradicted(ctx context.Context, c Conn, items []awaken.InboxItem) (*awaken.Decided, error) {
	for _, d := range decisions(items) {
		var old *awaken.Decided
		err := c.Query(ctx, `SELECT `+decidedColumns+` FROM {p}_decisions WHERE tenant = ? AND run = ? AND ticket = ? AND digest <> ?`,
			[]any{s.tenant, s.id(d.RunID), s.id(d.TicketID), d.Digest()}, func(scan Scan) (err error) {
				old, err = s.db.Dialect().scanDecided(scan)
				return err
			})
		if err != nil || old != nil {
			return old, err
		}
	}
	return nil, nil
}

// Settled returns a ledger with the settlements of calls in doubt that were decided after the calls were over. It
// replaces the records that have one.
func (s *Scope) Settled(ctx context.Context, runID string, calls []*awaken.CallState) ([]*awaken.CallState, error) {
	for i, call := range calls {
		if !call.Doubt.Open() {
			continue
		}
		var d *awaken.Decided
		err := s.db.Read(ctx, func(c Conn) error {
			return c.Query(ctx, `SELECT `+decidedColumns+` FROM {p}_decisions WHERE tenant = ? AND run = ? AND ticket = ?`,
				[]any{s.tenant, s.id(runID), s.id(awaken.SettlementID(call.CallID))}, func(scan Scan) (err error) {
					d, err = s.db.Dialect().scanDecided(scan)
					return err
				})
		})
		if err != nil {
			return nil, fmt.Errorf("settlement of call %s of run %s: %w", call.CallID, runID, err)
		}
		if d != nil {
			calls[i] = call.ApplySettlement(d)
		}
	}
	return calls, nil
}

const decidedColumns = `run, ticket, thread, data`

// scanDecided scans decidedColumns.
func (d *Dialect) scanDecided(scan Scan) (*awaken.Decided, error) {
	var run, ticket, thread string
	var data []byte
	if err := scan(&run, &ticket, &thread, &data); err != nil {
		return nil, err
	}
	out := new(awaken.Decided)
	if err := json.Unmarshal(data, out); err != nil {
		return nil, fmt.Errorf("decision on %s: %w", ticket, err)
	}
	d.unescape(&run, &ticket, &thread)
	out.RunID, out.TicketID, out.ThreadID = run, ticket, thread // JSON cannot represent every id
	return out, nil
}

// Decisions lists the records of decisions.
func (s *Tenant) Decisions(ctx context.Context, q mailbox.DecisionQuery) ([]*awaken.Decided, error) {
	where, args := `tenant = ?`, []any{s.scope.tenant}
	and := func(condition string, more ...any) { where, args = where+` AND `+condition, append(args, more...) }
	if q.RunIDs != nil {
		and(`run IN (SELECT j.value FROM {texts})`, s.scope.ids(q.RunIDs))
	}
	if q.Actor != "" {
		by := s.scope.id(q.Actor)
		and(`(key_id = ? OR label = ? OR person = ?)`, by, by, by)
	}
	if q.Tool != "" {
		and(`tool = ?`, s.scope.id(q.Tool))
	}
	if q.Owner != nil {
		and(`thread IN (SELECT t.id FROM {p}_threads t WHERE t.tenant = ? AND `+ownedBy(*q.Owner, "?")+`)`, s.scope.tenant, s.scope.id(*q.Owner))
	}
	if q.Since > 0 {
		and(`at >= ?`, q.Since)
	}
	if p := q.After; p != nil {
		run := s.scope.id(p.RunID)
		and(`(at < ? OR at = ? AND (run > ? OR run = ? AND ticket > ?))`, p.At, p.At, run, run, s.scope.id(p.TicketID))
	}
	return list(ctx, s.scope.db, "list decisions", `SELECT `+decidedColumns+` FROM {p}_decisions WHERE `+where+` ORDER BY at DESC, run, ticket LIMIT ?`,
		append(args, q.Size()), s.scope.db.Dialect().scanDecided)
}
