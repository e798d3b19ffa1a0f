package sqlite

import (
	"context"
	"fmt"

	"github.com/awaken-go/awaken"
	"github.com/awaken-go/awaken/mailbox"
	"github.com/awaken-go/awaken/store/internal/sqlstore"
)

// Enqueue queues dispatches that start runs, in one transaction.
func (s *scope) Enqueue(ctx context.Context, ds ...*mailbox.Dispatch) (left []int, err error) {
	requests := make([]string, len(ds))
	for i, d := range ds {
		if d.Request == nil {
			return nil, fmt.Errorf("enqueue dispatch %s: %w: the request is missing", d.ID, awaken.ErrInvalid)
		}
		if requests[i], err = dialect.Encode(d.Request); err != nil {
			return nil, fmt.Errorf("enqueue dispatch %s: %w", d.ID, err)
		}
	}
	queued := make([]*mailbox.Dispatch, len(ds))
	err = s.db.write(ctx, "enqueue", func(c *conn) (refused, err error) {
		now := queueConn{c}.moment()
		left = nil
		for i, d := range ds {
			q := *d
			q.Tenant, q.Status, q.CreatedAt, q.UpdatedAt, q.AvailableAt = s.tenant, mailbox.Queued, now.ms, now.ms, now.ms+max(d.AvailableAt, 0)
			ok, err := queueConn{c}.enqueue(&q, requests[i], now)
			if err != nil {
				return nil, err
			}
			if queued[i] = &q; !ok {
				queued[i], left = nil, append(left, i)
			}
		}
		return nil, nil
	})
	if err != nil {
		return nil, err
	}
	for i, q := range queued {
		if q != nil {
			*ds[i] = *q
		}
	}
	return left, nil
}

// enqueue queues a dispatch, unless Change is needed for it.
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
	if _, err := c.exec(sqlstore.MakeThread, k.tenant, k.thread, now.ms, d.Request.UserID); err != nil {
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
	exists, err := c.row(ctx, `SELECT 1 FROM {p}_runs WHERE tenant = ? AND id = ?`, []any{d.Tenant, d.RunID}, &one)
	if err != nil {
		return false, err
	}
	if !exists {
		put, err := c.of(k.tenant).scope().PutRun(d.NewRun())
		if err != nil {
			return false, err
		}
		if _, err := c.exec(put.Query, put.Args...); err != nil {
			return false, err
		}
	}
	return true, c.ready(k, moment{c.moment().us, now.ms})
}
