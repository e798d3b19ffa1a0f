package mailbox

import (
	"context"
	"errors"
	"fmt"
	"slices"

	"github.com/awaken-go/awaken"
)

// Start has a run started, with the id that the request names. It does nothing if that
// was done before. With Deliver and Cancel, it makes a Tenant an [awaken.Queue].
func (t *Tenant) Start(ctx context.Context, req awaken.RunRequest) error {
	if req.RunID == "" || req.ThreadID == "" {
		return fmt.Errorf("start: %w: run_id or thread_id is empty", awaken.ErrInvalid)
	}
	_, err := t.Submit(ctx, Submission{Request: req, IdempotencyKey: "start:" + req.RunID})
	return err
}

// Deliver adds an item to a thread's inbox, in one transaction with what makes somebody
// read it: the run that waits there is woken, and messages for a thread without a run
// start one. An item for a run that is over is dropped. Delivering an item again does
// nothing, for as long as idempotency keys are kept.
func (t *Tenant) Deliver(ctx context.Context, threadID string, item awaken.InboxItem, agentID string) error {
	err := t.changed(ctx, threadID, func(q *Thread) error {
		switch {
		case !q.Made:
			return fmt.Errorf("thread %s: %w", threadID, awaken.ErrNotFound)
		case item.RunID != "" && (q.Open == nil || q.Open.RunID != item.RunID):
			return nil
		}
		q.Post = append(q.Post, item)
		d := t.spare()
		if item.ID != "" && len(item.Messages) > 0 { // they start a run; read or not, they must not start another
			d.IdempotencyKey = fmt.Sprintf("deliver:%q:%s", threadID, item.ID)
		}
		switch {
		case q.Open != nil && q.Open.Status == awaken.RunWaiting:
			got, err := q.wake(d)
			if got != d {
				q.note(d)
			}
			return err
		case q.Open != nil: // it cannot rest before it has read it
			q.note(d)
		case len(q.Live) == 0 && len(item.Messages) > 0:
			return q.startLeft(t, d, &awaken.RunRequest{AgentID: agentID, Origin: "internal"})
		}
		return nil // nor can the one that is queued
	})
	if errors.Is(err, ErrDuplicate) {
		return nil
	}
	return err
}

var _ awaken.Queue = (*Tenant)(nil)

// startLeft queues d, with a run for messages that the inbox holds. One that is there
// already is ErrDuplicate, also if it is being cancelled: then nobody wants them.
func (t *Thread) startLeft(by *Tenant, d *Dispatch, req *awaken.RunRequest) error {
	if slices.ContainsFunc(t.Live, func(o *Dispatch) bool { return o.DedupeKey == leftKey }) {
		return fmt.Errorf("thread %s: %w of what is left", t.ID, ErrDuplicate)
	}
	d.RunID, d.ThreadID, d.DedupeKey = by.box.cfg.NewID(), t.ID, leftKey
	req.ThreadID, req.RunID, req.DispatchID = t.ID, d.RunID, d.ID
	d.Request = req
	return t.enqueue(d)
}
