package sqlite

import (
	"cmp"
	"context"
	"fmt"

	"github.com/awaken-go/awaken"
	"github.com/awaken-go/awaken/mailbox"
)

// CommitAndSettle makes a commit that ends or parks a run, and settles its dispatches in the
// same transaction. Like Commit, it ignores ctx.
func (s *scope) CommitAndSettle(_ context.Context, cm *awaken.Commit, x mailbox.Settlement, wake *mailbox.Dispatch) (out mailbox.Settled, err error) {
	w, err := s.newCommit(cm)
	if err != nil {
		return out, err
	}
	var refused error
	err = s.db.writer.write(s.tenant, func(conn *conn) (err error) {
		c := queueConn{conn}
		out, refused = mailbox.Settled{}, nil
		if finished, err := (&finishing{w, &x}).write(c, wake, &out); finished || err != nil {
			return err
		}
		k, _, held, err := c.claimed(x.Claim)
		if err != nil {
			return err
		}
		if !held {
			var one int
			repeated, err := c.row(context.Background(), `SELECT 1 FROM {p}_threads WHERE tenant = ? AND id = ? AND fence = ? AND committed = ?`,
				[]any{s.tenant, cm.ThreadID, int64(cm.Fence), int64(cm.Number)}, &one)
			if out.Settled = repeated && cm.Number != 0; err != nil || !out.Settled {
				refused = awaken.ErrFenced
				return err
			}
		}
		if refused, err = w.write(conn); refused != nil || err != nil || out.Settled {
			return err
		}
		out, err = c.settleRun(k, cm, &x, wake)
		return err
	})
	if err != nil {
		err = fmt.Errorf("commit thread %s: %w", cm.ThreadID, err)
	}
	if err := s.committed(w, cmp.Or(err, refused)); err != nil {
		return mailbox.Settled{}, err
	}
	return out, nil
}

// forAnyRun selects unread items of the inbox of thread ?2 that hold messages for any run.
const forAnyRun = `SELECT 1 FROM {p}_inbox WHERE tenant = ?1 AND thread = ?2 AND data IS NOT NULL
	AND json_array_length(data, '$.messages') > 0 AND coalesce(json_extract(data, '$.run_id'), '') = '' LIMIT 1`

// settleRun settles the dispatches of a run that a commit has ended or parked, unless another run
// must read what is in the inbox.
func (c queueConn) settleRun(k queueKey, cm *awaken.Commit, x *mailbox.Settlement, wake *mailbox.Dispatch) (out mailbox.Settled, err error) {
	now := c.moment()
	if cm.Run.Status == awaken.RunDone {
		if cm.Unread {
			var one int
			if left, err := c.row(context.Background(), forAnyRun, []any{k.tenant, k.thread}, &one); left || err != nil {
				return out, err
			}
		}
		if _, err := c.exec(`UPDATE {p}_dispatches SET status = CASE WHEN cancel AND ?5 THEN 'Cancelled' ELSE 'Acked' END, completed = ?4, updated = ?4
			WHERE tenant = ?1 AND thread = ?2 AND run = ?3 AND completed = 0 AND id <> ?6`,
			k.tenant, k.thread, cm.Run.RunID, now.ms, cm.Run.Termination.Type == awaken.Cancelled, x.ID); err != nil {
			return out, err
		}
	}
	if wake != nil {
		w := *wake
		w.Status, w.CreatedAt, w.UpdatedAt, w.AvailableAt = mailbox.Queued, now.ms, now.ms, now.ms+w.AvailableAt
		if _, err := c.row(context.Background(), `SELECT epoch FROM {p}_queues WHERE tenant = ? AND id = ?`, []any{k.tenant, k.thread}, &w.Epoch); err != nil {
			return out, err
		}
		put, err := c.of(k.tenant).scope().PutDispatch(k.thread, &w, now.ms, false)
		if err != nil {
			return out, err
		}
		if _, err := (portConn{c.conn}).Exec(context.Background(), put); err != nil {
			return out, err
		}
	}
	if x.Status == "" {
		return mailbox.Settled{Settled: true}, nil
	}
	out.Ready, err = c.end(k, x, now)
	out.Settled = err == nil
	return out, err
}
