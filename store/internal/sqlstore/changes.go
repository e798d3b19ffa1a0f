package sqlstore

import (
	"context"
	"encoding/json"
	"fmt"
	"math"
	"time"

	"github.com/awaken-go/awaken"
	"github.com/awaken-go/awaken/eventlog/changelog"
)

// Changes implements [changelog.Store], except for the horizon, which engines have in their own way. The triggers of the
// migrations write the log.
type Changes struct {
	DB DB
	// Final returns the position up to which the log is complete.
	Final func(ctx context.Context) (int64, error)
}

var _ changelog.Store = (*Changes)(nil)

// Horizon implements [changelog.Store].
func (s *Changes) Horizon(ctx context.Context) (int64, error) {
	pos, err := s.Final(ctx)
	if err != nil {
		return 0, fmt.Errorf("changes: %w", err)
	}
	return pos, nil
}

// accepted is the kind of a row that is two changes: a run was created, at the position before that of the row, and its dispatch was queued.
const accepted = "accepted"

// changesOf selects the first ?4 rows of a tenant with changes behind ?2 and before ?3 or, of two changes, at ?3.
func changesOf(tenant string) string {
	return `SELECT c.* FROM {p}_changes c WHERE c.tenant = ` + tenant + ` AND c.pos > ?2 AND c.pos <= ?3 ORDER BY c.pos LIMIT ?4`
}

// next returns the position after pos. Statements do not add to their arguments: PostgreSQL would take these for numbers of 32 bits.
func next(pos int64) int64 {
	if pos == math.MaxInt64 {
		return pos
	}
	return pos + 1
}

// selectChanges selects changes of tenant ?1 and of the server, with what they refer to.
var selectChanges = `SELECT c.pos, c.kind, c.time, c.thread, c.run, c.status, c.ref, t.user_id, r.id, ` + runRecord + `, d.data, {calls}
	FROM (SELECT * FROM (` + changesOf(`?1`) + `) a UNION ALL SELECT * FROM (` + changesOf(`'`+changelog.Server+`'`) + `) b ORDER BY pos LIMIT ?4) c
	LEFT JOIN {p}_threads t ON t.tenant = c.tenant AND t.id = c.thread
	LEFT JOIN {p}_runs r ON c.kind = 'run' AND c.status <> 'created' AND r.tenant = c.tenant AND r.id = c.run
	LEFT JOIN {p}_decisions d ON c.kind = 'decision' AND d.tenant = c.tenant AND d.run = c.run AND d.ticket = c.ref
	LEFT JOIN {p}_commits k ON c.kind = 'ticket' AND {commit} ORDER BY c.pos`

// Changes implements [changelog.Store].
func (s *Changes) Changes(ctx context.Context, q changelog.Query) (page *changelog.Page, err error) {
	if q.Upto == 0 {
		if q.Upto, err = s.Horizon(ctx); err != nil {
			return nil, err
		}
	}
	d := s.DB.Dialect()
	err = read(ctx, s.DB, "changes", func(c Conn) error {
		page = &changelog.Page{Upto: max(q.After, q.Upto)}
		rows, last := 0, int64(0)
		if err := c.Query(ctx, selectChanges, []any{d.escape(q.Tenant), q.After, next(q.Upto), int64(q.Size())}, func(scan Scan) error {
			ch, err := d.scanChange(scan)
			if err != nil {
				return err
			}
			rows, last = rows+1, ch.Pos
			for _, ch := range changesOfRow(ch) {
				if ch.Pos > q.After && ch.Pos <= q.Upto {
					page.Changes = append(page.Changes, ch)
				}
			}
			return nil
		}); err != nil {
			return err
		}
		if rows == q.Size() && last < q.Upto {
			page.Upto, page.More = last, true
		}
		if len(page.Changes) > q.Size() {
			page.Changes = page.Changes[:q.Size()]
			page.Upto, page.More = page.Changes[q.Size()-1].Pos, true
		}
		return s.check(ctx, c, &q, page)
	})
	if err != nil {
		return nil, err
	}
	return page, nil
}

// changeAt is when the last change up to position ?1, which is before ?2, was made; none if it was removed.
const changeAt = `SELECT c.time FROM {p}_changes c
	WHERE c.pos <= ?2 AND (c.pos <= ?1 OR c.kind = '` + accepted + `')
	ORDER BY c.pos DESC LIMIT 1`

// check checks that the log has the position of q, and completes a page that was read.
func (s *Changes) check(ctx context.Context, c Conn, q *changelog.Query, page *changelog.Page) error {
	var have, floor, removed, end int64
	var known, last bool
	var err error
	if q.Check != 0 {
		if known, err = row(ctx, c, changeAt, []any{q.After, next(q.After)}, &have); err != nil {
			return err
		}
	}
	if n := len(page.Changes); n > 0 && page.Changes[n-1].Pos == page.Upto {
		page.Check, last = page.Changes[n-1].At, true
	} else if last, err = row(ctx, c, changeAt, []any{page.Upto, next(page.Upto)}, &page.Check); err != nil {
		return err
	}
	// Rows may have been removed until they were read, so the floor is read afterwards.
	if _, err := row(ctx, c, `SELECT f.pos, f.time, {changed} FROM {p}_changes_floor f`, nil, &floor, &removed, &end); err != nil {
		return err
	}
	if !known {
		have = removed
	}
	if !last {
		page.Check = removed
	}
	switch {
	case q.After < floor || q.After > end:
		return fmt.Errorf("position %d: %w, which has those from %d to %d", q.After, changelog.ErrGone, floor, end)
	case q.Check != 0 && q.Check != have:
		return fmt.Errorf("position %d with check %d: %w, which has check %d there", q.After, q.Check, changelog.ErrGone, have)
	}
	return nil
}

// changesOfRow returns the changes that a row is.
func changesOfRow(ch *changelog.Change) []changelog.Change {
	switch {
	case ch.Kind == changelog.Tickets && len(ch.Tickets) == 0:
		return nil
	case ch.Kind != accepted:
		return []changelog.Change{*ch}
	}
	run, dispatch := *ch, *ch
	run.Kind, run.Status, run.ID = changelog.Run, string(awaken.RunCreated), ""
	run.Pos--
	dispatch.Kind = changelog.Dispatch
	return []changelog.Change{run, dispatch}
}

// scanChange scans a row of selectChanges.
func (d *Dialect) scanChange(scan Scan) (*changelog.Change, error) {
	var ch changelog.Change
	var kind string
	var run, user *string
	var record, decided, calls []byte
	if err := scan(&ch.Pos, &kind, &ch.At, &ch.ThreadID, &ch.RunID, &ch.Status, &ch.ID, &user, &run, &record, &decided, &calls); err != nil {
		return nil, err
	}
	ch.Kind = changelog.Kind(kind)
	if ch.Deleted = user == nil && ch.ThreadID != ""; user != nil {
		ch.UserID = *user
	}
	if run != nil {
		var err error
		if ch.Run, err = d.DecodeRun(*run, ch.ThreadID, record); err != nil {
			return nil, err
		}
	}
	if decided != nil {
		ch.Decided = new(awaken.Decided)
		if err := json.Unmarshal(decided, ch.Decided); err != nil {
			return nil, fmt.Errorf("decision on %s: %w", ch.ID, err)
		}
	}
	if calls != nil {
		var ledger []*awaken.CallState
		if err := json.Unmarshal(calls, &ledger); err != nil {
			return nil, fmt.Errorf("ledger of run %s: %w", ch.RunID, err)
		}
		ch.Tickets = changelog.TicketsOf(ledger)
	}
	d.unescape(&ch.ThreadID, &ch.RunID, &ch.ID, &ch.UserID)
	if ch.Decided != nil { // JSON cannot represent every id
		ch.Decided.RunID, ch.Decided.TicketID, ch.Decided.ThreadID = ch.RunID, ch.ID, ch.ThreadID
	}
	return &ch, nil
}

// A trim that finds nothing to remove reads trimLooks rows; otherwise it removes up to trimAtOnce in one transaction.
const trimLooks, trimAtOnce = 100, 10_000

// oldest is the position of the last change older than ?1 ms among the first ?2 that were not removed. The last change of the log is
// not among them: the next position follows it.
const oldest = `SELECT coalesce(max(a.pos), 0) FROM (SELECT c.pos, c.time FROM {p}_changes c WHERE c.pos > (SELECT f.pos FROM {p}_changes_floor f)
	ORDER BY c.pos LIMIT ?2) a WHERE a.time <= {clock} - ?1 AND a.pos < (SELECT max(l.pos) FROM {p}_changes l)`

// TrimChanges implements [changelog.Store].
func (s *Changes) TrimChanges(ctx context.Context, keep time.Duration) (n int, err error) {
	var upto int64
	err = read(ctx, s.DB, "changes", func(c Conn) error {
		_, err := row(ctx, c, oldest, []any{keep.Milliseconds(), trimLooks}, &upto)
		return err
	})
	for more := upto > 0; more && err == nil; {
		var removed int
		removed, err = s.trim(ctx, keep)
		n, more = n+removed, removed >= trimAtOnce
	}
	if err != nil {
		return n, fmt.Errorf("changes: %w", err)
	}
	return n, nil
}

// trim removes up to trimAtOnce changes. Runs whose ends it removes are marked for [Rollups] first.
func (s *Changes) trim(ctx context.Context, keep time.Duration) (n int, err error) {
	err = s.DB.Write(ctx, func(ctx context.Context, c Conn) (refused, err error) {
		var marked, upto int64
		n = 0
		if _, err := row(ctx, c, `SELECT marked FROM {p}_changes_floor{lock}`, nil, &marked); err != nil {
			return nil, err
		}
		if _, err := row(ctx, c, oldest, []any{keep.Milliseconds(), trimAtOnce}, &upto); err != nil || upto == 0 {
			return nil, err
		}
		gone, err := c.Exec(ctx, markEnded(marked, upto), statement(`UPDATE {p}_changes_floor SET pos = ?1, time = (SELECT c.time FROM {p}_changes c WHERE c.pos = ?1), marked = {max}(marked, ?1)`, upto),
			statement(`DELETE FROM {p}_changes WHERE pos <= ?`, upto))
		n = int(gone)
		return nil, err
	})
	return n, err
}
