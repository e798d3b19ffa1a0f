package mailbox

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"time"

	"github.com/awaken-go/awaken"
)

// Silence returns how long a worker that cannot reach the queue may take itself for the owner of its
// runs, before it abandons them and others take them over.
func (t *Tenant) Silence() time.Duration { return min(t.box.cfg.Liveness, t.box.cfg.Lease) }

// Start starts a run in the background, with the ids in the request. Starting the same run
// again does nothing. Start, Deliver and Cancel make a Tenant an [awaken.Queue].
func (t *Tenant) Start(ctx context.Context, req awaken.RunRequest) error {
	if req.RunID == "" || req.ThreadID == "" {
		return fmt.Errorf("start: %w: run_id or thread_id is empty", awaken.ErrInvalid)
	}
	_, err := t.Submit(ctx, Submission{Request: req, IdempotencyKey: "start:" + req.RunID})
	if errors.Is(err, awaken.ErrConflict) { // its key may have been purged
		if run, loadErr := t.Store.LoadRun(ctx, req.RunID); loadErr == nil && run.ThreadID == req.ThreadID {
			return nil
		}
	}
	return err
}

// Deliver adds an item to a thread's inbox and, in the same transaction, makes sure that a run
// reads it: it wakes a waiting run, and starts a run of agentID for messages to a thread that
// has none. It drops an item for a run that is over. Delivering the same item again does
// nothing while its idempotency key is kept (Config.TTL).
func (t *Tenant) Deliver(ctx context.Context, threadID string, item awaken.InboxItem, agentID string) error {
	err := t.changed(ctx, threadID, func(q *Thread) error {
		switch {
		case !q.Exists:
			return fmt.Errorf("thread %s: %w", threadID, awaken.ErrNotFound)
		case item.RunID != "" && (q.Open == nil || q.Open.RunID != item.RunID):
			if item.Report.Outlives() { // the run that is open or the next one reads it
				q.Post = append(q.Post, item)
			}
			return nil
		}
		q.Post = append(q.Post, item)
		d := t.newDispatch()
		if item.ID != "" && len(item.Messages) > 0 { // they must not start a second run, even once they are read
			d.IdempotencyKey = fmt.Sprintf("deliver:%q:%s", threadID, item.ID)
		}
		switch {
		case q.Open != nil && q.Open.Status == awaken.RunWaiting:
			got, err := q.wake(d)
			if got != d {
				q.recordKey(d)
			}
			return err
		case q.Open != nil: // it cannot park or end before it has read the item
			q.recordKey(d)
		case len(q.Live) == 0 && len(item.Messages) > 0:
			return q.startUnread(t, d, &awaken.RunRequest{AgentID: agentID, UserID: q.UserID, Origin: "internal"})
		}
		return nil // nor can the queued one
	})
	if errors.Is(err, ErrDuplicate) {
		return nil
	}
	return err
}

var _ awaken.Queue = (*Tenant)(nil)

// startUnread queues d to start a run for the messages in the inbox. The error is ErrDuplicate
// if such a dispatch is live, even one that is being cancelled: the messages were cancelled
// with it.
func (t *Thread) startUnread(by *Tenant, d *Dispatch, req *awaken.RunRequest) error {
	if slices.ContainsFunc(t.Live, func(o *Dispatch) bool { return o.DedupeKey == unreadKey }) {
		return fmt.Errorf("thread %s: %w: a run for the unread messages is queued", t.ID, ErrDuplicate)
	}
	d.RunID, d.ThreadID, d.DedupeKey = by.box.cfg.NewID(), t.ID, unreadKey
	req.ThreadID, req.RunID, req.DispatchID = t.ID, d.RunID, d.ID
	d.Request = req
	return t.enqueue(d)
}
