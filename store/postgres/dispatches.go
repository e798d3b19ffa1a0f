package postgres

import (
	"context"
	"fmt"

	"github.com/awaken-go/awaken"
	"github.com/awaken-go/awaken/internal/ids"
	"github.com/awaken-go/awaken/mailbox"
	"github.com/awaken-go/awaken/store/internal/sqlstore"
)

// Enqueue queues dispatches that start runs, in one round trip. Concurrent calls are
// grouped.
func (s *scope) Enqueue(ctx context.Context, terms mailbox.Terms, ds ...*mailbox.Dispatch) (left []int, err error) {
	if len(ds) == 0 {
		return nil, nil
	}
	e := &enqueueing{ds: make([]enqueued, len(ds))}
	e.Owner = s.tenant
	for i, d := range ds {
		q := &e.ds[i]
		if *q, err = s.enqueued(d); err != nil {
			return nil, fmt.Errorf("enqueue dispatch %s: %w", d.ID, err)
		}
		if q.idle, q.confined = terms.Idle, terms.Confined; terms.Start != nil {
			q.consumer, q.lease, q.token = escape(terms.Start.Consumer), terms.Start.Lease.Milliseconds(), ids.New()
		}
	}
	lanes := &s.enqueuer.lanes
	if terms.Start != nil {
		lanes = &s.enqueuer.starts
	}
	if lanes.Do(ctx, e); e.err != nil {
		return nil, fmt.Errorf("enqueue: %w", e.err)
	}
	queued := false
	for i, d := range ds {
		q := &e.ds[i]
		if !q.taken {
			left = append(left, i)
			continue
		}
		d.Tenant, d.Status, d.Epoch = unescape(s.tenant), mailbox.Queued, q.epoch
		d.CreatedAt, d.UpdatedAt, d.AvailableAt, d.End = q.at, q.at, q.at+max(d.AvailableAt, 0), q.end
		if q.claimed {
			d.Status, d.ClaimToken, d.ClaimedBy, d.LeaseUntil, d.Fresh = mailbox.Claimed, q.token, terms.Start.Consumer, q.at+q.lease, true
			if q.fence > 0 {
				t := awaken.Thread{ID: d.ThreadID, UserID: d.Request.UserID, End: awaken.Cursor{Epoch: q.fence}}
				t.Metadata.CreatedAt, t.Metadata.UpdatedAt = q.at, q.at
				d.Checkpoint = &awaken.Checkpoint{Fence: q.fence, Thread: t}
				s.warm.Acquired(s.tenant, &sqlstore.Thread{Thread: t}, d.Checkpoint, new(awaken.View))
			}
			continue
		}
		queued = true
	}
	if queued {
		s.announcer.announce(mailbox.Signal{Ready: true})
	}
	return left, nil
}

func (s *scope) enqueued(d *mailbox.Dispatch) (q enqueued, err error) {
	if d.Request == nil {
		return q, fmt.Errorf("%w: the request is missing", awaken.ErrInvalid)
	}
	q = enqueued{tenant: s.tenant, id: escape(d.ID), thread: escape(d.ThreadID), run: escape(d.RunID),
		priority: int64(d.Priority), delay: d.AvailableAt, max: int64(d.MaxAttempts),
		dedupe: escape(d.DedupeKey), key: escape(d.IdempotencyKey), digest: escape(d.Digest), user: escape(d.Request.UserID),
		message: escape(d.MessageID), said: escape(d.Said)}
	q.request, err = dialect.Encode(d.Request)
	return q, err
}
