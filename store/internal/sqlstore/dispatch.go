package sqlstore

import (
	"context"
	"encoding/json"
	"fmt"
	"maps"
	"slices"

	"github.com/awaken-go/awaken"
	"github.com/awaken-go/awaken/mailbox"
	"github.com/awaken-go/awaken/store/internal/threads"
)

// The columns and tables of a dispatch with its claim, if any.
const (
	DispatchColumns = `d.tenant, d.id, d.thread, d.run, d.request, d.priority, d.dedupe, d.epoch, d.status, d.cancel, d.revision,
		d.available, d.attempts, d.max_attempts, d.steps, d.error, d.key, d.digest, d.created, {max}(d.updated, coalesce(q.stamp, 0)), d.completed,
		q.token, q.consumer, q.lease, d.crashes, d.lost, d.failures, d.message, d.said`
	DispatchTables = `{p}_dispatches d LEFT JOIN {p}_queues q ON q.tenant = d.tenant AND q.id = d.thread AND q.claimed = d.id`
)

// ScanDispatch scans a row of DispatchColumns.
func (d *Dialect) ScanDispatch(scan Scan) (*mailbox.Dispatch, error) {
	out := new(mailbox.Dispatch)
	var request, failures []byte
	var token, consumer *string
	var lease *int64
	if err := scan(&out.Tenant, &out.ID, &out.ThreadID, &out.RunID, &request, &out.Priority, &out.DedupeKey, &out.Epoch, (*string)(&out.Status), &out.Cancel, &out.Revision,
		&out.AvailableAt, &out.Attempts, &out.MaxAttempts, &out.Steps, &out.LastError, &out.IdempotencyKey, &out.Digest, &out.CreatedAt, &out.UpdatedAt, &out.CompletedAt,
		&token, &consumer, &lease, &out.Crashes, &out.LostAt, &failures, &out.MessageID, &out.Said); err != nil {
		return nil, err
	}
	d.unescape(&out.Tenant, &out.ID, &out.ThreadID, &out.RunID, &out.DedupeKey,
		&out.LastError, &out.IdempotencyKey, &out.Digest, &out.MessageID, &out.Said)
	if token != nil {
		d.unescape(consumer)
		out.Status, out.ClaimToken, out.ClaimedBy, out.LeaseUntil = mailbox.Claimed, *token, *consumer, *lease
	}
	if failures != nil {
		if err := json.Unmarshal(failures, &out.Failures); err != nil {
			return nil, fmt.Errorf("dispatch %s: %w", out.ID, err)
		}
		for i := range out.Failures {
			d.unescape(&out.Failures[i].Error, &out.Failures[i].Worker)
		}
	}
	if request != nil {
		out.Request = new(awaken.RunRequest)
		if err := json.Unmarshal(request, out.Request); err != nil {
			return nil, fmt.Errorf("dispatch %s: %w", out.ID, err)
		}
	}
	return out, nil
}

// Dispatch returns a dispatch by its id, or an ErrNotFound.
func (s *Tenant) Dispatch(ctx context.Context, id string) (*mailbox.Dispatch, error) {
	return s.dispatch(ctx, "dispatch "+id, `d.id = ?`, id)
}

// Submitted returns the dispatch of an idempotency key, or an ErrNotFound.
func (s *Tenant) Submitted(ctx context.Context, key string) (*mailbox.Dispatch, error) {
	return s.dispatch(ctx, "idempotency key "+key, `d.key = ? AND d.key <> ''`, key)
}

func (s *Tenant) dispatch(ctx context.Context, what, where, arg string) (*mailbox.Dispatch, error) {
	all, err := s.dispatches(ctx, what, `d.tenant = ? AND `+where, s.scope.tenant, s.scope.id(arg))
	if err == nil && len(all) == 0 {
		err = fmt.Errorf("%s: %w", what, awaken.ErrNotFound)
	}
	if err != nil {
		return nil, err
	}
	return all[0], nil
}

func (s *Tenant) dispatches(ctx context.Context, what, where string, args ...any) ([]*mailbox.Dispatch, error) {
	return list(ctx, s.scope.db, what, `SELECT `+DispatchColumns+` FROM `+DispatchTables+` WHERE `+where, args, s.scope.db.Dialect().ScanDispatch)
}

// selectedDispatches returns the WHERE clause of a query, with its arguments.
func (s *Tenant) selectedDispatches(q mailbox.Query) (where string, args []any) {
	where, args = `d.tenant = ?`, []any{s.scope.tenant}
	if q.ThreadID != "" {
		where, args = where+` AND d.thread = ?`, append(args, s.scope.id(q.ThreadID))
	}
	if q.RunID != "" {
		// All dispatches of a run are on its thread, so no index on the run of each is needed.
		run := s.scope.id(q.RunID)
		where, args = where+` AND d.run = ? AND d.thread = (SELECT thread FROM {p}_runs WHERE tenant = ? AND id = ?
			UNION ALL SELECT o.thread FROM {p}_dispatches o WHERE o.tenant = ? AND o.run = ? AND o.born IS NOT NULL LIMIT 1)`, append(args, run, s.scope.tenant, run, s.scope.tenant, run)
	}
	if q.MessageID != "" {
		where, args = where+` AND d.message = ? AND d.message <> ''`, append(args, s.scope.id(q.MessageID))
	}
	if q.AgentID != "" {
		where, args = where+` AND coalesce((SELECT {record} ->> 'agent_id' FROM (SELECT `+runRecord+` AS record FROM {p}_runs r WHERE r.tenant = d.tenant AND r.id = d.run) x),
			(SELECT {record} ->> 'agent_id' FROM (SELECT d.request AS record) x), '') = ?`, append(args, q.AgentID)
	}
	if q.Worker != "" {
		where, args = where+` AND q.consumer = ?`, append(args, s.scope.id(q.Worker))
	}
	if q.After != "" {
		where, args = where+` AND d.id < ?`, append(args, s.scope.id(q.After))
	}
	if live := liveOnly(q); live && q.ThreadID == "" && q.RunID == "" {
		where, args = where+` AND d.completed = 0 AND d.thread IN (`+liveThreads+`)`, append(args, s.scope.tenant, s.scope.tenant, s.scope.tenant)
	} else if !live && endedOnly(q) {
		where += ` AND d.status IN ('DeadLetter', 'Cancelled', 'Superseded')` // has an index
	}
	if len(q.Statuses) > 0 {
		statuses := make([]string, len(q.Statuses))
		for i, status := range q.Statuses {
			statuses[i] = string(status)
		}
		where, args = where+` AND CASE WHEN q.id IS NULL THEN d.status ELSE 'Claimed' END IN (SELECT j.value FROM {texts})`, append(args, statuses)
	}
	return where, args
}

// liveThreads selects the threads of a tenant, the argument of each part, that have live dispatches: few, by indexes
// of all tenants. The index on the tenant has all threads that ever had one, so it is kept out.
const liveThreads = `SELECT o.id FROM {p}_queues o WHERE o.lease IS NOT NULL AND o.tenant || '' = ?
	UNION SELECT o.id FROM {p}_queues o WHERE o.since IS NOT NULL AND o.tenant || '' = ?
	UNION SELECT o.id FROM {p}_queues o WHERE o.wake IS NOT NULL AND o.tenant || '' = ?`

// liveOnly reports whether q selects only live dispatches.
func liveOnly(q mailbox.Query) bool {
	return q.Worker != "" || len(q.Statuses) > 0 && !slices.ContainsFunc(q.Statuses, mailbox.Status.Terminal)
}

// endedOnly reports whether q selects only dispatches that ended in another way than by being processed.
func endedOnly(q mailbox.Query) bool {
	return len(q.Statuses) > 0 && !slices.ContainsFunc(q.Statuses, func(s mailbox.Status) bool { return !s.Terminal() || s == mailbox.Acked })
}

// Backlog returns live dispatches, and the open runs of their threads.
func (s *Tenant) Backlog(ctx context.Context, limit int, threadIDs ...string) (live []*mailbox.Dispatch, open map[string]string, err error) {
	where, args := `d.tenant = ? AND d.completed = 0 AND d.thread IN (`+liveThreads+`)`, []any{s.scope.tenant, s.scope.tenant, s.scope.tenant, s.scope.tenant}
	if len(threadIDs) > 0 {
		where, args = `d.tenant = ? AND d.completed = 0 AND d.thread IN (SELECT j.value FROM {texts})`, []any{s.scope.tenant, s.scope.ids(threadIDs)}
	}
	if live, err = s.dispatches(ctx, "backlog", where+` ORDER BY d.id LIMIT ?`, append(args, max(limit, 0))...); err != nil || len(live) == 0 {
		return nil, map[string]string{}, err
	}
	threads := make([]string, 0, len(live))
	for _, d := range live {
		threads = append(threads, d.ThreadID)
	}
	dialect := s.scope.db.Dialect()
	open, err = collect(ctx, s.scope.db, "backlog", `SELECT id, open_run FROM {p}_threads WHERE tenant = ? AND id IN (SELECT j.value FROM {texts}) AND open_run <> ''`,
		[]any{s.scope.tenant, s.scope.ids(threads)}, func(scan Scan) (thread, run string, err error) {
			err = scan(&thread, &run)
			dialect.unescape(&thread, &run)
			return thread, run, err
		})
	return live, open, err
}

// CountDispatches returns the number of the tenant's dispatches by status.
func (s *Tenant) CountDispatches(ctx context.Context) (map[mailbox.Status]int, error) {
	return counts(ctx, s.scope.db, `SELECT status, count(*) FROM {p}_dispatches WHERE tenant = ?1 GROUP BY status
		UNION ALL SELECT 'Claimed', count(*) FROM {p}_queues WHERE lease IS NOT NULL AND tenant || '' = ?1`, s.scope.tenant)
}

// Dispatches lists dispatches: those of a thread or run in queue order, others by id, the greatest
// first.
func (s *Tenant) Dispatches(ctx context.Context, q mailbox.Query) ([]*mailbox.Dispatch, error) {
	where, args := s.selectedDispatches(q)
	order := `d.id DESC`
	if q.ThreadID != "" || q.RunID != "" {
		order = `d.priority, d.created, d.id`
	}
	offset, limit := threads.Page(q.Offset, q.Limit)
	return s.dispatches(ctx, "list dispatches", where+` ORDER BY `+order+` LIMIT ? OFFSET ?`, append(args, limit, offset)...)
}

// PurgeDispatches removes the completed dispatches that q selects, on all pages.
func (s *Tenant) PurgeDispatches(ctx context.Context, q mailbox.Query) (int, error) {
	where, args := s.selectedDispatches(q)
	var n int64
	err := s.scope.db.Write(ctx, func(ctx context.Context, c Conn) (refused, err error) {
		n, err = c.Exec(ctx, Statement{`DELETE FROM {p}_dispatches WHERE (tenant, id) IN (SELECT d.tenant, d.id FROM ` + DispatchTables + ` WHERE d.completed > 0 AND ` + where + `)`, args})
		return nil, err
	})
	if err != nil {
		return 0, fmt.Errorf("purge dispatches: %w", err)
	}
	return int(n), nil
}

// Counts returns the number of dispatches of all tenants by status.
func Counts(ctx context.Context, db DB) (map[mailbox.Status]int, error) {
	return counts(ctx, db, `SELECT status, count(*) FROM {p}_dispatches GROUP BY status
		UNION ALL SELECT 'Claimed', count(*) FROM {p}_queues WHERE lease IS NOT NULL`)
}

// DeadLettered returns how many dispatches of all tenants have ever become dead letters.
func DeadLettered(ctx context.Context, db DB) (n int64, err error) {
	err = read(ctx, db, "count dead letters", func(c Conn) error {
		_, err := row(ctx, c, `SELECT CAST(coalesce(sum(n), 0) AS bigint) FROM {p}_dead_letters`, nil, &n)
		return err
	})
	return n, err
}

// counts returns numbers of dispatches by status.
func counts(ctx context.Context, db DB, query string, args ...any) (map[mailbox.Status]int, error) {
	out, err := collect(ctx, db, "count dispatches", query, args, func(scan Scan) (status mailbox.Status, n int, err error) {
		err = scan((*string)(&status), &n)
		return status, n, err
	})
	if err != nil {
		return nil, err
	}
	out[mailbox.Queued] -= out[mailbox.Claimed] // the table has claimed ones as Queued
	maps.DeleteFunc(out, func(_ mailbox.Status, n int) bool { return n <= 0 })
	return out, nil
}

// CheckSettlements refuses settlements with the status Claimed.
func CheckSettlements(settlements []mailbox.Settlement) error {
	for i := range settlements {
		if s := &settlements[i]; s.Status == mailbox.Claimed {
			return fmt.Errorf("settle dispatch %s: %w: status is Claimed, want Queued or a terminal one", s.ID, awaken.ErrInvalid)
		}
	}
	return nil
}
