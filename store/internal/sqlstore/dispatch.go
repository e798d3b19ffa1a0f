package sqlstore

import (
	"context"
	"encoding/json"
	"fmt"

	"github.com/awaken-go/awaken"
	"github.com/awaken-go/awaken/mailbox"
)

// A dispatch, with the claim on it if there is one.
const (
	DispatchColumns = `d.tenant, d.id, d.thread, d.run, d.request, d.priority, d.dedupe, d.epoch, d.status, d.cancel, d.revision,
		d.available, d.attempts, d.max_attempts, d.steps, d.error, d.key, d.digest, d.created, {max}(d.updated, coalesce(q.stamp, 0)), d.completed,
		q.token, q.consumer, q.lease`
	DispatchTables = `{p}_dispatches d LEFT JOIN {p}_queues q ON q.tenant = d.tenant AND q.id = d.thread AND q.claimed = d.id`
)

// ScanDispatch returns the dispatch of a row of DispatchColumns.
func (d *Dialect) ScanDispatch(scan func(...any) error) (*mailbox.Dispatch, error) {
	out := new(mailbox.Dispatch)
	var request []byte
	var token, consumer *string
	var lease *int64
	if err := scan(&out.Tenant, &out.ID, &out.ThreadID, &out.RunID, &request, &out.Priority, &out.DedupeKey, &out.Epoch, (*string)(&out.Status), &out.Cancel, &out.Revision,
		&out.AvailableAt, &out.Attempts, &out.MaxAttempts, &out.Steps, &out.LastError, &out.IdempotencyKey, &out.Digest, &out.CreatedAt, &out.UpdatedAt, &out.CompletedAt,
		&token, &consumer, &lease); err != nil {
		return nil, err
	}
	d.unescape(&out.Tenant, &out.ID, &out.ThreadID, &out.RunID, &out.DedupeKey, &out.LastError, &out.IdempotencyKey, &out.Digest)
	if token != nil {
		d.unescape(consumer)
		out.Status, out.ClaimToken, out.ClaimedBy, out.LeaseUntil = mailbox.Claimed, *token, *consumer, *lease
	}
	if request != nil {
		out.Request = new(awaken.RunRequest)
		if err := json.Unmarshal(request, out.Request); err != nil {
			return nil, fmt.Errorf("dispatch %s: %w", out.ID, err)
		}
	}
	return out, nil
}

// DispatchReader is the part of [mailbox.Store] that looks dispatches up, and removes
// those that are over.
type DispatchReader Scope

// Dispatch returns a dispatch by its id.
func (s *DispatchReader) Dispatch(ctx context.Context, id string) (*mailbox.Dispatch, error) {
	return s.dispatch(ctx, "dispatch "+id, `d.id = ?`, id)
}

// Submitted returns the dispatch of an idempotency key.
func (s *DispatchReader) Submitted(ctx context.Context, key string) (*mailbox.Dispatch, error) {
	return s.dispatch(ctx, "idempotency key "+key, `d.key = ? AND d.key <> ''`, key)
}

func (s *DispatchReader) dispatch(ctx context.Context, what, where, arg string) (*mailbox.Dispatch, error) {
	list, err := s.list(ctx, `d.tenant = ? AND `+where, s.tenant, (*Scope)(s).id(arg))
	if err == nil && len(list) == 0 {
		err = awaken.ErrNotFound
	}
	if err != nil {
		return nil, fmt.Errorf("%s: %w", what, err)
	}
	return list[0], nil
}

func (s *DispatchReader) list(ctx context.Context, where string, args ...any) (out []*mailbox.Dispatch, err error) {
	err = s.db.Read(ctx, func(c Conn) error {
		out = nil
		return c.Query(ctx, `SELECT `+DispatchColumns+` FROM `+DispatchTables+` WHERE `+where, args, func(scan func(...any) error) error {
			d, err := s.db.Dialect().ScanDispatch(scan)
			out = append(out, d)
			return err
		})
	})
	return out, err
}

// selected returns the conditions of a query, with their arguments.
func (s *DispatchReader) selected(q mailbox.Query) (where string, args []any) {
	where, args = `d.tenant = ?`, []any{s.tenant}
	if q.ThreadID != "" {
		where, args = where+` AND d.thread = ?`, append(args, (*Scope)(s).id(q.ThreadID))
	}
	if q.RunID != "" {
		// Which thread the run belongs to says where its dispatches are, so they need no index.
		run := (*Scope)(s).id(q.RunID)
		where, args = where+` AND d.run = ? AND d.thread = (SELECT thread FROM {p}_runs WHERE tenant = ? AND id = ?)`, append(args, run, s.tenant, run)
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

// Dispatches lists dispatches.
func (s *DispatchReader) Dispatches(ctx context.Context, q mailbox.Query) ([]*mailbox.Dispatch, error) {
	where, args := s.selected(q)
	order := `d.created DESC, d.id DESC`
	if q.ThreadID != "" || q.RunID != "" {
		order = `d.priority, d.created, d.id`
	}
	offset, limit := page(q.Offset, q.Limit)
	out, err := s.list(ctx, where+` ORDER BY `+order+` LIMIT ? OFFSET ?`, append(args, limit, offset)...)
	if err != nil {
		return nil, fmt.Errorf("list dispatches: %w", err)
	}
	return out, nil
}

// PurgeDispatches removes the dispatches of q that are over, on all its pages.
func (s *DispatchReader) PurgeDispatches(ctx context.Context, q mailbox.Query) (int, error) {
	where, args := s.selected(q)
	var n int64
	err := s.db.Write(ctx, func(ctx context.Context, c Conn) (refused, err error) {
		n, err = c.Exec(ctx, Statement{`DELETE FROM {p}_dispatches WHERE (tenant, id) IN (SELECT d.tenant, d.id FROM ` + DispatchTables + ` WHERE d.completed > 0 AND ` + where + `)`, args})
		return nil, err
	})
	if err != nil {
		return 0, fmt.Errorf("purge dispatches: %w", err)
	}
	return int(n), nil
}

// Counts returns how many dispatches there are of each status, of all tenants.
func Counts(ctx context.Context, db DB) (map[mailbox.Status]int, error) {
	var out map[mailbox.Status]int
	err := db.Read(ctx, func(c Conn) error {
		out = map[mailbox.Status]int{}
		return c.Query(ctx, `SELECT status, count(*) FROM {p}_dispatches GROUP BY status
			UNION ALL SELECT 'Claimed', count(*) FROM {p}_queues WHERE lease IS NOT NULL`, nil, func(scan func(...any) error) error {
			var status string
			var n int
			err := scan(&status, &n)
			if n > 0 {
				out[mailbox.Status(status)] = n
			}
			return err
		})
	})
	if err != nil {
		return nil, fmt.Errorf("count dispatches: %w", err)
	}
	if out[mailbox.Queued] -= out[mailbox.Claimed]; out[mailbox.Queued] <= 0 { // they count as queued in their table
		delete(out, mailbox.Queued)
	}
	return out, nil
}
