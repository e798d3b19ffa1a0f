package sqlite

import (
	"context"
	"fmt"

	"github.com/awaken-go/awaken"
	"github.com/awaken-go/awaken/internal/ids"
	"github.com/awaken-go/awaken/mailbox"
	"github.com/awaken-go/awaken/store/internal/sqlstore"
)

// Enqueue queues dispatches that start runs, in one transaction.
func (s *scope) Enqueue(ctx context.Context, terms mailbox.Terms, ds ...*mailbox.Dispatch) (left []int, err error) {
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
	err = s.db.write(ctx, s.tenant, "enqueue", func(c *conn) (refused, err error) {
		terms := terms
		if terms.Start != nil && !s.processes.live(terms.Start.Consumer, s.db.clock()) {
			terms.Start = nil
		}
		now := queueConn{c}.moment()
		left = nil
		for i, d := range ds {
			q := *d
			q.Tenant, q.Status, q.CreatedAt, q.UpdatedAt, q.AvailableAt = s.tenant, mailbox.Queued, now.ms, now.ms, now.ms+max(d.AvailableAt, 0)
			ok, err := queueConn{c}.enqueue(&q, terms, requests[i], now)
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
func (c queueConn) enqueue(d *mailbox.Dispatch, terms mailbox.Terms, request string, now moment) (ok bool, err error) {
	ctx, k := context.Background(), queueKey{d.Tenant, d.ThreadID}
	var one int
	refused, err := c.row(ctx, `SELECT 1 FROM {p}_dispatches WHERE tenant = ?1 AND id = ?2
		UNION ALL SELECT 1 FROM {p}_dispatches WHERE tenant = ?1 AND key = ?4 AND key <> ''
		UNION ALL SELECT 1 FROM {p}_dispatches WHERE tenant = ?1 AND thread = ?3 AND message = ?10 AND message <> ''
		UNION ALL SELECT 1 FROM {p}_runs WHERE tenant = ?1 AND id = ?9
		UNION ALL SELECT 1 FROM {p}_dispatches WHERE tenant = ?1 AND run = ?9 AND born IS NOT NULL
		UNION ALL SELECT 1 FROM {p}_threads t WHERE t.tenant = ?1 AND t.id = ?3 AND (?6 AND t.open_run <> '' OR ?7 AND t.user_id <> ?8
			OR t.open_run <> '' AND EXISTS (SELECT 1 FROM {p}_runs r WHERE r.tenant = t.tenant AND r.id = t.open_run AND r.status = 'waiting'))
		UNION ALL SELECT 1 FROM {p}_dispatches WHERE tenant = ?1 AND thread = ?3 AND completed = 0 AND (?6 OR dedupe = ?5 AND ?5 <> '')`,
		[]any{d.Tenant, d.ID, d.ThreadID, d.IdempotencyKey, d.DedupeKey, terms.Idle, terms.Confined,
			d.Request.UserID, d.RunID, d.MessageID}, &one)
	if err != nil || refused {
		return false, err
	}
	d.End = awaken.Cursor{}
	exists, err := c.row(ctx, `SELECT fence, last_seq FROM {p}_threads WHERE tenant = ? AND id = ?`, []any{k.tenant, k.thread}, &d.End.Epoch, &d.End.Seq)
	if err != nil {
		return false, err
	}
	if !exists {
		if _, err := c.exec(sqlstore.MakeThread, k.tenant, k.thread, now.ms, d.Request.UserID); err != nil {
			return false, err
		}
	}
	if _, err := c.row(ctx, `INSERT INTO {p}_queues (tenant, id) VALUES (?, ?) ON CONFLICT DO UPDATE SET epoch = epoch RETURNING epoch`, []any{k.tenant, k.thread}, &d.Epoch); err != nil {
		return false, err
	}
	if _, err := c.exec(`INSERT INTO {p}_dispatches (tenant, id, thread, run, status, priority, available, created, updated,
			epoch, max_attempts, dedupe, key, digest, request, born, message, said)
		VALUES (?1, ?2, ?3, ?4, ?5, ?6, ?7, ?8, ?9, ?10, ?11, ?12, ?13, ?14, ?15, {born}, ?16, ?17)`,
		d.Tenant, d.ID, d.ThreadID, d.RunID, string(d.Status), d.Priority, d.AvailableAt, d.CreatedAt, d.UpdatedAt,
		int64(d.Epoch), d.MaxAttempts, d.DedupeKey, d.IdempotencyKey, d.Digest, request, d.MessageID, d.Said); err != nil {
		return false, err
	}
	if terms.Start != nil && d.AvailableAt <= now.ms {
		if started, err := c.start(k, d, terms.Start, now); started || err != nil {
			return true, err
		}
	}
	return true, c.ready(k, moment{c.moment().us, now.ms})
}

// start claims a dispatch that was just queued, if it may begin at once.
func (c queueConn) start(k queueKey, d *mailbox.Dispatch, r *mailbox.ClaimRequest, now moment) (bool, error) {
	token, lease := ids.New(), now.ms+r.Lease.Milliseconds()
	// A queue that is neither claimed nor ready, and does not wait for a time, was empty.
	n, err := c.exec(`UPDATE {p}_queues SET claimed = ?3, token = ?4, consumer = ?5, lease = ?6, stamp = ?7
		WHERE tenant = ?1 AND id = ?2 AND claimed IS NULL AND since IS NULL AND wake IS NULL
		AND (SELECT open_run FROM {p}_threads WHERE tenant = ?1 AND id = ?2) = ''
		AND NOT EXISTS (SELECT 1 FROM {p}_queues WHERE wake <= ?7) AND NOT EXISTS (SELECT 1 FROM {p}_queues WHERE suspect = 0 AND since IS NOT NULL AND priority <= ?8)`,
		k.tenant, k.thread, d.ID, token, r.Consumer, lease, now.ms, d.Priority)
	if err != nil || n == 0 {
		return false, err
	}
	d.Status, d.ClaimToken, d.ClaimedBy, d.LeaseUntil, d.Fresh = mailbox.Claimed, token, r.Consumer, lease, true
	return true, c.own(k, d)
}
