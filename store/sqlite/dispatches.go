package sqlite

import (
	"context"
	"fmt"
	"strings"

	"github.com/awaken-go/awaken"
	"github.com/awaken-go/awaken/mailbox"
	"github.com/awaken-go/awaken/store/internal/sqlstore"
)

// dispatches implements [mailbox.Store]: it is a tenant's part of the queue.
type dispatches scope

// Enqueue queues dispatches that start runs.
func (s *dispatches) Enqueue(ctx context.Context, ds ...*mailbox.Dispatch) (left []int, err error) {
	if err := ctx.Err(); err != nil {
		return nil, context.Cause(ctx)
	}
	requests := make([]string, len(ds))
	for i, d := range ds {
		if d.Request == nil {
			return nil, fmt.Errorf("enqueue dispatch %s: %w: it has no request", d.ID, awaken.ErrInvalid)
		}
		if requests[i], err = encode(d.Request); err != nil {
			return nil, fmt.Errorf("enqueue dispatch %s: %w", d.ID, err)
		}
	}
	queued := make([]*mailbox.Dispatch, len(ds))
	err = s.db.writer.write(func(c *conn) error {
		now := queueConn{c}.moment()
		left = nil
		for i, d := range ds {
			q := *d
			q.Tenant, q.Status, q.CreatedAt, q.UpdatedAt, q.AvailableAt = s.tenant, mailbox.Queued, now.ms, now.ms, now.ms+max(d.AvailableAt, 0)
			ok, err := queueConn{c}.enqueue(&q, requests[i], now)
			if err != nil {
				return err
			}
			if queued[i] = &q; !ok {
				queued[i], left = nil, append(left, i)
			}
		}
		return nil
	})
	if err != nil {
		return nil, fmt.Errorf("enqueue: %w", err)
	}
	for i, q := range queued {
		if q != nil {
			*ds[i] = *q
		}
	}
	return left, nil
}

// enqueue queues a dispatch if it can be.
func (c queueConn) enqueue(d *mailbox.Dispatch, request string, now moment) (ok bool, err error) {
	ctx, k := context.Background(), queueKey{d.Tenant, d.ThreadID}
	var one int
	refused, err := c.row(ctx, `SELECT 1 FROM {p}_dispatches WHERE tenant = ?1 AND id = ?2
		UNION ALL SELECT 1 FROM {p}_dispatches WHERE tenant = ?1 AND key = ?4 AND key <> ''
		UNION ALL SELECT 1 FROM {p}_threads t JOIN {p}_runs r ON r.tenant = t.tenant AND r.id = t.open_run WHERE t.tenant = ?1 AND t.id = ?3 AND r.status = 'waiting'
		UNION ALL SELECT 1 FROM {p}_dispatches WHERE tenant = ?1 AND thread = ?3 AND completed = 0 AND dedupe = ?5 AND ?5 <> ''`,
		[]any{d.Tenant, d.ID, d.ThreadID, d.IdempotencyKey, d.DedupeKey}, &one)
	if err != nil || refused {
		return false, err
	}
	if err := c.of(k.tenant).makeThread(k.thread, now); err != nil {
		return false, err
	}
	if _, err := c.row(ctx, `INSERT INTO {p}_queues (tenant, id) VALUES (?, ?) ON CONFLICT DO UPDATE SET epoch = epoch RETURNING epoch`, []any{k.tenant, k.thread}, &d.Epoch); err != nil {
		return false, err
	}
	if _, err := c.exec(`INSERT INTO {p}_dispatches (tenant, id, thread, run, status, priority, available, created, updated, epoch, max_attempts, dedupe, key, digest, request)
		VALUES (?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?)`, d.Tenant, d.ID, d.ThreadID, d.RunID, string(d.Status), d.Priority, d.AvailableAt, d.CreatedAt, d.UpdatedAt,
		int64(d.Epoch), d.MaxAttempts, d.DedupeKey, d.IdempotencyKey, d.Digest, request); err != nil {
		return false, err
	}
	var exists bool
	if exists, err = c.row(ctx, `SELECT 1 FROM {p}_runs WHERE tenant = ? AND id = ?`, []any{d.Tenant, d.RunID}, &one); err == nil && !exists {
		err = c.of(d.Tenant).putRun(d.NewRun())
	}
	if err != nil {
		return false, err
	}
	return true, c.ready(k, moment{c.moment().us, now.ms})
}

// Dispatch returns a dispatch by its id.
func (s *dispatches) Dispatch(ctx context.Context, id string) (*mailbox.Dispatch, error) {
	return s.dispatch(ctx, "dispatch "+id, `d.tenant = ? AND d.id = ?`, id)
}

// Submitted returns the dispatch of an idempotency key.
func (s *dispatches) Submitted(ctx context.Context, key string) (*mailbox.Dispatch, error) {
	return s.dispatch(ctx, "idempotency key "+key, `d.tenant = ? AND d.key = ? AND d.key <> ''`, key)
}

func (s *dispatches) dispatch(ctx context.Context, what, where, arg string) (*mailbox.Dispatch, error) {
	var list []*mailbox.Dispatch
	err := s.db.read(ctx, func(c *conn) (err error) {
		list, err = queueConn{c}.dispatches(ctx, where, s.tenant, arg)
		return err
	})
	if err == nil && len(list) == 0 {
		err = awaken.ErrNotFound
	}
	if err != nil {
		return nil, fmt.Errorf("%s: %w", what, err)
	}
	return list[0], nil
}

// selected are the conditions of a query, with their arguments.
func (s *dispatches) selected(q mailbox.Query) (where string, args []any) {
	where, args = `d.tenant = ?`, []any{s.tenant}
	if q.ThreadID != "" {
		where, args = where+` AND d.thread = ?`, append(args, q.ThreadID)
	}
	if q.RunID != "" {
		where, args = where+` AND d.run = ?`, append(args, q.RunID)
	}
	if len(q.Statuses) > 0 {
		where += ` AND CASE WHEN q.id IS NULL THEN d.status ELSE 'Claimed' END IN (?` + strings.Repeat(`, ?`, len(q.Statuses)-1) + `)`
		for _, status := range q.Statuses {
			args = append(args, string(status))
		}
	}
	return where, args
}

// Dispatches lists dispatches.
func (s *dispatches) Dispatches(ctx context.Context, q mailbox.Query) ([]*mailbox.Dispatch, error) {
	where, args := s.selected(q)
	order := `d.created DESC, d.id DESC`
	if q.ThreadID != "" || q.RunID != "" {
		order = `d.priority, d.created, d.id`
	}
	offset, limit := sqlstore.Page(q.Offset, q.Limit)
	var out []*mailbox.Dispatch
	err := s.db.read(ctx, func(c *conn) (err error) {
		out, err = queueConn{c}.dispatches(ctx, where+` ORDER BY `+order+` LIMIT ? OFFSET ?`, append(args, limit, offset)...)
		return err
	})
	if err != nil {
		return nil, fmt.Errorf("list dispatches: %w", err)
	}
	return out, nil
}

// PurgeDispatches removes the dispatches of q that are over, on all its pages.
func (s *dispatches) PurgeDispatches(ctx context.Context, q mailbox.Query) (int, error) {
	where, args := s.selected(q)
	var n int64
	err := s.db.edit(ctx, func(_ context.Context, c *conn) (err error) {
		n, err = c.exec(`DELETE FROM {p}_dispatches WHERE (tenant, id) IN (SELECT d.tenant, d.id FROM `+dispatchTables+` WHERE d.completed > 0 AND `+where+`)`, args...)
		return err
	})
	if err != nil {
		return 0, fmt.Errorf("purge dispatches: %w", err)
	}
	return int(n), nil
}
